"""A statement: what one sentence says, taken apart: its values, and the frame of words that says what they are of."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from interlock.message.statement.name import Name, names_in
from interlock.message.statement.negation import Negation, negations_in
from interlock.message.statement.numeral import Numeral, numerals_in
from interlock.message.statement.opposite import Opposite, opposites_in
from interlock.message.statement.period import Period, periods_in
from interlock.message.statement.quantity import Quantity, folded, quantities_in
from interlock.message.statement.unit import CURRENCIES
from interlock.message.statement.word import Language, Word, is_plain, language_in, words_of

__all__ = ["Statement", "read_statement"]

ATTRIBUTION = re.compile(
    r"^(?:according to|as per|segundo|conforme|de acordo com) [^,.;]{1,60}, |"
    r", (?:the |an? |o |os |as )?[\w ]{1,40} (?:says?|said|found|reports?|reported|states?|stated|claims?|claimed|"
    r"confirmed|disse|diz|informou|informa|afirmou|afirma|declarou)\.?$"
)
"""Who is said to have said it, which is no part of what is said."""


READ = 2000
"""How many characters of a sentence are read."""
VALUES, WORDS = 10, 60
"""How many values of one kind, and words of the frame, are read in a sentence; what has more is a table."""

LABELLED = re.compile(
    r"(?:\b[A-Z]{2,}|\b(?:[Pp]hase|[Ff]ase|[Ss]tage|[Ee]tapa|[Ll]ine|[Ll]inha|[Uu]nit|[Uu]nidade|[Rr]oom|[Ss]ala|[Ss]ection|"
    r"[Vv]ersion|[Vv]ersão|[Ll]ote|[Ll]ot|[Bb]lock|[Bb]loco|[Aa]rticle|[Aa]rtigo|[Pp]age|[Pp]ágina|[Nn]o\.|[Nn]º|#)) ?$"
)
"""What stands before a number that is a part of a name and counts nothing: "ISO 14001", "phase two"."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A text and what was read in it.

    frame: the words that remain beside values, negations, small words and who is said to have said it. ranks: the
    ordinals, such as "second", which are words of the frame too.
    """

    text: str
    language: Language | None
    frame: tuple[Word, ...]
    quantities: tuple[Quantity, ...]
    ranks: tuple[Quantity, ...]
    periods: tuple[Period, ...]
    names: tuple[Name, ...]
    negations: tuple[Negation, ...]
    opposites: tuple[Opposite, ...]

    @property
    def signature(self) -> tuple[tuple[str, ...], ...]:
        """What two texts must have alike to say the same: their values, negations and names, in any order."""
        keys = [*(item.key for item in self.quantities), *(item.key for item in self.periods)]
        keys += [("name", part) for name in self.names if not name.opens for part in name.parts]
        keys += [("not", str(len(self.negations)))]
        return tuple(sorted(set(keys)))


@lru_cache(maxsize=4096)
def read_statement(text: str) -> Statement:
    """Read what a text says, in English or Portuguese, whichever its small words tell."""
    text = text[:READ]
    language, words, low = language_in(text), words_of(text), folded(text)
    periods = periods_in(text, low, language)
    outside = [word for word in words if not _within(word.start, word.end, periods)]
    numerals = [
        item for item in numerals_in(text, outside, language) if not _within(item.start, item.end, periods)
    ]
    numerals = [item for item in numerals if not _is_label(text, item)]
    read = [
        item
        for item in quantities_in(text, numerals[: 2 * VALUES])
        if not _within(item.start, item.end, periods)
    ]
    ranks = [item for item in read if item.dimension == "ordinal"]
    quantities = [item for item in read if item.dimension != "ordinal"]
    negations = negations_in(text, low, words, language == "pt")
    taken = [*map(_place, periods), *map(_place, quantities), *map(_place, negations)]
    taken += [found.span() for found in ATTRIBUTION.finditer(low)]
    frame = [
        word for word in words if not _is_plain(word) and not _taken(word, [*taken, *map(_place, ranks)])
    ]
    frame += [Word(item.text, item.text, f"#{item.low}", item.start, item.end) for item in ranks]
    names = names_in(text, words, [*taken, *map(_place, ranks)])
    return Statement(
        text,
        language,
        tuple(sorted(frame, key=lambda word: word.start)[:WORDS]),
        tuple(quantities[:VALUES]),
        tuple(ranks[:VALUES]),
        tuple(periods[:VALUES]),
        tuple(names),
        tuple(negations),
        tuple(opposites_in(words)[:VALUES]),
    )


def _place(item: Period | Quantity | Negation) -> tuple[int, int]:
    return item.start, item.end


def _is_label(text: str, numeral: Numeral) -> bool:
    """Tell whether a number belongs to the word before it; a code of a currency is none such."""
    found = LABELLED.search(text[: numeral.start])
    return found is not None and found[0].strip() not in CURRENCIES and not numeral.ordinal


def _taken(word: Word, places: Sequence[tuple[int, int]]) -> bool:
    return any(start < word.end and word.start < end for start, end in places)


def _within(start: int, end: int, values: Sequence[Period]) -> bool:
    return any(item.start < end and start < item.end for item in values)


def _is_plain(word: Word) -> bool:
    """Tell whether a word only holds the sentence together; one with a capital may be part of a name: "São Paulo"."""
    return is_plain(word.text.casefold()) and (not word.capital or word.start == 0)
