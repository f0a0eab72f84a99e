"""A heartbeat goes on whatever it meets: a ledger that cannot be opened for a while costs beats, not the lease."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from interlock.errors import InterlockError
from interlock.ledger.ledger import Row
from interlock.ledger.sqlite import SqliteLedger
from interlock.run import worker
from interlock.run.worker import Heartbeat

LEASE_MS = 30


@pytest.mark.rule("WK-2", "RN-5")
def test_a_heartbeat_that_could_not_open_the_ledger_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, refused, beaten = tmp_path / "ledger.db", 3, threading.Event()
    connect = worker.connect

    def reluctant(path: Path) -> Any:
        nonlocal refused
        if refused:
            refused -= 1
            raise InterlockError("ledger.unreadable", file=str(path), why="too many open files")
        return connect(path)

    def now() -> int:
        if not refused:
            beaten.set()
        return 1_000_000

    async def held() -> None:
        ledger = await SqliteLedger.open(path)
        await ledger.append((), rows=(Row("insert_lease", ("run_1", "w", 1, 5)),))
        await ledger.close()

    asyncio.run(held())
    monkeypatch.setattr(worker, "connect", reluctant)
    stop = threading.Event()
    beating = threading.Thread(target=Heartbeat(path, "w", LEASE_MS, now).beat, args=(stop,))
    beating.start()
    try:
        assert beaten.wait(20)
    finally:
        stop.set()
        beating.join()
    db = connect(path)
    assert db.execute("SELECT until FROM lease").fetchall() == [(1_000_000 + LEASE_MS,)]
    db.close()
