"""A chain: how many runs were caused one by the other, and whether it may go on (EV-6, EV-7, EV-9)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from interlock.catalogue import Text

__all__ = ["Passage", "Place", "going_on", "passage"]


@dataclass(frozen=True, slots=True)
class Place:
    """A run's place on its chain: the run that no other caused, and how many hops lie between (0 for it)."""

    root_run: str
    hop: int = 0

    def next(self) -> "Place":
        """Give the place of a run that this one causes by an event, a request, a delegation or a hand-off."""
        return Place(self.root_run, self.hop + 1)

    def as_dict(self) -> dict[str, Any]:
        """Give the place as an opening step keeps it."""
        return {"root_run": self.root_run, "hop": self.hop}

    @classmethod
    def from_dict(cls, form: dict[str, Any] | None) -> Self | None:
        """Read back what `as_dict` gave; None where a step has no place."""
        return None if form is None else cls(form["root_run"], form["hop"])

    @classmethod
    def of_opening(cls, run: str, body: Mapping[str, Any]) -> Self | None:
        """Give the place of a run by its opening step; one that no other run caused is the first of its chain, also
        where an older format did not say so."""
        if "chain" in body:
            return cls.from_dict(body["chain"])
        return None if body["opened_by"]["kind"] == "event" else cls(run)


@dataclass(frozen=True, slots=True)
class Passage:
    """Whether a closing run's events go out. `text` is what its closing step says when they are withheld.

    outcome: `published`, `limit` (the chain is as long as it may be) or `unknown` (an event opened the run
    and nobody recorded its place).
    """

    outcome: Literal["published", "limit", "unknown"]
    text: Text | None = None


def passage(place: Place | None, limit: int, events: Sequence[str], agents: Sequence[str] = ()) -> Passage:
    """Decide whether a run that closes at `place` publishes its `events`; without any, none is withheld.

    `place` is None for a run that an event opened without recording one; every other run has one. `limit`
    is the hop at which nothing more is published: the run at that hop still ran. `agents` are the
    addresses of the chain's agents from its first on; a text names each.
    """
    if not events:
        return Passage("published")
    if place is None:
        return Passage("unknown", Text("chain.unknown", events=list(events)))
    if place.hop < limit:
        return Passage("published")
    return Passage("limit", Text("chain.limit", events=list(events), **_whereabouts(place, limit, agents)))


def going_on(
    place: Place | None,
    limit: int,
    kind: Literal["request", "delegation", "hand_off", "turn"],
    agents: Sequence[str] = (),
) -> Text | None:
    """Tell why a run at `place` may not send a request, delegate, hand over, or by what it said in a conversation start
    another agent's turn; None when it may (EV-7)."""
    if place is None:
        return Text(f"chain.unknown_{kind}")
    if place.hop < limit:
        return None
    return Text(f"chain.limit_{kind}", **_whereabouts(place, limit, agents))


def _whereabouts(place: Place, limit: int, agents: Sequence[str]) -> dict[str, Any]:
    return {"root_run": place.root_run, "limit": limit, "agents": [str(agent) for agent in agents]}
