"""A small worker of format 0, kept for the tests: it writes openings without a place on a chain, and closings
without the list of who was to be started, into the same tables, as an older worker does during an upgrade.

It calls no model and no tool; it opens, claims and closes, which is what later formats must live beside.
"""

from collections.abc import Mapping
from typing import Any

from interlock.clock import new_id
from interlock.event.event import cause_key
from interlock.ledger.ledger import Appended, Row, Write
from interlock.ledger.step import Draft, Head
from interlock.run.installation import Installation
from interlock.run.run import Run
from interlock.scope.scope import Address

__all__ = ["OlderWorker"]

FORMAT = 0


class OlderWorker:
    """Works on the ledger of an installation as version 0 did."""

    def __init__(self, installation: Installation, name: str = "older-worker") -> None:
        self._installation, self.name = installation, name

    async def open_by_person(self, agent: Address, person: str = "maria") -> str:
        """Open a run and leave it in the queue; give its id."""
        task = new_id("task", self._installation.clock)
        return await self._open(agent, {"kind": "person", "name": person}, {"id": task, "root": task}, {})

    async def open_by_event(
        self, agent: Address, source: Run, event: str, artifacts: list[dict[str, Any]]
    ) -> str:
        """Open a listener's run as the event of another, without a place on the chain; give its id."""
        opened_by = {
            "kind": "event", "event": event, "run": source.id, "cause": cause_key(source.id, event, agent),
        }  # fmt: skip
        task = {
            "id": new_id("task", self._installation.clock),
            "root": source.root_task,
            "parent": source.task,
        }
        given = {
            "event": event, "context": "work", "source_agent": source.agent, "source_run": source.id,
            "artifacts": artifacts,
        }  # fmt: skip
        return await self._open(agent, opened_by, task, {"event": given})

    async def _open(
        self, agent: Address, opened_by: Mapping[str, Any], task: Mapping[str, Any], more: Mapping[str, Any]
    ) -> str:
        run = new_id("run", self._installation.clock)
        version, _ = await self._installation.current(agent)
        body = {
            "format": FORMAT, "agent": agent, "version": version, "scope": agent.scope, "opened_by": opened_by,
            "behalf": "maria", "labels": [], "task": task, "budget": {}, **more,
        }  # fmt: skip
        outcome = await self._installation.ledger.append(
            (Write(run, Head(), (Draft("run.opened", body),)),),
            guards=(Row("insert_lease", (run, None, 0, 0)),),
            durable=False,
        )
        assert isinstance(outcome, Appended), outcome
        return run

    async def close(
        self, run: str, report: bytes = b"from an older worker", status: str = "finished"
    ) -> None:
        """Claim a run, publish a report, and close it: its events are owed and nobody has listed them."""
        ledger, contents = self._installation.ledger, self._installation.contents
        opening = (await ledger.read(run, 0, 1))[0]
        kept = contents.keep(Address(opening.body["agent"]).scope.company, report)
        item = {
            "name": "report", "ref": f"{run}/report", "digest": kept.digest, "size": kept.size,
            "media": "text/plain", "labels": [],
        }  # fmt: skip
        drafts = (
            Draft("run.claimed", {"worker": self.name}),
            Draft("run.closed", {"status": status, "usage": {}, "artifacts": [item]}),
        )
        outcome = await ledger.append(
            (Write(run, opening.head, drafts, 2),),
            guards=(
                Row(
                    "take_lease", (self.name, 2, self._installation.clock.now() + 30_000, run), "no_such_run"
                ),
            ),
            rows=(Row("end_lease", (run, 2)), Row("insert_owed", (run, None))),
            contents=(kept.row,),
            durable=False,
        )
        assert isinstance(outcome, Appended), outcome
