"""A sequence diagram of an exchange, in the language of Mermaid: who said and did what to whom, from top to bottom.

Texts are written so that nothing in them can be read as syntax: what has a meaning there goes as a character number.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from interlock.catalogue import Text
from interlock.message.entry import PLATFORM, Entry, Gone, name_of
from interlock.message.task import is_people, owner_person

__all__ = ["as_label", "sequence_of"]

PLAIN = re.compile(r"[^\w .,!?()/=+@'–…\-]")
KEY = re.compile(r"p\d+")
WORD = re.compile(r"\b(e)(nd)\b", re.IGNORECASE)
"""The word that closes a block, wherever it stands."""
LONG, NAME = 120, 200
"""How many characters of a text stand on an arrow, and of a name beside a line."""
WHOLE = 48_000
"""How many characters a diagram may have; whoever draws Mermaid refuses more than 50,000."""

ARROW, BACK, CROSS = "->>", "-->>", "-x"
ARROWS = {
    "task.opened": ARROW,
    "task.handed_over": ARROW,
    "task.queued": ARROW,
    "task.taken": ARROW,
    "message.sent": ARROW,
    "message.undelivered": CROSS,
    "task.acted": ARROW,
    "question.asked": ARROW,
    "question.answered": BACK,
    "event.not_started": CROSS,
}
"""What is an arrow from who to whom; all else is a note beside who."""
SHOWN = ("goal", "text", "summary", "brief", "said", "what", "topic", "arguments", "result", "decision")
"""The parts of which the first one stands on the arrow."""

Say = Callable[[Any], str]


def sequence_of(entries: Sequence[Entry], say: Say) -> str:
    """Give the diagram; `say` puts messages of the catalogue into the reader's language.

    What is aside is left out. Of an exchange that is too long to be drawn, the middle is left out, and a note says how
    much.
    """
    shown = [entry for entry in entries if not entry.aside]
    names = _parties(shown)
    lines, room = [_line(entry, names, say) for entry in shown], WHOLE
    while len(diagram := _drawn(lines, names, say, room)) > WHOLE and room:
        room //= 2
    return diagram


def _drawn(lines: list[str], names: Mapping[str, str], say: Say, room: int) -> str:
    """Give the diagram with as many lines as fit into `room`, half of it from the beginning and half from the end."""
    before, after = _fitting(lines, room)
    left_out = len(lines) - len(before) - len(after)
    note = as_label(say(Text("exchange.left_out", count=left_out)))
    between = [f"  Note over {_first(names)}: {note}"] if left_out else []
    drawn = [*before, *between, *after]
    there = {key for line in drawn for key in KEY.findall(line.partition(":")[0])}
    declared = [_declared(party, key, say) for party, key in names.items() if key in there]
    return "\n".join(["sequenceDiagram", *declared, *drawn]) + "\n"


def _parties(entries: Sequence[Entry]) -> dict[str, str]:
    """Give the key of each party, in the order in which they appear; the outside stands where it is first called."""
    found = dict.fromkeys(party for entry in entries for party in (entry.who, entry.whom) if party)
    return {party: f"p{number}" for number, party in enumerate(found or {PLATFORM: None}, 1)}


def _first(names: Mapping[str, str]) -> str:
    return next(iter(names.values()))


def _declared(party: str, key: str, say: Say) -> str:
    what = "actor" if owner_person(party) or is_people(party) else "participant"
    name = name_of(party)
    return f"  {what} {key} as {as_label(name if isinstance(name, str) else say(name), NAME)}"


def _line(entry: Entry, names: Mapping[str, str], say: Say) -> str:
    who, whom, text = names.get(entry.who), names.get(entry.whom), _text(entry, say)
    if who and whom and entry.kind in ARROWS:
        return f"  {who}{_arrow(entry)}{whom}: {text}"
    return f"  Note over {who or whom or _first(names)}: {text}"


def _arrow(entry: Entry) -> str:
    """A reply comes back, and what was wanted in vain ends in a cross."""
    if entry.kind == "message.sent" and entry.type in {"result", "error"}:
        return BACK
    if entry.kind == "task.acted" and entry.type != "done":
        return CROSS
    return ARROWS[entry.kind]


def _text(entry: Entry, say: Say) -> str:
    said = say(entry.text)
    number = "" if entry.task == 1 else f"({entry.task}) "
    values = {part.name: part.value for part in entry.parts if not isinstance(part.value, Gone)}
    first = next((values[name] for name in SHOWN if name in values), None)
    return as_label(number + (said if first is None else f"{said} – {_flat(first)}"))


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_flat(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_flat, value))
    return value if isinstance(value, str) else json.dumps(value)


def as_label(text: str, length: int = LONG) -> str:
    """Give a text on one line, cut at a bound, in which nothing is syntax."""
    line = " ".join(text.encode(errors="replace").decode().split())
    line = line if len(line) <= length else f"{line[: length - 1]}…"
    line = PLAIN.sub(lambda found: f"#{ord(found[0])};", line)
    return WORD.sub(lambda found: f"#{ord(found[1])};{found[2]}", line) or "–"


def _fitting(lines: list[str], room: int) -> tuple[list[str], list[str]]:
    """Give the lines from the beginning and from the end that there is room for."""
    if sum(len(line) + 1 for line in lines) <= room:
        return lines, []
    before = lines[: _within(lines, room // 2)]
    rest = lines[len(before) :]
    return before, rest[len(rest) - _within(rest[::-1], room // 2) :]


def _within(lines: Sequence[str], room: int) -> int:
    """Give how many of the lines fit."""
    for count, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return count
    return len(lines)
