"""A replay: the exact bytes of a call of a run, sent again for a person to the model that the role stood for.

Nothing comes of it but an answer to compare: no tool is called, nothing is proposed, and the run and its task do
not change. What was sent again, for whom, and what came, stands in a stream beside the run's.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from interlock.catalogue import Text
from interlock.connector.model.model import Answer, ModelFailure, ReplayingModel
from interlock.errors import InterlockError
from interlock.gate.budget import Budget, Usage
from interlock.ledger.ledger import Appended, ContentRow, Row, Write
from interlock.ledger.step import Draft, Step
from interlock.perspective.answer import StoredAnswer, load_answer, store_answer
from interlock.perspective.snapshot import Snapshot
from interlock.run.asking import largest_usage, lost_usage
from interlock.run.installation import Installation
from interlock.run.run import TRAIL, Run
from interlock.run.shared_budget import draw, settle
from interlock.scope.label import listed
from interlock.scope.scope import Scope
from interlock.settings import ModelChoice

__all__ = ["Replayed", "replay", "replays_of"]

DAY_MS = 86_400_000
TRIES = 5
LENGTHS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"})
"""The names under which the forms of requests say how many tokens an answer may have."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a replay.

    recorded: the answer of the run's own call; None where none came, and then `recorded_code` says why, if the trail
    does. answer: the one of now; None where `failure` came instead. same: whether the two say the same, in their text
    and in the tools and arguments of their calls; None without two of them. usage: what the replay used.
    """

    recorded: StoredAnswer | None
    recorded_code: str
    answer: StoredAnswer | None
    failure: ModelFailure | None
    same: bool | None
    usage: Usage


async def replay(
    installation: Installation, run: Run, snapshot: Snapshot, asked: Mapping[str, Any], by: str
) -> Replayed:
    """Send the request of a snapshot again, for the person `by`, and give what came of it. One attempt.

    `asked` is the body of the step that names the snapshot. What a replay may use is drawn from the scopes that reach
    the run, and nothing leaves before the step that names the snapshot is on disk (PS-1). Raises InterlockError:
    `prompt.other_model` when the role does not stand for the same model at the same address any more,
    `prompt.not_replayable`, `prompt.scope_stopped`, `prompt.over_budget`, `prompt.not_exact`, `prompt.not_sent`,
    those of an answer that is damaged, and those of a model that cannot be used.
    """
    return await _Replay(installation, run, snapshot, asked, by).made()


async def replays_of(installation: Installation, run: str, number: int) -> list[tuple[Step, Step | None]]:
    """Give the replays of a run's call, the oldest first: the step before each, and the one after it, if any."""
    steps: list[Step] = []
    while found := await installation.ledger.read(_stream(run), steps[-1].seq if steps else 0, TRAIL):
        steps += found
    after = {step.body["asked"]: step for step in steps if step.kind != "replay.asked"}
    asked = (step for step in steps if step.kind == "replay.asked" and step.body["n"] == number)
    return [(step, after.get(step.seq)) for step in asked]


def _stream(run: str) -> str:
    return f"replay_{run.removeprefix('run_')}"


class _Replay:
    def __init__(
        self,
        installation: Installation,
        run: Run,
        snapshot: Snapshot,
        asked: Mapping[str, Any],
        by: str,
    ) -> None:
        self._installation, self._run, self._by = installation, run, by
        self._request, self._about, self._asked = snapshot.request, snapshot.about, asked
        self._stream = _stream(run.id)
        self._drawn: dict[str, Usage] = {}
        self._seq = self._began = 0

    async def made(self) -> Replayed:
        model, choice = self._opened()
        await self._see_that_it_goes_on()
        recorded, code = await self._recorded()
        try:
            async with asyncio.timeout(None) as limit:

                async def before_send(parts: Sequence[bytes]) -> None:
                    wall = await self._record(parts, choice)
                    limit.reschedule(asyncio.get_running_loop().time() + wall / 1000)
                    self._installation.reach("replay.before_send")

                answer = await model.replay(self._request, before_send)
        except ModelFailure as failure:
            return await self._failed(failure, choice, recorded, code)
        except TimeoutError:
            return await self._failed(ModelFailure("timed_out", True), choice, recorded, code)
        self._installation.reach("replay.after_answer")
        return await self._answered(answer, recorded, code)

    def _opened(self) -> tuple[ReplayingModel, ModelChoice]:
        """Give the model of the role, if it is the one that the request left for."""
        role = self._asked["role"]
        model = self._installation.models.open(role)
        choice = self._installation.settings.models[role]
        was = [self._about.get(key) for key in ("provider", "model", "address")]
        now = [model.provider, model.model, choice.base_url]
        if was != now:
            raise InterlockError(
                "prompt.other_model",
                run=self._run.id,
                number=self._asked["n"],
                role=role,
                was=_named(was),
                now=_named(now),
            )
        if not isinstance(model, ReplayingModel):
            raise InterlockError("prompt.not_replayable", role=role, model=_named(now))
        return model, choice

    async def _see_that_it_goes_on(self) -> None:
        stopped = await self._installation.stopped()
        if self._installation.is_stopped(self._run.scope, stopped):
            scope = next(item for item in stopped if item.reaches(self._run.scope))
            raise InterlockError("prompt.scope_stopped", agent=self._run.agent, scope=scope)

    async def _recorded(self) -> tuple[StoredAnswer | None, str]:
        """Give what came of the call in the run: the answer, or the code of why none came."""
        steps = await self._installation.ledger.read(self._run.id, 0, TRAIL)
        found: Step | None = None
        last = False
        for step in steps:
            if step.kind == "model.asked":
                last = step.body == self._asked
                found = None if last else found
            elif last and step.kind in {"model.answered", "model.failed"}:
                found, last = step, False
        if found is None:
            return None, ""
        if found.kind == "model.failed":
            return None, str(found.body["code"])
        return await load_answer(self._installation.contents, found.body["answer"]), ""

    async def _record(self, parts: Sequence[bytes], choice: ModelChoice) -> int:
        """Draw what the call may use and write down that it is about to leave, in one append that is on disk then.
        Gives how long, in milliseconds, it may take."""
        if b"".join(parts) != self._request:
            raise InterlockError("prompt.not_exact", run=self._run.id, number=self._asked["n"])
        await self._see_that_it_goes_on()
        need = self._largest(choice)
        body = {
            "run": self._run.id,
            **{key: self._asked[key] for key in ("n", "snapshot", "bytes", "role")},
            "provider": self._about["provider"],
            "model": self._about["model"],
            "by": self._by,
        }
        for _ in range(TRIES):
            drawn, guards = await self._drawing(need)
            amounts = [{"subject": subject, "amount": amount.as_dict()} for subject, amount in drawn.items()]
            step = Draft("replay.asked", {**body, "drawn": amounts})
            outcome = await self._installation.ledger.append(
                (Write(self._stream, None, (step,)),), guards=guards
            )
            if isinstance(outcome, Appended):
                self._drawn, self._seq = drawn, outcome.heads[0].seq
                self._began = self._installation.clock.now()
                return min((amount.wall_ms for amount in drawn.values()), default=need.wall_ms)
        raise self._over_budget(next(iter(drawn), ""), next(iter(need.as_dict())))

    async def _drawing(self, need: Usage) -> tuple[dict[str, Usage], list[Row]]:
        """What is to be drawn from each scope that reaches the run, and the statements that do it. Of wall time no more
        than is left, and the call may take no longer then."""
        drawn: dict[str, Usage] = {}
        guards: list[Row] = []
        day = self._installation.clock.now() // DAY_MS
        for scope, limits in self._installation.settings.scope_budgets.items():
            if not Scope(scope).reaches(self._run.scope):
                continue
            subject = f"{scope} {day}"
            found = await self._installation.ledger.query("budget_of", subject)
            left = Budget(*found[0]) if found else limits
            wall = need.wall_ms if left.wall_ms is None else max(1, min(need.wall_ms, left.wall_ms))
            amount = replace(need, wall_ms=wall)
            if (exceeded := left.exceeded_by(amount)) is not None:
                raise self._over_budget(subject, exceeded)
            drawn[subject] = amount
            kept = (subject, limits.tool_calls, limits.tokens, limits.money, limits.wall_ms)
            guards += [Row("insert_budget", kept), draw(subject, amount)]
        return drawn, guards

    def _over_budget(self, subject: str, amount: str) -> InterlockError:
        why = Text("budget.scope_used_up", scope=subject.rpartition(" ")[0], amount=amount)
        return InterlockError("prompt.over_budget", run=self._run.id, number=self._asked["n"], why=why)

    def _largest(self, choice: ModelChoice) -> Usage:
        """The most that it may use: the answer may be as long as the request says, whatever the settings say now."""
        longest = max(choice.max_output_tokens, _longest_answer(self._request))
        usage = largest_usage(len(self._request), replace(choice, max_output_tokens=longest))
        return replace(usage, wall_ms=choice.timeout_ms)

    async def _answered(self, answer: Answer, recorded: StoredAnswer | None, code: str) -> Replayed:
        installation, run = self._installation, self._run
        # The ids that a provider gives to calls may be the same for two of them.
        calls = tuple(replace(call, id=f"call_{place}") for place, call in enumerate(answer.calls, 1))
        digest, stored, rows = await store_answer(
            installation.contents,
            run.company,
            Answer(answer.text, calls, answer.usage),
            installation.settings.sizes.answer,
        )
        same = None if recorded is None else _said(recorded) == _said(stored)
        usage = answer.usage + self._time()
        body = {
            "answer": digest,
            "labels": listed(run.labels),
            **({} if same is None else {"same": same}),
        }
        await self._close("replay.answered", body, usage, rows)
        return Replayed(recorded, code, stored, None, same, usage)

    async def _failed(
        self, failure: ModelFailure, choice: ModelChoice, recorded: StoredAnswer | None, code: str
    ) -> Replayed:
        if not self._seq:
            raise InterlockError(
                "prompt.not_sent", run=self._run.id, number=self._asked["n"], why=failure.code
            ) from None
        detail = self._installation.contents.keep(
            self._run.company, failure.detail.encode(errors="backslashreplace")
        )
        usage = lost_usage(failure, self._largest(choice)) + self._time()
        body = {"code": failure.code, "status": failure.status, "detail": detail.digest}
        await self._close("replay.failed", body, usage, [detail.row])
        return Replayed(recorded, code, None, failure, None, usage)

    def _time(self) -> Usage:
        return Usage(wall_ms=max(0, self._installation.clock.now() - self._began))

    async def _close(self, kind: str, body: dict[str, Any], usage: Usage, contents: list[ContentRow]) -> None:
        """Write down what came, and settle with the scopes."""
        step = Draft(kind, {"asked": self._seq, "n": self._asked["n"], **body, "usage": usage.as_dict()})
        rows = [row for subject, drawn in self._drawn.items() for row in settle(subject, drawn, usage)]
        await self._installation.ledger.append(
            (Write(self._stream, None, (step,)),), rows=rows, contents=contents
        )


def _said(answer: StoredAnswer) -> tuple[str, list[tuple[str, Any]]]:
    return answer.text, list(answer.proposed.values())


def _named(parts: Sequence[str | None]) -> str:
    return " ".join(part for part in parts if part)


def _longest_answer(data: bytes) -> int:
    """Give how many tokens the answer to a request may have; nought where its form does not say."""
    try:
        form = json.loads(data)
    except (ValueError, RecursionError):
        return 0
    if not isinstance(form, dict):
        return 0
    levels = (form, *(inner for inner in form.values() if isinstance(inner, dict)))
    found = (level.get(name) for level in levels for name in LENGTHS)
    return max((value for value in found if type(value) is int), default=0)
