"""How many actions a second are claimed, beside bare inserts on the same database.

    python bench/action.py [--seconds 2] [--rounds 5] [--json FILE] [--where FOLDER]

A claim is what stands before every write: a step in the action's own stream, its projection, and the guard that the
agent still owns the task, in one append that is on disk when it returns. Beside it stands `INSERT ... ON CONFLICT DO
NOTHING` into a table of keys in the same file, with the same settings (write-ahead log, synchronous=FULL): each one
in a
transaction of its own, as a program would do without Interlock, and 64 of them sharing one. All take turns within one
run; read the ratios, which share the machine's noise.
"""

import argparse
import asyncio
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from interlock.ledger.ledger import Appended, Row, Write
from interlock.ledger.sqlite import SqliteLedger, connect
from interlock.ledger.step import Draft, Head

AT_ONCE = 64
TASK, RUN = "task_1", "run_1"
BARE = "CREATE TABLE IF NOT EXISTS bare (key TEXT PRIMARY KEY, run TEXT NOT NULL, state TEXT NOT NULL) STRICT"
INSERT = "INSERT INTO bare VALUES (?, ?, 'claimed') ON CONFLICT DO NOTHING"


class Claims:
    """Claims fresh actions through the ledger."""

    def __init__(self, ledger: SqliteLedger) -> None:
        self._ledger, self._count = ledger, 0

    async def one(self) -> None:
        """Claim one action that nobody claimed before."""
        self._count += 1
        name = f"action_{self._count:032x}"
        digest = f"{self._count:064x}"
        body = {
            "action": name, "tool": "refund", "key": digest, "identity": digest, "arguments": digest, "task": TASK,
            "run": RUN, "call": "call_1_0", "attempt": 1, "deadline": 1,
        }  # fmt: skip
        outcome = await self._ledger.append(
            (Write(name, None, (Draft("action.claimed", body),)),),
            guards=(Row("owner_is", (TASK, 1), "not_owner"),),
        )
        assert isinstance(outcome, Appended), outcome


class Bare:
    """Inserts fresh keys, with as many in a transaction as are asked for."""

    def __init__(self, path: Path) -> None:
        self._db = connect(path)
        self._db.execute(BARE)
        self._count = 0

    def insert(self, together: int) -> None:
        """Insert keys in one transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        for _ in range(together):
            self._count += 1
            self._db.execute(INSERT, (f"key {self._count}", RUN))
        self._db.execute("COMMIT")


async def rate(work: Callable[[], Awaitable[None]], at_once: int, seconds: float) -> float:
    """Give how many a second are done when so many are under way at a time."""
    end, done = time.perf_counter() + seconds, 0

    async def keep_at() -> None:
        nonlocal done
        while time.perf_counter() < end:
            await work()
            done += 1

    began = time.perf_counter()
    await asyncio.gather(*(keep_at() for _ in range(at_once)))
    return done / (time.perf_counter() - began)


def bare_rate(bare: Bare, together: int, seconds: float) -> float:
    """Give how many bare inserts a second are done, so many in a transaction."""
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        bare.insert(together)
        done += together
    return done / (time.perf_counter() - began)


async def measured(folder: Path, seconds: float, rounds: int) -> dict[str, float]:
    """Give the median of each rate, taken in turn."""
    ledger = await SqliteLedger.open(folder / "ledger.db")
    opened = {"task": TASK, "owner": "a@acme", "run": RUN, "scope": "acme", "by": {"kind": "person"}}
    await ledger.append((Write(TASK, Head(), (Draft("task.opened", opened),)),))
    claims, bare = Claims(ledger), Bare(folder / "ledger.db")
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, value in (
            ("claim alone", await rate(claims.one, 1, seconds)),
            ("bare alone", bare_rate(bare, 1, seconds)),
            (f"claim at {AT_ONCE}", await rate(claims.one, AT_ONCE, seconds)),
            (f"bare, {AT_ONCE} to a transaction", bare_rate(bare, AT_ONCE, seconds)),
        ):
            found.setdefault(name, []).append(value)
    await ledger.close()
    return {name: statistics.median(values) for name, values in found.items()}


def ratios(rates: dict[str, float]) -> dict[str, float]:
    """Give the claims as a part of the bare inserts."""
    at_once = rates[f"claim at {AT_ONCE}"]
    return {
        "alone": rates["claim alone"] / rates["bare alone"],
        f"at {AT_ONCE}, each insert alone": at_once / rates["bare alone"],
        f"at {AT_ONCE}, inserts together": at_once / rates[f"bare, {AT_ONCE} to a transaction"],
    }


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--where", type=Path)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-action-", dir=given.where))
    try:
        rates = asyncio.run(measured(folder, given.seconds, given.rounds))
    finally:
        shutil.rmtree(folder)
    form: dict[str, Any] = {"per second": rates, "ratio": ratios(rates)}
    for title, rows in form.items():
        for name, value in rows.items():
            print(f"{title:10}  {name:32} {value:12,.2f}")
    if given.json:
        given.json.write_text(json.dumps(form, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
