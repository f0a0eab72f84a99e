"""Delegating: a question or a brief that waits for its reply; the recipient works on a task of its own below (MS-4)."""

from collections.abc import Mapping, Sequence
from typing import Any

from interlock.catalogue import Text
from interlock.ledger.step import Draft
from interlock.message.delegation import overlap
from interlock.run.platform_tools import ASK, DELEGATE
from interlock.run.run import CallState
from interlock.run.sending import RefusedError, Sending
from interlock.run.timer import timer_row
from interlock.scope.scope import Address

__all__ = ["Delegating"]


class Delegating:
    """Asks and delegates for one run, under one claim."""

    def __init__(self, sending: Sending) -> None:
        self._sending = sending
        self.run = sending.run

    async def delegate(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Send a brief whose items stand in no other one. Raises RefusedError."""
        shared = overlap(arguments.get("scope", ()), [body.get("scope", ()) for body in await self._briefs()])
        if shared.same:
            raise RefusedError(Text("message.scope_overlaps", count=len(shared.same)))
        warnings = [Text("message.scope_near", count=len(shared.near))] if shared.near else []
        await self.request(call, "request", arguments, warnings)

    def _fans_out(self, call: CallState) -> bool:
        """Whether another part of the work is given away in the same answer, or is still being done."""
        others = (item for item in self.run.calls.values() if item.tool == DELEGATE and item is not call)
        return any(item.answer == call.answer or item.done is None for item in others)

    async def _briefs(self) -> list[dict[str, Any]]:
        found = []
        for call in self.run.calls.values():
            if call.tool == DELEGATE and call.message is not None:
                _, arguments = await self._sending.judgement.proposed(call)
                found.append(arguments if isinstance(arguments, dict) else {})
        return found

    async def request(
        self, call: CallState, kind: Any, arguments: Mapping[str, Any], warnings: Sequence[Text] = ()
    ) -> None:
        """Send what waits for a reply: the recipient's run is opened with it, on a task of its own below this one."""
        await self._sending.goes_on("request" if kind == "question" else "delegation")
        to, run = Address(arguments["to"]), self.run
        receiver = await self._sending.receiver(to)
        if kind not in receiver[0].accepts or to == run.agent:
            await self._dead_letter(call, kind, arguments)
            return
        said, body = await self._sending.body(arguments)
        attachments = self._sending.attached(arguments.get("attachments", ()))
        due_at = self._sending.due(arguments.get("within"))
        envelope = self._sending.envelope(kind, to, body, attachments, due_at=due_at)
        given = await self._sending.given(kind, envelope.id, body, said, attachments, to.scope)
        opening = await self._sending.opening(
            receiver, given, self._sending.subtask(), arguments, self._parts()
        )
        envelope = self._sending.envelope(
            kind, to, body, attachments, due_at=due_at, opens=opening.run, name=envelope.id
        )
        watched = {
            "run": run.id,
            "agent": run.agent,
            "task": run.task,
            "company": run.company,
            "opens": opening.run,
        }
        waiting: dict[str, Any] = {
            "call": call.id,
            "tool": call.tool,
            "message": envelope.id,
            "due_at": due_at,
        }
        if kind == "request":
            waiting["revision"] = given.revision
            if not given.revision and self._fans_out(call):
                warnings = [*warnings, Text("message.no_decisions")]
        if warnings:
            waiting["warnings"] = list(warnings)
        await self._sending.send(
            (Draft("tool.waiting", waiting),),
            (*opening.told, Draft("message.sent", envelope.as_dict())),
            writes=(opening.write,),
            guards=opening.guards,
            rows=(timer_row(envelope.id, due_at, "reply", run.root_task, watched),),
            contents=(body.row,),
        )

    def _parts(self) -> int:
        """Among how many the pool is shared: the requests of this answer that are still to be sent, and this one."""
        return max(1, sum(call.tool in {ASK, DELEGATE} and call.message is None for call in self.run.waiting))

    async def _dead_letter(self, call: CallState, kind: Any, arguments: Mapping[str, Any]) -> None:
        _, body = await self._sending.body(arguments)
        envelope = self._sending.envelope(
            kind, arguments["to"], body, self._sending.attached(arguments.get("attachments", ()))
        )
        reason = Text("message.nobody_accepts", type=kind, to=arguments["to"])
        undelivered = Draft("message.undelivered", {"message": envelope.id, "reason": reason})
        error = Draft("tool.answered", self._sending.outcomes.failed(call, reason))
        await self._sending.send(
            (error,),
            (Draft("message.sent", envelope.as_dict()), undelivered),
            contents=(body.row, self._sending.outcomes.words(reason).row),
        )
