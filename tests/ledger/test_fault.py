"""Fault points: each is reached somewhere, and kills the process when a test asks for it."""

import subprocess
import sys
from pathlib import Path

import pytest

import interlock
from interlock.fault import POINTS, from_environment, nothing

SOURCE = Path(interlock.__file__).parent


def test_every_point_is_reached_in_one_place_and_no_other_name_is() -> None:
    texts = [path.read_text("utf-8") for path in SOURCE.rglob("*.py") if path.name != "fault.py"]
    reached = [part.partition('"')[0] for text in texts for part in text.split('each("')[1:]]
    assert sorted(reached) == sorted(POINTS)


def test_nothing_happens_unless_it_is_asked_for() -> None:
    assert from_environment({}) is nothing
    assert from_environment({"INTERLOCK_FAULT": ""}) is nothing
    reach = from_environment({"INTERLOCK_FAULT": "run.opened:2"})
    for point in ("run.opened", "run.claimed", "model.before_send"):
        reach(point)


@pytest.mark.parametrize(("asked", "before"), [("b", "a"), ("b:2", "aba"), ("*:3", "ab"), ("*", "")])
def test_the_process_dies_at_the_point_and_time_asked_for(asked: str, before: str) -> None:
    program = (
        "from interlock.fault import from_environment\nimport sys\n"
        f"reach = from_environment({{'INTERLOCK_FAULT': {asked!r}}})\n"
        "for point in 'abab':\n    reach(point)\n    print(point, end='', flush=True)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == -9
    assert ended.stdout == before
