"""The database itself refuses what would change the past, whoever asks, over whatever connection."""

import apsw
import pytest

from interlock.ledger.step import BEGINNING
from tests.ledger.world import LEASE, SqliteStore, found, in_loop, note, queue, write

COLUMNS = "(stream, seq, kind, at, fence, body, previous, digest)"
ZERO, OTHER = f"x'{BEGINNING.hex()}'", f"x'{'ab' * 32}'"


def values(stream: str, seq: int, previous: str = ZERO, fence: int | str = 0) -> str:
    return f"('{stream}', {seq}, 'noted', 1, {fence}, '{{}}', {previous}, {OTHER})"


LAST = "(SELECT digest FROM step WHERE stream = 'task_1' AND seq = 2)"
FORBIDDEN = [
    "UPDATE step SET body = '{}'",
    "UPDATE step SET body = body WHERE stream = 'task_1' AND seq = 1",
    "UPDATE OR REPLACE step SET seq = 2 WHERE stream = 'task_1' AND seq = 1",
    "UPDATE OR IGNORE step SET at = 0",
    "DELETE FROM step",
    "DELETE FROM step WHERE stream = 'task_1' AND seq = 2",
    "WITH x AS (SELECT 1) DELETE FROM step",
    *(
        f"{verb} INTO step {COLUMNS} VALUES {row}"
        for verb in ("INSERT", "INSERT OR REPLACE", "REPLACE", "INSERT OR ROLLBACK", "INSERT OR FAIL")
        for row in (
            values("task_1", 1),
            values("task_1", 2, "(SELECT digest FROM step WHERE stream = 'task_1' AND seq = 1)"),
            values("task_1", 3, OTHER),
            values("task_1", 4, LAST),
            values("task_2", 1, OTHER),
            values("task_2", 2),
            values("task_2", 0),
            values("task_2", -1),
        )
    ),
    f"INSERT INTO step {COLUMNS} VALUES {values('task_1', 1)} ON CONFLICT DO UPDATE SET body = excluded.body",
    f"INSERT INTO step {COLUMNS} VALUES {values('task_1', 1)} ON CONFLICT (stream, seq) DO NOTHING",
    "INSERT OR REPLACE INTO step SELECT stream, seq, kind, at, fence, '{}', previous, digest FROM step",
    f"INSERT INTO step {COLUMNS} VALUES ('task_2', 1, 'noted', 'soon', 0, '{{}}', {ZERO}, {OTHER})",
    f"INSERT INTO step {COLUMNS} VALUES ('task_2', 1, 'noted', 1, 0, '{{}}', {ZERO}, x'ab')",
    f"INSERT INTO step {COLUMNS} VALUES ('task_2', 1, 'noted', 1, NULL, '{{}}', {ZERO}, {OTHER})",
]


@pytest.mark.rule("RN-2")
@in_loop
async def test_a_step_can_be_neither_changed_nor_removed_nor_replaced(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await write(ledger, "task_1", note(1), note(2))
        before = await ledger.read("task_1")
        outside = store.outside()
        for pragmas in ((), ("recursive_triggers = ON",), ("foreign_keys = ON", "synchronous = OFF")):
            for pragma in pragmas:
                outside.execute(f"PRAGMA {pragma}")
            for statement in FORBIDDEN:
                with pytest.raises((apsw.ConstraintError, apsw.SQLError)):
                    outside.execute(statement)
                    pytest.fail(statement)
        assert await ledger.read("task_1") == before
        assert outside.execute("SELECT count(*) FROM step").fetchall() == [(2,)]
        assert await found(ledger) == []


@pytest.mark.rule("RN-2")
@in_loop
async def test_an_ignored_replacement_leaves_the_step_as_it_is(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await write(ledger, "task_1", note(1))
        before = await ledger.read("task_1")
        outside = store.outside()
        for verb in ("INSERT OR IGNORE", "INSERT OR REPLACE"):
            with pytest.raises(apsw.ConstraintError, match="conflict"):
                outside.execute(f"{verb} INTO step {COLUMNS} VALUES {values('task_1', 1)}")
        assert await ledger.read("task_1") == before


@pytest.mark.rule("RN-5")
@in_loop
async def test_a_writer_without_the_lease_is_refused_by_the_database_itself(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await queue(ledger, "run_1", "run_2")
        (claimed,) = await ledger.claim("w1", 1, LEASE)
        assert claimed.run == "run_1"
        outside = store.outside()

        def attempt(run: str, seq: int, fence: int) -> None:
            last = f"(SELECT digest FROM step WHERE stream = '{run}' AND seq = {seq - 1})"
            outside.execute(f"INSERT INTO step {COLUMNS} VALUES {values(run, seq, last, fence)}")

        for run, seq, fence in (
            ("run_1", 3, 0),
            ("run_1", 3, 1),
            ("run_1", 3, 3),
            ("run_2", 2, 0),
            ("run_2", 2, 2),
        ):
            with pytest.raises(apsw.ConstraintError, match="fenced"):
                attempt(run, seq, fence)
        await ledger.release("run_1", claimed.fence)
        with pytest.raises(apsw.ConstraintError, match="fenced"):
            attempt("run_1", 3, claimed.fence)
        await ledger.claim("w2", 1, LEASE)
        assert await found(ledger) == []
