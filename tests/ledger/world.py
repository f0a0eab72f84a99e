"""A ledger under test: how to open one, fill it, and meddle with its file from outside."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import apsw

from interlock.errors import InterlockError
from interlock.fault import Reach, nothing
from interlock.ledger.ledger import Appended, Finding, Row, Write
from interlock.ledger.sql import text_of
from interlock.ledger.sqlite import SqliteLedger
from interlock.ledger.step import Draft, Head
from interlock.testing import MovableClock

LEASE = 30_000


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an asynchronous test in an event loop of its own; one that hangs fails."""

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        async def bounded() -> None:
            await asyncio.wait_for(test(*arguments, **named), 60)

        asyncio.run(bounded())

    return run


@dataclass
class SqliteStore:
    """Where the ledgers of one test lie, when they lie in an SQLite file."""

    folder: Path
    clock: MovableClock = field(default_factory=MovableClock)

    @property
    def path(self) -> Path:
        return self.folder / "ledger.db"

    @asynccontextmanager
    async def open(self, reach: Reach = nothing) -> AsyncIterator[SqliteLedger]:
        ledger = await SqliteLedger.open(self.path, clock=self.clock, reach=reach)
        try:
            yield ledger
        finally:
            await ledger.close()

    def outside(self) -> apsw.Connection:
        """A connection of somebody else's, with the settings that SQLite has by default."""
        return apsw.Connection(str(self.path))

    def meddle(self, *statements: str) -> None:
        """Change the file as somebody would who drops what protects it."""
        db = self.outside()
        for (trigger,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {trigger}")
        db.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            db.execute(statement)
        db.close()

    def mend(self) -> None:
        """Put back the triggers that meddling dropped."""
        db, shipped = self.outside(), apsw.Connection("")
        shipped.execute(text_of("sqlite_schema.sql"))
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
        for name, sql in shipped.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"):
            if name not in there:
                db.execute(sql)
        db.close()
        shipped.close()


STORES = {"sqlite": SqliteStore}


def note(number: int = 1, **more: Any) -> Draft:
    return Draft("noted", {"n": number, **more})


async def write(ledger: SqliteLedger, stream: str, *drafts: Draft, after: Head | None = None) -> Head:
    """Append to one stream, and give its new head."""
    outcome = await ledger.append((Write(stream, after, drafts),))
    assert isinstance(outcome, Appended), outcome
    return outcome.heads[0]


def opening(run: str, cause: str | None = None, version: int = 1) -> Draft:
    """The opening step of a run, with what is projected from it."""
    task = run.replace("run_", "task_")
    opened_by = {"kind": "event", "run": "run_0", "cause": cause} if cause else {"kind": "person"}
    return Draft(
        "run.opened",
        {
            "format": 1,
            "agent": "triage@acme/platform",
            "version": version,
            "scope": "acme/platform",
            "opened_by": opened_by,
            "task": {"id": task, "root": task},
            "chain": {"root_run": run, "hop": 0},
        },
    )


async def queue(ledger: SqliteLedger, *runs: str) -> None:
    """Open runs that nobody holds yet."""
    for run in runs:
        lease = Row("insert_lease", (run, None, 0, 0))
        assert isinstance(
            await ledger.append((Write(run, Head(), (opening(run),)),), guards=(lease,)), Appended
        )


async def whole_run(ledger: SqliteLedger, run: str) -> None:
    """A run from its opening to its closing, with its task and an artifact."""
    task = run.replace("run_", "task_")
    await queue(ledger, run)
    opened = {
        "task": task,
        "owner": "triage@acme/platform",
        "run": run,
        "scope": "acme/platform",
        "by": {"kind": "person"},
    }
    await write(ledger, task, Draft("task.opened", opened), note(1))
    claimed = (await ledger.claim("worker", 1, LEASE))[0]
    assert claimed.run == run
    artifact = {"name": "cause", "digest": "ab" * 32, "size": 3, "media": "text/plain", "labels": ["pii"]}
    closing = Draft("run.closed", {"status": "finished", "artifacts": [artifact]})
    head = (await ledger.read(run))[-1].head
    outcome = await ledger.append(
        (Write(run, head, (note(1), closing), claimed.fence),), rows=(Row("end_lease", (run, claimed.fence)),)
    )
    assert isinstance(outcome, Appended)


async def found(ledger: SqliteLedger, stream: str | None = None) -> list[Finding]:
    return [finding async for finding in ledger.verify(stream)]


def sayable(error: InterlockError) -> str:
    """Check that an error has its sentences in both languages, and give the English one."""
    for language in ("en", "pt-BR"):
        for sentence in (error.what(language), error.remedy(language)):
            assert sentence, error.code
            assert error.code not in sentence, f"{error.code} has no sentence in {language}"
            assert str(error.params) not in sentence, f"a value is missing in {error.code}"
    assert error.what("en") != error.what("pt-BR")
    return error.what()
