"""A run: what a fold over its trail gives (RN-4). Nothing here reads or writes; a step goes in, the state moves.

The same fold serves a worker that has just written a step and one that takes the run over after a crash.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.errors import InterlockError
from interlock.event.chain import Place
from interlock.gate.budget import Budget, Usage
from interlock.ledger.step import MISFITS, Head, Step
from interlock.perspective.compaction import Compaction
from interlock.perspective.entry import Entry
from interlock.run.call import CallState
from interlock.run.work import Work
from interlock.scope.label import Labels
from interlock.scope.scope import Address, Scope

__all__ = ["OPEN", "TRAIL", "CallState", "Run", "fold"]

OPEN = "open"
TRAIL = 1_000_000
"""More steps than the trail of a run can have: what bounds them is its budget."""


@dataclass(slots=True)
class Run:
    """The state of a run."""

    id: str
    agent: Address
    version: int
    scope: Scope
    opening: dict[str, Any]
    labels: Labels
    place: Place | None
    budget: Budget
    head: Head
    status: str = OPEN
    reason: dict[str, Any] | None = None
    fence: int = 0
    usage: Usage = field(default_factory=Usage)
    answers: int = 0
    attempts: int = 0
    faults: int = 0
    last_fault: dict[str, Any] | None = None
    opened_at: int = 0
    times: dict[str, int] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    compaction: Compaction | None = None
    calls: dict[str, CallState] = field(default_factory=dict)
    waiting: list[CallState] = field(default_factory=list)
    artifacts: dict[str, dict[str, Any]] = field(default_factory=dict)
    given: dict[str, dict[str, Any]] = field(default_factory=dict)
    cancelled_by: str | None = None
    disowned: dict[str, Any] | None = None
    exhausted: dict[str, Any] | None = None
    handed_over: bool = False
    parted: bool = False
    reported: bool = False
    answered: set[str] = field(default_factory=set)
    replies: dict[str, str] = field(default_factory=dict)
    held: list[Entry] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    drawn: dict[str, Usage] = field(default_factory=dict)
    works: list[Work] = field(default_factory=list)

    @classmethod
    def of_opening(cls, name: str, body: Mapping[str, Any], head: Head, fence: int, at: int) -> "Run":
        """Give the state of a run that has just been opened, from the body of its opening step."""
        run = cls(
            id=name,
            agent=Address(body["agent"]),
            version=body["version"],
            scope=Scope(body["scope"]),
            opening=dict(body),
            labels=frozenset(body.get("labels", ())),
            place=Place.of_opening(name, body),
            budget=Budget.of(body.get("budget", {})),
            head=head,
            fence=fence,
            opened_at=at,
        )
        taken_in = run.part.get("artifacts", ())
        for item in (
            *body.get("event", {}).get("artifacts", ()),
            *run.message.get("attachments", ()),
            *taken_in,
        ):
            run.given[item["name"]] = item
        return run

    @property
    def fresh(self) -> bool:
        """Whether whoever opened the run took it at once, so that nobody can have told it anything yet. The
        claim of a run that waited is a step of its own, and much may have been said to it by then."""
        return self.fence == self.head.seq == 1

    @property
    def begun(self) -> bool:
        """Whether the body has asked its model or made a call: whatever had to come before has come."""
        return bool(self.answers or self.attempts or self.calls)

    def time_left(self, longest: int) -> int:
        """Give how long, in milliseconds, a call may take that may take `longest`, within the run's wall time
        and within what it has drawn from the scopes that limit theirs; at least 1."""
        drawn = (amount.wall_ms or None for amount in self.allowances().values())
        own = self.budget.left(self.lent).wall_ms
        limits = [limit for limit in (own, *drawn) if limit is not None]
        return max(1, min(longest, *(limit - self.usage.wall_ms for limit in limits))) if limits else longest

    def allowances(self) -> dict[str, Usage]:
        """Give what the run has drawn in all from each scope's budget, by scope."""
        totals: dict[str, Usage] = {}
        for subject, amount in self.drawn.items():
            scope = subject.rpartition(" ")[0]
            totals[scope] = totals.get(scope, Usage()) + amount
        return totals

    @property
    def open_calls(self) -> list[CallState]:
        """The calls that its body proposed and that have no result yet; those that its work makes are none of them."""
        return [call for call in self.waiting if not call.node]

    @property
    def part(self) -> dict[str, Any]:
        """The node of a work graph that the run is, as the opening step keeps it; empty for any other run."""
        part: dict[str, Any] = self.opening.get("work", {})
        return part

    @property
    def lent(self) -> Usage:
        """What of the run's budget its child runs may use, or have used."""
        return sum((amount for work in self.works for amount in work.lent.values()), Usage())

    @property
    def committed(self) -> Usage:
        """What the run has used, with what it lent to its child runs (GT-5)."""
        return self.usage + self.lent if self.works else self.usage

    @property
    def company(self) -> str:
        """The company whose key the run's content is stored under."""
        return str(self.scope.company)

    @property
    def task(self) -> str:
        """The task the run works on."""
        return str(self.opening["task"]["id"])

    @property
    def epoch(self) -> int:
        """By which change of owner the run's agent owns the task (MS-6)."""
        return int(self.opening["task"].get("epoch", 1))

    @property
    def message(self) -> dict[str, Any]:
        """The message or hand-off that opened the run, as the opening step keeps it; empty where none did."""
        given: dict[str, Any] = self.opening.get("given", {})
        return given

    @property
    def owes_a_report(self) -> bool:
        """Whether the work was given by a request, whose reply is a report (RS-1, MS-12)."""
        return self.message.get("type") == "request" and not self.reported and not self.handed_over

    @property
    def owes_a_reply(self) -> bool:
        """Whether somebody waits for what this run has to say (MS-4)."""
        return self.message.get("type") in {"request", "question"} and not self.reported

    @property
    def root_task(self) -> str:
        """The task at the root, whose id ties all together (RN-7)."""
        return str(self.opening["task"]["root"])

    def take(self, kind: str, body: dict[str, Any], fence: int, at: int) -> None:
        """Move the state by one step."""
        if kind == "tool.answered":
            self.times[body["call"]] = at
        if kind.startswith("work."):
            _worked(self, kind, body, at)
        rule = _RULES.get(kind)
        if rule is not None:
            rule(self, body, fence)


def _compacted(run: Run, body: dict[str, Any], fence: int) -> None:
    run.compaction, run.attempts = Compaction.of_step(body), 0
    run.usage += Usage(**body["usage"])


def _worked(run: Run, kind: str, body: dict[str, Any], at: int) -> None:
    if kind == "work.admitted":
        run.works.append(Work(body["revision"], body["call"], body["graph"], at))
        run.calls[body["call"]].work = body["revision"]
        return
    run.works[body["revision"] - 1].take(kind, body, at)
    if kind == "work.ended" and "run" not in body:
        run.usage += Usage(**body.get("usage", {}))
    if kind == "work.started" and "call" in body:
        call = CallState.of_node(body)
        run.calls[call.id] = call
        run.waiting.append(call)
        run.labels |= frozenset(body.get("labels", ()))


def _look_again(run: Run) -> None:
    """Something may be to be done about the work graphs that are under way."""
    for work in run.works:
        run.calls[work.call].resting = False


def _claimed(run: Run, body: dict[str, Any], fence: int) -> None:
    run.fence = fence
    _look_again(run)


def _asked(run: Run, body: dict[str, Any], fence: int) -> None:
    run.attempts += 1


def _answered(run: Run, body: dict[str, Any], fence: int) -> None:
    run.answers, run.attempts = body["n"], 0
    run.usage += Usage(**body["usage"])
    run.entries.append(Entry("answer", body["answer"]))
    for index, (call, tool) in enumerate(body["calls"]):
        state = CallState(call, tool, body["n"], index)
        run.calls[call] = state
        run.waiting.append(state)


def _failed(run: Run, body: dict[str, Any], fence: int) -> None:
    run.usage += Usage(**body.get("usage", {}))


def _noted(run: Run, body: dict[str, Any], fence: int) -> None:
    run.entries.append(Entry("note", text=body["text"]))
    run.faults += 1
    run.last_fault = {"status": "failed", "text": body["text"]}


def _judged(run: Run, body: dict[str, Any], fence: int) -> None:
    state = run.calls.get(body["call"])
    if state is None:
        state = run.calls[body["call"]] = CallState(body["call"], body["tool"], body.get("place", 0), 0)
        run.waiting.append(state)
    state.verdict, state.rule, state.fence = body["verdict"], body.get("rule"), fence
    state.arguments = body.get("arguments_content", state.arguments)
    if state.verdict in {"allow", "ask"}:
        return
    if state.node:
        state.reason = body["reason"]
    else:
        run.faults += 1
        run.last_fault = {"status": "refused", "text": body["reason"]}
        if state.rule == "budget":
            run.exhausted = body["reason"]
    _settle(run, state, Entry("told", body["detail"], state.id, state.tool))


def _tool_answered(run: Run, body: dict[str, Any], fence: int) -> None:
    state = run.calls[body["call"]]
    run.usage += Usage(**body["usage"])
    labels = frozenset(body.get("labels", ()))
    run.labels |= labels
    if state.work:
        run.works[state.work - 1].over = True
    if state.node:
        state.reason = body.get("error")
        entry = Entry("told" if "error" in body else "result", body.get("result") or body["detail"], state.id)
        _settle(run, state, entry)
        return
    if "error" in body:
        run.faults += 1
        run.last_fault = {"status": "failed", "text": body["error"]}
        told = Entry("told", body["detail"], state.id, state.tool, labels=labels, foreign="said_by" in body)
        _settle(run, state, told)
        return
    run.faults = run.attempts = 0
    run.handed_over |= "handed_over" in body
    run.parted |= "handed_over" in body and body.get("alone", False)
    run.reported |= "reported" in body
    if "sent" in body:
        run.sent.append(body["sent"])
    for item in body.get("given", ()):
        run.given[item["name"]] = item
    _settle(run, state, Entry.of_result(body, state.id, state.tool))


def _settle(run: Run, state: CallState, entry: Entry) -> None:
    state.done = entry
    if not state.node:
        run.entries.append(entry)
    if state in run.waiting:
        run.waiting.remove(state)
    if not run.open_calls:
        # A provider takes nothing between the calls of an answer and their results.
        run.entries += run.held
        run.held.clear()


def _saved(run: Run, body: dict[str, Any], fence: int) -> None:
    run.artifacts[body["name"]] = body


def _drawn(run: Run, body: dict[str, Any], fence: int) -> None:
    subject = body["subject"]
    run.drawn[subject] = run.drawn.get(subject, Usage()) + Usage(**body["amount"])


def _waits(run: Run, body: dict[str, Any], fence: int) -> None:
    state = run.calls[body["call"]]
    if "question" in body:
        state.question = body["question"]
    else:
        state.message, state.warnings = body["message"], body.get("warnings", [])
        run.sent.append(body["message"])


def _signalled(run: Run, body: dict[str, Any], fence: int) -> None:
    match body["signal"]:
        case "cancel":
            run.cancelled_by = body["by"]
        case "disowned":
            run.disowned = body["reason"]
        case "work":
            _look_again(run)
        case "answer":
            run.answered.add(body["id"])
            _look_again(run)
        case "reply":
            run.replies[body["to"]] = body["id"]
        case "message" | "decision" if "content" in body:
            _heard(run, body)


def _heard(run: Run, body: dict[str, Any]) -> None:
    """Something that came unasked stands where no answer of the model is torn from its results."""
    labels = frozenset(body.get("labels", ()))
    run.labels |= labels
    for item in body.get("given", ()):
        run.given[item["name"]] = item
    entry = Entry("heard", body["content"], text=body["text"], labels=labels)
    (run.held if run.open_calls else run.entries).append(entry)


def _closed(run: Run, body: dict[str, Any], fence: int) -> None:
    run.status, run.reason = body["status"], body.get("reason")
    for item in body.get("artifacts", ()):
        run.artifacts[item["name"]] = item


_RULES = {
    "run.claimed": _claimed,
    "model.asked": _asked,
    "model.answered": _answered,
    "model.failed": _failed,
    "model.noted": _noted,
    "tool.judged": _judged,
    "tool.answered": _tool_answered,
    "tool.waiting": _waits,
    "artifact.saved": _saved,
    "context.compacted": _compacted,
    "budget.drawn": _drawn,
    "signal.taken": _signalled,
    "run.closed": _closed,
}


def fold(steps: list[Step], stream: str = "run_") -> Run:
    """Give the state of a run from its whole trail, the opening step first. `stream` is what a trail without any
    step is called by.

    Raises InterlockError `ledger.damaged`, naming the first step that does not fit.
    """
    if not steps:
        raise InterlockError("ledger.damaged", stream=stream, seq=1)
    step = first = steps[0]
    try:
        run = Run.of_opening(first.stream, first.body, first.head, first.fence, first.at)
        for step in steps[1:]:
            run.take(step.kind, step.body, step.fence, step.at)
            run.head = step.head
    except (InterlockError, *MISFITS):
        raise InterlockError("ledger.damaged", stream=step.stream, seq=step.seq) from None
    return run
