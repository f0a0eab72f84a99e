"""A move: what a run does next, a pure function of its state."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from interlock.catalogue import Text
from interlock.run.platform_tools import FINISH
from interlock.run.run import OPEN, CallState, Run

__all__ = [
    "Act",
    "Ask",
    "Doubt",
    "End",
    "Finishing",
    "Judge",
    "Move",
    "Rest",
    "ending",
    "move_of_call",
    "next_move",
]


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing is left to do: the run is closed."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model, for the `number`-th time in this run."""

    number: int


@dataclass(frozen=True, slots=True)
class Judge:
    """Put a proposed call before the Gate."""

    call: CallState


@dataclass(frozen=True, slots=True)
class Act:
    """Make an allowed call."""

    call: CallState


@dataclass(frozen=True, slots=True)
class Finishing:
    """Take in the finish that a body proposed and the Gate allowed."""

    call: CallState


@dataclass(frozen=True, slots=True)
class Doubt:
    """A call with an effect was allowed under an earlier claim and has no recorded result: it may have been
    made. It is not made again."""

    call: CallState


@dataclass(frozen=True, slots=True)
class End:
    """Close the run with a status other than finished, and the reason."""

    status: str
    reason: dict[str, Any]


Move = Rest | Ask | Judge | Act | Finishing | Doubt | End


def next_move(run: Run, corrections: int, repeatable: Callable[[str], bool]) -> Move:
    """Give the next move of a model loop.

    `corrections` is how many mistakes in a row a body is told about before its run ends (BI-3);
    `repeatable` tells of a tool's name whether its call may be made again when nobody recorded a result.
    A finish is taken after the other calls of its answer, so that none of their results is lost.
    """
    if (end := ending(run, corrections)) is not None:
        return end
    if not run.waiting:
        return Ask(run.answers + 1)
    call = next((item for item in run.waiting if item.tool != FINISH), run.waiting[0])
    return move_of_call(run, call, repeatable)


def ending(run: Run, corrections: int) -> Rest | End | None:
    """Tell whether a run is at its end, whatever its body would do next."""
    if run.status != OPEN:
        return Rest()
    if run.cancelled_by is not None:
        return End("cancelled", Text("run.cancelled", by=run.cancelled_by))
    if run.exhausted is not None:
        return End("exhausted", run.exhausted)
    if run.asked_for is not None:
        return End("refused", run.asked_for)
    if run.faults > corrections and run.last_fault is not None:
        return End(
            run.last_fault["status"], Text("run.gave_up", faults=run.faults, last=run.last_fault["text"])
        )
    return None


def move_of_call(
    run: Run, call: CallState, repeatable: Callable[[str], bool]
) -> Judge | Act | Finishing | Doubt:
    """Give the next move for one call that has no result yet."""
    if call.verdict is None:
        return Judge(call)
    if call.tool == FINISH:
        return Finishing(call)
    if call.fence != run.fence and not repeatable(call.tool):
        return Doubt(call)
    return Act(call)
