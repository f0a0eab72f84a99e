"""A word: a run of letters or digits of a text, with the stem under which its other forms are found.

The stem is that of a light stemmer for English and Portuguese together: accents and endings go, so that
`produces` and `produced`, `produção` and `produção`'s plural meet. It need not be right, only alike.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from interlock.message.statement.glossary import MEANING

__all__ = ["Language", "Word", "is_plain", "language_in", "plain", "stem_of", "words_of"]

Language = Literal["en", "pt"]

TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*", re.UNICODE)

ENGLISH = """
a an the of and or to in on at by for with from as is are was were be been being it its this that these
those he she they his her their him them who which whose what when where there has have had do does did
will would can could may might should shall also than then so such into over under between during after
before about around approximately roughly some any all each both more most other if but while i we you
our s t up out per via through within once now still just only even very own same see according
said says say reported reports report states stated confirmed confirms confirm
mr mrs ms dr known called since
"""
PORTUGUESE = """
o a os as um uma uns umas de do da dos das e ou em no na nos nas por pelo pela pelos pelas para com ao aos à
às que se é são foi foram era eram ser sendo sido está estão estava há havia tem têm tinha tinham seu sua
seus suas ele ela eles elas este esta esse essa isso isto aquele aquela como mas mais menos também já ainda
entre sobre sob até após depois antes desde durante cerca aproximadamente quando onde qual cujo cuja lhe
num numa dele dela deste desta desse dessa neste nesta nesse nessa nele nela só apenas segundo conforme
disse diz informa informou relata relatou afirma afirmou confirma confirmou sr sra dr
possui possuem conta contam fica ficam ficou houve ter teria terá vai vão foi
"""

PLAIN: dict[Language, frozenset[str]] = {
    "en": frozenset(ENGLISH.split()),
    "pt": frozenset(PORTUGUESE.split()),
}
"""Words that carry no subject and no attribute. `segundo` stands for "according to" far more than for "second"."""

SHAPES: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r"\w{2}(?:ing|tion|ed|ly|ty|th|ght|ck|sh|ness|ers?)\b"),
    "pt": re.compile(
        r"\w{2}(?:ção|ções|ado|ada|ados|adas|ou|eu|iu|ram|dade|mente|nto|nha|lho|eira|eiro|ário|ória)\b"
    ),
}
"""How many words of each language end, for a text without a small word."""

ALL_PLAIN = PLAIN["en"] | PLAIN["pt"]

# Longest first. Each leaves at least three letters; what is put in its place makes related endings meet.
ENDINGS = (
    ("izações", ""), ("ização", ""), ("ization", ""), ("izations", ""),
    ("amentos", ""), ("imentos", ""), ("amento", ""), ("imento", ""),
    ("acoes", ""), ("icoes", ""), ("acao", ""), ("icao", ""), ("ation", ""), ("ations", ""), ("ition", ""),
    ("coes", "c"), ("cao", "c"), ("ction", "c"), ("tion", "t"), ("tions", "t"), ("sion", "s"), ("sao", "s"),
    ("soes", "s"), ("idades", ""), ("idade", ""), ("ities", ""), ("ity", ""), ("mente", ""), ("ments", ""),
    ("ment", ""), ("ness", ""), ("ally", ""), ("ably", ""), ("ings", ""), ("ing", ""), ("ando", ""), ("endo", ""),
    ("indo", ""), ("aram", ""), ("eram", ""), ("iram", ""), ("ados", ""), ("adas", ""), ("idos", ""), ("idas", ""),
    ("ado", ""), ("ada", ""), ("ido", ""), ("ida", ""), ("aria", ""), ("eria", ""), ("ava", ""), ("ies", "y"),
    ("ores", "or"), ("oes", "ao"), ("ais", "al"), ("eis", "el"), ("ers", ""), ("ors", ""), ("ora", "or"),
    ("ed", ""), ("er", ""), ("es", ""), ("ly", ""), ("ou", ""), ("eu", ""), ("iu", ""), ("ar", ""), ("ir", ""),
    ("am", ""), ("em", ""), ("al", ""), ("s", ""), ("e", ""), ("a", ""), ("o", ""), ("y", ""),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it stands in the text from `start` to `end`, without accents in `plain`, and its stem."""

    text: str
    plain: str
    stem: str
    start: int
    end: int

    @property
    def capital(self) -> bool:
        """Whether it begins with a capital letter."""
        return self.text[0].isupper()


def plain(text: str) -> str:
    """Give a text in lower case without accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def is_plain(word: str) -> bool:
    """Tell whether a word, in lower case, only holds a sentence together."""
    return word in ALL_PLAIN


@lru_cache(maxsize=20_000)
def stem_of(word: str) -> str:
    """Give the stem of a word; words that mean the same in a report share the one of the glossary."""
    bare = plain(word)
    for possessive in ("'s", "’s"):
        bare = bare.removesuffix(possessive)
    stem = _cut(bare)
    return MEANING.get(bare) or MEANING.get(stem) or stem


def _cut(word: str) -> str:
    if len(word) <= 3 or not word.isalpha():
        return word
    for _ in range(2):
        for ending, instead in ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                word = word[: len(word) - len(ending)] + instead
                break
    return word


def words_of(text: str) -> tuple[Word, ...]:
    """Give the words of a text in order."""
    return tuple(
        Word(found[0], plain(found[0]), stem_of(found[0].casefold()), found.start(), found.end())
        for found in TOKEN.finditer(text)
    )


def language_in(text: str) -> Language | None:
    """Tell whether a text is rather English or Portuguese, by the small words that hold it together; None if even."""
    words = [found[0].casefold() for found in TOKEN.finditer(text)]
    english, portuguese = (
        sum(word in PLAIN[language] and word not in {"a", "as", "do", "no"} for word in words)
        for language in ("en", "pt")
    )
    accents = len(re.findall(r"[ãõçáéíóúâêôà]", text.casefold()))
    if portuguese + accents == english:
        english, portuguese, accents = (len(SHAPES["en"].findall(text)), len(SHAPES["pt"].findall(text)), 0)
    if portuguese + accents == english:
        return None
    return "pt" if portuguese + accents > english else "en"
