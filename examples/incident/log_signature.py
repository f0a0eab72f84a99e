"""A signature: a fault that many systems report in well-known words, and what such a fault commonly follows
from.
"""

import re
from dataclasses import dataclass

__all__ = ["SIGNATURES", "Signature", "signature_of"]


@dataclass(frozen=True, slots=True)
class Signature:
    """A known fault.

    name: its id; the catalogue says it in words as `incident.fault_<name>`. pattern: the words by which it is
    known. severity: the least severity it has, whatever level it is logged at. follows: the faults of which
    it is commonly a consequence, when they came first and close before. deliberate: whether someone asked for
    it, so that it is a response or a cause, but not an accident.
    """

    name: str
    pattern: re.Pattern[str]
    severity: str = "warning"
    follows: tuple[str, ...] = ()
    deliberate: bool = False


def _known(name: str, pattern: str, severity: str, *follows: str, deliberate: bool = False) -> Signature:
    return Signature(name, re.compile(pattern, re.IGNORECASE), severity, follows, deliberate)


GONE = ("process_killed", "process_crashed", "out_of_memory", "disk_full", "crash_recovery")
WAITS = ("lock_wait", "deadlock", "disk_full", "slow_statement")

SIGNATURES = (
    _known(
        "process_killed",
        r"terminated by signal 9\b|\bkilled process \d+|oom-?kill|"
        r"\bSIGKILL\b|exit(?:ed)? (?:with )?(?:code|status) 137",
        "fatal",
        "out_of_memory",
    ),
    _known(
        "process_crashed",
        r"terminated by signal (?:4|6|7|8|11)\b|segmentation fault|"
        r"segfault at|core dumped|SIGSEGV|SIGABRT",
        "fatal",
        "corruption",
        "disk_full",
    ),
    _known(
        "out_of_memory",
        r"out of memory|OutOfMemoryError|cannot allocate memory|\bMemoryError\b|"
        r"memory cgroup",
        "error",
    ),
    _known(
        "disk_full",
        r"no space left on device|disk (?:is )?full|could not extend file|"
        r"ENOSPC|disk quota exceeded",
        "error",
    ),
    _known(
        "corruption",
        r"invalid page in block|checksum (?:mismatch|verification failed)|"
        r"page verification failed|data corruption|is corrupt",
        "fatal",
    ),
    _known(
        "crash_recovery",
        r"terminating any other active server processes|because of crash of another server process|"
        r"not properly shut down|was interrupted; last known up|automatic recovery in progress|"
        r"all server processes terminated; reinitializing|"
        r"database system is (?:in recovery mode|starting up|not yet accepting connections)",
        "warning",
        *GONE,
    ),
    _known(
        "deadlock",
        r"deadlock (?:detected|found)|was deadlocked|deadlock_detected",
        "error",
    ),
    _known(
        "lock_wait",
        r"still waiting for \w+ ?lock|lock wait timeout|lock timeout|"
        r"could not obtain lock|database is locked",
        "warning",
    ),
    _known(
        "statement_timeout",
        r"due to statement timeout|query_wait_timeout|maximum statement execution time|"
        r"statement timed out|query timed out",
        "error",
        *WAITS,
    ),
    _known(
        "connections_exhausted",
        r"too many clients already|remaining connection slots are reserved|"
        r"too many connections|no more connections allowed|"
        r"connection pool (?:is )?(?:exhausted|full|timed out)|"
        r"timeout waiting for (?:idle object|connection)|QueuePool limit|"
        r"Connection is not available, request timed out",
        "fatal",
        "lock_wait",
        "statement_timeout",
        "deadlock",
        "slow_statement",
    ),
    _known(
        "connection_terminated",
        r"terminating connection due to|terminating (?:walsender|background worker) .*administrator|"
        r"connection was killed|KILL(?:ed)? by",
        "error",
        "connections_exhausted",
        "lock_wait",
        "statement_timeout",
        "deadlock",
        deliberate=True,
    ),
    _known(
        "shutting_down",
        r"received (?:fast|smart|immediate) shutdown request|the database system is shutting down|"
        r"shutting down gracefully|received SIGTERM",
        "info",
        deliberate=True,
    ),
    _known(
        "connection_lost",
        r"connection reset by peer|unexpected EOF|broken pipe|server closed the connection|"
        r"could not receive data from client|ECONNRESET|connection (?:was )?(?:lost|closed unexpectedly)|"
        r"connection to client lost",
        "warning",
        *GONE,
        "connection_terminated",
        "connections_exhausted",
        "shutting_down",
        "statement_timeout",
    ),
    _known(
        "connection_refused",
        r"connection refused|ECONNREFUSED|no live upstreams|host is unreachable|"
        r"no route to host",
        "error",
        *GONE,
        "shutting_down",
        "connections_exhausted",
        "restart_loop",
    ),
    _known(
        "upstream_timeout",
        r"upstream timed out|read timed out|SocketTimeoutException|"
        r"deadline exceeded|ETIMEDOUT|i/o timeout|gateway time-?out|"
        r"HTTP504|TimeoutError|context canceled",
        "error",
        *WAITS,
        *GONE,
        "connections_exhausted",
        "connection_refused",
        "statement_timeout",
    ),
    _known(
        "name_resolution",
        r"could not resolve|name or service not known|ENOTFOUND|no such host|"
        r"getaddrinfo|temporary failure in name resolution",
        "error",
    ),
    _known(
        "too_many_files",
        r"too many open files|EMFILE",
        "error",
    ),
    _known(
        "certificate",
        r"certificate (?:has )?expired|x509:|certificate verify failed|"
        r"SSLHandshakeException|bad certificate",
        "error",
    ),
    _known(
        "authentication",
        r"authentication failed|access denied for user|invalid credentials|"
        r"unauthori[sz]ed|HTTP401|login failed",
        "warning",
    ),
    _known(
        "restart_loop",
        r"back-?off restarting failed container|CrashLoopBackOff|respawning too fast|"
        r"start request repeated too quickly",
        "error",
        *GONE,
        "disk_full",
        "certificate",
        "name_resolution",
    ),
    _known(
        "not_ready",
        r"(?:liveness|readiness|startup) probe (?:failed|errored)|"
        r"NodeNotReady|not ready",
        "warning",
        *GONE,
        "upstream_timeout",
        "connection_refused",
    ),
    _known(
        "slow_statement",
        r"^duration: \d{3,}|slow query",
        "info",
        "lock_wait",
        "statement_timeout",
    ),
    _known(
        "duplicate_key",
        r"duplicate key value|duplicate entry|UNIQUE constraint failed",
        "error",
    ),
    _known(
        "missing_object",
        r"(?:relation|column|table|function) .{1,200} does not exist|"
        r"no such (?:table|column)|unknown column",
        "error",
    ),
    _known(
        "server_error",
        r"^HTTP5\d\d\b",
        "error",
        *GONE,
        *WAITS,
        "connections_exhausted",
        "connection_refused",
        "upstream_timeout",
        "statement_timeout",
    ),
    _known(
        "overloaded",
        r"^HTTP(?:429|499|408)\b|rate limit(?:ed)?|too many requests",
        "error",
        *WAITS,
        "upstream_timeout",
        "server_error",
    ),
)


def signature_of(message: str) -> Signature | None:
    """Give the first known fault that a message tells of, or None."""
    text = message[:600]
    return next((signature for signature in SIGNATURES if signature.pattern.search(text)), None)
