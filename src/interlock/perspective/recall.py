"""Recall: what one perspective remembers about some words, eligibility first and relevance second (ME-2).

Which memories may be told in a room is settled by the lists that the index is asked for; rank is worked out among
those alone, down to how rare a word is and how long texts are. So nothing that a room may not know moves anything in
it: not what comes back, nor in which order, nor with which score.

Relevance is BM25 over stems, with the names of the subject and the date as further words; what was said just before
and after lends a part of its score, since an answer seldom repeats the words of its question. What somebody asked
says less than what somebody told, and of two alike the newer one comes first.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from interlock.ledger.ledger import Ledger, Row
from interlock.ledger.search_index import (
    ANY,
    IndexEntry,
    ListCount,
    Posted,
    SearchIndex,
    about,
    added,
    weight_in,
    word_digest,
)
from interlock.perspective.stem import date_stems, stems_in

__all__ = ["Memorable", "Recalled", "forgotten", "memorable_rows", "recall"]

SATURATION, LENGTH_SHARE = 1.2, 0.4
"""The two parameters of BM25, k1 and b. Memories are short, so that their length says little."""
NAME_WEIGHT, DATE_WEIGHT = 2.0, 1.0
BEFORE, AFTER = (0.4, 0.2), (0.2, 0.2)
"""Which part of the score of the memories just before and just after is lent, the nearest first."""
TALK = 3_600_000
"""Milliseconds after which what comes next is another talk."""
ASKING = 0.8
RECENCY, HALF_LIFE = 0.1, 30 * 86_400_000
"""By how much of its score a memory of this moment is ahead of an old one, and after how many milliseconds by half
of that."""

MOST_TEXT, MOST_STEMS = 1_000_000, 1_000
"""How many characters of a memory are read, and how many different stems of it are indexed."""
MOST_ASKED, MOST_WORDS = 10_000, 32
"""How many characters of a question are read, and how many different stems of it are looked for."""
FAR = 500
"""How many memories are read that hold a word, the newest first."""
CANDIDATES = 64
"""How many memories are looked at closely."""


@dataclass(frozen=True, slots=True)
class Memorable:
    """A memory as recall needs it. `audience` are the actors who could observe it, None for what was shared with
    everybody; `names` are those of the subject; `at` is in milliseconds since 1970."""

    perspective: str
    id: str
    audience: frozenset[str] | None
    at: int
    text: str
    subject: str | None = None
    names: str = ""
    conversation: str | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that was found, with its score, which compares only with others of the same recall."""

    id: str
    score: float


def memorable_rows(memory: Memorable) -> tuple[Row, ...]:
    """Give the statements by which a memory can be recalled; they belong into the append that writes it.

    Within a conversation memories are added in its order.
    """
    told = Counter(stems_in(memory.text[:MOST_TEXT]))
    length = sum(told.values())
    weights: dict[str, float] = dict(told.most_common(MOST_STEMS))
    for stem in set(stems_in(memory.names[:MOST_ASKED])):
        weights[stem] = weights.get(stem, 0.0) + NAME_WEIGHT
    for stem in date_stems(memory.at):
        weights[stem] = weights.get(stem, 0.0) + DATE_WEIGHT
    return added(
        IndexEntry(
            memory.perspective,
            memory.id,
            memory.audience,
            memory.subject,
            memory.conversation,
            memory.at,
            length,
            memory.text.rstrip().endswith("?"),
            {word_digest(stem): weight for stem, weight in weights.items()},
        )
    )


async def forgotten(ledger: Ledger, perspective: str, ids: Iterable[str]) -> tuple[Row, ...]:
    """Give the statements after which memories of a perspective are not recalled any more, nor found on the disk."""
    index = SearchIndex(ledger)
    return tuple([row for id_ in ids for row in await index.removed(perspective, id_)])


async def recall(
    ledger: Ledger,
    perspective: str,
    words: str,
    room: frozenset[str],
    *,
    now: int,
    subject: str | None = None,
    limit: int = 10,
) -> list[Recalled]:
    """Give what a perspective remembers about some words, the best first.

    Only what every actor of the `room` could observe comes back, or what was shared with everybody; with a `subject`
    only what is about that actor. `words` are plain text in whatever language: nothing in them is a query. When they
    hold none to look for, the newest memories come back. `now` is in milliseconds since 1970.
    """
    index = SearchIndex(ledger)
    eligible = await index.eligible(perspective, room)
    if not eligible or limit <= 0:
        return []
    lists = [count.list for count in eligible]
    if subject is not None:
        eligible = await index.counts([about(list_, subject) for list_ in lists])
        if not eligible:
            return []
    search = _Search(index, perspective, frozenset(lists) if room else None, subject, eligible, now)
    asked = dict.fromkeys(stems_in(words[:MOST_ASKED]))
    digests = [word_digest(stem) for stem in islice(asked, MOST_WORDS)]
    found = await search.best(digests) if digests else await search.newest(limit)
    return [Recalled(posted.id, score) for posted, score in found[:limit]]


@dataclass(frozen=True, slots=True)
class _Search:
    """One recall. `lists` are those whose memories may be told, None for all of the perspective."""

    index: SearchIndex
    perspective: str
    lists: frozenset[str] | None
    subject: str | None
    eligible: Sequence[ListCount]
    now: int

    async def newest(self, limit: int) -> list[tuple[Posted, float]]:
        numbers = await self.index.newest(self._names(), ANY, min(limit, FAR))
        posted = await self.index.posted(self.perspective, numbers)
        newest_first = sorted(posted, key=lambda one: one.number, reverse=True)
        return [(one, 0.0) for one in newest_first if self._may_be_told(one)]

    async def best(self, words: Sequence[bytes]) -> list[tuple[Posted, float]]:
        holding = {word: await self.index.newest(self._names(), word, FAR) for word in words}
        rarity = await self._rarity(holding)
        candidates = _likely(holding, rarity)
        looked_at = await self._with_neighbours(candidates)
        average = sum(count.length for count in self.eligible) / max(1, self._count())
        ranking = _Ranking(rarity, max(1.0, average), self.now)
        scored = ranking.scores([one for one in looked_at if self._may_be_told(one)])
        told = [
            (one, score)
            for one, score in scored
            if score > 0 and (self.subject is None or one.subject == self.subject)
        ]
        return sorted(told, key=lambda pair: (-pair[1], -pair[0].at, -pair[0].number))

    def _names(self) -> list[str]:
        return [count.list for count in self.eligible]

    def _count(self) -> int:
        return sum(count.memories for count in self.eligible)

    def _may_be_told(self, posted: Posted) -> bool:
        return self.lists is None or posted.list in self.lists

    async def _rarity(self, holding: Mapping[bytes, Sequence[int]]) -> dict[bytes, float]:
        """Give what each word weighs. How often a word was used of which not all memories were read is judged by
        how far back those reach that were."""
        total = self._count()
        common = [word for word, numbers in holding.items() if len(numbers) >= FAR]
        often = {word: float(len(numbers)) for word, numbers in holding.items() if numbers}
        if common:
            first, last = (
                await self.index.oldest(self._names(), 1),
                await self.index.newest(self._names(), ANY, 1),
            )
            ends = {*first, *last, *(holding[word][-1] for word in common)}
            at = {place.number: place.at for place in await self.index.places(self.perspective, ends)}
            begin, end = (at[numbers[0]] for numbers in (first, last))
            for word in common:
                reach = (end - at[holding[word][-1]]) / max(1, end - begin)
                often[word] = min(total, FAR / reach) if reach > 0 else total
        return {
            word: math.log(1 + (max(0.0, total - count) + 0.5) / (count + 0.5))
            for word, count in often.items()
        }

    async def _with_neighbours(self, candidates: Sequence[int]) -> list[Posted]:
        """Give candidates and those that stand beside them in their conversations, twice as far as scores are lent,
        so that what stands beside a candidate gets its due too."""
        far = 2 * max(len(BEFORE), len(AFTER))
        stretches: dict[tuple[str, str], set[int]] = {}
        alone = []
        for number, list_, conversation, place, _ in await self.index.places(self.perspective, candidates):
            if conversation is None or place is None:
                alone.append(number)
            else:
                stretches.setdefault((list_, conversation), set()).update(range(place - far, place + far + 1))
        spans = [
            (list_, conversation, begin, end)
            for (list_, conversation), places in stretches.items()
            for begin, end in _spans(places)
        ]
        posted = await self.index.between(self.perspective, spans) if spans else []
        return posted + (await self.index.posted(self.perspective, alone) if alone else [])


def _spans(places: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Give the first and last of each unbroken row of numbers."""
    spans: list[tuple[int, int]] = []
    for place in sorted(places):
        if spans and place == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], place)
        else:
            spans.append((place, place))
    return spans


def _likely(holding: Mapping[bytes, Sequence[int]], rarity: Mapping[bytes, float]) -> list[int]:
    """Give the numbers of the memories that hold the most and rarest words; of those alike the newest."""
    sums: dict[int, float] = {}
    for word, numbers in holding.items():
        weight = rarity.get(word, 0.0)
        for number in numbers:
            sums[number] = sums.get(number, 0.0) + weight
    best = sorted(sums.items(), key=lambda item: (-item[1], -item[0]))
    return [number for number, _ in best[:CANDIDATES]]


@dataclass(frozen=True, slots=True)
class _Ranking:
    """How memories are ranked: what each word weighs, and how many words a text has on average."""

    rarity: Mapping[bytes, float]
    average: float
    now: int
    _own: dict[tuple[str, str, int], tuple[int, float]] = field(default_factory=dict)

    def scores(self, memories: Sequence[Posted]) -> list[tuple[Posted, float]]:
        """Give each memory with its score, which those beside it have a part in."""
        own = [self._bm25(one) for one in memories]
        for one, score in zip(memories, own, strict=True):
            if one.conversation is not None and one.place is not None:
                self._own[one.list, one.conversation, one.place] = (one.at, score)
        return [
            (one, (score + self._lent(one)) * (ASKING if one.asks else 1.0) * self._recency(one.at))
            for one, score in zip(memories, own, strict=True)
        ]

    def _bm25(self, one: Posted) -> float:
        floor = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * one.length / self.average)
        score = 0.0
        for word, rarity in self.rarity.items():
            weight = weight_in(one.words, word)
            if weight:
                score += rarity * weight * (SATURATION + 1) / (weight + floor)
        return score

    def _lent(self, one: Posted) -> float:
        if one.conversation is None or one.place is None:
            return 0.0
        lent = 0.0
        for step, shares in ((-1, BEFORE), (1, AFTER)):
            place, at = one.place, one.at
            for share in shares:
                place += step
                beside = self._own.get((one.list, one.conversation, place))
                if beside is None or abs(beside[0] - at) > TALK:
                    break
                at = beside[0]
                lent += share * beside[1]
        return lent

    def _recency(self, at: int) -> float:
        halvings: float = max(0, self.now - at) / HALF_LIFE
        return 1 + RECENCY * math.pow(0.5, halvings)
