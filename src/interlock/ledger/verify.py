"""A verification: reads a ledger as it lies on disk and names what does not fit (RN-2).

It works on a connection of its own, inside one read transaction, and takes every text as raw bytes, so that
damage which no longer is text is named like any other. Of each stream it names the first step that does not
fit: what follows that one cannot be judged.

A ledger is held against itself alone. An older copy of the whole file fits itself, and so does one from which
a run was removed with all that was projected from it: to tell those takes a seal that is kept elsewhere.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Generator, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import apsw

from interlock.ledger import projection
from interlock.ledger.ledger import Finding
from interlock.ledger.sql import queries, text_of
from interlock.ledger.step import BEGINNING, MISFITS, link

__all__ = ["findings"]

BATCH = 64
"""How many findings are handed over at once; a sound ledger is read in one go."""

NEXT = "SELECT CAST(min({column}) AS BLOB) FROM {table} WHERE {column} {beyond} CAST(? AS TEXT)"
HEAD = "SELECT seq, digest FROM stream WHERE id = CAST(? AS TEXT)"
STEPS = """SELECT CAST(stream AS BLOB), seq, CAST(kind AS BLOB), at, fence, CAST(body AS BLOB), previous, digest
FROM step WHERE rowid IN (SELECT rowid FROM step WHERE stream = CAST(? AS TEXT)) ORDER BY seq"""
"""By their places in the table, so that each column comes from the step itself and none from the index."""
SUBJECT = {
    "run": "id",
    "task": "root",
    "message": "root",
    "question": "root",
    "decision": "root",
    "action": "id",
    "artifact": "run",
    "agent": "address",
    "version": "agent",
    "listening": "agent",
    "stopped": "scope",
    "actor": "perspective",
    "identity": "perspective",
    "identity_link": "perspective",
    "conversation": "id",
    "participant": "conversation",
    "message_event": "conversation",
    "memory": "id",
    "foreign_artifact": "run",
    "said": "conversation",
    "audience": "label",
}
"""The column of each projected table that names the stream its rows come from."""

OBJECTS = """SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB)
FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY type, name"""
"""The tables, indexes and triggers; not the statistics that SQLite may keep for itself."""
OPEN_RUNS = "SELECT id FROM run WHERE status = 'open' ORDER BY id"
LEASE = "SELECT 1 FROM lease WHERE run = CAST(? AS TEXT)"
TIMED = """SELECT root, pending FROM task WHERE pending IS NOT NULL
UNION ALL SELECT root, id FROM question WHERE outcome IS NULL AND due_at > 0 ORDER BY 1, 2"""
TIMER = "SELECT 1 FROM timer WHERE id = CAST(? AS TEXT)"


async def findings(path: Path, stream: str | None) -> AsyncIterator[Finding]:
    """Give what does not fit in a stream, or anywhere, without holding up the event loop."""
    found = _findings(path, stream)
    try:
        while batch := await asyncio.to_thread(lambda: list(islice(found, BATCH))):
            for finding in batch:
                yield finding
    finally:
        found.close()


def _findings(path: Path, stream: str | None) -> Generator[Finding, None, None]:
    rebuilt = apsw.Connection("")
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        yield Finding("unreadable", stream or "*", detail=str(error))
        return
    try:
        rebuilt.execute(text_of("sqlite_schema.sql"))
        rebuilt.execute("BEGIN")
        db.execute("PRAGMA cache_size = -65536")
        db.execute("BEGIN")
        yield from Verification(db, rebuilt, stream).findings()
    except apsw.Error as error:
        yield Finding("unreadable", stream or "*", detail=str(error))
    finally:
        rebuilt.close()
        db.close()


class Verification:
    """One pass over a ledger. `rebuilt` is an empty ledger's database, which takes what the steps project."""

    def __init__(self, db: apsw.Connection, rebuilt: apsw.Connection, stream: str | None) -> None:
        self._db, self._rebuilt, self._stream = db, rebuilt, stream
        self._sql = queries("queries.sql")
        self._bad: set[str] = set()

    def findings(self) -> Iterator[Finding]:
        """Give what does not fit: the file and its schema, then each stream, then what was projected from them."""
        if self._stream is None:
            yield from self._page_findings()
            yield from self._schema_findings()
            streams = self._all_streams_findings()
        else:
            streams = self._stream_findings(self._stream.encode(errors="surrogatepass"))
        for finding in streams:
            self._bad.add(finding.stream)
            yield finding
        if "*" not in self._bad:
            for table in projection.PROJECTED:
                yield from self._projection_findings(table)
            yield from self._lease_findings()
            yield from self._timer_findings()

    def _page_findings(self) -> Iterator[Finding]:
        try:
            for (said,) in self._db.execute("PRAGMA integrity_check(20)"):
                if said != "ok":
                    yield Finding("damaged_file", "*", detail=said)
        except apsw.Error as error:
            yield Finding("damaged_file", "*", detail=str(error))

    def _schema_findings(self) -> Iterator[Finding]:
        """Compare tables, indexes and triggers with the shipped ones: a dropped trigger protects nothing."""
        try:
            rows = differences(self._db.execute(OBJECTS), self._rebuilt.execute(OBJECTS), 2)
            for name in sorted({_shown(row[1]) for row in rows}):
                yield Finding("schema", "*", detail=name)
        except apsw.Error as error:
            yield Finding("unreadable", "*", detail=f"sqlite_schema: {error}")

    def _all_streams_findings(self) -> Iterator[Finding]:
        """Go through the streams that have a head, then through those that have steps and no head."""
        for table, column in (("stream", "id"), ("step", "stream")):
            name = b""
            try:
                for name in self._names(table, column):
                    if table == "stream" or self._db.execute(HEAD, (name,)).fetchone() is None:
                        yield from self._stream_findings(name)
            except apsw.Error as error:
                yield Finding("unreadable", "*", detail=f"{table} > {_shown(name)}: {error}")

    def _names(self, table: str, column: str) -> Iterator[bytes]:
        name, beyond = b"", ">="
        while True:
            sql = NEXT.format(table=table, column=column, beyond=beyond)
            found: Any = self._db.execute(sql, (name,)).fetchall()[0][0]
            if found is None:
                return
            if beyond == ">" and found <= name:
                raise apsw.CorruptError("names out of order")
            name, beyond = found, ">"
            yield name

    def _stream_findings(self, name: bytes) -> Iterator[Finding]:
        stream, last = _shown(name), 0
        try:
            head = self._db.execute(HEAD, (name,)).fetchone()
            chain = Chain(stream, name)
            for row in self._db.execute(STEPS, (name,)):
                problem = chain.take(*row)
                if problem is None:
                    problem = self._project(chain)
                last = chain.seq
                if problem is not None:
                    yield problem
                    return
            yield from chain.end(head)
        except apsw.Error as error:
            yield Finding("unreadable", stream, last + 1, str(error))

    def _project(self, chain: "Chain") -> Finding | None:
        try:
            for row in projection.project(chain.stream, chain.seq, chain.kind, chain.at, chain.body):
                self._rebuilt.execute(self._sql[row.query], row.values)
        except (*MISFITS, apsw.Error) as error:
            return Finding("malformed", chain.stream, chain.seq, f"{type(error).__name__}: {error}")
        return None

    def _projection_findings(self, table: str) -> Iterator[Finding]:
        columns = list(self._rebuilt.execute(f"PRAGMA table_info({table})"))
        subject = [column[1] for column in columns].index(SUBJECT[table])
        keys = sum(1 for column in columns if column[5])
        raw = [f"CAST({name} AS BLOB)" if kind == "TEXT" else name for _, name, kind, *_ in columns]
        where = "" if self._stream is None else f"WHERE {SUBJECT[table]} = CAST(? AS TEXT)"
        order = ", ".join(name for _, name, *_ in columns[:keys])
        select = f"SELECT {', '.join(raw)} FROM {table} {where} ORDER BY {order}"
        values = () if self._stream is None else (self._stream.encode(errors="surrogatepass"),)
        try:
            for row in differences(
                self._db.execute(select, values), self._rebuilt.execute(select, values), keys
            ):
                stream = _shown(row[subject])
                if stream not in self._bad:
                    self._bad.add(stream)
                    yield Finding("projection", stream, detail=table)
        except apsw.Error as error:
            yield Finding("unreadable", self._stream or "*", detail=f"{table}: {error}")

    def _lease_findings(self) -> Iterator[Finding]:
        """Name the open runs that nobody can ever claim."""
        try:
            for (run,) in self._rebuilt.execute(OPEN_RUNS):
                if run not in self._bad and not self._db.execute(LEASE, (run,)).fetchall():
                    yield Finding("no_lease", run)
        except apsw.Error as error:
            yield Finding("unreadable", self._stream or "*", detail=f"lease: {error}")

    def _timer_findings(self) -> Iterator[Finding]:
        """Name what waits with a time limit, without the row that would tell it that the time is over."""
        try:
            for root, name in self._rebuilt.execute(TIMED):
                if root not in self._bad and not self._db.execute(TIMER, (name,)).fetchall():
                    yield Finding("no_timer", root, detail=name)
        except apsw.Error as error:
            yield Finding("unreadable", self._stream or "*", detail=f"timer: {error}")


class Chain:
    """The steps of one stream, taken in order: each must fit itself and continue the one before it."""

    def __init__(self, stream: str, name: bytes) -> None:
        self.stream, self._name = stream, name
        self.seq, self.digest = 0, BEGINNING
        self.kind, self.at = "", 0
        self.body: Any = None

    def take(
        self,
        name: bytes,
        seq: int,
        kind: bytes,
        at: int,
        fence: int,
        body: bytes,
        previous: bytes,
        digest: bytes,
    ) -> Finding | None:
        """Take the next step as it lies on disk; gives what is wrong with it."""
        if isinstance(seq, int) and seq > self.seq + 1:
            return Finding("missing", self.stream, self.seq + 1)
        try:
            fits = digest == link(self.stream, seq, kind.decode(), at, fence, body, previous)
        except MISFITS:
            fits = False
        if not fits or name != self._name or seq != self.seq + 1:
            return Finding("changed", self.stream, seq if isinstance(seq, int) else self.seq + 1)
        if previous != self.digest:
            return Finding("relinked", self.stream, seq)
        try:
            self.body = json.loads(body)
        except MISFITS as error:
            return Finding("malformed", self.stream, seq, str(error))
        self.seq, self.digest, self.kind, self.at = seq, digest, kind.decode(), at
        return None

    def end(self, head: tuple[int, bytes] | None) -> Iterator[Finding]:
        """Compare where the stream ends with where it is recorded to end."""
        if head is None and self.seq == 0:
            yield Finding("no_such_stream", self.stream)
        elif head is not None and isinstance(head[0], int) and head[0] > self.seq:
            yield Finding("missing", self.stream, self.seq + 1)
        elif head != (self.seq, self.digest):
            yield Finding("head", self.stream, self.seq)


def differences(
    real: Iterable[tuple[Any, ...]], wanted: Iterable[tuple[Any, ...]], keys: int
) -> Iterator[tuple[Any, ...]]:
    """Give the rows that only one side has; both come in the order of their first `keys` columns."""
    left, right = iter(real), iter(wanted)
    row, other = next(left, None), next(right, None)
    while row is not None or other is not None:
        place = None if row is None else _order(row[:keys])
        other_place = None if other is None else _order(other[:keys])
        if row is None or (other_place is not None and place is not None and other_place < place):
            yield other or ()
            other = next(right, None)
        elif other is None or place != other_place:
            yield row
            row = next(left, None)
        else:
            if row != other:
                yield row
            row, other = next(left, None), next(right, None)


def _order(key: tuple[Any, ...]) -> list[tuple[bool, bool, Any]]:
    """SQLite's order of values: nothing, then numbers, then bytes."""
    return [(value is not None, isinstance(value, bytes), value) for value in key]


def _shown(name: Any) -> str:
    return name.decode(errors="backslashreplace") if isinstance(name, bytes) else str(name)
