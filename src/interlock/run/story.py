"""A story: the trail of a run in words, one line or a few for each step, in the reader's language."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from interlock.catalogue import Text
from interlock.ledger.step import Step
from interlock.message.entry import name_of

__all__ = ["Line", "story_of"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a story: when (milliseconds since the opening), the step it tells, and what it says.

    depth: 0 for what the step is, 1 for what belongs to it, 2 for what belongs to that.
    """

    seq: int
    after_ms: int
    text: Text
    depth: int = 0


def story_of(steps: list[Step]) -> Iterator[Line]:
    """Give the story of a trail, or of a part of it from its opening on. A kind of step that has no words of
    its own is told by its name, so that nothing is left out."""
    if not steps:
        return
    began = steps[0].at
    for step in steps:
        body = step.body
        teller = _TELLERS.get(step.kind, _unknown)
        for depth, text in teller(body, step):
            yield Line(step.seq, step.at - began, text, depth)


Told = Iterator[tuple[int, Text]]


def _tool(body: dict[str, Any]) -> Any:
    return body["tool"] or Text("trail.unknown_tool")


def _unknown(body: dict[str, Any], step: Step) -> Told:
    yield 0, Text("trail.step", kind=step.kind)


def _opener(body: dict[str, Any], opener: dict[str, Any]) -> Text:
    """Say what opened a run."""
    if "work" in body:
        place = body["work"]["place"]
        return Text("trail.opened_as_part", node=place["node"], attempt=place["attempt"], run=opener["run"])
    if "event" in body:
        return Text("trail.opened_by_event", event=opener["event"], run=opener["run"])
    if "turn" in body:
        turn = body["turn"]
        where = {"conversation": turn["conversation"], "connector": turn["connector"]}
        return Text("trail.opened_by_turn", count=len(turn["events"]), **where)
    if "given" in body:
        return Text(f"trail.opened_by_{opener['kind']}", sender=name_of(body["given"]["from"]))
    return Text("trail.opened_by_person", name=opener.get("name", "?"))


def _opened(body: dict[str, Any], step: Step) -> Told:
    opener = body["opened_by"]
    yield 0, _opener(body, opener)
    if body.get("given", {}).get("attempt", 1) > 1:
        yield 1, Text("trail.attempt", attempt=body["given"]["attempt"])
    place = body.get("chain")
    if place is None and opener["kind"] == "event":
        yield 1, Text("trail.no_place")
    elif place is not None and place["hop"]:
        yield 1, Text("trail.place", hop=place["hop"], root_run=place["root_run"])
    given = body.get("given", {}).get("attachments", ())
    taken_in = body.get("work", {}).get("artifacts", ())
    for item in (*body.get("event", {}).get("artifacts", ()), *given, *taken_in):
        yield 1, _named(item)
    if body.get("contract"):
        yield (
            1,
            Text(
                "trail.contract",
                names=[*body["contract"].get("tools", ()), *body["contract"].get("effects", ())],
            ),
        )
    for label, receiver in body.get("released", ()):
        yield 1, Text("trail.released", label=label, receiver=receiver)
    if body.get("labels"):
        yield 1, Text("trail.labels", labels=body["labels"])
    if "worker" in body:
        yield 1, Text("trail.claimed", worker=body["worker"])


def _named(item: dict[str, Any]) -> Text:
    if item.get("absent"):
        return Text("trail.absent", name=item["name"])
    return Text("trail.named", name=item["name"], size=item["size"])


def _claimed(body: dict[str, Any], step: Step) -> Told:
    before = body.get("after")
    yield (
        0,
        Text("trail.taken_over", worker=body["worker"])
        if before
        else Text("trail.claimed", worker=body["worker"]),
    )


def _asked(body: dict[str, Any], step: Step) -> Told:
    if "compacting" in body:
        yield 0, Text("trail.asked_to_summarise", role=body["role"], bytes=body["bytes"])
        return
    yield 0, Text("trail.asked", role=body["role"], n=body["n"], bytes=body["bytes"])


def _compacted(body: dict[str, Any], step: Step) -> Told:
    count = body["last"] - body["first"] + 1
    yield 0, Text(f"trail.compacted_{body['how']}", revision=body["revision"], count=count)
    if body["labels"]:
        yield 1, Text("trail.labels", labels=body["labels"])


def _failed(body: dict[str, Any], step: Step) -> Told:
    message = "trail.model_failed_again" if body["wait_ms"] else "trail.model_failed"
    yield 0, Text(message, code=body["code"], wait=body["wait_ms"] / 1000)


def _answered(body: dict[str, Any], step: Step) -> Told:
    tools = [tool or Text("trail.unknown_tool") for _, tool in body["calls"]]
    tokens = body["usage"].get("tokens", 0)
    yield (
        0,
        Text("trail.answered", tools=tools, tokens=tokens)
        if tools
        else Text("trail.answered_text", tokens=tokens),
    )


def _noted(body: dict[str, Any], step: Step) -> Told:
    yield 0, Text("trail.noted")


def _judged(body: dict[str, Any], step: Step) -> Told:
    if body["verdict"] == "allow":
        yield 0, Text("trail.allowed", tool=_tool(body))
        return
    yield 0, Text(f"trail.verdict_{body['verdict']}", tool=_tool(body), rule=body["rule"])
    yield 1, Text("trail.because", reason=body["reason"])


def _tool_answered(body: dict[str, Any], step: Step) -> Told:
    if "error" in body:
        yield 0, Text("trail.tool_failed", tool=_tool(body))
        yield 1, Text("trail.because", reason=body["error"])
        return
    if "repeats" in body:
        yield 0, Text("trail.repeats", run=body["by_run"])
    yield 0, Text("trail.tool_answered", tool=_tool(body), size=body["size"])
    if "handed_over" in body:
        yield 1, Text("trail.handed_over", hand_off=body["handed_over"])
    if body.get("labels"):
        yield 1, Text("trail.brings", labels=body["labels"])


def _waiting(body: dict[str, Any], step: Step) -> Told:
    if "question" in body:
        yield 0, Text("trail.waits_for_person", tool=_tool(body), question=body["question"])
    else:
        yield 0, Text("trail.waits_for_reply", tool=_tool(body))


def _work_admitted(body: dict[str, Any], step: Step) -> Told:
    yield 0, Text("trail.work_admitted", revision=body["revision"], nodes=body["nodes"], edges=body["edges"])


def _work_started(body: dict[str, Any], step: Step) -> Told:
    yield 0, Text("trail.work_started", node=body["node"], attempt=body["attempt"])
    for item in body.get("edges", ()):
        yield 1, Text("trail.named", name=item["name"], size=item["size"])


def _work_ended(body: dict[str, Any], step: Step) -> Told:
    outcome = Text(f"work.outcome.{body['outcome']}")
    yield 0, Text("trail.work_ended", node=body["node"], attempt=body["attempt"], outcome=outcome)
    if "reason" in body:
        yield 1, Text("trail.because", reason=body["reason"])


def _work_kept(body: dict[str, Any], step: Step) -> Told:
    yield 0, Text("trail.work_kept", node=body["node"], revision=body["of"])


def _work_skipped(body: dict[str, Any], step: Step) -> Told:
    yield 0, Text("trail.work_skipped", node=body["node"])
    reason = Text("work.skipped", because=body["because"]) if "because" in body else Text("work.not_needed")
    yield 1, Text("trail.because", reason=reason)


def _saved(body: dict[str, Any], step: Step) -> Told:
    yield 0, Text("trail.saved", name=body["name"], size=body["size"])


def _drawn(body: dict[str, Any], step: Step) -> Told:
    yield 0, Text("trail.drawn", subject=body["subject"])


def _signalled(body: dict[str, Any], step: Step) -> Told:
    yield 0, Text(f"trail.signal_{body['signal']}", by=body.get("by", ""))
    if "reason" in body:
        yield 1, Text("trail.because", reason=body["reason"])
    if body.get("labels"):
        yield 1, Text("trail.brings", labels=body["labels"])


def _closed(body: dict[str, Any], step: Step) -> Told:
    yield 0, Text(f"trail.closed_{body['status']}")
    if "reason" in body:
        yield 1, Text("trail.because", reason=body["reason"])
    for item in body.get("artifacts", ()):
        yield 1, Text("trail.published", name=item["name"], size=item["size"])
    for item in body.get("not_done", ()):
        yield 1, Text("trail.not_done", what=item)
    if "not_done_said" in body:
        yield 1, Text("trail.not_done_said")
    if "chain" in body:
        yield 1, Text("trail.because", reason=body["chain"])
    for event in body.get("events", ()):
        yield from _emitted(event)


def _emitted(event: dict[str, Any]) -> Told:
    yield 1, Text("trail.emitted", event=event["event"])
    if "listeners" in event:
        yield 2, Text("trail.many_listeners", count=event["listeners"])
    elif not event["deliveries"]:
        yield 2, Text("trail.nobody_heard")
    for item in event.get("deliveries", ()):
        if item["outcome"] == "open":
            yield (
                2,
                Text("trail.delivered", listener=item["listener"], version=item["version"], run=item["run"]),
            )
        else:
            yield 2, Text("trail.not_delivered", listener=item["listener"], reason=item["reason"])


_TELLERS = {
    "run.opened": _opened,
    "run.claimed": _claimed,
    "model.asked": _asked,
    "model.failed": _failed,
    "model.answered": _answered,
    "model.noted": _noted,
    "tool.judged": _judged,
    "tool.answered": _tool_answered,
    "tool.waiting": _waiting,
    "work.admitted": _work_admitted,
    "work.started": _work_started,
    "work.ended": _work_ended,
    "work.kept": _work_kept,
    "work.skipped": _work_skipped,
    "artifact.saved": _saved,
    "context.compacted": _compacted,
    "budget.drawn": _drawn,
    "signal.taken": _signalled,
    "run.closed": _closed,
}
