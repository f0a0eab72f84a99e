"""What moves amounts of a budget that several runs draw on: that of a root task, that of a scope for a day (GT-5)."""

from collections.abc import Iterator

from interlock.gate.budget import AMOUNTS, Budget, Usage
from interlock.ledger.ledger import Row

__all__ = ["charge", "draw", "give_back", "settle"]


def draw(subject: str, usage: Usage) -> Row:
    """Take amounts from a shared budget; the database refuses to go below nought."""
    return Row("draw_budget", (usage.tool_calls, usage.tokens, usage.money, usage.wall_ms, subject))


def charge(subject: str, usage: Usage) -> Row:
    """Take what was used already from a shared budget, as far as that much is left."""
    return Row("charge_budget", (usage.tool_calls, usage.tokens, usage.money, usage.wall_ms, subject))


def give_back(subject: str, budget: Budget, used: Usage) -> Row:
    """Give back what a run drew at its opening and did not use."""
    left = budget.left(used)
    return draw(subject, Usage() - Usage(**left.as_dict()))


def settle(subject: str, drawn: Usage, used: Usage) -> Iterator[Row]:
    """Give back what was drawn for one thing and not used; charge what it used beyond that."""
    back, beyond = (
        Usage(*(max(0, getattr(one, name) - getattr(other, name)) for name in AMOUNTS))
        for one, other in ((drawn, used), (used, drawn))
    )
    if back != Usage():
        yield draw(subject, Usage() - back)
    if beyond != Usage():
        yield charge(subject, beyond)
