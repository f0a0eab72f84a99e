"""An edge: one artifact that a node of a work graph takes in, where it comes from, and its media type (WG-1)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

__all__ = ["GIVEN", "Edge", "media_fits", "names_of"]

GIVEN = ""
"""The source of an edge whose artifact the root run has already: it was given to it, or it saved it."""


@dataclass(frozen=True, slots=True)
class Edge:
    """What is taken in. source: the node that publishes it, `GIVEN` for the root run itself. artifact: its name there.
    media: its media type."""

    source: str
    artifact: str
    media: str

    def as_dict(self) -> dict[str, str]:
        """Give the edge as it is written."""
        source = {"from": self.source} if self.source else {}
        return {**source, "artifact": self.artifact, "type": self.media}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        """Read back what `as_dict` gave."""
        return cls(form.get("from", GIVEN), form["artifact"], form["type"])


def media_fits(wanted: str, found: str) -> bool:
    """Tell whether an artifact of type `found` is what an edge of type `wanted` carries; parameters such as `charset`
    do not count."""
    return wanted.partition(";")[0].strip() == found.partition(";")[0].strip()


def names_of(edges: Iterable[Edge]) -> dict[Edge, str]:
    """Give the name under which a node knows each artifact: its own, qualified by its source where two have the same
    name (CS-5)."""
    edges = tuple(edges)
    counts: dict[str, int] = {}
    for edge in edges:
        counts[edge.artifact] = counts.get(edge.artifact, 0) + 1
    found: dict[Edge, str] = {}
    taken: set[str] = {name for name, count in counts.items() if count == 1}
    for edge in edges:
        name = edge.artifact
        if counts[name] > 1:
            first = name = f"{edge.source or 'root'}.{edge.artifact}"
            copy = 1
            while name in taken:
                copy += 1
                name = f"{first}-{copy}"
        taken.add(name)
        found[edge] = name
    return found
