"""Two processes in turmoil: one owner at all times, no action twice, none lost; see `tests.message.turmoil`."""

from collections import Counter

import pytest

from tests.message.play import play_deeds, written

SEEDS, STEPS, PARTS = 100, 100, 4
KEPT = {
    "who acknowledged and handed on is not late when resumed": (
        ("say", 39, 1, 4, 55), ("say", 13, 39, 24, 9), ("open", 5, 9), ("work", 33, 1), ("doom", 44, 34),
        ("say", 58, 1, 48, 33), ("say", 19, 41, 55, 5), ("work_together", 58),
    ),
    "what says that it did nothing speaks of itself alone": (
        ("say", 20, 55, 44, 50), ("open", 24, 55), ("say", 34, 10, 23, 56), ("work_together", 20), ("behave", 33),
        ("say", 31, 19, 52, 16), ("behave", 10), ("work_together", 59), ("kill", 4), ("work", 28, 48),
    ),
}  # fmt: skip
"""Courses that failed once, at their shortest."""


@pytest.mark.rule("MS-3", "MS-6", "MS-7", "AC-1", "AC-2", "RN-4", "RN-5", "WK-2")
@pytest.mark.fault("F2", "F5", "F32")
@pytest.mark.parametrize("part", range(PARTS))
def test_whoever_dies_sleeps_or_comes_second_each_task_has_one_owner_and_no_action_is_done_twice(part):
    happened: Counter[str] = Counter()
    for seed in range(part, SEEDS, PARTS):
        happened += play_deeds(written(seed, STEPS), seed)
    for kind in (
        "death",
        "effect",
        "action.in_doubt",
        "task.handed_over",
        "task.acknowledged",
        "task.queued",
    ):
        assert happened[kind] > 50 // PARTS, (kind, happened)


@pytest.mark.rule("MS-7", "AC-2")
@pytest.mark.parametrize("deeds", KEPT.values(), ids=KEPT)
def test_what_failed_once_holds(deeds):
    play_deeds(deeds)
