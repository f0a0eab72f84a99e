"""A name: a run of capitalised words that a text calls somebody or something by."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from interlock.message.statement.word import Word, is_plain

__all__ = ["Name", "names_in", "same_name"]

JOINS = frozenset(
    {"of", "the", "de", "da", "do", "dos", "das", "e", "and", "van", "von", "del", "la", "di", "y"}
)
SENTENCE_END = re.compile(r"(?:^|[.!?:;]\s+|[\"“«(]\s*|\n\s*|[-–]\s)$")
SHORTEST_STEM = 4


@dataclass(frozen=True, slots=True)
class Name:
    """A name from `start` to `end` of its text, and its words without accents. `opens`: it begins the sentence, where
    a capital alone says little."""

    text: str
    parts: tuple[str, ...]
    start: int
    end: int
    opens: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        """The same for names that are written alike."""
        return ("name", " ".join(self.parts))


def names_in(text: str, words: Sequence[Word], taken: Sequence[tuple[int, int]]) -> list[Name]:
    """Give the names of a text in order, without what lies in `taken`, where dates and quantities stand."""
    found: list[list[Word]] = []
    for word in words:
        inside = any(start < word.end and word.start < end for start, end in taken)
        if inside or not word.capital or (is_plain(word.text.casefold()) and _opens(text, word)):
            continue
        if found and _joined(text, found[-1][-1], word):
            found[-1].append(word)
        else:
            found.append([word])
    return [_name(text, run) for run in found]


def _opens(text: str, word: Word) -> bool:
    return bool(SENTENCE_END.search(text[: word.start]))


def _joined(text: str, before: Word, word: Word) -> bool:
    between = text[before.end : word.start]
    if between in {" ", "-", ". ", " & ", "."}:
        return (
            between != ". " or len(before.text) == 1 or before.plain in {"mr", "ms", "dr", "sr", "st", "jr"}
        )
    return between.startswith(" ") and between.strip() in JOINS - {"and", "e"} and between.count(" ") == 2


def _name(text: str, run: Sequence[Word]) -> Name:
    start, end = run[0].start, run[-1].end
    parts = tuple(
        word.plain.removesuffix("'s").removesuffix("’s") for word in run if not is_plain(word.plain)
    )
    return Name(text[start:end], parts or (run[0].plain,), start, end, _opens(text, run[0]))


def same_name(first: Name, second: Name) -> bool:
    """Tell whether two names may be of one: a part of the other, its initials, an inflection, or a slip of spelling."""
    short, long = sorted((first.parts, second.parts), key=len)
    if all(any(_same_part(part, other) for other in long) for part in short):
        return True
    return _initials(first.parts, second.parts) or _initials(second.parts, first.parts)


def _same_part(part: str, other: str) -> bool:
    if (
        part == other
        or (len(part) == 1 and other.startswith(part))
        or (len(other) == 1 and part.startswith(other))
    ):
        return True
    if min(len(part), len(other)) < SHORTEST_STEM:
        return False
    common = min(len(part), len(other), max(SHORTEST_STEM, max(len(part), len(other)) - 4))
    return part[:common] == other[:common] or fuzz.ratio(part, other) >= 88


def _initials(name: Sequence[str], short: Sequence[str]) -> bool:
    return len(short) == 1 and len(name) > 1 and short[0] == "".join(part[0] for part in name)
