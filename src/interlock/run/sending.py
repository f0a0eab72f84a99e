"""A sending: what every message of a run has in common, whatever tool it is sent with.

Whatever is sent is an envelope that the platform fills in: the sender is the run's agent, the labels are the run's, the
task is the run's. Who no longer owns the task sends nothing for it (MS-6): the same transaction asks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.catalogue import Text, say
from interlock.clock import new_id
from interlock.errors import InterlockError
from interlock.event.chain import going_on
from interlock.event.event import Exposed
from interlock.gate.budget import Budget
from interlock.gate.tool import leaves_of
from interlock.ledger.content_store import Kept
from interlock.ledger.ledger import Refused, Row, Write
from interlock.ledger.step import Draft
from interlock.message.envelope import Envelope
from interlock.run.closing import budget_left, source_chain
from interlock.run.installation import Installation
from interlock.run.judgement import Judgement
from interlock.run.opening import Given, Opening, Taker, opened_by_message
from interlock.run.outcome import Outcomes
from interlock.run.recorder import Lost, Recorder
from interlock.run.run import CallState, Run
from interlock.run.signal import decisions_of
from interlock.scope.barrier import barrier
from interlock.scope.scope import Address

__all__ = ["ROUTING", "RefusedError", "Sending"]

ROUTING = frozenset({"to", "attachments", "within", "budget"})
"""The arguments that say where a message goes; the others are its body."""


class RefusedError(Exception):
    """What was to be sent is not; the sender is told `told`, or the reason."""

    def __init__(self, reason: Text, told: str = "") -> None:
        self.reason, self.told = reason, told


class Sending:
    """Sends for one run, under one claim."""

    def __init__(
        self,
        installation: Installation,
        recorder: Recorder,
        spec: Spec,
        judgement: Judgement,
        outcomes: Outcomes,
    ) -> None:
        self.installation, self.recorder, self.spec = installation, recorder, spec
        self.judgement, self.outcomes = judgement, outcomes
        self.run: Run = recorder.run

    async def reject(self, call: CallState, reason: Text) -> None:
        """Record that a message was not sent."""
        body = {
            "task": self.run.task,
            "from": self.run.agent,
            "run": self.run.id,
            "type": call.tool,
            "reason": reason,
        }
        self.recorder.note_beside(self.run.root_task, "message.rejected", body)

    async def body(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], Kept]:
        """Give what a call says, without where it goes, and its content."""
        said = {name: value for name, value in arguments.items() if name not in ROUTING}
        return said, await self.kept(said)

    async def kept(self, value: Any) -> Kept:
        """Prepare a JSON value as content."""
        return await self.installation.contents.keep_any(self.run.company, canonical.encode(value))

    async def traced(self, said: Any) -> tuple[str, ...]:
        """The places in what is said whose values come from somebody trusted; they keep that trust (GT-3)."""
        origins = await self.judgement.origins()
        return tuple(path for path, leaf in leaves_of(said) if origins.of(leaf))

    def attached(self, names: Sequence[str]) -> tuple[Exposed, ...]:
        """Give artifacts of the run by their names. Raises RefusedError."""
        found = []
        for name in dict.fromkeys(names):
            item = self.judgement.artifact(name)
            if item is None:
                given = sorted({*self.run.given, *self.run.artifacts}) or ["-"]
                raise RefusedError(Text("message.no_such_artifact", given=given))
            found.append(Exposed.from_dict(item))
        return tuple(found)

    def envelope(
        self, kind: Any, to: str, body: Kept, attachments: tuple[Exposed, ...], name: str = "", **more: Any
    ) -> Envelope:
        """Give the envelope of a message of this run."""
        return Envelope(
            id=name or new_id("message", self.installation.clock),
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

    def owner(self) -> Row:
        """Give the guard that the agent owns the task still."""
        return Row("owner_is", (self.run.task, self.run.epoch), "not_owner")

    async def write(self, then: Sequence[Draft], told: Sequence[Draft], **more: Any) -> str | None:
        """Send: all of it or nothing. Gives the constraint that forbade it, None when it is sent.

        What was taken down before stays taken down: only what is sent depends on the guards.
        """
        await self.recorder.flush(durable=False)
        guards = (self.owner(), *more.pop("guards", ()))
        writes = (*more.pop("writes", ()), Write(self.run.root_task, None, tuple(told)))
        outcome = await self.recorder.flush(then=then, writes=writes, guards=guards, **more)
        return outcome.constraint if isinstance(outcome, Refused) else None

    async def send(self, then: Sequence[Draft], told: Sequence[Draft], **more: Any) -> None:
        """Write as `write` does. Raises RefusedError when the task is another's."""
        refused = await self.write(then, told, **more)
        if refused == "not_owner":
            raise RefusedError(Text("message.not_owner"))
        if refused is not None:
            raise Lost(self.run.id)

    def answered(self, call: CallState, kept: Kept, **more: Any) -> Draft:
        """Give the step that takes the result of a call down."""
        return Draft("tool.answered", {**self.outcomes.answered(call, kept), **more})

    # Opening runs

    async def chain_reason(self, kind: Any) -> Text | None:
        """Give why the chain may not go on by this, or None."""
        limit = self.installation.settings.chain_limit
        place = self.run.place
        over = place is None or place.hop >= limit
        return going_on(place, limit, kind, await source_chain(self.installation, self.run) if over else ())

    async def goes_on(self, kind: Any) -> None:
        """See that the chain may go on by this. Raises RefusedError; who else is on the chain is for people to know,
        not for the sender (PX-4)."""
        reason = await self.chain_reason(kind)
        if reason is not None:
            language, limit = self.installation.settings.language, self.installation.settings.chain_limit
            raise RefusedError(reason, say(f"{reason['id']}.told", language, limit=limit))

    async def receiver(self, to: Address) -> tuple[Spec, int]:
        """Give the current version of an agent. Raises RefusedError."""
        try:
            version, state = await self.installation.current(to)
        except InterlockError:
            raise RefusedError(Text("message.no_such_agent", to=to)) from None
        if state != "active":
            raise RefusedError(Text(f"event.{state}", listener=to))
        return await self.installation.spec(to, version), version

    async def opening(
        self,
        receiver: tuple[Spec, int],
        given: Given,
        task: Mapping[str, Any],
        asked: Mapping[str, Any],
        parts: int,
    ) -> Opening:
        """Give the opening of the run that a message starts, one of `parts` among which the pool is shared."""
        place = self.run.place
        if place is None:
            raise RefusedError(Text("chain.unknown_request"))
        limits = self.installation.settings.limits.narrowed(Budget(**asked.get("budget", {})))
        pool = (await budget_left(self.installation, self.run.root_task)).share(parts)
        run = new_id("run", self.installation.clock)
        return opened_by_message(
            run, task, *receiver, given, self.run.opening, place.next(), limits, pool, Taker()
        )

    def subtask(self) -> dict[str, Any]:
        """Give a task of its own below the run's."""
        name = new_id("task", self.installation.clock)
        return {"id": name, "root": self.run.root_task, "parent": self.run.task}

    async def given(
        self,
        kind: str,
        name: str,
        body: Kept,
        said: Any,
        attachments: tuple[Exposed, ...],
        scope: Any,
        **more: Any,
    ) -> Given:
        """Give what a run that this opens is told, with what is settled for the task."""
        vocabulary = self.installation.settings.vocabulary
        settled = [
            item
            for item in await decisions_of(self.installation, self.run.root_task)
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
            traced=await self.traced(said),
            decisions=tuple({"content": item["content"], "revision": item["revision"]} for item in settled),
            revision=max((item["revision"] for item in settled), default=0),
            **more,
        )

    def due(self, seconds: int | None) -> int:
        """Give until when a reply is waited for."""
        limit = self.installation.settings.reply_ms
        return self.installation.clock.now() + (limit if seconds is None else min(limit, seconds * 1000))
