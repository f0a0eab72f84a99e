"""The command line: one file for each noun; this one puts the commands together and turns errors into exits.

Exit codes: 0 it was done; 1 it was done and found something wrong (a run that did not finish, damage found by
`verify`); 2 the input was wrong, and nothing was done; 3 it could not be done; 130 interrupted.
"""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import NoReturn

from cyclopts import App
from cyclopts.exceptions import CycloptsError

from interlock.catalogue import LANGUAGES, language_of, say
from interlock.cli.help import HelpPage
from interlock.cli.mistake import mistake_of
from interlock.cli.terminal import DONE, INTERRUPTED, NOT_DONE, WRONG_INPUT, Terminal
from interlock.errors import InterlockError

__all__ = ["COMMANDS", "build", "main"]

COMMANDS = {
    "init": "interlock.cli.init:init",
    "publish": "interlock.cli.publish:publish",
    "agents": "interlock.cli.agents:app",
    "run": "interlock.cli.run:run",
    "cancel": "interlock.cli.run:cancel",
    "send": "interlock.cli.send:send",
    "queue": "interlock.cli.queue:queue",
    "approve": "interlock.cli.queue:approve",
    "refuse": "interlock.cli.queue:refuse",
    "answer": "interlock.cli.queue:answer",
    "take": "interlock.cli.queue:take",
    "give": "interlock.cli.queue:give",
    "close": "interlock.cli.queue:close",
    "worker": "interlock.cli.worker:worker",
    "connector": "interlock.cli.connector:app",
    "trail": "interlock.cli.trail:trail",
    "artifact": "interlock.cli.artifact:artifact",
    "event": "interlock.cli.event:event",
    "exchange": "interlock.cli.exchange:exchange",
    "graph": "interlock.cli.graph:graph",
    "channels": "interlock.cli.channels:channels",
    "verify": "interlock.cli.verify:verify",
    "prompt": "interlock.cli.prompt:app",
    "memory": "interlock.cli.memory:app",
    "work": "interlock.cli.work:app",
    "demo": "interlock.cli.demo:demo",
}
"""The commands, in the order in which `interlock --help` shows them; each is loaded when it is called."""

UNWRITABLE = (
    *("ledger.unwritable", "ledger.unreadable", "ledger.damaged", "ledger.other_format", "ledger.busy"),
    *("content.", "cli.unwritable", "cli.init.unwritable", "runtime.no_home"),
    *("connector.no_server", "connector.no_address"),
)
"""How the codes begin of what is not the fault of the input."""
EVERYWHERE = ("--folder", "--home", "--json", "--lang")
"""The options of every command."""


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
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    for place, (name, where) in enumerate(COMMANDS.items()):
        app.command(where, name=name, help=say(f"cli.{name}.help", language), sort_key=place)
    return app


def _version() -> str:
    from importlib.metadata import version

    return version("interlock")


def chosen_language(arguments: Sequence[str]) -> str:
    """Give the language that `--lang` names, else the one of the environment.

    It is looked for before the arguments are read, so that mistakes in them are told in it, too.
    """
    named = _named_language(arguments)
    if named is not None:
        return language_of(named)
    environment = os.environ
    return language_of(
        environment.get("INTERLOCK_LANG") or environment.get("LC_ALL") or environment.get("LANG")
    )


def _named_language(arguments: Sequence[str]) -> str | None:
    for place, argument in enumerate(arguments):
        if argument.startswith("--lang="):
            return argument.partition("=")[2]
        if argument == "--lang" and place + 1 < len(arguments):
            return arguments[place + 1]
    return None


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _write_any_text()
    terminal = Terminal(language=chosen_language(given), as_json="--json" in given)
    code = DONE
    try:
        code = _carry_out(given, terminal)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough; what was found stays found
        _write_no_more()
    except OSError as error:
        if error.filename is None:
            _write_no_more()
        where = "cli.output" if error.filename is None else "cli.unreachable"
        terminal.error(InterlockError(where, file=str(error.filename), why=error))
        code = NOT_DONE
    except KeyboardInterrupt:
        terminal.interrupted()
        code = INTERRUPTED
    sys.exit(code)


def _carry_out(arguments: Sequence[str], terminal: Terminal) -> int:
    try:
        _check_language(arguments)
        code = build(terminal.language)(in_order(arguments))
        return code if isinstance(code, int) else DONE
    except InterlockError as error:
        terminal.error(error)
        return NOT_DONE if error.code.startswith(UNWRITABLE) else WRONG_INPUT
    except CycloptsError as error:
        terminal.error(mistake_of(error, arguments, COMMANDS))
        return WRONG_INPUT
    except OSError:
        raise
    except Exception as error:
        if "INTERLOCK_TRACEBACK" in os.environ:
            raise
        terminal.error(InterlockError("cli.broke", kind=type(error).__name__, why=str(error)))
        return NOT_DONE


def in_order(arguments: Sequence[str]) -> list[str]:
    """Give the arguments as the parser reads them: the options of every command behind the command, and a lone
    hyphen, the standard input, behind all options. With nothing but such options, help is asked for."""
    rest = list(arguments)
    if "-" in rest and "--" not in rest:
        rest.remove("-")
        rest += ["--", "-"]
    first: list[str] = []
    while rest and (option := rest[0].partition("=")[0]) in EVERYWHERE:
        length = 1 if "=" in rest[0] or option == "--json" else 2
        first += rest[:length]
        del rest[:length]
    if not rest:
        return ["--help"]
    if rest[0].startswith("-") or not first:
        return rest
    place = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:place], *first, *rest[place:]]


def _check_language(arguments: Sequence[str]) -> None:
    wanted = _named_language(arguments)
    if wanted is not None and wanted.lower()[:2] not in {tag[:2] for tag in LANGUAGES}:
        raise InterlockError("cli.unknown_language", value=wanted, known=LANGUAGES)


def _write_any_text() -> None:
    """What the terminal's encoding lacks is written out, so that no text can stop a command half way; so is
    what is written where there is no output at all."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  it stays open as long as the process
        if isinstance(stream := getattr(sys, name), TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _write_no_more() -> None:
    """Let what is still held for the standard output go nowhere, so that it is not tried again at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
