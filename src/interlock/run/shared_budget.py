"""What moves amounts of a budget that several runs draw on: that of a root task, that of a scope for a day (GT-5)."""

from interlock.gate.budget import Budget, Usage
from interlock.ledger.ledger import Row

__all__ = ["charge", "draw", "give_back"]


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
