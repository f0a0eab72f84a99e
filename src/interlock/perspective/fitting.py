"""A fitting: what of a prompt is kept so that it stays within its size limit, and what is left out (PX-6).

Instructions, opening, summary and the model's last answer with its results are always kept. Then the newest goes before
the older: what was said in a conversation before the turn is left out first; then old results are shortened
to a word about their size; then whole old exchanges go, a call always with its result. Room is made in steps of an
eighth of the limit, so that a prompt stays the beginning of the next one for a while.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Literal

__all__ = ["Fit", "LeftOut", "Piece", "fit", "groups_of", "size_limit"]

STEP = 8
"""Into how many steps the limit is divided in which room is made."""
BYTES_PER_TOKEN = 3
"""How many bytes a token stands for where a limit is given in tokens: less than in English prose, more than in code."""

Why = Literal["earlier", "old_result", "old_exchange"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a prompt that is kept or left out as a whole.

    kind: `earlier` (said before the turn), or the kind of an entry. size: in bytes. digest: that of its content, if it
    has any. short: its size when shortened; None where it is not. group: what belongs together has the same; None for
    what was said earlier.
    """

    kind: str
    size: int
    digest: str | None = None
    short: int | None = None
    group: int | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that a prompt was not given for lack of room: its kind, the digest of its content, how many bytes that
    saves, and why: `earlier` (said before the turn), `old_result` (shortened) or `old_exchange` (gone as a whole)."""

    kind: str
    digest: str | None
    size: int
    why: Why

    def as_dict(self) -> dict[str, object]:
        """Give it as a manifest keeps it."""
        return {"kind": self.kind, "digest": self.digest, "size": self.size, "why": self.why}


@dataclass(frozen=True, slots=True)
class Fit:
    """What fits. short, gone: the places of the pieces that are shortened, and of those that are left out.
    left_out: both, in the order of the pieces."""

    short: frozenset[int] = frozenset()
    gone: frozenset[int] = frozenset()
    left_out: tuple[LeftOut, ...] = ()


def size_limit(limit_bytes: int, context_tokens: int, output_tokens: int) -> int:
    """Give the size limit of a prompt in bytes: the installation's, or what a model's context has room for beside its
    longest answer, if that is less. `context_tokens` is 0 where it is unknown."""
    if not context_tokens:
        return limit_bytes
    return min(limit_bytes, max(0, context_tokens - output_tokens) * BYTES_PER_TOKEN)


def groups_of(pieces: Sequence[Piece]) -> dict[int, list[int]]:
    """Give the places of the pieces of each group, the oldest group first."""
    found: dict[int, list[int]] = {}
    for place, piece in enumerate(pieces):
        if piece.group is not None:
            found.setdefault(piece.group, []).append(place)
    return found


def fit(pieces: Sequence[Piece], always: int, kept: Set[int], limit: int) -> Fit | None:
    """Choose what is left out so that all takes at most `limit` bytes; None when what must be there does not fit.

    `always` is the size of what is no piece: instructions, tools, opening, summary. The groups `kept` are
    kept whole.
    """
    excess = always + sum(piece.size for piece in pieces) - limit
    if excess <= 0:
        return Fit()
    step = max(1, limit // STEP)
    wanted = -(-excess // step) * step
    short: set[int] = set()
    gone: set[int] = set()
    saved = 0
    for shortens, places, saving in _savings(pieces, kept):
        if saved >= wanted:
            break
        (short if shortens else gone).update(places)
        saved += saving
    if saved < excess:
        return None
    return Fit(frozenset(short - gone), frozenset(gone), tuple(_left_out(pieces, short - gone, gone)))


def _savings(pieces: Sequence[Piece], kept: Set[int]) -> Iterator[tuple[bool, list[int], int]]:
    """Give what can be saved, in the order in which it is: whether by shortening, what of, and how much."""
    for place, piece in enumerate(pieces):
        if piece.group is None:
            yield False, [place], piece.size
    old = {group: places for group, places in groups_of(pieces).items() if group not in kept}
    for places in old.values():
        for place in places:
            short = pieces[place].short
            if short is not None and short < pieces[place].size:
                yield True, [place], pieces[place].size - short
    for places in old.values():
        yield False, places, sum(_shortest(pieces[place]) for place in places)


def _shortest(piece: Piece) -> int:
    return piece.size if piece.short is None else min(piece.size, piece.short)


def _left_out(pieces: Sequence[Piece], short: set[int], gone: set[int]) -> Iterator[LeftOut]:
    for place, piece in enumerate(pieces):
        if place in gone:
            why: Why = "earlier" if piece.group is None else "old_exchange"
            yield LeftOut(piece.kind, piece.digest, piece.size, why)
        elif place in short:
            yield LeftOut(piece.kind, piece.digest, piece.size - (piece.short or 0), "old_result")
