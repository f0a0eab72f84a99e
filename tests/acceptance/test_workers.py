"""Real workers on one SQLite file: each run is run once, whoever stops, dies, sleeps or comes second."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.company import Company
from tests.acceptance.queue_runs import queue
from tests.processes import PATIENCE, Process, Processes

HOLDER = "holder@acme/platform"


def until(told: Callable[[], object], *processes: Process) -> None:
    """Wait for something that processes are about to do; fail when one of them ends before."""
    end = time.monotonic() + PATIENCE
    while not told():
        assert time.monotonic() < end, "it did not come to that"
        for process in processes:
            assert not process.ended(), process.wait()
        time.sleep(0.01)


def published(folder: Path, commands: Processes, *agents: str, **settings: object) -> Company:
    """Give a company whose agents are published."""
    company = Company.made(folder / "company", agents, **settings)
    assert commands.run("publish", folder=company.folder).code == 0
    return company


def kinds(company: Company, run: str) -> list[str]:
    """Give the kinds of a run's steps."""
    return [step.kind for step in company.trails()[run]]


def statuses(company: Company) -> set[str]:
    """Give the statuses that runs have."""
    return {row[0] for row in company.rows("SELECT DISTINCT status FROM run")}


def check_sound(company: Company, commands: Processes) -> None:
    """The ledger is whole, and nobody holds a run any more."""
    verified = commands.run("verify", folder=company.folder)
    assert verified.code == 0, verified
    assert company.rows("SELECT run FROM lease") == []


@pytest.mark.rule("WK-1", "RN-5", "EV-5")
@pytest.mark.fault("F4")
def test_two_workers_share_a_thousand_runs_and_run_each_once(commands: Processes, tmp_path: Path) -> None:
    company = published(tmp_path, commands, "counter")
    runs = queue(company.folder, "counter@acme/platform", 1000)
    workers = [commands.start("worker", "--drain", "--json", folder=company.folder) for _ in range(2)]
    done = [worker.wait() for worker in workers]
    assert [item.code for item in done] == [0, 0], done
    shares = [item.json()["runs"] for item in done]
    assert sum(shares) == 1000 and all(shares), shares
    assert company.effects_by_run("count") == dict.fromkeys(runs, 1)
    trails = company.trails()
    for run in runs:
        told = [step.kind for step in trails[run]]
        assert told.count("run.claimed") == told.count("tool.answered") == told.count("run.closed") == 1
    assert statuses(company) == {"finished"}
    check_sound(company, commands)


@pytest.mark.rule("RN-5")
@pytest.mark.fault("F8")
def test_recovery_leaves_alone_what_is_running(commands: Processes, tmp_path: Path) -> None:
    company = published(tmp_path, commands, "holder")
    first = commands.start("run", HOLDER, folder=company.folder)
    until(lambda: company.effects["hold"], first)
    second = commands.run("worker", "--drain", "--json", folder=company.folder)
    assert (second.code, second.json()["runs"]) == (0, 0)
    company.go()
    assert first.wait().code == 0
    assert company.effects == {"hold": 1, "book": 1}
    check_sound(company, commands)


@pytest.mark.rule("RN-5", "RN-2")
@pytest.mark.fault("F8", "F32")
def test_of_two_that_find_the_same_waiting_run_one_runs_it(commands: Processes, tmp_path: Path) -> None:
    company = published(tmp_path, commands, "counter")
    runs = []
    for _ in range(6):
        runs += queue(company.folder, "counter@acme/platform", 1)
        workers = [commands.start("worker", "--drain", "--json", folder=company.folder) for _ in range(3)]
        done = [worker.wait() for worker in workers]
        assert sum(item.json()["runs"] for item in done) == 1, done
    assert company.effects_by_run("count") == dict.fromkeys(runs, 1)
    check_sound(company, commands)


@pytest.mark.rule("RN-5", "WK-2")
@pytest.mark.fault("F32")
def test_of_two_that_resume_a_dead_workers_run_one_goes_on(commands: Processes, tmp_path: Path) -> None:
    company = published(tmp_path, commands, "holder")
    first = commands.start("run", HOLDER, folder=company.folder)
    until(lambda: company.effects["hold"], first)
    first.send(signal.SIGKILL)
    first.wait()
    company.go()
    workers = [commands.start("worker", "--drain", "--json", folder=company.folder) for _ in range(2)]
    assert sum(worker.wait().json()["runs"] for worker in workers) == 1
    (steps,) = company.trails().values()
    (taken,) = [step.body for step in steps if step.kind == "run.claimed"]
    assert taken["after"]["worker"] != taken["worker"]
    assert company.effects == {"hold": 2, "book": 1}
    check_sound(company, commands)


@pytest.mark.rule("RN-5", "WK-2")
@pytest.mark.fault("F46", "F32")
def test_a_worker_that_slept_past_its_lease_writes_nothing_when_it_wakes(
    commands: Processes, tmp_path: Path
) -> None:
    company = published(tmp_path, commands, "holder", lease="1s")
    queue(company.folder, HOLDER, 1)
    sleeper = commands.start("worker", folder=company.folder)
    until(lambda: company.effects["hold"] == 1, sleeper)
    sleeper.send(signal.SIGSTOP)
    other = commands.start("worker", folder=company.folder)
    until(lambda: company.effects["hold"] == 2, other)
    company.go()
    until(lambda: statuses(company) == {"finished"}, other)
    before = company.trails()
    sleeper.send(signal.SIGCONT)
    queue(company.folder, HOLDER, 1)
    until(lambda: company.effects["book"] == 2, sleeper, other)
    for worker in (sleeper, other):
        worker.send(signal.SIGTERM)
        assert worker.wait().code == 0
    (run, steps), *_ = before.items()
    assert company.trails()[run] == steps
    assert [step.kind for step in steps].count("run.claimed") == 2
    assert company.effects_by_run("book")[run] == 1
    check_sound(company, commands)


@pytest.mark.rule("WK-2")
def test_a_body_that_blocks_its_process_keeps_its_lease(commands: Processes, tmp_path: Path) -> None:
    company = published(tmp_path, commands, "blocker", lease="2s")
    queue(company.folder, "blocker@acme/platform", 1)
    blocked = commands.start("worker", folder=company.folder)
    until(lambda: company.effects["block"], blocked)
    ((run, begun),) = company.rows("SELECT run, until FROM lease")
    other = commands.start("worker", folder=company.folder)
    until(lambda: company.rows("SELECT until FROM lease")[0][0] > begun + 2000, blocked, other)
    company.go()
    until(lambda: statuses(company) == {"finished"}, blocked, other)
    for worker in (blocked, other):
        worker.send(signal.SIGTERM)
        assert worker.wait().code == 0
    assert company.effects == {"block": 1}
    assert kinds(company, run).count("run.claimed") == 1
    check_sound(company, commands)


@pytest.mark.rule("WK-2")
def test_a_worker_that_is_told_to_stop_finishes_what_it_runs_and_takes_nothing_new(
    commands: Processes, tmp_path: Path
) -> None:
    company = published(tmp_path, commands, "holder", "counter")
    queue(company.folder, HOLDER, 1)
    worker = commands.start("worker", "--json", folder=company.folder)
    until(lambda: company.effects["hold"], worker)
    worker.send(signal.SIGTERM)
    assert not worker.ended(0.5)
    queue(company.folder, "counter@acme/platform", 1)
    company.go()
    done = worker.wait()
    assert (done.code, done.json()["runs"]) == (0, 1)
    assert company.effects == {"hold": 1, "book": 1}
    assert commands.run("worker", "--drain", "--json", folder=company.folder).json()["runs"] == 1
    check_sound(company, commands)


@pytest.mark.rule("WK-2", "RN-4")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_told_twice_gives_back_what_it_runs(
    number: signal.Signals, commands: Processes, tmp_path: Path
) -> None:
    company = published(tmp_path, commands, "holder")
    queue(company.folder, HOLDER, 1)
    worker = commands.start("worker", folder=company.folder)
    until(lambda: company.effects["hold"], worker)
    worker.send(number)
    assert not worker.ended(0.3)
    worker.send(number)
    done = worker.wait()
    assert done.code == 0 and "Traceback" not in done.errors, done
    assert company.rows("SELECT worker FROM lease") == [(None,)]
    company.go()
    assert commands.run("worker", "--drain", folder=company.folder).code == 0
    assert company.effects == {"hold": 2, "book": 1}
    check_sound(company, commands)


@pytest.mark.rule("RN-4", "UI-1")
def test_an_interrupted_run_is_given_back_and_goes_on_elsewhere(commands: Processes, tmp_path: Path) -> None:
    company = published(tmp_path, commands, "holder")
    first = commands.start("run", HOLDER, folder=company.folder)
    until(lambda: company.effects["hold"], first)
    first.send(signal.SIGINT)
    done = first.wait()
    assert done.code == 130 and "Traceback" not in done.errors, done
    assert company.rows("SELECT worker FROM lease") == [(None,)]
    company.go()
    assert commands.run("worker", "--drain", folder=company.folder).code == 0
    assert company.effects == {"hold": 2, "book": 1}
    check_sound(company, commands)
