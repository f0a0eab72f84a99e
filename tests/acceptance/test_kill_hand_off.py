"""`kill -9` of sender, receiver and timer process at every fault point of a hand-off and of a write, once each."""

import time
from collections import Counter
from pathlib import Path

import pytest

from tests.acceptance.kill_hand_off import KINDS, LATE, hand_over_alone, made, one_round, points_of
from tests.processes import Processes


@pytest.mark.rule("MS-6", "MS-7", "AC-2", "RN-4", "WK-2")
@pytest.mark.fault("F5")
@pytest.mark.parametrize("kind", KINDS)
def test_one_owner_no_write_twice_and_none_lost_whoever_is_killed(
    kind: str, commands: Processes, tmp_path: Path
) -> None:
    fresh = made(tmp_path / "fresh", commands)
    overdue = kind == "timer"
    if overdue:  # All copies of it are overdue at once, and only one time is waited for.
        hand_over_alone(fresh, commands)
        time.sleep(LATE)
    told: Counter[str] = Counter()
    for number, point in enumerate(points_of(kind)):
        count = 4 if kind == "receiver" and not point.startswith("hand_off") else 1
        company = fresh.copy(tmp_path / f"{number}")
        told[one_round(company, commands, [(kind, point, count)], overdue=overdue)] += 1
    assert told["finished"] or kind == "timer", told
    assert told["with people"] or kind != "timer", told
