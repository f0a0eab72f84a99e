"""An asking: one call of the model, from the prompt that is put together to the answer, or to why there is none.

The snapshot of the exact request is on disk before it leaves (PS-1); so is every failure before the next
attempt.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.connector.model.model import Answer, Message, Model, ModelFailure, Request
from interlock.errors import InterlockError
from interlock.gate.budget import Usage
from interlock.perspective.perspective import Perspective
from interlock.perspective.resolver import Resolver
from interlock.perspective.snapshot import SnapshotKeeper
from interlock.run.allowance import draw_for
from interlock.run.installation import Installation
from interlock.run.move import End
from interlock.run.platform_tools import CONCLUDE
from interlock.run.recorder import Recorder
from interlock.settings import ModelChoice

__all__ = ["Asking"]

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

WRITING = "#writing"
"""What is added to an agent's address where its model only writes; a script answers under that name."""
FIRST_WAIT_MS, LONGEST_WAIT_MS = 500, 60_000
LONGEST_ASKED_MS = 600_000
"""The longest wait that a provider may ask for: ten minutes."""


class Asking:
    """Asks the model of one run under one claim."""

    def __init__(self, installation: Installation, recorder: Recorder, spec: Spec) -> None:
        self._installation, self._recorder, self._spec = installation, recorder, spec
        self.run = run = recorder.run
        self._reserved = Usage()
        self._snapshots = SnapshotKeeper(installation.contents, run.company)
        settings = installation.settings
        head = installation.prompt_head(spec, run.version, run.opening["opened_by"]["kind"])
        agent = f"{run.agent}#{run.part['place']['node']}" if run.part else run.agent
        self._resolver = Resolver(
            Perspective(installation.ledger, run.agent),
            installation.contents,
            agent,
            *head,
            settings.sizes.shown,
            settings.language,
        )

    async def ask(self, number: int) -> Answer | End | None:
        """Make the `number`-th call of the run, in one attempt.

        Gives the answer; or that the run is at its end, and why; or None when the attempt failed, is taken down
        and waited for, and may be made again.
        """
        try:
            model = self._installation.models.open(self._spec.model)
        except InterlockError as error:
            return self._without(error)
        choice = self._installation.settings.models[self._spec.model]
        request = await self._resolver.resolve(
            number, self.run.opening, self.run.entries, choice.max_output_tokens
        )
        return await self._sent(model, choice, request, self._snapshots, {})

    async def write(self, call: str, instructions: str, text: str) -> Answer | End:
        """Let the model write a text from `text` alone, for a call of the run: a fresh context, which sees nothing
        of the run's own (RS-3). Tried as often as any call of a model."""
        try:
            model = self._installation.models.open(self._spec.model)
        except InterlockError as error:
            return self._without(error)
        choice = self._installation.settings.models[self._spec.model]
        written = (
            item for item in self.run.calls.values() if item.tool == CONCLUDE and item.done is not None
        )
        number = 1 + sum(1 for _ in written)
        agent = f"{self.run.agent}{WRITING}"
        request = Request(agent, number, instructions, (), (Message("user", text),), choice.max_output_tokens)
        snapshots = SnapshotKeeper(self._installation.contents, self.run.company)
        while (found := await self._sent(model, choice, request, snapshots, {"writing": call})) is None:
            pass
        return found

    async def _sent(
        self,
        model: Model,
        choice: ModelChoice,
        request: Request,
        snapshots: SnapshotKeeper,
        more: dict[str, Any],
    ) -> Answer | End | None:
        number = request.number

        async def before_send(parts: Sequence[bytes]) -> None:
            size = sum(map(len, parts))
            self._reserved = _largest(size, choice)
            await self._reserve(self._reserved)
            about = self._about(number, model.provider, model.model)
            digest, size, rows = await snapshots.keep(about, parts)
            asked = {"n": number, "snapshot": digest, "bytes": size, "role": self._spec.model, **more}
            self._recorder.note("model.asked", asked, rows)
            await self._recorder.flush()
            self._installation.reach("model.before_send")

        try:
            await self._draw(Usage(wall_ms=choice.timeout_ms))
            async with asyncio.timeout(self.run.time_left(choice.timeout_ms) / 1000):
                answer = await model.ask(request, before_send)
        except ModelFailure as failure:
            return await self._failed(number, failure, choice.attempts)
        except TimeoutError:
            return await self._failed(number, ModelFailure("timed_out", True), choice.attempts)
        except _ExhaustedError as used_up:
            return End("exhausted", used_up.reason)
        except InterlockError as error:
            if not error.code.startswith("model."):
                raise
            return self._without(error)
        self._installation.reach("model.after_answer")
        return answer

    def _without(self, error: InterlockError) -> End:
        """The installation lacks something that the model needs, such as a key: an end that says what."""
        why = Text(error.code, **error.params) if error.code in LACKING else Text("run.model_unusable")
        return End("failed", Text("run.no_model", role=self._spec.model, code=error.code, why=why))

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

    def _about(self, number: int, provider: str, model: str) -> dict[str, Any]:
        run = self.run
        return {
            "agent": run.agent,
            "version": run.version,
            "run": run.id,
            "root_run": run.place.root_run if run.place else None,
            "call": number,
            "attempt": run.attempts + 1,
            "role": self._spec.model,
            "provider": provider,
            "model": model,
            "artifacts": sorted({*run.given, *run.artifacts}),
            **({"work": run.part["place"]} if run.part else {}),
        }

    async def _failed(self, number: int, failure: ModelFailure, attempts: int) -> End | None:
        run = self.run
        detail = self._installation.contents.keep(
            run.company, failure.detail.encode(errors="backslashreplace")
        )
        again = failure.retryable and run.attempts < attempts
        wait = self._wait_ms(failure) if again else 0
        body = {
            "n": number,
            "code": failure.code,
            "status": failure.status,
            "wait_ms": wait,
            "detail": detail.digest,
            "usage": (self._spent_by(failure) + Usage(wall_ms=self._recorder.elapsed())).as_dict(),
        }
        self._recorder.note("model.failed", body, [detail.row])
        if not again:
            reason = Text("run.model_failed", code=failure.code, attempts=run.attempts, role=self._spec.model)
            return End("failed", reason)
        await self._recorder.flush()
        await self._installation.clock.sleep(wait / 1000)
        self._recorder.rest()
        return None

    def _spent_by(self, failure: ModelFailure) -> Usage:
        """What an attempt without an answer cost: the most it may have, where the request left and nothing that came
        back says that it was not worked on."""
        lost = failure.status is None and failure.code in {"timed_out", "unavailable"}
        return replace(self._reserved, wall_ms=0) if lost else Usage()

    def _wait_ms(self, failure: ModelFailure) -> int:
        """Exponential back-off with full jitter above a floor, and no less than the provider asked for, within
        reason."""
        longest = min(LONGEST_WAIT_MS, FIRST_WAIT_MS << min(self.run.attempts, 16))
        chance = int.from_bytes(self._installation.clock.random_bytes(2)) / 65535
        return max(min(failure.wait_ms or 0, LONGEST_ASKED_MS), int(longest * (0.5 + chance / 2)))


class _ExhaustedError(Exception):
    def __init__(self, reason: Text) -> None:
        self.reason = reason


def _largest(size: int, choice: ModelChoice) -> Usage:
    """The most that a call with a request of `size` bytes may use: a token is at least two bytes, and the answer
    as long as it may be."""
    taken, given = size // 2, choice.max_output_tokens
    money = -(-(taken * choice.price_in + given * choice.price_out) // 1_000_000)
    return Usage(tokens=taken + given, money=money, wall_ms=1)
