"""A recorder: the pen of one run. It gathers steps that may wait, and writes them with the next that may not.

Effects wait for the disk: the snapshot before the model is asked, the verdict before anything leaves the
process, the closing step before anybody is told. What is purely a record rides along.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from interlock.ledger.ledger import Appended, Conflict, ContentRow, Fenced, Refused, Row, Write
from interlock.ledger.step import Draft
from interlock.run.installation import Installation
from interlock.run.run import Run

__all__ = ["Lost", "Recorder"]

HELD = 128 * 1024
"""How many bytes of content may wait for the next write. All runs of a worker together must stay well below
what the content store remembers."""


class Lost(Exception):  # noqa: N818  it is what happened, not a fault
    """The run is somebody else's now: what this worker still wanted to write is refused (RN-5)."""


@dataclass(slots=True)
class _Noted:
    """What was taken down and is not written yet."""

    drafts: list[Draft] = field(default_factory=list)
    beside: list[Write] = field(default_factory=list)
    contents: list[ContentRow] = field(default_factory=list)
    held: int = 0


class Recorder:
    """Writes the trail of one run under one claim, and moves the run's state by each step it takes down."""

    def __init__(self, installation: Installation, run: Run) -> None:
        self.run = run
        self._ledger, self._clock = installation.ledger, installation.clock
        self._noted = _Noted()
        self._pen = asyncio.Lock()
        self._mark = installation.clock.now()

    def elapsed(self) -> int:
        """Give the milliseconds of active work since this was last asked (waiting is left out by `rest`)."""
        now = self._clock.now()
        spent, self._mark = max(0, now - self._mark), now
        return spent

    def rest(self) -> None:
        """Leave out the time since the last mark: the run was waiting."""
        self._mark = self._clock.now()

    def note(self, kind: str, body: dict[str, Any], contents: Iterable[ContentRow] = ()) -> None:
        """Take a step down. It counts from now on, and is on disk after the next `flush`."""
        at = self._clock.now()
        self._noted.drafts.append(Draft(kind, body, at))
        for row in contents:
            self._noted.contents.append(row)
            lies_elsewhere = row.size and not row.body
            self._noted.held += HELD + 1 if lies_elsewhere else row.size
        self.run.take(kind, body, self.run.fence, at)

    def note_beside(
        self, stream: str, kind: str, body: dict[str, Any], contents: Iterable[ContentRow] = ()
    ) -> None:
        """Take down a step for a stream that others write, too, such as the exchange; it goes with the next
        `flush`."""
        self._noted.beside.append(Write(stream, None, (Draft(kind, body, self._clock.now()),)))
        self._noted.contents.extend(contents)

    async def flush(
        self,
        *,
        then: Sequence[Draft] = (),
        writes: Sequence[Write] = (),
        guards: Sequence[Row] = (),
        rows: Sequence[Row] = (),
        contents: Sequence[ContentRow] = (),
        durable: bool = True,
    ) -> Appended | Refused:
        """Write what was taken down, with what else belongs to the same fact. The state moves by the steps `then`
        only when they are written.

        Raises Lost when the lease is another's. `Refused` writes nothing, and what was taken down stays. A
        cancellation is delivered when the writing is over: what was written must be known to be written.
        """
        if not (self._noted.drafts or self._noted.beside or then or writes or rows):
            return Appended((), 0)
        writing = asyncio.ensure_future(self._write(then, writes, guards, rows, contents, durable))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            while not writing.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({writing})
            if not writing.cancelled():
                writing.exception()
            raise

    async def _write(
        self,
        then: Sequence[Draft],
        writes: Sequence[Write],
        guards: Sequence[Row],
        rows: Sequence[Row],
        contents: Sequence[ContentRow],
        durable: bool,
    ) -> Appended | Refused:
        async with self._pen:
            return await self._write_down(then, writes, guards, rows, contents, durable)

    async def _write_down(
        self,
        then: Sequence[Draft],
        writes: Sequence[Write],
        guards: Sequence[Row],
        rows: Sequence[Row],
        contents: Sequence[ContentRow],
        durable: bool,
    ) -> Appended | Refused:
        run = self.run
        if not (self._noted.drafts or then or self._noted.beside or writes or rows):
            return Appended((), 0)
        taken = self._take_down()
        drafts = (*taken.drafts, *then)
        own = (Write(run.id, run.head, drafts, run.fence),) if drafts else ()
        try:
            outcome = await self._ledger.append(
                (*own, *writes, *taken.beside),
                guards=guards,
                rows=rows,
                contents=(*taken.contents, *contents),
                durable=durable,
            )
        except BaseException:
            self._put_back(taken)
            raise
        match outcome:
            case Appended(heads, at):
                if own:
                    run.head = heads[0]
                for kind, body, when in then:
                    run.take(kind, body, run.fence, at if when is None else when)
                return outcome
            case Refused():
                self._put_back(taken)
                return outcome
            case Conflict() | Fenced():
                raise Lost(run.id)

    def _take_down(self) -> "_Noted":
        """Give what is to be written now. What is noted while it is being written goes with the next."""
        noted, self._noted = self._noted, _Noted()
        return noted

    def _put_back(self, noted: "_Noted") -> None:
        later = self._noted
        self._noted = _Noted(
            noted.drafts + later.drafts,
            noted.beside + later.beside,
            noted.contents + later.contents,
            noted.held + later.held,
        )

    def forget(self) -> None:
        """Drop what was taken down and not written."""
        self._noted = _Noted()

    async def settle(self) -> None:
        """Write what was taken down if it holds more content than may wait.

        What waits is read back from memory alone, which forgets; large content, or much, is not found there.
        """
        if self._noted.held > HELD:
            await self.flush()
