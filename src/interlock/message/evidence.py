"""Evidence: what says that a finding is so: who found it, in which source, and when it was so."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

__all__ = ["Evidence", "freshest", "independent", "sources_of"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A source of a finding, the origin that read it (a worker's address or run), and when it was observed."""

    origin: str
    source: str
    observed: datetime | None = None

    @property
    def order(self) -> tuple[str, str, str]:
        """The place of this among others, whatever order they came in."""
        return self.origin, self.source, self.observed.isoformat() if self.observed else ""

    def as_dict(self) -> dict[str, Any]:
        """Give the exact values."""
        form = {"origin": self.origin, "source": self.source}
        return {**form, "observed": self.observed.isoformat()} if self.observed else form

    @classmethod
    def from_dict(cls, form: dict[str, Any]) -> Self:
        """Read back what `as_dict` gave."""
        observed = form.get("observed")
        return cls(form["origin"], form["source"], datetime.fromisoformat(observed) if observed else None)


def sources_of(evidence: Iterable[Evidence]) -> tuple[str, ...]:
    """Give the names of the sources, each once, in order."""
    return tuple(sorted({item.source for item in evidence}))


def freshest(evidence: Iterable[Evidence]) -> datetime | None:
    """Give when the latest was observed; None when no time is known of any."""
    return max((item.observed for item in evidence if item.observed), default=None)


def independent(evidence: Iterable[Evidence]) -> int:
    """Count the independent sources: so many that no two of them have the same origin or the same source.

    Ten sources that one worker read are one, since it may have misread them all alike; so is one source that ten
    workers read. It is the size of a largest matching of origins with sources (Kuhn, 1955).
    """
    read: dict[str, set[str]] = {}
    for item in evidence:
        read.setdefault(item.origin, set()).add(item.source)
    holder: dict[str, str] = {}
    return sum(_matched(origin, read, holder, set()) for origin in sorted(read))


def _matched(origin: str, read: dict[str, set[str]], holder: dict[str, str], tried: set[str]) -> bool:
    """Give `origin` a source of its own, moving those that hold one to another if they can be moved."""
    for source in sorted(read[origin] - tried):
        tried.add(source)
        if source not in holder or _matched(holder[source], read, holder, tried):
            holder[source] = origin
            return True
    return False
