"""A help page: the command line's own help, put into the reader's language from the catalogue.

Parameters name a message id as their help; titles and marks are ours, so that no sentence of the library's
shows.
"""

import re
from typing import Any

from interlock.catalogue import say

__all__ = ["HelpPage"]

WIDTH = 30
VALUE = re.compile(r"(?<= )(STR|PATH|INT)\b")
"""What the parser writes for the kind of an option's value."""


class HelpPage:
    """A formatter for cyclopts that writes plain lines, readable by people, screen readers and pipes."""

    def __init__(self, language: str) -> None:
        self._language = language

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        """Write the line that shows how the command is called."""
        words = str(usage).strip().removeprefix("Usage:").strip()
        for word in ("COMMAND", "OPTIONS", "ARGS"):
            words = words.replace(word, say(f"cli.word.{word.lower()}", self._language))
        print(f"{say('cli.usage', self._language)} {words}")
        print()

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        """Write what the command does."""
        text = _plain(description)
        if text:
            print(say(text, self._language) if text.startswith("cli.") else text)
            print()

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        """Write a list of commands or of parameters."""
        if not panel.entries:
            return
        kind = "commands" if panel.format == "command" else "parameters"
        named = kind == "parameters" and any(
            label.startswith("-") for label in panel.entries[0].display_labels
        )
        print(say("cli.options" if named else f"cli.{kind}", self._language))
        for entry in panel.entries:
            self._entry(console, entry, kind)
        print()

    def _entry(self, console: Any, entry: Any, kind: str) -> None:
        labels = entry.display_labels_with_metavar if kind == "parameters" else entry.display_labels
        names = VALUE.sub(lambda kind: say(f"cli.word.{kind[1].lower()}", self._language), ", ".join(labels))
        text = _plain(entry.description)
        if names.startswith(("--help", "-h")):
            text = "cli.option.help"
        elif names.startswith("--version"):
            text = "cli.option.version"
        said = say(text, self._language) if text.startswith("cli.") else text
        if entry.required:
            said = f"{said} {say('cli.required', self._language)}".strip()
        gap = " " * max(2, WIDTH - len(names))
        print(f"  {names}{gap}{said}")


def _plain(described: Any) -> str:
    """Give the text of what the parser wraps for a console: we set no styles, and write it ourselves."""
    inner = getattr(described, "primary_renderable", described)
    return str(getattr(inner, "plain", inner or "")).strip()
