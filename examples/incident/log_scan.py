"""The scan of a log: one pass over its lines that keeps counts, templates and rates, never the lines
themselves.
"""

import re
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from log_entry import Entry
from log_format import LogFormat, detect
from log_rate import Histogram, core_span, fitting_width, merged
from log_severity import DEGREES, FAILING, degree_of
from log_source import LogSource
from log_template import Place, Template, Templates, mask
from log_time import shown

__all__ = ["Scan", "scan"]

LISTED_FAILING, LISTED_OTHERS = 120, 30
BUCKETS = 60
PROCESSES = 4096
SHOWN = 400
DIGITS = re.compile(r"\d+")
HOLDER = re.compile(r"Process(?:es)? holding the lock: (\d+)")
BLOCKER = re.compile(r"Process \d+ waits for \w+.*?blocked by process (\d+)")
UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def _shown(text: str, limit: int = SHOWN) -> str:
    """Give a piece of a log as it may be shown: bounded, without control characters and lone surrogates."""
    text = UNSAFE.sub("\ufffd", text[: limit + 1].replace("\t", " ").replace("\n", " "))
    return text if len(text) <= limit else f"{text[:limit]}…"


class Scan:
    """What one pass over a log has found so far. `take` adds an entry, `result` gives the whole as plain
    values.
    """

    def __init__(self, source: LogSource, form: LogFormat, limit: int = 2000) -> None:
        self.source, self.form = source, form
        self.templates = Templates(limit)
        self.lines = self.entries = self.parts = self.backwards = self.untimed = 0
        self.severities: Counter[str] = Counter()
        self.first_at: float | None = None
        self.last_at: float | None = None
        self._latest: float | None = None
        self._rates = {name: (Histogram(), Histogram()) for name in ("entries", "failures", "warnings")}
        self._before: Template | None = None
        self._masks: dict[str, str] = {}
        self._processes: OrderedDict[str, str] = OrderedDict()
        self._of_process: OrderedDict[str, Template] = OrderedDict()

    def take(self, entry: Entry, line: int) -> None:
        """Count an entry, or add a part to the entry it belongs to."""
        if entry.part:
            self.parts += 1
            before = self._of_process.get(entry.process, self._before) if entry.process else self._before
            if before is not None:
                self._add_part(before, entry.part, entry.message)
            return
        self.entries += 1
        place = Place(line, self._time(entry.at))
        template = self.templates.of(entry.message, entry.severity, place)
        self._before = template
        severity = self._severity(template, entry)
        self.severities[severity or "unknown"] += 1
        self._count("entries", place)
        if degree_of(severity) >= 2:
            self._count("failures" if severity in FAILING else "warnings", place)
        if entry.process:
            self._remember(self._processes, entry.process, entry.source)
        if template is None:
            return
        if entry.process:
            self._of_process[entry.process] = template
            if len(self._of_process) > PROCESSES:
                self._of_process.popitem(last=False)
        if degree_of(severity) >= 2 or template.signature is not None:
            template.counted.add(self._position(place))
            self._name_source(template, entry)
            for kind, text in entry.parts:
                self._add_part(template, kind, text)

    def _severity(self, template: Template | None, entry: Entry) -> str | None:
        if template is None or template.signature is None:
            return entry.severity
        least = template.signature.severity
        return least if degree_of(least) > degree_of(entry.severity) else entry.severity

    def _name_source(self, template: Template, entry: Entry) -> None:
        source = entry.source or self._processes.get(entry.process, "")
        if source:
            template.note("source", source[:80])

    def _remember(self, known: OrderedDict[str, str], process: str, source: str) -> None:
        if source:
            known[process] = source
            known.move_to_end(process)
        if len(known) > PROCESSES:
            known.popitem(last=False)

    def _add_part(self, template: Template, kind: str, text: str) -> None:
        if degree_of(template.severity) < 2 and template.signature is None:
            return
        if kind == "trace" and not re.match(r"Caused by|[\w.]+(?:Error|Exception)\b", text.lstrip()):
            return
        template.note(kind, self._masked(text[:1000]) if kind != "trace" else text.strip()[:SHOWN], 8)
        holder = (HOLDER.search(text) or BLOCKER.search(text)) if kind == "detail" else None
        if holder is not None:
            template.note("holder", f"{self._processes.get(holder[1], '?')} ({holder[1]})")

    def _masked(self, text: str) -> str:
        key = DIGITS.sub("0", text)
        if key not in self._masks:
            if len(self._masks) >= PROCESSES:
                self._masks.clear()
            self._masks[key] = mask(text)
        return self._masks[key]

    def _time(self, at: float | None) -> float | None:
        if at is None:
            self.untimed += 1
            return self._latest
        if self.first_at is None or at < self.first_at:
            self.first_at = at
        if self.last_at is None or at > self.last_at:
            self.last_at = at
        if self._latest is not None and at < self._latest:
            self.backwards += 1
        self._latest = at
        return at

    def _position(self, place: Place) -> float:
        return place.line if place.at is None else place.at

    def _count(self, name: str, place: Place) -> None:
        by_time, by_line = self._rates[name]
        if place.at is not None:
            by_time.add(place.at)
        else:
            by_line.add(place.line)

    @property
    def timed(self) -> bool:
        """Whether rates are over time; a log without times has them over lines."""
        return self.first_at is not None

    def when(self, at: float | None) -> str | None:
        """Write a time in the shape that the log itself has."""
        return None if at is None else shown(at, self.form.times.shape)

    def result(self) -> dict[str, Any]:
        """Give what was found, bounded, as JSON values."""
        rates = [self._rates[name][0 if self.timed else 1] for name in ("entries", "failures", "warnings")]
        listed = self._listed()
        finest = max(rate.width for rate in rates)
        first, last = core_span(rates[0]) if self.timed else (1.0, float(max(1, self.lines)))
        width = max(finest, fitting_width(first, last, BUCKETS), *(item.counted.width for item in listed))
        start, end = int(first // width), int(last // width)
        buckets = self._buckets(rates, width, start, end)
        return {
            "path": self.source.path,
            "format": self.form.name,
            "encoding": self.source.encoding,
            "compression": self.source.compression,
            "broken": _shown(self.source.broken, 120),
            "bytes": self.source.size,
            "lines": self.lines,
            "entries": self.entries,
            "parts": self.parts,
            "strays": 0 if self.form.name == "plain text" else self.form.strays,
            "untimed": self.untimed,
            "backwards": self.backwards,
            "cut_lines": self.source.cut_lines,
            "nul_bytes": self.source.nul_bytes,
            "severities": {
                name: self.severities[name] for name in (*DEGREES, "unknown") if self.severities[name]
            },
            "timed": self.timed,
            "zone_stated": self.form.times.zone_stated,
            "first_time": self.when(self.first_at),
            "last_time": self.when(self.last_at),
            "outside": self.entries - self.untimed - sum(item["entries"] for item in buckets)
            if self.timed
            else 0,
            "bucket_width": width,
            "buckets": buckets,
            "template_count": len(self.templates.all),
            "templates_not_listed": len(self.templates.all) - len(listed),
            "overflow_entries": self.templates.overflow,
            "templates": [self._template(template, width, start, end) for template in listed],
        }

    def _buckets(self, rates: list[Histogram], width: int, start: int, end: int) -> list[dict[str, Any]]:
        entries, failures, warnings = (merged(rate, width) for rate in rates)
        found = []
        for index in range(start, min(end, start + BUCKETS + 1) + 1):
            begins = self.when(index * width) if self.timed else str(max(1, index * width))
            found.append(
                {
                    "begins": begins,
                    "entries": entries.get(index, 0),
                    "failures": failures.get(index, 0),
                    "warnings": warnings.get(index, 0),
                }
            )
        return found

    def _listed(self) -> list[Template]:
        """Give the templates to report: what fails, gravest and most frequent first, then the most frequent
        others.
        """
        failing = [item for item in self.templates.all if self._notable(item)]
        others = [item for item in self.templates.all if not self._notable(item)]
        failing.sort(key=lambda item: (-self._degree(item), item.signature is None, -item.count, item.number))
        others.sort(key=lambda item: (-item.count, item.number))
        return failing[:LISTED_FAILING] + others[:LISTED_OTHERS]

    def _degree(self, template: Template) -> int:
        least = template.signature.severity if template.signature else None
        return max(degree_of(template.severity), degree_of(least))

    def _notable(self, template: Template) -> bool:
        return template.signature is not None or degree_of(template.severity) >= 2

    def _template(self, item: Template, width: int, start: int, end: int) -> dict[str, Any]:
        counted = merged(item.counted, width)
        return {
            "number": item.number,
            "template": _shown(item.text),
            "severity": DEGREES[self._degree(item)] if item.severity or item.signature else "unknown",
            "signature": item.signature.name if item.signature else None,
            "count": item.count,
            "first": {"line": item.first.line, "time": self.when(item.first.at), "at": item.first.at},
            "last": {"line": item.last.line, "time": self.when(item.last.at), "at": item.last.at},
            "example": _shown(item.example),
            "buckets": [
                [index - start, count] for index, count in sorted(counted.items()) if start <= index <= end
            ],
            "tally": {
                kind: [
                    [_shown(value, 240), count]
                    for value, count in sorted(seen.items(), key=lambda pair: -pair[1])[:6]
                ]
                for kind, seen in sorted(item.tally.items())
            },
        }


def scan(path: str, stopped: Callable[[], bool] = lambda: False, templates: int = 2000) -> dict[str, Any]:
    """Read a whole log and give what it holds as JSON values of at most some 300 KB.

    path: the log file, of any size, compressed or not. stopped: asked now and then whether to give up.
    templates: how many templates are kept apart at most. Raises the errors of `LogSource`.
    """
    source = LogSource(path)
    try:
        form = detect(source.sample)
        found = Scan(source, form, templates)

        def counted() -> Any:
            for line in source.lines(stopped):
                found.lines += 1
                yield line

        for number, record in form.records(counted()):
            entry = form.read(record)
            if entry is not None:
                found.take(entry, number)
        return found.result()
    finally:
        source.close()
