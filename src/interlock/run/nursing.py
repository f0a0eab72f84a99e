"""Nursing: a run opens the child runs that are parts of its work, and takes in what they come to (WG-1, WG-5)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.clock import new_id
from interlock.gate.budget import Budget, Usage
from interlock.ledger.ledger import ContentRow, Refused, Row
from interlock.ledger.step import Draft
from interlock.run.attempting import Came
from interlock.run.installation import Installation
from interlock.run.opening import Opening
from interlock.run.part import Place, open_part
from interlock.run.recorder import Lost, Recorder
from interlock.run.run import OPEN, Run
from interlock.run.signal import decisions_of
from interlock.scope.barrier import barrier
from interlock.scope.label import Labels, join, listed
from interlock.work_graph.node import VERDICT, Node

__all__ = ["Nursing"]


class Nursing:
    """Opens child runs of one run under one claim, and reads how they ended."""

    def __init__(self, installation: Installation, recorder: Recorder, spec: Spec) -> None:
        self._installation, self._recorder, self._spec = installation, recorder, spec
        self.run: Run = recorder.run

    async def open(
        self, node: Node, body: Mapping[str, Any], budget: Budget, labels: Labels
    ) -> tuple[Opening, Sequence[ContentRow]]:
        """Give the opening of the child run that does a node, and the content that it names. `body` is what the step
        says that tells of it; `labels` are those of the run and of what is let in."""
        contents, vocabulary = self._installation.contents, self._installation.settings.vocabulary
        kept = await contents.keep_any(self.run.company, canonical.encode(node.as_dict()))
        settled = [
            item
            for item in await decisions_of(self._installation, self.run.root_task)
            if barrier(frozenset(item["labels"]), self.run.scope, vocabulary) is None
        ]
        place = Place(self.run.id, body["revision"], node.name, body["attempt"])
        opening = open_part(
            new_id("run", self._installation.clock),
            self.run,
            self._spec,
            place,
            kept.digest,
            body["edges"],
            join(labels, *(item["labels"] for item in settled)),
            budget,
            settled,
        )
        return opening, (kept.row,)

    async def write(
        self,
        body: dict[str, Any],
        at: int,
        opening: Opening,
        contents: Sequence[ContentRow],
        timers: Sequence[Row],
    ) -> Text | None:
        """Open the child run in one transaction with the step that tells of it. Gives why it may not be opened."""
        await self._recorder.flush(durable=False)
        outcome = await self._recorder.flush(
            then=(Draft("work.started", body, at),),
            writes=opening.writes,
            guards=(Row("owner_is", (self.run.task, self.run.epoch), "not_owner"), *opening.guards),
            rows=timers,
            contents=contents,
            durable=False,
        )
        if isinstance(outcome, Refused):
            if outcome.constraint == "not_owner":
                return Text("message.not_owner")
            raise Lost(self.run.id)
        return None

    async def outcome(self, child: str, node: Node) -> Came | None:
        """Give what a child run came to; None as long as it is open."""
        ledger = self._installation.ledger
        if (await ledger.query("run_by_id", child))[0][-1] == OPEN:
            return None
        end = (await ledger.query("stream_by_id", child))[0][0]
        closing = (await ledger.read(child, end - 1, 1))[0].body
        usage = Usage(**closing["usage"]) + Usage(**closing.get("lent", {}))
        body: dict[str, Any] = {"usage": usage.as_dict()}
        if closing["status"] == "finished":
            return Came(body | await self._made(node, closing))
        outcome = "cancelled" if closing["status"] == "cancelled" else "failed"
        reason = closing.get("reason") or Text(f"trail.closed_{closing['status']}")
        return Came(body | {"outcome": outcome, "reason": reason})

    async def _made(self, node: Node, closing: Mapping[str, Any]) -> dict[str, Any]:
        items = [item for item in closing.get("artifacts", ()) if item["name"] in node.outputs]
        labels = join(*(item["labels"] for item in items))
        body: dict[str, Any] = {"outcome": "done", "artifacts": items, "labels": listed(labels)}
        if node.kind == "verify":
            [verdict] = [item for item in items if item["name"] == VERDICT]
            said = json.loads(await self._installation.contents.read(verdict["digest"]))
            if not said["passed"]:
                body |= {"outcome": "rejected", "reason": Text("work.rejected", node=node.name)}
        return body
