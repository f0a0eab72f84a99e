"""Ten thousand steps of tasks, owners, hand-offs, crashes and late arrivals; see `tests.message.machine`."""

import pytest

from tests.message.machine import TaskMachine, run_machine

PARTS, EXAMPLES, STEPS = 5, 22, 100
"""Parts, so that they can run beside each other: ten thousand steps in all."""


@pytest.mark.rule("MS-6", "MS-7", "MS-3", "AC-1", "AC-2", "RN-4", "WK-2")
@pytest.mark.fault("F2", "F5")
@pytest.mark.parametrize("part", range(PARTS))
def test_there_is_one_owner_at_all_times_and_no_action_is_done_twice_or_lost(part):
    assert run_machine(EXAMPLES, STEPS, part=part) >= 10_000 // PARTS


def replay(seed, *steps):
    """Make the steps of a story that failed once."""
    machine = TaskMachine()
    machine.begin(seed)
    for name, *given in steps:
        getattr(machine, name)(*given)
        machine.one_owner_at_all_times()
        machine.no_action_twice_and_none_lost()
    machine.teardown()


@pytest.mark.rule("AC-1")
def test_two_runs_that_claim_a_fresh_action_at_the_same_moment():
    """Each saw that nobody had claimed it; the database lets one of them have it."""
    replay(
        795,
        ("let_time_pass", 1), ("let_time_pass", 1), ("open_task", "a"), ("die_at_append", 18, False),
        ("die_at_point", "tool.before_call", 1), ("let_time_pass", 1), ("open_task", "a"), ("open_task", "b"),
        ("work", "mixed"), ("let_time_pass", 700), ("work", "well"),
    )  # fmt: skip
