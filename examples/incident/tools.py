"""The tool of this example: `scan_log`, which makes sense of any log file without keeping its lines."""

import asyncio
import threading
from typing import Any

from log_scan import scan

from interlock.connector.tool import tool

__all__ = ["scan_log"]

COUNTS = (
    "bytes",
    "lines",
    "entries",
    "parts",
    "strays",
    "untimed",
    "outside",
    "backwards",
    "cut_lines",
    "nul_bytes",
    "timed",
    "bucket_width",
    "template_count",
    "templates_not_listed",
    "overflow_entries",
    "buckets[].entries",
    "buckets[].failures",
    "buckets[].warnings",
    "templates[].number",
    "templates[].count",
    "templates[].first.line",
    "templates[].last.line",
)
"""What the scan counted itself. Whoever wrote the log wrote everything else in the result, times included."""


@tool(effect="read", labels=["untrusted"], fields={path: [] for path in COUNTS}, timeout_ms=1_800_000)
async def scan_log(path: str) -> dict[str, Any]:
    """Read a log file of any common format, size and encoding, and say what it holds.

    Gives the format, counts by severity, the failing rate over time, and the templates of repeated entries,
    each with count, first and last occurrence and an example. Never gives the log itself.
    """
    given_up = threading.Event()
    try:
        return await asyncio.to_thread(scan, path, given_up.is_set)
    finally:
        given_up.set()
