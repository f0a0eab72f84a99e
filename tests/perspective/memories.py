"""Memories under test: an open ledger with what some perspectives remember, and what may come back of it."""

import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from interlock.ledger.ledger import Appended, Ledger
from interlock.ledger.sqlite import SqliteLedger
from interlock.perspective.recall import Memorable, Recalled, forgotten, memorable_rows, recall
from interlock.testing import MovableClock

NOW = 1_700_000_000_000
MINUTE, DAY = 60_000, 86_400_000
DESK = "triage@acme/desk"


@asynccontextmanager
async def remembering(*memories: Memorable) -> AsyncIterator[SqliteLedger]:
    """A ledger of its own in which these memories can be recalled."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = await SqliteLedger.open(Path(folder) / "ledger.db", clock=MovableClock())
        try:
            await remember(ledger, memories)
            yield ledger
        finally:
            await ledger.close()


async def remember(ledger: Ledger, memories: Iterable[Memorable]) -> None:
    rows = [row for memory in memories for row in memorable_rows(memory)]
    assert isinstance(await ledger.append((), rows=rows), Appended)


async def forget(ledger: Ledger, perspective: str, *ids: str) -> None:
    assert isinstance(await ledger.append((), rows=await forgotten(ledger, perspective, ids)), Appended)


def memory(
    text: str, id_: str = "memory_1", audience: Iterable[str] | None = ("ana",), **more: Any
) -> Memorable:
    """A memory that Ana could observe, unless another audience is given; None is everybody."""
    known = None if audience is None else frozenset(audience)
    return Memorable(more.pop("perspective", DESK), id_, known, more.pop("at", NOW - DAY), text, **more)


async def found(ledger: Ledger, words: str, *room: str, **more: Any) -> list[Recalled]:
    perspective = more.pop("perspective", DESK)
    return await recall(ledger, perspective, words, frozenset(room), now=NOW, **more)


async def ids(ledger: Ledger, words: str, *room: str, **more: Any) -> list[str]:
    return [one.id for one in await found(ledger, words, *room, **more)]


class Counting:
    """A ledger that counts the rows it was asked for."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self.rows, self.queries = ledger, 0, 0

    async def query(self, name: str, *values: Any) -> list[tuple[Any, ...]]:
        rows = await self._ledger.query(name, *values)
        self.rows += len(rows)
        self.queries += 1
        return rows
