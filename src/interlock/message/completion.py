"""A completion: the open conflicts and gaps that code adds to a text which a model wrote without them (RS-3)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from interlock.catalogue import LANGUAGES, Text, say
from interlock.message.conflict import Conflict, Side
from interlock.message.merge import Gap, Merged
from interlock.message.statement.overlay import EVEN, alike, overlay
from interlock.message.statement.statement import Statement, read_statement
from interlock.message.statement.word import plain

__all__ = ["Completed", "complete_text"]

SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
MISSING = re.compile(
    r"\b(?:missing|unknown|unavailable|pending|undone|unresolved|omitted|left out|remains? open|falta\w*|ausente|"
    r"desconhecid[oa]s?|indisponive(?:l|is)|pendentes?|em aberto|omitid[oa]s?)\b"
)
"""What says of something that it is not there, without a negation."""
STATED = 0.75
"""How much of the words of a gap one sentence or two that follow each other must have."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A text with what was added at its end, and the names of all sources, each once. `added` is empty if the text said
    everything."""

    text: str
    added: tuple[str, ...]
    sources: tuple[str, ...]


def complete_text(written: str, merged: Merged, language: str = "en") -> Completed:
    """Add to a written text each open conflict and each gap of the merge that it does not state, in `language`.

    A conflict is stated if a passage of two sentences holds the values of all its sides and a word of what it is about;
    a gap if one holds most of the words of what was not done and says that something was not.
    """
    passages = list(_passages(written))
    conflicts = [conflict for conflict in merged.open_conflicts if not _states_conflict(passages, conflict)]
    gaps = [gap for gap in merged.gaps if not (_added_before(written, gap) or _states_gap(passages, gap))]
    lines = [*_listed("conflict", map(_conflict_line, conflicts), language)]
    lines += _listed("gap", map(_gap_line, gaps), language)
    text = "\n\n".join([written.rstrip(), "\n".join(lines)]) if lines else written
    added = tuple(line for line in lines if line.startswith("- "))
    return Completed(text.lstrip("\n"), added, merged.sources)


def _listed(kind: str, items: Iterator[Text], language: str) -> list[str]:
    lines = [" ".join(say(item, language).split()) for item in items]
    return [say(f"completion.{kind}s", language), *lines] if lines else []


def _conflict_line(conflict: Conflict) -> Text:
    return Text("completion.conflict", about=conflict.about.rstrip("."), reason=conflict.reason)


def _gap_line(gap: Gap) -> Text:
    return Text("completion.gap", what=gap.what.rstrip("."), origin=gap.origin, why=gap.why)


def _added_before(written: str, gap: Gap) -> bool:
    """Tell whether the text has the very line that would be added, so that completing it again adds nothing."""
    return any(" ".join(say(_gap_line(gap), language).split()) in written for language in LANGUAGES)


def _passages(text: str) -> Iterator[Statement]:
    """Give each sentence together with the one that follows it."""
    sentences = [sentence for sentence in SENTENCE.split(text) if sentence.strip()]
    for place in range(len(sentences)):
        yield read_statement(" ".join(sentences[place : place + 2]))


def _states_conflict(passages: list[Statement], conflict: Conflict) -> bool:
    subject = [word.stem for word in read_statement(conflict.about).frame]
    return any(
        all(_holds(passage, side) for side in conflict.sides)
        and (not subject or any(alike(word.stem, stem) for word in passage.frame for stem in subject))
        for passage in passages
    )


def _holds(passage: Statement, side: Side) -> bool:
    """Tell whether a passage holds the value of a side, in these or in other figures."""
    for value in side.values:
        said = read_statement(value)
        held = {item.key for item in passage.quantities} | {item.key for item in passage.periods}
        if any(item.key in held for item in said.quantities) or any(
            item.key in held for item in said.periods
        ):
            return True
        if f" {_bare(value)} " in f" {_bare(passage.text)} ":
            return True
    return False


def _bare(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", plain(text)))


def _states_gap(passages: list[Statement], gap: Gap) -> bool:
    """Tell whether a passage names what was not done and says that something was not, or is missing."""
    wanted = [word.stem for word in read_statement(gap.what).frame]
    named = _bare(gap.what)
    for passage in passages:
        if not passage.negations and not MISSING.search(plain(passage.text)):
            continue
        found = overlay(wanted, [word.stem for word in passage.frame], EVEN).first
        if (named and f" {named} " in f" {_bare(passage.text)} ") or (wanted and found >= STATED):
            return True
    return False
