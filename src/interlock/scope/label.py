"""A label: a string carried beside data, saying where it came from or who may receive it.

A set of labels is a `Labels`, a frozenset. Labels form a join-semilattice under union (Denning, "A Lattice
Model of Secure Information Flow", 1976): joining is associative, commutative and idempotent, and the
more labels data carries, the fewer places it may enter.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from interlock.errors import InterlockError
from interlock.scope.scope import Scope

__all__ = [
    "AUDIENCE",
    "NO_LABELS",
    "UNTRUSTED",
    "DeclaredLabel",
    "Labels",
    "Vocabulary",
    "area_label",
    "join",
    "listed",
]

Labels = frozenset[str]
NO_LABELS: Labels = frozenset()
UNTRUSTED = "untrusted"
AREA = "area:"
AUDIENCE = "audience:"
"""Begins the label that names who could observe the data; see `interlock.scope.audience`."""
DECLARED = re.compile(r"[a-z][a-z0-9-]{0,62}\Z", re.ASCII)
MEMBERS = re.compile(r"audience:[0-9a-f]{32}\Z", re.ASCII)


def area_label(scope: Scope) -> str:
    """Give the label that names where data came from: `area:acme/platform` (SC-3)."""
    return AREA + scope


def join(*sets: Iterable[str]) -> Labels:
    """Give the union of label sets (SC-4). It is the only way labels meet; nothing takes one away."""
    return NO_LABELS.union(*sets)


def listed(labels: Labels) -> list[str]:
    """Give labels in the order in which steps, prompts and pages show them."""
    return sorted(labels)


@dataclass(frozen=True, slots=True)
class DeclaredLabel:
    """A label the installation declares: its receivers and the role that may release it (SC-8).

    name: the key it is written under.
    receivers: scopes (`acme/hr`), tools (`tool:crm_update`) and connector destinations (`connector:slack/hr`).
    role: whose holder may name a further receiver in a brief.
    """

    name: str
    receivers: frozenset[str] = frozenset()
    role: str = "administrator"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The labels an installation knows. What it does not know flows nowhere (SC-3)."""

    declared: Mapping[str, DeclaredLabel] = field(default_factory=dict)

    def origin(self, label: str) -> Scope | None:
        """Give the scope an `area:` label names, or None when the label is of another kind.

        Raises InterlockError `scope.malformed` for an `area:` label with no scope in it.
        """
        return Scope(label[len(AREA) :]) if label.startswith(AREA) else None

    def knows(self, label: str) -> bool:
        """Tell whether the label is well formed and declared, or one of the built-in kinds."""
        if label == UNTRUSTED or MEMBERS.match(label) or (label in self.declared and DECLARED.match(label)):
            return True
        try:
            return self.origin(label) is not None
        except InterlockError:
            return False

    def check(self, labels: Iterable[str]) -> Labels:
        """Give the labels as a set, or raise InterlockError `label.undeclared` for the first unknown one."""
        labels = list(labels)
        for label in labels:
            if not isinstance(label, str) or not self.knows(label):
                raise InterlockError("label.undeclared", value=str(label), known=sorted(self.declared))
        return frozenset(labels)
