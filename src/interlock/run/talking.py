"""A talk: what an agent says to others through the platform's tools, sent and recorded in one transaction.

Whatever is sent is an envelope that the platform fills in: the sender is the run's agent, the labels are the run's, the
task is the run's. Who no longer owns the task sends nothing for it (MS-6): the same transaction asks.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.clock import new_id
from interlock.errors import InterlockError
from interlock.event.chain import going_on
from interlock.event.event import Exposed
from interlock.gate.budget import Budget
from interlock.gate.tool import leaves_of
from interlock.ledger.content_store import Kept
from interlock.ledger.ledger import Refused, Row, Write
from interlock.ledger.step import Draft
from interlock.message.delegation import overlap
from interlock.message.envelope import Envelope
from interlock.message.hand_off import package_of
from interlock.message.task import is_people, people_of
from interlock.run.action import actions_of
from interlock.run.closing import budget_left, source_chain
from interlock.run.installation import Installation
from interlock.run.judgement import Judgement
from interlock.run.opening import Given, Opening, Taker, opened_by_message
from interlock.run.outcome import Outcomes
from interlock.run.platform_tools import ASK, DECIDE, DELEGATE, HAND_OVER, REPORT, SEND
from interlock.run.post import asked, posted, queued
from interlock.run.recorder import Lost, Recorder
from interlock.run.report import checked_report
from interlock.run.run import CallState, Run
from interlock.run.signal import decisions_of
from interlock.run.timer import timer_row
from interlock.scope.barrier import barrier
from interlock.scope.label import listed
from interlock.scope.scope import Address

__all__ = ["Talking"]

ROUTING = frozenset({"to", "attachments", "within", "budget"})
"""The arguments that say where a message goes; the others are its body."""


class _RefusedError(Exception):
    """What was to be sent is not; the sender is told `told`, or the reason."""

    def __init__(self, reason: Text, told: str = "") -> None:
        self.reason, self.told = reason, told


class Talking:
    """Sends what one run says, under one claim."""

    def __init__(
        self,
        installation: Installation,
        recorder: Recorder,
        spec: Spec,
        judgement: Judgement,
        outcomes: Outcomes,
    ) -> None:
        self._installation, self._recorder, self._spec = installation, recorder, spec
        self._judgement, self._outcomes = judgement, outcomes
        self.run: Run = recorder.run

    async def act(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Make an allowed call of a tool that talks, and take its result down."""
        do = {
            SEND: self._send,
            ASK: self._ask,
            DELEGATE: self._delegate,
            REPORT: self._report,
            HAND_OVER: self._hand_over,
            DECIDE: self._decide,
        }[call.tool]
        try:
            await do(call, arguments)
        except _RefusedError as refusal:
            self._outcomes.fail(call, refusal.reason, refusal.told)
            await self._reject(call, refusal.reason)

    # What all messages have

    async def _reject(self, call: CallState, reason: Text) -> None:
        body = {
            "task": self.run.task,
            "from": self.run.agent,
            "run": self.run.id,
            "type": call.tool,
            "reason": reason,
        }
        self._recorder.note_beside(self.run.root_task, "message.rejected", body)

    async def _body(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], Kept]:
        said = {name: value for name, value in arguments.items() if name not in ROUTING}
        return said, await self._kept(said)

    async def _kept(self, value: Any) -> Kept:
        return await self._installation.contents.keep_any(self.run.company, canonical.encode(value))

    async def _traced(self, said: Any) -> tuple[str, ...]:
        """The places in what is said whose values come from somebody trusted; they keep that trust (GT-3)."""
        origins = await self._judgement.origins()
        return tuple(path for path, leaf in leaves_of(said) if origins.of(leaf))

    def _attached(self, names: Sequence[str]) -> tuple[Exposed, ...]:
        found = []
        for name in dict.fromkeys(names):
            item = self._judgement.artifact(name)
            if item is None:
                given = sorted({*self.run.given, *self.run.artifacts}) or ["-"]
                raise _RefusedError(Text("message.no_such_artifact", given=given))
            found.append(Exposed.from_dict(item))
        return tuple(found)

    def _envelope(
        self, kind: Any, to: str, body: Kept, attachments: tuple[Exposed, ...], name: str = "", **more: Any
    ) -> Envelope:
        return Envelope(
            id=name or new_id("message", self._installation.clock),
            task=self.run.task,
            type=kind,
            sender=self.run.agent,
            recipient=to,
            body=body.digest,
            size=body.size,
            labels=self.run.labels,
            attachments=attachments,
            run=self.run.id,
            **more,
        )

    def _owner(self) -> Row:
        return Row("owner_is", (self.run.task, self.run.epoch), "not_owner")

    async def _write(self, then: Sequence[Draft], told: Sequence[Draft], **more: Any) -> str | None:
        """Send: all of it or nothing. Gives the constraint that forbade it, None when it is sent.

        What was taken down before stays taken down: only what is sent depends on the guards.
        """
        await self._recorder.flush(durable=False)
        guards = (self._owner(), *more.pop("guards", ()))
        writes = (*more.pop("writes", ()), Write(self.run.root_task, None, tuple(told)))
        outcome = await self._recorder.flush(then=then, writes=writes, guards=guards, **more)
        return outcome.constraint if isinstance(outcome, Refused) else None

    async def _sent(self, then: Sequence[Draft], told: Sequence[Draft], **more: Any) -> None:
        refused = await self._write(then, told, **more)
        if refused == "not_owner":
            raise _RefusedError(Text("message.not_owner"))
        if refused is not None:
            raise Lost(self.run.id)

    def _answered(self, call: CallState, kept: Kept, **more: Any) -> Draft:
        return Draft("tool.answered", {**self._outcomes.answered(call, kept), **more})

    # Opening runs

    async def _chain_reason(self, kind: Any) -> Text | None:
        limit = self._installation.settings.chain_limit
        place = self.run.place
        over = place is None or place.hop >= limit
        return going_on(place, limit, kind, await source_chain(self._installation, self.run) if over else ())

    async def _receiver(self, to: Address) -> tuple[Spec, int]:
        try:
            version, state = await self._installation.current(to)
        except InterlockError:
            raise _RefusedError(Text("message.no_such_agent", to=to)) from None
        if state != "active":
            raise _RefusedError(Text(f"event.{state}", listener=to))
        return await self._installation.spec(to, version), version

    async def _opening(
        self,
        receiver: tuple[Spec, int],
        given: Given,
        task: Mapping[str, Any],
        asked: Mapping[str, Any],
        parts: int,
    ) -> Opening:
        place = self.run.place
        if place is None:
            raise _RefusedError(Text("chain.unknown_request"))
        limits = self._installation.settings.limits.narrowed(Budget(**asked.get("budget", {})))
        pool = (await budget_left(self._installation, self.run.root_task)).share(parts)
        run = new_id("run", self._installation.clock)
        return opened_by_message(
            run, task, *receiver, given, self.run.opening, place.next(), limits, pool, Taker()
        )

    def _subtask(self) -> dict[str, Any]:
        name = new_id("task", self._installation.clock)
        return {"id": name, "root": self.run.root_task, "parent": self.run.task}

    async def _given(
        self,
        kind: str,
        name: str,
        body: Kept,
        said: Any,
        attachments: tuple[Exposed, ...],
        scope: Any,
        **more: Any,
    ) -> Given:
        vocabulary = self._installation.settings.vocabulary
        settled = [
            item
            for item in await decisions_of(self._installation, self.run.root_task)
            if barrier(frozenset(item["labels"]), scope, vocabulary) is None
        ]
        labels = self.run.labels.union(
            *(item.labels for item in attachments), *(item["labels"] for item in settled)
        )
        return Given(
            kind=kind,
            id=name,
            sender=self.run.agent,
            run=self.run.id,
            body=body.digest,
            labels=labels,
            attachments=tuple(item.as_dict() for item in attachments),
            traced=await self._traced(said),
            decisions=tuple({"content": item["content"], "revision": item["revision"]} for item in settled),
            revision=max((item["revision"] for item in settled), default=0),
            **more,
        )

    def _due(self, seconds: int | None) -> int:
        limit = self._installation.settings.reply_ms
        return self._installation.clock.now() + (limit if seconds is None else min(limit, seconds * 1000))

    # The tools

    async def _send(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Tell somebody something. With a run of the recipient open on the same root task, that one hears it; else a
        recipient that starts on such messages is started; else it is a dead letter."""
        to = arguments["to"]
        said, body = await self._body(arguments)
        attachments = self._attached(arguments.get("attachments", ()))
        name = new_id("message", self._installation.clock)
        opening, told, hears = None, [], True
        if not is_people(to):
            spec, version = await self._receiver(Address(to))
            opened = await self._installation.ledger.query("open_runs_of_root", self.run.root_task)
            hears = any(agent == to and run != self.run.id for run, agent in opened)
            if not hears and "status" in spec.accepts and to != self.run.agent:
                opening = await self._opened_by_status(name, spec, version, body, said, attachments)
        envelope = self._envelope(
            "status", to, body, attachments, name, opens=opening.run if opening else None
        )
        told.append(Draft("message.sent", envelope.as_dict()))
        if opening is None and not hears:
            reason = Text("message.nobody_accepts", type="status", to=to)
            told.append(Draft("message.undelivered", {"message": envelope.id, "reason": reason}))
        answer = await self._kept({"sent": envelope.id} if len(told) == 1 else {"undelivered": envelope.id})
        await self._sent(
            (self._answered(call, answer, sent=envelope.id),),
            (*(opening.told if opening else ()), *told),
            writes=(opening.write,) if opening else (),
            guards=opening.guards if opening else (),
            rows=posted(envelope, self.run.root_task) if len(told) == 1 else (),
            contents=(body.row, answer.row),
        )

    async def _opened_by_status(
        self, name: str, spec: Spec, version: int, body: Kept, said: Any, attachments: tuple[Exposed, ...]
    ) -> Opening:
        if (reason := await self._chain_reason("request")) is not None:
            raise _RefusedError(reason)
        given = await self._given("status", name, body, said, attachments, spec.scope)
        return await self._opening((spec, version), given, self._subtask(), {}, 2)

    async def _ask(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        if is_people(arguments["to"]):
            await self._ask_people(call, arguments)
        else:
            await self._request(call, "question", arguments)

    async def _ask_people(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        name, run = new_id("question", self._installation.clock), self.run
        _, body = await self._body(arguments)
        within = arguments.get("within")
        limit = self._installation.settings.answer_ms
        due_at = self._installation.clock.now() + (limit if within is None else min(limit, within * 1000))
        scope = Address(arguments["to"]).scope
        draft = asked(
            name, "question", run, body.digest, due_at, listed(run.labels), call.id, call.tool, scope
        )
        waiting = Draft(
            "tool.waiting", {"call": call.id, "tool": call.tool, "question": name, "due_at": due_at}
        )
        timer = timer_row(name, due_at, "question", run.root_task, {"run": run.id})
        await self._sent((waiting,), (draft,), rows=(timer,), contents=(body.row,))

    async def _delegate(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        shared = overlap(arguments.get("scope", ()), [body.get("scope", ()) for body in await self._briefs()])
        if shared.same:
            raise _RefusedError(Text("message.scope_overlaps", count=len(shared.same)))
        warnings = [Text("message.scope_near", count=len(shared.near))] if shared.near else []
        await self._request(call, "request", arguments, warnings)

    def _fans_out(self, call: CallState) -> bool:
        """Whether another part of the work is given away in the same answer, or is still being done."""
        others = (item for item in self.run.calls.values() if item.tool == DELEGATE and item is not call)
        return any(item.answer == call.answer or item.done is None for item in others)

    async def _briefs(self) -> list[dict[str, Any]]:
        found = []
        for call in self.run.calls.values():
            if call.tool == DELEGATE and call.message is not None:
                _, arguments = await self._judgement.proposed(call)
                found.append(arguments if isinstance(arguments, dict) else {})
        return found

    async def _request(
        self, call: CallState, kind: Any, arguments: Mapping[str, Any], warnings: Sequence[Text] = ()
    ) -> None:
        """Send what waits for a reply: the recipient's run is opened with it, on a task of its own below this one."""
        if (
            reason := await self._chain_reason("request" if kind == "question" else "delegation")
        ) is not None:
            raise _RefusedError(reason)
        to, run = Address(arguments["to"]), self.run
        receiver = await self._receiver(to)
        if kind not in receiver[0].accepts or to == run.agent:
            await self._dead_letter(call, kind, arguments)
            return
        said, body = await self._body(arguments)
        attachments = self._attached(arguments.get("attachments", ()))
        due_at = self._due(arguments.get("within"))
        envelope = self._envelope(kind, to, body, attachments, due_at=due_at)
        given = await self._given(kind, envelope.id, body, said, attachments, to.scope)
        opening = await self._opening(receiver, given, self._subtask(), arguments, self._parts())
        envelope = self._envelope(
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
        await self._sent(
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
        _, body = await self._body(arguments)
        envelope = self._envelope(
            kind, arguments["to"], body, self._attached(arguments.get("attachments", ()))
        )
        reason = Text("message.nobody_accepts", type=kind, to=arguments["to"])
        undelivered = Draft("message.undelivered", {"message": envelope.id, "reason": reason})
        error = Draft("tool.answered", self._outcomes.failed(call, reason))
        await self._sent(
            (error,),
            (Draft("message.sent", envelope.as_dict()), undelivered),
            contents=(body.row, self._outcomes.words(reason).row),
        )

    async def _report(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Answer whoever waits for this run (RS-1, MS-12)."""
        run, message = self.run, self.run.message
        if message.get("type") != "request":
            raise _RefusedError(Text("message.nobody_waits"))
        if run.reported:
            raise _RefusedError(Text("message.reported_already"))
        said = {name: value for name, value in arguments.items() if name != "attachments"}
        try:
            result = await checked_report(self._installation, run, self._judgement, said)
        except InterlockError as error:
            raise _RefusedError(Text("message.report_malformed"), str(error)) from None
        body = await self._kept(result.as_dict())
        attachments = self._attached(arguments.get("attachments", ()))
        envelope = self._envelope(
            "result", message["from"], body, attachments, reply_to=message["id"], run_to=message.get("run")
        )
        answer = await self._kept({"reported": envelope.id})
        refused = await self._write(
            (self._answered(call, answer, reported=envelope.id),),
            (Draft("message.sent", envelope.as_dict()),),
            rows=(*posted(envelope, run.root_task), Row("end_timer", (message["id"],))),
            contents=(body.row, answer.row),
        )
        if refused is not None:
            raise _RefusedError(
                Text("message.too_late" if refused == "already_replied" else "message.not_owner")
            )

    async def _hand_over(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Move the task: the new owner, the package and the receiver's run are one transaction (MS-5 to MS-7)."""
        run, to = self.run, arguments["to"]
        if run.handed_over:
            raise _RefusedError(Text("message.handed_over_already"))
        name = new_id("handoff", self._installation.clock)
        said = {key: value for key, value in arguments.items() if key not in ROUTING}
        package = package_of(said, await self._actions(), await self._goal())
        body = await self._kept(package)
        attachments = self._attached(arguments.get("attachments", ()))
        if is_people(to):
            reason = Text("task.handed_to_people", by=run.agent)
            await self._to_people(call, name, Address(to), reason, body, attachments)
            return
        if (over := await self._chain_reason("hand_off")) is not None:
            await self._to_people(call, name, people_of(run.scope), over, body, attachments)
            return
        receiver = await self._receiver(Address(to))
        epoch = run.epoch + 1
        given = await self._given(
            "hand_off", name, body, package, attachments, Address(to).scope, epoch=epoch
        )
        opening = await self._opening(receiver, given, {**run.opening["task"], "epoch": epoch}, {}, 2)
        due_at = self._installation.clock.now() + self._installation.settings.acknowledge_ms
        moved = {
            "task": run.task,
            "hand_off": name,
            "epoch": epoch,
            "from": run.agent,
            "to": to,
            "by_run": run.id,
            "run": opening.run,
            "package": body.digest,
            "size": body.size,
            "labels": listed(given.labels),
            "due_at": due_at,
        }
        if attachments:
            moved["attachments"] = [item.as_dict() for item in attachments]
        watched = {"task": run.task, "epoch": epoch, "to": to, "run": opening.run, "scope": run.scope}
        answer = await self._kept({"handed_over_to": to})
        self._installation.reach("hand_off.before_send")
        await self._sent(
            (self._answered(call, answer, handed_over=name, alone=self._alone(call)),),
            (Draft("task.handed_over", moved), *opening.told),
            writes=(opening.write,),
            guards=opening.guards,
            rows=(timer_row(name, due_at, "hand_off", run.root_task, watched),),
            contents=(body.row, answer.row),
        )
        self._installation.reach("hand_off.after_send")

    async def _to_people(
        self,
        call: CallState,
        name: str,
        people: Address,
        reason: Text,
        body: Kept,
        attachments: tuple[Exposed, ...],
    ) -> None:
        run = self.run
        draft = queued(run.task, run.epoch + 1, people.scope, run.agent, reason, name, run.id)
        draft.body.update(package=body.digest, labels=listed(run.labels))
        if attachments:
            draft.body["attachments"] = [item.as_dict() for item in attachments]
        answer = await self._kept({"handed_over_to": people})
        await self._sent(
            (self._answered(call, answer, handed_over=name, alone=self._alone(call)),),
            (draft,),
            contents=(body.row, answer.row),
        )

    def _alone(self, call: CallState) -> bool:
        """Whether the hand-off is all that its answer proposed: then the run has nothing more to say."""
        return (
            self._spec.function is None
            and sum(item.answer == call.answer for item in self.run.calls.values()) == 1
        )

    async def _actions(self) -> list[dict[str, Any]]:
        """What was done for the root task, as the action ledger has it (MS-5)."""
        return await actions_of(self._installation, self.run.root_task)

    async def _goal(self) -> str | None:
        """The goal in the words of whoever asked for it, where they are known to this run."""
        contents, run = self._installation.contents, self.run
        if run.message.get("type") == "hand_off":
            return str(json.loads(await contents.read(run.message["body"]))["goal"])
        if run.opening["opened_by"]["kind"] != "person" or "input" not in run.opening:
            return None
        brief = json.loads(await contents.read(run.opening["input"]))
        return brief if isinstance(brief, str) and len(brief) <= GOAL else None

    async def _decide(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Settle a topic for the root task; who comes second is told what stands (MS-11)."""
        run, contents = self.run, self._installation.contents
        topic = " ".join(arguments["topic"].split())
        settled = await decisions_of(self._installation, run.root_task)
        name = new_id("decision", self._installation.clock)
        said = await self._kept({"topic": topic, "decision": arguments["decision"], "by": run.agent})
        body = {
            "decision": name,
            "revision": len(settled) + 1,
            "topic": contents.digest(run.company, topic.casefold().encode(errors="backslashreplace")),
            "content": said.digest,
            "task": run.task,
            "run": run.id,
            "from": run.agent,
            "labels": listed(run.labels),
        }
        answer = await self._kept({"decided": topic, "revision": body["revision"]})
        refused = await self._write(
            (self._answered(call, answer),),
            (Draft("decision.recorded", body),),
            rows=(Row("signal_root", (name, "decision", "", run.root_task, run.id)),),
            contents=(said.row, answer.row),
        )
        if refused == "already_decided":
            raise _RefusedError(await self._standing(body["topic"]))
        if refused is not None:
            raise _RefusedError(Text("message.not_owner"))

    async def _standing(self, topic: str) -> Text:
        rows = await self._installation.ledger.query("decisions_of_root", self.run.root_task)
        return Text("message.decided_already", revision=next(row[2] for row in rows if row[0] == topic))


GOAL = 2000
"""A longer brief is not repeated as a goal."""
