"""The time of a log line: the many ways in which logs write one, read as seconds since the Unix epoch in
UTC.
"""

import re
from datetime import UTC, datetime
from typing import NamedTuple

__all__ = ["Stamp", "TimeReader", "shown"]

MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTHS = {name: number for number, name in enumerate(MONTH_NAMES, 1)}
MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
ZONES = {
    "Z": 0,
    "UTC": 0,
    "GMT": 0,
    "WET": 0,
    "BST": 60,
    "CET": 60,
    "WEST": 60,
    "CEST": 120,
    "EET": 120,
    "EEST": 180,
    "MSK": 180,
    "IST": 330,
    "JST": 540,
    "BRT": -180,
    "EST": -300,
    "EDT": -240,
    "CST": -360,
    "CDT": -300,
    "MST": -420,
    "MDT": -360,
    "PST": -480,
    "PDT": -420,
}
"""Minutes east of Greenwich. Names that mean several zones are read as the one most logs mean."""

ZONE = rf"(?P<zone>[ ]?(?:[+-]\d\d:?\d\d|[+-]\d\d\b|(?:{'|'.join(sorted(ZONES, key=len, reverse=True))})\b))?"
CLOCK = r"(?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<part>\d{1,9}))?"
ISO = re.compile(rf"(?P<day>\d{{4}}[-/.]\d\d[-/.]\d\d)[T _]{CLOCK}{ZONE}")
OTHERS = (
    re.compile(rf"(?P<day>\d\d/{MONTH}/\d{{4}}):{CLOCK}{ZONE}"),
    re.compile(rf"\b(?P<day>{MONTH} [ \d]\d) {CLOCK}(?: (?P<year>\d{{4}})\b)?"),
    re.compile(rf"\b(?P<day>\d{{1,2}}[- ]{MONTH}[- ]\d{{4}})[ :]{CLOCK}{ZONE}"),
    re.compile(
        r"\b(?P<day>\d{1,2}[/.]\d{1,2}[/.]\d{4}),? (?P<clock>\d{1,2}:\d\d:\d\d)(?:[.,](?P<part>\d{1,9}))?"
        r"(?: ?(?P<half>[AP]M)\b)?"
    ),
    re.compile(rf"\b(?P<day>\d{{8}})[ T-]{CLOCK}{ZONE}"),
    re.compile(r"(?<![\d.])(?P<epoch>1[0-9]{9}(?:\.\d{1,9})?|1[0-9]{12}|1[0-9]{15}|1[0-9]{18})(?![\d.])"),
    re.compile(rf"(?<![\d:.]){CLOCK}(?![\d:])"),
)
NEAR = 48
"""How far into a line its time may begin."""


class Stamp(NamedTuple):
    """A time that was read: seconds since the epoch in UTC, and where its text begins and ends."""

    at: float
    begin: int
    end: int


def _zone_minutes(zone: str | None) -> int | None:
    if not zone:
        return None
    zone = zone.strip()
    if zone in ZONES:
        return ZONES[zone]
    digits = zone[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:4])
    return -minutes if zone[0] == "-" else minutes


def shown(at: float, shape: str = "full") -> str:
    """Write a time as people read it; `shape` says what the log itself knew: `full`, `no_year` or
    `no_day`.
    """
    try:
        moment = datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        return "?"
    if shape == "no_day":
        return moment.strftime("%H:%M:%S")
    return moment.strftime("%m-%d %H:%M:%S" if shape == "no_year" else "%Y-%m-%d %H:%M:%SZ")


class TimeReader:
    """A reader of times that learns which shape a log uses, and fills in a year or a day that it leaves out.

    A log that names no year or no day is given one that stands for none, and goes on to the next when the
    month or the clock falls back. `shape` and `zone_stated` say what was found.
    """

    def __init__(self) -> None:
        self.shape = "full"
        self.zone_stated = False
        self._pattern = ISO
        self._midnights: dict[str, float] = {}
        self._known: dict[tuple[str, ...], float | None] = {}
        self._year, self._month = 2000, 0  # a leap year, so that 29 February exists
        self._day, self._last = 0, -1.0
        self._day_first = False

    def find(self, line: str, near: int = NEAR) -> Stamp | None:
        """Give the time near the beginning of a line, or None."""
        found = self._pattern.search(line, 0, near + 40)
        if found is None or found.start() > near:
            for pattern in (ISO, *OTHERS):
                found = pattern.search(line, 0, near + 40)
                if found is not None and found.start() <= near:
                    break
            else:
                return None
        at = self._seconds(found)
        if at is None:
            return None
        self._pattern = found.re
        return Stamp(at, found.start(), found.end())

    def of(self, value: object) -> float | None:
        """Give the time that a field holds: text in any shape, or a number of (milli-, micro-, nano-)
        seconds.
        """
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, int | float):
            return self._epoch(float(value)) if abs(value) < 1e20 else None
        if not isinstance(value, str):
            return None
        stamp = self.find(value[:80], 8)
        return stamp.at if stamp else None

    def _epoch(self, number: float) -> float | None:
        for limit, scale in ((1e11, 1), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9)):
            if number < limit:
                self.zone_stated = True
                at = number / scale
                return at if 1e8 <= at <= 1e11 else None
        return None

    def _seconds(self, found: re.Match[str]) -> float | None:
        if found.re is not ISO:
            return self._computed(found)
        key = found.group("day", "clock", "zone")
        if key not in self._known:
            if len(self._known) > 4096:
                self._known.clear()
            self._known[key] = self._computed(found, fraction=False)
        whole, part = self._known[key], found["part"]
        return whole if whole is None or part is None else whole + int(part) / 10 ** len(part)

    def _computed(self, found: re.Match[str], fraction: bool = True) -> float | None:
        fields = found.groupdict()
        if fields.get("epoch"):
            number = fields["epoch"]
            return self._epoch(float(number))
        clock = fields["clock"].rjust(8, "0")
        seconds = int(clock[:2]) * 3600.0 + int(clock[3:5]) * 60 + int(clock[6:8])
        if fields.get("half"):
            seconds += 43200 * ((fields["half"] == "PM") - (clock[:2] == "12"))
        if fraction and fields.get("part"):
            seconds += float(f"0.{fields['part']}")
        minutes = _zone_minutes(fields.get("zone"))
        if minutes is not None:
            self.zone_stated = True
            seconds -= minutes * 60
        midnight = self._midnight(fields, seconds)
        return None if midnight is None else midnight + seconds

    def _midnight(self, fields: dict[str, str], seconds: float) -> float | None:
        day = fields.get("day")
        if day is None:
            self.shape = "no_day"
            if seconds < self._last - 43200:
                self._day += 1
            self._last = seconds
            return self._date(2000, 1, 1, self._day)
        if day[0].isalpha() and not fields.get("year"):
            self.shape = "no_year"
            return self._yearless(day)
        key = day + (fields.get("year") or "")
        if key not in self._midnights:
            if len(self._midnights) > 4096:
                self._midnights.clear()
            midnight = self._full(day, fields.get("year"))
            if midnight is None:
                return None
            self._midnights[key] = midnight
        return self._midnights[key]

    def _full(self, day: str, year: str | None) -> float | None:
        parts = re.split(r"[-/. ]+", day)
        if day[0].isalpha():
            return self._date(int(year or 2000), MONTHS[day[:3].lower()], int(day[3:]))
        if len(parts) == 1:
            return self._date(int(day[:4]), int(day[4:6]), int(day[6:]))
        if len(parts[0]) == 4:
            return self._date(int(parts[0]), int(parts[1]), int(parts[2]))
        if parts[1].isalpha():
            return self._date(int(parts[2]), MONTHS[parts[1].lower()], int(parts[0]))
        first, second = int(parts[0]), int(parts[1])
        self._day_first = self._day_first or first > 12 or "." in day
        return self._date(int(parts[2]), *((second, first) if self._day_first else (first, second)))

    def month_and_day(self, month: int, day: int, clock: str) -> float | None:
        """Give the time of a log that writes month and day as numbers and no year (klog)."""
        self.shape = "no_year"
        name = MONTH_NAMES[month - 1] if 1 <= month <= 12 else ""
        midnight = self._yearless(f"{name} {day:2}") if name else None
        if midnight is None:
            return None
        return midnight + int(clock[:2]) * 3600 + int(clock[3:5]) * 60 + float(clock[6:])

    def _yearless(self, day: str) -> float | None:
        month = MONTHS[day[:3].lower()]
        if self._month - month > 6:
            self._year += 1
        self._month = month
        return self._date(self._year, month, int(day[3:]))

    @staticmethod
    def _date(year: int, month: int, day: int, later: int = 0) -> float | None:
        try:
            return datetime(year, month, day, tzinfo=UTC).timestamp() + 86400 * later
        except (ValueError, OverflowError):
            return None
