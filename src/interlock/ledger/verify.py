"""A verification: reads a ledger as it lies on disk and names what does not fit (RN-2).

It works on a connection of its own, inside one read transaction, and takes every text as raw bytes, so that
damage which no longer is text is named like any other.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from interlock.ledger import projection
from interlock.ledger.ledger import Finding
from interlock.ledger.sql import queries, text_of
from interlock.ledger.step import BEGINNING, link

if TYPE_CHECKING:
    from interlock.ledger.sqlite import SqliteLedger

__all__ = ["content_digests", "findings"]

RAW = """SELECT CAST(stream AS BLOB), seq, CAST(kind AS BLOB), at, fence, CAST(body AS BLOB), previous, digest
FROM step {where} ORDER BY stream, seq"""
SUBJECT = {
    "run": "id",
    "task": "id",
    "artifact": "run",
    "agent": "address",
    "version": "agent",
    "listening": "agent",
    "emitting": "agent",
    "stopped": "scope",
}
"""The column of each projected table that names the stream its rows come from."""
BATCH = 64

RawStep = tuple[bytes, int, bytes, int, int, bytes, bytes, bytes]


async def findings(ledger: "SqliteLedger", stream: str | None) -> AsyncIterator[Finding]:
    """Give what does not fit in a stream, or anywhere, without holding up the event loop."""
    await ledger.flush()
    found = _findings(ledger.path, stream)
    while batch := await asyncio.to_thread(lambda: list(islice(found, BATCH))):
        for finding in batch:
            yield finding


def _findings(path: Path, stream: str | None) -> Iterator[Finding]:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    rebuilt = apsw.Connection("")
    rebuilt.execute(text_of("sqlite_schema.sql"))
    rebuilt.execute("BEGIN")
    try:
        db.execute("BEGIN")
        if stream is None:
            yield from _page_findings(db)
        yield from _stream_findings(db, rebuilt, stream)
    except apsw.Error as error:
        yield Finding("unreadable", stream or "*", detail=str(error))
    finally:
        rebuilt.close()
        db.close()


def _page_findings(db: apsw.Connection) -> Iterator[Finding]:
    for (said,) in db.execute("PRAGMA quick_check(20)"):
        if said != "ok":
            yield Finding("damaged_file", "*", detail=said)


def _stream_findings(db: apsw.Connection, rebuilt: apsw.Connection, stream: str | None) -> Iterator[Finding]:
    where, values = ("", ()) if stream is None else ("WHERE stream = ?", (stream,))
    seen: set[bytes] = set()
    bad: set[str] = set()
    heads = {
        name: (seq, digest)
        for name, seq, digest in db.execute(
            f"SELECT CAST(id AS BLOB), seq, digest FROM stream {where.replace('stream =', 'id =')}", values
        )
    }
    for name, steps in groupby(db.execute(RAW.format(where=where), values), key=lambda step: step[0]):
        seen.add(name)
        shown = name.decode(errors="backslashreplace")
        wrong = list(_chain_findings(shown, steps, heads.get(name), rebuilt))
        if wrong:
            bad.add(shown)
            yield from wrong
    for name in heads.keys() - seen:
        bad.add(name.decode(errors="backslashreplace"))
        yield Finding("missing", name.decode(errors="backslashreplace"), 1)
    if stream is not None and not seen and not heads:
        yield Finding("no_such_stream", stream)
    yield from _projection_findings(db, rebuilt, stream, bad)


def _chain_findings(
    stream: str, steps: Iterator[RawStep], head: tuple[int, bytes] | None, rebuilt: apsw.Connection
) -> Iterator[Finding]:
    """Give the first step of a stream that does not fit. What comes after it cannot be judged."""
    last, previous = 0, BEGINNING
    for _, seq, kind, at, fence, body, named, digest in steps:
        if seq != last + 1:
            yield Finding("missing", stream, last + 1)
            return
        try:
            fits = digest == link(stream, seq, kind.decode(), at, fence, body, named)
            parsed = json.loads(body) if fits else None
        except ValueError:
            fits = False
        if not fits:
            yield Finding("changed", stream, seq)
            return
        if named != previous:
            yield Finding("relinked", stream, seq)
            return
        _project(rebuilt, stream, kind.decode(), at, parsed)
        last, previous = seq, digest
    if head is None:
        yield Finding("head", stream, last)
    elif last < head[0]:
        yield Finding("missing", stream, last + 1)
    elif head != (last, previous):
        yield Finding("head", stream, last)


def _project(rebuilt: apsw.Connection, stream: str, kind: str, at: int, body: Any) -> None:
    sql = queries("queries.sql")
    for row in projection.project(stream, kind, at, body):
        rebuilt.execute(sql[row.query], row.values)


def _projection_findings(
    db: apsw.Connection, rebuilt: apsw.Connection, stream: str | None, bad: set[str]
) -> Iterator[Finding]:
    for table in projection.PROJECTED:
        subject = SUBJECT[table]
        select = f"SELECT * FROM {table}" + (f" WHERE {subject} = ?" if stream is not None else "")
        values = (stream,) if stream is not None else ()
        position = [column[1] for column in db.execute(f"PRAGMA table_info({table})")].index(subject)
        real, wanted = set(db.execute(select, values)), set(rebuilt.execute(select, values))
        for row in sorted(real ^ wanted, key=repr):
            if row[position] not in bad:
                bad.add(row[position])
                yield Finding("projection", str(row[position]), detail=table)


def content_digests(kind: str, body: dict[str, Any]) -> Iterator[str]:
    """Give the digests of all content that a step's body names, at whatever depth."""
    for key, value in body.items():
        if key in CONTENT_KEYS and isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from content_digests(kind, value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield from content_digests(kind, item)


CONTENT_KEYS = frozenset({"digest", "input", "snapshot", "answer", "result", "arguments_content", "spec", "detail", "texts", "list"})
"""The keys of step bodies under which the digest of stored content stands."""
