"""A completion: what a written text does not state of open conflicts and gaps is appended by code (RS-3)."""

from interlock.catalogue import say
from interlock.message.conflict import Conflict
from interlock.message.merge import Gap, Merged

__all__ = ["completed", "states_conflict", "states_gap"]


def completed(text: str, merged: Merged, language: str = "en") -> str:
    """Give the text with a line for each open conflict and each gap that it does not state, and the sources, each
    once."""
    lines = [
        say("conflict.open_line", language, about=item.about, reason=item.reason)
        for item in merged.open_conflicts
        if not states_conflict(text, item)
    ]
    lines += [
        say("conflict.gap_line", language, what=item.what, why=item.why, origin=item.origin)
        for item in merged.gaps
        if not states_gap(text, item)
    ]
    parts = [text.strip(), "\n".join(lines)]
    if merged.sources:
        parts.append(say("conflict.sources_line", language, sources=list(merged.sources)))
    return "\n\n".join(part for part in parts if part)


def states_conflict(text: str, conflict: Conflict) -> bool:
    """Tell whether a text states a conflict: a value of each of its sides stands in it, word for word."""
    plain = _plain(text)
    return all(any(_plain(value) in plain for value in side.values if value) for side in conflict.sides)


def states_gap(text: str, gap: Gap) -> bool:
    """Tell whether a text states a gap: what was not done stands in it, word for word."""
    return _plain(gap.what) in _plain(text)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
