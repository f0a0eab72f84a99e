"""The structured formats: JSON lines of many dialects, logfmt, CSV with or without a header, and journal
exports.
"""

import csv
import json
import re
from collections.abc import Mapping
from typing import Any

from log_entry import Entry, Read
from log_format_postgres import of_columns
from log_severity import severity_in_text, severity_of
from log_time import TimeReader

__all__ = ["csv_rows", "journal_export", "json_lines", "logfmt"]

TIMES = (
    "time",
    "ts",
    "timestamp",
    "@timestamp",
    "@t",
    "t",
    "datetime",
    "date",
    "asctime",
    "eventtime",
    "log_time",
    "timecreated",
    "timegenerated",
    "date and time",
    "__realtime_timestamp",
    "_source_realtime_timestamp",
    "created",
)
LEVELS = (
    "level",
    "severity",
    "lvl",
    "error_severity",
    "loglevel",
    "log.level",
    "log_level",
    "levelname",
    "level_name",
    "leveldisplayname",
    "entrytype",
    "@l",
    "severity_text",
    "severitytext",
    "priority",
    "type",
    "status",
)
MESSAGES = (
    "message",
    "msg",
    "@m",
    "@mt",
    "event",
    "text",
    "body",
    "description",
    "error.message",
    "error",
    "err",
    "reason",
)
SOURCES = (
    "application_name",
    "service",
    "service.name",
    "app",
    "logger",
    "name",
    "component",
    "module",
    "providername",
    "source",
    "syslog_identifier",
    "_systemd_unit",
    "caller",
)
PARTS = (
    ("detail", "detail"),
    ("hint", "hint"),
    ("context", "context"),
    ("statement", "statement"),
    ("trace", "stack_trace"),
    ("trace", "stacktrace"),
    ("trace", "exc_info"),
    ("trace", "stack"),
    ("trace", "error.stack_trace"),
    ("error", "error"),
    ("error", "err"),
    ("error", "exception"),
)
PAIR = re.compile(r'(?<![\w.@-])([A-Za-z_@][\w.@-]*)=("(?:[^"\\]|\\.)*"|\S*)')
LONGEST = 4000


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Give the fields by name in small letters; those of an inner object as `outer.inner` too."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        name = key.lower()
        flat.setdefault(name, value)
        if isinstance(value, dict):
            for inner, deeper in list(value.items())[:50]:
                flat.setdefault(f"{name}.{inner.lower()}", deeper)
    return flat


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value[:LONGEST]
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        return str(value["message"])[:LONGEST]
    return json.dumps(value, sort_keys=True, default=str)[:LONGEST]


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, Any]:
    return next(
        ((name, fields[name]) for name in names if fields.get(name) not in (None, "", [], {})), ("", None)
    )


def _of_fields(fields: dict[str, Any], times: TimeReader, inner: Read) -> Entry | None:
    """Give the entry that named fields tell of, or None when they hold neither message nor level."""
    if isinstance(fields.get("log"), str) and (
        "stream" in fields or "time" in fields or "kubernetes" in fields
    ):
        return _contained(fields, times, inner)
    message_key, message = _first(fields, MESSAGES)
    level = next((word for name in LEVELS if (word := severity_of(fields.get(name)))), None)
    if not message_key and level is None:
        return None
    at = next((time for name in TIMES if (time := times.of(_number(fields.get(name)))) is not None), None)
    text = _text(message) if message_key else _text({key: fields[key] for key in list(fields)[:20]})
    parts = tuple(
        (kind, _text(fields[name]))
        for kind, name in PARTS
        if fields.get(name) and name != message_key and fields[name] is not True
    )
    source = _first(fields, SOURCES)[1]
    if "message" in fields and "__realtime_timestamp" in fields:
        found = inner(text)
        if found is not None and not found.part:
            return found._replace(at=at, source=_text(source) if source else found.source)
    if level is None:
        level = severity_in_text(text) or (
            "error" if any(kind in {"error", "trace"} for kind, _ in parts) else None
        )
    process = fields.get("pid", fields.get("process_id", ""))
    return Entry(
        at, level, text, _text(source)[:80] if source else "", parts=parts, process=str(process)[:20]
    )


def _number(value: Any) -> Any:
    """Give a number that was written as text as a number: the journal's microseconds."""
    return (
        int(value)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 21
        else value
    )


def _contained(fields: dict[str, Any], times: TimeReader, inner: Read) -> Entry | None:
    """Give the entry of a line that a container wrote and its engine wrapped."""
    text = fields["log"].rstrip("\n")
    at = times.of(fields.get("time", fields.get("@timestamp")))
    found = inner(text)
    if found is None:
        return Entry(at, severity_in_text(text), text)
    return found if found.part else found._replace(at=at if at is not None else found.at)


def json_lines(times: TimeReader, inner: Read) -> Read:
    """Give the reader of one JSON object a line, also when the lines are the items of one array."""

    def read(line: str) -> Entry | None:
        text = (
            line.strip().lstrip("[").rstrip(",]").strip() if line[:1] in " [" or line[-1:] in " ,]" else line
        )
        if not text.startswith("{"):
            return None
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return _of_fields(_flat(record), times, inner) if isinstance(record, dict) else None

    return read


def logfmt(times: TimeReader, inner: Read) -> Read:
    """Give the reader of lines of `key=value` with a level or a message among the keys."""

    def read(line: str) -> Entry | None:
        if "=" not in line:
            return None
        pairs = PAIR.findall(line[:LONGEST])
        if len(pairs) < 2:
            return None
        fields = {key.lower(): value.strip('"').replace('\\"', '"') for key, value in pairs}
        if not fields.keys() & {"level", "lvl", "severity", "loglevel"} or not fields.keys() & {
            "msg",
            "message",
            "err",
            "error",
            "event",
        }:
            return None
        entry = _of_fields(fields, times, inner)
        if entry is None or entry.at is not None:
            return entry
        stamp = times.find(line)
        return entry._replace(at=stamp.at if stamp else None)

    return read


def csv_rows(times: TimeReader, inner: Read, header: list[str] | None) -> Read:
    """Give the reader of CSV rows: with the names of a header, or as PostgreSQL's csvlog without one."""
    separator = max(",;\t", key=",".join(header).count) if header and len(header) == 1 else ","
    names = [
        name.strip().strip('"\ufeff').lower()
        for name in (header[0].split(separator) if header and len(header) == 1 else header or [])
    ]

    def read(record: str) -> Entry | None:
        try:
            row = next(csv.reader([record], delimiter=separator), [])
        except csv.Error:
            return None
        if not names:
            return of_columns(row, times)
        if abs(len(row) - len(names)) > 1 or len(row) < 2:
            return None
        fields = dict(zip(names, row, strict=False))
        if list(fields.values()) == list(fields):
            return None
        return _of_fields(fields, times, inner)

    return read


def journal_export(times: TimeReader, inner: Read) -> Read:
    """Give the reader of the journal's export format: fields on lines of their own, an empty line between
    entries.
    """

    def read(record: str) -> Entry | None:
        fields = dict(line.partition("=")[::2] for line in record.split("\n") if "=" in line)
        if "MESSAGE" not in fields or "__REALTIME_TIMESTAMP" not in fields:
            return None
        return _of_fields({key.lower(): value for key, value in fields.items()}, times, inner)

    return read
