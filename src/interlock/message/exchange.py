"""An exchange: what the agents and people of a root task said and did, in order, in words for a stranger (MS-9).

It is read from the stream of the root task and from the content that its steps name, by nobody's context. What
cannot be read any more is said to be so, and the rest goes on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock.catalogue import Text
from interlock.ledger.step import Step
from interlock.message.task import is_people, owner_person, person_owner

__all__ = ["CONTENTS", "GONE", "Entry", "Part", "entries_of", "name_of", "named_in"]

CONTENTS = ("brief", "package", "body", "form", "said", "content", "summary", "arguments", "result", "detail")
"""The keys of a step's body under which content stands that belongs into an exchange."""

GONE: Any = object()
"""In place of content that is erased, damaged or missing."""

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of what an entry says: which, by the message `exchange.part_<name>`, and its value, text or JSON."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened. who, whom: names, or empty; `task` is the number of the task within the exchange,
    from 1. aside: whether it is of interest only to who looks closely."""

    seq: int
    at: int
    kind: str
    task: int
    who: str
    whom: str
    text: Text
    parts: tuple[Part, ...] = ()
    labels: tuple[str, ...] = ()
    aside: bool = False

    def as_dict(self, say: Callable[[Text], str]) -> Body:
        """Give it for programs, with the sentence in the reader's language; what is empty is left out."""
        form: Body = {
            "seq": self.seq,
            "at": self.at,
            "kind": self.kind,
            "task": self.task,
            "from": self.who,
            "to": self.whom,
            "text": say(self.text),
            "says": {part.name: None if part.value is GONE else part.value for part in self.parts},
            "labels": list(self.labels),
        }
        return {key: value for key, value in form.items() if value not in ("", {}, [])}


def name_of(owner: str) -> Any:
    """Give an owner, sender or recipient as a stranger reads it: an agent by its address, a person by name, the human
    queue in words."""
    if is_people(owner):
        return Text("exchange.people", scope=owner.partition("@")[2])
    return owner_person(owner) or owner


def named_in(step: Step) -> Iterator[tuple[str, str]]:
    """Give key and digest of the content that a step of the exchange names."""
    by = step.body.get("by")
    for body in (step.body, by if isinstance(by, dict) else {}):
        yield from ((key, body[key]) for key in CONTENTS if isinstance(body.get(key), str))


@dataclass(slots=True)
class _Reading:
    """What the reading has met so far."""

    contents: Mapping[str, Any]
    tasks: dict[str, int] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    messages: dict[str, Body] = field(default_factory=dict)
    questions: dict[str, Body] = field(default_factory=dict)

    def number(self, task: str) -> int:
        return self.tasks.setdefault(task, len(self.tasks) + 1)

    def content(self, body: Body, key: str) -> Any:
        digest = body.get(key)
        return None if digest is None else self.contents.get(digest, GONE)

    def parts(self, body: Body, *keys: str) -> tuple[Part, ...]:
        """Give the content under the keys; of an object, each of its values by its own name."""
        found: list[Part] = []
        for key in keys:
            value = self.content(body, key)
            if isinstance(value, dict) and key in {"package", "body", "form", "content"}:
                order = sorted(value, key=lambda name: (_place(name), name))
                found += [Part(name, value[name]) for name in order if value[name] not in ("", [], {})]
            elif value is not None:
                found.append(Part(key, value))
        names = [item["name"] for item in body.get("attachments", ())]
        return (*found, Part("attachments", names)) if names else tuple(found)


ORDER = (
    *("goal", "text", "summary", "status", "what", "why", "topic", "decision", "tool", "arguments", "scope"),
    *(
        "not_to_cover",
        "output",
        "findings",
        "not_done",
        "facts",
        "actions",
        "remains",
        "constraints",
        "reason",
    ),
)
"""In which order the parts of a content are read."""


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def entries_of(steps: Sequence[Step], contents: Mapping[str, Any]) -> list[Entry]:
    """Give the entries of an exchange in order. `contents` has by digest the text or JSON value of what can be read;
    what is not in it shows as gone."""
    reading = _Reading(contents)
    found = []
    for step in steps:
        teller = _TELLERS.get(step.kind)
        if teller is None:
            found.append(_entry(reading, step, Text("trail.step", kind=step.kind), aside=True))
        else:
            found.append(teller(reading, step, step.body))
    return found


def _entry(
    reading: _Reading,
    step: Step,
    text: Text,
    who: str = "",
    whom: str = "",
    parts: tuple[Part, ...] = (),
    aside: bool = False,
) -> Entry:
    body = step.body
    number = reading.number(body.get("task", step.stream))
    return Entry(
        step.seq, step.at, step.kind, number, who, whom, text, parts, tuple(body.get("labels", ())), aside
    )


def _opened(reading: _Reading, step: Step, body: Body) -> Entry:
    by, owner = body["by"], body["owner"]
    reading.owners[body["task"]] = owner
    number = reading.number(body["task"])
    match by["kind"]:
        case "person":
            text = Text("exchange.opened_by_person", name=by["name"], owner=owner)
            return _entry(reading, step, text, person_owner(by["name"]), owner, reading.parts(by, "brief"))
        case "event":
            text = Text("exchange.opened_by_event", event=by["event"], owner=owner, number=number)
            return _entry(reading, step, text, "", owner)
        case _:
            text = Text("exchange.opened_by_message", owner=owner, number=number)
            return _entry(reading, step, text, "", owner, aside=True)


def _handed_over(reading: _Reading, step: Step, body: Body) -> Entry:
    reading.owners[body["task"]] = body["to"]
    text = Text("exchange.handed_over", who=name_of(body["from"]), to=name_of(body["to"]))
    return _entry(reading, step, text, body["from"], body["to"], reading.parts(body, "package"))


def _acknowledged(reading: _Reading, step: Step, body: Body) -> Entry:
    owner = reading.owners.get(body["task"], "")
    return _entry(reading, step, Text("exchange.acknowledged", owner=owner), owner, "")


def _queued(reading: _Reading, step: Step, body: Body) -> Entry:
    reading.owners[body["task"]] = body["owner"]
    text = Text("exchange.queued", owner=name_of(body["owner"]), reason=body["reason"])
    return _entry(reading, step, text, body["from"], body["owner"], reading.parts(body, "package"))


def _taken(reading: _Reading, step: Step, body: Body) -> Entry:
    before, reading.owners[body["task"]] = reading.owners.get(body["task"], ""), body["owner"]
    text = Text("exchange.taken", by=body["by"], before=name_of(before))
    return _entry(reading, step, text, body["owner"], before)


def _closed(reading: _Reading, step: Step, body: Body) -> Entry:
    who = f"person:{body['by']}" if body.get("by") else reading.owners.get(body["task"], "")
    how = Text(f"exchange.status_{body['status']}")
    text = Text("exchange.closed", who=name_of(who), how=how)
    parts = reading.parts(body, "summary", "said")
    events = (Part("events", body["events"]),) if body.get("events") else ()
    return _entry(reading, step, text, who, "", (*parts, *events))


def _sent(reading: _Reading, step: Step, body: Body) -> Entry:
    reading.messages[body["message"]] = body
    sender = Text("exchange.platform") if body["from"] == "platform" else name_of(body["from"])
    text = Text(f"exchange.sent_{body['type']}", who=sender, to=name_of(body["to"]))
    return _entry(reading, step, text, body["from"], body["to"], reading.parts(body, "body"))


def _rejected(reading: _Reading, step: Step, body: Body) -> Entry:
    text = Text("exchange.rejected", who=name_of(body["from"]), type=body["type"], reason=body["reason"])
    return _entry(reading, step, text, body["from"], "")


def _undelivered(reading: _Reading, step: Step, body: Body) -> Entry:
    message = reading.messages.get(body["message"], {})
    text = Text("exchange.undelivered", who=name_of(message.get("from", "?")), reason=body["reason"])
    return _entry(reading, step, text, message.get("to", ""), "")


def _message_taken(reading: _Reading, step: Step, body: Body) -> Entry:
    message = reading.messages.get(body["message"], {})
    text = Text("exchange.message_taken", to=name_of(message.get("to", "?")))
    return _entry(reading, step, text, message.get("to", ""), "", aside=True)


def _acted(reading: _Reading, step: Step, body: Body) -> Entry:
    who = f"person:{body['by']}" if body.get("by") else body["agent"]
    text = Text(f"exchange.acted_{body['outcome']}", who=name_of(who), tool=body["tool"])
    return _entry(
        reading, step, text, who, f"tool:{body['tool']}", reading.parts(body, "arguments", "result")
    )


def _decided(reading: _Reading, step: Step, body: Body) -> Entry:
    text = Text("exchange.decided", who=name_of(body["from"]), revision=body["revision"])
    return _entry(reading, step, text, body["from"], "", reading.parts(body, "content"))


def _asked(reading: _Reading, step: Step, body: Body) -> Entry:
    reading.questions[body["question"]] = body
    people = f"people@{body['scope']}"
    text = Text(
        f"exchange.asked_{body['kind']}", who=body["agent"], tool=body["tool"], people=name_of(people)
    )
    hidden = {"digest", "labels", "receivers", "agent", "version", "said", "attempt"}
    parts = tuple(part for part in reading.parts(body, "form") if part.name not in hidden)
    return _entry(reading, step, text, body["agent"], people, parts)


def _answered(reading: _Reading, step: Step, body: Body) -> Entry:
    asked = reading.questions.get(body["question"], {})
    who = f"person:{body['by']}" if body.get("by") else ""
    by = name_of(who) if who else Text("exchange.nobody")
    text = Text(f"exchange.answered_{body['outcome']}", by=by, tool=asked.get("tool", "?"))
    return _entry(reading, step, text, who, asked.get("agent", ""), reading.parts(body, "said"))


def _listed(reading: _Reading, step: Step, body: Body) -> Entry:
    names = [item["event"] for item in body["events"]]
    return _entry(reading, step, Text("exchange.listed", events=names), aside=True)


def _withheld(reading: _Reading, step: Step, body: Body) -> Entry:
    return _entry(reading, step, Text("exchange.withheld", reason=body["reason"]))


def _not_started(reading: _Reading, step: Step, body: Body) -> Entry:
    return _entry(reading, step, Text("exchange.not_started", reason=body["reason"]), "", body["listener"])


_TELLERS: Mapping[str, Callable[[_Reading, Step, Body], Entry]] = {
    "task.opened": _opened,
    "task.handed_over": _handed_over,
    "task.acknowledged": _acknowledged,
    "task.queued": _queued,
    "task.taken": _taken,
    "task.closed": _closed,
    "message.sent": _sent,
    "message.rejected": _rejected,
    "message.undelivered": _undelivered,
    "message.taken": _message_taken,
    "task.acted": _acted,
    "decision.recorded": _decided,
    "question.asked": _asked,
    "question.answered": _answered,
    "event.listed": _listed,
    "event.withheld": _withheld,
    "event.not_started": _not_started,
}
