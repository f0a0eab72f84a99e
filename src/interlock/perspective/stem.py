"""A stem: the part of a word under which recall finds its other forms, in English and Portuguese.

It cuts less than the stem of `interlock.message.statement.word`, by which short sentences about one topic are laid
over each other: among many memories a stem that joins two words brings what nobody asked for. Words that only hold
a sentence together have none, nor do those that only ask.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache

from interlock.message.statement.word import TOKEN, is_plain, plain

__all__ = ["date_stems", "stem", "stems_in"]

ASKING = """
just like get got getting kind type sort many much mention mentioned my me mine your yours us our ours not no nor
yes oh hey hi wow really thing things something anything im ive dont didnt doesnt cant wont isnt wasnt youre thats
meu minha meus minhas teu tua me mim nos nosso nossa nossos nossas voce voces quem quais quanto quantos quanta
quantas nao sim tipo coisa coisas alguma algum alguns algumas muito muita muitos muitas oi ola
"""
ASKED = frozenset(ASKING.split())

IRREGULAR = """
go went gone goes; buy bought; make made; take took taken; give gave given; see saw seen; come came; know knew known;
think thought; find found; tell told; become became; leave left; feel felt; bring brought; begin began begun;
keep kept; hold held; write wrote written; stand stood; hear heard; mean meant; meet met; run ran; pay paid; sit sat;
speak spoke spoken; lead led; grow grew grown; lose lost; fall fell fallen; send sent; build built;
understand understood; draw drew drawn; break broke broken; spend spent; rise rose risen; drive drove driven;
wear wore worn; choose chose chosen; eat ate eaten; teach taught; catch caught; win won; sell sold; sing sang sung;
swim swam swum; fly flew flown; ride rode ridden; throw threw thrown; forget forgot forgotten; sleep slept;
fight fought; steal stole stolen; hide hid hidden; bite bit bitten; shake shook shaken; wake woke woken; lend lent;
deal dealt; dream dreamt; child children; man men; woman women; foot feet; tooth teeth; mouse mice; person people;
wife wives; life lives; leaf leaves; knife knives; half halves; blow blew blown; drink drank drunk;
ir fui vou vamos iria indo; fazer fez fiz fizeram feito faz fazem fazendo; vir veio vieram vem; ver viu vi visto;
dar deu dei deram; trazer trouxe trouxeram; pôr pos puseram posto; poder pode pude puderam; saber soube sabe sabem;
querer quis quer querem; dizer dito dizem; ler leu lido; perder perco perdi perdeu
"""
FORMS = {plain(form): plain(forms[0]) for forms in map(str.split, IRREGULAR.split(";")) for form in forms[1:]}

MONTHS = """
january janeiro; february fevereiro; march março; april abril; may maio; june junho; july julho; august agosto;
september setembro; october outubro; november novembro; december dezembro
"""
MONTH = {
    plain(name): f"month{number}"
    for number, names in enumerate(MONTHS.split(";"), 1)
    for name in names.split()
}
ONLY_WITH_CAPITAL = frozenset({"may", "march"})
"""Months that are other words too."""

ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
POSSESSIVE = re.compile(r"['’](?:s|re|ve|ll|d|m|t)\Z")
VOWELS = frozenset("aeiouy")

# Longest first; each leaves four letters or more. Of what is written alike in both languages one is enough.
ENDINGS = (
    *("ational", "amentos", "imentos", "fulness", "amento", "imento", "mente", "ation", "acoes", "icoes"),
    *("ando", "endo", "indo", "aram", "eram", "iram", "ados", "adas", "idos", "idas", "ment", "ness", "able"),
    *(
        "acao",
        "icao",
        "ity",
        "ful",
        "ion",
        "ado",
        "ada",
        "ido",
        "ida",
        "ava",
        "ly",
        "ou",
        "eu",
        "iu",
        "ar",
        "ir",
    ),
    *("o", "a"),
)


def stems_in(text: str) -> Iterator[str]:
    """Give the stems of a text in order, without those of words that say nothing by themselves."""
    for found in TOKEN.finditer(text):
        word = POSSESSIVE.sub("", found[0])
        bare = plain(word)
        month = MONTH.get(bare)
        if month and (word[0].isupper() or bare not in ONLY_WITH_CAPITAL):
            yield month
        elif bare and not (is_plain(word.casefold()) or bare in ASKED):
            yield stem(bare)


def date_stems(at: int) -> Iterable[str]:
    """Give the stems under which a time, in milliseconds since 1970, is found: its year, month and day in UTC.

    There are none for a time that no calendar has.
    """
    try:
        day = datetime.fromtimestamp(at / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return ()
    return (str(day.year), f"month{day.month}", str(day.day))


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Give the stem of a word in lower case without accents."""
    word = FORMS.get(word, word)
    ordinal = ORDINAL.fullmatch(word)
    if ordinal:
        return ordinal[1]
    if len(word) <= 3 or not word.isalpha():
        return word
    word = _without_tense(_singular(word))
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    if word.endswith("e"):
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") else word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zes", "oes")) and len(word) > 4:
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_tense(word: str) -> str:
    for ending in ("edly", "ingly", "ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and VOWELS & set(rest):
            doubled = rest[-1] == rest[-2] and rest[-1] not in "lsz"
            return rest[:-1] if doubled else rest
    return word
