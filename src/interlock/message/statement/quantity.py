"""A quantity: the numbers that a text says something may be, from the least to the most, and their unit.

"about 5 million", "at least 5", "between 10 and 12" and "4,98 milhões" are all quantities; whether two of them
can both be true is asked of `agrees`.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from interlock.message.statement.numeral import Numeral
from interlock.message.statement.unit import NO_UNIT, SCALES, SYMBOLS, UNITS, Unit, unit_called
from interlock.message.statement.word import is_plain, stem_of

__all__ = ["Quantity", "agrees", "comparable", "folded", "quantities_in", "same_quantity"]

HALF, ABOUT, ROUNDED, CONVERTED = Decimal("0.5"), Decimal("0.1"), Decimal("0.04"), Decimal("0.005")
EXCHANGED = Decimal("0.03")
"""A number stands for half its last digit to each side, at most 4 % of it; for 10 % with a word such as "about".
Units that were converted add 0.5 %, currencies that were changed 3 %."""

LARGEST = Decimal(10) ** 30


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity in the first unit of its dimension, from `low` to `high`; None where it has no bound.

    step: how far apart the numbers are that it could have been rounded from; nought for an exact count.
    about: whether the text says that it is not exact. counted: the stem of what is counted.
    scale: what the number was multiplied by for a word such as "million".
    """

    low: Decimal | None
    high: Decimal | None
    unit: Unit
    step: Decimal
    about: bool
    start: int
    end: int
    text: str
    counted: str = ""
    scale: Decimal = Decimal(1)

    @property
    def dimension(self) -> str:
        """What it measures."""
        return self.unit.dimension

    @property
    def key(self) -> tuple[str, ...]:
        """The same for quantities that say exactly the same."""
        return (self.dimension, *(_written(bound) for bound in (self.low, self.high)), str(self.about))


def _written(bound: Decimal | None) -> str:
    return "" if bound is None else f"{bound:.6e}"


def comparable(first: Quantity, second: Quantity, rates: Mapping[str, Decimal]) -> bool:
    """Tell whether one number can contradict the other: they measure the same, in currencies that can be changed."""
    if first.dimension == second.dimension:
        return True
    return _changed(first, rates).dimension == _changed(second, rates).dimension


def _changed(quantity: Quantity, rates: Mapping[str, Decimal]) -> Quantity:
    """Give an amount of money in the currency of the rates; anything else as it is."""
    rate = rates.get(quantity.unit.currency)
    if not rate:
        return quantity
    rest = quantity.dimension.partition("/")[2]
    unit = Unit(f"money:common/{rest}" if rest else "money:common")
    low, high = (None if bound is None else bound * rate for bound in (quantity.low, quantity.high))
    return replace(quantity, low=low, high=high, unit=unit, step=quantity.step * rate)


def agrees(first: Quantity, second: Quantity, rates: Mapping[str, Decimal] | None = None) -> bool:
    """Tell whether both can be true, after rounding. They must be comparable."""
    slack = Decimal(0)
    if first.dimension != second.dimension:
        first, second = (_changed(quantity, rates or {}) for quantity in (first, second))
        slack = EXCHANGED
    elif first.unit.factor != second.unit.factor or first.unit.zero != second.unit.zero:
        slack = CONVERTED
    (low, high), (other_low, other_high) = _reach(first, slack), _reach(second, slack)
    return low <= other_high and other_low <= high


def same_quantity(first: Quantity, second: Quantity) -> bool:
    """Tell whether two quantities say exactly the same."""
    return first.key == second.key


def _reach(quantity: Quantity, slack: Decimal) -> tuple[Decimal, Decimal]:
    low, high = quantity.low, quantity.high
    least = -LARGEST if low is None else low - _tolerance(quantity, low) - slack * abs(low)
    return least, LARGEST if high is None else high + _tolerance(quantity, high) + slack * abs(high)


def _tolerance(quantity: Quantity, bound: Decimal) -> Decimal:
    if quantity.about:
        return max(ABOUT * abs(bound), min(quantity.step * HALF, abs(bound) * HALF))
    return min(quantity.step * HALF * Decimal("0.999"), ROUNDED * abs(bound))


# What is said before a number, in lower case without accents; the longest reading wins.
HEDGE = (
    r"(?:about|around|roughly|approximately|approx\.?|some|nearly|almost|close to|circa|ca\.?|an estimated|"
    r"estimated at|estimated|~|≈|cerca de|aproximadamente|por volta de|quase|uns|umas|em torno de|perto de|"
    r"na faixa de|na ordem de|da ordem de|estimad[oa]s? em|just (?:over|under|above|below)|pouco (?:mais|menos) de)"
)
LEAST = (
    r"(?:at least|no less than|no fewer than|not less than|a minimum of|minimum of|"
    r"over|more than|above|exceed(?:s|ed|ing)?|"
    r"upwards of|in excess of|greater than|beyond|[>≥]|"
    r"pelo menos|no minimo|ao menos|mais de|mais que|acima de|superior a|"
    r"nao menos (?:de|que)|passa(?:m|va|ndo)? de|ultrapassa(?:m|ndo)?|supera(?:m|ndo)?)"
)
MOST = (
    r"(?:at most|no more than|not more than|a maximum of|maximum of|up to|less than|fewer than|under|below|"
    r"[<≤]|no maximo|ate|menos de|menos que|abaixo de|inferior a|nao mais (?:de|que))"
)
MONEY_BEFORE = "|".join(sorted(map(re.escape, SYMBOLS), key=len, reverse=True))
BEFORE = {
    name: re.compile(rf"(?<!\w){words} ?(?:the |an? |os |as |o |a )?$")
    for name, words in (("about", HEDGE), ("least", LEAST), ("most", MOST))
}
SYMBOL = re.compile(rf"(?<![A-Za-z])({MONEY_BEFORE}) ?$")
AFTER_LEAST = re.compile(r"(?:\+(?!\w)| ?(?:or more|or above|ou mais|and over|plus\b|upwards))")
AFTER_MOST = re.compile(r" ?(?:or less|or fewer|ou menos|at most|no maximo)")
AFTER_ABOUT = re.compile(r"(?: or so\b|-odd\b|-ish\b|, approximately| ou perto disso|, aproximadamente)")
BETWEEN = re.compile(r"(?<!\w)(?:between|entre) (?:os |as )?(?:[^\d\s]{1,3} ?)?$")
CHANGE = re.compile(
    r"(?:rose|risen|fell|fallen|grew|grown|increas\w+|decreas\w+|dropped|cut|raised|up|down|reduced|went|subiu|caiu|"
    r"aumentou|cresceu|passou|reduzid\w+|reduziu|elevad\w+)\b[^.;]{0,30}$"
)
JOINT = re.compile(r" ?[-–—‐‑] ?| (?:to|a|ate|or|ou) | (?:and|e) |/(?=\d)")

SHORT = sorted((name for name in UNITS if len(name) <= 3 or not name.isalpha()), key=len, reverse=True)
LONG = sorted({name for name in UNITS if len(name) > 3}, key=len, reverse=True)
ONE_UNIT = re.compile(
    rf"[ \u00a0\u202f]?-?(?:de |of )?(?P<unit>{'|'.join(map(re.escape, SHORT))})(?![A-Za-z0-9²³])"
)
SCALE = re.compile(
    rf"[ \u00a0\u202f-]?({'|'.join(sorted(SCALES, key=len, reverse=True))})(?: (?:of|de))?(?![a-z0-9²³/])"
)
PER = re.compile(r" ?(?:/|for each |for every |para cada |per |por |a |an |ao |a cada |every |each |cada )")
EACH = re.compile(
    r" (diari[oa]s?|mensa(?:l|is)|anua(?:l|is)|semana(?:l|is)|daily|monthly|annually|yearly|weekly)(?!\w)"
)
EACH_TIME = {
    "dia": "day", "dai": "day", "men": "month", "mon": "month", "anu": "year", "ann": "year", "yea": "year",
    "sem": "week", "wee": "week",
}  # fmt: skip
COUNTED = re.compile(r"[- ](?:(?:de|of|the|dos|das|new|novos|novas) )*([^\W\d_]{3,})")


def folded(text: str) -> str:
    """Give a text in lower case without accents, each character in its old place."""
    return "".join(unicodedata.normalize("NFKD", letter)[0].lower()[:1] or letter for letter in text)


LONG_UNIT = re.compile(
    rf"[ \u00a0\u202f]?-?(?:de |of )?(?P<unit>{'|'.join(re.escape(folded(name)) for name in LONG)})(?![a-z0-9])"
)


def quantities_in(text: str, numerals: Sequence[Numeral]) -> list[Quantity]:
    """Give the quantities of a text in order; two numerals that make a range are one."""
    low = folded(text)
    read = [_one(text, low, numeral) for numeral in numerals]
    found: list[Quantity] = []
    for quantity in read:
        if found and quantity.start < found[-1].end:
            continue
        joined = _joined(low, found[-1], quantity) if found else None
        if joined is not None:
            found[-1] = replace(joined, text=text[joined.start : joined.end])
        else:
            found.append(quantity)
    return found


def _one(text: str, low: str, numeral: Numeral) -> Quantity:
    start, end = numeral.start, numeral.end
    symbol = SYMBOL.search(text[:start])
    factor, end = _scaled(text, low, end, bool(symbol))
    if numeral.ratio:
        unit = Unit("ratio")
    elif symbol:
        start = symbol.start()
        unit = Unit(f"money:{SYMBOLS[symbol[1]]}")
    elif numeral.ordinal:
        unit = Unit("ordinal")
    else:
        unit, end = _measured(text, low, end)
    if unit.is_money or (not numeral.ordinal and unit is not NO_UNIT):
        unit, end = _each(text, low, end, unit)
    value = numeral.value * factor * unit.factor + unit.zero
    step = numeral.step * factor * unit.factor
    if unit is NO_UNIT and factor == 1 and numeral.step <= 1 and numeral.value == int(numeral.value):
        step = Decimal(0)
    counted = _counted(text, end) if unit is NO_UNIT or numeral.ordinal else ""
    return _bounded(
        low, Quantity(value, value, unit, step, False, start, end, text[start:end], counted, factor)
    )


def _counted(text: str, end: int) -> str:
    """Give the stem of what a bare number counts: the word that follows it, if it says something."""
    found = COUNTED.match(text, end)
    if found is None or is_plain(found[1].casefold()):
        return ""
    return stem_of(found[1].casefold())


def _scaled(text: str, low: str, end: int, money: bool) -> tuple[Decimal, int]:
    factor = Decimal(1)
    if money and (found := re.compile(r" ?([mbkMBK])(?![A-Za-z])").match(text, end)):
        return {"m": Decimal(10**6), "b": Decimal(10**9), "k": Decimal(1000)}[found[1].lower()], found.end()
    while found := SCALE.match(low, end):
        if found[1] == "k" and text[end] != "k" and text[end] != "K":
            break
        factor *= SCALES[found[1]]
        end = found.end()
    return factor, end


def _measured(text: str, low: str, end: int) -> tuple[Unit, int]:
    short, long = ONE_UNIT.match(text, end), LONG_UNIT.match(low, end)
    found = max((item for item in (short, long) if item), key=lambda item: item.end(), default=None)
    if found is None:
        return NO_UNIT, end
    unit = unit_called(text[found.start("unit") : found.end("unit")]) or unit_called(found["unit"])
    return (unit, found.end()) if unit else (NO_UNIT, end)


def _each(text: str, low: str, end: int, unit: Unit) -> tuple[Unit, int]:
    """Read what an amount is for: "per year", "/m³", "por dia"."""
    if adjective := EACH.match(low, end):
        return unit.per(UNITS[EACH_TIME[adjective[1][:3]]]), adjective.end()
    joint = PER.match(low, end)
    if joint is None:
        return unit, end
    place = joint.end() - (joint[0][-1:] == " ")
    other, after = _measured(text, low, place)
    if other is NO_UNIT or other.is_money:
        return unit, end
    return unit.per(other), after


def _bounded(low: str, quantity: Quantity) -> Quantity:
    """Take in the words around a number that make it a bound or a round number."""
    before, start = low[max(0, quantity.start - 40) : quantity.start], quantity.start
    least, most, about = quantity.low, quantity.high, quantity.about
    for _ in range(2):
        found = next(
            ((name, BEFORE[name].search(before)) for name in BEFORE if BEFORE[name].search(before)), None
        )
        if found is None or found[1] is None:
            break
        about = about or found[0] == "about"
        most = None if found[0] == "least" else most
        least = None if found[0] == "most" else least
        start -= len(before) - found[1].start()
        before = before[: found[1].start()]
    end = quantity.end
    for name, pattern in (("least", AFTER_LEAST), ("most", AFTER_MOST), ("about", AFTER_ABOUT)):
        if after := pattern.match(low, end):
            about = about or name == "about"
            most = None if name == "least" else most
            least = None if name == "most" else least
            end = after.end()
    return replace(quantity, low=least, high=most, about=about, start=start, end=end)


def _joined(low: str, first: Quantity, second: Quantity) -> Quantity | None:
    """Give the range from one quantity to the next one, if the text says that it is one."""
    if first.low is None or second.high is None or second.low is None or first.high != first.low:
        return None
    joint = JOINT.fullmatch(low[first.end : second.start])
    if joint is None or CHANGE.search(low[max(0, first.start - 40) : first.start]):
        return None
    between = BETWEEN.search(low[: first.start])
    if joint[0].strip() in {"and", "e"} and not between:
        return None
    if first.unit != second.unit and first.unit is not NO_UNIT and second.unit is not NO_UNIT:
        if first.unit.dimension != second.unit.dimension:
            return None
    elif first.unit != second.unit:
        first, second = _shared(first, second)
    if first.low is not None and first.scale == 1 and second.scale > 1 and first.low < second.scale:
        first = replace(first, low=first.low * second.scale)
    if first.low is None or second.high is None or first.low >= second.high:
        return None
    start = between.start() if between else first.start
    about = first.about or second.about
    return replace(second, low=first.low, high=second.high, about=about, start=start)


def _shared(first: Quantity, second: Quantity) -> tuple[Quantity, Quantity]:
    """Give both numbers in the unit, and with the scale, that only one of them was written with."""
    unit = second.unit if first.unit is NO_UNIT else first.unit
    for_first = unit if first.unit is NO_UNIT else NO_UNIT
    for_second = unit if second.unit is NO_UNIT else NO_UNIT
    return _in(first, for_first, unit), _in(second, for_second, unit)


def _in(quantity: Quantity, more: Unit, unit: Unit) -> Quantity:
    low, high = (
        None if bound is None else bound * more.factor + more.zero for bound in (quantity.low, quantity.high)
    )
    return replace(quantity, low=low, high=high, unit=unit, step=quantity.step * more.factor)
