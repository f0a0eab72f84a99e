"""An entry of an exchange: one thing that happened, who did it and to whom, in words, with what was said (MS-9)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from interlock.catalogue import Text
from interlock.message.task import is_people, owner_person

__all__ = ["HIDDEN", "PLATFORM", "TOOL", "Entry", "Gone", "Part", "name_of"]

PLATFORM = "platform"
"""The sender of what the platform itself says."""
TOOL = "tool:"
"""How an outside system is named as a party: `tool:refund_fee`."""
HIDDEN = "outside:"
"""How an agent is named that the reader may not read, with a number to tell it from others: `outside:1` (LP-4)."""


@dataclass(frozen=True, slots=True)
class Gone:
    """In place of content that cannot be read; `why` says whether it is no longer there, changed or out of reach."""

    why: Text


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of what an entry says: which, by the message `exchange.part_<name>`, and its value: text, JSON, or
    `Gone`."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened.

    at: milliseconds since the Unix epoch. type: of which sort within its kind: the type of a message, the outcome of an
    action or answer, what a question is about, how a task ended or what opened it; empty where there is one sort alone.
    task: the number of the task within the exchange; 1 is the root task.
    who, whom: an agent's address, `people@<scope>`, `person:<name>`, `tool:<name>` or `platform`; empty for nobody.
    aside: whether it is of interest only to who looks closely.
    """

    seq: int
    at: int
    kind: str
    type: str
    task: int
    who: str
    whom: str
    text: Text
    parts: tuple[Part, ...] = ()
    labels: tuple[str, ...] = ()
    aside: bool = False

    def as_dict(self, say: Callable[[Any], str]) -> dict[str, Any]:
        """Give it for programs; `say` puts the sentence into the reader's language. All keys are always there."""
        gone = {part.name: part.value.why for part in self.parts if isinstance(part.value, Gone)}
        return {
            "seq": self.seq,
            "at": self.at,
            "kind": self.kind,
            "type": self.type or None,
            "task": self.task,
            "from": self.who or None,
            "to": self.whom or None,
            "text": say(self.text),
            "says": {part.name: part.value for part in self.parts if part.name not in gone},
            "gone": {name: say(why) for name, why in gone.items()},
            "labels": list(self.labels),
            "aside": self.aside,
        }


def name_of(party: str) -> Any:
    """Give a party as a stranger reads it: an agent by its address, a person and an outside system by name, the human
    queue, the platform and nobody in words."""
    if is_people(party):
        return Text("exchange.people", scope=party.partition("@")[2])
    if party == PLATFORM:
        return Text("exchange.platform")
    if party.startswith(HIDDEN):
        return Text("channel.outside", number=int(party.removeprefix(HIDDEN)))
    if party.startswith(TOOL):
        return party.removeprefix(TOOL)
    return (owner_person(party) or party) if party else Text("exchange.nobody")
