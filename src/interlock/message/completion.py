"""A completion: the open conflicts and gaps that code adds to a text which a model wrote without them (RS-3)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from interlock.catalogue import Text, say
from interlock.message.conflict import Conflict, Side
from interlock.message.merge import Gap, Merged
from interlock.message.statement.overlay import EVEN, alike, overlay
from interlock.message.statement.statement import Statement, read_statement
from interlock.message.statement.word import plain

__all__ = ["Completed", "complete_text"]

SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
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
    gaps = [gap for gap in merged.gaps if not _states_gap(passages, gap)]
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
    wanted = [word.stem for word in read_statement(gap.what).frame]
    for passage in passages:
        if _bare(gap.what) and f" {_bare(gap.what)} " in f" {_bare(passage.text)} ":
            return True
        found = overlay(wanted, [word.stem for word in passage.frame], EVEN).first
        if wanted and found >= STATED and passage.negations:
            return True
    return False
