"""A movable clock: time that stands still until a test moves it, and chance that comes from a seed."""

import asyncio
import heapq
import itertools
import random

__all__ = ["MovableClock"]

START = 1_767_225_600_000
"""The first instant of 2026 in UTC, in milliseconds since the Unix epoch."""


class MovableClock:
    """A clock to hand to an installation under test.

    `now` is in milliseconds since the Unix epoch and changes by `move` alone. Who sleeps wakes when the clock
    has been moved to the end of the sleep or past it: nothing waits for real time, and nothing goes on unasked.
    The same `seed` gives the same random bytes in the same order.
    """

    def __init__(self, now: int = START, seed: int = 0) -> None:
        self._now = now
        self._chance = random.Random(seed)
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._changed = asyncio.Event()

    def now(self) -> int:
        """Give the time in milliseconds since the Unix epoch. May be called from any thread."""
        return self._now

    def random_bytes(self, count: int) -> bytes:
        """Give the next `count` bytes that the seed leads to."""
        return self._chance.randbytes(count)

    def move(self, seconds: float) -> None:
        """Move the clock, and wake those whose sleep is over. A negative amount sets it back, as an operator
        or a time server may; who sleeps then sleeps longer."""
        self._now += round(seconds * 1000)
        while self._sleepers and self._sleepers[0][0] <= self._now:
            _, _, waking = heapq.heappop(self._sleepers)
            if not waking.done():
                waking.set_result(None)

    @property
    def sleeping(self) -> int:
        """How many are asleep."""
        return sum(not waking.done() for _, _, waking in self._sleepers)

    async def someone_sleeps(self, count: int = 1) -> None:
        """Wait until at least `count` are asleep: the moment at which moving the clock means something."""
        while self.sleeping < count:
            self._changed.clear()
            await self._changed.wait()

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been moved by `seconds`; for nought or less, only let others run."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waking = asyncio.get_running_loop().create_future()
        end = self._now + round(seconds * 1000)
        heapq.heappush(self._sleepers, (end, next(self._numbers), waking))
        self._changed.set()
        await waking
