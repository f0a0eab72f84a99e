"""A play: a course of deeds that chance writes, carried out in a turmoil with the invariants held after each.

`python -m tests.message.play --seeds 100 --steps 100` plays that many, from `--first`. Of one that fails, `--shrink`
gives the shortest course that still does, to be kept in `tests.message.test_turmoil`.
"""

import argparse
import asyncio
import random
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.message.invariant import Invariants
from tests.message.turmoil import DEEDS, Deed, Turmoil

__all__ = ["play_deeds", "shortened", "written"]

OFTEN = {
    "say": 10,
    "work": 8,
    "decide": 5,
    "open": 4,
    "behave": 4,
    "doom": 4,
    "work_together": 3,
    "wait": 3,
    "fire": 2,
    "let_go": 2,
}
"""How often a deed is chosen for each time that one of the others is."""
LONGEST = 60
"""Seconds of real time after which a deed that does not end is given up."""
TRIES = 3
"""How often a shorter course is played before it counts as sound: threads commit when they like."""


def written(seed: int, steps: int) -> list[Deed]:
    """Write a course of deeds."""
    chance = random.Random(seed)
    names = chance.choices(list(DEEDS), [OFTEN.get(name, 1) for name in DEEDS], k=steps)
    return [(name, *(chance.randrange(60) for _ in range(DEEDS[name]))) for name in names]


def play_deeds(deeds: Sequence[Deed], seed: int = 0) -> Counter[str]:
    """Play a course, let all come to rest, and give what happened how often. Raises AssertionError."""
    with tempfile.TemporaryDirectory(prefix="turmoil-") as folder:
        return asyncio.run(_play(Path(folder), deeds, seed))


async def _play(folder: Path, deeds: Sequence[Deed], seed: int) -> Counter[str]:
    turmoil = Turmoil(folder, seed)
    await turmoil.begin()
    invariants = Invariants(turmoil)
    try:
        for deed in deeds:
            await asyncio.wait_for(turmoil.do(deed), LONGEST)
            await invariants.hold()
        await asyncio.wait_for(turmoil.come_to_rest(), LONGEST)
        await invariants.hold_at_rest()
    finally:
        invariants.close()
        await turmoil.end()
    happened = {"death": turmoil.deaths, "effect": turmoil.outside.effects.total()}
    return invariants.kinds + Counter(happened)


def shortened(deeds: Sequence[Deed], seed: int = 0) -> list[Deed]:
    """Leave out of a failing course what it does not need to fail, in ever smaller pieces."""
    left, size = list(deeds), max(1, len(deeds) // 2)
    while size:
        start, shorter = 0, False
        while start < len(left):
            candidate = left[:start] + left[start + size :]
            if _fails(candidate, seed):
                left, shorter = candidate, True
            else:
                start += size
        size = size if shorter and size == 1 else size // 2
    return left


def _fails(deeds: Sequence[Deed], seed: int) -> bool:
    for _ in range(TRIES):
        try:
            play_deeds(deeds, seed)
        except AssertionError:
            return True
    return False


def main() -> None:
    """Play as many as were asked for, and tell what happened in all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--shrink", action="store_true")
    given = parser.parse_args()
    happened: Counter[str] = Counter()
    failed = []
    for seed in range(given.first, given.first + given.seeds):
        deeds = written(seed, given.steps)
        try:
            happened += play_deeds(deeds, seed)
        except AssertionError:
            failed.append(seed)
            print(f"seed {seed}:", traceback.format_exc(limit=-2), flush=True)
            if given.shrink:
                print(*shortened(deeds, seed), sep=",\n", flush=True)
    for name, count in happened.most_common():
        print(f"{count:8} {name}")
    print(f"{given.seeds * given.steps} deeds; failed: {failed or 'none'}")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
