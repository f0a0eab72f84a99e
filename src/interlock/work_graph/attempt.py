"""An attempt: one try at a node, from its start to what came of it (WG-3)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.scope.label import NO_LABELS, Labels

__all__ = ["AGAIN", "LOST", "LOST_LIMIT", "OUTCOMES", "Attempt"]

OUTCOMES = ("done", "failed", "timed_out", "lost", "rejected", "refused", "cancelled", "not_needed")
"""What may come of an attempt. `rejected`: a verifier says no. `refused`: the barrier, the Gate or the budget does.
`lost`: the worker died; `not_needed`: what waited for it went on without it."""
AGAIN = frozenset({"failed", "timed_out"})
"""After these a further attempt is made, within the node's own limit."""
LOST = "lost"
LOST_LIMIT = 3
"""So many attempts may be lost with their workers; they do not count against the node's own limit."""


@dataclass(slots=True)
class Attempt:
    """One try. `outcome` is empty as long as it is under way. run: the child run, if it has one. call: the call that a
    tool's attempt is. artifacts: what it published, by name, as steps keep it. missing: for a join, the sources that
    it went on without. reason: why nothing came of it, a text of the catalogue."""

    node: str
    number: int
    started_at: int
    run: str = ""
    call: str = ""
    outcome: str = ""
    artifacts: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    labels: Labels = NO_LABELS
    missing: tuple[str, ...] = ()
    reason: dict[str, Any] | None = None

    @property
    def partial(self) -> bool:
        """Whether it is a join that something is missing in."""
        return bool(self.missing)
