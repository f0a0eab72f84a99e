"""An allowance: what a run has drawn ahead from the budget of a scope for a day (GT-5).

A scope's budget is one row that all its runs share. A run draws more than its next call needs while much is
left, and no more than it needs when little is, so that the row is not hot and the limit is never passed.
"""

from collections.abc import Iterator
from dataclasses import replace

from interlock.catalogue import Text
from interlock.gate.budget import AMOUNTS, Budget, Usage
from interlock.ledger.ledger import Refused, Row
from interlock.ledger.step import Draft
from interlock.run.installation import Installation
from interlock.run.platform_tools import FINISH
from interlock.run.recorder import Recorder
from interlock.run.run import Run
from interlock.run.shared_budget import charge, draw
from interlock.scope.scope import Scope

__all__ = ["draw_for", "draw_for_call", "settled_allowances"]

AHEAD = 8
"""A run draws up to this many times what it needs…"""
SHARE = 64
"""…but never more than this part of what is left."""
DAY_MS = 86_400_000
SHORTEST_MS = 1
"""The least wall time that a call can be made with."""
TRIES = 5


async def draw_for_call(installation: Installation, recorder: Recorder, name: str) -> Text | None:
    """Make sure that the scopes can pay for a call of the tool `name`, as long as it may take; see `draw_for`.

    A finish uses nothing, and what led to it is spent.
    """
    if name == FINISH:
        return None
    bound = installation.tools.get(name)
    longest = SHORTEST_MS if bound is None else bound.declaration.timeout_ms
    return await draw_for(installation, recorder, Usage(tool_calls=1, wall_ms=longest))


async def draw_for(installation: Installation, recorder: Recorder, need: Usage) -> Text | None:
    """Make sure that the run's allowances cover `need`, drawing from each scope that reaches it.

    Of wall time, `need` names the longest that a call may take. Less is drawn when the run or the scope has less,
    and the call may take no longer then (`Run.time_left`). Gives the reason when a scope's budget for the day does
    not suffice; nothing is drawn from it then.
    """
    day = installation.clock.now() // DAY_MS
    for scope, limits in installation.settings.scope_budgets.items():
        if not Scope(scope).reaches(recorder.run.scope):
            continue
        reason = await _draw_from(installation, recorder, f"{scope} {day}", limits, need)
        if reason is not None:
            return reason
    return None


async def _draw_from(
    installation: Installation, recorder: Recorder, subject: str, limits: Budget, need: Usage
) -> Text | None:
    """Another run may take what was seen to be left; then what is left is read anew."""
    run, scope = recorder.run, subject.rpartition(" ")[0]
    amount = ""
    for _ in range(TRIES):
        wanted = _lacking(run, scope, need, limits)
        if wanted == Usage():
            return None
        found = await installation.ledger.query("budget_of", subject)
        left = Budget(*found[0]) if found else limits
        short = _within(run, scope, wanted, left)
        if short == Usage():
            return None
        if (exceeded := left.exceeded_by(short)) is not None:
            return Text("budget.scope_used_up", scope=scope, amount=exceeded)
        taken = _ahead(short, left)
        drawn = Draft("budget.drawn", {"subject": subject, "amount": taken.as_dict()})
        opened = Row(
            "insert_budget", (subject, limits.tool_calls, limits.tokens, limits.money, limits.wall_ms)
        )
        guards = (opened, draw(subject, taken))
        if not isinstance(await recorder.flush(then=(drawn,), guards=guards), Refused):
            return None
        amount = next(iter(short.as_dict()))
    return Text("budget.scope_used_up", scope=scope, amount=amount)


def _unused(run: Run, scope: str) -> Usage:
    """What is left of a scope's allowance; below nought where more was used than drawn."""
    return run.allowances().get(scope, Usage()) - run.usage


def _lacking(run: Run, scope: str, need: Usage, limits: Budget) -> Usage:
    """What the allowance of a scope lacks for `need`, in the amounts that the scope limits at all."""
    own = run.budget.left(run.usage).wall_ms
    longest = need.wall_ms if own is None else min(need.wall_ms, max(SHORTEST_MS, own))
    lacking = replace(need, wall_ms=longest) - _unused(run, scope)
    return Usage(
        **{
            name: max(0, getattr(lacking, name)) if getattr(limits, name) is not None else 0
            for name in AMOUNTS
        }
    )


def _within(run: Run, scope: str, lacking: Usage, left: Budget) -> Usage:
    """What is to be drawn: of wall time no more than is left, but so much that a call is possible at all."""
    least = max(0, SHORTEST_MS - _unused(run, scope).wall_ms)
    wall = min(lacking.wall_ms, max(least, left.wall_ms or 0))
    return replace(lacking, wall_ms=wall)


def _ahead(short: Usage, left: Budget) -> Usage:
    amounts = {}
    for name in AMOUNTS:
        lacking, rest = getattr(short, name), getattr(left, name)
        amounts[name] = max(lacking, min(AHEAD * lacking, (rest or 0) // SHARE))
    return Usage(**amounts)


def settled_allowances(run: Run) -> Iterator[Row]:
    """Settle with the scopes that a run drew from, on the day it was drawn from last: what it did not use goes
    back, and what it used beyond what was drawn is charged."""
    for scope in sorted(run.allowances()):
        unused = _unused(run, scope)
        newest = [subject for subject in run.drawn if subject.rpartition(" ")[0] == scope][-1]
        drawn = run.drawn[newest]
        back = Usage(*(min(max(0, getattr(unused, name)), getattr(drawn, name)) for name in AMOUNTS))
        beyond = Usage(*(max(0, -getattr(unused, name)) for name in AMOUNTS))
        if back != Usage():
            yield draw(newest, Usage() - back)
        if beyond != Usage():
            yield charge(newest, beyond)
