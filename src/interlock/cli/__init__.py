"""The command line: one file for each noun; this one puts the commands together and turns errors into exits.

Exit codes: 0 it was done; 1 it was done and found something wrong (a run that did not finish, damage found by
`verify`); 2 the input was wrong, and nothing was done; 3 it could not be done; 130 interrupted.
"""

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from io import TextIOWrapper
from typing import Any, NoReturn

from cyclopts import App
from cyclopts.exceptions import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from interlock.catalogue import language_of, say
from interlock.cli.help import HelpPage
from interlock.cli.terminal import NOT_DONE, WRONG_INPUT, Terminal
from interlock.errors import InterlockError

__all__ = ["COMMANDS", "build", "main"]

COMMANDS = {
    "init": "interlock.cli.init:init",
    "publish": "interlock.cli.publish:publish",
    "agents": "interlock.cli.agents:app",
    "run": "interlock.cli.run:run",
    "cancel": "interlock.cli.run:cancel",
    "worker": "interlock.cli.worker:worker",
    "trail": "interlock.cli.trail:trail",
    "artifact": "interlock.cli.artifact:artifact",
    "event": "interlock.cli.event:event",
    "graph": "interlock.cli.graph:graph",
    "verify": "interlock.cli.verify:verify",
    "prompt": "interlock.cli.prompt:app",
    "demo": "interlock.cli.demo:demo",
}
"""The commands, in the order in which `interlock --help` shows them; each is loaded when it is called."""

UNWRITABLE = ("ledger.unwritable", "ledger.unreadable", "ledger.other_format", "content.")


def build(language: str) -> App:
    """Give the application with its help in a language."""
    app = App(
        name="interlock",
        help=say("cli.help", language),
        version=_version,
        help_format="plaintext",
        help_formatter=HelpPage(language),
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
    )
    for name, where in COMMANDS.items():
        app.command(where, name=name, help=say(f"cli.{name}.help", language))
    return app


def _write_any_text() -> None:
    """What the terminal's encoding lacks is written out, so that no text can stop a command half way."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _version() -> str:
    from importlib.metadata import version

    return version("interlock")


def chosen_language(arguments: Sequence[str]) -> str:
    """Give the language that `--lang` names, else the one of the environment.

    It is looked for before the arguments are read, so that mistakes in them are told in it, too.
    """
    for place, argument in enumerate(arguments):
        if argument.startswith("--lang="):
            return language_of(argument.partition("=")[2])
        if argument == "--lang" and place + 1 < len(arguments):
            return language_of(arguments[place + 1])
    environment = os.environ
    return language_of(
        environment.get("INTERLOCK_LANG") or environment.get("LC_ALL") or environment.get("LANG")
    )


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    _write_any_text()
    language = chosen_language(arguments)
    terminal = Terminal(language=language, as_json="--json" in arguments)
    try:
        code = build(language)(arguments)
    except InterlockError as error:
        terminal.error(error)
        code = NOT_DONE if error.code.startswith(UNWRITABLE) else WRONG_INPUT
    except CycloptsError as error:
        terminal.error(_as_own(error, arguments))
        code = WRONG_INPUT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        code = 130
    sys.exit(code if isinstance(code, int) else 0)


def _as_own(error: CycloptsError, arguments: Sequence[str]) -> InterlockError:
    """Put a mistake in the arguments into our own words, in the reader's language."""
    if isinstance(error, UnknownCommandError):
        unused = error.unused_tokens or [item for item in arguments if not item.startswith("-")]
        return _with_nearest("cli.unknown_command", unused[0], COMMANDS)
    code, value, name = "cli.wrong", str(error)[:200], ""
    match error:
        case UnknownOptionError() | RepeatArgumentError():
            code = "cli.unknown_option" if isinstance(error, UnknownOptionError) else "cli.repeated"
            value = error.token.keyword or error.token.value
        case UnusedCliTokensError():
            code, value = "cli.too_many", " ".join(error.unused_tokens or ())
        case MissingArgumentError():
            code, value = "cli.missing", _name_of(error.argument)
        case CoercionError():
            code, name = "cli.malformed", _name_of(error.argument)
            value = error.token.value if error.token else ""
    return InterlockError(code, value=value, name=name, command=" ".join(error.command_chain or ()))


def _name_of(argument: Any) -> str:
    return str(argument.name) if argument is not None else "?"


def _with_nearest(code: str, value: str, known: Any) -> InterlockError:
    near = get_close_matches(value, list(known), n=1)
    return InterlockError(
        f"{code}_near" if near else code, value=value, near="".join(near), known=sorted(known)
    )
