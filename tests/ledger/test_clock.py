"""The movable clock, which tests hand in."""

import asyncio

from interlock.clock import Clock, new_id
from interlock.testing import MovableClock
from tests.ledger.world import in_loop


@in_loop
async def test_sleepers_wake_in_order_when_the_clock_has_been_moved_past_them() -> None:
    clock: MovableClock = MovableClock(now=1000)
    accepted: Clock = clock
    woken: list[float] = []

    async def sleep(seconds: float) -> None:
        await accepted.sleep(seconds)
        woken.append(seconds)

    tasks = [asyncio.create_task(sleep(seconds)) for seconds in (3, 1, 2, 0, -1)]
    await clock.someone_sleeps(3)
    clock.move(0.999)
    await asyncio.sleep(0)
    assert woken == [0, -1]
    assert clock.now() == 1999
    clock.move(1.001)
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    while clock.sleeping > 1 or len(woken) < 4:
        await asyncio.sleep(0)
    assert woken == [0, -1, 1, 2]
    clock.move(-60)
    assert clock.sleeping == 1
    clock.move(61)
    await asyncio.gather(*tasks)
    assert woken[-1] == 3


@in_loop
async def test_a_sleeper_that_gives_up_is_forgotten() -> None:
    clock = MovableClock()
    task = asyncio.create_task(clock.sleep(5))
    await clock.someone_sleeps()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert clock.sleeping == 0
    clock.move(10)


def test_chance_comes_from_the_seed() -> None:
    one, same, other = MovableClock(seed=4), MovableClock(seed=4), MovableClock(seed=5)
    drawn = [one.random_bytes(8) for _ in range(3)]
    assert drawn == [same.random_bytes(8) for _ in range(3)]
    assert drawn != [other.random_bytes(8) for _ in range(3)]
    assert new_id("run", one) < new_id("run", one)
