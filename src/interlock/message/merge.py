"""A merge: several results made into one by code, before any model writes (RS-2, RS-4).

It is a pure function of the contributions as a set: their order, and giving one twice, changes nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self

from interlock import canonical
from interlock.catalogue import say
from interlock.message.conflict import Conflict, Uncompared, find_conflicts
from interlock.message.evidence import sources_of
from interlock.message.joined import Joined, join_findings
from interlock.message.judgement import resolve
from interlock.message.resolution import Ruling
from interlock.message.result import Result
from interlock.scope.label import NO_LABELS, Labels, join

__all__ = ["Contribution", "Gap", "Merged", "merge"]


@dataclass(frozen=True, slots=True)
class Contribution:
    """A result with its origin, such as the worker's address, and the labels it carries."""

    origin: str
    result: Result
    labels: Labels = NO_LABELS


@dataclass(frozen=True, slots=True, order=True)
class Gap:
    """What an origin was asked for and did not do, and why."""

    what: str
    why: str
    origin: str

    def as_dict(self) -> dict[str, str]:
        """Give the exact values."""
        return {"what": self.what, "why": self.why, "origin": self.origin}


@dataclass(frozen=True, slots=True)
class Merged:
    """What several results come to.

    failed: the origins whose result failed. tokens: what all used together. labels: the union of theirs (SC-4).
    """

    findings: tuple[Joined, ...]
    conflicts: tuple[Conflict, ...]
    gaps: tuple[Gap, ...]
    uncompared: tuple[Uncompared, ...]
    failed: tuple[str, ...]
    tokens: int
    labels: Labels

    @property
    def incomplete(self) -> bool:
        """Whether anything failed or any gap is open (RS-4)."""
        return bool(self.failed or self.gaps)

    @property
    def open_conflicts(self) -> tuple[Conflict, ...]:
        """The conflicts that nothing has resolved."""
        return tuple(conflict for conflict in self.conflicts if conflict.open)

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of all sources, each once, in order."""
        return sources_of(item for joined in self.findings for item in joined.evidence)

    def as_dict(self) -> dict[str, Any]:
        """Give all that the node which writes may see: findings, conflicts and gaps."""
        return {
            "findings": [joined.as_dict() for joined in self.findings],
            "conflicts": [conflict.as_dict() for conflict in self.conflicts],
            "gaps": [gap.as_dict() for gap in self.gaps],
            "uncompared": [{"values": list(item.values), "note": item.note} for item in self.uncompared],
            "incomplete": self.incomplete,
            "sources": list(self.sources),
        }

    def told(self, language: str) -> dict[str, Any]:
        """Give the same with every reason as a sentence, as a model or a person reads it."""
        form = self.as_dict()
        for conflict in form["conflicts"]:
            conflict["reason"] = say(conflict["reason"], language)
            if conflict["resolution"] is not None:
                conflict["resolution"]["reason"] = say(conflict["resolution"]["reason"], language)
        for item in form["uncompared"]:
            item["note"] = say(item["note"], language)
        return form

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        """Read back what `as_dict` or `told` gave, such as what a join publishes under `merged`.

        What is not told there is not known: which origins failed (their gaps are), tokens, labels, and what could not
        be compared.
        """
        findings = tuple(map(Joined.from_dict, form["findings"]))
        conflicts = tuple(Conflict.from_dict(item, findings) for item in form["conflicts"])
        gaps = tuple(Gap(item["what"], item["why"], item["origin"]) for item in form["gaps"])
        return cls(findings, conflicts, gaps, (), (), 0, NO_LABELS)


def merge(
    contributions: Iterable[Contribution],
    *,
    rates: Mapping[str, Decimal] | None = None,
    rulings: Iterable[Ruling] = (),
) -> Merged:
    """Merge results: findings joined, conflicts found and resolved where the evidence or a ruling does, gaps gathered.

    `rates` gives by currency code what one unit is worth in a common currency. A ruling counts for the conflict whose
    key it names; one for a conflict that is not there is passed over.
    """
    given = {(item.origin, canonical.digest_of(item.result.as_dict())): item for item in contributions}
    items = [given[key] for key in sorted(given)]
    findings = join_findings((item.origin, finding) for item in items for finding in item.result.findings)
    conflicts, uncompared = find_conflicts(findings, rates)
    ruled = {ruling.conflict: ruling for ruling in rulings}
    return Merged(
        findings,
        tuple(resolve(conflict, ruled.get(conflict.key)) for conflict in conflicts),
        tuple(
            sorted(
                {
                    Gap(undone.what, undone.why, item.origin)
                    for item in items
                    for undone in item.result.not_done
                }
            )
        ),
        uncompared,
        tuple(sorted({item.origin for item in items if item.result.status == "failed"})),
        sum(item.result.tokens for item in items),
        join(*(item.labels for item in items)),
    )
