"""A standing: how a task of an exchange stands: what was asked, who owns it, what was done, what is open (MS-9)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock.catalogue import Text
from interlock.ledger.step import Step
from interlock.message.entry import Gone, name_of
from interlock.message.exchange import content_of, tasks_in
from interlock.message.task import OPEN, people_of
from interlock.scope.scope import Scope

__all__ = ["Standing", "standing_of", "standings_of"]

ACHIEVED = frozenset({"finished", "closed"})
"""How a task ends of which nothing is left to do; of one that ended otherwise, what remained remains."""
LONG = 300
"""How many characters of what somebody wrote stand in one sentence."""

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a task stands.

    number: as in the entries; 1 is the root task. asked: what it is about, text or JSON; None where nothing was said,
    `Gone` where it cannot be read. owner: who owns it, or did so at its end. state: `open`, or how it ended. done: what
    was done outside, a sentence for each action. answer: what its last owner said at its end, `Gone` where that cannot
    be read, None where nothing was said. open: what waits, is in doubt or in conflict, or remains.
    """

    number: int
    id: str
    asked: Any
    owner: str
    state: str
    done: tuple[Text, ...]
    open: tuple[Text, ...]
    answer: Any = None

    def as_dict(self, say: Callable[[Any], str]) -> dict[str, Any]:
        """Give it for programs; `say` puts the sentences into the reader's language."""
        return {
            "number": self.number,
            "id": self.id,
            "asked": None if isinstance(self.asked, Gone) else self._asked(say),
            "gone": say(self.asked.why) if isinstance(self.asked, Gone) else None,
            "owner": self.owner or None,
            "state": self.state,
            "done": [say(text) for text in self.done],
            "open": [say(text) for text in self.open],
            "answer": None if isinstance(self.answer, Gone) else self.answer,
        }

    def _asked(self, say: Callable[[Any], str]) -> Any:
        return say(self.asked) if isinstance(self.asked, Text) else self.asked


def standings_of(steps: Sequence[Step], contents: Mapping[str, Any]) -> list[Standing]:
    """Give how each task of an exchange stands after these steps, the root task first. `contents` as for
    `entries_of`."""
    tasks = {task: _Task(contents) for task in tasks_in(steps)}
    reading = _Reading(contents, tasks)
    for step in steps:
        taker = _TAKERS.get(step.kind)
        if taker is not None:
            taker(reading, step.body)
    return [task.standing(number, name) for number, (name, task) in enumerate(tasks.items(), 1)]


def standing_of(steps: Sequence[Step], contents: Mapping[str, Any]) -> Standing:
    """Give how the root task of an exchange, which has at least one step, stands after these steps."""
    return standings_of(steps, contents)[0]


@dataclass(slots=True)
class _Task:
    """A task as far as it was read. waiting: what is open, under the id of the message, question or action."""

    contents: Mapping[str, Any]
    asked: Any = None
    opened_by: str = ""
    owner: str = ""
    state: str = OPEN
    done: list[Text] = field(default_factory=list)
    hand_off: Text | None = None
    waiting: dict[str, Text] = field(default_factory=dict)
    package: str = ""
    answer: Any = None

    def owned(self, owner: str, package: str | None = None) -> None:
        """Somebody owns it now."""
        self.owner, self.hand_off = owner, None
        self.package = package or self.package

    def remains(self) -> list[Text]:
        """Give what the last package said remains, unless the task was achieved since."""
        if not self.package or self.state in ACHIEVED:
            return []
        package = content_of(self.contents, self.package)
        if isinstance(package, Gone):
            return [Text("exchange.open_package", why=package.why)]
        said = package.get("remains") if isinstance(package, dict) else None
        return [
            Text("exchange.open_remains", what=_cut(str(item)))
            for item in (said if isinstance(said, list) else ())
        ]

    def standing(self, number: int, name: str) -> Standing:
        """Give how it stands."""
        pending = [] if self.hand_off is None else [self.hand_off]
        waits = (*pending, *self.waiting.values(), *self.remains())
        done = tuple(self.done)
        return Standing(number, name, self.asked, self.owner, self.state, done, waits, self.answer)


@dataclass(slots=True)
class _Reading:
    """What the reading has met so far. waits: by the id of what waits, its task. opened: by message, the task that it
    opened."""

    contents: Mapping[str, Any]
    tasks: Mapping[str, _Task]
    waits: dict[str, _Task] = field(default_factory=dict)
    opened: dict[str, _Task] = field(default_factory=dict)

    def content(self, body: Body, key: str) -> Any:
        """Give the content under a key; None where there is none."""
        return content_of(self.contents, body[key]) if key in body else None

    def wait(self, task: _Task, name: str, text: Text) -> None:
        """Something of a task waits; of an action that two tasks wait for, the latter has it."""
        self.end(name)
        task.waiting[name] = text
        self.waits[name] = task

    def end(self, name: str) -> None:
        """What waited does so no longer."""
        if name in self.waits:
            self.waits.pop(name).waiting.pop(name)


def _opened(reading: _Reading, body: Body) -> None:
    task, by = reading.tasks[body["task"]], body["by"]
    task.owned(body["owner"])
    if "message" in by:
        task.opened_by = by["message"]
        reading.opened[task.opened_by] = task
    if by["kind"] == "event":
        task.asked = Text("exchange.asked_by_event", event=by["event"])
    else:
        task.asked = reading.content(by, "brief")


def _handed_over(reading: _Reading, body: Body) -> None:
    task = reading.tasks[body["task"]]
    task.owned(body["to"], body.get("package"))
    task.hand_off = Text("exchange.open_hand_off", to=name_of(body["to"]))


def _acknowledged(reading: _Reading, body: Body) -> None:
    reading.tasks[body["task"]].hand_off = None


def _owned(reading: _Reading, body: Body) -> None:
    reading.tasks[body["task"]].owned(body["owner"], body.get("package"))


def _closed(reading: _Reading, body: Body) -> None:
    """The message that opened a task has its answer by then, or gets none any more."""
    task = reading.tasks[body["task"]]
    task.state, task.hand_off = body["status"], None
    task.answer = reading.content(body, "summary" if "summary" in body else "said")
    reading.end(task.opened_by)


def _sent(reading: _Reading, body: Body) -> None:
    """A message may ask, answer, or be what a task was opened with."""
    name, said = body["message"], reading.content(body, "body")
    if name in reading.opened:
        reading.opened[name].asked = _wanted(body["type"], said)
    reading.end(body.get("reply_to", ""))
    if body["type"] in {"request", "question"}:
        who, to = name_of(body["from"]), name_of(body["to"])
        text = Text("exchange.open_message", who=who, to=to)
        reading.wait(reading.tasks[body["task"]], name, text)


def _wanted(type: str, said: Any) -> Any:
    """Give what a message asks; one that only tells something asks nothing."""
    if not isinstance(said, dict):
        return said
    if type == "status":
        return Text("exchange.asked_nothing", text=_cut(str(said.get("text", ""))))
    return said.get("goal", said.get("text", said))


def _undelivered(reading: _Reading, body: Body) -> None:
    reading.end(body["message"])


def _acted(reading: _Reading, body: Body) -> None:
    task, action, outcome = reading.tasks[body["task"]], body["action"], body["outcome"]
    if outcome == "in_doubt":
        reading.wait(task, action, Text("exchange.open_in_doubt", tool=body["tool"]))
        return
    if outcome not in {"done", "failed"}:
        return
    reading.end(action)
    arguments = reading.content(body, "arguments")
    shown = arguments.why if isinstance(arguments, Gone) else _line(arguments)
    about = {"who": name_of(body["agent"]), "tool": body["tool"], "arguments": shown}
    task.done.append(Text(f"exchange.standing_{outcome}", **about))


def _line(value: Any) -> str:
    if not isinstance(value, dict) or not value:
        return "–"
    return _cut(", ".join(f"{key} {inner}" for key, inner in value.items()))


def _cut(text: str) -> str:
    """Give what somebody wrote in one line, cut where it is long; the entries have all of it."""
    line = " ".join(text.split())
    return line if len(line) <= LONG else f"{line[: LONG - 1]}…"


def _asked(reading: _Reading, body: Body) -> None:
    about = {"who": name_of(body["agent"]), "tool": body["tool"]}
    people = name_of(str(people_of(Scope(body["scope"]))))
    text = Text(f"exchange.open_{body['kind']}", **about, people=people)
    reading.wait(reading.tasks[body["task"]], body["question"], text)


def _answered(reading: _Reading, body: Body) -> None:
    reading.end(body["question"])


_TAKERS: Mapping[str, Callable[[_Reading, Body], None]] = {
    "task.opened": _opened,
    "task.handed_over": _handed_over,
    "task.acknowledged": _acknowledged,
    "task.queued": _owned,
    "task.taken": _owned,
    "task.closed": _closed,
    "message.sent": _sent,
    "message.undelivered": _undelivered,
    "task.acted": _acted,
    "question.asked": _asked,
    "question.answered": _answered,
}
