"""Opposed: whether two statements say opposites, such as "open" and "closed", of what is else the same."""

from interlock.message.pair import KNOWN_PLACE, Pair, facing
from interlock.message.statement.opposite import Opposite
from interlock.message.statement.overlay import alike
from interlock.message.statement.statement import Statement

__all__ = ["opposed"]

SAME = 0.8
"""How alike what is left of two sentences must be; opposites of two things are common, so it must be nearly all."""
BESIDE_KNOWN = 0.3
"""How alike the words beside both must be where the sentences are known to be about one thing."""
BEFORE, AFTER = 2, 3
"""How many words before and after an opposite are beside it."""


def opposed(pair: Pair) -> tuple[Opposite, Opposite, float] | None:
    """Give the opposites that two statements say of one thing, and how surely; None if there are none, or if a
    negation turns one of them round."""
    one, two = pair.one, pair.two
    if one.negations or two.negations:
        return None
    best: tuple[Opposite, Opposite, float] | None = None
    for mine, other in facing(one, two):
        score = _likeness(pair, mine, other)
        if score and (best is None or score > best[2]):
            best = mine, other, score
    return best


def _likeness(pair: Pair, mine: Opposite, other: Opposite) -> float:
    """Give how surely two opposites are of one thing, or 0: what is left of both sentences is nearly the same, or,
    where they are known to be about one thing, what stands at once before or after both is."""
    if mine.state or pair.known:
        rest = pair.overlay(_without(pair.one, mine), _without(pair.two, other))
        if rest.even >= SAME:
            return rest.even
    if not pair.known:
        return 0.0
    before, after = _beside(pair.one, mine)
    other_before, other_after = _beside(pair.two, other)
    touching = any(
        alike(first[place], second[place])
        for first, second, place in ((before, other_before, -1), (after, other_after, 0))
        if first and second
    )
    near = pair.overlay([*before, *after], [*other_before, *other_after])
    return KNOWN_PLACE if touching and near.even >= BESIDE_KNOWN else 0.0


def _without(statement: Statement, item: Opposite) -> list[str]:
    return [word.stem for word in statement.frame if word.start != item.start]


def _beside(statement: Statement, item: Opposite) -> tuple[list[str], list[str]]:
    """Give the stems before an opposite and those after it."""
    before = [word.stem for word in statement.frame if word.end <= item.start]
    after = [word.stem for word in statement.frame if word.start >= item.end]
    return before[-BEFORE:], after[:AFTER]
