"""A delegation: the briefs of one run cover sets of items that do not overlap (MS-4)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

__all__ = ["Overlap", "overlap"]

NEAR = 88
"""From which similarity on, in per cent, two items are nearly the same (rapidfuzz, token_sort_ratio)."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """What the scope of a brief shares with the briefs before it: the same items, and nearly the same ones."""

    same: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


def overlap(scope: Iterable[str], others: Iterable[Sequence[str]]) -> Overlap:
    """Compare the items of a brief with those of others; letter case and spaces do not count."""
    items = {_plain(item): item for item in scope}
    taken = {_plain(item) for other in others for item in other}
    same = tuple(item for plain, item in items.items() if plain in taken)
    near = tuple(
        item
        for plain, item in items.items()
        if plain not in taken and any(fuzz.token_sort_ratio(plain, other) >= NEAR for other in taken)
    )
    return Overlap(same, near)


def _plain(item: str) -> str:
    return " ".join(item.split()).casefold()
