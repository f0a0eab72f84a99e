"""A statement: what one sentence says, taken apart: its values, and the frame of words that says what they are of."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from interlock.message.statement.name import Name, names_in
from interlock.message.statement.negation import Negation, negations_in
from interlock.message.statement.numeral import numerals_in
from interlock.message.statement.period import Period, periods_in
from interlock.message.statement.quantity import Quantity, folded, quantities_in
from interlock.message.statement.word import Language, Word, is_plain, language_in, words_of

__all__ = ["Statement", "read_statement"]


@dataclass(frozen=True, slots=True)
class Statement:
    """A text and what was read in it. `frame` are the words that remain beside values, negations and small words."""

    text: str
    language: Language | None
    frame: tuple[Word, ...]
    quantities: tuple[Quantity, ...]
    periods: tuple[Period, ...]
    names: tuple[Name, ...]
    negations: tuple[Negation, ...]

    @property
    def signature(self) -> tuple[tuple[str, ...], ...]:
        """What two texts must have alike to say the same: their values, negations and names, in any order."""
        keys = [item.key for item in (*self.quantities, *self.periods)]
        keys += [("name", part) for name in self.names if not name.opens for part in name.parts]
        keys += [("not", str(len(self.negations)))]
        return tuple(sorted(set(keys)))


@lru_cache(maxsize=4096)
def read_statement(text: str) -> Statement:
    """Read what a text says, in English or Portuguese, whichever its small words tell."""
    text = text.replace("-LRB-", "(").replace("-RRB-", ")") if "-LRB-" in text else text
    language, words, low = language_in(text), words_of(text), folded(text)
    periods = periods_in(text, low, language)
    outside = [word for word in words if not _within(word.start, word.end, periods)]
    numerals = [
        item for item in numerals_in(text, outside, language) if not _within(item.start, item.end, periods)
    ]
    quantities = [
        item for item in quantities_in(text, numerals) if not _within(item.start, item.end, periods)
    ]
    negations = negations_in(text, low, words, language == "pt")
    taken = [(item.start, item.end) for item in (*periods, *quantities, *negations)]
    names = names_in(text, words, taken)
    frame = tuple(
        word
        for word in words
        if not _is_plain(word) and not any(start < word.end and word.start < end for start, end in taken)
    )
    return Statement(text, language, frame, tuple(quantities), tuple(periods), tuple(names), tuple(negations))


def _within(start: int, end: int, values: Sequence[Period]) -> bool:
    return any(item.start < end and start < item.end for item in values)


def _is_plain(word: Word) -> bool:
    """Tell whether a word only holds the sentence together; one with a capital may be part of a name: "São Paulo"."""
    return is_plain(word.text.casefold()) and (not word.capital or word.start == 0)
