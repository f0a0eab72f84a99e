"""A standing: how the tasks of an exchange stand now: what was asked, who owns each, what was done, what is open
(MS-9)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock.catalogue import Text
from interlock.ledger.step import Step
from interlock.message.exchange import GONE, name_of
from interlock.message.task import OPEN

__all__ = ["Standing", "standing_of"]

SETTLED = frozenset({"done", "failed"})


@dataclass(slots=True)
class Standing:
    """asked: what the root task is about, text or JSON. owner: who owns it now; state: `open` or how it ended.
    done: what was done outside, a line for each action. open: what waits, is in doubt, or was said to remain."""

    asked: Any = None
    owner: str = ""
    state: str = OPEN
    done: list[Text] = field(default_factory=list)
    open: list[Text] = field(default_factory=list)


def standing_of(steps: Sequence[Step], contents: Mapping[str, Any]) -> Standing:
    """Give how a root task stands after these steps of its exchange."""
    found = Standing()
    if not steps:
        return found
    root = steps[0].stream
    first = steps[0].body
    found.asked = contents.get(first.get("by", {}).get("brief", ""), _first_said(steps, contents))
    for step in steps:
        body = step.body
        if body.get("task") != root:
            continue
        if step.kind in {"task.opened", "task.queued", "task.taken"}:
            found.owner = body["owner"]
        elif step.kind == "task.handed_over":
            found.owner = body["to"]
        elif step.kind == "task.closed":
            found.state = body["status"]
    found.done = list(_done(steps, contents))
    found.open = list(_open(steps, contents, found))
    return found


def _first_said(steps: Sequence[Step], contents: Mapping[str, Any]) -> Any:
    """What opened the task, where it was a message."""
    body = next((step.body for step in steps[:2] if step.kind == "message.sent"), {})
    said = contents.get(body.get("body", ""))
    return said.get("goal", said.get("text")) if isinstance(said, dict) else said


def _done(steps: Sequence[Step], contents: Mapping[str, Any]) -> Iterator[Text]:
    for step in steps:
        if step.kind == "task.acted" and step.body["outcome"] in {"done", "failed"}:
            body = step.body
            arguments = contents.get(body["arguments"], GONE)
            who = f"person:{body['by']}" if body.get("by") else body["agent"]
            said = "exchange.standing_" + body["outcome"]
            yield Text(said, who=name_of(who), tool=body["tool"], arguments=_line(arguments))


def _line(value: Any) -> str:
    if not isinstance(value, dict):
        return "–"
    return ", ".join(f"{key} {inner}" for key, inner in value.items())


def _open(steps: Sequence[Step], contents: Mapping[str, Any], found: Standing) -> Iterator[Text]:
    yield from _unacknowledged(steps)
    yield from _unanswered(steps)
    yield from _doubtful(steps)
    if found.state == OPEN:
        yield from _remains(steps, contents)


def _unacknowledged(steps: Sequence[Step]) -> Iterator[Text]:
    pending: dict[str, Text] = {}
    for step in steps:
        if step.kind == "task.handed_over":
            pending[step.body["task"]] = Text("exchange.open_hand_off", to=name_of(step.body["to"]))
        elif step.kind in {"task.acknowledged", "task.queued", "task.taken", "task.closed"}:
            pending.pop(step.body["task"], None)
    yield from pending.values()


def _unanswered(steps: Sequence[Step]) -> Iterator[Text]:
    waiting: dict[str, Text] = {}
    for step in steps:
        body = step.body
        if step.kind == "question.asked":
            people = name_of(f"people@{body['scope']}")
            about = f"exchange.open_{body['kind']}"
            waiting[body["question"]] = Text(about, who=body["agent"], tool=body["tool"], people=people)
        elif step.kind == "question.answered":
            waiting.pop(body["question"], None)
        elif step.kind == "message.sent" and body["type"] in {"request", "question"} and body.get("run"):
            waiting[body["message"]] = Text(
                "exchange.open_message", who=name_of(body["from"]), to=name_of(body["to"])
            )
        elif step.kind == "message.sent" and "reply_to" in body:
            waiting.pop(body["reply_to"], None)
        elif step.kind == "message.undelivered":
            waiting.pop(body["message"], None)
    yield from waiting.values()


def _doubtful(steps: Sequence[Step]) -> Iterator[Text]:
    doubtful: dict[str, Text] = {}
    for step in steps:
        if step.kind != "task.acted":
            continue
        body = step.body
        if body["outcome"] == "in_doubt":
            doubtful[body["action"]] = Text("exchange.open_in_doubt", tool=body["tool"])
        elif body["outcome"] in SETTLED:
            doubtful.pop(body["action"], None)
    yield from doubtful.values()


def _remains(steps: Sequence[Step], contents: Mapping[str, Any]) -> Iterator[Text]:
    """What the last package said remains, as long as nobody closed the task."""
    for step in reversed(steps):
        if "package" in step.body:
            package = contents.get(step.body["package"], {})
            for item in package.get("remains", ()) if isinstance(package, dict) else ():
                yield Text("exchange.open_remains", what=item)
            return
