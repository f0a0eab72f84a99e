"""An exchange: what the agents and people of a root task said and did, in order, in words for a stranger (MS-9).

It is read from the stream of the root task and from the content that its steps name, with nobody's context. What cannot
be read any more is said to be so, and the rest goes on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock.catalogue import Text
from interlock.ledger.step import Step
from interlock.message.entry import PLATFORM, TOOL, Entry, Gone, Part, name_of
from interlock.message.task import people_of, person_owner
from interlock.scope.scope import Scope

__all__ = ["CONTENTS", "content_of", "entries_of", "named_in", "tasks_in"]

CONTENTS = ("brief", "package", "body", "form", "said", "content", "summary", "arguments", "result", "detail")
"""The keys of a step's body under which content stands that belongs into an exchange."""
WHOLE = frozenset({"package", "body", "form", "content"})
"""The contents that are objects with parts of their own."""
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
"""In which order the parts of a content are read; any others follow by name."""
SHOWN_ELSEWHERE = frozenset({"digest", "labels", "receivers", "agent", "version", "attempt"})
"""What of a question's form the entry itself says, or nobody outside can make use of."""

Body = dict[str, Any]
Told = tuple[Text, str, str, tuple[Part, ...]]
"""What a teller gives: the sentence, who, whom, and the parts."""


def named_in(step: Step) -> Iterator[tuple[str, str]]:
    """Give key and digest of the content that a step of the exchange names."""
    body = step.body
    for where in (body, body.get("by")):
        if isinstance(where, dict):
            yield from ((key, where[key]) for key in CONTENTS if isinstance(where.get(key), str))


def content_of(contents: Mapping[str, Any], digest: str) -> Any:
    """Give the content of a digest: text, a JSON value, or `Gone`."""
    return contents.get(digest, Gone(Text("exchange.gone")))


def tasks_in(steps: Sequence[Step]) -> dict[str, int]:
    """Give the tasks of an exchange with their numbers, from 1, the root task, in the order in which they begin."""
    tasks = {step.stream: 1 for step in steps[:1]}
    for step in steps:
        tasks.setdefault(step.body.get("task", step.stream), len(tasks) + 1)
    return tasks


@dataclass(slots=True)
class _Reading:
    """What the reading has met so far. opens: by run, the task that is opened with it. agents, worked: by run, whose
    it is and on which task."""

    contents: Mapping[str, Any]
    tasks: Mapping[str, int]
    opens: Mapping[str, str]
    owners: dict[str, str] = field(default_factory=dict)
    agents: dict[str, str] = field(default_factory=dict)
    worked: dict[str, str] = field(default_factory=dict)
    messages: dict[str, Body] = field(default_factory=dict)
    questions: dict[str, Body] = field(default_factory=dict)

    def works(self, run: str | None, agent: str, task: str) -> None:
        """Take down whose a run is and what it works on."""
        if run:
            self.agents[run], self.worked[run] = agent, task

    def task_of(self, step: Step, body: Body) -> int:
        """Give the number of the task that a step is about; of one that names none, that of its message, question or
        run."""
        about = self.messages.get(body.get("message", "")) or self.questions.get(body.get("question", ""))
        task = body.get("task") or (about or {}).get("task") or self.worked.get(body.get("run", ""))
        return self.tasks.get(task or step.stream, 1)

    def parts(self, body: Body, *keys: str, hidden: frozenset[str] = frozenset()) -> tuple[Part, ...]:
        """Give the content under the keys; of an object, each of its values by its own name."""
        found: list[Part] = []
        for key in keys:
            if key not in body:
                continue
            value = content_of(self.contents, body[key])
            if isinstance(value, dict) and key in WHOLE:
                order = sorted(value.keys() - hidden, key=lambda name: (_place(name), name))
                found += [Part(name, value[name]) for name in order if value[name] not in ("", [], {}, None)]
            else:
                found.append(Part(key, value))
        names = [item["name"] for item in body.get("attachments", ())]
        return (*found, Part("attachments", names)) if names else tuple(found)


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def entries_of(steps: Sequence[Step], contents: Mapping[str, Any]) -> list[Entry]:
    """Give the entries of an exchange in order, one for each step.

    `contents` has by digest the text or JSON value of what can be read, or `Gone`, as which all else shows, too.
    """
    opens = {
        body["run"]: body["task"] for body in (step.body for step in steps if step.kind == "task.opened")
    }
    reading = _Reading(contents, tasks_in(steps), opens)
    return [_entry(reading, step, step.body) for step in steps]


def _entry(reading: _Reading, step: Step, body: Body) -> Entry:
    teller = _TELLERS.get(step.kind)
    unknown: Told = (Text("exchange.unknown_step", kind=step.kind), "", "", ())
    text, who, whom, parts = unknown if teller is None else teller(reading, body)
    return Entry(
        seq=step.seq,
        at=step.at,
        kind=step.kind,
        type=_type(step.kind, body),
        task=reading.task_of(step, body),
        who=who,
        whom=whom,
        text=text,
        parts=parts,
        labels=tuple(body.get("labels", ())),
        aside=_is_aside(step, body),
    )


def _type(kind: str, body: Body) -> str:
    if kind == "task.opened":
        return str(body["by"]["kind"])
    return str(next((body[name] for name in ("type", "outcome", "kind", "status") if name in body), ""))


def _is_aside(step: Step, body: Body) -> bool:
    """A task that a message opened is told with the message; that a message was read, with what came of it."""
    by_message = step.kind == "task.opened" and body["by"]["kind"] not in {"person", "event"}
    return by_message or step.kind in {"message.taken", "event.listed"} or step.kind not in _TELLERS


def _opened(reading: _Reading, body: Body) -> Told:
    by, owner = body["by"], body["owner"]
    reading.owners[body["task"]] = owner
    reading.works(body["run"], owner, body["task"])
    number = reading.tasks[body["task"]]
    match by["kind"]:
        case "person":
            text = Text("exchange.opened_by_person", name=by["name"], owner=owner)
            return text, person_owner(by["name"]), owner, reading.parts(by, "brief")
        case "event":
            source = reading.agents.get(by.get("run", ""), "")
            shown = source or Text("exchange.somebody")
            text = Text(
                "exchange.opened_by_event", event=by["event"], source=shown, owner=owner, number=number
            )
            return text, source, owner, ()
        case _:
            return Text("exchange.opened_by_message", owner=owner, number=number), "", owner, ()


def _handed_over(reading: _Reading, body: Body) -> Told:
    task = body["task"]
    reading.owners[task] = body["to"]
    reading.works(body.get("run"), body["to"], task)
    by = body.get("by")
    who = person_owner(by) if by else body["from"]
    text = Text("exchange.handed_over", who=name_of(who), to=name_of(body["to"]))
    return text, who, body["to"], reading.parts(body, "package")


def _acknowledged(reading: _Reading, body: Body) -> Told:
    owner = reading.owners.get(body["task"], "")
    return Text("exchange.acknowledged", owner=name_of(owner)), owner, "", ()


def _queued(reading: _Reading, body: Body) -> Told:
    reading.owners[body["task"]] = body["owner"]
    text = Text("exchange.queued", owner=name_of(body["owner"]), reason=body["reason"])
    return text, body["from"], body["owner"], reading.parts(body, "package")


def _taken(reading: _Reading, body: Body) -> Told:
    before, reading.owners[body["task"]] = reading.owners.get(body["task"], ""), body["owner"]
    return Text("exchange.taken", by=body["by"], before=name_of(before)), body["owner"], before, ()


def _closed(reading: _Reading, body: Body) -> Told:
    owner = reading.owners.get(body["task"], "")
    reading.works(body.get("run"), owner, body["task"])
    who = person_owner(body["by"]) if body.get("by") else owner
    text = Text("exchange.closed", who=name_of(who), how=Text(f"exchange.status_{body['status']}"))
    events = (Part("events", body["events"]),) if body.get("events") else ()
    return text, who, "", (*reading.parts(body, "summary", "said"), *events)


def _sent(reading: _Reading, body: Body) -> Told:
    reading.messages[body["message"]] = body
    text = Text(f"exchange.sent_{body['type']}", who=name_of(body["from"]), to=name_of(body["to"]))
    number = reading.tasks.get(reading.opens.get(body.get("opens", ""), ""), 1)
    if number > 1:
        text = Text("exchange.with_task", what=text, number=number)
    return text, body["from"], body["to"], reading.parts(body, "body")


def _rejected(reading: _Reading, body: Body) -> Told:
    text = Text("exchange.rejected", who=name_of(body["from"]), type=body["type"], reason=body["reason"])
    return text, body["from"], "", reading.parts(body, "detail")


def _undelivered(reading: _Reading, body: Body) -> Told:
    message = reading.messages.get(body["message"], {"from": "", "to": ""})
    ends = {"who": name_of(message["from"]), "to": name_of(message["to"])}
    text = Text("exchange.undelivered", **ends, reason=body["reason"])
    return text, message["from"], message["to"], ()


def _message_taken(reading: _Reading, body: Body) -> Told:
    message = reading.messages.get(body["message"], {"from": "", "to": ""})
    text = Text("exchange.message_taken", who=name_of(message["from"]), to=name_of(message["to"]))
    return text, message["to"], "", ()


def _acted(reading: _Reading, body: Body) -> Told:
    """Of an action in doubt a person says what is the case, which is no action of theirs."""
    by, outcome, tool = body.get("by"), body["outcome"], body["tool"]
    parts = reading.parts(body, "arguments", "result")
    if by:
        text = Text(f"exchange.settled_{outcome}", who=by, tool=tool)
        return text, person_owner(by), "", parts
    text = Text(f"exchange.acted_{outcome}", who=name_of(body["agent"]), tool=tool)
    return text, body["agent"], TOOL + tool, parts


def _decided(reading: _Reading, body: Body) -> Told:
    text = Text("exchange.decided", who=name_of(body["from"]), revision=body["revision"])
    return text, body["from"], "", reading.parts(body, "content", hidden=frozenset({"by"}))


def _asked(reading: _Reading, body: Body) -> Told:
    reading.questions[body["question"]] = body
    people = str(people_of(Scope(body["scope"])))
    about = {"who": name_of(body["agent"]), "tool": body["tool"], "people": name_of(people)}
    text = Text(f"exchange.asked_{body['kind']}", **about)
    return text, body["agent"], people, reading.parts(body, "form", hidden=SHOWN_ELSEWHERE)


def _answered(reading: _Reading, body: Body) -> Told:
    asked = reading.questions.get(body["question"], {"tool": "?", "agent": ""})
    who = person_owner(body["by"]) if body.get("by") else ""
    text = Text(f"exchange.answered_{body['outcome']}", by=name_of(who), tool=asked["tool"])
    return text, who, asked["agent"], reading.parts(body, "said")


def _listed(reading: _Reading, body: Body) -> Told:
    return Text("exchange.listed", events=[item["event"] for item in body["events"]]), PLATFORM, "", ()


def _withheld(reading: _Reading, body: Body) -> Told:
    who = reading.agents.get(body.get("run", ""), "")
    return Text("exchange.withheld", reason=body["reason"]), who, "", ()


def _not_started(reading: _Reading, body: Body) -> Told:
    who, whom = reading.agents.get(body.get("run", ""), ""), body["listener"]
    return Text("exchange.not_started", listener=whom, reason=body["reason"]), who, whom, ()


_TELLERS: Mapping[str, Callable[[_Reading, Body], Told]] = {
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
