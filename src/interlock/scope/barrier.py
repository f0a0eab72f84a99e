"""The barrier: the one function that decides whether labelled data may enter a place (SC-5, SC-6).

Every path by which data moves asks `barrier`: events, artifact reads, arguments of tools, openings of
runs. No approval releases what it refuses (SC-7).
"""

from collections.abc import Set
from dataclasses import dataclass

from interlock.catalogue import Text
from interlock.errors import InterlockError
from interlock.scope.label import AUDIENCE, UNTRUSTED, Labels, Vocabulary
from interlock.scope.scope import Scope

__all__ = ["Refusal", "barrier"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why data may not enter: the label, the place it would have entered, and the rule by name."""

    label: str
    origin: str
    target: str
    cause: str
    """`area` (wrong place), `receiver` (not named by the label) or `undeclared` (nobody knows the label)."""

    rule = "data_barrier"

    @property
    def text(self) -> Text:
        """The sentence with its two remedies, as a step keeps it."""
        return Text(f"barrier.{self.cause}", label=self.label, origin=self.origin, target=self.target)


def barrier(
    labels: Labels,
    target: Scope | None,
    vocabulary: Vocabulary,
    receivers: Set[str] = frozenset(),
    released: Set[tuple[str, str]] = frozenset(),
) -> Refusal | None:
    """Decide whether data with `labels` may enter; None means it may, else the first refusal by name.

    `target` is the scope that would carry the data: an agent's, or the destination a tool declares;
    None for a tool that declares none, which then carries only what its receivers allow.
    `receivers` are further names of the place (`tool:mail`, `connector:slack/hr`). `released` are pairs
    (label, receiver) that a person named in the run's brief (SC-8).

    Labels are judged in their listed order, so that the same data gives the same refusal. What is not
    known flows nowhere.
    """
    place = target or next(iter(sorted(receivers)), "?")
    for label in sorted(labels):
        if label == UNTRUSTED:
            continue
        if label.startswith(AUDIENCE) and vocabulary.knows(label):
            continue  # it says into which rooms the data may go, and holds it in no scope
        if not vocabulary.knows(label):
            return Refusal(label, "?", place, "undeclared")
        origin = vocabulary.origin(label)
        if origin is not None:
            if target is not None and not target.reaches(origin):
                return Refusal(label, origin, place, "area")
        elif not _receives(label, target, vocabulary, receivers, released):
            return Refusal(label, label, place, "receiver")
    return None


def _receives(
    label: str,
    target: Scope | None,
    vocabulary: Vocabulary,
    receivers: Set[str],
    released: Set[tuple[str, str]],
) -> bool:
    allowed = vocabulary.declared[label].receivers | {to for name, to in released if name == label}
    return bool(receivers & allowed) or (target is not None and _within(target, allowed))


def _within(target: Scope, allowed: Set[str]) -> bool:
    return any(_reaches(name, target) for name in allowed)


def _reaches(name: str, target: Scope) -> bool:
    """Tell whether the receiver is a scope that reaches `target`; one that is malformed reaches nothing."""
    try:
        return ":" not in name and Scope(name).reaches(target)
    except InterlockError:
        return False
