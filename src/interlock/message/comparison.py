"""A comparison: whether two findings are about the same thing, and if so whether both can be true.

Numbers, dates, negations and names that differ are a conflict only between sentences that are else alike enough.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Literal, TypeVar

from interlock.catalogue import Text
from interlock.message.opposed import opposed
from interlock.message.pair import KNOWN_PLACE, Pair, doubt, facing, matches, paired
from interlock.message.result import Finding
from interlock.message.statement.kind import kinds_of
from interlock.message.statement.name import Name, same_name
from interlock.message.statement.negation import DENIALS
from interlock.message.statement.overlay import KNOWN, Weights, alike
from interlock.message.statement.period import Period, agree_in_time
from interlock.message.statement.quantity import Quantity, agrees, comparable
from interlock.message.statement.statement import Statement, read_statement
from interlock.message.statement.word import is_plain, stem_of, words_of

__all__ = ["Comparison", "Kind", "compare", "same_key", "same_value"]

Kind = Literal["quantity", "date", "negation", "name", "value"]
Value = TypeVar("Value", Quantity, Period)
Outcome = Literal["conflict", "agree", "unrelated"]

SURE, SURE_KNOWN = 0.44, 0.3
"""How alike two frames must be, from 0 to 1, for the values in them to be of one thing; and how alike for quantities
of sentences that are known to be about one thing."""
DENIED = 0.6
DENIED_KNOWN = 0.45
"""The same for a negation, which any two sentences may have or not; and where they are known to be about one thing."""
NAMES = 6
"""How many names of one sentence are compared, so that a list of a hundred does not cost ten thousand comparisons."""
NAMED, NAMED_KNOWN = 0.6, 0.5
"""The same for names."""
FRAME = 0.55
"""How much of the shorter frame must be found for amounts in two currencies to be told as not compared."""
PARTNER = 0.1
"""A value that agrees with another one is in no conflict with a third that fits no better than by this."""
LIGHT = frozenset(
    map(
        stem_of,
        ["make", "made", "take", "give", "get", "receive", "received", "faz", "fez", "recebe", "recebeu"],
    )
)
"""Verbs that say little beside their object: "receives no dose" denies the dose."""
BEGINNINGS = frozenset(
    map(stem_of, ["born", "birth", "founded", "opened", "started", "launched", "established"])
)
ENDINGS = frozenset(map(stem_of, ["died", "death", "ended", "closed", "finished", "completed"]))
ALMOST = 0.8
"""How alike sentences must be for two ordinals in them to be of one thing."""
SLOT = 30
"""How many characters beside a name belong to its place."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two findings stand to each other. `values` are what they say, `kind` in what they differ or agree, `score`
    from 0 to 1 how surely they are about the same thing."""

    outcome: Outcome
    kind: Kind | None = None
    values: tuple[str, str] = ("", "")
    score: float = 0.0
    note: Text | None = None


OTHER_TIME = Comparison("unrelated")
"""What is said of amounts that differ, each at a time of its own: the revenue of 2022 and that of 2023."""


def compare(
    first: Finding,
    second: Finding,
    weights: Weights,
    rates: Mapping[str, Decimal] | None = None,
    known: bool = False,
) -> Comparison:
    """Compare two findings; the order of the two does not matter but for that of the values.

    `rates` gives by currency what one unit of it is worth in one common currency; amounts of money in two currencies
    of which one has no rate are never a conflict, and the note says so. `known` says that the two are about one thing,
    so that a pronoun or another word for it counts less against them; it is also taken for known if both name the same
    subject and attribute.
    """
    keyed = bool(first.attribute and second.attribute) and same_key(first, second)
    if keyed and first.value and second.value:
        return _by_value(first, second, rates or {})
    if _of_other_subjects(first, second):
        return Comparison("unrelated")
    one, two = _statement(first), _statement(second)
    if not _may_differ(one, two):
        return Comparison("unrelated")
    pair = paired(one, two, weights, rates or {}, known or keyed)
    checks = (_negated, _measured, _dated, _named, _opposed)
    found = [outcome for check in checks if (outcome := check(pair)) is not None]
    if any(item is OTHER_TIME for item in found):
        return OTHER_TIME
    ranked = [
        item for outcome in ("conflict", "agree", "unrelated") for item in found if item.outcome == outcome
    ]
    return ranked[0] if ranked else Comparison("unrelated")


def _may_differ(one: Statement, two: Statement) -> bool:
    """Tell whether there is anything to compare, before the work of laying the two over each other."""
    if bool(one.negations) != bool(two.negations) or (one.periods and two.periods):
        return True
    measures = {item.dimension.partition(":")[0] for item in one.quantities}
    if any(item.dimension.partition(":")[0] in measures for item in two.quantities):
        return True
    return bool((one.ranks and two.ranks) or (one.names and two.names)) or bool(facing(one, two))


def same_key(first: Finding, second: Finding) -> bool:
    """Tell whether two findings name the same subject and attribute, apart from their texts."""
    return all(_same_words(getattr(first, name), getattr(second, name)) for name in ("subject", "attribute"))


def _of_other_subjects(first: Finding, second: Finding) -> bool:
    """Tell whether two findings name one attribute of two subjects with names of their own: the lengths of two rivers.
    Subjects with a word in common may be one, "Acme" and "Acme Ltd", and what has no name may be called otherwise."""
    if not (first.attribute and second.attribute and _same_words(first.attribute, second.attribute)):
        return False
    one, two = (
        [word for word in words_of(item.subject) if not is_plain(word.plain)] for item in (first, second)
    )
    named = any(word.capital for word in one) and any(word.capital for word in two)
    return named and not any(alike(word.stem, other.stem) for word in one for other in two)


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


def _measured(pair: Pair) -> Comparison | None:
    scored: list[tuple[float, bool, Quantity, Quantity]] = []
    apart: Comparison | None = None
    for match in matches(pair, pair.one.quantities, pair.two.quantities):
        mine, other = match.first, match.second
        if not comparable(mine, other, pair.rates):
            apart = apart or _incomparable(mine, other, (mine.text, other.text))
            continue
        score = match.likeness - doubt(pair, mine, other)
        scored.append((score, agrees(mine, other, pair.rates), mine, other))
    best = _best("quantity", scored, SURE_KNOWN if pair.known else SURE) or _ranked(pair)
    if best is not None and best.outcome == "conflict" and _times_differ(pair.one, pair.two):
        return OTHER_TIME
    return best or (apart if apart and apart.note and pair.whole.smaller >= FRAME else None)


def _ranked(pair: Pair) -> Comparison | None:
    """Compare ordinals of one thing, "the second album" and "the first album", in sentences that are else alike."""
    for mine, other in product(pair.one.ranks, pair.two.ranks):
        alone = mine.counted and alike(mine.counted, other.counted) and not agrees(mine, other)
        if alone and (pair.known or pair.whole.even >= ALMOST):
            return Comparison(
                "conflict", "quantity", (mine.text, other.text), max(pair.whole.even, KNOWN_PLACE)
            )
    return None


def _best(
    kind: Kind, scored: Sequence[tuple[float, bool, Value, Value]], bar: float = SURE
) -> Comparison | None:
    """Give the conflict that is surest, or the surest agreement if no value is left without one that agrees; None if
    nothing reaches the bar."""
    partner: dict[tuple[int, int], float] = {}
    for score, same, mine, other in scored:
        if same:
            for place in ((0, mine.start), (1, other.start)):
                partner[place] = max(score, partner.get(place, 0.0))
    best: Comparison | None = None
    for score, same, mine, other in scored:
        beside = max(partner.get((0, mine.start), 0.0), partner.get((1, other.start), 0.0))
        if score < bar or (not same and beside >= score - PARTNER):
            continue
        if best is None or (not same, score) > (best.outcome == "conflict", best.score):
            best = Comparison("agree" if same else "conflict", kind, (mine.text, other.text), score)
    return best


def _times_differ(one: Statement, two: Statement) -> bool:
    return bool(one.periods and two.periods) and not any(
        agree_in_time(mine, other) for mine, other in product(one.periods, two.periods)
    )


def _dated(pair: Pair) -> Comparison | None:
    scored: list[tuple[float, bool, Period, Period]] = []
    for match in matches(pair, pair.one.periods, pair.two.periods):
        mine, other, score = match.first, match.second, match.likeness
        first = mine if other.span else _end_meant(mine, match.near_second)
        second = other if mine.span else _end_meant(other, match.near_first)
        if pair.known and (first is not mine or second is not other):
            score = max(score, KNOWN_PLACE)
        scored.append((score, agree_in_time(first, second), mine, other))
    return _best("date", scored)


def _end_meant(period: Period, near: Sequence[str]) -> Period:
    """Give the beginning or the end of a span if that is what the other statement dates: "born", "opened", "died"."""
    if not period.span:
        return period
    if BEGINNINGS & set(near):
        return period.begins
    return period.ends if ENDINGS & set(near) else period


def _negated(pair: Pair) -> Comparison | None:
    one, two = pair.one, pair.two
    if bool(one.negations) == bool(two.negations) or _times_differ(one, two):
        return None
    negated, other = (one, two) if one.negations else (two, one)
    negation = negated.negations[0]
    reached = [word.stem for word in negated.frame if negation.end <= word.start < negation.reach]
    reached = reached or [word.stem for word in negated.frame if word.start < negation.start][-3:]
    reached = [stem for stem in reached if stem not in LIGHT] or reached
    if _denies_too(negated, other):
        return None
    stems = [word.stem for word in other.frame]
    stems += kinds_of(stems)
    if not reached or not (pair.known or any(alike(reached[0], stem) for stem in stems)):
        return None
    found = pair.overlay(reached, stems).first
    bar = DENIED_KNOWN if pair.known else DENIED
    score = 0.6 * found + 0.4 * max(pair.whole.even, 0.9 * pair.whole.smaller)
    return Comparison("conflict", "negation", (one.text, two.text), score) if score >= bar else None


def _denies_too(negated: Statement, other: Statement) -> bool:
    """Tell whether a statement without a negation denies by a nought, or by a word that the negated one lacks."""
    if any(item.low == item.high == 0 for item in other.quantities):
        return True
    words, others = ({word.plain for word in words_of(item.text)} for item in (negated, other))
    return bool(DENIALS & others - words)


def _named(pair: Pair) -> Comparison | None:
    one, two = pair.one, pair.two
    if one.negations or two.negations:
        return None
    bar = NAMED_KNOWN if pair.known else NAMED
    best: Comparison | None = None
    for mine, other in product(_unmatched(one, two), _unmatched(two, one)):
        rest = pair.overlay(_without(one, mine), _without(two, other))
        score = rest.even - 0.1
        if not mine.opens and not other.opens and _slot(one, mine, two, other):
            score = max(score + 0.2, rest.smaller, NAMED if pair.known else 0.0)
        elif pair.known and not (mine.opens or other.opens):
            score = max(score, rest.smaller)
        if score < bar or (best is not None and score <= best.score):
            continue
        best = Comparison("conflict", "name", (mine.text, other.text), score)
    return best


def _opposed(pair: Pair) -> Comparison | None:
    found = opposed(pair)
    if found and _times_differ(pair.one, pair.two):
        return OTHER_TIME
    return Comparison("conflict", "value", (found[0].text, found[1].text), found[2]) if found else None


def _slot(one: Statement, mine: Name, two: Statement, other: Name) -> bool:
    """Tell whether two names stand in like places: after the same word, or before it as an adjective does."""
    before, after = _beside(one, mine)
    other_before, other_after = _beside(two, other)
    if after and other_after:
        return any(alike(*pair) for pair in product(after, other_after))
    return not after and not other_after and any(alike(*pair) for pair in product(before, other_before))


def _beside(statement: Statement, name: Name) -> tuple[list[str], list[str]]:
    """Give the words before a name, and those that follow it at once, if it is used as an adjective."""
    before = [
        word.stem for word in statement.frame if name.start - SLOT <= word.start and word.end <= name.start
    ]
    after = [word for word in statement.frame if name.end <= word.start <= name.end + SLOT]
    adjective = bool(after) and after[0].start <= name.end + 1 and not after[0].capital
    return before[-2:], [word.stem for word in after[:3]] if adjective else []


def _unmatched(one: Statement, two: Statement) -> list[Name]:
    """Give the names of one statement of which the other one says nothing."""
    others = {word.plain for word in words_of(two.text)}
    unmatched = [
        name
        for name in one.names
        if not any(same_name(name, other) for other in two.names)
        and not _listed_with(one, name, others)
        and not set(name.parts) <= others
        and not (name.opens and len(name.parts) == 1 and stem_of(name.parts[0]) in KNOWN)
    ]
    return unmatched[:NAMES]


def _without(statement: Statement, name: Name) -> list[str]:
    return [word.stem for word in statement.frame if not name.start <= word.start < name.end]


def _listed_with(statement: Statement, name: Name, known: Set[str]) -> bool:
    """Tell whether a name stands in a list with one that the other statement has: "Sydney, Darwin and Bowen"."""
    names = sorted(statement.names, key=lambda item: item.start)
    place = names.index(name)
    for step in (-1, 1):
        at = place
        while 0 <= at + step < len(names) and _in_list(
            statement.text, *sorted((names[at], names[at + step]), key=_at)
        ):
            at += step
            if set(names[at].parts) <= known:
                return True
    return False


def _in_list(text: str, first: Name, second: Name) -> bool:
    return text[first.end : second.start].strip() in {",", "and", "e", ", and", ", e", "&", "or", "ou"}


def _at(name: Name) -> int:
    return name.start
