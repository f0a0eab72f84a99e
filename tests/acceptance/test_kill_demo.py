"""The demo survives `kill -9` at random points; see `tests.acceptance.kill_demo` for more seeds."""

import os
from pathlib import Path

import pytest

from tests.acceptance.kill_demo import expected_of, kill_and_resume
from tests.processes import Processes

SEEDS = int(os.environ.get("INTERLOCK_KILL_SEEDS", "8"))


@pytest.mark.rule("RN-4", "EV-5", "CS-1", "AG-2")
@pytest.mark.fault("F5")
def test_the_demo_killed_at_random_points_ends_as_if_nothing_had_been(
    commands: Processes, tmp_path: Path
) -> None:
    expected = expected_of(tmp_path, commands)
    names = {name for _, name in expected.contents}
    assert {"triage_summary", "suspected_cause", "response_plan"} <= names
    killed = []
    for seed in range(1, SEEDS + 1):
        killed += kill_and_resume(seed, tmp_path, commands, expected)
        print(seed, killed)
    assert sum("(" not in where for where in killed) >= SEEDS // 2, killed
