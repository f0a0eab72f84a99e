"""Deciding: what is settled once for everybody who works on a root task (MS-11)."""

from collections.abc import Mapping
from typing import Any

from interlock.catalogue import Text
from interlock.clock import new_id
from interlock.ledger.ledger import Row
from interlock.ledger.step import Draft
from interlock.run.run import CallState
from interlock.run.sending import RefusedError, Sending
from interlock.run.signal import decisions_of
from interlock.scope.label import listed

__all__ = ["Deciding"]


class Deciding:
    """Decides for one run, under one claim."""

    def __init__(self, sending: Sending) -> None:
        self._sending = sending
        self.run = sending.run

    async def decide(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Settle a topic for the root task; who comes second is told what stands (MS-11)."""
        run, contents = self.run, self._sending.installation.contents
        topic = " ".join(arguments["topic"].split())
        settled = await decisions_of(self._sending.installation, run.root_task)
        name = new_id("decision", self._sending.installation.clock)
        said = await self._sending.kept({"topic": topic, "decision": arguments["decision"], "by": run.agent})
        body: dict[str, Any] = {
            "decision": name,
            "revision": len(settled) + 1,
            "topic": contents.digest(run.company, topic.casefold().encode(errors="backslashreplace")),
            "content": said.digest,
            "task": run.task,
            "run": run.id,
            "from": run.agent,
            "labels": listed(run.labels),
        }
        answer = await self._sending.kept({"decided": topic, "revision": body["revision"]})
        refused = await self._sending.write(
            (self._sending.answered(call, answer),),
            (Draft("decision.recorded", body),),
            rows=(Row("signal_root", (name, "decision", "", run.root_task, run.id)),),
            contents=(said.row, answer.row),
        )
        if refused == "already_decided":
            raise RefusedError(await self._standing(body["topic"]))
        if refused is not None:
            raise RefusedError(Text("message.not_owner"))

    async def _standing(self, topic: str) -> Text:
        rows = await self._sending.installation.ledger.query("decisions_of_root", self.run.root_task)
        return Text("message.decided_already", revision=next(row[2] for row in rows if row[0] == topic))
