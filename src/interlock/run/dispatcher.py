"""A dispatcher: opens the runs that events of closed runs still owe, in whatever process (EV-5, EV-10).

It looks at the outbox alone, which holds what is owed and nothing else, so that it can neither skip a run nor
look at history. Whatever order commits come in, a row stays until its last listener has been opened.
"""

import asyncio
import json
from dataclasses import replace
from typing import Any

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.errors import InterlockError
from interlock.event.event import Delivery, EventInput, cause_key, deliveries
from interlock.gate.budget import Budget
from interlock.ledger.ledger import Appended, Refused, Row, Write
from interlock.ledger.step import MISFITS, Draft, Head, Step
from interlock.run.closing import (
    budget_left,
    candidates_for,
    chain_passage,
    delivery_body,
    exposed_by,
    open_listener,
)
from interlock.run.installation import Installation
from interlock.run.opening import Taker
from interlock.run.run import TRAIL, Run, fold
from interlock.scope.scope import Address

__all__ = ["Dispatcher"]

PAGE = 100
AT_ONCE = 32
"""How many listeners are opened at the same time, sharing their flushes."""
TRIES = 5
PASSING = frozenset({"ledger.unwritable", "ledger.busy"})
"""What holds up everything, and passes."""


class Dispatcher:
    """Empties the outbox. Any number may work on one ledger at the same time."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self.rows_read = 0
        """How many rows of the outbox were read, for those who count."""
        self.held_up: dict[str, str] = {}
        """Runs whose events cannot go out, with the code of what is in the way; they stay owed."""

    async def sweep(self) -> int:
        """Go through the outbox once and settle what is owed. Gives how many runs it settled."""
        ledger = self._installation.ledger
        settled, after = 0, ""
        while rows := await ledger.query("owed_runs", after, PAGE):
            self.rows_read += len(rows)
            for run, listed in rows:
                settled += await self._settled(run, listed)
                after = run
        return settled

    async def _settled(self, run: str, listed: str | None) -> bool:
        """One run whose trail or content is damaged holds up itself alone, not those behind it."""
        try:
            settled = await self._settle(run, listed)
        except InterlockError as error:
            if error.code in PASSING:
                raise
            self.held_up[run] = error.code
            return False
        except MISFITS:
            self.held_up[run] = "ledger.damaged"
            return False
        self.held_up.pop(run, None)
        return settled

    async def _settle(self, run_id: str, listed: str | None) -> bool:
        steps = await self._installation.ledger.read(run_id, 0, TRAIL)
        run = fold(steps, run_id)
        if listed is None:
            listed = await self._decide(run, steps[-1])
            if listed is None:
                return False
        events = json.loads(await self._installation.contents.read(listed))
        if not await self._open_all(run, [pair for form in events for pair in _to_open(form)]):
            return False
        await self._installation.ledger.append((), rows=(Row("settle_owed", (run_id,)),))
        return True

    async def _decide(self, run: Run, closed: Step) -> str | None:
        """Decide who is to be opened, for a closing step that does not say: one of an earlier format.

        What is decided is recorded in the task's stream, since the run's own trail is closed. None when
        another dispatcher decided first, or nothing is to be opened.
        """
        spec = await self._installation.spec(run.agent, run.version)
        decided = await chain_passage(self._installation, run, spec)
        if decided.text is not None or closed.body["status"] != "finished":
            await self._withhold(run, decided.text)
            return None
        events = await self._events(run, spec)
        kept = await self._installation.contents.keep_any(run.company, canonical.encode(events))
        told = [{"event": item["event"], "listeners": len(item["deliveries"])} for item in events]
        draft = Draft("event.listed", {"run": run.id, "list": kept.digest, "events": told})
        outcome = await self._installation.ledger.append(
            (Write(run.task, None, (draft,)),),
            guards=(Row("list_owed", (kept.digest, run.id), "already_listed"),),
            contents=(kept.row,),
        )
        return kept.digest if isinstance(outcome, Appended) else None

    async def _withhold(self, run: Run, reason: Text | None) -> None:
        drafts = () if reason is None else (Draft("event.withheld", {"run": run.id, "reason": reason}),)
        writes = (Write(run.task, None, drafts),) if drafts else ()
        guard = Row("settle_owed", (run.id,), "already_settled")
        await self._installation.ledger.append(writes, guards=(guard,))

    async def _events(self, run: Run, spec: Spec) -> list[dict[str, Any]]:
        found = []
        for emission in spec.emits:
            event = EventInput(
                emission.event, emission.context, run.agent, run.id, exposed_by(emission, run.artifacts)
            )
            listening = await candidates_for(self._installation, emission.event)
            outcomes = deliveries(
                emission, event, run.agent, listening, self._installation.settings.vocabulary
            )
            found.append({**event.as_dict(), "deliveries": [delivery_body(item) for item in outcomes]})
        return found

    async def _open_all(self, run: Run, owed: list[tuple[EventInput, Delivery]]) -> bool:
        """Open the run of every listener on the list; all that are left share what the root task has left.

        False when the shared budget was contended for every time: what is not open by then stays owed.
        """
        tries = TRIES
        while owed and tries:
            some = owed[:AT_ONCE]
            share = (await budget_left(self._installation, run.root_task)).share(len(owed))
            opened = await asyncio.gather(*(self._open(run, *pair, share) for pair in some))
            owed = [*(pair for pair, done in zip(some, opened, strict=True) if not done), *owed[AT_ONCE:]]
            tries = TRIES if any(opened) else tries - 1
        return not owed

    async def _open(self, run: Run, event: EventInput, delivery: Delivery, share: Budget) -> bool:
        """Open one listener's run, unless that is done or must not be; another dispatcher may be at it, too.

        False when somebody else drew from the shared budget meanwhile, so that `share` is no longer there.
        """
        if await self._is_settled(run, event, delivery):
            return True
        opening = await open_listener(self._installation, run, event, delivery, share, Taker())
        self._installation.reach("dispatch.before_open")
        outcome = await self._installation.ledger.append(opening.writes, guards=opening.guards)
        self._installation.reach("dispatch.after_open")
        return isinstance(outcome, Appended) or outcome == Refused("already_opened")

    async def _is_settled(self, run: Run, event: EventInput, delivery: Delivery) -> bool:
        """Tell whether a listener is not to be opened (any more), and record it when that is news.

        The list says who was to be opened when the event went out; whoever was paused, retired or stopped
        since then starts nothing, and is not started later either (AG-5).
        """
        installation = self._installation
        cause = cause_key(run.id, event.event, delivery.listener)
        if await installation.ledger.query("run_by_cause", cause):
            return True
        while True:
            steps = await installation.ledger.read(run.task, 0, TRAIL)
            if any(step.kind == "event.not_started" and step.body["cause"] == cause for step in steps):
                return True
            _, state = await installation.current(delivery.listener)
            if state == "active":
                return False
            body = {
                "run": run.id,
                "event": event.event,
                "listener": delivery.listener,
                "cause": cause,
                "reason": replace(delivery, outcome="not_started", state=state).text,
            }
            write = Write(run.task, steps[-1].head if steps else Head(), (Draft("event.not_started", body),))
            # A conflict means that another listener of the same task was noted meanwhile: look again.
            if isinstance(await installation.ledger.append((write,)), Appended):
                return True


def _to_open(form: dict[str, Any]) -> list[tuple[EventInput, Delivery]]:
    event = EventInput.from_dict(form)
    return [
        (event, Delivery(Address(item["listener"]), item["version"], "open"))
        for item in form["deliveries"]
        if item["outcome"] == "open"
    ]
