"""A comparison: whether two findings are about the same thing, and if so whether both can be true.

Two findings are laid over each other by the words that remain when values, negations and small words are taken
away: first the whole sentences, then what stands near each value. A word that most findings have says little
about what one is of, so words are weighed by how rare they are among the findings compared.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import product
from typing import Literal

from rapidfuzz import fuzz

from interlock.catalogue import Text
from interlock.message.result import Finding
from interlock.message.statement.name import Name, same_name
from interlock.message.statement.period import Period, agree_in_time
from interlock.message.statement.quantity import Quantity, agrees, comparable
from interlock.message.statement.statement import Statement, read_statement
from interlock.message.statement.word import is_plain, words_of

__all__ = [
    "Comparison",
    "Kind",
    "Overlay",
    "Weights",
    "alike",
    "compare",
    "overlay",
    "same_key",
    "same_value",
    "weights_of",
]

Kind = Literal["quantity", "date", "negation", "name", "value"]
Outcome = Literal["conflict", "agree", "unrelated"]

FRAME = 0.55
"""How much of the shorter frame, by weight, must be found in the other one for the two to be about one thing."""
NEAR = 0.35
"""How much of what stands near a value must stand near the other."""
NEAR_WORDS = 5
"""How many words to each side of a value are near it."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two findings stand to each other. `values` are what they say, `kind` in what they differ or agree, `score`
    from 0 to 1 how surely they are about the same thing."""

    outcome: Outcome
    kind: Kind | None = None
    values: tuple[str, str] = ("", "")
    score: float = 0.0
    note: Text | None = None


class Weights:
    """How much each word says about what a finding is of: the less, the more of the findings have it."""

    __slots__ = ("_count", "_seen")

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._seen: Counter[str] = Counter()
        self._count = 0
        for statement in statements:
            self._seen.update({word.stem for word in statement.frame})
            self._count += 1

    def of(self, stem: str) -> float:
        """Give the weight of a stem: 1 for one that a single finding has, less for others."""
        if self._count < 2:
            return 1.0
        return max(0.05, 1 - math.log(max(self._seen[stem], 1)) / math.log(self._count + 1))


def weights_of(findings: Iterable[Finding]) -> Weights:
    """Give the weights of the words of some findings, each text once."""
    return Weights(read_statement(text) for text in sorted({finding.text for finding in findings}))


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


def overlay(first: Sequence[str], second: Sequence[str], weights: Weights) -> Overlay:
    """Lay two lists of stems over each other."""
    return Overlay(_found(first, second, weights), _found(second, first, weights))


def _found(stems: Sequence[str], others: Sequence[str], weights: Weights) -> float:
    total = found = 0.0
    for stem in dict.fromkeys(stems):
        weight = weights.of(stem)
        total += weight
        if any(alike(stem, other) for other in others):
            found += weight
    return found / total if total else 0.0


def compare(
    first: Finding, second: Finding, weights: Weights, rates: Mapping[str, Decimal] | None = None
) -> Comparison:
    """Compare two findings; the order of the two does not matter but for that of the values.

    `rates` gives by currency what one unit of it is worth in one common currency; amounts of money in two currencies
    of which one has no rate are never a conflict, and the note says so.
    """
    rates = rates or {}
    if _keyed(first) and _keyed(second) and same_key(first, second):
        return _by_value(first, second, rates)
    one, two = _statement(first), _statement(second)
    whole = overlay(_stems(one), _stems(two), weights)
    checks = (_negated, _measured, _dated, _named)
    found = [outcome for check in checks if (outcome := check(one, two, whole, weights, rates)) is not None]
    ranked = [
        item for outcome in ("conflict", "agree", "unrelated") for item in found if item.outcome == outcome
    ]
    return ranked[0] if ranked else Comparison("unrelated")


def _keyed(finding: Finding) -> bool:
    return bool(finding.attribute and finding.value)


def same_key(first: Finding, second: Finding) -> bool:
    """Tell whether two findings name the same subject and attribute, apart from their texts."""
    return all(_same_words(getattr(first, name), getattr(second, name)) for name in ("subject", "attribute"))


def _same_words(first: str, second: str) -> bool:
    """Tell whether two names of a subject or an attribute have the same words, as far as stems go."""
    one, two = (
        [word.stem for word in words_of(text) if not is_plain(word.plain)] for text in (first, second)
    )
    every = all(any(alike(stem, other) for other in two) for stem in one)
    return every and all(any(alike(stem, other) for other in one) for stem in two)


def same_value(first: Finding, second: Finding) -> bool:
    """Tell whether the values that two findings give apart from their texts are the same, once read."""
    one, two = (read_statement(finding.value) for finding in (first, second))
    if one.quantities or two.quantities or one.periods or two.periods:
        return one.signature == two.signature
    return _same_words(first.value, second.value)


def _by_value(first: Finding, second: Finding, rates: Mapping[str, Decimal]) -> Comparison:
    """Compare two values that were given apart from the text, for one subject and attribute."""
    one, two = read_statement(first.value), read_statement(second.value)
    values = first.value, second.value
    for kind, mine, others in (
        ("quantity", one.quantities, two.quantities),
        ("date", one.periods, two.periods),
    ):
        if mine and others:
            return _of_values(kind, mine[0], others[0], values, rates)  # type: ignore[arg-type]
    if bool(one.negations) != bool(two.negations):
        return Comparison("conflict", "negation", values, 1.0)
    if _same_words(first.value, second.value):
        return Comparison("agree", "value", values, 1.0)
    names = one.names and two.names and any(same_name(a, b) for a in one.names for b in two.names)
    return Comparison("agree" if names else "conflict", "name" if names else "value", values, 1.0)


def _of_values(
    kind: Kind,
    one: Quantity | Period,
    two: Quantity | Period,
    values: tuple[str, str],
    rates: Mapping[str, Decimal],
) -> Comparison:
    if isinstance(one, Period) and isinstance(two, Period):
        return Comparison("agree" if agree_in_time(one, two) else "conflict", kind, values, 1.0)
    if isinstance(one, Quantity) and isinstance(two, Quantity):
        if not comparable(one, two, rates):
            return _incomparable(one, two, values)
        return Comparison("agree" if agrees(one, two, rates) else "conflict", kind, values, 1.0)
    return Comparison("unrelated")


def _incomparable(one: Quantity, two: Quantity, values: tuple[str, str]) -> Comparison:
    note = None
    if one.unit.is_money and two.unit.is_money:
        note = Text("conflict.no_rate", currencies=sorted({one.unit.currency, two.unit.currency}))
    return Comparison("unrelated", "quantity", values, 0.0, note)


def _statement(finding: Finding) -> Statement:
    extra = [text for text in (finding.subject, finding.attribute) if text and text not in finding.text]
    return read_statement(" – ".join([*extra, finding.text]))


def _stems(statement: Statement) -> list[str]:
    """Give the stems of the frame, and what each value of it measures, which is a word of it too."""
    stems = [word.stem for word in statement.frame]
    stems += [
        f"{item.dimension} {item.counted}".strip()
        for item in statement.quantities
        if item.dimension != "count"
    ]
    return stems


def _near(statement: Statement, start: int, end: int, without: tuple[int, int] = (0, 0)) -> list[str]:
    """Give the stems near a place, the next ones first; those of `without` are left out."""
    words = [word for word in statement.frame if not (without[0] <= word.start < without[1])]
    before = [word for word in words if word.end <= start][-NEAR_WORDS:]
    after = [word for word in words if word.start >= end][:NEAR_WORDS]
    ranked = sorted((*before, *after), key=lambda word: min(abs(start - word.end), abs(word.start - end)))
    return [word.stem for word in ranked]


def _measured(
    one: Statement, two: Statement, whole: Overlay, weights: Weights, rates: Mapping[str, Decimal]
) -> Comparison | None:
    best = apart = None
    for mine, other in product(one.quantities, two.quantities):
        if mine.unit.is_money and other.unit.is_money and not comparable(mine, other, rates):
            apart = apart or _incomparable(mine, other, (mine.text, other.text))
            continue
        if not comparable(mine, other, rates) or (
            mine.dimension == "ordinal" and mine.counted != other.counted
        ):
            continue
        near = overlay(_near(one, mine.start, mine.end), _near(two, other.start, other.end), weights)
        score = _score(whole, near)
        if mine.counted and other.counted and not alike(mine.counted, other.counted):
            score -= 0.15
        if score < 0.5:
            continue
        same = agrees(mine, other, rates)
        found = Comparison("agree" if same else "conflict", "quantity", (mine.text, other.text), score)
        if best is None or (found.score, found.outcome == "agree") > (best.score, best.outcome == "agree"):
            best = found
    if best is not None and best.outcome == "conflict" and _times_differ(one, two):
        return Comparison("unrelated")
    return best or (apart if whole.smaller >= FRAME else None)


def _score(whole: Overlay, near: Overlay) -> float:
    return 0.45 * whole.smaller + 0.25 * whole.larger + 0.15 * near.smaller + 0.15 * near.larger


def _times_differ(one: Statement, two: Statement) -> bool:
    return bool(one.periods and two.periods) and not any(
        agree_in_time(mine, other) for mine, other in product(one.periods, two.periods)
    )


def _dated(
    one: Statement, two: Statement, whole: Overlay, weights: Weights, rates: Mapping[str, Decimal]
) -> Comparison | None:
    best: Comparison | None = None
    for mine, other in product(one.periods, two.periods):
        near = overlay(_near(one, mine.start, mine.end), _near(two, other.start, other.end), weights)
        score = _score(whole, near)
        if score < 0.55:
            continue
        same = agree_in_time(mine, other)
        found = Comparison("agree" if same else "conflict", "date", (mine.text, other.text), score)
        if best is None or (found.score, found.outcome == "agree") > (best.score, best.outcome == "agree"):
            best = found
    return best


def _negated(
    one: Statement, two: Statement, whole: Overlay, weights: Weights, rates: Mapping[str, Decimal]
) -> Comparison | None:
    if bool(one.negations) == bool(two.negations):
        return None
    negated, other = (one, two) if one.negations else (two, one)
    negation = negated.negations[0]
    reached = [word.stem for word in negated.frame if negation.end <= word.start < negation.reach]
    reached = reached or [word.stem for word in negated.frame if word.start < negation.start][-3:]
    found = _found(reached, [word.stem for word in other.frame], weights) if reached else 0.0
    score = 0.4 * whole.smaller + 0.2 * whole.larger + 0.4 * found
    if score < 0.6 or _times_differ(one, two):
        return None
    return Comparison("conflict", "negation", (one.text, two.text), score)


def _named(
    one: Statement, two: Statement, whole: Overlay, weights: Weights, rates: Mapping[str, Decimal]
) -> Comparison | None:
    best: Comparison | None = None
    for mine, other in product(_unmatched(one, two), _unmatched(two, one)):
        first = _near(one, mine.start, mine.end, (mine.start, mine.end))
        second = _near(two, other.start, other.end, (other.start, other.end))
        near = overlay(first, second, weights)
        rest = overlay(_without(one, mine), _without(two, other), weights)
        score = 0.4 * rest.smaller + 0.3 * rest.larger + 0.15 * near.smaller + 0.15 * near.larger
        if score < 0.7:
            continue
        if best is None or score > best.score:
            best = Comparison("conflict", "name", (mine.text, other.text), score)
    return best


def _unmatched(one: Statement, two: Statement) -> list[Name]:
    """Give the names of one statement of which the other one says nothing."""
    others = {word.plain for word in words_of(two.text)}
    return [
        name
        for name in one.names
        if not any(same_name(name, other) for other in two.names) and not set(name.parts) <= others
    ]


def _without(statement: Statement, name: Name) -> list[str]:
    return [word.stem for word in statement.frame if not name.start <= word.start < name.end]
