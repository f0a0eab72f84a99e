"""A fresh home whose making is cut off at any system call is made whole by the next command."""

import os
import signal
from pathlib import Path

import pytest

from tests.acceptance.company import Company
from tests.acceptance.traced import traced
from tests.processes import Done, Processes

TRIAGE = "triage@acme/platform"
CALLS = "openat,pwrite64,fdatasync,fsync,link,unlink,ftruncate,mkdir,flock"
FILES = ("", "key", "ledger.db", "ledger.db-wal", "ledger.db-shm")
SOME = (1, 2, 4, 6, 8, 10, 13, 40, 52)
EVERY = range(1, 100)
"""The system calls at which to kill; `INTERLOCK_EVERY_CALL=1` kills at every one."""


def made(folder: Path) -> Company:
    """Give a company that nobody has opened yet."""
    return Company.made(folder, ("triage", "listener"))


def check_usable(company: Company, commands: Processes) -> None:
    """The home takes everything that a fresh one takes."""
    published = commands.run("publish", folder=company.folder)
    assert published.code == 0, published
    ran = commands.run("run", TRIAGE, '{"order": "o7"}', folder=company.folder)
    assert ran.code == 0, ran
    assert commands.run("verify", folder=company.folder).code == 0
    versions = company.rows("SELECT agent, number FROM version ORDER BY 1")
    assert versions == [("listener@acme/platform", 1), (TRIAGE, 1)]
    assert len(company.artifacts()) == 4


@pytest.mark.rule("RN-4", "CS-1")
def test_a_home_whose_making_was_killed_is_made_whole(commands: Processes, tmp_path: Path) -> None:
    killed = 0
    for count in EVERY if os.environ.get("INTERLOCK_EVERY_CALL") else SOME:
        company = made(tmp_path / str(count))
        paths = [option for name in FILES for option in ("-P", str(company.home / name).rstrip("/"))]
        inject = f"inject={CALLS}:signal=SIGKILL:when={count}"
        code, _ = traced(*paths, "-e", inject, folder=company.folder, arguments=("publish",))
        killed += code == -signal.SIGKILL
        check_usable(company, commands)
    assert killed >= len(SOME) - 1


@pytest.mark.rule("AG-2", "RN-4")
@pytest.mark.parametrize("point", ["append.before_commit", "append.after_commit"])
def test_publishing_that_was_killed_is_done_by_publishing_again(
    point: str, commands: Processes, tmp_path: Path
) -> None:
    for count in (1, 2):
        company = made(tmp_path / str(count))
        fault = {"INTERLOCK_FAULT": f"{point}:{count}"}
        assert commands.run("publish", folder=company.folder, environment=fault).code == -signal.SIGKILL
        check_usable(company, commands)


@pytest.mark.rule("CS-1", "AG-2")
def test_several_who_open_a_fresh_home_at_once_share_one_key_and_one_ledger(
    commands: Processes, tmp_path: Path
) -> None:
    company = made(tmp_path / "company")
    started = [commands.start("publish", folder=company.folder) for _ in range(4)]
    done: list[Done] = [process.wait() for process in started]
    assert [item.code for item in done] == [0] * 4, done
    check_usable(company, commands)
