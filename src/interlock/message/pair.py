"""A pair: two statements laid over each other, and how surely a value of the one and one of the other are of one thing.

They are laid over each other as whole sentences first, then by what stands near each value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Generic, TypeVar

from interlock.message.statement.opposite import Opposite
from interlock.message.statement.overlay import Overlay, Weights, alike, overlay, stems_of
from interlock.message.statement.period import Period
from interlock.message.statement.quantity import Quantity
from interlock.message.statement.statement import Statement
from interlock.message.statement.word import stem_of

__all__ = ["KNOWN_PLACE", "Match", "Pair", "doubt", "facing", "matches", "paired"]

Value = TypeVar("Value", Quantity, Period)

COUNTED_APART = 0.1
"""What two counts lose in likeness when the words that follow them differ."""
PEOPLE = stem_of("people")
"""What may stand for employees, inhabitants or any others who are counted."""
OTHER_SENSE, FAR_APART = 0.17, 0.15
"""The same where only one speaks of a limit, a plan or a peak; and where one is many times the other."""
FAR = 20, 400
"""How many times so; each that is passed counts again."""
OTHER_RANK = 0.5
"""The same where one is of the first and the other of the second of a kind."""
SENSES = tuple(
    frozenset(map(stem_of, words.split()))
    for words in (
        "limit allowed permitted threshold",
        "planned expected forecast projected target proposed estimated previsto meta estimada",
        "peak maximum",
        "minimum",
        "net",
        "gross",
    )
)
KNOWN_PLACE = 0.6
"""How surely values after the same word are of one thing, if the sentences are known to be about one."""
JOINT = re.compile(r", | and | e ")
NEAR_WORDS = 5
"""How many words to each side of a value are near it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements laid over each other, and what is given for comparing them."""

    one: Statement
    two: Statement
    whole: Overlay
    weights: Weights
    rates: Mapping[str, Decimal]
    known: bool
    foreign: bool

    def overlay(self, first: Sequence[str], second: Sequence[str]) -> Overlay:
        """Lay some stems of the one over some of the other."""
        return overlay(first, second, self.weights, self.foreign)


def paired(
    one: Statement, two: Statement, weights: Weights, rates: Mapping[str, Decimal], known: bool
) -> Pair:
    """Lay two statements over each other. `known`: they are known to be about one thing."""
    foreign = one.language != two.language
    whole = overlay(stems_of(one), stems_of(two), weights, foreign)
    return Pair(one, two, whole, weights, rates, known, foreign)


@dataclass(frozen=True, slots=True)
class Match(Generic[Value]):
    """A value of each statement, what stands near each value, and how surely the two are of one thing."""

    first: Value
    second: Value
    near_first: Sequence[str]
    near_second: Sequence[str]
    likeness: float


def matches(pair: Pair, firsts: Sequence[Value], seconds: Sequence[Value]) -> Iterator[Match[Value]]:
    """Match each value of the one statement with each of the other."""
    several = max(len(firsts), len(seconds)) > 1
    near_seconds = [_near(pair.two, value.start, value.end) for value in seconds]
    for first in firsts:
        near_first = _near(pair.one, first.start, first.end)
        for second, near_second in zip(seconds, near_seconds, strict=True):
            beside = pair.overlay(near_first, near_second)
            score = _likeness(pair, first, second, beside, several)
            yield Match(first, second, near_first, near_second, score)


def _near(statement: Statement, start: int, end: int) -> list[str]:
    """Give the stems near a value, up to the quantities beside it: what lies beyond them is of those."""
    left = max((item.end for item in statement.quantities if item.end <= start), default=0)
    right = min(
        (item.start for item in statement.quantities if item.start >= end), default=len(statement.text)
    )
    if right < len(statement.text) and (joint := JOINT.search(statement.text, end, right)):
        right = joint.start()
    before = [word for word in statement.frame if left <= word.start and word.end <= start][-NEAR_WORDS:]
    after = [word for word in statement.frame if end <= word.start < right][:NEAR_WORDS]
    return [word.stem for word in (*before, *after)]


def _likeness(pair: Pair, first: Value, second: Value, beside: Overlay, several: bool) -> float:
    """Give how surely two values are of one thing: by the whole sentences, or because the one holds nearly all of the
    other and what is near fits, or, where a sentence says `several` such things, by what is near alone."""
    whole = pair.whole
    held = 0.9 * whole.smaller - 0.3 if beside.smaller >= 0.5 else 0.0
    score = max(whole.even, held, beside.even if several or pair.known else 0.0)
    if pair.known and any(
        alike(*words) for words in product(_places(pair.one, first), _places(pair.two, second))
    ):
        return max(score, KNOWN_PLACE)
    return score


def _places(statement: Statement, value: Value) -> list[str]:
    """Give the two words before a value, which most often say what it is of."""
    return [word.stem for word in statement.frame if word.end <= value.start][-2:]


def doubt(pair: Pair, mine: Quantity, other: Quantity) -> float:
    """Give what speaks against two quantities being of one thing: other things counted, a limit or a plan beside a
    fact, and numbers so far apart that they hardly measure the same."""
    nouns = {mine.counted, other.counted} - {"", PEOPLE}
    apart = len(nouns) == 2 and not alike(*nouns)
    stems = [{word.stem for word in statement.frame} for statement in (pair.one, pair.two)]
    against = COUNTED_APART if apart else 0.0
    against += OTHER_RANK if _ranks_differ(pair) or _choices_differ(pair) else 0.0
    against += sum(OTHER_SENSE for sense in SENSES if bool(sense & stems[0]) != bool(sense & stems[1]))
    sizes = sorted(abs(item.high or item.low or Decimal(0)) for item in (mine, other))
    return against + sum(FAR_APART for times in FAR if sizes[1] > times * sizes[0])


def facing(one: Statement, two: Statement) -> list[tuple[Opposite, Opposite]]:
    """Give each word of the one whose counterpart the other has, with that counterpart."""
    both = product(one.opposites, two.opposites)
    return [(mine, other) for mine, other in both if mine.number == other.number and mine.side != other.side]


def _choices_differ(pair: Pair) -> bool:
    """Tell whether opposites pick out two things, "the north station" and "the south station"."""
    return not pair.known and any(not mine.state for mine, _ in facing(pair.one, pair.two))


def _ranks_differ(pair: Pair) -> bool:
    both = product(pair.one.ranks, pair.two.ranks)
    return any(one.low != two.low and alike(one.counted, two.counted) for one, two in both)
