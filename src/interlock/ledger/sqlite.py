"""The SQLite ledger: one file, one writing connection per process, commits shared by all who wait.

Statements run on the event loop's thread and only COMMIT, which waits for the disk, runs in a helper thread;
while it is under way, appends gather, and the next transaction carries them all. Each append is a savepoint
of its own within the shared transaction, so that one refusal leaves the others as they are.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import apsw

from interlock import canonical
from interlock.clock import Clock, SystemClock
from interlock.errors import InterlockError
from interlock.fault import Reach, nothing
from interlock.ledger import projection
from interlock.ledger.ledger import (
    Appended,
    Claimed,
    Conflict,
    ContentRow,
    Fenced,
    Finding,
    Outcome,
    Refused,
    Row,
    Write,
)
from interlock.ledger.sql import queries, text_of
from interlock.ledger.step import Draft, Head, Step, link

__all__ = ["SqliteLedger", "connect"]

SCHEMA_FORMAT = 1
BUSY_SECONDS = 60.0
LINGER = 0.005
"""How long, in seconds, an append that nobody waits for may stay uncommitted."""
POLL = 0.2
WRITES = ("INSERT", "UPDATE", "DELETE")

_CONSTRAINTS = {
    "UNIQUE constraint failed: run.cause": Refused("already_opened"),
    "CHECK constraint failed: over_budget": Refused("over_budget"),
    "UNIQUE constraint failed: version.agent, version.number": Conflict(),
    "conflict": Conflict(),
    "fenced": Fenced(),
}


class _Refusal(Exception):
    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


class _Member:
    """One piece of work of a shared transaction, who waits for it, and what came of it."""

    __slots__ = ("durable", "outcome", "waiting", "work")

    def __init__(self, work: Callable[[], Any], durable: bool, waiting: "asyncio.Future[Any]") -> None:
        self.work, self.durable, self.waiting = work, durable, waiting
        self.outcome: Any = None

    def answer(self) -> None:
        if not self.waiting.done():
            self.waiting.set_result(self.outcome)

    def fail(self, error: BaseException) -> None:
        if not self.waiting.done():
            self.waiting.set_exception(error)


def connect(path: Path, synchronous: str = "FULL", read_only: bool = False) -> apsw.Connection:
    """Open a connection as the ledger needs it. Raises InterlockError `ledger.unreadable`."""
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    try:
        db = apsw.Connection(str(path), flags=flags)
        db.set_busy_timeout(int(BUSY_SECONDS * 1000))
        if not read_only:
            db.execute("PRAGMA journal_mode = wal")
        db.execute(f"PRAGMA synchronous = {synchronous}")
        db.execute("PRAGMA recursive_triggers = ON")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cache_size = -65536")
        db.execute("PRAGMA wal_autocheckpoint = 4000")
        db.execute("PRAGMA temp_store = memory")
    except apsw.Error as error:
        raise InterlockError("ledger.unreadable", file=str(path), why=str(error)) from None
    return db


def _prepare(db: apsw.Connection, path: Path) -> None:
    """Make the tables of an empty file; refuse a file of another format."""
    db.execute("BEGIN IMMEDIATE")
    try:
        found = db.pragma("user_version")
        if found == 0:
            for statement in (text_of("sqlite_schema.sql"), f"PRAGMA user_version = {SCHEMA_FORMAT}"):
                db.execute(statement)
        elif found != SCHEMA_FORMAT:
            raise InterlockError("ledger.other_format", file=str(path), found=found, known=SCHEMA_FORMAT)
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


class SqliteLedger:
    """The ledger in one SQLite file. Made with `SqliteLedger.open`, from within the event loop that uses it."""

    def __init__(self, path: Path, db: apsw.Connection, clock: Clock, reach: Reach) -> None:
        self.path = path
        self._db, self._clock, self._reach = db, clock, reach
        self._sql = queries("queries.sql")
        self._insert_step, self._move_head = self._sql["insert_step"], self._sql["move_head"]
        self._waiting: list[_Member] = []
        self._executed: list[_Member] = []
        self._committing = False
        self._commit_due = False
        self._idle: asyncio.Event = asyncio.Event()
        self._idle.set()
        self._linger: asyncio.TimerHandle | None = None
        self._busy_since: float | None = None
        self._committer = ThreadPoolExecutor(1, "interlock-commit")
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        clock: Clock | None = None,
        reach: Reach = nothing,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
        read_only: bool = False,
    ) -> "SqliteLedger":
        """Open the file, making it if it is not there. `synchronous="NORMAL"` survives a crash of the
        process but not of the power.

        Raises InterlockError `ledger.unreadable`, or `ledger.other_format` for another version's file.
        """

        def ready() -> apsw.Connection:
            db = connect(path, synchronous, read_only)
            try:
                if not read_only:
                    _prepare(db, path)
                db.set_busy_timeout(int(BUSY_SECONDS * 1000) if read_only else 0)
            except apsw.Error as error:
                db.close()
                raise InterlockError("ledger.unreadable", file=str(path), why=str(error)) from None
            except InterlockError:
                db.close()
                raise
            return db

        return cls(path, await asyncio.to_thread(ready), clock or SystemClock(), reach)

    async def close(self) -> None:
        """Commit what waits and let go of the file."""
        await self.flush()
        self._committer.shutdown()
        self._db.close()

    # Appending

    async def append(
        self,
        writes: Sequence[Write],
        *,
        guards: Sequence[Row] = (),
        rows: Sequence[Row] = (),
        contents: Sequence[ContentRow] = (),
        durable: bool = True,
    ) -> Outcome:
        """Write all or nothing; see `interlock.ledger.ledger.Ledger.append`."""
        outcome: Outcome = await self._submit(lambda: self._write(writes, guards, rows, contents), durable)
        return outcome

    async def flush(self) -> None:
        """Wait until all that was accepted so far is on disk."""
        if self._executed or self._waiting or self._committing:
            await self._submit(lambda: None, durable=True)

    def _write(
        self, writes: Sequence[Write], guards: Sequence[Row], rows: Sequence[Row], contents: Sequence[ContentRow]
    ) -> Outcome:
        if contents:
            self._db.executemany(self._sql["insert_content"], contents)
        self._execute_rows(guards)
        at = self._clock.now()
        heads = tuple([self._write_stream(write, at) for write in writes])
        self._execute_rows(rows)
        return Appended(heads, at)

    def _write_stream(self, write: Write, at: int) -> Head:
        stream, fence = write.stream, write.fence
        seq, digest = write.after if write.after is not None else self._head(stream)
        steps = []
        for kind, body, when in write.drafts:
            seq, previous, encoded = seq + 1, digest, canonical.encode(body)
            when = at if when is None else when
            digest = link(stream, seq, kind, when, fence, encoded, previous)
            steps.append((stream, seq, kind, when, fence, encoded.decode(), previous, digest))
        self._db.executemany(self._insert_step, steps)
        self._db.execute(self._move_head, (stream, seq, digest))
        for kind, body, when in write.drafts:
            self._execute_rows(projection.project(stream, kind, at if when is None else when, body))
        return Head(seq, digest)

    def _execute_rows(self, rows: Any) -> None:
        for query, values, refusal in rows:
            self._db.execute(self._sql[query], values)
            if refusal is not None and self._db.changes() == 0:
                raise _Refusal(Refused(refusal))

    def _head(self, stream: str) -> Head:
        found = self._db.execute(self._sql["head"], (stream,)).fetchone()
        return Head(*found) if found else Head()

    # Sharing transactions

    async def _submit(self, work: Callable[[], Any], durable: bool) -> Any:
        member = _Member(work, durable, self._loop.create_future())
        self._waiting.append(member)
        if not self._committing:
            self._execute_waiting()
        return await member.waiting

    def _execute_waiting(self) -> None:
        while self._waiting:
            if not self._begin():
                return
            member = self._waiting.pop(0)
            if self._execute(member):
                self._executed.append(member)
                if not member.durable:
                    member.answer()
        if any(member.durable for member in self._executed):
            if not self._commit_due:
                self._commit_due = True
                self._loop.call_soon(self._commit)
        elif self._executed and self._linger is None:
            self._linger = self._loop.call_later(LINGER, self._commit)

    def _begin(self) -> bool:
        if self._db.in_transaction:
            return True
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            self._wait_for_turn()
            return False
        except apsw.Error as error:
            self._fail_waiting(error)
            return False
        self._busy_since = None
        return True

    def _wait_for_turn(self) -> None:
        """Another process is writing: try again shortly, without blocking the loop; give up after a minute."""
        now = self._loop.time()
        self._busy_since = self._busy_since or now
        if now - self._busy_since > BUSY_SECONDS:
            self._busy_since = None
            self._fail_waiting(apsw.BusyError("another process holds the file"))
            return
        pause = 0.0005 + self._clock.random_bytes(1)[0] / 255 * min(0.02, 0.001 + (now - self._busy_since) / 4)
        self._loop.call_later(pause, self._resume)

    def _resume(self) -> None:
        if self._waiting and not self._committing:
            self._execute_waiting()

    def _fail_waiting(self, error: apsw.Error) -> None:
        members, self._waiting = self._waiting, []
        for member in members:
            member.fail(_unwritable(self.path, error))

    def _execute(self, member: _Member) -> bool:
        """Do one member's work in its savepoint. False when it failed, and its waiter knows."""
        self._db.execute("SAVEPOINT member")
        try:
            member.outcome = member.work()
        except _Refusal as refusal:
            member.outcome = refusal.outcome
            self._undo_member()
        except apsw.ConstraintError as error:
            outcome = _CONSTRAINTS.get(str(error))
            self._undo_member()
            if outcome is None:
                member.fail(_unwritable(self.path, error))
                return False
            member.outcome = outcome
        except apsw.Error as error:
            self._undo_or_retry_group()
            member.fail(_unwritable(self.path, error))
            return False
        except BaseException as error:
            self._undo_member()
            member.fail(error)
            return False
        else:
            self._db.execute("RELEASE member")
        return True

    def _undo_member(self) -> None:
        self._db.execute("ROLLBACK TO member")
        self._db.execute("RELEASE member")

    def _undo_or_retry_group(self) -> None:
        """After an unexpected error SQLite may have rolled back the whole group, not this member alone."""
        if self._db.in_transaction:
            self._undo_member()
            return
        members, self._executed = self._executed, []
        self._retry_one_by_one(members)

    def _retry_one_by_one(self, members: Sequence[_Member]) -> None:
        for member in members:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                kept = self._execute(member)
                if self._db.in_transaction:
                    self._db.execute("COMMIT")
                if kept:
                    member.answer()
            except apsw.Error as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                member.fail(_unwritable(self.path, error))

    def _commit(self) -> None:
        self._commit_due = False
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
        if self._committing or not self._db.in_transaction:
            return
        self._committing = True
        self._idle.clear()
        members, self._executed = self._executed, []
        self._reach("append.before_commit")
        done = self._committer.submit(self._db.execute, "COMMIT")
        done.add_done_callback(lambda future: self._loop.call_soon_threadsafe(self._committed, members, future))

    def _committed(self, members: list[_Member], future: Any) -> None:
        self._committing = False
        error = future.exception()
        if error is None:
            self._reach("append.after_commit")
            for member in members:
                member.answer()
        else:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._retry_one_by_one(members)
        self._idle.set()
        if self._waiting:
            self._execute_waiting()

    # Reading

    async def query(self, name: str, *values: Any) -> list[tuple[Any, ...]]:
        """Give the rows of a named query that only reads; sees what this process has not committed yet."""
        while self._committing:
            await self._idle.wait()
        sql = self._sql[name]
        if sql.lstrip().upper().startswith(WRITES):
            raise InterlockError("ledger.query_writes", name=name)
        try:
            return self._db.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise InterlockError("ledger.unreadable", file=str(self.path), why=str(error)) from None

    async def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Step]:
        """Give up to `limit` steps of a stream, from the one after number `after`."""
        return [Step(*row) for row in await self.query("steps_after", stream, after, limit)]

    async def follow(self, stream: str, after: int = 0) -> AsyncIterator[Step]:
        """Give the steps of a stream as they come; ends with a run's closing step."""
        while True:
            steps = await self.read(stream, after)
            for step in steps:
                yield step
                if step.kind == "run.closed":
                    return
                after = step.seq
            if not steps:
                await self._clock.sleep(POLL)

    async def verify(self, stream: str | None = None) -> AsyncIterator[Finding]:
        """Give what does not fit; see `interlock.ledger.verify`."""
        from interlock.ledger.verify import findings  # noqa: PLC0415  it opens ledgers itself

        async for finding in findings(self, stream):
            yield finding

    # Leases

    async def claim(self, worker: str, limit: int, lease_ms: int) -> list[Claimed]:
        """Take up to `limit` runs that nobody holds, each by a step whose number is the fence."""
        claimed: list[Claimed] = await self._submit(lambda: self._claim(worker, limit, lease_ms), durable=True)
        if claimed:
            self._reach("run.claimed")
        return claimed

    def _claim(self, worker: str, limit: int, lease_ms: int) -> list[Claimed]:
        now = self._clock.now()
        free = self._db.execute(self._sql["free_leases"], (now, limit)).fetchall()
        claimed = []
        for run, fence, before in free:
            head = self._head(run)
            taken = head.seq + 1
            self._db.execute(self._sql["take_lease"], (worker, taken, now + lease_ms, run))
            body = {"worker": worker} | ({"after": {"worker": before, "fence": fence}} if fence else {})
            self._write_stream(Write(run, head, (Draft("run.claimed", body),), taken), now)
            claimed.append(Claimed(run, taken))
        return claimed

    async def renew(self, worker: str, lease_ms: int) -> None:
        """Prolong all leases of a worker."""
        await self._submit(
            lambda: self._execute_rows([Row("renew_leases", (self._clock.now() + lease_ms, worker))]), durable=False
        )

    async def release(self, run: str, fence: int) -> None:
        """Give a run back, unless somebody else has it by now."""
        await self._submit(lambda: self._execute_rows([Row("release_lease", (run, fence))]), durable=True)

    async def free_worker(self, worker: str) -> None:
        """Free the runs of a worker that is known to be dead."""
        await self._submit(lambda: self._execute_rows([Row("free_leases_of_worker", (worker,))]), durable=True)


def _unwritable(path: Path, error: apsw.Error) -> InterlockError:
    return InterlockError("ledger.unwritable", file=str(path), why=str(error) or type(error).__name__)
