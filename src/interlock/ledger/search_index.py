"""A search index: which memories hold a word, kept apart by who may be told of them.

Every word of a memory is posted under the lists that the memory belongs to: that of its perspective, that of its
audience, and for each of these that of its subject. A search names its lists, so that what it may not see is not
read and then left out, but never read. A list is read from its newest end and only so far, so that a search costs the
same however long the lists are. Lists and words stand in the index as short digests: text of whatever kind cannot be
taken for a part of a query.

These are working tables: all rows follow from the memories, and `CLEARED` with the rows of each makes them anew.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from interlock.ledger.ledger import Ledger, Row

__all__ = [
    "ANY",
    "CLEARED",
    "WORD_BYTES",
    "IndexEntry",
    "ListCount",
    "Place",
    "Posted",
    "SearchIndex",
    "about",
    "added",
    "audience_list",
    "everybody_list",
    "weight_in",
    "whole_list",
    "word_digest",
]

LIST_BYTES, WORD_BYTES = 10, 5
WEIGHT_UNITS = 8
"""In how many parts the weight of a word is kept; the largest weight is 255 of them."""
MOST_AUDIENCES = 128
"""Of how many different audiences a search reads, the last used ones first."""
ANY = b""
"""Stands for any word: every memory is posted under it."""

CLEARED = tuple(
    Row(query, ())
    for query in (
        "clear_recall_words",
        "clear_recall_entries",
        "clear_recall_lists",
        "clear_recall_audiences",
    )
)
"""The statements after which nothing is indexed."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A memory as it is indexed: `words` and their weights by digest; `length` is how many words its text has.

    `audience` is None for what was shared with everybody. `place_in` is the conversation in which it has neighbours.
    `at` is in milliseconds since 1970.
    """

    perspective: str
    id: str
    audience: frozenset[str] | None
    subject: str | None
    place_in: str | None
    at: int
    length: int
    asks: bool
    words: Mapping[bytes, float]

    @property
    def own_list(self) -> str:
        """The list of its audience."""
        if self.audience is None:
            return everybody_list(self.perspective)
        return audience_list(self.perspective, self.audience)

    @property
    def lists(self) -> tuple[str, ...]:
        """All lists under which its words are posted."""
        return _lists(self.perspective, self.own_list, self.subject)


class ListCount(NamedTuple):
    """How many memories some list has, and how many words all their texts have together."""

    list: str
    memories: int
    length: int


class Place(NamedTuple):
    """Where a memory stands: its number, its list, and its place among those of its list in a conversation."""

    number: int
    list: str
    conversation: str | None
    place: int | None
    at: int


class Posted(NamedTuple):
    """A memory as it is ranked; `words` is read with `weight_in`."""

    number: int
    id: str
    list: str
    subject: str | None
    conversation: str | None
    place: int | None
    at: int
    length: int
    asks: int
    words: bytes


@lru_cache(maxsize=50_000)
def word_digest(word: str) -> bytes:
    """Give the digest of a word, under which it is posted."""
    return blake2b(word.encode(errors="surrogatepass"), digest_size=WORD_BYTES).digest()


def whole_list(perspective: str) -> str:
    """Give the list of all that a perspective remembers."""
    return _list("whole", perspective)


def everybody_list(perspective: str) -> str:
    """Give the list of what was shared with everybody."""
    return _list("everybody", perspective)


@lru_cache(maxsize=10_000)
def audience_list(perspective: str, audience: frozenset[str]) -> str:
    """Give the list of what exactly these actors could observe."""
    return _list("audience", perspective, *sorted(audience))


def about(list_: str, subject: str) -> str:
    """Give the part of a list that is about one actor."""
    return _list("about", list_, subject)


def _list(*parts: str) -> str:
    digest = blake2b(digest_size=LIST_BYTES)
    for part in parts:
        encoded = part.encode(errors="surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()


@lru_cache(maxsize=10_000)
def _lists(perspective: str, list_: str, subject: str | None) -> tuple[str, ...]:
    wide = (list_, whole_list(perspective))
    return wide if subject is None else (*wide, *(about(of, subject) for of in wide))


def _tokens(lists: Iterable[str], words: Iterable[bytes]) -> str:
    letters = [word.hex() for word in (ANY, *words)]
    return " ".join([f"{list_}{word}" for list_ in lists for word in letters])


def _packed(words: Mapping[bytes, float]) -> bytes:
    return b"".join(
        word + bytes([max(1, min(255, round(weight * WEIGHT_UNITS)))])
        for word, weight in sorted(words.items())
    )


def weight_in(packed: bytes, word: bytes) -> float:
    """Give the weight of a word in `Posted.words`; nought when it is not there."""
    at = packed.find(word)
    while at >= 0 and at % (WORD_BYTES + 1):
        at = packed.find(word, at + 1)
    return packed[at + WORD_BYTES] / WEIGHT_UNITS if at >= 0 else 0.0


def added(entry: IndexEntry) -> tuple[Row, ...]:
    """Give the statements that index a memory; for one that is indexed already they change nothing.

    They belong into the append that writes the memory. Within a conversation, memories are added in its order.
    """
    key = (entry.perspective, entry.id)
    own = entry.own_list
    rows = [Row("post_recall_words", (_tokens(entry.lists, entry.words), *key))]
    rows += [Row("grow_recall_list", (list_, entry.length, *key)) for list_ in entry.lists]
    if entry.audience:
        members = json.dumps(sorted(entry.audience))
        rows.append(Row("insert_recall_audience", (entry.perspective, own, members)))
    where = (own, entry.subject, entry.place_in, entry.at, entry.length, int(entry.asks))
    rows.append(Row("insert_recall_entry", (*key, *where, _packed(entry.words))))
    return tuple(rows)


class SearchIndex:
    """The index of one ledger. Every question names the perspective that it is asked for."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def removed(self, perspective: str, id_: str) -> tuple[Row, ...]:
        """Give the statements that take a memory out of the index, with the bytes of its words; none if it is not
        there. Those who are in no audience any more are taken out too."""
        found = await self._ledger.query("recall_entry_by_id", perspective, id_)
        if not found:
            return ()
        number, own, subject, length, packed = found[0]
        words = [packed[at : at + WORD_BYTES] for at in range(0, len(packed), WORD_BYTES + 1)]
        lists = _lists(perspective, own, subject)
        guard = (perspective, id_, number)
        rows = [Row("unpost_recall_words", (_tokens(lists, words), *guard))]
        rows += [Row("shrink_recall_list", (length, list_, *guard)) for list_ in lists]
        rows.append(Row("remove_recall_entry", guard))
        rows += [Row("end_recall_list", (list_,)) for list_ in lists]
        rows.append(Row("end_recall_audience", (perspective, own, own)))
        return tuple(rows)

    async def eligible(self, perspective: str, room: frozenset[str]) -> list[ListCount]:
        """Give the lists of which everybody in a room could observe every memory; nobody in it: the whole list."""
        if not room:
            return await self.counts([whole_list(perspective)])
        members = json.dumps(sorted(room))
        rarest = (await self._ledger.query("recall_rarest_member", perspective, members))[0][0]
        found = await self._ledger.query("recall_lists_of_room", perspective, rarest, members, MOST_AUDIENCES)
        return [*(ListCount(*row) for row in found), *await self.counts([everybody_list(perspective)])]

    async def counts(self, lists: Sequence[str]) -> list[ListCount]:
        """Give what is counted of some lists; those that nothing is in are left out."""
        return [ListCount(*row) for row in await self._query("recall_lists_by_name", lists)]

    async def newest(self, lists: Sequence[str], word: bytes, limit: int) -> list[int]:
        """Give the numbers of the newest memories of some lists that hold a word, newest first."""
        return await self._numbers("recall_newest", lists, word, limit)

    async def oldest(self, lists: Sequence[str], limit: int) -> list[int]:
        """Give the numbers of the oldest memories of some lists, oldest first."""
        return await self._numbers("recall_oldest", lists, ANY, limit)

    async def _numbers(self, query: str, lists: Sequence[str], word: bytes, limit: int) -> list[int]:
        match = " OR ".join(f'"{list_}{word.hex()}"' for list_ in lists)
        return [number for (number,) in await self._ledger.query(query, match, limit)]

    async def places(self, perspective: str, numbers: Iterable[int]) -> list[Place]:
        """Give where memories stand."""
        return [
            Place(*row)
            for row in await self._ledger.query("recall_places", json.dumps(list(numbers)), perspective)
        ]

    async def posted(self, perspective: str, numbers: Iterable[int]) -> list[Posted]:
        """Give memories by their numbers."""
        given = json.dumps(list(numbers))
        return [Posted(*row) for row in await self._ledger.query("recall_posted", given, perspective)]

    async def between(self, perspective: str, stretches: Iterable[tuple[str, str, int, int]]) -> list[Posted]:
        """Give the memories of stretches of conversations: list, conversation, first and last place."""
        given = json.dumps(list(stretches))
        return [Posted(*row) for row in await self._ledger.query("recall_between", given, perspective)]

    async def _query(self, name: str, value: Any) -> list[tuple[Any, ...]]:
        return await self._ledger.query(name, json.dumps(value))
