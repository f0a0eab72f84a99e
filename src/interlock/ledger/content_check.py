"""A check of content: every piece that a step names is there and fits its digest, and so does all that is kept (CS-8).

Content may name content in turn: a snapshot's manifest names the parts of the request. What names what inside
a piece is known to those who write it, so they hand in how to read it.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any

from interlock.errors import InterlockError
from interlock.ledger.content_store import ContentStore
from interlock.ledger.ledger import Finding, Ledger
from interlock.ledger.owed_check import is_forgotten, list_of
from interlock.ledger.step import MISFITS, Step

__all__ = ["CONTENT_KEYS", "ContentCheck", "Within", "content_named"]

CONTENT_KEYS = frozenset(
    {
        "answer",
        "arguments",
        "arguments_content",
        "body",
        "brief",
        "compacted",
        "content",
        "detail",
        "digest",
        "form",
        "graph",
        "input",
        "key",
        "list",
        "not_done_said",
        "package",
        "result",
        "said",
        "snapshot",
        "spec",
        "summary",
    }
)
"""The keys of step bodies under which the digest of stored content stands."""

Named = tuple[str, str]
"""A key, and the digest that stands under it."""
Within = Mapping[str, Callable[[bytes], Iterable[Named]]]
"""How to read out of content what it names, by the key that the content was named under itself."""
PAGE = 500


def content_named(body: Mapping[str, Any]) -> Iterator[Named]:
    """Give key and digest of all content that a step's body names, at whatever depth."""
    for key, value in body.items():
        if isinstance(value, str):
            if key in CONTENT_KEYS:
                yield key, value
        else:
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, dict) and not _is_text(item):
                    yield from content_named(item)


def _is_text(item: Mapping[str, Any]) -> bool:
    """Tell whether a value is a message of the catalogue, whose parameters name no content."""
    return "id" in item and item.keys() <= {"id", "with"}


class ContentCheck:
    """One pass over content, in which each piece is read once, from disk."""

    def __init__(self, ledger: Ledger, contents: ContentStore, within: Within) -> None:
        self._ledger, self._contents, self._within = ledger, contents, within
        self._checked: set[str] = set()

    async def of_stream(self, stream: str) -> AsyncIterator[Finding]:
        """Give what is missing or damaged of what a stream names, with the first step that names it; and a closing
        step whose list of listeners was forgotten.

        Steps that cannot be read end it: the check of the chain names those.
        """
        after = 0
        while steps := await self._readable(stream, after):
            after = steps[-1].seq
            for step in steps:
                async for finding in self._pieces(stream, step.seq, _named_by(step)):
                    yield finding
                if await self._is_forgotten(step):
                    yield Finding("not_owed", stream, step.seq)

    async def of_everything(self) -> AsyncIterator[Finding]:
        """Give what is missing or damaged of what any stream names, then of what is kept besides."""
        try:
            after = ""
            while rows := await self._ledger.query("streams_after", after, PAGE):
                after = rows[-1][0]
                for stream, _, _ in rows:
                    async for finding in self.of_stream(stream):
                        yield finding
            place = 0
            while kept := await self._ledger.query("content_after", place, PAGE):
                place = kept[-1][0]
                async for finding in self._pieces("*", 0, [("", digest.hex()) for _, digest in kept]):
                    yield finding
        except InterlockError as error:
            yield Finding("unreadable", "*", detail=error.what())

    async def _readable(self, stream: str, after: int) -> list[Step]:
        try:
            return await self._ledger.read(stream, after)
        except InterlockError:
            return []

    async def _is_forgotten(self, step: Step) -> bool:
        """Whatever cannot be read for this is named by the other checks."""
        try:
            listed = list_of(step)
            return listed is not None and await is_forgotten(
                self._ledger, self._contents, step.stream, listed
            )
        except (InterlockError, *MISFITS):
            return False

    async def _pieces(self, stream: str, seq: int, named: Iterable[Named]) -> AsyncIterator[Finding]:
        waiting = list(named)
        while waiting:
            key, digest = waiting.pop()
            if digest in self._checked:
                continue
            self._checked.add(digest)
            try:
                data = await self._contents.read_afresh(digest)
                if key in self._within:
                    waiting.extend(self._within[key](data))
            except InterlockError as error:
                yield Finding(error.code, stream, seq, digest)
            except (AttributeError, KeyError, TypeError, ValueError):
                yield Finding(
                    "content.corrupt", stream, seq, digest
                )  # whole, but not what the step says it is


def _named_by(step: Step) -> Iterator[Named]:
    try:
        body = step.body
    except InterlockError:
        return iter(())
    return content_named(body)
