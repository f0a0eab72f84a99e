"""A closing: the last step of a run, and in the same transaction the runs that its events open.

The list of listeners is read from the versions published now and stands in the closing step itself, so that
whoever continues after a crash has the same list (AG-4). Few listeners are opened at once; of many, the list
goes to the content store and the rest is left to the dispatcher.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock import canonical
from interlock.agent.spec import Emission, Spec, Trigger
from interlock.clock import new_id
from interlock.event.chain import Passage, Place, passage
from interlock.event.event import Candidate, Delivery, EventInput, Exposed, deliveries
from interlock.gate.budget import Budget, Usage
from interlock.ledger.ledger import ContentRow, Row
from interlock.run.allowance import settled_allowances
from interlock.run.installation import Installation
from interlock.run.opening import Opening, Taker, opened_by_event
from interlock.run.run import Run
from interlock.run.shared_budget import give_back
from interlock.scope.scope import Address, Scope

__all__ = ["Emitted", "budget_left", "closing_rows", "open_listener", "publish_events", "returned_budget"]


@dataclass(slots=True)
class Emitted:
    """What the events of a closing run come to.

    events: as the closing step tells them. openings: the listeners' runs to open with it. owed: the list's
    digest, when the rest is left to the dispatcher. chain: why nothing went out, if so.
    """

    events: list[dict[str, Any]] = field(default_factory=list)
    openings: list[Opening] = field(default_factory=list)
    contents: list[ContentRow] = field(default_factory=list)
    owed: str | None = None
    chain: dict[str, Any] | None = None


async def candidates_for(installation: Installation, event: str) -> list[Candidate]:
    """Give every published agent that listens to an event of that name, with its state now."""
    rows = await installation.ledger.query("listeners_of_event", event)
    if not rows:
        return []
    stopped = await installation.stopped()
    found = []
    for address, scope, version, state, _ in rows:
        spec = await installation.spec(address, version)
        if installation.is_stopped(Scope(scope), stopped):
            state = "stopped"
        found += [
            Candidate(Address(address), version, trigger, state)
            for trigger in spec.starts_on
            if trigger.event == event
        ]
    return _widest(found)


def _widest(candidates: Sequence[Candidate]) -> list[Candidate]:
    """One candidate for each agent: triggers on the same event are heard from wherever any of them is."""
    merged: dict[str, Candidate] = {}
    for item in candidates:
        before = merged.get(item.address)
        if before is not None:
            own = (item.address.scope.company,)
            scopes = (*(before.trigger.heard_from or own), *(item.trigger.heard_from or own))
            item = Candidate(item.address, item.version, Trigger(item.trigger.event, scopes), item.state)
        merged[item.address] = item
    return list(merged.values())


def exposed_by(emission: Emission, artifacts: dict[str, dict[str, Any]]) -> tuple[Exposed, ...]:
    """Give what an event exposes of what a run published; what it did not publish is listed as absent."""
    return tuple(
        Exposed.from_dict(artifacts[name]) if name in artifacts else Exposed(name)
        for name in emission.artifacts
    )


async def source_chain(installation: Installation, run: Run) -> list[str]:
    """Give the addresses of the agents on the chain up to this run, the first one first."""
    agents = [str(run.agent)]
    source = run.opening["opened_by"].get("run")
    while source is not None and len(agents) <= installation.settings.chain_limit:
        row = (await installation.ledger.query("run_by_id", source))[0]
        agents.append(row[1])
        source = row[8]
    return agents[::-1]


async def budget_left(installation: Installation, subject: str) -> Budget:
    """Give what is left of a root task's shared budget; no limit where an older format kept none."""
    found = await installation.ledger.query("budget_of", subject)
    return Budget(*found[0]) if found else Budget()


async def chain_passage(installation: Installation, run: Run, spec: Spec) -> Passage:
    """Decide whether the run's events go out, by its place on the chain (EV-6, EV-9)."""
    events = [emission.event for emission in spec.emits]
    limit = installation.settings.chain_limit
    over = run.place is not None and run.place.hop >= limit and events
    return passage(run.place, limit, events, await source_chain(installation, run) if over else ())


async def publish_events(
    installation: Installation,
    run: Run,
    spec: Spec,
    artifacts: dict[str, dict[str, Any]],
    taker: Taker,
    at_once: int,
) -> Emitted:
    """Decide what the events of a run that finished well come to, reading who listens now.

    Up to `at_once` listeners are to be opened with the closing step; beyond that, all are left owed.
    """
    emitted = Emitted()
    decided = await chain_passage(installation, run, spec)
    if decided.text is not None:
        emitted.chain = decided.text
        return emitted
    outcomes: list[tuple[EventInput, tuple[Delivery, ...]]] = []
    released = frozenset((label, to) for label, to in run.opening.get("released", ()))
    for emission in spec.emits:
        event = EventInput(
            emission.event, emission.context, run.agent, run.id, exposed_by(emission, artifacts)
        )
        listening = await candidates_for(installation, emission.event)
        outcomes.append(
            (
                event,
                deliveries(emission, event, run.agent, listening, installation.settings.vocabulary, released),
            )
        )
    if sum(len(found) for _, found in outcomes) > at_once:
        await _leave_owed(installation, run, emitted, outcomes)
    else:
        await _open_at_once(installation, run, emitted, outcomes, taker)
    return emitted


def delivery_body(delivery: Delivery) -> dict[str, Any]:
    """Give what became of an event for one listener, as a step keeps it."""
    body: dict[str, Any] = {
        "listener": delivery.listener,
        "version": delivery.version,
        "outcome": delivery.outcome,
    }
    if delivery.text is not None:
        body["reason"] = delivery.text
    if delivery.refusal is not None:
        body["rule"] = delivery.refusal.rule
    return body


async def _leave_owed(
    installation: Installation,
    run: Run,
    emitted: Emitted,
    outcomes: Sequence[tuple[EventInput, tuple[Delivery, ...]]],
) -> None:
    whole = [
        {**event.as_dict(), "deliveries": [delivery_body(item) for item in found]}
        for event, found in outcomes
    ]
    kept = await installation.contents.keep_any(run.company, canonical.encode(whole))
    emitted.contents.append(kept.row)
    emitted.owed = kept.digest
    emitted.events = [
        {"event": event.event, "context": event.context, "listeners": len(found), "list": kept.digest}
        for event, found in outcomes
    ]


async def _open_at_once(
    installation: Installation,
    run: Run,
    emitted: Emitted,
    outcomes: Sequence[tuple[EventInput, tuple[Delivery, ...]]],
    taker: Taker,
) -> None:
    unused = run.budget.left(run.committed)
    left = await budget_left(installation, run.root_task)
    left = Budget(**{name: amount + unused.as_dict().get(name, 0) for name, amount in left.as_dict().items()})
    waiting = sum(delivery.outcome == "open" for _, found in outcomes for delivery in found)
    for event, found in outcomes:
        told = []
        for delivery in found:
            body = delivery_body(delivery)
            if delivery.outcome == "open":
                share = left.share(waiting)
                opening = await open_listener(installation, run, event, delivery, share, taker)
                left = left.left(Usage(**opening.budget.as_dict()))
                waiting -= 1
                emitted.openings.append(opening)
                body["run"] = opening.run
            told.append(body)
        emitted.events.append({"event": event.event, "context": event.context, "deliveries": told})


async def open_listener(
    installation: Installation,
    source: Run,
    event: EventInput,
    delivery: Delivery,
    share: Budget,
    taker: Taker,
) -> Opening:
    """Give the opening of one listener's run. `share` is its part of what the root task has left."""
    clock = installation.clock
    spec = await installation.spec(delivery.listener, delivery.version)
    place = source.place.next() if source.place else Place(source.id)
    return opened_by_event(
        new_id("run", clock),
        new_id("task", clock),
        spec,
        delivery.version,
        event,
        source.opening,
        place,
        installation.settings.limits,
        share,
        taker,
    )


def closing_rows(run: Run, owed: str | None) -> list[Row]:
    """Give the working rows that go with a closing step: the lease ends, what others still had to say comes too
    late, and what is owed is put into the outbox."""
    rows = [Row("end_lease", (run.id, run.fence)), Row("end_signals", (run.id,))]
    if owed is not None:
        rows.append(Row("insert_owed", (run.id, owed)))
    return rows


def returned_budget(run: Run) -> list[Row]:
    """Settle with the root task and the scopes: what the run drew and did not use goes back, and a scope is
    charged what was used beyond what was drawn from it."""
    if run.part:
        return [*settled_allowances(run)]  # what it may use is its parent's, which settles when it closes
    return [give_back(run.root_task, run.budget, run.committed), *settled_allowances(run)]
