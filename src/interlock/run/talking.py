"""A talk: what an agent says to others through the platform's tools, each with its own part of it."""

from collections.abc import Mapping
from typing import Any

from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.clock import new_id
from interlock.errors import InterlockError
from interlock.event.event import Exposed
from interlock.ledger.content_store import Kept
from interlock.ledger.ledger import Row
from interlock.ledger.step import Draft
from interlock.message.task import is_people
from interlock.run.deciding import Deciding
from interlock.run.delegating import Delegating
from interlock.run.handing_over import HandingOver
from interlock.run.installation import Installation
from interlock.run.judgement import Judgement
from interlock.run.opening import Opening
from interlock.run.outcome import Outcomes
from interlock.run.platform_tools import ASK, DECIDE, DELEGATE, HAND_OVER, REPORT, SEND
from interlock.run.post import asked, posted
from interlock.run.recorder import Recorder
from interlock.run.report import checked_report
from interlock.run.run import CallState
from interlock.run.sending import RefusedError, Sending
from interlock.run.timer import timer_row
from interlock.scope.label import listed
from interlock.scope.scope import Address

__all__ = ["Talking"]


class Talking:
    """Talks for one run, under one claim."""

    def __init__(
        self,
        installation: Installation,
        recorder: Recorder,
        spec: Spec,
        judgement: Judgement,
        outcomes: Outcomes,
    ) -> None:
        self._sending = sending = Sending(installation, recorder, spec, judgement, outcomes)
        self._delegating, self._handing, self._deciding = (
            Delegating(sending),
            HandingOver(sending),
            Deciding(sending),
        )
        self.run = sending.run

    async def act(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Make an allowed call of a tool that talks, and take its result down."""
        do = {
            SEND: self._send,
            ASK: self._ask,
            DELEGATE: self._delegating.delegate,
            REPORT: self._report,
            HAND_OVER: self._handing.hand_over,
            DECIDE: self._deciding.decide,
        }[call.tool]
        try:
            await do(call, arguments)
        except RefusedError as refusal:
            self._sending.outcomes.fail(call, refusal.reason, refusal.told)
            await self._sending.reject(call, refusal.reason)

    async def _send(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Tell somebody something. With a run of the recipient open on the same root task, that one hears it; else a
        recipient that starts on such messages is started; else it is a dead letter."""
        to = arguments["to"]
        said, body = await self._sending.body(arguments)
        attachments = self._sending.attached(arguments.get("attachments", ()))
        name = new_id("message", self._sending.installation.clock)
        opening, told, hears = None, [], True
        if not is_people(to):
            spec, version = await self._sending.receiver(Address(to))
            opened = await self._sending.installation.ledger.query("open_runs_of_root", self.run.root_task)
            hears = any(agent == to and run != self.run.id for run, agent in opened)
            if not hears and "status" in spec.accepts and to != self.run.agent:
                opening = await self._opened_by_status(name, spec, version, body, said, attachments)
        envelope = self._sending.envelope(
            "status", to, body, attachments, name, opens=opening.run if opening else None
        )
        told.append(Draft("message.sent", envelope.as_dict()))
        if opening is None and not hears:
            reason = Text("message.nobody_accepts", type="status", to=to)
            told.append(Draft("message.undelivered", {"message": envelope.id, "reason": reason}))
        answer = await self._sending.kept(
            {"sent": envelope.id} if len(told) == 1 else {"undelivered": envelope.id}
        )
        await self._sending.send(
            (self._sending.answered(call, answer, sent=envelope.id),),
            (*(opening.told if opening else ()), *told),
            writes=(opening.write,) if opening else (),
            guards=opening.guards if opening else (),
            rows=posted(envelope, self.run.root_task) if len(told) == 1 else (),
            contents=(body.row, answer.row),
        )

    async def _opened_by_status(
        self, name: str, spec: Spec, version: int, body: Kept, said: Any, attachments: tuple[Exposed, ...]
    ) -> Opening:
        await self._sending.goes_on("request")
        given = await self._sending.given("status", name, body, said, attachments, spec.scope)
        return await self._sending.opening((spec, version), given, self._sending.subtask(), {}, 2)

    async def _ask(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        if is_people(arguments["to"]):
            await self._ask_people(call, arguments)
        else:
            await self._delegating.request(call, "question", arguments)

    async def _ask_people(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        name, run = new_id("question", self._sending.installation.clock), self.run
        _, body = await self._sending.body(arguments)
        within = arguments.get("within")
        limit = self._sending.installation.settings.answer_ms
        due_at = self._sending.installation.clock.now() + (
            limit if within is None else min(limit, within * 1000)
        )
        scope = Address(arguments["to"]).scope
        draft = asked(
            name, "question", run, body.digest, due_at, listed(run.labels), call.id, call.tool, scope
        )
        waiting = Draft(
            "tool.waiting", {"call": call.id, "tool": call.tool, "question": name, "due_at": due_at}
        )
        timer = timer_row(name, due_at, "question", run.root_task, {"run": run.id})
        await self._sending.send((waiting,), (draft,), rows=(timer,), contents=(body.row,))

    async def _report(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Answer whoever waits for this run (RS-1, MS-12)."""
        run, message = self.run, self.run.message
        if message.get("type") != "request":
            raise RefusedError(Text("message.nobody_waits"))
        if run.reported:
            raise RefusedError(Text("message.reported_already"))
        said = {name: value for name, value in arguments.items() if name != "attachments"}
        try:
            result = await checked_report(self._sending.installation, run, self._sending.judgement, said)
        except InterlockError as error:
            raise RefusedError(Text("message.report_malformed"), str(error)) from None
        body = await self._sending.kept(result.as_dict())
        attachments = self._sending.attached(arguments.get("attachments", ()))
        envelope = self._sending.envelope(
            "result", message["from"], body, attachments, reply_to=message["id"], run_to=message.get("run")
        )
        answer = await self._sending.kept({"reported": envelope.id})
        refused = await self._sending.write(
            (self._sending.answered(call, answer, reported=envelope.id),),
            (Draft("message.sent", envelope.as_dict()),),
            rows=(*posted(envelope, run.root_task), Row("end_timer", (message["id"],))),
            contents=(body.row, answer.row),
        )
        if refused is not None:
            raise RefusedError(
                Text("message.too_late" if refused == "already_replied" else "message.not_owner")
            )
