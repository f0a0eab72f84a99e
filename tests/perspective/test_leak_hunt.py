"""The leak hunt as the suite has it; see `tests.perspective.leak_hunt`."""

from collections import Counter

import pytest

from tests.perspective.leak_hunt import hunt

SEEDS, STEPS = 4, 40


@pytest.mark.rule("PX-1", "PX-2", "PX-3", "PX-4", "ME-1", "ME-2", "WG-2", "WG-5", "CS-5")
@pytest.mark.fault("F15", "F24")
def test_of_two_agents_that_share_a_person_a_thread_and_a_host_nothing_of_one_reaches_the_other():
    happened: Counter[str] = Counter()
    for seed in range(SEEDS):
        happened += hunt(seed, STEPS)
    for kind, least in (
        ("prompt", 500),
        ("tool.judged", 500),
        ("rows", 200),
        ("memory.written", 50),
        ("message.observed", 100),
        ("said", 20),
        ("message.sent", 20),
        ("task.handed_over", 3),
        ("work.started", 10),
        ("decision.recorded", 3),
        ("identity.linked", 5),
        ("identity.unlinked", 2),
        ("memory show", 20),
        ("prompt show", 20),
        ("trail", 40),
    ):
        assert happened[kind] >= least, (kind, happened)
