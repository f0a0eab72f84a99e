"""A layout: JSON values and texts as people read them, line by line, with newlines as newlines.

Everything here may be a model's text. A text of several lines has a bar before each of them, so that none of
them can pass for something that the platform said; keys and short texts are quoted as in JSON.
"""

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["barred", "laid_out", "one_line", "wrapped"]

DEEPEST = 24
"""What lies deeper is written as JSON, in one line."""
NAME = 100
"""How many characters of a name are shown."""


def laid_out(value: Any, depth: int = 0) -> Iterator[str]:
    """Give the lines of a JSON value: one for each member, and for each line of a longer text."""
    if isinstance(value, str) and "\n" in value:
        yield from barred(value)
    elif value and isinstance(value, dict) and depth < DEEPEST:
        for key, inner in value.items():
            yield from _member(f"{key if key.isidentifier() else json.dumps(key)}:", inner, depth)
    elif value and isinstance(value, list) and depth < DEEPEST:
        for inner in value:
            yield from _member("-", inner, depth)
    else:
        yield json.dumps(value, ensure_ascii=False)


def _member(name: str, inner: Any, depth: int) -> Iterator[str]:
    lines = laid_out(inner, depth + 1)
    if (isinstance(inner, dict | list) and inner) or (isinstance(inner, str) and "\n" in inner):
        yield name
        for line in lines:
            yield f"  {line}"
    else:
        yield f"{name} {next(lines)}"


def one_line(name: str) -> str:
    """Give a name that a model wrote in one line, cut where it is too long to be one."""
    shown = name if len(name) <= NAME else f"{name[:NAME]}…"
    return shown if shown.isprintable() else json.dumps(shown)


def barred(text: str) -> Iterator[str]:
    """Give the lines of a text, each behind a bar."""
    for line in text.split("\n"):
        yield f"| {line}".rstrip(" ")


def wrapped(lines: Iterable[str], width: int) -> Iterator[str]:
    """Give lines of at most `width` characters: what is longer goes on in the next one, under its bar and indented."""
    for line in lines:
        start = len(line) - len(line.lstrip(" "))
        bar = line[start : start + 2] if line[start:].startswith("|") else ""
        after = " " * start + (bar or "  ")
        found = textwrap.wrap(line, width, subsequent_indent=after, break_on_hyphens=False)
        yield from found or [""]
