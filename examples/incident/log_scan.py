"""The scan of a log: one pass over its lines, and what was found as plain values of bounded size."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from log_format import LogFormat, detect
from log_rate import Histogram, core_span, fitting_width, merged
from log_severity import DEGREES, degree_of
from log_source import LogSource
from log_tally import SHOWN, Tally
from log_template import Template, Templates
from log_time import shown

__all__ = ["scan"]

LISTED_FAILING, LISTED_OTHERS = 120, 30
BUCKETS = 60
When = Callable[[float | None], str | None]
UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def _shown(text: str, limit: int = SHOWN) -> str:
    """Give a piece of a log as it may be shown: bounded, without control characters and lone surrogates."""
    text = UNSAFE.sub("\ufffd", text[: limit + 1].replace("\t", " ").replace("\n", " "))
    return text if len(text) <= limit else f"{text[:limit]}…"


def _when(form: LogFormat, at: float | None) -> str | None:
    """Write a time in the shape that the log itself has."""
    return None if at is None else shown(at, form.times.shape)


def result_of(source: LogSource, form: LogFormat, tally: Tally) -> dict[str, Any]:
    """Give what was found, bounded, as JSON values."""
    when = partial(_when, form)
    rates = [tally.rates[name][0 if tally.timed else 1] for name in ("entries", "failures", "warnings")]
    listed = _listed(tally.templates)
    finest = max(rate.width for rate in rates)
    first, last = core_span(rates[0]) if tally.timed else (1.0, float(max(1, tally.lines)))
    width = max(finest, fitting_width(first, last, BUCKETS), *(item.counted.width for item in listed))
    start, end = int(first // width), int(last // width)
    buckets = _buckets(tally, rates, when, width, start, end)
    return {
        "path": source.path,
        "format": form.name,
        "encoding": source.encoding,
        "compression": source.compression,
        "broken": _shown(source.broken, 120),
        "bytes": source.size,
        "lines": tally.lines,
        "entries": tally.entries,
        "parts": tally.parts,
        "strays": 0 if form.name == "plain text" else form.strays,
        "untimed": tally.untimed,
        "backwards": tally.backwards,
        "cut_lines": source.cut_lines,
        "nul_bytes": source.nul_bytes,
        "severities": {
            name: tally.severities[name] for name in (*DEGREES, "unknown") if tally.severities[name]
        },
        "timed": tally.timed,
        "zone_stated": form.times.zone_stated,
        "first_time": when(tally.first_at),
        "last_time": when(tally.last_at),
        "outside": sum(rates[0].counts.values()) - sum(item["entries"] for item in buckets),
        "bucket_width": width,
        "buckets": buckets,
        "template_count": len(tally.templates.all),
        "templates_not_listed": len(tally.templates.all) - len(listed),
        "overflow_entries": tally.templates.overflow,
        "templates": [_template(template, when, width, start, end) for template in listed],
    }


def _buckets(
    tally: Tally, rates: list[Histogram], when: When, width: int, start: int, end: int
) -> list[dict[str, Any]]:
    entries, failures, warnings = (merged(rate, width) for rate in rates)
    found = []
    for index in range(start, min(end, start + BUCKETS + 1) + 1):
        begins = when(index * width) if tally.timed else str(max(1, index * width))
        found.append(
            {
                "begins": begins,
                "entries": entries.get(index, 0),
                "failures": failures.get(index, 0),
                "warnings": warnings.get(index, 0),
            }
        )
    return found


def _listed(templates: Templates) -> list[Template]:
    """Give the templates to report: what fails, gravest and most frequent first, then the most frequent
    others.
    """
    failing = [item for item in templates.all if _notable(item)]
    others = [item for item in templates.all if not _notable(item)]
    failing.sort(key=lambda item: (-_degree(item), item.signature is None, -item.count, item.number))
    others.sort(key=lambda item: (-item.count, item.number))
    return failing[:LISTED_FAILING] + others[:LISTED_OTHERS]


def _degree(template: Template) -> int:
    least = template.signature.severity if template.signature else None
    return max(degree_of(template.severity), degree_of(least))


def _notable(template: Template) -> bool:
    return template.signature is not None or degree_of(template.severity) >= 2


def _template(item: Template, when: When, width: int, start: int, end: int) -> dict[str, Any]:
    counted = merged(item.counted, width)
    return {
        "number": item.number,
        "template": _shown(item.text),
        "severity": DEGREES[_degree(item)] if item.severity or item.signature else "unknown",
        "signature": item.signature.name if item.signature else None,
        "count": item.count,
        "first": {"line": item.first.line, "time": when(item.first.at), "at": item.first.at},
        "last": {"line": item.last.line, "time": when(item.last.at), "at": item.last.at},
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
        tally = Tally(templates)

        def counted() -> Iterator[str]:
            for line in source.lines(stopped):
                tally.lines += 1
                yield line

        for number, record in form.records(counted()):
            entry = form.read(record)
            if entry is not None:
                tally.take(entry, number)
        return result_of(source, form, tally)
    finally:
        source.close()
