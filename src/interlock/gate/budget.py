"""A budget: how many tool calls, tokens, how much money and time a run may still use (GT-5).

Amounts are whole numbers: calls, tokens, micro-units of the installation's currency, milliseconds. None
means that nobody set a limit.
"""

from dataclasses import dataclass
from typing import Self

__all__ = ["AMOUNTS", "Budget", "Usage"]

AMOUNTS = ("tool_calls", "tokens", "money", "wall_ms")
"""The names of the amounts, in their order."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used, or the largest estimate of what a call may use."""

    tool_calls: int = 0
    tokens: int = 0
    money: int = 0
    wall_ms: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.tool_calls + other.tool_calls,
            self.tokens + other.tokens,
            self.money + other.money,
            self.wall_ms + other.wall_ms,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return self + Usage(-other.tool_calls, -other.tokens, -other.money, -other.wall_ms)

    def as_dict(self) -> dict[str, int]:
        """Give the amounts that are not nought, by name."""
        return {name: value for name in AMOUNTS if (value := getattr(self, name))}


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a run or a task; what it does not name is not limited.

    tool_calls: how many calls. tokens: of models, in and out. money: micro-units of the currency.
    wall_ms: the time of active work, which waiting is not.
    """

    tool_calls: int | None = None
    tokens: int | None = None
    money: int | None = None
    wall_ms: int | None = None

    def exceeded_by(self, usage: Usage) -> str | None:
        """Give the name of the first amount by which `usage` passes this budget, or None."""
        if self.tool_calls is not None and usage.tool_calls > self.tool_calls:
            return "tool_calls"
        if self.tokens is not None and usage.tokens > self.tokens:
            return "tokens"
        if self.money is not None and usage.money > self.money:
            return "money"
        return "wall_ms" if self.wall_ms is not None and usage.wall_ms > self.wall_ms else None

    def narrowed(self, other: "Budget") -> "Budget":
        """Give the smaller limit of each amount."""
        return Budget(
            _smaller(self.tool_calls, other.tool_calls),
            _smaller(self.tokens, other.tokens),
            _smaller(self.money, other.money),
            _smaller(self.wall_ms, other.wall_ms),
        )

    def left(self, usage: Usage) -> "Budget":
        """Give what remains after `usage`; never below nought."""
        return Budget(
            _rest(self.tool_calls, usage.tool_calls),
            _rest(self.tokens, usage.tokens),
            _rest(self.money, usage.money),
            _rest(self.wall_ms, usage.wall_ms),
        )

    def share(self, among: int) -> "Budget":
        """Give an equal part, rounded down, of this budget for each of `among`, at least one."""
        return Budget(**{name: amount // among for name, amount in self.as_dict().items()})

    def as_dict(self) -> dict[str, int]:
        """Give the limits that are set, by name, as a step keeps them."""
        return {name: value for name in AMOUNTS if (value := getattr(self, name)) is not None}

    @classmethod
    def of(cls, amounts: dict[str, int]) -> Self:
        """Read the limits that a step kept."""
        return cls(**amounts)


def _smaller(mine: int | None, theirs: int | None) -> int | None:
    if mine is None or theirs is None:
        return theirs if mine is None else mine
    return min(mine, theirs)


def _rest(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(0, limit - used)
