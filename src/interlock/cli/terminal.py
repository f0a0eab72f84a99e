"""A terminal: what a command writes to, in words or as JSON, and the options that every command has."""

import json
import os
import sys
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from interlock.catalogue import say
from interlock.errors import InterlockError, SeveralError

if TYPE_CHECKING:
    from interlock.runtime import Runtime

__all__ = [
    "DONE",
    "FOUND",
    "INTERRUPTED",
    "NOT_DONE",
    "WRONG_INPUT",
    "Options",
    "Terminal",
    "account",
    "perform",
    "printable",
]

DONE, FOUND, WRONG_INPUT, NOT_DONE, INTERRUPTED = 0, 1, 2, 3, 130


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where a command writes: facts to the standard output, what went wrong and progress to the other."""

    language: str = "en"
    as_json: bool = False

    def say(self, message: str | dict[str, Any], /, **params: Any) -> str:
        """Put a message into the reader's words."""
        return say(message, self.language, **params)

    def line(self, text: str = "") -> None:
        """Write a line for a person; nothing when JSON was asked for."""
        if not self.as_json:
            print(printable(text))

    def tell(self, message: str, /, **params: Any) -> None:
        """Write a message for a person."""
        self.line(self.say(message, **params))

    def data(self, value: Any) -> None:
        """Write the answer as JSON, when that was asked for."""
        if self.as_json:
            print(json.dumps(value, ensure_ascii=True, indent=2, default=str))

    def progress(self, message: str, /, **params: Any) -> None:
        """Write how far long work has come, to whoever watches."""
        if sys.stderr.isatty() and not self.as_json:
            print(f"\r\x1b[K{self.say(message, **params)}", end="", file=sys.stderr, flush=True)

    def progress_done(self) -> None:
        """Clear the line of progress."""
        if sys.stderr.isatty() and not self.as_json:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def interrupted(self) -> None:
        """Say that a command was interrupted, and what becomes of what it was doing."""
        self.progress_done()
        if not self.as_json:
            print(self.say("cli.interrupted"), file=sys.stderr)

    def error(self, error: InterlockError) -> None:
        """Write an error: what happened, and what to do; of several errors that are one, each."""
        if self.as_json:
            print(
                json.dumps({"error": error.as_dict(self.language)}, ensure_ascii=True, indent=2),
                file=sys.stderr,
            )
            return
        label = self.say("cli.error")
        for item in (*error.errors, error) if isinstance(error, SeveralError) else (error,):
            print(printable(f"{label} {item.what(self.language)}"), file=sys.stderr)
            print(printable(f"  {item.remedy(self.language)}"), file=sys.stderr)
            print(f"  ({item.code})", file=sys.stderr)


def printable(text: str) -> str:
    """Give a text in which nothing can steer a terminal: control characters and lone surrogates are written out."""
    return "".join(
        character
        if character in "\n\t" or (character.isprintable() and not "\ud800" <= character <= "\udfff")
        else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Options:
    """The options of every command."""

    folder: Annotated[Path | None, Parameter(name="--folder", help="cli.option.folder")] = None
    home: Annotated[Path | None, Parameter(name="--home", help="cli.option.home")] = None
    as_json: Annotated[bool, Parameter(name="--json", negative="", help="cli.option.json")] = False
    lang: Annotated[str | None, Parameter(name="--lang", help="cli.option.lang")] = None

    @property
    def terminal(self) -> Terminal:
        """The terminal that the options ask for."""
        from interlock.cli import chosen_language

        arguments = [f"--lang={self.lang}"] if self.lang else []
        return Terminal(chosen_language(arguments), self.as_json)

    async def runtime(self, *, read_only: bool = False) -> "Runtime":
        """Open the installation: in the folder named, or the nearest one upwards from here."""
        from interlock.runtime import Runtime, find_folder  # not needed for help, which is to come at once

        folder = self.folder or find_folder(Path.cwd())
        home = self.home or (Path(os.environ["INTERLOCK_HOME"]) if "INTERLOCK_HOME" in os.environ else None)
        return await Runtime.open(folder, home=home, read_only=read_only)


def perform(work: Coroutine[Any, Any, int]) -> int:
    """Run a command's work on an event loop of its own and give its exit code."""
    import asyncio

    return asyncio.run(work)


def account() -> str:
    """Give the name of the account that runs this, or its number where it has no name."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid-{os.getuid()}"
