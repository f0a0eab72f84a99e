"""An opening: the first step of a run, with its task, its place on the chain and its budget (RN-7, RN-8)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from interlock.agent.spec import Spec
from interlock.event.chain import Place
from interlock.event.event import EventInput, cause_key
from interlock.gate.budget import Budget, Usage
from interlock.ledger.ledger import Row, Write
from interlock.ledger.step import FORMAT, Draft, Head
from interlock.message.task import Task
from interlock.run.shared_budget import draw
from interlock.scope.label import Labels, area_label, join, listed
from interlock.scope.scope import Address, Scope

__all__ = [
    "Brief",
    "Given",
    "Opening",
    "Taker",
    "Turn",
    "labels_at_opening",
    "opened_as_part",
    "opened_by_event",
    "opened_by_message",
    "opened_by_person",
    "opened_by_turn",
]


@dataclass(frozen=True, slots=True)
class Taker:
    """Who takes the run at once: a worker and until when; nobody when `worker` is None, and it is queued."""

    worker: str | None = None
    until: int = 0


@dataclass(frozen=True, slots=True)
class Brief:
    """What a person opens a run with.

    person: on whose behalf. content: the digest of the brief's canonical JSON, None for no brief.
    labels: what the brief carries. tools, effects: the contract (GT-6). released: pairs (label, receiver).
    """

    person: str
    content: str | None = None
    labels: Labels = frozenset()
    tools: tuple[str, ...] | None = None
    effects: tuple[str, ...] | None = None
    released: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """Everything to append so that a run is open: its first step, what the exchange of its root task tells of it, and
    working rows.

    A worker that takes the run at once is named in that step, which is then its claim: `fence` is 1. `told` are the
    steps for the root task's stream: the task that the run opens, unless it takes over one that there is.
    """

    run: str
    task: str
    root: str
    write: Write
    told: tuple[Draft, ...]
    guards: tuple[Row, ...]
    budget: Budget
    body: Mapping[str, Any]
    fence: int = 0

    @property
    def writes(self) -> tuple[Write, ...]:
        """The run's stream and that of its root task."""
        return (self.write, Write(self.root, None, self.told)) if self.told else (self.write,)


@dataclass(frozen=True, slots=True)
class Given:
    """What another run, or a person, gives the run that it opens.

    kind: `request`, `question`, `status` or `hand_off`. id: the message's or the hand-off's. sender: an address or
    `person:<name>`. run: the sender's. body: the digest of what is said, `traced` the places in it whose values come
    from somebody trusted (GT-3). epoch: by which the opened run owns the task. attempt: which one this is.
    """

    kind: str
    id: str
    sender: str
    run: str | None
    body: str
    labels: Labels
    attachments: tuple[dict[str, Any], ...] = ()
    traced: tuple[str, ...] = ()
    decisions: tuple[dict[str, Any], ...] = ()
    revision: int = 0
    epoch: int = 1
    attempt: int = 1

    @property
    def cause(self) -> str:
        """The key under which this opens a run once for each attempt."""
        return f"{self.kind}:{self.id}:{self.attempt}"

    def as_dict(self) -> dict[str, Any]:
        """Give it as the opening step keeps it."""
        form: dict[str, Any] = {
            "type": self.kind,
            "id": self.id,
            "from": self.sender,
            "run": self.run,
            "body": self.body,
            "labels": listed(self.labels),
            "attachments": list(self.attachments),
            "traced": list(self.traced),
            "attempt": self.attempt,
        }
        return {key: value for key, value in form.items() if value not in (None, [])}

    def again(self) -> "Given":
        """Give the same for the next attempt."""
        return replace(self, attempt=self.attempt + 1)

    @classmethod
    def from_dict(cls, form: Mapping[str, Any], body: Mapping[str, Any]) -> Self:
        """Read back what an opening step keeps; `body` is that step's."""
        return cls(
            kind=form["type"],
            id=form["id"],
            sender=form["from"],
            run=form.get("run"),
            body=form["body"],
            labels=frozenset(form.get("labels", ())),
            attachments=tuple(form.get("attachments", ())),
            traced=tuple(form.get("traced", ())),
            decisions=tuple(body.get("decisions", ())),
            revision=body.get("revision", 0),
            epoch=body["task"].get("epoch", 1),
            attempt=form["attempt"],
        )


def labels_at_opening(spec: Spec, carried: Labels) -> Labels:
    """Give the labels a run has from its opening: what it was given, what its spec adds, and the area of an
    area agent (SC-4)."""
    own = [area_label(spec.scope)] if "/" in spec.scope else []
    return join(carried, spec.adds_labels, own)


def opened_by_person(
    run: str, task: str, spec: Spec, version: int, brief: Brief, limits: Budget, pool: Budget, taker: Taker
) -> Opening:
    """Give the opening of a run that no other run caused. `pool` is what its root task may use in all."""
    budget = limits.narrowed(spec.limits).narrowed(pool)
    left = pool.left(Usage(**budget.as_dict()))
    body: dict[str, Any] = {
        "format": FORMAT,
        "agent": spec.address,
        "version": version,
        "scope": spec.scope,
        "opened_by": {"kind": "person", "name": brief.person},
        "behalf": brief.person,
        "labels": listed(labels_at_opening(spec, brief.labels)),
        "task": {"id": task, "root": task},
        "chain": Place(run).as_dict(),
        "budget": budget.as_dict(),
    }
    if brief.content is not None:
        body["input"] = brief.content
    if brief.tools is not None or brief.effects is not None:
        body["contract"] = {
            name: list(value)
            for name, value in (("tools", brief.tools), ("effects", brief.effects))
            if value is not None
        }
    if brief.released:
        body["released"] = [list(pair) for pair in brief.released]
    pool_row = Row("insert_budget", (task, left.tool_calls, left.tokens, left.money, left.wall_ms))
    by = {"kind": "person", "name": brief.person} | ({"brief": brief.content} if brief.content else {})
    return _opening(run, body, budget, taker, (pool_row,), by)


def opened_by_event(
    run: str,
    task: str,
    spec: Spec,
    version: int,
    event: EventInput,
    source: Mapping[str, Any],
    place: Place | None,
    limits: Budget,
    pool: Budget,
    taker: Taker,
) -> Opening:
    """Give the opening of a listener's run. `source` is the opening step of the run whose event it is,
    `pool` what is left of the root task's budget."""
    budget = limits.narrowed(spec.limits).narrowed(pool)
    root, parent = source["task"]["root"], source["task"]["id"]
    body: dict[str, Any] = {
        "format": FORMAT,
        "agent": spec.address,
        "version": version,
        "scope": spec.scope,
        "opened_by": {
            "kind": "event",
            "event": event.event,
            "run": event.source_run,
            "cause": cause_key(event.source_run, event.event, Address(spec.address)),
        },
        "behalf": source.get("behalf"),
        "labels": listed(labels_at_opening(spec, event.labels)),
        "task": {"id": task, "root": root, "parent": parent},
        "chain": place.as_dict() if place else None,
        "budget": budget.as_dict(),
        "event": event.as_dict(),
    }
    taken = draw(root, Usage(**budget.as_dict()))
    by = {"kind": "event", "event": event.event, "run": event.source_run}
    return _opening(run, body, budget, taker, (taken,), by)


@dataclass(frozen=True, slots=True)
class Turn:
    """A batch of what was said in a conversation, which engages the agent (PX-5).

    conversation, connector: where. events: the ids of the message events that engage it, with the places of the first
    and the last; history: the ids of those before that the agent is shown. present: the actors who are there.
    actor: who said the last. labels: those of all of them. place: where on its chain the run stands, when another
    agent's message engages it.
    """

    conversation: str
    connector: str
    first: int
    last: int
    events: tuple[str, ...]
    history: tuple[str, ...]
    present: tuple[str, ...]
    actor: str
    labels: Labels
    place: Place | None = None

    def as_dict(self) -> dict[str, Any]:
        """Give it as the opening step keeps it."""
        return {
            "conversation": self.conversation,
            "connector": self.connector,
            "first": self.first,
            "last": self.last,
            "events": list(self.events),
            "history": list(self.history),
            "present": list(self.present),
        }


def opened_by_turn(
    run: str, task: str, spec: Spec, version: int, turn: Turn, limits: Budget, pool: Budget, taker: Taker
) -> Opening:
    """Give the opening of a run that a turn starts. `pool` is what its root task may use in all; the actor on whose
    behalf it is stands under an id of this perspective alone."""
    budget = limits.narrowed(spec.limits).narrowed(pool)
    left = pool.left(Usage(**budget.as_dict()))
    cause = f"turn:{turn.conversation}:{turn.first}"
    body: dict[str, Any] = {
        "format": FORMAT,
        "agent": spec.address,
        "version": version,
        "scope": spec.scope,
        "opened_by": {"kind": "turn", "name": turn.actor, "cause": cause},
        "behalf": turn.actor,
        "labels": listed(labels_at_opening(spec, turn.labels)),
        "task": {"id": task, "root": task},
        "chain": (turn.place or Place(run)).as_dict(),
        "budget": budget.as_dict(),
        "turn": turn.as_dict(),
    }
    pool_row = Row("insert_budget", (task, left.tool_calls, left.tokens, left.money, left.wall_ms))
    by = {"kind": "turn", "name": turn.actor, "conversation": turn.conversation}
    return _opening(run, body, budget, taker, (pool_row,), by)


def opened_by_message(
    run: str,
    task: Mapping[str, Any],
    spec: Spec,
    version: int,
    given: Given,
    source: Mapping[str, Any],
    place: Place,
    limits: Budget,
    pool: Budget,
    taker: Taker,
) -> Opening:
    """Give the opening of a run that a message or a hand-off starts.

    `task` is that of the opening step: of its own below the source's, or, for a hand-off, the same one. `source` is the
    opening step of the sender's run, or what stands for it where a person is the sender; what its brief is held to
    holds for this run, too (GT-6).
    """
    budget = limits.narrowed(spec.limits).narrowed(pool)
    body: dict[str, Any] = {
        "format": FORMAT,
        "agent": spec.address,
        "version": version,
        "scope": spec.scope,
        "opened_by": {"kind": given.kind, "id": given.id, "run": given.run, "cause": given.cause},
        "behalf": source.get("behalf"),
        "labels": listed(labels_at_opening(spec, given.labels)),
        "task": dict(task),
        "chain": place.as_dict(),
        "budget": budget.as_dict(),
        "given": given.as_dict(),
    }
    if "contract" in source:
        body["contract"] = source["contract"]
    if given.decisions:
        body |= {"decisions": list(given.decisions), "revision": given.revision}
    taken = draw(task["root"], Usage(**budget.as_dict()))
    by = None
    if given.kind != "hand_off" and given.attempt == 1:
        by = {"kind": given.kind, "message": given.id, "from": given.sender}
    return _opening(run, body, budget, taker, (taken,), by)


def opened_as_part(
    run: str,
    source: Mapping[str, Any],
    spec: Spec,
    version: int,
    cause: str,
    work: Mapping[str, Any],
    labels: Labels,
    budget: Budget,
    decisions: Sequence[Mapping[str, Any]],
    taker: Taker,
) -> Opening:
    """Give the opening of a run that is a part of another one's work: the same agent, task and place, before the same
    people, and with what a person released for that run (WG-1, WG-5). `source` is the opening step of that run, from
    whose own budget this one's is cut."""
    body: dict[str, Any] = {
        "format": FORMAT,
        "agent": spec.address,
        "version": version,
        "scope": spec.scope,
        "opened_by": {"kind": "work", "run": work["place"]["root_run"], "cause": cause},
        "behalf": source.get("behalf"),
        "labels": listed(labels_at_opening(spec, labels)),
        "task": source["task"],
        "chain": source.get("chain"),
        "budget": budget.as_dict(),
        "work": dict(work),
    }
    body |= {key: source[key] for key in ("contract", "released", "room") if key in source}
    if "turn" in source:
        body["room"] = {key: source["turn"][key] for key in ("conversation", "present")}
    if decisions:
        body["decisions"] = [{"content": item["content"], "revision": item["revision"]} for item in decisions]
    return _opening(run, body, budget, taker, (), None)


def _opening(
    run: str,
    body: dict[str, Any],
    budget: Budget,
    taker: Taker,
    guards: tuple[Row, ...],
    by: dict[str, Any] | None,
) -> Opening:
    """`by` is who or what opens the task with the run; None where the task is there already."""
    fence = 0
    if taker.worker is not None:
        fence = 1
        body["worker"] = taker.worker
    lease = Row("insert_lease", (run, taker.worker, fence, taker.until))
    unread = () if body["opened_by"]["kind"] in {"person", "work"} else (_unread(run, body),)
    write = Write(run, Head(), (Draft("run.opened", body),), fence)
    form = body["task"]
    task = Task(form["id"], form["root"], form.get("parent"), run, body["agent"], 1)
    told = () if by is None else (Draft("task.opened", task.opened_body(Scope(body["scope"]), by)),)
    return Opening(run, task.id, task.root, write, told, (*guards, lease, *unread), budget, body, fence)


def _unread(run: str, body: Mapping[str, Any]) -> Row:
    """Tell the run what its agent has not read yet on the same root task (MS-3)."""
    return Row("signal_unread", (run, body["task"]["root"], body["agent"]))
