"""A template: what the entries that say the same have in common, with what varies between them masked.

The grouping follows Drain (He, Zhu, Zheng, Lyu: "Drain: An Online Log Parsing Approach with Fixed Depth
Tree", ICWS 2017): what plainly varies is masked first, a tree of fixed depth (severity, length, first word)
leads to a small leaf, and within the leaf the most similar template is taken. It departs from Drain in one
point: as long as a leaf is small, only equal texts are joined, since the one word in which two rare messages
differ ("statement timeout", "lock timeout") is often the very thing to know.
"""

import re
from dataclasses import dataclass, field

from log_rate import Histogram
from log_signature import Signature, signature_of

__all__ = ["MASK", "Place", "Template", "Templates", "mask"]

MASK = "<*>"
QUOTED = re.compile(r""" "(?:[^"\\]|\\.){0,300}" | (?<!\w)'(?:[^'\\]|\\.){0,300}'(?!\w) """, re.VERBOSE)
VARYING = re.compile(r"[\d/\\@]|::")
"""What a word must hold to be worth a look by the long pattern; most words hold none of it."""
VARIABLE = re.compile(
    r"""
      \b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b               # UUID
    | \b\w+://[^\s"'<>]+                                                     # URL
    | (?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?(?![\w.])                    # IPv4
    | \[?(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}\]?                       # IPv6
    | (?<![\w/])(?:[A-Za-z]:)?(?:[/\\][\w.@%+~=-]+){2,}[/\\]?                 # path
    | \b[\w.+-]+@[\w-]+\.[\w.-]+\b                                           # mail address
    | \b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d)?
    | \b0[xX][0-9a-fA-F]+\b | \b(?=[a-fA-F]*\d)[0-9a-fA-F]{7,}\b             # hexadecimal
    | (?<![\w<])[-+]?\d+(?:[.,:]\d+)*(?:[eE][-+]?\d+)?
      (?:(?:ns|us|µs|ms|s|m|h|d|kB|KB|MB|GB|KiB|MiB|GiB|B|%)\b)?(?!\w)        # number with its unit
    """,
    re.VERBOSE,
)
SEVERAL = re.compile(r"<\*>(?:, ?<\*>){2,}")
DIGITS = re.compile(r"\d+")
LOOKED_AT = 600
SMALL_LEAF = 12
SIMILAR = 0.6
REMEMBERED = 8192


def mask(message: str) -> str:
    """Give the message with everything that varies masked: quoted text, numbers, ids, addresses, paths,
    times.
    """
    text = message[:LOOKED_AT]
    if '"' in text or "'" in text:
        text = QUOTED.sub(MASK, text)
    words = [VARIABLE.sub(MASK, word) if VARYING.search(word) else word for word in text.split()]
    return SEVERAL.sub(f"{MASK}, …", " ".join(words))


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was seen: line number (from 1), and time in seconds since the epoch, if the line had
    one.
    """

    line: int
    at: float | None


@dataclass(slots=True)
class Template:
    """The entries that say the same: how many, since when, until when, an example, what came with them.

    `tally` counts, by kind (`source`, `detail`, `statement`, `trace`, `holder`), the few values seen most
    early.
    """

    number: int
    severity: str | None
    words: list[str]
    signature: Signature | None
    first: Place
    last: Place
    example: str
    count: int = 0
    counted: Histogram = field(default_factory=Histogram)
    tally: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The template as text, `<*>` where entries differ."""
        return " ".join(self.words)

    def note(self, kind: str, value: str, bound: int = 12) -> None:
        """Count a value that came with an entry; values beyond the bound are counted together, as `…`."""
        seen = self.tally.setdefault(kind, {})
        if value not in seen and len(seen) >= bound:
            value = "…"
        seen[value] = seen.get(value, 0) + 1


def _likeness(words: list[str], other: list[str]) -> float:
    return sum(one == two for one, two in zip(words, other, strict=True)) / len(words)


class Templates:
    """The templates of one log, at most `limit`; entries that fit none once it is full are counted in
    `overflow`.
    """

    def __init__(self, limit: int = 2000) -> None:
        self.limit = limit
        self.overflow = 0
        self.all: list[Template] = []
        self._known: dict[tuple[str | None, str], Template] = {}
        self._leaves: dict[tuple[str | None, int, str], list[Template]] = {}

    def of(self, message: str, severity: str | None, place: Place) -> Template | None:
        """Give the template of a message, making it if it is new, or None when there is no room for
        another.
        """
        # Entries that differ in their digits alone are by far the most, and masking costs ten times this.
        key = (severity, DIGITS.sub("0", message[:LOOKED_AT]))
        found = self._known.get(key)
        if found is None:
            found = self._place(mask(message), message, severity, place)
            if found is None:
                self.overflow += 1
                return None
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = found
        found.count += 1
        found.last = place
        return found

    def _place(self, masked: str, message: str, severity: str | None, place: Place) -> Template | None:
        words = masked.split(" ")
        first = MASK if MASK in words[0] else DIGITS.sub("0", words[0])
        leaf = self._leaves.setdefault((severity, len(words), first), [])
        known = next((template for template in leaf if template.words == words), None)
        if known is not None:
            return known
        full = len(self.all) >= self.limit
        if leaf and (full or len(leaf) >= SMALL_LEAF):
            nearest = max(leaf, key=lambda template: _likeness(template.words, words))
            if _likeness(nearest.words, words) >= SIMILAR:
                nearest.words = [
                    one if one == two else MASK for one, two in zip(nearest.words, words, strict=True)
                ]
                return nearest
        if full:
            return None
        made = Template(
            len(self.all) + 1, severity, words, signature_of(message), place, place, message[:LOOKED_AT]
        )
        self.all.append(made)
        leaf.append(made)
        return made
