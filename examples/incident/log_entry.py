"""An entry: one happening that a log tells of, whatever the log's format, and the parts that belong to it."""

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Entry", "Read"]


class Entry(NamedTuple):
    """What one record of a log says.

    at: seconds since the Unix epoch in UTC, None when the record has no time.
    severity: one of `log_severity.DEGREES`, None when the record has none.
    message: its text. source: the application, program or logger that wrote it, when it says so.
    part: when not empty, the record is no happening of its own but this part (`detail`, `statement`,
    `trace`) of the one before it.
    parts: further parts that came in the same record. process: the process that wrote it.
    """

    at: float | None
    severity: str | None
    message: str
    source: str = ""
    part: str = ""
    parts: tuple[tuple[str, str], ...] = ()
    process: str = ""


Read = Callable[[str], Entry | None]
"""Reads one record of one format, or gives None when the record is not of that format."""
