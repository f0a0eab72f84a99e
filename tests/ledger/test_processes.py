"""Several real processes on one ledger, some of them killed."""

import signal
from pathlib import Path

import pytest

from interlock.ledger.content_check import ContentCheck
from interlock.ledger.content_store import ContentStore
from interlock.ledger.key import Keys
from interlock.ledger.object_folder import ObjectFolder
from interlock.ledger.sqlite import SqliteLedger
from tests.ledger.process import Child, run_together
from tests.ledger.world import LEASE, SqliteStore, found, in_loop, queue

KILLED = -signal.SIGKILL


@pytest.mark.fault("F39")
@pytest.mark.rule("WK-1")
@in_loop
async def test_eight_processes_open_a_fresh_file_at_once_and_write(tmp_path: Path) -> None:
    children = [
        Child(
            "write_steps",
            tmp_path,
            "append.before_commit:100" if number == 3 else "",
            stream=f"task_{number}",
            count=200,
        )
        for number in range(8)
    ]
    said = run_together(children)
    assert [child.code for child in children] == [KILLED if number == 3 else 0 for number in range(8)]
    written = [99 if number == 3 else 200 for number in range(8)]
    assert said == [list(range(1, count + 1)) for count in written]
    async with SqliteStore(tmp_path).open() as ledger:
        for number, count in enumerate(written):
            assert len(await ledger.read(f"task_{number}")) == count
        assert await found(ledger) == []


@pytest.mark.fault("F39")
@in_loop
async def test_fresh_files_are_opened_by_many_without_a_lock_error(tmp_path: Path) -> None:
    assert run_together([Child("open_many", tmp_path, count=40) for _ in range(8)]) == [[]] * 8
    for number in range(40):
        ledger = await SqliteLedger.open(tmp_path / f"{number}.db")
        assert len(await ledger.read("acme")) == 8
        await ledger.close()


@pytest.mark.fault("F4")
@pytest.mark.rule("RN-5")
@in_loop
async def test_two_processes_claim_each_run_once(tmp_path: Path) -> None:
    runs = [f"run_{number:04}" for number in range(1000)]
    async with SqliteStore(tmp_path).open() as ledger:
        await queue(ledger, *runs)
        children = [Child("claim_all", tmp_path, worker=worker) for worker in ("w1", "w2")]
        said = [[run for batch in batches for run in batch] for batches in run_together(children)]
        assert sorted([*said[0], *said[1]]) == runs
        assert all(said), "both had a share"
        for run in runs[::50]:
            (lease,) = await ledger.query("lease_of_run", run)
            assert run in said[0 if lease[0] == "w1" else 1]
        assert await found(ledger) == []


@pytest.mark.fault("F32")
@pytest.mark.rule("RN-5")
@in_loop
async def test_of_two_processes_that_go_on_with_a_run_one_does(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path).open() as ledger:
        await queue(ledger, "run_1")
        (claimed,) = await ledger.claim("w", 1, LEASE)
        head = (await ledger.read("run_1"))[-1].head
        where = {"run": "run_1", "seq": head.seq, "digest": head.digest.hex(), "fence": claimed.fence}
        said = run_together([Child("go_on", tmp_path, **where, count=30) for _ in range(2)])
        assert sorted(said) == [["Appended"] * 30, ["Conflict"]]
        steps = await ledger.read("run_1")
        assert len(steps) == 32
        assert len({step.body["by"] for step in steps[2:]}) == 1
        assert await found(ledger) == []


@pytest.mark.rule("RN-4")
@pytest.mark.fault("F5")
@pytest.mark.parametrize(
    "fault",
    [
        "append.before_commit:1",
        "append.before_commit:9",
        "append.after_commit:1",
        "append.after_commit:9",
        "*:14",
    ],
)
@in_loop
async def test_a_killed_process_loses_nothing_acknowledged_and_halves_nothing(
    tmp_path: Path, fault: str
) -> None:
    child = Child("write_pairs", tmp_path, fault, streams=5, count=40)
    (said,) = run_together([child])
    assert child.code == KILLED
    async with SqliteStore(tmp_path).open() as ledger:
        for name in range(5):
            left, right = [
                [step.body["n"] for step in await ledger.read(f"{side}_{name}")] for side in ("left", "right")
            ]
            assert left == right == [number for number in range(1, len(left) // 2 + 1) for _ in range(2)]
            acknowledged = [number for stream, number in said if stream == name]
            assert set(acknowledged) <= set(left)
            assert len(left) // 2 - len(acknowledged) <= 1
        assert await found(ledger) == []
    (said,) = run_together([Child("write_pairs", tmp_path, streams=5, count=2)])
    assert len(said) == 10, "the ledger is usable afterwards"


@pytest.mark.rule("CS-2", "CS-8")
@pytest.mark.parametrize("point", ["object.before_rename", "object.after_rename", "append.before_commit"])
@in_loop
async def test_no_step_names_large_content_that_is_not_there(tmp_path: Path, point: str) -> None:
    child = Child("keep_large", tmp_path, f"{point}:3", first=0, count=6)
    (said,) = run_together([child])
    assert child.code == KILLED
    assert len(said) == 2
    async with SqliteStore(tmp_path).open() as ledger:
        contents = _contents(ledger, tmp_path)
        steps = await ledger.read("task_1")
        assert [step.body["digest"] for step in steps] == said
        assert [item async for item in ContentCheck(ledger, contents, {}).of_everything()] == []
        assert len(await contents.read(said[1])) == 100_000
    (said,) = run_together([Child("keep_large", tmp_path, first=2, count=4)])
    assert len(said) == 4, "what was left half done is in nobody's way"


@pytest.mark.rule("CS-1")
def test_eight_processes_that_make_the_key_at_once_have_one(tmp_path: Path) -> None:
    said = run_together([Child("make_key", tmp_path) for _ in range(8)])
    assert len({line[0] for line in said}) == 1
    assert [file.name for file in (tmp_path / "home").iterdir()] == ["key"]


def _contents(ledger: SqliteLedger, folder: Path) -> ContentStore:
    return ContentStore(ledger, Keys.of_file(folder / "key"), ObjectFolder(folder / "objects"), 64)
