"""A mistake in the arguments: what the argument parser found, in our own words and the reader's language."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Any

from cyclopts.exceptions import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from interlock.errors import InterlockError

__all__ = ["mistake_of"]


def mistake_of(error: CycloptsError, arguments: Sequence[str], commands: Collection[str]) -> InterlockError:
    """Give the error that tells a person what is wrong in `arguments`; `commands` are the known ones."""
    command = " ".join(("interlock", *(error.command_chain or ())))
    match error:
        case UnknownOptionError():
            options = {name for item in error.argument_collection for name in item.names}
            return _unknown("option", _shown(error.token), command, options)
        case UnknownCommandError():
            unused = error.unused_tokens or [item for item in arguments if not item.startswith("-")]
            return _unknown_command(unused, command, _commands_of(error) or commands)
        case UnusedCliTokensError() if _commands_of(error):
            return _unknown_command(error.unused_tokens or [], command, _commands_of(error))
        case UnusedCliTokensError():
            code, value, name = "cli.too_many", " ".join(error.unused_tokens or ()), ""
        case RepeatArgumentError():
            code, value, name = "cli.repeated", _shown(error.token), ""
        case MissingArgumentError():
            code, value, name = "cli.missing", _name_of(error.argument), ""
            code = "cli.no_value" if value.startswith("-") else code
        case CoercionError():
            code, value, name = "cli.malformed", _value_of(error.token), _name_of(error.argument)
        case ValidationError():
            tokens = error.argument.tokens if error.argument else ()
            code, value, name = "cli.malformed", _value_of(*tokens[:1]), _name_of(error.argument)
        case _:
            code, value, name = "cli.wrong", str(error), ""
    return InterlockError(code, value=value, name=name, command=command)


def _unknown_command(unused: Sequence[str], command: str, known: Collection[str]) -> InterlockError:
    value = unused[0] if unused else ""
    return _unknown("option" if value.startswith("-") else "command", value, command, known)


def _unknown(what: str, value: str, command: str, known: Collection[str]) -> InterlockError:
    near = get_close_matches(value.partition("=")[0], list(known), n=1)
    code = f"cli.unknown_{what}_near" if near else f"cli.unknown_{what}"
    return InterlockError(code, value=value, near="".join(near), known=list(known), command=command)


def _commands_of(error: CycloptsError) -> list[str]:
    return [name for name in error.app or () if not name.startswith("-")]


def _shown(token: Any) -> str:
    return str(token.keyword or token.value)


def _value_of(token: Any = None) -> str:
    return str(token.value) if token is not None else ""


def _name_of(argument: Any) -> str:
    return str(argument.name) if argument is not None else "?"
