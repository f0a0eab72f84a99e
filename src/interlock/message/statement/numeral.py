"""A numeral: a number as a text writes it, in digits or in words, in English or Portuguese.

`1.234,5` is read as in Portuguese and `1,234.5` as in English wherever the marks tell which it is; `1.234`
and `1,234` alone are read as the language of the text writes thousands.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from interlock.message.statement.word import Language, Word

__all__ = ["DIGITS", "Numeral", "numerals_in", "value_of"]

HALF, CENT = Decimal("0.5"), Decimal("0.02")
DIGITS = re.compile(
    r"(?<![\w.,/])(?<!\w[-‐‑])[-−]?(?:\d{1,3}(?:[.,]\d{3})+(?:[.,]\d+)?|"
    r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d+)?(?!\d)"
    r"|\d+(?:[.,]\d+)?)(?P<ordinal>(?:st|nd|rd|th|[ºª])(?!\w))?"
)
AFTER_RANGE = re.compile(r"(?<=\d[-–—‐‑])\d+(?:[.,]\d+)*|(?<=\d[ ][-–—][ ])\d+(?:[.,]\d+)*")

SMALL = {
    word: number
    for number, words in {
        0: "zero", 1: "one", 2: "two dois duas", 3: "three tres", 4: "four quatro", 5: "five cinco", 6: "six seis",
        7: "seven sete", 8: "eight oito", 9: "nine nove", 10: "ten dez", 11: "eleven onze", 12: "twelve doze",
        13: "thirteen treze", 14: "fourteen quatorze catorze", 15: "fifteen quinze", 16: "sixteen dezesseis",
        17: "seventeen dezessete", 18: "eighteen dezoito", 19: "nineteen dezenove", 20: "twenty vinte",
        30: "thirty trinta", 40: "forty quarenta", 50: "fifty cinquenta", 60: "sixty sessenta",
        70: "seventy setenta", 80: "eighty oitenta", 90: "ninety noventa", 100: "cem cento",
        200: "duzentos duzentas", 300: "trezentos trezentas", 400: "quatrocentos quatrocentas",
        500: "quinhentos quinhentas", 600: "seiscentos seiscentas", 700: "setecentos setecentas",
        800: "oitocentos oitocentas", 900: "novecentos novecentas",
    }.items()
    for word in words.split()
}  # fmt: skip
ORDINALS = {
    word: number
    for number, words in {
        1: "first primeiro primeira", 2: "second segundo segunda", 3: "third terceiro terceira",
        4: "fourth quarto quarta", 5: "fifth quinto quinta", 6: "sixth sexto sexta", 7: "seventh setimo setima",
        8: "eighth oitavo oitava", 9: "ninth nono nona", 10: "tenth decimo decima",
        11: "eleventh", 12: "twelfth", 20: "twentieth", 21: "twenty-first",
    }.items()
    for word in words.split()
}  # fmt: skip
SCALING = {
    "hundred": 100, "thousand": 1000, "mil": 1000, "million": 10**6, "milhao": 10**6, "milhoes": 10**6,
    "billion": 10**9, "bilhao": 10**9, "bilhoes": 10**9, "dozen": 12, "duzia": 12,
}  # fmt: skip
PARTS = {
    word: part
    for part, words in {
        2: "half halves metade meio", 3: "third thirds terco tercos", 4: "quarter quarters quarto quartos",
        5: "fifth fifths quinto quintos", 10: "tenth tenths decimo decimos",
    }.items()
    for word in words.split()
}  # fmt: skip
OF = frozenset({"of", "the", "its", "their", "de", "do", "da", "dos", "das"})
ARTICLES = frozenset({"a", "an", "um", "uma"})


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number from `start` to `end` of a text. `step` is the value of its last digit that counts; a `ratio` is a
    part of one, such as a half."""

    value: Decimal
    step: Decimal
    start: int
    end: int
    ordinal: bool = False
    ratio: bool = False


def value_of(digits: str, language: Language | None) -> tuple[Decimal, Decimal]:
    """Give the value of a number in digits, and its step: 0.1 for `4.2`, 1000 for `12,000`."""
    text = re.sub(r"[ \u00a0\u202f]", "", digits.replace("−", "-"))
    whole, fraction = _parted(text, language)
    value = Decimal(f"{whole}.{fraction}" if fraction else whole)
    if fraction:
        return value, Decimal(1).scaleb(-len(fraction))
    bare = whole.lstrip("-")
    zeros = len(bare) - len(bare.rstrip("0")) if len(bare) > 3 else 0
    return value, Decimal(1).scaleb(zeros)


def _parted(text: str, language: Language | None) -> tuple[str, str]:
    marks = [mark for mark in text if mark in ".,"]
    if not marks:
        return text, ""
    last = text.rfind(marks[-1])
    thousands = {"pt": ".", "en": ","}.get(language or "", "." if text.endswith("000") else ",")
    single = len(set(marks)) == 1
    grouped = len(text) - last == 4 and len(text[:last].lstrip("-")) <= 3 and text[:last].lstrip("-") != "0"
    if single and (len(marks) > 1 or (grouped and marks[0] == thousands)):
        return text.replace(marks[0], ""), ""
    return re.sub("[.,]", "", text[:last]), text[last + 1 :]


def numerals_in(text: str, words: Sequence[Word], language: Language | None) -> list[Numeral]:
    """Give the numerals of a text in order, in digits and in words."""
    found = [*_in_digits(text, language), *_in_words(text, words)]
    return sorted(found, key=lambda numeral: numeral.start)


def _in_digits(text: str, language: Language | None) -> Iterator[Numeral]:
    for pattern in (DIGITS, AFTER_RANGE):
        for found in pattern.finditer(text):
            ordinal = found.groupdict().get("ordinal")
            digits = found[0].removesuffix(ordinal or "")
            glued = text[found.end() : found.end() + 1]
            if glued == "_" or len(digits) > 40:
                continue
            yield Numeral(*value_of(digits, language), found.start(), found.end(), bool(ordinal))


def _in_words(text: str, words: Sequence[Word]) -> Iterator[Numeral]:
    place = 0
    while place < len(words):
        word = words[place]
        part = _part(words, place)
        if part is not None:
            yield part
            place += 1 if word.end == part.end else 2
            continue
        if word.plain in ORDINALS and not _is_unit(words, place):
            yield Numeral(Decimal(ORDINALS[word.plain]), Decimal(1), word.start, word.end, True)
            place += 1
            continue
        taken = _word_count(text, words, place)
        if taken:
            value = _worth([item.plain for item in words[place : place + taken]])
            step = Decimal(10 ** (len(str(value)) - len(str(value).rstrip("0"))) if value > 999 else 1)
            yield Numeral(Decimal(value), step, word.start, words[place + taken - 1].end)
        place += max(taken, 1)


def _part(words: Sequence[Word], place: int) -> Numeral | None:
    """Read "half of", "two thirds", "um quarto de" as a part of one."""
    word = words[place]
    after = words[place + 1] if place + 1 < len(words) else word
    last = words[place + 2].plain if place + 2 < len(words) else ""
    if word.plain in {"half", "metade"} and after.plain in OF:
        return Numeral(HALF, CENT, word.start, word.end, ratio=True)
    count = 1 if word.plain in ARTICLES else SMALL.get(word.plain, 0)
    if not 0 < count < PARTS.get(after.plain, 0) or after is word or last not in OF:
        return None
    return Numeral(Decimal(count) / PARTS[after.plain], CENT, word.start, after.end, ratio=True)


def _is_unit(words: Sequence[Word], place: int) -> bool:
    return place > 0 and words[place].plain == "second" and words[place - 1].text.isdigit()


def _word_count(text: str, words: Sequence[Word], place: int) -> int:
    """Give how many words from `place` on make one number; none for an article or a "one" that stands for a noun."""
    first = words[place].plain
    after = words[place + 1].plain if place + 1 < len(words) else ""
    if first in ARTICLES:
        return 0 if after not in SCALING or after == "mil" else 1 + _word_count(text, words, place + 1)
    if first == "one" and after in {
        "of",
        "another",
        "or",
        "and",
        "with",
        "who",
        "that",
        "can",
        "",
        "hundredth",
    }:
        return 0
    if first not in SMALL and first not in SCALING:
        return 0
    if first in SCALING and place and words[place - 1].text[-1:].isdigit():
        return 0
    count = 0
    for index in range(place, len(words)):
        name = words[index].plain
        if name in SMALL or name in SCALING:
            count = index - place + 1
        elif name not in {"and", "e"} or not _goes_on(words, index):
            break
        if index + 1 < len(words) and text[words[index].end : words[index + 1].start].strip(" -\u2010\u2011"):
            break
    return count


def _goes_on(words: Sequence[Word], index: int) -> bool:
    """Tell whether the "and" joins parts of one number: "hundred and two", "vinte e cinco", not "two and three"."""
    if index == 0 or index + 1 >= len(words):
        return False
    before, after = words[index - 1].plain, words[index + 1].plain
    if after not in SMALL:
        return False
    if words[index].plain == "and":
        return before in SCALING
    return before in SCALING or (SMALL.get(before, 0) >= 20 and SMALL[after] < SMALL[before])


def _worth(names: Sequence[str]) -> int:
    total = group = 0
    for name in names:
        if name in SMALL:
            group += SMALL[name]
        elif name == "hundred":
            group = max(group, 1) * 100
        elif name in SCALING:
            total += max(group, 1) * SCALING[name]
            group = 0
    return total + group
