"""PostgreSQL's own formats: what the server writes to stderr under any prefix, and the columns of its
csvlog.
"""

import re

from log_entry import Entry, Read
from log_severity import severity_of
from log_time import TimeReader

__all__ = ["CSV_COLUMNS", "of_columns", "postgres"]

DEGREES = {
    "LOG": "info",
    "INFO": "info",
    "NOTICE": "info",
    "WARNING": "warning",
    "ERROR": "error",
    "FATAL": "fatal",
    "PANIC": "fatal",
    "AVISO": "warning",
    "ERRO": "error",
    "FEHLER": "error",
    "WARNUNG": "warning",
    "HINWEIS": "info",
    "ERREUR": "error",
    "ATTENTION": "warning",
    "DEPURAÇÃO": "debug",
    "PÂNICO": "fatal",
} | {f"DEBUG{level}": "debug" for level in range(1, 6)}
PARTS = {
    "DETAIL": "detail",
    "HINT": "hint",
    "QUERY": "query",
    "CONTEXT": "context",
    "STATEMENT": "statement",
    "LOCATION": "location",
    "BACKTRACE": "trace",
    "DETALHE": "detail",
    "DICA": "hint",
    "CONTEXTO": "context",
    "COMANDO": "statement",
    "CONSULTA": "query",
    "TIPP": "hint",
    "ZUSAMMENHANG": "context",
    "ANWEISUNG": "statement",
    "DÉTAIL": "detail",
    "ASTUCE": "hint",
    "CONTEXTE": "context",
    "INSTRUCTION": "statement",
    "DETALLE": "detail",
    "SENTENCIA": "statement",
    "HINWEISE": "hint",
}
BEFORE = re.compile(r"[\s:>\]|,]")
PROCESS = re.compile(r"\[(\d+)(?:-\d+)?\]|\bpid[=:] ?(\d+)")
APPLICATION = re.compile(r"\b(?:app(?:lication)?(?:_name)?=|[\w\[\]]+@[\w\[\]-]+/)([\w.\[\]-]+)")
NAMED = re.compile(r"\bapplication_name=(\S+)")
PREFIX_LIMIT = 300
SEPARATOR = ":  "
LONGEST_WORD = 16
REMEMBERED = 4096

CSV_COLUMNS = (
    "log_time",
    "user_name",
    "database_name",
    "process_id",
    "connection_from",
    "session_id",
    "session_line_num",
    "command_tag",
    "session_start_time",
    "virtual_transaction_id",
    "transaction_id",
    "error_severity",
    "sql_state_code",
    "message",
    "detail",
    "hint",
    "internal_query",
    "internal_query_pos",
    "context",
    "query",
    "query_pos",
    "location",
    "application_name",
    "backend_type",
    "leader_pid",
    "query_id",
)
"""The columns of a csvlog (PostgreSQL documentation, 20.8.4); older servers leave out the last ones."""


def _writer(prefix: str) -> tuple[str, str]:
    """Give the process and the application that a prefix names."""
    process, application = PROCESS.search(prefix), APPLICATION.search(prefix)
    return (process[1] or process[2]) if process else "", application[1] if application else ""


def postgres(times: TimeReader) -> Read:
    """Give the reader of lines that a server writes to stderr: any prefix, a severity, a colon, two
    spaces.
    """

    known: dict[str, tuple[str, str]] = {}

    def read(line: str) -> Entry | None:
        end = line.find(SEPARATOR)
        while 0 < end < PREFIX_LIMIT:
            word = BEFORE.split(line[max(0, end - LONGEST_WORD) : end])[-1]
            if word in DEGREES or word in PARTS:
                break
            end = line.find(SEPARATOR, end + 1)
        else:
            return None
        message, prefix = line[end + len(SEPARATOR) :], line[: end - len(word)]
        stamp = times.find(prefix) if prefix else None
        who = prefix[stamp.end :] if stamp else prefix
        if who not in known:
            if len(known) >= REMEMBERED:
                known.clear()
            known[who] = _writer(who)
        number, source = known[who]
        if word in PARTS:
            return Entry(None, None, message, part=PARTS[word], process=number)
        if message.startswith("connection authorized"):
            named = NAMED.search(message)
            source = named[1] if named else source
        return Entry(
            stamp.at if stamp else None,
            DEGREES[word],
            message,
            "" if "unknown" in source else source,
            process=number,
        )

    return read


def of_columns(row: list[str], times: TimeReader) -> Entry | None:
    """Give the entry of a csvlog row, or None when the row is none."""
    if not 20 <= len(row) <= len(CSV_COLUMNS):
        return None
    record = dict(zip(CSV_COLUMNS, row, strict=False))
    severity = DEGREES.get(record["error_severity"]) or severity_of(record["error_severity"])
    at = times.of(record["log_time"])
    if severity is None or at is None:
        return None
    parts = tuple(
        (kind, record[column])
        for kind, column in (
            ("detail", "detail"),
            ("hint", "hint"),
            ("context", "context"),
            ("statement", "query"),
        )
        if record[column]
    )
    return Entry(
        at,
        severity,
        record["message"],
        record.get("application_name", ""),
        parts=parts,
        process=record["process_id"],
    )
