"""An event: what a listener is told of what another agent made, and what becomes of it for each listener.

An event carries names, references, digests, sizes and labels, never content (EV-2); the content is read
through `read_artifact` alone.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from interlock.agent.spec import Emission, Trigger
from interlock.agent.wiring import hears
from interlock.catalogue import Text
from interlock.scope.audience import shown_labels
from interlock.scope.barrier import Refusal, barrier
from interlock.scope.label import NO_LABELS, Labels, Vocabulary, join, listed
from interlock.scope.scope import Address

__all__ = ["Candidate", "Delivery", "EventInput", "Exposed", "cause_key", "deliveries", "hears", "shown_size"]

UNITS = ("kB", "MB", "GB", "TB", "PB")
TEXT_MEDIA = "text/plain"


def shown_size(size: int) -> str:
    """Give a size in bytes as seven characters, whatever it is: `0.02 kB`, `20.0 kB`, `2.00 MB`.

    The width is fixed so that a prompt takes as much room for a large artifact as for a small one.
    What is not empty never shows as nought; what is above 99.9 PB shows as that.
    """
    amount = size / 1000
    for unit in UNITS:
        if amount < 9.995:
            return f"{max(amount, 0.01) if size else 0:.2f} {unit}"
        if amount < 99.95:
            return f"{amount:.1f} {unit}"
        amount /= 1000
    return f"99.9 {UNITS[-1]}"


@dataclass(frozen=True, slots=True)
class Exposed:
    """An artifact as an event names it. `size` is in bytes. Without a `ref` it is absent: declared, but the
    source published none of that name."""

    name: str
    ref: str | None = None
    digest: str = ""
    size: int = 0
    media: str = TEXT_MEDIA
    labels: Labels = NO_LABELS

    @property
    def absent(self) -> bool:
        """Whether the source did not publish it."""
        return self.ref is None

    def as_dict(self) -> dict[str, Any]:
        """Give the exact values, as a step keeps them."""
        if self.absent:
            return {"name": self.name, "absent": True}
        return {
            "name": self.name,
            "ref": self.ref,
            "digest": self.digest,
            "size": self.size,
            "media": self.media,
            "labels": listed(self.labels),
        }

    @classmethod
    def from_dict(cls, form: dict[str, Any]) -> Self:
        """Read back what `as_dict` gave."""
        if form.get("absent"):
            return cls(form["name"])
        return cls(
            form["name"], form["ref"], form["digest"], form["size"], form["media"], frozenset(form["labels"])
        )

    def shown(self) -> dict[str, Any]:
        """Give the values as a prompt shows them: the size in its fixed-width form, and of an audience only that there
        is one."""
        if self.absent:
            return self.as_dict()
        return {**self.as_dict(), "size": shown_size(self.size), "labels": shown_labels(self.labels)}


@dataclass(frozen=True, slots=True)
class EventInput:
    """What the run of a listener receives: the event, its context's name, who made it, and the artifacts."""

    event: str
    context: str
    source_agent: Address
    source_run: str
    artifacts: tuple[Exposed, ...] = ()

    @property
    def labels(self) -> Labels:
        """The union of the labels of the artifacts that are present (SC-4)."""
        return join(*(artifact.labels for artifact in self.artifacts if not artifact.absent))

    def as_dict(self) -> dict[str, Any]:
        """Give the exact values, as a step keeps them."""
        return self._form([artifact.as_dict() for artifact in self.artifacts])

    def shown(self) -> dict[str, Any]:
        """Give the input as the listener's prompt shows it; its length does not depend on any size."""
        return self._form([artifact.shown() for artifact in self.artifacts])

    def _form(self, artifacts: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "event": self.event,
            "context": self.context,
            "source_agent": str(self.source_agent),
            "source_run": self.source_run,
            "artifacts": artifacts,
        }

    @classmethod
    def from_dict(cls, form: dict[str, Any]) -> Self:
        """Read back what `as_dict` gave."""
        return cls(
            form["event"],
            form["context"],
            Address(form["source_agent"]),
            form["source_run"],
            tuple(Exposed.from_dict(item) for item in form["artifacts"]),
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A published agent that may hear an event: its current version's number and trigger, and its state."""

    address: Address
    version: int
    trigger: Trigger
    state: Literal["active", "paused", "retired", "stopped"] = "active"


@dataclass(frozen=True, slots=True)
class Delivery:
    """What becomes of an event for one listener.

    outcome: `open` (its run is opened), `refused` (the barrier; `refusal` says why), `not_started` (it is
    paused, retired or stopped; `state` says which), `own_event` (an agent never starts from its own).
    """

    listener: Address
    version: int
    outcome: Literal["open", "refused", "not_started", "own_event"]
    refusal: Refusal | None = field(default=None)
    state: str = "active"

    @property
    def text(self) -> Text | None:
        """Why no run is opened, for the operator of the source; None when one is."""
        if self.refusal is not None:
            return self.refusal.text
        if self.outcome == "not_started":
            return Text(f"event.{self.state}", listener=str(self.listener))
        return Text("event.own_event", listener=str(self.listener)) if self.outcome == "own_event" else None


def deliveries(
    emission: Emission,
    event_input: EventInput,
    source: Address,
    candidates: Iterable[Candidate],
    vocabulary: Vocabulary,
    released: Set[tuple[str, str]] = frozenset(),
) -> tuple[Delivery, ...]:
    """Decide what becomes of an event for each candidate that hears it, by address, each agent once.

    The barrier comes before the listener's state, so that the source's operator learns of a refusal that
    resuming the listener would not mend. `released` are the releases of the source's run (SC-8).
    """
    heard = {
        candidate.address: candidate
        for candidate in candidates
        if hears(candidate.trigger, candidate.address, emission, source)
    }
    labels = event_input.labels
    return tuple(
        _delivery(candidate, source, labels, vocabulary, released) for _, candidate in sorted(heard.items())
    )


def _delivery(
    candidate: Candidate,
    source: Address,
    labels: Labels,
    vocabulary: Vocabulary,
    released: Set[tuple[str, str]],
) -> Delivery:
    listener, version = candidate.address, candidate.version
    if listener == source:
        return Delivery(listener, version, "own_event")
    if refusal := barrier(labels, listener.scope, vocabulary, frozenset(), released):
        return Delivery(listener, version, "refused", refusal)
    if candidate.state != "active":
        return Delivery(listener, version, "not_started", state=candidate.state)
    return Delivery(listener, version, "open")


def cause_key(source_run: str, event: str, listener: Address) -> str:
    """Give the key under which an event starts a listener exactly once (EV-5).

    Neither a run's id nor an address holds a colon, so no two causes share a key, whatever the event is.
    """
    return f"event:{source_run}:{event}:{listener}"
