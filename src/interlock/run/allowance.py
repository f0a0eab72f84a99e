"""An allowance: what a run has drawn ahead from the budget of a scope for a day (GT-5).

A scope's budget is one row that all its runs share. A run draws more than its next call needs while much is
left, and no more than it needs when little is, so that the row is not hot and the limit is never passed.
"""

from collections.abc import Iterator

from interlock.catalogue import Text
from interlock.gate.budget import AMOUNTS, Budget, Usage
from interlock.ledger.ledger import Refused, Row
from interlock.run.installation import Installation
from interlock.run.opening import draw
from interlock.run.recorder import Recorder
from interlock.run.run import Run
from interlock.scope.scope import Scope

__all__ = ["draw_for", "unused_allowances"]

AHEAD = 8
"""A run draws up to this many times what it needs…"""
SHARE = 64
"""…but never more than this part of what is left."""
DAY_MS = 86_400_000


async def draw_for(installation: Installation, recorder: Recorder, need: Usage) -> Text | None:
    """Make sure that the run's allowances cover `need`, drawing from each scope that reaches it.

    Gives the reason when a scope's budget for the day does not suffice; nothing is drawn then.
    """
    run = recorder.run
    day = installation.clock.now() // DAY_MS
    for scope, limits in installation.settings.scope_budgets.items():
        if not Scope(scope).reaches(run.scope):
            continue
        short = _short(run, scope, need, limits)
        if short == Usage():
            continue
        subject = f"{scope} {day}"
        found = await installation.ledger.query("budget_of", subject)
        left = Budget(*found[0]) if found else limits
        if (amount := left.exceeded_by(short)) is not None:
            return Text("budget.scope_used_up", scope=scope, amount=amount)
        taken = _ahead(short, left)
        recorder.note("budget.drawn", {"subject": subject, "amount": taken.as_dict()})
        opened = Row(
            "insert_budget", (subject, limits.tool_calls, limits.tokens, limits.money, limits.wall_ms)
        )
        if isinstance(await recorder.flush(guards=(opened, draw(subject, taken))), Refused):
            recorder.take_back()
            run.drawn[subject] -= taken
            return Text("budget.scope_used_up", scope=scope, amount="")
    return None


def _drawn(run: Run, scope: str) -> Usage:
    total = Usage()
    for subject, amount in run.drawn.items():
        if subject.rpartition(" ")[0] == scope:
            total += amount
    return total


def _short(run: Run, scope: str, need: Usage, limits: Budget) -> Usage:
    """What the allowances of a scope lack for `need`, in the amounts that the scope limits at all."""
    lacking = run.usage + need - _drawn(run, scope)
    return Usage(
        **{
            name: max(0, getattr(lacking, name)) if getattr(limits, name) is not None else 0
            for name in AMOUNTS
        }
    )


def _ahead(short: Usage, left: Budget) -> Usage:
    amounts = {}
    for name in AMOUNTS:
        lacking, rest = getattr(short, name), getattr(left, name)
        amounts[name] = max(lacking, min(AHEAD * lacking, (rest or 0) // SHARE))
    return Usage(**amounts)


def unused_allowances(run: Run) -> Iterator[Row]:
    """Give back what a run drew from its scopes and did not use, to the day it was drawn from last."""
    for scope in sorted({subject.rpartition(" ")[0] for subject in run.drawn}):
        total = _drawn(run, scope)
        rest = Usage(*(max(0, getattr(total - run.usage, name)) for name in AMOUNTS))
        subjects = [subject for subject in run.drawn if subject.rpartition(" ")[0] == scope]
        newest = run.drawn[subjects[-1]]
        back = Usage(*(min(getattr(rest, name), getattr(newest, name)) for name in AMOUNTS))
        if back != Usage():
            yield draw(subjects[-1], Usage() - back)
