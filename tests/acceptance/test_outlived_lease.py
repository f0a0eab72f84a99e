"""A worker whose tool outlasts its lease: with a heartbeat it keeps the run, without one the action is in doubt."""

import signal
from pathlib import Path

import pytest

from tests.acceptance.queue_runs import queue
from tests.acceptance.test_workers import check_sound, kinds, published, statuses, until
from tests.processes import Processes

PAYER = "payer@acme/platform"


@pytest.mark.rule("WK-2", "AC-2")
@pytest.mark.fault("F2")
def test_a_write_that_outlasts_its_lease_is_entered_once_while_the_heart_beats(
    commands: Processes, tmp_path: Path
) -> None:
    company = published(tmp_path, commands, "payer", lease="2s")
    (run,) = queue(company.folder, PAYER, 1)
    first = commands.start("worker", folder=company.folder)
    until(lambda: company.effects["pay"], first)
    ((begun,),) = company.rows("SELECT until FROM lease")
    other = commands.start("worker", folder=company.folder)
    until(lambda: company.rows("SELECT until FROM lease")[0][0] > begun + 2000, first, other)
    company.go()
    until(lambda: statuses(company) == {"finished"}, first, other)
    for worker in (first, other):
        worker.send(signal.SIGTERM)
        assert worker.wait().code == 0
    assert company.effects == {"pay": 1}
    assert kinds(company, run).count("run.claimed") == 1
    assert company.rows("SELECT state FROM action") == [("done",)]
    check_sound(company, commands)


@pytest.mark.rule("WK-2", "AC-2", "RN-5", "MS-8")
@pytest.mark.fault("F2", "F46")
def test_a_write_of_a_worker_that_lost_its_lease_is_in_doubt_and_never_done_twice_in_silence(
    commands: Processes, tmp_path: Path
) -> None:
    company = published(tmp_path, commands, "payer", lease="1s")
    (run,) = queue(company.folder, PAYER, 1)
    sleeper = commands.start("worker", folder=company.folder)
    until(lambda: company.effects["pay"], sleeper)
    sleeper.send(signal.SIGSTOP)
    other = commands.start("worker", folder=company.folder)
    until(lambda: company.rows("SELECT 1 FROM question"), other)
    assert company.rows("SELECT kind, outcome FROM question") == [("action", None)]
    assert company.rows("SELECT state FROM action") == [("in_doubt",)]
    before = company.trails()[run]
    company.go()
    sleeper.send(signal.SIGCONT)
    queue(company.folder, PAYER, 1)
    until(lambda: "finished" in statuses(company), sleeper, other)
    assert company.trails()[run] == before, "who woke late writes nothing"
    assert company.rows("SELECT state FROM action ").count(("in_doubt",)) == 1
    ((question,),) = company.rows("SELECT id FROM question")
    decided = commands.run("answer", question, "done", "--no-wait", folder=company.folder)
    assert decided.code == 0, decided
    until(lambda: statuses(company) == {"finished"}, sleeper, other)
    for worker in (sleeper, other):
        worker.send(signal.SIGTERM)
        assert worker.wait().code == 0
    assert company.effects_by_run("pay")[run] == 1
    check_sound(company, commands)
