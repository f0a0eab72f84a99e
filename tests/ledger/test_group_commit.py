"""Appends that share a transaction: cheap together, and each all or nothing for itself."""

import asyncio
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import pytest

from interlock.errors import InterlockError
from interlock.ledger.ledger import Appended, Conflict, ContentRow, Outcome, Row, Write
from interlock.ledger.sqlite import SqliteLedger
from interlock.ledger.step import Head
from tests.ledger.world import SqliteStore, found, in_loop, note, write

BLOCK = 200_000


class Commits:
    """Counts commits, and makes those fail or wait that a test names."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.failing: list[Exception] = []
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, point: str) -> None:
        self.seen[point] += 1
        if point == "append.before_commit":
            self.gate.wait(30)
            if self.failing:
                raise self.failing.pop(0)

    @property
    def count(self) -> int:
        return self.seen["append.after_commit"]


def one(number: int, **more: Any) -> tuple[Write, ...]:
    return (Write(f"task_{number}", None, (note(number, **more),)), Write("acme", None, (note(number),)))


async def settle(ledger: SqliteLedger, numbers: range) -> list[Outcome | BaseException]:
    return await asyncio.gather(*(ledger.append(one(number)) for number in numbers), return_exceptions=True)


def on_disk(store: SqliteStore) -> set[str]:
    return {name for (name,) in store.outside().execute("SELECT DISTINCT stream FROM step")}


@in_loop
async def test_appends_that_wait_together_share_one_commit(store: SqliteStore) -> None:
    commits = Commits()
    async with store.open(commits) as ledger:
        outcomes = await settle(ledger, range(64))
        assert all(isinstance(outcome, Appended) for outcome in outcomes)
        assert commits.count == 1
        for number in range(64, 74):
            await ledger.append(one(number))
        assert commits.count == 11
        assert await found(ledger) == []


@in_loop
async def test_what_comes_during_a_commit_goes_with_the_next(store: SqliteStore) -> None:
    commits = Commits()
    async with store.open(commits) as ledger:
        commits.gate.clear()
        first = asyncio.create_task(ledger.append(one(1)))
        while not commits.seen["append.before_commit"]:
            await asyncio.sleep(0)
        rest = [asyncio.create_task(ledger.append(one(number))) for number in range(2, 30)]
        reading = asyncio.create_task(ledger.read("acme"))
        await asyncio.sleep(0)
        assert not first.done()
        assert not reading.done()
        commits.gate.set()
        await asyncio.gather(first, *rest)
        assert commits.count == 2
        assert len(await ledger.read("acme")) == 29


@in_loop
async def test_nobody_is_answered_before_the_commit(store: SqliteStore) -> None:
    answered: list[int] = []

    def reach(point: str) -> None:
        assert not answered
        assert on_disk(store) == (set() if point == "append.before_commit" else {"acme", *streams})

    streams = {f"task_{number}" for number in range(8)}
    async with store.open(reach) as ledger:

        async def append(number: int) -> None:
            assert isinstance(await ledger.append(one(number)), Appended)
            assert on_disk(store) == {"acme", *streams}
            answered.append(number)

        await asyncio.gather(*(append(number) for number in range(8)))
    assert sorted(answered) == list(range(8))


@in_loop
async def test_one_refusal_among_many_leaves_the_others(store: SqliteStore) -> None:
    commits = Commits()
    async with store.open(commits) as ledger:
        wrong: tuple[Write, ...] = (*one(31)[:1], Write("acme", Head(99, b"x" * 32), (note(1),)))
        outcomes = await asyncio.gather(
            *(ledger.append(wrong if number == 31 else one(number)) for number in range(64))
        )
        assert [number for number, outcome in enumerate(outcomes) if outcome == Conflict()] == [31]
        assert sum(isinstance(outcome, Appended) for outcome in outcomes) == 63
        assert commits.count == 1
        assert on_disk(store) == {"acme", *(f"task_{number}" for number in range(64) if number != 31)}
        assert await found(ledger) == []


MISTAKES: dict[str, dict[str, Any]] = {
    "no such query": {"rows": (Row("no_such_query", ()),)},
    "too few values": {"rows": (Row("settle_owed", ()),)},
    "a value of another type": {"contents": (ContentRow(b"c" * 32, "acme", 1, 0, "text"),)},  # type: ignore[arg-type]
    "an unknown constraint": {"contents": (ContentRow(b"short", "acme", 1, 0, b""),)},
    "a value that is no value": {"rows": (Row("settle_owed", (object(),)),)},
}


@pytest.mark.parametrize("mistake", MISTAKES)
@in_loop
async def test_a_mistake_in_one_append_fails_that_one(store: SqliteStore, mistake: str) -> None:
    async with store.open() as ledger:
        outcomes = await asyncio.gather(
            *(
                ledger.append(one(number), **(MISTAKES[mistake] if number == 3 else {}))
                for number in range(8)
            ),
            return_exceptions=True,
        )
        assert [number for number, outcome in enumerate(outcomes) if isinstance(outcome, Exception)] == [3]
        assert "task_3" not in on_disk(store)
        assert len(await ledger.read("acme")) == 7
        assert await found(ledger) == []


@in_loop
async def test_a_failed_append_does_not_keep_other_writers_out(store: SqliteStore) -> None:
    async with store.open() as ledger:
        with pytest.raises(KeyError):
            await ledger.append((), rows=(Row("no_such_query", ()),))
        store.outside().execute("BEGIN IMMEDIATE; COMMIT")


@pytest.mark.parametrize("error", [apsw.FullError("full"), apsw.IOError("disk"), apsw.BusyError("busy")])
@in_loop
async def test_a_commit_that_fails_is_made_up_one_by_one(store: SqliteStore, error: Exception) -> None:
    commits = Commits()
    commits.failing = [error]
    async with store.open(commits) as ledger:
        outcomes = await settle(ledger, range(10))
        assert all(isinstance(outcome, Appended) for outcome in outcomes)
        assert commits.count == 10
        assert await found(ledger) == []


@in_loop
async def test_each_waiter_of_a_failed_group_learns_its_own_outcome(store: SqliteStore) -> None:
    commits = Commits()
    commits.failing = [
        apsw.FullError("the group"),
        apsw.FullError("the first alone"),
        apsw.FullError("the second"),
    ]
    async with store.open(commits) as ledger:
        first, second, third, fourth = await settle(ledger, range(4))
        for failed in (first, second):
            assert isinstance(failed, InterlockError)
            assert failed.code == "ledger.unwritable"
        assert isinstance(third, Appended)
        assert isinstance(fourth, Appended)
        assert on_disk(store) == {"acme", "task_2", "task_3"}
        assert isinstance((await settle(ledger, range(1)))[0], Appended)
        assert await found(ledger) == []


@in_loop
async def test_what_others_built_on_an_accepted_append_fits_after_a_retry(store: SqliteStore) -> None:
    commits = Commits()
    commits.failing = [apsw.IOError("disk")]
    async with store.open(commits) as ledger:
        accepted = await ledger.append((Write("task_1", Head(), (note(1),)),), durable=False)
        assert isinstance(accepted, Appended)
        store.clock.move(5)
        await write(ledger, "task_1", note(2), after=accepted.heads[0])
        assert [step.seq for step in await ledger.read("task_1")] == [1, 2]


@in_loop
async def test_a_flush_tells_that_an_accepted_append_was_lost(store: SqliteStore) -> None:
    commits = Commits()
    async with store.open(commits) as ledger:
        commits.failing = [apsw.IOError("disk")] * 2
        accepted = await ledger.append((Write("task_1", Head(), (note(1),)),), durable=False)
        assert isinstance(accepted, Appended)
        with pytest.raises(InterlockError) as caught:
            await ledger.append(())
        assert caught.value.code == "ledger.unwritable"
        assert await ledger.append((Write("task_1", accepted.heads[0], (note(2),)),)) == Conflict()
        await ledger.append(())
        assert await found(ledger, None) == []


@in_loop
async def test_an_accepted_append_that_another_process_overtakes_is_lost_and_told(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = Commits()
    async with store.open(commits) as ledger, store.open() as other:
        roll_back = ledger._group._roll_back

        def roll_back_late() -> None:
            roll_back()
            monkeypatch.undo()
            other._group._begin()
            other._write((Write("task_1", Head(), (note(9),)),), (), (), (), 1)
            other._db.execute("COMMIT")

        commits.failing = [apsw.IOError("disk")]
        append = (Write("task_1", Head(), (note(1),)),)
        assert isinstance(await ledger.append(append, durable=False), Appended)
        monkeypatch.setattr(ledger._group, "_roll_back", roll_back_late)
        second = asyncio.create_task(ledger.append(one(2)))
        with pytest.raises(InterlockError):
            await ledger.flush()
        assert isinstance(await second, Appended)
        assert [step.body["n"] for step in await ledger.read("task_1")] == [9]
        assert await found(ledger) == []


@in_loop
async def test_a_flush_that_comes_later_tells_it_too(store: SqliteStore) -> None:
    commits = Commits()
    async with store.open(commits) as ledger:
        commits.failing = [apsw.IOError("disk")]
        await ledger.append((Write("task_1", Head(), (note(1),)),), durable=False)
        while commits.failing:
            await asyncio.sleep(0.001)
        await ledger.query("stopped_scopes")
        with pytest.raises(InterlockError):
            await ledger.flush()
        await ledger.flush()


@in_loop
async def test_an_error_that_takes_the_whole_transaction_with_it_fails_nobody_else(
    store: SqliteStore,
) -> None:
    commits = Commits()
    tried: Counter[str] = Counter()
    async with store.open(commits) as ledger:

        def unlucky(name: str, times: int) -> str:
            """What SQLite does when the disk is full or fails in the middle of a statement."""
            tried[name] += 1
            if tried[name] <= times:
                ledger._db.execute("ROLLBACK")
                raise apsw.FullError(name)
            return name

        outcomes = await asyncio.gather(
            ledger.append(one(1)),
            ledger._group.submit(lambda: unlucky("fits alone", 1)),
            ledger.append(one(2)),
            ledger._group.submit(lambda: unlucky("never fits", 9)),
            ledger.append(one(3)),
            return_exceptions=True,
        )
        assert [isinstance(outcome, Appended) for outcome in outcomes] == [True, False, True, False, True]
        assert outcomes[1] == "fits alone"
        assert isinstance(outcomes[3], InterlockError)
        assert tried == {"fits alone": 2, "never fits": 2}
        assert on_disk(store) == {"acme", "task_1", "task_2", "task_3"}
        assert not ledger._db.in_transaction
        assert await found(ledger) == []


def _limit(ledger: SqliteLedger, more: int | None) -> None:
    """Let the file grow by so many pages, and no further."""
    pages = ledger._db.pragma("page_count")
    ledger._db.pragma("max_page_count", 1 << 30 if more is None else pages + more)


@in_loop
async def test_a_file_that_may_not_grow_fails_who_does_not_fit_and_nobody_else(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await settle(ledger, range(3))
        _limit(ledger, 20)
        outcomes = await asyncio.gather(
            *(
                ledger.append(one(number, text="x" * (BLOCK if number % 5 == 0 else 1)))
                for number in range(10, 30)
            ),
            return_exceptions=True,
        )
        failed = {
            f"task_{10 + place}" for place, outcome in enumerate(outcomes) if isinstance(outcome, Exception)
        }
        assert failed == {"task_10", "task_15", "task_20", "task_25"}
        assert {outcome.code for outcome in outcomes if isinstance(outcome, InterlockError)} == {
            "ledger.unwritable"
        }
        assert not failed & on_disk(store)
        assert len(await ledger.read("acme")) == 3 + 16
        _limit(ledger, None)
        assert isinstance((await settle(ledger, range(1)))[0], Appended)
        assert await found(ledger) == []


@in_loop
async def test_a_full_disk_loses_nothing_that_was_answered(tiny_disk: Path) -> None:
    store = SqliteStore(tiny_disk)
    done: set[int] = set()
    async with store.open() as ledger:
        failed = 0
        for start in range(0, 4000, 40):
            outcomes = await asyncio.gather(
                *(ledger.append(one(number, text="x" * 500)) for number in range(start, start + 40)),
                return_exceptions=True,
            )
            done |= {start + place for place, outcome in enumerate(outcomes) if isinstance(outcome, Appended)}
            failed += sum(isinstance(outcome, InterlockError) for outcome in outcomes)
            assert len(done) + failed == start + 40, "every waiter has learnt something"
            if failed >= 60:
                break
        assert failed >= 60
        assert on_disk(store) == {"acme", *(f"task_{number}" for number in done)}
        (tiny_disk / "ballast").unlink()
        assert isinstance((await settle(ledger, range(5000, 5001)))[0], Appended)
        assert await found(ledger) == []
    async with store.open() as ledger:
        assert on_disk(store) == {"acme", "task_5000", *(f"task_{number}" for number in done)}
        assert len(await ledger.read("acme", 0, 10_000)) == len(done) + 1
        assert await found(ledger) == []


@in_loop
async def test_a_writer_waits_for_another_process_without_holding_up_the_loop(store: SqliteStore) -> None:
    async with store.open() as ledger:
        outside = store.outside()
        outside.execute("BEGIN IMMEDIATE")
        waiting = [asyncio.create_task(ledger.append(one(number))) for number in range(20)]
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not any(task.done() for task in waiting)
        assert len(await ledger.read("acme")) == 0
        outside.execute("COMMIT")
        assert all(isinstance(outcome, Appended) for outcome in await asyncio.gather(*waiting))


@in_loop
async def test_a_process_that_never_lets_go_is_named(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.ledger.group_commit.BUSY_SECONDS", 0.02)
    async with store.open() as ledger:
        outside = store.outside()
        outside.execute("BEGIN IMMEDIATE")
        outcomes = await settle(ledger, range(3))
        assert [getattr(outcome, "code", None) for outcome in outcomes] == ["ledger.busy"] * 3
        outside.execute("COMMIT")
        assert isinstance((await settle(ledger, range(1)))[0], Appended)


@in_loop
async def test_a_waiter_that_gives_up_harms_nobody(store: SqliteStore) -> None:
    async with store.open() as ledger:
        tasks = [asyncio.create_task(ledger.append(one(number))) for number in range(6)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(outcomes[2], asyncio.CancelledError)
        assert sum(isinstance(outcome, Appended) for outcome in outcomes) == 5
        assert await found(ledger) == []


@in_loop
async def test_a_closed_ledger_says_so(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await ledger.append(one(1), durable=False)
    assert on_disk(store) == {"acme", "task_1"}
    with pytest.raises(InterlockError) as caught:
        await ledger.append(one(2))
    assert caught.value.code == "ledger.unwritable"


@in_loop
async def test_a_ledger_opened_to_read_refuses_to_write_and_holds_nothing(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await ledger.append(one(1))
        reader = await SqliteLedger.open(store.path, clock=store.clock, read_only=True)
        for _ in range(2):
            with pytest.raises(InterlockError) as caught:
                await reader.append(one(2))
            assert caught.value.code == "ledger.unwritable"
        assert not reader._db.in_transaction
        await ledger.append(one(3))
        assert len(await reader.read("acme")) == 2
        await reader.close()


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 500])
@in_loop
async def test_a_file_that_is_no_ledger_is_named(store: SqliteStore, content: bytes) -> None:
    store.path.write_bytes(content)
    with pytest.raises(InterlockError) as caught:
        await SqliteLedger.open(store.path)
    assert caught.value.code == "ledger.unreadable"
    with pytest.raises(InterlockError) as caught:
        await SqliteLedger.open(store.folder / "no" / "such" / "folder.db")
    assert caught.value.code == "ledger.unreadable"


@pytest.mark.rule("WK-3")
@in_loop
async def test_a_file_of_another_format_is_named_and_left_alone(store: SqliteStore) -> None:
    async with store.open():
        pass
    store.outside().execute("PRAGMA user_version = 77")
    with pytest.raises(InterlockError) as caught:
        await SqliteLedger.open(store.path)
    assert (caught.value.code, caught.value.params["found"]) == ("ledger.other_format", 77)
