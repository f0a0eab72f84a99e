"""A period: the days that a date in a text may mean, from a day to a century, or a day of any year.

Dates are read in English and Portuguese, with months by name, by number and in ISO 8601; decades, quarters of a
year, halves and centuries are periods too.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, replace

from interlock.message.statement.word import Language

__all__ = ["Period", "agree_in_time", "periods_in"]

MONTH_NAMES = """
january jan janeiro
february feb fevereiro fev
march mar marco
april apr abril abr
may maio mai
june jun junho
july jul julho
august aug agosto ago
september sep sept setembro set
october oct outubro out
november nov novembro
december dec dezembro dez
"""
MONTHS = {
    name: number for number, names in enumerate(MONTH_NAMES.strip().splitlines(), 1) for name in names.split()
}
DECADES = {
    "twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60, "seventies": 70, "eighties": 80,
    "nineties": 90,
}  # fmt: skip
ROMAN = {"XV": 15, "XVI": 16, "XVII": 17, "XVIII": 18, "XIX": 19, "XX": 20, "XXI": 21}
QUARTERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4, "primeiro": 1, "segundo": 2, "terceiro": 3,
            "quarto": 4, "ultimo": 4}  # fmt: skip
FULL = sorted((name for name in MONTHS if len(name) > 3 or name == "may"), key=len, reverse=True)
MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\.?(?!\w)"
FULL_MONTH = rf"(?P<month>{'|'.join(FULL)})(?!\w)"
DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|º|o)?"
YEAR = r"(?P<year>1[0-9]\d\d|20\d\d|2100)(?![\d%])(?![.,]\d)"
YEAR_AFTER = rf"(?:,? ?(?:de |of |in |, )?{YEAR})"

EARLIEST, LATEST = -(10**9), 10**9


@dataclass(frozen=True, slots=True)
class Period:
    """The days from `first` to `last`, as year * 10,000 + month * 100 + day, where `text` stands in the text.

    month, day: instead, what a date without a year says; nought where it says none.
    about: whether the text says that it is not exact.
    span: whether it goes from one date to another, so that it has a beginning and an end; first_ends is then the last
    day of the one date and last_begins the first day of the other.
    """

    first: int
    last: int
    start: int
    end: int
    text: str
    month: int = 0
    day: int = 0
    about: bool = False
    span: bool = False
    first_ends: int = 0
    last_begins: int = 0

    @property
    def begins(self) -> "Period":
        """The date from which a span goes."""
        return replace(self, last=self.first_ends, span=False)

    @property
    def ends(self) -> "Period":
        """The date to which a span goes."""
        return replace(self, first=self.last_begins, span=False)

    @property
    def key(self) -> tuple[str, ...]:
        """The same for periods that say exactly the same."""
        return ("date", str(self.first), str(self.last), str(self.month), str(self.day), str(self.about))

    @property
    def fineness(self) -> int:
        """How finely it was said: 3 for a day, 2 for a month, 1 for a year or more, 0 for a bound."""
        if self.month:
            return 3 if self.day else 2
        if self.first == EARLIEST or self.last == LATEST:
            return 0
        return 3 if self.first == self.last else 2 if self.last - self.first < 32 else 1


def agree_in_time(first: Period, second: Period) -> bool:
    """Tell whether both can be the same date: they have a day in common; two years of slack if one says "about"."""
    if first.month or second.month:
        return _agree_in_year(first, second)
    slack = 20_000 if first.about or second.about else 0
    return first.first - slack <= second.last and second.first - slack <= first.last


def _agree_in_year(first: Period, second: Period) -> bool:
    months = [
        (period.month, period.month, period.day, period.day or 31)
        if period.month
        else (period.first // 100 % 100, period.last // 100 % 100, period.first % 100, period.last % 100)
        for period in (first, second)
    ]
    if any(not period.month and period.last - period.first >= 1200 for period in (first, second)):
        return True
    (low, high, day, last), (other_low, other_high, other_day, other_last) = months
    if low > other_high or other_low > high:
        return False
    return (
        low != high or other_low != other_high or not day or (day <= other_last and (other_day or 1) <= last)
    )


def _days(year: int, month: int = 0, day: int = 0) -> tuple[int, int]:
    if not month:
        return year * 10_000 + 101, year * 10_000 + 1231
    if not day:
        return year * 10_000 + month * 100 + 1, year * 10_000 + month * 100 + monthrange(year, month)[1]
    return (year * 10_000 + month * 100 + day,) * 2


COUNTED_BY_THOUSANDS = (
    r"%|mil\b|thousand|million|milho|bilh|billion|m[²³23w]?\b|km|kg|t\b|l\b|ha\b|mw|kw|gw|hours|horas|people|pessoas|"
    r"employees|workers|funcionarios|trabalhador|empregad|households|homes|customers|clientes|users|usuarios|tons|tonnes|"
    r"toneladas|metr|litr|habitantes|inhabitants|residents|euros|dollars|dolares|reais|students|alunos|residencias|times|"
    r"vezes|days|dias|members|units|unidades|pages|paginas"
)
"""What follows a number of four digits that is a count and no year."""

PATTERNS = {
    "iso": re.compile(
        r"(?<![\w./-])(?P<year>[12]\d{3})-(?P<number>0[1-9]|1[0-2])(?:-(?P<day>0[1-9]|[12]\d|3[01]))?"
        r"(?:t\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?(?![\w-])"
    ),
    "slashed": re.compile(r"(?<![\w/.])(?P<one>\d{1,2})[/.](?P<two>\d{1,2})[/.](?P<year>[12]\d{3})(?![\w/])"),
    "month_number": re.compile(r"(?<![\w/.])(?P<number>0?[1-9]|1[0-2])/(?P<year>[12]\d{3})(?![\w/])"),
    "day_month": re.compile(rf"(?<![\w.,])(?:the )?{DAY}(?: (?:de|of))? {MONTH}{YEAR_AFTER}?"),
    "month_day": re.compile(
        rf"(?<!\w){MONTH} (?:the )?{DAY}(?![\w])(?!(?:[.,]\d| (?:a|to|-) \d)){YEAR_AFTER}?"
    ),
    "month_year": re.compile(rf"(?<!\w){MONTH}{YEAR_AFTER}"),
    "quarter": re.compile(
        rf"(?<!\w)(?:the )?(?:q(?P<q>[1-4])|(?P<qt>[1-4])[ºo]? ?(?:t|tri|trimestre|quarter)|"
        rf"(?P<word>{'|'.join(QUARTERS)}) (?:quarter|trimestre))(?: (?:of|de|do|in))?(?: ano de)?[ /]{YEAR}"
    ),
    "half": re.compile(
        rf"(?<!\w)(?:(?P<h>[12])[ºo]? ?semestre|h(?P<hh>[12])|"
        rf"(?P<word>first|second|primeiro|segundo) (?:half|semestre))(?: (?:of|de|in))?[ /]{YEAR}"
    ),
    "decade": re.compile(
        r"(?<!\w)(?:(?P<full>1[5-9]\d0|20\d0)['’]?s|['’]?(?P<short>[2-9]0)['’]?s(?= |$|\.|,)|(?:the )?"
        rf"(?P<word>{'|'.join(DECADES)})|(?:anos|decada de) (?P<pt>(?:1[5-9]|20)?\d0))(?!\w)"
    ),
    "century": re.compile(
        r"(?<!\w)(?:(?P<number>1\d|2[01])(?:st|th) century|seculo (?P<roman>[xvi]{2,5})|"
        r"seculo (?P<pt>1\d|2[01]))(?!\w)"
    ),
    "month": re.compile(rf"(?<!\w){FULL_MONTH}"),
    "year": re.compile(rf"(?<![\w.,$€£/-])(?<![$€£] ){YEAR}(?![\w/])(?! ?(?:{COUNTED_BY_THOUSANDS}))"),
}
BOUND = {
    "before": re.compile(
        r"(?<!\w)(?:before|until|till|by|no later than|prior to|antes d[eoa]|ate) ?(?:o |a )?(?:the )?"
        r"(?:end of |fim de |final de )?$"
    ),
    "after": re.compile(
        r"(?<!\w)(?:after|since|from|starting in|depois d[eoa]|desde|apos|a partir de|since early) ?(?:o |a )?$"
    ),
    "about": re.compile(
        r"(?<!\w)(?:about|around|circa|ca?\.|approximately|roughly|cerca de|por volta de|aproximadamente|estimated|"
        r"early|late|mid-?) ?$"
    ),
}
UNTIL_THEN = re.compile(
    r"(?:valid|valida|valido|vale|valem|runs|ran|lasts|lasted|continue\w*|dura|vai|vigora|vigente|extended|prorrogad[oa])"
    r" (?:until|till|ate)\b"
)
"""What makes a bound a date: what is valid until June ends in June."""
JOINT = re.compile(r" ?(?:-|–|—|--|‑|−) ?| (?:to|until|through|till|a|ate|and|e) (?:o |a |the )?")


def periods_in(text: str, low: str, language: Language | None) -> list[Period]:
    """Give the periods of a text in order. `low` is the text in lower case without accents, place by place."""
    taken: list[Period] = []
    for kind, pattern in PATTERNS.items():
        for found in pattern.finditer(low):
            if any(found.start() < other.end and other.start < found.end() for other in taken):
                continue
            period = _period(kind, found, text, language)
            if period is not None:
                taken.append(period)
    return list(_spans(sorted(taken, key=lambda period: period.start), text, low))


def _period(kind: str, found: re.Match[str], text: str, language: Language | None) -> Period | None:
    part = found.groupdict()
    start, end = found.span()
    said = text[start:end]
    if kind == "month" and (not said[0].isupper() and part["month"] in {"may", "march", "august"}):
        return None
    if kind in {"day_month", "month_day"} and not part["year"]:
        return Period(0, 0, start, end, said, MONTHS[part["month"]], int(part["day"]))
    if kind == "month":
        return Period(0, 0, start, end, said, MONTHS[part["month"]])
    bounds = _bounds(kind, part, language)
    return Period(*bounds, start, end, said) if bounds else None


def _bounds(kind: str, part: dict[str, str], language: Language | None) -> tuple[int, int] | None:
    year = int(part.get("year") or 0)
    try:
        if kind in {"day_month", "month_day", "month_year"}:
            return _real(year, MONTHS[part["month"]], int(part.get("day") or 0))
        if kind in {"iso", "month_number"}:
            return _real(year, int(part["number"]), int(part.get("day") or 0))
        if kind == "slashed":
            return _slashed(year, int(part["one"]), int(part["two"]), language)
    except ValueError:
        return None
    if kind == "year":
        return _days(year)
    return _parts(kind, part, year)


def _real(year: int, month: int, day: int) -> tuple[int, int]:
    if day > monthrange(year, month)[1]:
        raise ValueError
    return _days(year, month, day)


def _slashed(year: int, one: int, two: int, language: Language | None) -> tuple[int, int]:
    """Read day and month in the order of the language, unless only the other order makes a date."""
    day, month = (two, one) if language == "en" and one <= 12 else (one, two)
    if month > 12:
        day, month = month, day
    if not 1 <= month <= 12 or not day:
        raise ValueError
    return _real(year, month, day)


def _parts(kind: str, part: dict[str, str], year: int) -> tuple[int, int] | None:
    if kind == "quarter":
        number = int(part["q"] or part["qt"] or QUARTERS[part["word"]])
        return _days(year, number * 3 - 2)[0], _days(year, number * 3)[1]
    if kind == "half":
        number = int(part["h"] or part["hh"] or QUARTERS[part["word"]])
        return _days(year, number * 6 - 5)[0], _days(year, number * 6)[1]
    if kind == "century":
        number = int(part["number"] or part["pt"] or ROMAN.get((part["roman"] or "").upper(), 0))
        return (_days(number * 100 - 100)[0], _days(number * 100 - 1)[1]) if number else None
    decade = int(part["full"] or part["short"] or part["pt"] or DECADES[part["word"]])
    decade = decade if decade > 99 else 1900 + decade
    return _days(decade)[0], _days(decade + 9)[1]


def _spans(periods: list[Period], text: str, low: str) -> Iterator[Period]:
    """Give each period, those that are joined by "to" as one, and with what is said before it taken in."""
    place = 0
    while place < len(periods):
        period = periods[place]
        following = periods[place + 1] if place + 1 < len(periods) else None
        if (
            following
            and JOINT.fullmatch(low[period.end : following.start])
            and _may_span(period, following, low)
        ):
            yield replace(
                period,
                last=following.last,
                end=following.end,
                text=text[period.start : following.end],
                span=True,
                first_ends=period.last,
                last_begins=following.first,
            )
            place += 2
            continue
        yield _limited(period, low)
        place += 1


def _may_span(first: Period, second: Period, low: str) -> bool:
    joint = low[first.end : second.start].strip()
    if first.month or second.month or first.first > second.first:
        return False
    return joint not in {"and", "e"} or bool(
        re.search(r"(?:between|entre)(?: os anos)? (?:de )?$", low[: first.start])
    )


def _limited(period: Period, low: str) -> Period:
    before = low[max(0, period.start - 40) : period.start]
    if BOUND["about"].search(before):
        return replace(period, about=True)
    if period.month:
        return period
    if BOUND["before"].search(before) and not UNTIL_THEN.search(before):
        return replace(period, first=EARLIEST)
    return replace(period, last=LATEST) if BOUND["after"].search(before) else period
