"""The text formats: syslog, containers, web servers, Kubernetes, and any line with a time or a level in
it.
"""

import re

from log_entry import Entry, Read
from log_severity import severity_in_text, severity_of
from log_time import TimeReader

__all__ = ["TRACE", "access", "container", "klog", "levelled", "plain", "syslog", "timed"]

TRACE = re.compile(
    r"\s+\S|Caused by: |Suppressed: |\.\.\. \d+ more|Traceback \(most recent|During handling of the above|"
    r"The above exception was|goroutine \d+ |created by |stack backtrace:|[}\])]+[;,]?$"
)
"""What a line of a stack trace, or any other continuation of the entry before it, looks like."""

RFC_5424 = re.compile(
    r"<(\d{1,3})>1 (\S+) (\S+) (\S+) (\S+) (\S+) (-|(?:\[(?:[^\]\\]|\\.)*\])+) ?(?:\ufeff|ï»¿)?(.*)",
    re.DOTALL,
)
RFC_3164 = re.compile(
    r"(?:<(\d{1,3})>)?((?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|"
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)) (?!std(?:out|err) )"
    r"([\w.:-]+) ([\w./@-]+(?:\([\w-]+\))?)(?:\[(\d+)\])?: (.*)",
    re.DOTALL,
)
CRI = re.compile(r"(\d{4}-\d\d-\d\dT\S+) (stdout|stderr) ([FP])(?:\S*) (.*)", re.DOTALL)
ACCESS = re.compile(
    r'(?:\S+ )??(\S+) \S+ (?:\S+|"[^"]*"|[^\[]{1,60}) \[([^\]]{10,40})\] '
    r'"((?:[^"\\]|\\.)*)" (\d{3}) (?:\d+|-)(?: |$)'
)
REQUEST = re.compile(r"([A-Z]{3,10}) ([^?\s]*)")
KLOG = re.compile(r"([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d+)\s+(\d+) ([\w./-]+:\d+)\] ?(.*)", re.DOTALL)
KLOG_DEGREES = {"I": "info", "W": "warning", "E": "error", "F": "fatal"}
CAPITAL = re.compile(
    r"(?<![\w.-])(TRACE|VERBOSE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|SEVERE|CRIT(?:ICAL)?|FATAL|PANIC|"
    r"EMERG(?:ENCY)?|ALERT|ERRO|AVISO)(?![\w-]|\.\w)"
)
BRACKETED = re.compile(
    r"[\[<(](?:[\w-]{1,30}:)?"
    r"(trace\d?|debug|info|notice|warn|warning|error|err|crit|critical|alert|emerg|fatal)[\])>]",
    re.IGNORECASE,
)
WORDED = re.compile(
    r"(?:^|\s)(trace|debug|info|warning|warn|error|critical|fatal)(?::|\s+[-|:])\s?", re.IGNORECASE
)
LEADING = re.compile(
    r"[\[<(|]?\s*(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|SEVERE|CRIT(?:ICAL)?|FATAL|PANIC|trace|debug|"
    r"critical|[Ww]arn(?:ing)?|[Ee]rror|[Ff]atal|[Ii]nfo)[\])>|]?\s*[:\-|\]]\s*(.+)|"
    r"\[(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\]\s+(.+)|"
    r"(DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)\s+(\S.+)",
    re.DOTALL,
)
LEVEL_WITHIN = 110
OVERLOADED = frozenset({"408", "429", "499"})
NAME = re.compile(r"[A-Za-z][\w.$/-]{2,60}$")
EDGES = " \t:-|]>)"


def _contained(
    text: str, inner: Read, at: float | None, severity: str | None, source: str, process: str = ""
) -> Entry:
    """Give the entry of a text that another format carries; that format's time and source count first."""
    found = inner(text)
    if found is not None:
        if found.part:
            return found
        return found._replace(
            at=at if at is not None else found.at,
            severity=found.severity or severity,
            source=found.source or source,
        )
    if text[:1] in " \t" and text.strip():
        return Entry(None, None, text.strip(), part="trace", process=process)
    return Entry(at, severity or severity_in_text(text), text, source, process=process)


def syslog(times: TimeReader, inner: Read) -> Read:
    """Give the reader of RFC 5424, RFC 3164 with and without its priority, and `journalctl -o short-iso`."""

    def read(line: str) -> Entry | None:
        found = RFC_5424.match(line)
        if found is not None:
            source = "" if found[4] == "-" else found[4]
            return _contained(
                found[8], inner, times.of(found[2]), severity_of(int(found[1]) % 8), source, found[5]
            )
        found = RFC_3164.match(line)
        if found is None:
            return None
        severity = severity_of(int(found[1]) % 8) if found[1] else None
        return _contained(found[6], inner, times.of(found[2]), severity, found[4], found[5] or "")

    return read


def container(times: TimeReader, inner: Read) -> Read:
    """Give the reader of the lines that Kubernetes' container runtimes write (time, stream, F or P, text)."""

    def read(line: str) -> Entry | None:
        found = CRI.match(line)
        return _contained(found[4], inner, times.of(found[1]), None, "") if found else None

    return read


def access(times: TimeReader) -> Read:
    """Give the reader of access logs in the common and combined forms of Apache and nginx.

    5xx, and the 4xx by which a server says that it is slow or overloaded (408, 429, 499), are errors; other
    4xx are warnings, since they are as often the caller's doing.
    """

    def read(line: str) -> Entry | None:
        found = ACCESS.match(line)
        if found is None:
            return None
        at = times.of(found[2])
        if at is None:
            return None
        status = found[4]
        severity = (
            "error" if status[0] == "5" or status in OVERLOADED else "warning" if status[0] == "4" else "info"
        )
        request = REQUEST.match(found[3])
        what = f"{request[1]} {request[2]}" if request else found[3][:200] or "-"
        return Entry(
            at,
            severity,
            f"HTTP{status} {what}",
            found[1] if "." not in found[1] and ":" not in found[1] else "",
        )

    return read


def klog(times: TimeReader) -> Read:
    """Give the reader of Kubernetes' and glog's own lines (`E0412 10:00:00.000000 1 file.go:7] text`)."""

    def read(line: str) -> Entry | None:
        found = KLOG.match(line)
        if found is None:
            return None
        at = times.month_and_day(int(found[2]), int(found[3]), found[4])
        return Entry(at, KLOG_DEGREES[found[1]], found[7], found[6].partition(":")[0], process=found[5])

    return read


def timed(times: TimeReader) -> Read:
    """Give the reader of any line that has a time near its beginning, and perhaps a level (log4j, Python,
    nginx).
    """

    def read(line: str) -> Entry | None:
        stamp = times.find(line)
        if stamp is None:
            return None
        rest = line[stamp.end :]
        before = line[: stamp.begin]
        level = (
            CAPITAL.search(rest, 0, LEVEL_WITHIN)
            or BRACKETED.search(rest, 0, LEVEL_WITHIN)
            or WORDED.search(rest, 0, 60)
        )
        if level is not None:
            between = rest[: level.start()].strip(" -|:[](),").split(" - ")[-1].strip()
            message = rest[level.end() :].lstrip(EDGES)
            source = between if NAME.match(between) else ""
            return Entry(
                stamp.at, severity_of(level[1]) or severity_in_text(message), message or rest.strip(), source
            )
        message = rest.lstrip(EDGES)
        level = CAPITAL.search(before) or BRACKETED.search(before)
        severity = severity_of(level[1]) if level else severity_in_text(message)
        return Entry(stamp.at, severity, message or line.strip())

    return read


def levelled(_: TimeReader) -> Read:
    """Give the reader of lines without a time that begin with a level (`ERROR:root:text`, `[WARN] text`)."""

    def read(line: str) -> Entry | None:
        found = LEADING.match(line)
        if found is None:
            return None
        word, text = next((found[i], found[i + 1]) for i in (1, 3, 5) if found[i])
        return Entry(None, severity_of(word), text)

    return read


def plain(line: str) -> Entry:
    """Give the entry of a line of which nothing is known but its words."""
    return Entry(None, severity_in_text(line), line.strip())
