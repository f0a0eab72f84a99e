"""A race: a hundred agents want the same action from four processes; one does it, and the others get its result."""

import json
from pathlib import Path

import pytest

from tests.acceptance.queue_runs import queue
from tests.acceptance.test_workers import check_sound, published, statuses
from tests.processes import Processes

RUNS, WORKERS = 100, 4


@pytest.mark.rule("AC-1", "AC-2", "WK-1")
def test_of_a_hundred_that_race_from_four_processes_one_acts_and_the_others_get_its_result(
    commands: Processes, tmp_path: Path
) -> None:
    company = published(tmp_path, commands, "charger")
    queue(company.folder, "charger@acme/platform", RUNS)
    workers = [
        commands.start("worker", "--drain", "--concurrency", "20", "--json", folder=company.folder)
        for _ in range(WORKERS)
    ]
    done = [worker.wait() for worker in workers]
    assert [item.code for item in done] == [0] * WORKERS, done
    assert len([1 for item in done if item.json()["runs"]]) > 1, "more than one process took part"
    assert company.effects == {"charge": 1}
    told = [json.loads(body) for (body,) in company.rows("SELECT body FROM step WHERE kind = 'task.acted'")]
    assert sorted(body["outcome"] for body in told) == ["done"] + ["repeated"] * (RUNS - 1)
    assert len({body["result"] for body in told}) == 1, "all of them have the one receipt"
    answered = [
        step.body for steps in company.trails().values() for step in steps
        if step.kind == "tool.answered" and step.body["tool"] == "charge"
    ]  # fmt: skip
    assert len({body["result"] for body in answered}) == 1
    assert sum("repeats" in body for body in answered) == RUNS - 1
    assert statuses(company) == {"finished"}
    check_sound(company, commands)
