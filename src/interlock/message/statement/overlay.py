"""An overlay: two sentences laid over each other by the words that remain when values and small words are taken away.

A word that most findings have says little about what one of them is of, so words are weighed by how rare they are
among the findings compared.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz

from interlock.message.statement.glossary import MEANING
from interlock.message.statement.quantity import Quantity
from interlock.message.statement.statement import Statement

__all__ = ["EVEN", "KNOWN", "Overlay", "Weights", "alike", "overlay", "stems_of"]

LEAST = 0.05
"""The weight of a word that all findings have."""
FOREIGN = 0.4
"""What a word counts that is not in the glossary and is not found again in a text of the other language."""
MEASURE, MEASURED = "~", 0.5
"""What a measure begins with among the stems, and its weight beside a word's: many things are measured alike."""
KNOWN = frozenset(MEANING.values())
"""The stems that the glossary knows."""


class Weights:
    """How much each word says about what a finding is of: the less, the more of the findings have it."""

    __slots__ = ("_count", "_seen")

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._seen: Counter[str] = Counter()
        self._count = 0
        for statement in statements:
            self._seen.update(set(stems_of(statement)))
            self._count += 1

    def of(self, stem: str) -> float:
        """Give the weight of a stem: 1 for one that no more than two findings have, less for others.

        It is the usual inverse frequency, scaled to 1; two are not counted, since whatever a pair has alike two have.
        """
        most = MEASURED if stem.startswith(MEASURE) else 1.0
        if self._count < 2:
            return most
        return most * max(LEAST, 1 - math.log(max(self._seen[stem] - 1, 1)) / math.log(self._count + 1))


def stems_of(statement: Statement) -> list[str]:
    """Give the stems of the frame, and what each value of it measures, which is a word of it too."""
    stems = [word.stem for word in statement.frame]
    return stems + [_measure(item) for item in statement.quantities if item.dimension != "count"]


def _measure(quantity: Quantity) -> str:
    return (
        f"{MEASURE}{quantity.dimension.replace(f':{quantity.unit.currency}', '')} {quantity.counted}".strip()
    )


@dataclass(frozen=True, slots=True)
class Overlay:
    """Two frames laid over each other: which part of each, by weight, the other one has."""

    first: float
    second: float

    @property
    def smaller(self) -> float:
        """The part found of that frame of which more is found."""
        return max(self.first, self.second)

    @property
    def larger(self) -> float:
        """The part found of the other."""
        return min(self.first, self.second)

    @property
    def even(self) -> float:
        """The geometric mean of both parts: near 1 only if each has nearly all of the other."""
        return math.sqrt(self.first * self.second)


@lru_cache(maxsize=200_000)
def alike(first: str, second: str) -> bool:
    """Tell whether two stems are of one word: the same, a slip of spelling, or cognates of the two languages."""
    if first == second:
        return True
    short, long = sorted((first, second), key=len)
    if len(short) < 4 or short[0] != long[0] or not short.isalpha() or not long.isalpha():
        return False
    if long.startswith(short) and len(long) - len(short) <= 3:
        return True
    return fuzz.ratio(first, second) >= (80 if len(short) >= 5 else 88)


def overlay(first: Sequence[str], second: Sequence[str], weights: Weights, foreign: bool = False) -> Overlay:
    """Lay two lists of stems over each other. `foreign` says that they are of two languages: a word that is not found
    again may then be there in translation, and counts less against the two."""
    return Overlay(_found(first, second, weights, foreign), _found(second, first, weights, foreign))


def _found(stems: Sequence[str], others: Sequence[str], weights: Weights, foreign: bool = False) -> float:
    total = found = 0.0
    for stem in dict.fromkeys(stems):
        weight = weights.of(stem)
        if stem in others or any(alike(stem, other) for other in others):
            found += weight
        elif foreign and stem not in KNOWN:
            weight *= FOREIGN
        total += weight
    return found / total if total else 0.0


EVEN = Weights(())
"""The weights by which every word counts alike."""
