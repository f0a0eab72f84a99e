"""A sequence diagram of an exchange, in the language of Mermaid: who said and did what to whom, from top to bottom.

Texts are written so that nothing in them can be read as syntax: what has a meaning there goes as a character number.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from interlock.catalogue import Text
from interlock.message.exchange import GONE, Entry, name_of

__all__ = ["sequence_of"]

PLAIN = re.compile(r"[^\w .,!?()/=+@'–…\-]", re.UNICODE)
LONG = 90
ARROWS = {
    "task.handed_over": "->>",
    "task.queued": "->>",
    "message.sent": "->>",
    "task.acted": "->>",
    "question.asked": "->>",
    "question.answered": "->>",
    "task.opened": "->>",
}
SHOWN = ("goal", "text", "summary", "brief", "said", "what", "arguments", "result", "decision")
"""The parts of which the first one stands on the arrow."""

Say = Callable[[Any], str]


def sequence_of(entries: Sequence[Entry], say: Say) -> str:
    """Give the diagram; `say` puts messages of the catalogue into the reader's language. What is aside is left out."""
    shown = [entry for entry in entries if not entry.aside]
    names: dict[str, str] = {}
    lines = []
    for entry in shown:
        who, whom = _participant(entry.who, names), _participant(entry.whom, names)
        text = _text(entry, say)
        if who and whom and entry.kind in ARROWS:
            lines.append(f"  {who}{ARROWS[entry.kind]}{whom}: {text}")
        else:
            over = who or whom or next(iter(names.values()), "")
            lines.append(f"  Note over {over or _participant('platform', names)}: {text}")
    declared = [f"  participant {key} as {_escaped(_shown(owner, say))}" for owner, key in names.items()]
    return "\n".join(["sequenceDiagram", *declared, *lines]) + "\n"


def _participant(owner: str, names: dict[str, str]) -> str:
    return names.setdefault(owner, f"p{len(names) + 1}") if owner else ""


def _shown(owner: str, say: Say) -> str:
    if owner.startswith("tool:"):
        return owner.partition(":")[2]
    if owner == "platform":
        return say(Text("exchange.platform"))
    name = name_of(owner)
    return name if isinstance(name, str) else say(name)


def _text(entry: Entry, say: Say) -> str:
    said = say(entry.text)
    for part in entry.parts:
        if part.name in SHOWN and part.value is not GONE:
            value = part.value if isinstance(part.value, str) else _flat(part.value)
            return _escaped(f"{said} – {value}")
    return _escaped(said)


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_flat(inner)}" for key, inner in value.items())
    return ", ".join(map(_flat, value)) if isinstance(value, list) else str(value)


def _escaped(text: str) -> str:
    """Give a text on one line, cut at a bound, in which nothing is syntax; `end` alone would close a block."""
    line = " ".join(text.encode(errors="replace").decode().split())
    line = line if len(line) <= LONG else f"{line[: LONG - 1]}…"
    safe = PLAIN.sub(lambda found: f"#{ord(found[0])};", line)
    return re.sub(r"\bend\b", "#101;nd", safe, flags=re.IGNORECASE) or "–"
