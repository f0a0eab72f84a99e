"""A timer: what happens when its time has come, unless something else came first (MS-4, MS-7, GT-4, WK-2).

A timer is a row, written with what it watches over. Whoever removes the row has fired it, in the same transaction as
all that follows, so that it fires once, whichever process set it and however many look.
"""

import json
from typing import Any

from interlock import canonical
from interlock.catalogue import Text, say
from interlock.ledger.ledger import Row, Write
from interlock.ledger.step import Draft
from interlock.message.envelope import Envelope
from interlock.run.installation import Installation
from interlock.run.post import posted, queued
from interlock.scope.scope import Scope

__all__ = ["PLATFORM", "Timers", "timer_row"]

PAGE = 100
PLATFORM = "platform"
"""The sender of what nobody else says: that a time is over."""


def timer_row(name: str, due_at: int, kind: str, root: str, body: dict[str, Any]) -> Row:
    """Give the row that sets a timer. `name` is the id of what it watches over."""
    return Row("insert_timer", (name, due_at, kind, root, canonical.encode(body).decode()))


class Timers:
    """Fires the timers that are due. Any number may look at the same time."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation

    async def fire(self) -> int:
        """Fire what is due now, and give how many there were."""
        ledger, now = self._installation.ledger, self._installation.clock.now()
        fired = 0
        while rows := await ledger.query("timers_due", now, PAGE):
            for name, _, kind, root, text in rows:
                await self._fire(name, kind, root, json.loads(text))
                fired += 1
        return fired

    async def _fire(self, name: str, kind: str, root: str, body: dict[str, Any]) -> None:
        self._installation.reach("timer.before_fire")
        end = Row("end_timer", (name,), "fired")
        match kind:
            case "hand_off":
                await self._hand_off(name, root, body, end)
            case "reply":
                await self._reply(name, root, body, end)
            case "question":
                await self._question(name, root, body, end)
            case "work":
                await self._work(name, body, end)
        # What came first left nothing to do; the row goes.
        await self._installation.ledger.append((), rows=(Row("end_timer", (name,)),))
        self._installation.reach("timer.after_fire")

    async def _hand_off(self, name: str, root: str, body: dict[str, Any], end: Row) -> None:
        """Nobody acknowledged: the human queue owns the task, and the receiver's run must not begin."""
        reason = Text("task.not_acknowledged", to=body["to"])
        draft = queued(body["task"], body["epoch"] + 1, Scope(body["scope"]), body["to"], reason, name)
        told = canonical.encode(Text("run.late_acknowledgement")).decode()
        await self._installation.ledger.append(
            (Write(root, None, (draft,)),),
            guards=(end, Row("hand_off_is_pending", (body["task"], name), "acknowledged")),
            rows=(
                Row("signal_run", (name, "disowned", told, body["run"])),
                Row("wake_run", (body["run"],)),
            ),
        )

    async def _reply(self, name: str, root: str, body: dict[str, Any], end: Row) -> None:
        """No reply came in time: the run that waits gets an explicit failure, and what it opened is cancelled."""
        installation = self._installation
        language = installation.settings.language
        text = {"what": say("message.not_answered", language), "why": say("message.no_reply", language)}
        kept = installation.contents.keep(body["company"], canonical.encode(text))
        reply = Envelope(
            id=f"{name}-late",
            task=body["task"],
            type="error",
            sender=PLATFORM,
            recipient=body["agent"],
            body=kept.digest,
            size=kept.size,
            labels=frozenset(),
            reply_to=name,
            run_to=body["run"],
        )
        rows = posted(reply, root)
        if "opens" in body:
            rows += (
                Row("signal_run", (f"{name}-late", "cancel", PLATFORM, body["opens"])),
                Row("wake_run", (body["opens"],)),
            )
        await installation.ledger.append(
            (Write(root, None, (Draft("message.sent", reply.as_dict()),)),),
            guards=(end,),
            rows=rows,
            contents=(kept.row,),
        )

    async def _question(self, name: str, root: str, body: dict[str, Any], end: Row) -> None:
        draft = Draft("question.answered", {"question": name, "outcome": "expire"})
        await self._installation.ledger.append(
            (Write(root, None, (draft,)),),
            guards=(end, Row("question_waits", (name,), "already_answered")),
            rows=(Row("signal_run", (name, "answer", "", body["run"])), Row("wake_run", (body["run"],))),
        )

    async def _work(self, name: str, body: dict[str, Any], end: Row) -> None:
        """A part of a run's work, or a join of it, has no time left: the run looks what is to be done."""
        told = Row("signal_run", (f"{name}-due", "work", "", body["run"]))
        await self._installation.ledger.append(
            (), guards=(end,), rows=(told, Row("wake_run", (body["run"],)))
        )
