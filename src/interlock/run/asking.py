"""An asking: one call of the model, from the prompt that is put together to the answer, or to why there is none.

The snapshot of the exact request is on disk before it leaves (PS-1); so is every failure before the next
attempt.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.connector.model.model import Answer, Model, ModelFailure, Request
from interlock.errors import InterlockError
from interlock.gate.budget import Usage
from interlock.perspective.fitting import size_limit
from interlock.perspective.resolver import (
    Resolved,
    Sources,
    resolve,
    resolve_work_node,
    resolve_writing,
)
from interlock.perspective.snapshot import SnapshotKeeper
from interlock.run.allowance import draw_for
from interlock.run.compacting import Compacting
from interlock.run.installation import Installation
from interlock.run.move import End
from interlock.run.platform_tools import CONCLUDE
from interlock.run.recorder import Recorder
from interlock.settings import ModelChoice

__all__ = ["BESIDE", "Asking", "largest_usage", "lost_usage"]

LACKING = frozenset(
    f"model.{name}"
    for name in (
        "malformed_key",
        "no_base_url",
        "no_key",
        "no_model",
        "no_roles",
        "no_script",
        "not_installed",
        "unknown_provider",
        "unknown_role",
        "unobserved",
    )
)
"""What an installation may lack to ask a model; the parameters of these name settings and variables alone."""

BESIDE = frozenset({"writing", "compacting"})
"""The marks of calls of a model that are beside a run's own conversation."""
TURN = ("conversation", "first", "last")
"""What a snapshot says of a turn."""
WRITING = "#writing"
"""What is added to an agent's address where its model only writes; a script answers under that name."""
FIRST_WAIT_MS, LONGEST_WAIT_MS = 500, 60_000
LONGEST_ASKED_MS = 600_000
"""The longest wait that a provider may ask for: ten minutes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model is asked: by which choice and role, and where its snapshot belongs. `marks` go to the step and the
    manifest, `about` to the manifest alone."""

    model: Model
    choice: ModelChoice
    role: str
    request: Request
    snapshots: SnapshotKeeper
    marks: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)


class Asking:
    """Asks the model of one run under one claim."""

    def __init__(self, installation: Installation, recorder: Recorder, spec: Spec) -> None:
        self._installation, self._recorder, self._spec = installation, recorder, spec
        self.run = run = recorder.run
        self._reserved = Usage()
        self._snapshots = SnapshotKeeper(installation.contents, run.company)
        settings = installation.settings
        head = installation.prompt_head(spec, run.version, run.opening["opened_by"]["kind"])
        sources = Sources(
            installation.ledger, installation.contents, *head, settings.sizes.shown, settings.language
        )
        made_by = resolve_work_node if run.part else resolve
        self._resolver = made_by(run.agent, run.opening, sources)
        self._compacting = Compacting(installation, recorder, self)

    async def ask(self, number: int) -> Answer | End | None:
        """Make the `number`-th call of the run, in one attempt.

        Gives the answer; or that the run is at its end, and why; or None when the attempt failed, is taken down
        and waited for, and may be made again.
        """
        role = self._spec.model
        try:
            model = self._installation.models.open(role)
        except InterlockError as error:
            return self._without(error, role)
        choice = self._installation.settings.models[role]
        limit = self.limit_of(choice)
        if (end := await self._compacting.look(self._resolver, limit)) is not None:
            return end
        resolved = self._resolver.resolve(number, choice.max_output_tokens, limit)
        if resolved is None:
            return End("failed", Text("run.prompt_too_large", size=self._resolver.needed, limit=limit))
        return await self._sent(
            Asked(model, choice, role, resolved.request, self._snapshots, about=self._made_of(resolved))
        )

    async def write(self, call: str, instructions: str, text: str) -> Answer | End:
        """Let the model write a text from `text` alone, for a call of the run: a fresh context, which sees nothing
        of the run's own (RS-3). Tried as often as any call of a model."""
        written = (
            item for item in self.run.calls.values() if item.tool == CONCLUDE and item.done is not None
        )
        number = 1 + sum(1 for _ in written)
        return await self.beside(self._spec.model, WRITING, number, instructions, text, {"writing": call})

    async def beside(
        self, role: str, suffix: str, number: int, instructions: str, text: str, marks: dict[str, Any]
    ) -> Answer | End:
        """Let the model of a role write a text from `text` alone, beside the run's own conversation. `suffix` is added
        to the agent's address, and `marks` to the step that says that it was asked."""
        try:
            model = self._installation.models.open(role)
        except InterlockError as error:
            return self._without(error, role)
        choice = self._installation.settings.models[role]
        writer = f"{self.run.agent}{suffix}"
        request = resolve_writing(writer, number, instructions, text, choice.max_output_tokens)
        snapshots = SnapshotKeeper(self._installation.contents, self.run.company)
        asked = Asked(model, choice, role, request, snapshots, marks)
        while (found := await self._sent(asked)) is None:
            pass
        return found

    def limit_of(self, choice: ModelChoice) -> int:
        """Give how many bytes the texts of a prompt for a model may take (PX-6)."""
        prompt = self._installation.settings.sizes.prompt
        return size_limit(prompt, choice.context_tokens, choice.max_output_tokens)

    async def _sent(self, asked: "Asked") -> Answer | End | None:
        model, choice, request = asked.model, asked.choice, asked.request
        number = request.number

        async def before_send(parts: Sequence[bytes]) -> None:
            self._reserved = largest_usage(sum(map(len, parts)), choice)
            await self._reserve(self._reserved)
            digest, size, rows = await asked.snapshots.keep(self._about(asked), parts)
            body = {"n": number, "snapshot": digest, "bytes": size, "role": asked.role, **asked.marks}
            self._recorder.note("model.asked", body, rows)
            await self._recorder.flush()
            self._installation.reach("model.before_send")

        try:
            await self._draw(Usage(wall_ms=choice.timeout_ms))
            async with asyncio.timeout(self.run.time_left(choice.timeout_ms) / 1000):
                answer = await model.ask(request, before_send)
        except ModelFailure as failure:
            return await self._failed(asked, failure)
        except TimeoutError:
            return await self._failed(asked, ModelFailure("timed_out", True))
        except _ExhaustedError as used_up:
            return End("exhausted", used_up.reason)
        except InterlockError as error:
            if not error.code.startswith("model."):
                raise
            return self._without(error, asked.role)
        self._installation.reach("model.after_answer")
        return answer

    def _without(self, error: InterlockError, role: str) -> End:
        """The installation lacks something that the model needs, such as a key: an end that says what."""
        why = Text(error.code, **error.params) if error.code in LACKING else Text("run.model_unusable")
        return End("failed", Text("run.no_model", role=role, code=error.code, why=why))

    async def _reserve(self, estimate: Usage) -> None:
        """See that run and scopes can pay for the largest estimate of a call, before it is made."""
        amount = self.run.budget.exceeded_by(self.run.committed + estimate)
        if amount is not None:
            raise _ExhaustedError(Text("budget.run_used_up", amount=amount))
        await self._draw(estimate)

    async def _draw(self, need: Usage) -> None:
        if self._installation.settings.scope_budgets:
            reason = await draw_for(self._installation, self._recorder, need)
            if reason is not None:
                raise _ExhaustedError(reason)

    def _about(self, asked: "Asked") -> dict[str, Any]:
        """What a snapshot says of itself (PS-1). `work` is the node that the run is, `turn` where in which
        conversation what engages it stands."""
        run, turn = self.run, self.run.opening.get("turn")
        return {
            "agent": run.agent,
            "version": run.version,
            "run": run.id,
            "root_run": run.place.root_run if run.place else None,
            "call": asked.request.number,
            "attempt": run.attempts + 1,
            "role": asked.role,
            "provider": asked.model.provider,
            "model": asked.model.model,
            "address": asked.choice.base_url,
            "artifacts": sorted({*run.given, *run.artifacts}),
            **({"work": run.part["place"]} if run.part else {}),
            **({"turn": {key: turn[key] for key in TURN}} if turn else {}),
            **asked.marks,
            **asked.about,
        }

    def _made_of(self, resolved: Resolved) -> dict[str, Any]:
        """What a prompt was made of besides the run's own trail, and what it was not given for lack of room."""
        return {
            "compaction": resolved.compaction,
            "memories": [list(item) for item in resolved.memories],
            "message_events": list(resolved.message_events),
            "left_out": [item.as_dict() for item in resolved.left_out],
        }

    async def _failed(self, asked: "Asked", failure: ModelFailure) -> End | None:
        run, attempts = self.run, asked.choice.attempts
        detail = self._installation.contents.keep(
            run.company, failure.detail.encode(errors="backslashreplace")
        )
        again = failure.retryable and run.attempts < attempts
        wait = self._wait_ms(failure) if again else 0
        body = {
            "n": asked.request.number,
            "code": failure.code,
            "status": failure.status,
            "wait_ms": wait,
            "detail": detail.digest,
            "usage": (
                lost_usage(failure, self._reserved) + Usage(wall_ms=self._recorder.elapsed())
            ).as_dict(),
        }
        self._recorder.note("model.failed", body, [detail.row])
        if not again:
            reason = Text("run.model_failed", code=failure.code, attempts=run.attempts, role=asked.role)
            return End("failed", reason)
        await self._recorder.flush()
        await self._installation.clock.sleep(wait / 1000)
        self._recorder.rest()
        return None

    def _wait_ms(self, failure: ModelFailure) -> int:
        """Exponential back-off with full jitter above a floor, and no less than the provider asked for, within
        reason."""
        longest = min(LONGEST_WAIT_MS, FIRST_WAIT_MS << min(self.run.attempts, 16))
        chance = int.from_bytes(self._installation.clock.random_bytes(2)) / 65535
        return max(min(failure.wait_ms or 0, LONGEST_ASKED_MS), int(longest * (0.5 + chance / 2)))


class _ExhaustedError(Exception):
    def __init__(self, reason: Text) -> None:
        self.reason = reason


def lost_usage(failure: ModelFailure, reserved: Usage) -> Usage:
    """Give what an attempt without an answer cost, its time left out: the most it may have, which is what was
    `reserved`, where the request left and nothing that came back says that it was not worked on."""
    lost = failure.status is None and failure.code in {"timed_out", "unavailable"}
    return replace(reserved, wall_ms=0) if lost else Usage()


def largest_usage(size: int, choice: ModelChoice) -> Usage:
    """Give the most that a call with a request of `size` bytes may use: a token is at least two bytes, and the
    answer as long as it may be."""
    taken, given = size // 2, choice.max_output_tokens
    money = -(-(taken * choice.price_in + given * choice.price_out) // 1_000_000)
    return Usage(tokens=taken + given, money=money, wall_ms=1)
