"""The format of a log: found from its first lines, and then kept as the way in which each record is read."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from log_entry import Entry, Read
from log_format_postgres import postgres
from log_format_structured import csv_rows, journal_export, json_lines, logfmt
from log_format_text import TRACE, access, container, klog, levelled, plain, syslog, timed
from log_time import TimeReader

__all__ = ["LogFormat", "detect"]

HEADER_NAMES = re.compile(
    r"\b(?:level|severity|message|msg|time|timestamp|date and time|entrytype|leveldisplayname|timecreated)\b",
    re.IGNORECASE,
)
EXCEPTION = re.compile(r"[\w.]+(?:Error|Exception|Interrupt|Exit|Warning)\b(?::|$)")
LONGEST_RECORD = 1 << 16
ENOUGH = 0.9
"""A more exact format is taken when it reads at least this share of what the one that reads most reads."""


def _inner(times: TimeReader) -> Read:
    """Give the reader of a text that another format carries: PostgreSQL, logfmt or any line with time or
    level.
    """
    readers = [
        postgres(times),
        logfmt(times, lambda _: None),
        klog(times),
        access(times),
        timed(times),
        levelled(times),
    ]

    def read(text: str) -> Entry | None:
        for reader in readers:
            found = reader(text)
            if found is not None:
                return found
        return None

    return read


@dataclass
class LogFormat:
    """A format by name, with the reader of its records and the way its lines make records.

    `read` never fails and never gives None for a record with words in it: what is not of the format is
    taken by `others` (formats that share the log), or belongs to the entry before it, or stands alone.
    """

    name: str
    reader: Read
    times: TimeReader
    others: tuple[Read, ...] = ()
    whole: Callable[[str], bool] | None = None
    strays: int = 0
    _tracing: bool = False
    _failing: bool = False

    def records(self, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
        """Give each record with the number of its first line; most formats have one line to a record."""
        whole = self.whole
        if whole is None:
            yield from enumerate(lines, 1)
            return
        held, begin = "", 0
        for number, line in enumerate(lines, 1):
            held, begin = (f"{held}\n{line}", begin) if held else (line, number)
            if whole(held) or len(held) > LONGEST_RECORD:
                yield begin, held
                held = ""
        if held:
            yield begin, held

    def read(self, record: str) -> Entry | None:
        """Give the entry of a record, or None for an empty one."""
        if not record or record.isspace():
            return None
        found = self.reader(record)
        if found is None:
            found = next((entry for read in self.others if (entry := read(record)) is not None), None)
        if found is None:
            return self._stray(record)
        if not found.part:
            self._tracing, self._failing = False, found.severity in {"error", "fatal"}
        return found

    def _stray(self, record: str) -> Entry:
        text = record.strip()
        if record.startswith("Traceback (most recent"):
            self._tracing = True
            return Entry(None, None, text, part="trace")
        if self._tracing and not record[0].isspace():
            self._tracing = False
            if EXCEPTION.match(text):
                return Entry(None, None, text, part="trace") if self._failing else Entry(None, "error", text)
        if TRACE.match(record) or (self._failing and EXCEPTION.match(text)):
            return Entry(None, None, text, part="trace")
        self.strays += 1
        return plain(record)


def _balanced(text: str) -> bool:
    return text.count('"') % 2 == 0


def _closed(text: str) -> bool:
    return text.endswith("\n")


def _factories() -> dict[str, Callable[[TimeReader, list[str]], Read]]:
    """Give the formats, the most exact first."""
    return {
        "PostgreSQL csvlog": lambda times, _: csv_rows(times, _inner(times), None),
        "JSON lines": lambda times, _: json_lines(times, _inner(TimeReader())),
        "journal export": lambda times, _: journal_export(times, _inner(TimeReader())),
        "container": lambda times, _: container(times, _inner(TimeReader())),
        "syslog": lambda times, _: syslog(times, _inner(TimeReader())),
        "access log": lambda times, _: access(times),
        "klog": lambda times, _: klog(times),
        "PostgreSQL": lambda times, _: postgres(times),
        "logfmt": lambda times, _: logfmt(times, _inner(TimeReader())),
        "CSV with a header": lambda times, sample: csv_rows(times, _inner(TimeReader()), sample[:1]),
        "text with times": lambda times, _: timed(times),
        "text with levels": lambda times, _: levelled(times),
    }


def _is_header(line: str) -> bool:
    try:
        row = next(csv.reader([line.replace("\t", ",").replace(";", ",")]), [])
    except csv.Error:
        return False
    return (
        len(row) >= 2 and len(HEADER_NAMES.findall(line)) >= 2 and not re.search(r"\d{2}:\d{2}|[{}=]", line)
    )


def _whole_of(name: str) -> Callable[[str], bool] | None:
    if "csv" in name or name.startswith("CSV"):
        return _balanced
    return _closed if name == "journal export" else None


def _score(name: str, make: Callable[[TimeReader, list[str]], Read], sample: list[str]) -> int:
    try:
        trial = LogFormat(name, make(TimeReader(), sample), TimeReader(), whole=_whole_of(name))
        read = [
            (record, trial.reader(record)) for _, record in trial.records([*sample, ""]) if record.strip()
        ]
    except csv.Error:
        return 0
    return sum(1 + record.count("\n") for record, entry in read if entry is not None)


def detect(sample: list[str]) -> LogFormat:
    """Give the format that reads the first lines of a log best.

    Formats that read a twentieth of the lines or more beside it are kept as `others`; a log that no format
    reads is `plain text`, a line an entry.
    """
    lines = [line for line in sample if line.strip()]
    factories = _factories()
    if not lines or not _is_header(lines[0]):
        del factories["CSV with a header"]
    scores = {name: _score(name, make, sample) for name, make in factories.items()}
    best = max(scores.values())
    times = TimeReader()
    if best < max(1, len(lines) // 20):
        return LogFormat(
            "plain text",
            lambda _: None,
            times,
            (json_lines(times, _inner(times)), timed(times), levelled(times)),
        )
    name = next(name for name, score in scores.items() if score >= ENOUGH * best)
    others = [
        factories[other](times, lines)
        for other, score in scores.items()
        if other != name
        and (score >= len(lines) / 20 or other in {"text with times"})
        and other != "CSV with a header"
    ]
    return LogFormat(name, factories[name](times, lines), times, tuple(others), _whole_of(name))
