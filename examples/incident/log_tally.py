"""The tally of a log: what one pass over its entries has counted so far, never the entries themselves."""

import re
from collections import Counter, OrderedDict

from log_entry import Entry
from log_rate import Histogram
from log_severity import FAILING, degree_of
from log_template import Place, Template, Templates, mask

__all__ = ["SHOWN", "Tally"]

PROCESSES = 4096
SHOWN = 400
"""Characters of one piece of a log that are kept or shown."""
DIGITS = re.compile(r"\d+")
HOLDER = re.compile(r"Process(?:es)? holding the lock: (\d+)")
BLOCKER = re.compile(r"Process \d+ waits for \w+.*?blocked by process (\d+)")


class Tally:
    """What has been counted so far. `take` adds an entry; `lines` is counted by whoever reads them.

    limit: how many templates are kept apart. `rates` holds, for entries, failures and warnings, a count over
    time and one over lines, the latter for entries that have no time.
    """

    def __init__(self, limit: int = 2000) -> None:
        self.templates = Templates(limit)
        self.lines = self.entries = self.parts = self.backwards = self.untimed = 0
        self.severities: Counter[str] = Counter()
        self.first_at: float | None = None
        self.last_at: float | None = None
        self._latest: float | None = None
        self.rates = {name: (Histogram(), Histogram()) for name in ("entries", "failures", "warnings")}
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
        by_time, by_line = self.rates[name]
        if place.at is not None:
            by_time.add(place.at)
        else:
            by_line.add(place.line)

    @property
    def timed(self) -> bool:
        """Whether rates are over time; a log without times has them over lines."""
        return self.first_at is not None
