"""The reference: pages about commands, settings, errors, steps and tools, written from the code and the catalogue.

`python -m interlock.reference [FOLDER]` writes them, by default into `docs/reference` below the working folder.
"""

import io
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from babel.messages.pofile import read_po

import interlock
from interlock.catalogue import LOCALE
from interlock.cli import COMMANDS, build
from interlock.fault import POINTS
from interlock.form.amount import size_text, time_text
from interlock.gate.budget import Budget
from interlock.ledger.kind import KINDS
from interlock.run.platform_tools import PLATFORM_TOOLS
from interlock.scope.label import DeclaredLabel
from interlock.settings import (
    CompactionChoice,
    ConnectorChoice,
    MessageMapping,
    ModelChoice,
    Policy,
    SecretGrant,
    Settings,
    Sizes,
)
from interlock.settings_reader import COUNTED, RENAMED

__all__ = ["pages", "write"]

MADE = "<!-- Written by `python -m interlock.reference`; change the code or the catalogue instead. -->"
FORMS = (
    *(Settings, Sizes, CompactionChoice, Budget, ModelChoice, DeclaredLabel, SecretGrant, Policy),
    *(ConnectorChoice, MessageMapping),
)
WRITTEN_AS = {**RENAMED, "timeout_ms": "timeout", "wall_ms": "wall_time", "tolerance_ms": "tolerance"}
SIZES = frozenset(item.name for item in fields(Sizes))
DESCRIBED = re.compile(
    r"((?:[a-z_]+, )*[a-z_]+): (.+?)(?=(?:[.;]\s+(?:[a-z_]+, )*[a-z_]+: )|\.?\Z)", re.DOTALL
)


def pages() -> dict[str, str]:
    """Give each page by its file's name."""
    written = {
        "commands.md": _commands(),
        "settings.md": _settings(),
        "errors.md": _errors(),
        "steps.md": _steps(),
        "tools.md": _tools(),
    }
    return {name: f"{MADE}\n\n{text.rstrip()}\n" for name, text in written.items()}


def write(folder: Path) -> list[Path]:
    """Write the pages into a folder and give their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in pages()]
    for path, text in zip(paths, pages().values(), strict=True):
        path.write_text(text, "utf-8")
    return paths


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [[*head], ["---" for _ in head]]
    lines += [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# Commands


def _commands() -> str:
    parts = [
        "# Commands",
        "Exit codes: 0 it was done; 1 it was done and found something wrong; 2 the input was wrong, ",
    ]
    parts[1] += (
        "and nothing was done; 3 it could not be done; 130 interrupted. `--json` gives the answer as JSON."
    )
    for words in (path for name in COMMANDS for path in _paths(name)):
        parts += [f"## `interlock {' '.join(words)}`", f"```text\n{_help(words)}\n```"]
    return "\n\n".join(parts)


def _paths(name: str) -> Iterator[list[str]]:
    yield [name]
    command = build("en")[name]
    for inner in sorted(item for item in command if not item.startswith("-")):
        yield [name, inner]


def _help(words: list[str]) -> str:
    shown = io.StringIO()
    with redirect_stdout(shown):
        build("en")([*words, "--help"])
    return "\n".join(line.rstrip() for line in shown.getvalue().strip().splitlines())


# Settings


def _settings() -> str:
    parts = [
        "# Settings",
        "What `interlock.yaml` may say. Every setting has a default. Times are written `30s`, sizes ",
    ]
    parts[1] += (
        '`64KiB`, money `"1.50"`: whole units of the currency, also where a row names the micro-units (millionths) '
        "in which it is counted."
    )
    for form in FORMS:
        described = dict(_described(form.__doc__ or ""))
        rows = [
            (f"`{WRITTEN_AS.get(item.name, item.name)}`", _default(item), described.get(item.name, ""))
            for item in fields(form)
        ]
        first = (form.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
        parts += [
            f"## {form.__name__}",
            re.sub(r"\s+", " ", first),
            _table(("setting", "default", "what it is"), rows),
        ]
    return "\n\n".join(parts)


def _described(docstring: str) -> Iterator[tuple[str, str]]:
    """Give what a docstring says of each field: `name: text.` or `one, other: text.`"""
    body = docstring.strip().partition("\n\n")[2]
    for names, text in DESCRIBED.findall(body):
        for name in names.split(", "):
            yield name, re.sub(r"\s+", " ", text).strip()


def _default(item: "Field[Any]") -> str:
    value = item.default
    if item.default_factory is not MISSING:
        value = item.default_factory()
    if value is MISSING:
        return "required"
    if isinstance(value, Sizes | Budget | CompactionChoice | MessageMapping):
        return "see below"
    if value in (None, "", (), {}, frozenset()):
        return "none"
    return f"`{_as_written(item.name, value)}`"


def _as_written(name: str, value: Any) -> str:
    if name.endswith("_ms"):
        return time_text(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return json.dumps(value)
    in_bytes = name.endswith("_bytes") or (name in SIZES and name not in COUNTED)
    return size_text(value) if in_bytes else str(value)


# Errors


def _errors() -> str:
    parts = [
        "# Errors",
        "Each error has a code that does not change, what happened, and what to do about it.",
    ]
    for path in sorted((LOCALE / "en" / "LC_MESSAGES").glob("*.po")):
        with path.open("rb") as file:
            sentences = {str(item.id): str(item.string) for item in read_po(file) if item.id}
        rows = [
            (f"`{code}`", text, sentences[f"{code}.remedy"])
            for code, text in sentences.items()
            if f"{code}.remedy" in sentences
        ]
        if rows:
            parts += [f"## {path.stem}", _table(("code", "what happened", "what to do"), rows)]
    return "\n\n".join(parts)


# Steps


def _steps() -> str:
    rows = ((f"`{kind}`", stream, text) for kind, (stream, text) in KINDS.items())
    faults = "\n".join(f"- `{point}`" for point in POINTS)
    return "\n\n".join(
        [
            "# Steps",
            "Every kind of step in the ledger, and the stream it stands in.",
            _table(("kind", "stream", "what it records"), rows),
            "## Fault points",
            "`INTERLOCK_FAULT=point:n` kills the process the n-th time it reaches the point, `*:n` at the n-th of all.",
            faults,
        ]
    )


# Tools and public names


def _tools() -> str:
    parts = [
        "# Tools and public names",
        "## The platform's own tools",
        "Every agent has them without a grant.",
    ]
    for tool in PLATFORM_TOOLS.values():
        rows = [
            (
                f"`{name}`",
                "yes" if name in tool.parameters.get("required", ()) else "no",
                schema.get("description", ""),
            )
            for name, schema in tool.parameters["properties"].items()
        ]
        parts += [
            f"### `{tool.name}`",
            tool.description,
            _table(("argument", "required", "what it is"), rows),
        ]
    names = [(f"`{name}`", _first(getattr(interlock, name))) for name in interlock.__all__]
    parts += ["## Names that `interlock` exports", _table(("name", "what it is"), names)]
    return "\n\n".join(parts)


def _first(thing: Any) -> str:
    return re.sub(r"\s+", " ", (thing.__doc__ or "").strip().split("\n\n")[0])


if __name__ == "__main__":
    for written in write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference")):
        print(written)
