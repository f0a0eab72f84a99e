"""The ledger: what every store does, and the values it takes and gives.

Outcomes that are expected are values: `Appended`, or why nothing was written. Exceptions are left for what
nobody expects (a full disk, a broken file), as InterlockError with a code of the `ledger` domain.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from interlock.ledger.step import Draft, Head, Step

__all__ = [
    "Appended",
    "Claimed",
    "Conflict",
    "ContentRow",
    "Fenced",
    "Finding",
    "Ledger",
    "Outcome",
    "Refused",
    "Row",
    "Write",
]


@dataclass(frozen=True, slots=True)
class Write:
    """Steps for one stream. `after` is where the writer believes the stream ends; None means wherever it
    does, for streams that many write. `fence` is the number of the claim that the writer holds."""

    stream: str
    after: Head | None
    drafts: Sequence[Draft]
    fence: int = 0


class Row(NamedTuple):
    """A named statement with its values. `refusal` is the constraint it stands for: when the statement
    changes no row, nothing is written and the outcome is `Refused(refusal)`."""

    query: str
    values: tuple[Any, ...]
    refusal: str | None = None


class ContentRow(NamedTuple):
    """A piece of content as the database keeps it; `form`: 0 plain, 1 compressed, 2 in the object store."""

    digest: bytes
    company: str
    size: int
    form: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Appended:
    """All was written. `heads` are the new ends of the streams, in the order of the writes."""

    heads: tuple[Head, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing was written: the stream does not end where the writer believed."""


@dataclass(frozen=True, slots=True)
class Fenced:
    """Nothing was written: the writer does not hold the lease any more."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was written: a named constraint forbids it (`already_opened`, `over_budget`…)."""

    constraint: str


Outcome = Appended | Conflict | Fenced | Refused


@dataclass(frozen=True, slots=True)
class Claimed:
    """A run that a worker now holds, by the fence that its claim gave."""

    run: str
    fence: int


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not fit: `problem` by code, in which stream, at which step. `detail` says more:
    a table, a digest, or the database's own words. Stream "*" is what belongs to no stream.

    - `missing`: the step is not there, though the stream goes on, or is recorded to go on.
    - `changed`: the step's digest is not that of what the step says.
    - `relinked`: the step fits itself, but does not continue the step before it.
    - `malformed`: the step fits, but its body is not what its kind requires.
    - `head`: the stream is recorded to end otherwise than with this step.
    - `no_such_stream`: there is neither a step nor a head of that name.
    - `projection`: the table `detail` says something else than the steps.
    - `schema`: the table, index or trigger `detail` is gone, was altered, or is not one of the ledger's.
    - `no_timer`: the hand-off or question `detail` waits with a time limit, and no row is there that would end it.
    - `no_lease`: the run is open, and no row is there by which a worker could claim it.
    - `not_owed`: this closing step left listeners to be opened; one is neither opened nor noted as not started,
      and nothing is owed any more.
    - `unreadable`, `damaged_file`: the database could not read it; `detail` is what it said.
    - `content.missing`, `content.corrupt`: the content of digest `detail`, which this step names, is not there
      or does not fit its digest. `content.unreadable`: its file is there and cannot be read.
    """

    problem: str
    stream: str
    seq: int = 0
    detail: str = ""


class Ledger(Protocol):
    """The nine things a store can do."""

    async def append(
        self,
        writes: Sequence[Write],
        *,
        guards: Sequence[Row] = (),
        rows: Sequence[Row] = (),
        contents: Sequence[ContentRow] = (),
        durable: bool = True,
    ) -> Outcome:
        """Write steps to several streams, their projections, content and working rows: all or nothing.

        `guards` are executed before the steps and `rows` after them. With `durable` the answer comes when
        everything is on disk; without, it comes as soon as the store has accepted it, and it is on disk no
        later than the next durable append of this process, or some milliseconds later. If the disk refuses
        what was accepted so, whoever builds on its steps gets `Conflict`; for what is not a step to build on,
        wait with a durable append of nothing: it raises when something that was accepted was lost.
        """
        ...

    async def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Step]:
        """Give up to `limit` steps of a stream, from the one after number `after`."""
        ...

    def follow(self, stream: str, after: int = 0) -> AsyncIterator[Step]:
        """Give the steps of a stream as they come, for people who watch; ends with a run's closing step."""
        ...

    async def claim(self, worker: str, limit: int, lease_ms: int) -> list[Claimed]:
        """Take up to `limit` runs that nobody holds, each by a step whose number is the fence."""
        ...

    async def renew(self, worker: str, lease_ms: int) -> None:
        """Prolong all leases of a worker."""
        ...

    async def release(self, run: str, fence: int) -> None:
        """Give a run back, unless somebody else has it by now."""
        ...

    async def query(self, name: str, *values: Any) -> list[tuple[Any, ...]]:
        """Give the rows of a named query that only reads."""
        ...

    async def within(self, perspective: str, name: str, *values: Any) -> list[tuple[Any, ...]]:
        """Give the rows of a named query that reads what one agent has seen and noted. `perspective` is the agent's
        address; the database shows no row of another, whatever the query says (PX-1).

        Raises InterlockError `ledger.behind_wall`.
        """
        ...

    def verify(self, stream: str | None = None) -> AsyncIterator[Finding]:
        """Check a stream with all that it names, or everything; gives what does not fit, first things first."""
        ...
