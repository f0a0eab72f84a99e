"""An opening: the first step of a run, with its task, its place on the chain and its budget (RN-7, RN-8)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.agent.spec import Spec
from interlock.event.chain import Place
from interlock.event.event import EventInput, cause_key
from interlock.gate.budget import Budget, Usage
from interlock.ledger.ledger import Row, Write
from interlock.ledger.step import FORMAT, Draft, Head
from interlock.scope.label import Labels, area_label, join, listed
from interlock.scope.scope import Address

__all__ = [
    "Brief",
    "Opening",
    "Taker",
    "charge",
    "draw",
    "give_back",
    "labels_at_opening",
    "opened_by_event",
    "opened_by_person",
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
    """Everything to append so that a run is open: its first step, which opens its task too, and working rows.

    A worker that takes the run at once is named in that step, which is then its claim: `fence` is 1.
    """

    run: str
    task: str
    write: Write
    guards: tuple[Row, ...]
    budget: Budget
    body: Mapping[str, Any]
    fence: int = 0


def labels_at_opening(spec: Spec, carried: Labels) -> Labels:
    """Give the labels a run has from its opening: what it was given, what its spec adds, and the area of an
    area agent (SC-4)."""
    own = [area_label(spec.scope)] if "/" in spec.scope else []
    return join(carried, spec.adds_labels, own)


def draw(subject: str, usage: Usage) -> Row:
    """Take amounts from a shared budget; the database refuses to go below nought."""
    return Row("draw_budget", (usage.tool_calls, usage.tokens, usage.money, usage.wall_ms, subject))


def charge(subject: str, usage: Usage) -> Row:
    """Take what was used already from a shared budget, as far as that much is left."""
    return Row("charge_budget", (usage.tool_calls, usage.tokens, usage.money, usage.wall_ms, subject))


def give_back(subject: str, budget: Budget, used: Usage) -> Row:
    """Give back what a run drew at its opening and did not use."""
    left = budget.left(used)
    return draw(subject, Usage() - Usage(**left.as_dict()))


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
    return _opening(run, task, body, budget, taker, (pool_row,))


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
    return _opening(run, task, body, budget, taker, (taken,))


def _opening(
    run: str,
    task: str,
    body: dict[str, Any],
    budget: Budget,
    taker: Taker,
    guards: tuple[Row, ...],
) -> Opening:
    fence = 0
    if taker.worker is not None:
        fence = 1
        body["worker"] = taker.worker
    lease = Row("insert_lease", (run, taker.worker, fence, taker.until))
    write = Write(run, Head(), (Draft("run.opened", body),), fence)
    return Opening(run, task, write, (*guards, lease), budget, body, fence)
