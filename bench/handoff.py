"""The cost of a hand-off from agent to agent, beside a bare replay of the very same statements.

One hand-off: `triage` is opened by a person, its model answers once and finishes with findings; that opens
`billing`, whose model calls a tool, is asked again and finishes. Models are scripted and take no time.

    python bench/handoff.py [--kb 20] [--rounds 5] [--seconds 3] [--json FILE] [--where FOLDER]

Interlock and the replay take turns within one run, so that ratios share the machine's noise; figures of one
machine say little by themselves.
"""

import argparse
import asyncio
import base64
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import apsw

from interlock.agent.reader import spec_of
from interlock.connector.model.model import Answer, Call, Request
from interlock.connector.model.scripted import ScriptedModel
from interlock.connector.tool import tool
from interlock.gate.budget import Budget, Usage
from interlock.ledger.sql import text_of
from interlock.ledger.sqlite import connect
from interlock.modules import Loaded
from interlock.runtime import Runtime
from interlock.scope.scope import Address
from interlock.settings import ModelChoice, Settings

AT_ONCE = 64
COMMITS_ALONE = 4
CONTROL = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK", "PRAGMA")
Statement = tuple[str, Any]


@tool(effect="read", labels=[])
async def lookup_invoice(invoice: str) -> dict[str, Any]:
    """Look an invoice up."""
    return {"invoice": invoice, "amount": 12.5}


class OneModel:
    """One scripted model for every role."""

    def __init__(self, kb: int) -> None:
        self._size = kb * 1000

    def open(self, role: str) -> ScriptedModel:
        """Give the model."""
        return self._model

    async def close(self) -> None:
        """Nothing is held."""

    @property
    def _model(self) -> ScriptedModel:
        if not hasattr(self, "_made"):
            self._made = ScriptedModel(
                {"triage@acme/platform": [self._findings], "billing@acme/platform": BILLING}
            )
        return self._made

    def _findings(self, request: Request) -> Answer:
        text = base64.b64encode(os.urandom(self._size * 3 // 4 + 3)).decode()[: self._size]
        arguments = f'{{"summary": "Found what differs.", "artifacts": {{"findings": "{text}"}}}}'
        return Answer(calls=(Call("call_1", "finish", arguments),), usage=Usage(tokens=1000))


BILLING = [
    {"call": "lookup_invoice", "with": {"invoice": "INV-7"}},
    {"finish": {"summary": "refund approved"}},
]
AGENTS = [
    {
        "name": "triage",
        "scope": "acme/platform",
        "instructions": "Look at the ticket and publish your findings.",
        "emits": [{"event": "findings.ready", "context": "ticket", "artifacts": ["findings"]}],
    },
    {
        "name": "billing",
        "scope": "acme/platform",
        "instructions": "Look the invoice up and decide.",
        "tools": ["lookup_invoice"],
        "starts_on": [{"event": "findings.ready"}],
    },
]


class Bench:
    """An installation to measure, in a folder of its own."""

    def __init__(self, folder: Path, kb: int) -> None:
        self.folder, self.kb = folder, kb
        self.commits = 0

    async def __aenter__(self) -> "Bench":
        loaded = Loaded()
        loaded.tools.add(lookup_invoice)
        plenty = Budget(tool_calls=100, tokens=10_000_000, wall_ms=3_600_000)
        settings = Settings(models={"default": ModelChoice("scripted")}, limits=plenty, task_budget=plenty)
        self.runtime = await Runtime.open(
            self.folder, settings=settings, loaded=loaded, models=OneModel(self.kb), environment={}
        )
        for form in AGENTS:
            await self.runtime.publish(spec_of(form), "bench")
        self.worker = await self.runtime.worker(concurrency=AT_ONCE * 2).__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.worker.__aexit__()
        await self.runtime.__aexit__()

    async def one(self, number: int) -> None:
        """Do one hand-off, to its last flush."""
        run = await self.runtime.open_run(
            Address("triage@acme/platform"), "bench", {"ticket": number}, worker=self.worker
        )
        await self.worker.finished(run)

    async def many(self, at_once: int, seconds: float) -> tuple[float, float]:
        """Give hand-offs per second and milliseconds of CPU for each."""
        end, done = time.perf_counter() + seconds, 0

        async def client() -> None:
            nonlocal done
            while time.perf_counter() < end:
                await self.one(done)
                done += 1

        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(client() for _ in range(at_once)))
        return done / (time.perf_counter() - began), (time.process_time() - cpu) / done * 1000


async def captured(folder: Path, kb: int, count: int) -> list[list[list[Statement]]]:
    """Give the statements of `count` hand-offs done one after the other, each cut where it committed."""
    work: list[list[list[Statement]]] = []
    async with Bench(folder, kb) as bench:

        def trace(_: Any, sql: str, values: Any) -> bool:
            if sql.startswith("COMMIT"):
                work[-1].append([])
            elif not sql.startswith(CONTROL):
                work[-1][-1].append((sql, values))
            return True

        db = bench.runtime.installation.ledger._db
        for number in range(-3, count):
            work.append([[]])
            db.exec_trace = trace if number >= 0 else None
            await bench.one(number)
            work[-1] = [group for group in work[-1] if group]
        db.exec_trace = None
    return work[3:]


def fresh(folder: Path) -> apsw.Connection:
    """Give a connection to a fresh ledger with the very same pragmas and tables."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    db = connect(folder / "replay.db")
    db.execute(text_of("sqlite_schema.sql"))
    return db


def replay(folder: Path, work: list[list[list[Statement]]], per_commit: int) -> float:
    """Give hand-offs per second of the bare statements: one commit for `per_commit` hand-offs, or, with 0, each
    hand-off's own commits."""
    db = fresh(folder)
    began = time.perf_counter()
    for start in range(0, len(work), per_commit or 1):
        some = work[start : start + (per_commit or 1)]
        groups = some[0] if not per_commit else [[item for one in some for group in one for item in group]]
        for group in groups:
            db.execute("BEGIN IMMEDIATE")
            for sql, values in group:
                db.execute(sql, values).fetchall()
            db.execute("COMMIT")
    rate = len(work) / (time.perf_counter() - began)
    db.close()
    return rate


async def stored_and_shown(folder: Path, kb: int, count: int) -> dict[str, float]:
    """Give the bytes on disk for each hand-off, the bytes of the receiver's first prompt, and the commits."""
    commits = 0
    async with Bench(folder, kb) as bench:
        await bench.one(0)
        ledger = bench.runtime.installation.ledger
        checkpoint(ledger)
        before = on_disk(bench.runtime.home)

        def trace(_: Any, sql: str, values: Any) -> bool:
            nonlocal commits
            commits += sql.startswith("COMMIT")
            return True

        ledger._db.exec_trace = trace
        for number in range(count):
            await bench.one(number)
        ledger._db.exec_trace = None
        last = await ledger.query("runs_before", "run_~", 1)
        snapshot, _ = await bench.runtime.prompt(last[0][0], 1)
        checkpoint(ledger)
        after = on_disk(bench.runtime.home)
    return {
        "stored_bytes": (after - before) / count,
        "prompt_bytes": len(snapshot.request),
        "commits": commits / count,
    }


def checkpoint(ledger: Any) -> None:
    """Bring the log into the database file, so that what is on disk is what is stored."""
    ledger._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def on_disk(home: Path) -> int:
    """Give the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file())


def measured(arguments: argparse.Namespace, where: Path) -> dict[str, Any]:
    """Measure everything, taking turns."""
    work = asyncio.run(captured(where / "capture", arguments.kb, arguments.replayed))
    columns: dict[str, list[float]] = {name: [] for name in COLUMNS}

    async def interlock(at_once: int) -> None:
        folder = where / f"interlock-{at_once}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        async with Bench(folder, arguments.kb) as bench:
            await bench.many(at_once, 0.3)
            rate, cpu = await bench.many(at_once, arguments.seconds)
        columns[f"interlock {at_once}"].append(rate)
        columns[f"cpu ms {at_once}"].append(cpu)

    for _ in range(arguments.rounds):
        columns["replay alone"].append(replay(where / "replay", work, 0))
        asyncio.run(interlock(1))
        columns["replay 64"].append(replay(where / "replay", work, AT_ONCE))
        asyncio.run(interlock(AT_ONCE))
    result: dict[str, Any] = {name: statistics.median(values) for name, values in columns.items()}
    result["statements"] = sum(len(group) for group in work[-1])
    result["replay commits"] = len(work[-1])
    small = asyncio.run(stored_and_shown(where / "small", arguments.kb, 200))
    large = asyncio.run(stored_and_shown(where / "large", 2000, 3))
    result |= small
    result["beside payload"] = small["stored_bytes"] - arguments.kb * 1000
    result["prompt bytes at 2 MB"] = large["prompt_bytes"]
    result["share alone"] = result["interlock 1"] / result["replay alone"]
    result["share at 64"] = result["interlock 64"] / result["replay 64"]
    return result


COLUMNS = ("replay alone", "interlock 1", "cpu ms 1", "replay 64", "interlock 64", "cpu ms 64")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kb", type=int, default=20, help="kilobytes of findings")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each turn")
    parser.add_argument("--replayed", type=int, default=640, help="hand-offs that are captured and replayed")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--where", type=Path, help="the folder to work in; a temporary one unless given")
    arguments = parser.parse_args()
    where = arguments.where or Path(tempfile.mkdtemp(prefix="interlock-bench-"))
    try:
        result = measured(arguments, where)
    finally:
        if arguments.where is None:
            shutil.rmtree(where, ignore_errors=True)
    for name, value in result.items():
        print(f"{name:<24}{value:>14,.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
