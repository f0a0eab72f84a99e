"""The SQLite ledger: one file, one writing connection per process, commits shared by all who wait.

The database itself refuses what must not be (`sql/sqlite_schema.sql`); this module translates the refusals.
How appends share transactions is the matter of `interlock.ledger.group_commit`.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import apsw

from interlock import canonical
from interlock.clock import Clock, SystemClock
from interlock.errors import InterlockError
from interlock.fault import Reach, nothing
from interlock.ledger import projection
from interlock.ledger.group_commit import BUSY_SECONDS, GroupCommit, RefusalError
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
from interlock.ledger.verify import findings
from interlock.ledger.wall import Wall, close_off

__all__ = ["SqliteLedger", "connect"]

SCHEMA_FORMAT = 1
POLL = 0.2
BUSY_PAUSE = 0.005

_CONSTRAINTS: dict[str, Outcome] = {
    "UNIQUE constraint failed: run.cause": Refused("already_opened"),
    "UNIQUE constraint failed: message.reply_to": Refused("already_replied"),
    "UNIQUE constraint failed: action.id": Refused("duplicate_action"),
    "UNIQUE constraint failed: decision.root, decision.topic": Refused("already_decided"),
    "UNIQUE constraint failed: task.id": Refused("task_known"),
    "UNIQUE constraint failed: identity.perspective, identity.connector, identity.external": Refused(
        "actor_known"
    ),
    "UNIQUE constraint failed: conversation.perspective, conversation.connector, conversation.thread": Refused(
        "conversation_known"
    ),
    "UNIQUE constraint failed: memory.perspective, memory.id, memory.revision": Refused("memory_changed"),
    "UNIQUE constraint failed: message_event.perspective, message_event.conversation, message_event.external": Refused(
        "observed_already"
    ),
    "CHECK constraint failed: over_budget": Refused("over_budget"),
    "UNIQUE constraint failed: version.agent, version.number": Conflict(),
    "conflict": Conflict(),
    "fenced": Fenced(),
}


def connect(path: Path, synchronous: str = "FULL", read_only: bool = False) -> apsw.Connection:
    """Open a connection as the ledger needs it. Raises InterlockError `ledger.unreadable`."""
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    try:
        with _one_at_a_time(path.parent):
            if not read_only:
                os.close(
                    os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
                )  # the log beside it gets the same rights
            db = apsw.Connection(str(path), flags=flags)
            db.set_busy_timeout(int(BUSY_SECONDS * 1000))
            if not read_only:
                db.execute("PRAGMA journal_mode = wal")
        db.execute(f"PRAGMA synchronous = {synchronous}")
        db.execute("PRAGMA recursive_triggers = ON")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA secure_delete = ON")
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cache_size = -65536")
        db.execute("PRAGMA wal_autocheckpoint = 4000")
        db.execute("PRAGMA temp_store = memory")
    except (apsw.Error, OSError) as error:
        raise InterlockError("ledger.unreadable", file=str(path), why=str(error)) from None
    return db


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Keep others from opening a ledger in the folder: SQLite does not wait for its turn when two processes
    change a fresh file to write-ahead logging, whatever its busy timeout."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _prepare(db: apsw.Connection, path: Path) -> None:
    """Make the tables of an empty file; refuse a file of another format."""
    if db.pragma("user_version") == SCHEMA_FORMAT:
        return
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
        self._reading = {name: sql for name, sql in self._sql.items() if sql.startswith("SELECT")}
        self._insert_step, self._move_head = self._sql["insert_step"], self._sql["move_head"]
        self._group = GroupCommit(db, path, clock, reach)
        self._wall: Wall | None = None
        self._writing = False
        close_off(db, lambda: self._writing)

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
        try:
            await self._group.close()
        finally:
            if self._wall is not None:
                self._wall.close()
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
        """Write all or nothing; see `interlock.ledger.ledger.Ledger.append`.

        Raises InterlockError `ledger.unwritable`, `ledger.busy`, or `ledger.not_text` for a value that no
        database can hold as text.
        """
        at = self._clock.now()
        if durable and not (writes or guards or rows or contents):
            await self._group.flush()
            return Appended((), at)
        outcome: Outcome = await self._group.submit(
            lambda: self._write(writes, guards, rows, contents, at), durable
        )
        return outcome

    async def flush(self) -> None:
        """Wait until all that was accepted so far is on disk."""
        await self._group.flush()

    def _write(
        self,
        writes: Sequence[Write],
        guards: Sequence[Row],
        rows: Sequence[Row],
        contents: Sequence[ContentRow],
        at: int,
    ) -> Outcome:
        """Do the statements of one append. `at` was read when it was submitted, so that doing them again gives
        the same digests: others may have built on them."""
        try:
            if contents:
                self._db.executemany(self._sql["insert_content"], contents)
            self._execute_rows(guards)
            heads = tuple([self._write_stream(write, at) for write in writes])
            self._execute_rows(rows)
        except apsw.ConstraintError as error:
            outcome = _CONSTRAINTS.get(str(error))
            if outcome is None:
                raise
            raise RefusalError(outcome) from None
        except UnicodeEncodeError as error:
            raise InterlockError("ledger.not_text", value=error.object) from None
        return Appended(heads, at)

    def _write_stream(self, write: Write, at: int) -> Head:
        stream, fence = write.stream, write.fence
        seq, digest = write.after if write.after is not None else self._head(stream)
        steps = []
        projected: list[Row] = []
        for kind, body, when in write.drafts:
            seq, previous, encoded = seq + 1, digest, canonical.encode(body)
            when = at if when is None else when
            digest = link(stream, seq, kind, when, fence, encoded, previous)
            steps.append((stream, seq, kind, when, fence, encoded.decode(), previous, digest))
            if kind in projection.PROJECTING:
                projected += projection.project(stream, seq, kind, when, body)
        if not steps:
            return Head(seq, digest)
        self._db.executemany(self._insert_step, steps)
        self._db.execute(self._move_head, (stream, seq, digest))
        self._execute_rows(projected)
        return Head(seq, digest)

    def _execute_rows(self, rows: Iterable[Row]) -> None:
        self._writing = True
        try:
            for query, values, refusal in rows:
                self._db.execute(self._sql[query], values)
                if refusal is not None and self._db.changes() == 0:
                    raise RefusalError(Refused(refusal))
        finally:
            self._writing = False

    def _head(self, stream: str) -> Head:
        found = self._db.execute(self._sql["head"], (stream,)).fetchone()
        return Head(*found) if found else Head()

    # Reading

    async def query(self, name: str, *values: Any) -> list[tuple[Any, ...]]:
        """Give the rows of a named query that only reads; sees what this process has not committed yet.

        Raises InterlockError `ledger.unreadable`, `ledger.busy`, `ledger.not_text` or `ledger.query_writes`.
        """
        sql = self._reading.get(name)
        if sql is None:
            raise InterlockError("ledger.query_writes", name=name)
        for _ in range(int(BUSY_SECONDS / BUSY_PAUSE)):
            await self._group.settled()
            try:
                return self._db.execute(sql, values).fetchall()
            except apsw.BusyError:
                await asyncio.sleep(BUSY_PAUSE)  # another process is recovering the log of one that died
            except UnicodeEncodeError as error:
                raise InterlockError("ledger.not_text", value=error.object) from None
            except apsw.AuthError as error:
                raise InterlockError("ledger.behind_wall", why=str(error)) from None
            except (apsw.Error, UnicodeDecodeError) as error:
                raise InterlockError("ledger.unreadable", file=str(self.path), why=str(error)) from None
        raise InterlockError("ledger.busy", file=str(self.path), seconds=int(BUSY_SECONDS))

    async def within(self, perspective: str, name: str, *values: Any) -> list[tuple[Any, ...]]:
        """Give the rows of a named query of one perspective; see `interlock.ledger.ledger.Ledger.within`."""
        await self._group.flush()
        if self._wall is None:
            self._wall = Wall(self.path, BUSY_SECONDS)
        return self._wall.named(perspective, name, values)

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
        await self.flush()
        async for finding in findings(self.path, stream):
            yield finding

    # Leases

    async def claim(self, worker: str, limit: int, lease_ms: int) -> list[Claimed]:
        """Take up to `limit` runs that nobody holds, each by a step whose number is the fence."""
        claimed: list[Claimed] = await self._group.submit(
            lambda: self._claim(worker, limit, lease_ms), durable=True
        )
        if claimed:
            self._reach("run.claimed")
        return claimed

    def _claim(self, worker: str, limit: int, lease_ms: int) -> list[Claimed]:
        now = self._clock.now()
        free: list[Any] = self._db.execute(self._sql["free_leases"], (now, limit)).fetchall()
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
        await self._group.submit(
            lambda: self._execute_rows([Row("renew_leases", (self._clock.now() + lease_ms, worker))]),
            durable=False,
        )

    async def release(self, run: str, fence: int) -> None:
        """Give a run back, unless somebody else has it by now."""
        await self._group.submit(
            lambda: self._execute_rows([Row("release_lease", (run, fence))]), durable=True
        )
