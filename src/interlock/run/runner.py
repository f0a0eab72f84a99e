"""A runner: takes one claimed run from where its trail stands to its end, move by move."""

import asyncio
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from interlock.agent.spec import FINAL_ANSWER, Spec
from interlock.catalogue import Text
from interlock.connector.model.model import Answer, ModelFailure
from interlock.errors import InterlockError
from interlock.gate.budget import Usage
from interlock.ledger.ledger import Refused, Row
from interlock.ledger.step import Head
from interlock.perspective.answer import load_answer, store_answer
from interlock.perspective.resolver import Resolver
from interlock.perspective.snapshot import SnapshotKeeper
from interlock.run.allowance import draw_for
from interlock.run.closing import Published, closing_rows, publish_events, returned_budget
from interlock.run.door import Door
from interlock.run.finish import Finished, take_finish
from interlock.run.function_body import Ended, FunctionBody
from interlock.run.installation import Installation
from interlock.run.move import Act, Ask, Doubt, End, Finishing, Judge, Move, Rest, ending, next_move
from interlock.run.opening import Opener, Opening
from interlock.run.platform_tools import FINISH
from interlock.run.recorder import Recorder
from interlock.run.run import OPEN, CallState, Run
from interlock.settings import ModelChoice

__all__ = ["Runner"]

FIRST_WAIT_MS, LONGEST_WAIT_MS = 500, 60_000
CLOSING_TRIES = 5


class Runner:
    """Runs one run. `opener` says, at its closing, who takes the listeners' runs that this opens."""

    def __init__(
        self, installation: Installation, run: Run, spec: Spec, opener: Callable[[], Opener]
    ) -> None:
        self._installation, self.run, self._spec, self._opener = installation, run, spec, opener
        self._recorder = Recorder(installation, run)
        self._door = Door(installation, self._recorder, spec)
        self._snapshots = SnapshotKeeper(installation.contents, run.company)
        self._resolver = self._resolver_of()
        self._proposed: dict[str, tuple[str, Any]] = {}
        self.opened: list[tuple[Opening, Head]] = []

    def _resolver_of(self) -> Resolver:
        installation, run = self._installation, self.run
        settings = installation.settings
        static = installation.prompt_head(self._spec, run.version, "event" in run.opening)
        return Resolver(installation.contents, run.agent, *static, settings.sizes.shown, settings.language)

    async def go(self) -> Run:
        """Go on until the run is closed, and give its state.

        Raises `interlock.run.recorder.Lost` when another worker has it.
        """
        if self._spec.function is not None:
            await self._go_function()
            return self.run
        while not isinstance(move := await self._next(), Rest):
            await self._make(move)
            await self._recorder.settle()
        return self.run

    async def _next(self) -> Move:
        """Signals are looked for before the run turns to the model, has an effect or finishes; in between, its
        moves are its own records."""
        move = self._wanted()
        match move:
            case Act(call) if self._door.repeatable(call.tool):
                return move
            case Ask(1) if self.run.fresh:
                return move
            case Ask() | Act() | Finishing():
                return self._wanted() if await self._take_signals() else move
        return move

    def _wanted(self) -> Move:
        return next_move(self.run, self._installation.settings.corrections, self._door.repeatable)

    async def _make(self, move: Move) -> None:
        match move:
            case Ask(number):
                await self._ask(number)
            case Judge(call):
                await self._judge(call)
            case Act(call):
                await self._door.act(call, *await self._proposed_by(call))
            case Finishing(call):
                await self._finishing(call)
            case Doubt(call):
                await self.close("failed", Text("run.in_doubt", tool=call.tool, call=call.id))
            case End(status, reason):
                await self.close(status, reason)

    # What others have to say

    async def _take_signals(self) -> bool:
        signals = await self._installation.ledger.query("signals_of_run", self.run.id)
        for name, kind, text in signals:
            self._recorder.note("signal.taken", {"id": name, "signal": kind, "by": text})
            await self._recorder.flush(rows=(Row("take_signal", (self.run.id, name)),))
        return bool(signals)

    # The model

    async def _ask(self, number: int) -> None:
        model = self._installation.models.open(self._spec.model)
        choice = self._installation.settings.models[self._spec.model]
        request = await self._resolver.resolve(
            number, self.run.opening, self.run.entries, choice.max_output_tokens
        )

        async def before_send(parts: Sequence[bytes]) -> None:
            size = sum(map(len, parts))
            await self._reserve(_largest(size, choice))
            about = self._about(number, model.provider, model.model)
            digest, size, rows = await self._snapshots.keep(about, parts)
            asked = {"n": number, "snapshot": digest, "bytes": size, "role": self._spec.model}
            self._recorder.note("model.asked", asked, rows)
            await self._recorder.flush()
            self._installation.reach("model.before_send")

        try:
            async with asyncio.timeout(self._timeout_ms(choice) / 1000):
                answer = await model.ask(request, before_send)
        except ModelFailure as failure:
            await self._failed(number, failure, choice.attempts)
        except TimeoutError:
            await self._failed(number, ModelFailure("timed_out", True), choice.attempts)
        except _ExhaustedError as used_up:
            await self.close("exhausted", used_up.reason)
        else:
            self._installation.reach("model.after_answer")
            await self._take_answer(number, answer)

    def _timeout_ms(self, choice: ModelChoice) -> int:
        return self.run.time_left(choice.timeout_ms)

    async def _reserve(self, estimate: Usage) -> None:
        """See that run and scopes can pay for the largest estimate of a call, before it is made."""
        amount = self.run.budget.exceeded_by(self.run.usage + estimate)
        if amount is not None:
            raise _ExhaustedError(Text("budget.run_used_up", amount=amount))
        if self._installation.settings.scope_budgets:
            reason = await draw_for(self._installation, self._recorder, estimate)
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
        }

    async def _failed(self, number: int, failure: ModelFailure, attempts: int) -> None:
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
            "usage": Usage(wall_ms=self._recorder.elapsed()).as_dict(),
        }
        self._recorder.note("model.failed", body, [detail.row])
        if not again:
            reason = Text("run.model_failed", code=failure.code, attempts=run.attempts, role=self._spec.model)
            await self.close("failed", reason)
            return
        await self._recorder.flush()
        await self._installation.clock.sleep(wait / 1000)
        self._recorder.rest()

    def _wait_ms(self, failure: ModelFailure) -> int:
        """Exponential back-off with full jitter above a floor, and never less than the provider asked for."""
        longest = min(LONGEST_WAIT_MS, FIRST_WAIT_MS << min(self.run.attempts, 16))
        chance = int.from_bytes(self._installation.clock.random_bytes(2)) / 65535
        return max(failure.wait_ms or 0, int(longest * (0.5 + chance / 2)))

    async def _take_answer(self, number: int, answer: Answer) -> None:
        settings = self._installation.settings
        size = _size(answer)
        if size > settings.sizes.answer:
            reason = Text("run.answer_too_large", size=size, limit=settings.sizes.answer)
            await self.close("failed", reason)
            return
        digest, stored, rows = await store_answer(
            self._installation.contents,
            self.run.company,
            _with_own_ids(answer, number),
            settings.sizes.answer,
        )
        usage = answer.usage + Usage(wall_ms=self._recorder.elapsed())
        body = {
            "n": number,
            "answer": digest,
            "calls": [[call, self._door.known_name(name)] for call, (name, _) in stored.proposed.items()],
            "usage": usage.as_dict(),
        }
        self._recorder.note("model.answered", body, rows)
        self._proposed.update(stored.proposed)
        if not stored.proposed:
            await self._take_text(answer.text)

    async def _take_text(self, text: str) -> None:
        """An answer without a call: the closing answer of an agent that declares no artifacts, else a mistake."""
        if text.strip() and not self._spec.exposed - {FINAL_ANSWER}:
            await self._finish_with({"summary": text}, None)
            return
        self._recorder.note(
            "model.noted", {"text": Text("prompt.call_finish" if text.strip() else "prompt.empty")}
        )

    # Calls

    async def _proposed_by(self, call: CallState) -> tuple[str, Any]:
        """Give the tool's name and the arguments of a call, as the model wrote them."""
        if call.id not in self._proposed:
            answers = [entry.content for entry in self.run.entries if entry.kind == "answer"]
            stored = await load_answer(self._installation.contents, answers[call.answer - 1] or "")
            self._proposed.update(stored.proposed)
        return self._proposed[call.id]

    async def _judge(self, call: CallState) -> None:
        if self._installation.settings.scope_budgets:
            reason = await draw_for(self._installation, self._recorder, Usage(tool_calls=1))
            if reason is not None:
                await self.close("exhausted", reason)
                return
        await self._door.judge(call, *await self._proposed_by(call))

    async def _finishing(self, call: CallState) -> None:
        others = [item for item in self.run.waiting if item.tool == FINISH and item is not call]
        if others:
            for item in (call, *others):
                if item.verdict is None:
                    await self._judge(item)
                if item.done is None and self.run.status == OPEN:
                    self._door.outcomes.fail(item, Text("prompt.finish_once"))
            return
        await self._finish_with((await self._proposed_by(call))[1], call)

    async def _finish_with(self, arguments: Any, call: CallState | None) -> None:
        sizes = self._installation.settings.sizes
        try:
            finished = await take_finish(self._installation.contents, self.run, sizes, arguments)
        except InterlockError as error:
            reason = Text("run.finish_refused", code=error.code)
            if call is None and self._spec.function is None:
                # Only the summary can be at fault here, and its error names sizes and places, never the text.
                self._recorder.note("model.noted", {"text": Text(error.code, **error.params)})
            elif call is None:
                await self.close("failed", reason, detail=str(error))
            else:
                self._door.outcomes.fail(call, reason, str(error))
            return
        await self.close("finished", None, finished)

    # Function bodies

    async def _go_function(self) -> None:
        await self._take_signals()
        end = ending(self.run, self._installation.settings.corrections)
        if isinstance(end, Rest):
            return
        if isinstance(end, End):
            await self.close(end.status, end.reason)
            return
        body = FunctionBody(self._installation, self._recorder, self._door, self._spec, self._take_signals)
        try:
            finish = await body.go()
        except Ended as ended:
            await self.close(ended.status, ended.reason, detail=ended.detail)
            return
        await self._finish_with(finish, None)

    # The end

    async def broke(self, kind: str, error: BaseException) -> None:
        """Close a run that could not go on for a reason in the platform itself, which is kept in full."""
        self._recorder.forget()
        detail = "".join(traceback.format_exception(error))
        await self.close("failed", Text("run.broke", kind=kind), detail=detail)

    async def close(
        self, status: str, reason: dict[str, Any] | None, finished: Finished | None = None, detail: str = ""
    ) -> None:
        """Write the closing step, and with it the runs that the events open, in one transaction."""
        finished = finished or Finished()
        self._installation.reach("run.before_close")
        at_once = self._installation.settings.listeners_at_once
        refused = ""
        for _ in range(CLOSING_TRIES):
            published = await self._published(status, finished, at_once)
            self._recorder.note("run.closed", self._closing_body(status, reason, finished, published, detail))
            outcome = await self._recorder.flush(
                writes=published.writes,
                guards=(*returned_budget(self.run), *published.guards),
                rows=closing_rows(self.run, published.owed),
                contents=(*finished.contents, *published.contents),
                durable=False,
            )
            if not isinstance(outcome, Refused):
                self.opened = list(zip(published.openings, outcome.heads[1:], strict=True))
                self._installation.reach("run.after_close")
                return
            refused = outcome.constraint
            self._recorder.take_back()
        raise InterlockError("run.not_closed", run=self.run.id, constraint=refused)

    async def _published(self, status: str, finished: Finished, at_once: int) -> Published:
        if status != "finished" or not self._spec.emits:
            return Published()
        artifacts = {**self.run.artifacts, **finished.artifacts}
        return await publish_events(
            self._installation, self.run, self._spec, artifacts, self._opener(), at_once
        )

    def _closing_body(
        self,
        status: str,
        reason: dict[str, Any] | None,
        finished: Finished,
        published: Published,
        detail: str,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"status": status, "usage": self.run.usage.as_dict()}
        if reason is not None:
            body["reason"] = reason
        if detail:
            kept = self._installation.contents.keep(
                self.run.company, detail.encode(errors="backslashreplace")
            )
            finished.contents.append(kept.row)
            body["detail"] = kept.digest
        if finished.artifacts:
            body["artifacts"] = list(finished.artifacts.values())
        if finished.not_done is not None:
            body["texts"] = finished.not_done
        if status != "finished":
            body["not_done"] = self._not_done()
        if published.events:
            body["events"] = published.events
        if published.chain is not None:
            body["chain"] = published.chain
        return body

    def _not_done(self) -> list[dict[str, Any]]:
        """What was asked and not achieved, in the platform's words: the brief, and each call left over."""
        exposed = sorted(self._spec.exposed - set(self.run.artifacts))
        found: list[dict[str, Any]] = [Text("run.not_finished", agent=self.run.agent)]
        found += [Text("run.artifact_not_made", name=name) for name in exposed]
        left_over = dict.fromkeys(call.tool for call in self.run.waiting)
        found += [Text("run.call_not_made", tool=tool) for tool in left_over]
        return found


class _ExhaustedError(Exception):
    def __init__(self, reason: Text) -> None:
        self.reason = reason


def _size(answer: Answer) -> int:
    texts = [answer.text, *(part for call in answer.calls for part in (call.name, call.arguments))]
    return sum(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")) for text in texts)


def _largest(size: int, choice: ModelChoice) -> Usage:
    """The most that a call with a request of `size` bytes may use: a token is at least two bytes, and the answer
    as long as it may be."""
    taken, given = size // 2, choice.max_output_tokens
    money = -(-(taken * choice.price_in + given * choice.price_out) // 1_000_000)
    return Usage(tokens=taken + given, money=money, wall_ms=1)


def _with_own_ids(answer: Answer, number: int) -> Answer:
    """Give the answer with call ids that are unique within the run, whatever the provider called them."""
    calls = tuple(replace(call, id=f"call_{number}_{index}") for index, call in enumerate(answer.calls))
    return replace(answer, calls=calls)
