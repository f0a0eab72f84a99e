"""A runner: takes one claimed run from where its trail stands to its end, move by move."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from interlock import canonical
from interlock.agent.spec import FINAL_ANSWER, Spec
from interlock.catalogue import Text
from interlock.connector.model.model import Answer
from interlock.errors import InterlockError
from interlock.gate.budget import Usage
from interlock.ledger.ledger import Refused, Row
from interlock.ledger.step import FORMAT
from interlock.perspective.answer import store_answer
from interlock.run.acknowledgement import acknowledged, adopt
from interlock.run.allowance import draw_for_call
from interlock.run.asking import Asking
from interlock.run.conversing import withheld
from interlock.run.door import Door
from interlock.run.ending import Ending
from interlock.run.finish import take_finish
from interlock.run.foreign import WAITING, Ended
from interlock.run.function_body import FunctionBody
from interlock.run.installation import Installation
from interlock.run.move import (
    Act,
    Ask,
    End,
    Finishing,
    Judge,
    Move,
    Receive,
    Rest,
    Wait,
    Working,
    ending,
    next_move,
)
from interlock.run.opening import Taker
from interlock.run.part import check_published
from interlock.run.platform_tools import FINISH
from interlock.run.recorder import Recorder
from interlock.run.run import OPEN, CallState, Run
from interlock.run.signal import Signals

__all__ = ["Runner"]

FAR_AHEAD = 1 << 62
"""When a run that waits is free to claim, unless it is woken: never."""


class Runner:
    """Runs one run. `taker` says, at its closing, who takes the listeners' runs that this opens."""

    def __init__(self, installation: Installation, run: Run, spec: Spec, taker: Callable[[], Taker]) -> None:
        self._installation, self.run, self._spec = installation, run, spec
        self._recorder = Recorder(installation, run)
        self._asking = Asking(installation, self._recorder, spec)
        self._door = Door(installation, self._recorder, spec, self._asking)
        self._signals = Signals(installation, self._recorder)
        self.ending = Ending(installation, self._recorder, spec, taker)

    async def go(self) -> Run:
        """Go on until the run is closed, or waits for others, and give its state.

        Raises `interlock.run.recorder.Lost` when another worker has it.
        """
        while not await self._stands_still():
            pass
        return self.run

    async def _stands_still(self) -> bool:
        """Go on until nothing is left to do now. False when somebody had something to say at the last moment."""
        if self.run.status == OPEN and not await self._received():
            return True
        if self._spec.function is not None:
            if not await self._go_function():
                return True
            return await self._parked()
        while not isinstance(move := await self._next(), Rest):
            if isinstance(move, Wait):
                return await self._parked()
            await self._make(move)
            await self._recorder.settle()
        return True

    async def _received(self) -> bool:
        """Acknowledge the hand-off that opened the run (MS-7). False when that comes too late: the run is closed, and
        nothing else changes."""
        if self.run.opening.get("format", 0) < FORMAT:
            await adopt(self._installation, self.run)
        outcome = await acknowledged(self._installation, self.run)
        if outcome is None:
            return True
        await self.ending.close("cancelled", outcome)
        return False

    async def _parked(self) -> bool:
        """Put the run aside, held by nobody, until somebody has something to say to it."""
        await self._recorder.flush()
        park = Row("park_lease", (FAR_AHEAD, self.run.id, self.run.fence), "signalled")
        outcome = await self._recorder.flush(rows=(park,))
        if isinstance(outcome, Refused):
            await self._signals.take()
            return False
        self._installation.reach("run.parked")
        return True

    async def _next(self) -> Move:
        """Signals are looked for before the run turns to the model, has an effect or finishes; in between, its
        moves are its own records."""
        move = self._wanted()
        match move:
            case Act(call) if self._door.repeatable(call.tool):
                return move
            case Ask(1) if self.run.fresh:
                return move
            case Ask() | Act() | Finishing() | Working() | Wait():
                return self._wanted() if await self._signals.take() else move
        return move

    def _wanted(self) -> Move:
        return next_move(self.run, self._installation.settings.corrections)

    async def _make(self, move: Move) -> None:
        match move:
            case Ask(number):
                await self._ask(number)
            case Judge(call):
                await self._judge(call)
            case Act(call):
                await self._door.act(call, *await self._door.judgement.proposed(call))
            case Receive(call):
                await self._door.receive(call)
            case Working(call):
                await self._door.working.go_on(call)
            case Finishing(call):
                await self._finishing(call)
            case End(status, reason):
                await self.ending.close(status, reason)

    # The model

    async def _ask(self, number: int) -> None:
        match await self._asking.ask(number):
            case Answer() as answer:
                await self._take_answer(number, answer)
            case End(status, reason):
                await self.ending.close(status, reason)

    async def _take_answer(self, number: int, answer: Answer) -> None:
        settings = self._installation.settings
        size = _size(answer)
        if size > settings.sizes.answer:
            reason = Text("run.answer_too_large", size=size, limit=settings.sizes.answer)
            await self.ending.close("failed", reason)
            return
        too_many = len(answer.calls) > settings.sizes.calls_per_answer
        taken = Answer(answer.text, (), answer.usage) if too_many else _with_own_ids(answer, number)
        contents, company = self._installation.contents, self.run.company
        digest, stored, rows = await store_answer(contents, company, taken, settings.sizes.answer)
        usage = answer.usage + Usage(wall_ms=self._recorder.elapsed())
        body = {
            "n": number,
            "answer": digest,
            "calls": [[call, self._door.known_name(name)] for call, (name, _) in stored.proposed.items()],
            "usage": usage.as_dict(),
        }
        self._recorder.note("model.answered", body, rows)
        self._door.judgement.remember(stored.proposed)
        if too_many:
            await self._refuse_calls(answer, settings.sizes.calls_per_answer)
        elif not stored.proposed:
            await self._take_text(answer.text)

    async def _refuse_calls(self, answer: Answer, limit: int) -> None:
        """Take none of an answer's calls when they are too many; what they were is kept with the step."""
        said = canonical.encode([[call.name, call.arguments] for call in answer.calls])
        kept = await self._installation.contents.keep_any(self.run.company, said)
        reason = Text("run.too_many_calls", count=len(answer.calls), limit=limit)
        self._recorder.note("model.noted", {"text": reason, "detail": kept.digest}, [kept.row])

    async def _take_text(self, text: str) -> None:
        """An answer without a call: the closing answer of an agent that declares no artifacts, else a mistake."""
        if text.strip() and not self._spec.exposed - {FINAL_ANSWER}:
            await self._finish_with({"summary": text}, None)
            return
        self._recorder.note(
            "model.noted", {"text": Text("prompt.call_finish" if text.strip() else "prompt.empty")}
        )

    # Calls

    async def _judge(self, call: CallState) -> None:
        if self._installation.settings.scope_budgets:
            reason = await draw_for_call(self._installation, self._recorder, call.tool)
            if reason is not None:
                await self.ending.close("exhausted", reason)
                return
        await self._door.judge(call, *await self._door.judgement.proposed(call))

    async def _finishing(self, call: CallState) -> None:
        others = [item for item in self.run.waiting if item.tool == FINISH and item is not call]
        if others:
            for item in (call, *others):
                if item.verdict is None:
                    await self._judge(item)
                if item.done is None and self.run.status == OPEN:
                    self._door.outcomes.fail(item, Text("prompt.finish_once"))
            return
        await self._finish_with((await self._door.judgement.proposed(call))[1], call)

    async def _finish_with(self, arguments: Any, call: CallState | None) -> None:
        if self.run.owes_a_report:
            await self._call_for_report(call)
            return
        if (
            "turn" in self.run.opening
            and (reason := await withheld(self._installation, self.run)) is not None
        ):
            await self.ending.close("refused", reason)
            return
        sizes = self._installation.settings.sizes
        try:
            finished = await take_finish(self._installation.contents, self.run, sizes, arguments)
            said = arguments.get("artifacts", {})
            await check_published(self._installation, self.run, self._door.judgement, finished, said)
        except InterlockError as error:
            reason = Text("run.finish_refused", code=error.code)
            if call is None and self._spec.function is None:
                # Only the summary can be at fault here, and its error names sizes and places, never the text.
                self._recorder.note("model.noted", {"text": Text(error.code, **error.params)})
            elif call is None:
                await self.ending.close("failed", reason, detail=str(error))
            else:
                self._door.outcomes.fail(call, reason, str(error))
            return
        await self.ending.close("finished", None, finished)

    async def _call_for_report(self, call: CallState | None) -> None:
        reason = Text("prompt.report_first")
        if call is not None:
            self._door.outcomes.fail(call, reason)
        elif self._spec.function is None:
            self._recorder.note("model.noted", {"text": reason})
        else:
            await self.ending.close("failed", Text("run.no_report"))

    # Function bodies

    async def _go_function(self) -> bool:
        """Call the function. True when it waits for others; else the run is closed."""
        await self._signals.take()
        end = ending(self.run, self._installation.settings.corrections)
        if isinstance(end, Rest):
            return False
        if isinstance(end, End):
            await self.ending.close(end.status, end.reason)
            return False
        body = FunctionBody(self._installation, self._recorder, self._door, self._spec, self._signals.take)
        try:
            finish = await body.go()
        except Ended as ended:
            if ended.status == WAITING:
                return True
            await self.ending.close(ended.status, ended.reason, detail=ended.detail)
            return False
        await self._finish_with(finish, None)
        return False


def _size(answer: Answer) -> int:
    texts = [answer.text, *(part for call in answer.calls for part in (call.name, call.arguments))]
    return sum(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")) for text in texts)


def _with_own_ids(answer: Answer, number: int) -> Answer:
    """Give the answer with call ids that are unique within the run, whatever the provider called them."""
    calls = tuple(replace(call, id=f"call_{number}_{index}") for index, call in enumerate(answer.calls))
    return replace(answer, calls=calls)
