"""A move: what a run does next, a pure function of its state."""

from dataclasses import dataclass
from typing import Any

from interlock.catalogue import Text
from interlock.run.platform_tools import FINISH, HAND_OVER
from interlock.run.run import OPEN, CallState, Run

__all__ = [
    "Act",
    "Ask",
    "End",
    "Finishing",
    "Judge",
    "Move",
    "Receive",
    "Rest",
    "Wait",
    "Working",
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
class Receive:
    """Take in the reply that a call waited for."""

    call: CallState


@dataclass(frozen=True, slots=True)
class Working:
    """Go on with the work graph that a call waits for."""

    call: CallState


@dataclass(frozen=True, slots=True)
class Wait:
    """All that is left waits for others: the run is put aside until somebody has something to say to it."""


@dataclass(frozen=True, slots=True)
class End:
    """Close the run with a status other than finished, and the reason."""

    status: str
    reason: dict[str, Any]


Move = Rest | Ask | Judge | Act | Finishing | Receive | Working | Wait | End

LAST = {HAND_OVER: 1, FINISH: 2}
"""What is taken after the other calls of its answer, so that none of their results is lost (F22)."""


def next_move(run: Run, corrections: int) -> Move:
    """Give the next move of a model loop.

    `corrections` is how many mistakes in a row a body is told about before its run ends (BI-3). A call that waits for
    others does not hold up those beside it.
    """
    if (end := ending(run, corrections)) is not None:
        return end
    if not (calls := run.open_calls):
        return Ask(run.answers + 1)
    calls = sorted(calls, key=lambda call: LAST.get(call.tool, 0))
    ordinary = [call for call in calls if call.tool not in LAST]
    moves = (move_of_call(run, call) for call in (ordinary or calls[:1]))
    return next((move for move in moves if not isinstance(move, Wait)), Wait())


def ending(run: Run, corrections: int) -> Rest | End | None:
    """Tell whether a run is at its end, whatever its body would do next."""
    if run.status != OPEN:
        return Rest()
    if run.cancelled_by is not None:
        return End("cancelled", Text("run.cancelled", by=run.cancelled_by))
    if run.disowned is not None or run.exhausted is not None:
        return End("cancelled", run.disowned) if run.disowned else End("exhausted", run.exhausted or {})
    if run.parted and not run.waiting:
        return End("finished", Text("run.handed_over"))
    if run.faults > corrections and run.last_fault is not None:
        gave_up = Text("run.gave_up", faults=run.faults, last=run.last_fault["text"])
        return End(run.last_fault["status"], gave_up)
    return None


def move_of_call(run: Run, call: CallState) -> Judge | Act | Finishing | Receive | Working | Wait:
    """Give the next move for one call that has no result yet."""
    if call.work:
        return Wait() if call.resting else Working(call)
    if call.message is not None:
        return Receive(call) if call.message in run.replies else Wait()
    if call.question is not None and call.question not in run.answered:
        return Wait()
    if call.verdict is None or call.verdict == "ask":
        return Judge(call)
    return Finishing(call) if call.tool == FINISH else Act(call)
