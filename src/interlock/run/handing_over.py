"""Handing over: a task moves to another owner with its package, in one transaction with the receiver's run (MS-5)."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from interlock.catalogue import Text
from interlock.clock import new_id
from interlock.event.event import Exposed
from interlock.ledger.content_store import Kept
from interlock.ledger.step import Draft
from interlock.message.hand_off import package_of
from interlock.message.task import is_people, people_of
from interlock.run.action import actions_of
from interlock.run.post import queued
from interlock.run.run import CallState
from interlock.run.sending import ROUTING, RefusedError, Sending
from interlock.run.timer import timer_row
from interlock.scope.label import Labels, join, listed
from interlock.scope.scope import Address, Scope

__all__ = ["HandingOver"]

GOAL = 2000
"""How many characters a goal has at most; a longer brief is not repeated as one."""


class HandingOver:
    """Hands over for one run, under one claim."""

    def __init__(self, sending: Sending) -> None:
        self._sending = sending
        self.run = sending.run

    async def hand_over(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Move the task: the new owner, the package and the receiver's run are one transaction (MS-5 to MS-7)."""
        run, to = self.run, arguments["to"]
        if run.handed_over:
            raise RefusedError(Text("message.handed_over_already"))
        name = new_id("handoff", self._sending.installation.clock)
        said = {key: value for key, value in arguments.items() if key not in ROUTING}
        actions, carried = await self._actions(None if is_people(to) else Address(to).scope)
        package = package_of(said, actions, await self._goal())
        body = await self._sending.kept(package)
        attachments = self._sending.attached(arguments.get("attachments", ()))
        if is_people(to):
            reason = Text("task.handed_to_people", by=run.agent)
            await self._to_people(call, name, Address(to), reason, body, attachments)
            return
        if (over := await self._sending.chain_reason("hand_off")) is not None:
            await self._to_people(call, name, people_of(run.scope), over, body, attachments)
            return
        receiver = await self._sending.receiver(Address(to))
        epoch = run.epoch + 1
        given = await self._sending.given(
            "hand_off", name, body, package, attachments, Address(to).scope, epoch=epoch
        )
        given = replace(given, labels=join(given.labels, carried))
        opening = await self._sending.opening(receiver, given, {**run.opening["task"], "epoch": epoch}, {}, 2)
        due_at = self._sending.installation.clock.now() + self._sending.installation.settings.acknowledge_ms
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
        answer = await self._sending.kept({"handed_over_to": to})
        self._sending.installation.reach("hand_off.before_send")
        await self._sending.send(
            (self._sending.answered(call, answer, handed_over=name, alone=self._alone(call)),),
            (Draft("task.handed_over", moved), *opening.told),
            writes=(opening.write,),
            guards=opening.guards,
            rows=(timer_row(name, due_at, "hand_off", run.root_task, watched),),
            contents=(body.row, answer.row),
        )
        self._sending.installation.reach("hand_off.after_send")

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
        answer = await self._sending.kept({"handed_over_to": people})
        await self._sending.send(
            (self._sending.answered(call, answer, handed_over=name, alone=self._alone(call)),),
            (draft,),
            contents=(body.row, answer.row),
        )

    def _alone(self, call: CallState) -> bool:
        """Whether the hand-off is all that its answer proposed: then the run has nothing more to say."""
        return (
            self._sending.spec.function is None
            and sum(item.answer == call.answer for item in self.run.calls.values()) == 1
        )

    async def _actions(self, scope: Scope | None) -> tuple[list[dict[str, Any]], Labels]:
        """What was done for the root task, as the action ledger has it (MS-5), and the labels that this brings."""
        return await actions_of(self._sending.installation, self.run.root_task, scope)

    async def _goal(self) -> str | None:
        """The goal in the words of whoever asked for it, where they are known to this run."""
        contents, run = self._sending.installation.contents, self.run
        if run.message.get("type") == "hand_off":
            return str(json.loads(await contents.read(run.message["body"]))["goal"])
        if run.opening["opened_by"]["kind"] != "person" or "input" not in run.opening:
            return None
        brief = json.loads(await contents.read(run.opening["input"]))
        return brief if isinstance(brief, str) and len(brief) <= GOAL else None
