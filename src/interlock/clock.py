"""The clock: the only place that knows real time, identifiers and chance.

Everything else is handed a `Clock`; tests hand in `interlock.testing.MovableClock`.
"""

import secrets
import threading
import time
from typing import Protocol

__all__ = ["Clock", "SystemClock", "new_id"]


class Clock(Protocol):
    """A source of time and chance."""

    def now(self) -> int:
        """Give the time in milliseconds since the Unix epoch."""
        ...

    def random_bytes(self, count: int) -> bytes:
        """Give `count` bytes that nobody can guess."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait, letting others run."""
        ...


class SystemClock:
    """The machine's own clock and its source of randomness."""

    def now(self) -> int:
        """Give the time in milliseconds since the Unix epoch."""
        return time.time_ns() // 1_000_000

    def random_bytes(self, count: int) -> bytes:
        """Give `count` bytes from the operating system."""
        return secrets.token_bytes(count)

    async def sleep(self, seconds: float) -> None:
        """Wait, letting others run."""
        import asyncio  # noqa: PLC0415  a start of the command line that never sleeps need not load it

        await asyncio.sleep(seconds)


_lock = threading.Lock()
_last = 0


def new_id(kind: str, clock: Clock) -> str:
    """Give a new identifier such as `run_0198c…`: `kind`, then a UUIDv7 (RFC 9562) without its hyphens.

    Identifiers of one process rise strictly (RFC 9562, 6.2, method 3), also when the clock stands still or is
    set back, so that keys written one after the other lie side by side.
    """
    global _last  # noqa: PLW0603  one sequence for the process is the point
    with _lock:
        _last = max(clock.now() << 12, _last + 1)
        stamp = _last
    tail = int.from_bytes(clock.random_bytes(8)) & ((1 << 62) - 1)
    number = ((stamp >> 12) << 80) | (7 << 76) | ((stamp & 0xFFF) << 64) | (2 << 62) | tail
    return f"{kind}_{number:032x}"
