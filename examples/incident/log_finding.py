"""A finding: one thing that fails in a log, placed among the others as background, cause or consequence.

The log gives order and number, never a cause. What is called a likely cause here is what came first among the
things that began with the incident and that no earlier fault commonly brings about.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from log_severity import DEGREES
from log_signature import SIGNATURES, Signature

__all__ = ["Finding", "Role", "findings_of", "onset_of"]

Role = Literal["cause", "consequence", "response", "background", "single"]
BY_NAME = {signature.name: signature for signature in SIGNATURES}
DEVIATIONS = 4.0
"""How many standard deviations (of a Poisson count) above what went before make a rise the onset."""
CLOSE_BUCKETS = 6
LEAD_BUCKETS = 3
"""Time steps before the onset that still belong to it: one killed process is no rise, but may begin one."""
ORDER: tuple[Role, ...] = ("cause", "consequence", "response", "single", "background")


@dataclass(slots=True)
class Finding:
    """One thing that fails: all templates with the same signature, or one template without any.

    buckets: count by bucket of the scan; before: how many came before the onset. role and follows: see
    `findings_of`. first and last hold `line`, `time`, `at`.
    """

    name: str | None
    severity: str
    count: int
    first: Mapping[str, Any]
    last: Mapping[str, Any]
    templates: tuple[Mapping[str, Any], ...]
    buckets: Counter[int] = field(default_factory=Counter)
    role: Role = "cause"
    follows: str | None = None
    before: int = 0

    @property
    def signature(self) -> Signature | None:
        """The known fault that this is, if it is one."""
        return BY_NAME.get(self.name or "")

    @property
    def text(self) -> str:
        """The template that occurs most in it."""
        return str(self.templates[0]["template"])

    @property
    def grave(self) -> int:
        """How grave it is, 0 for debug to 4 for fatal."""
        return DEGREES.index(self.severity) if self.severity in DEGREES else 1

    def tallied(self, kind: str) -> list[tuple[str, int]]:
        """Give what came with it most, of one kind: `source`, `detail`, `statement`, `trace`, `holder`."""
        total: Counter[str] = Counter()
        for template in self.templates:
            total.update(dict(template["tally"].get(kind, [])))
        return sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))


def onset_of(buckets: Sequence[Mapping[str, Any]]) -> int | None:
    """Give the bucket at which failures first rise clearly above what went before, or None when they never
    do.

    A count is taken as Poisson about the mean of the buckets before it; the first bucket that lies more than
    DEVIATIONS above that begins the incident. A log that fails from its first bucket on begins with it.
    """
    counts = [bucket["failures"] + bucket["warnings"] for bucket in buckets]
    before = 0
    for index, count in enumerate(counts):
        mean = before / index if index else 0.0
        if index and count >= 3 and count > mean + DEVIATIONS * math.sqrt(mean + 0.5):
            return index
        before += count
    return 0 if counts and counts[0] >= 3 and sum(counts) > 0 else None


def findings_of(scanned: Mapping[str, Any]) -> list[Finding]:
    """Give what fails in a scanned log, each finding with its role, the most telling first.

    `background` was there before the onset and did not rise with it; `consequence` follows a finding that
    commonly brings it about, came first, and still went on shortly before; `response` is something someone
    asked for; `single` is grave or known but too rare and apart to say more; `cause` is the rest, by first
    occurrence.
    """
    found = _grouped(scanned)
    onset = onset_of(scanned["buckets"])
    for finding in found:
        finding.role = _role_alone(finding, onset, len(scanned["buckets"]))
    for finding in found:
        if finding.role != "background":
            _place(finding, found, scanned["bucket_width"])
    return sorted(found, key=lambda finding: _rank(finding, found))


def _rank(finding: Finding, found: list[Finding]) -> tuple[int, ...]:
    """Rank a finding: by role; among causes what was new at the onset and what others follow first, then by
    line.
    """
    if finding.role == "cause":
        followed = any(other.follows == finding.name and finding.name is not None for other in found)
        return (
            0,
            finding.before > 0,
            not followed,
            finding.grave < 3 and not followed,
            finding.first["line"],
        )
    return (ORDER.index(finding.role), -min(finding.grave, 3), finding.first["line"], 0, 0)


def _grouped(scanned: Mapping[str, Any]) -> list[Finding]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for template in scanned["templates"]:
        if template["severity"] in {"warning", "error", "fatal"}:
            groups.setdefault(template["signature"] or f"template {template['number']}", []).append(template)
    return [_finding(templates) for templates in groups.values()]


def _finding(templates: list[Mapping[str, Any]]) -> Finding:
    ranked = tuple(sorted(templates, key=lambda item: (-item["count"], item["first"]["line"])))
    buckets: Counter[int] = Counter()
    for template in ranked:
        buckets.update(dict(template["buckets"]))
    return Finding(
        name=ranked[0]["signature"],
        severity=max((item["severity"] for item in ranked), key=DEGREES.index),
        count=sum(item["count"] for item in ranked),
        first=min((item["first"] for item in ranked), key=lambda place: place["line"]),
        last=max((item["last"] for item in ranked), key=lambda place: place["line"]),
        templates=ranked,
        buckets=buckets,
    )


def _role_alone(finding: Finding, onset: int | None, buckets: int) -> Role:
    if onset is None:
        return "cause" if finding.grave >= 3 else "background"
    lead = LEAD_BUCKETS if finding.signature or finding.grave >= 3 else 0
    before = sum(count for index, count in finding.buckets.items() if index < onset - lead)
    after = finding.count - before
    if before and onset and not _rises(before, after, onset, buckets):
        return "background"
    finding.before = before
    if finding.signature is None and finding.count < 3 and finding.grave < 4 and after == finding.count:
        return "single"
    return "cause"


def _rises(before: int, after: int, onset: int, buckets: int) -> bool:
    """Tell whether more came after the onset than the same rate as before would give, by chance allowed for.

    Given their sum, two Poisson counts of one rate split as a binomial in proportion to the time they had.
    """
    share = (buckets - onset) / buckets
    total = before + after
    spread = math.sqrt(max(total * share * (1 - share), 0.25))
    return after - total * share > DEVIATIONS * spread


def _place(finding: Finding, others: list[Finding], width: float) -> None:
    signature = finding.signature
    if signature is not None:
        earlier = [
            other
            for other in others
            if other.name in signature.follows
            and other.role != "background"
            and _brings(other, finding, width)
        ]
        if earlier:
            nearest = min(
                earlier, key=lambda other: (signature.follows.index(other.name or ""), other.first["line"])
            )
            finding.follows = nearest.name
            finding.role = "response" if signature.deliberate else "consequence"
        elif signature.deliberate:
            finding.role = "response"


def _brings(cause: Finding, finding: Finding, width: float) -> bool:
    """Tell whether a finding came first and was still going on shortly before the other began."""
    if cause.first["line"] >= finding.first["line"]:
        return False
    began = cause.first["at"] is not None and finding.first["at"] is not None
    unit = "at" if began else "line"
    return bool(finding.first[unit] - cause.last[unit] <= CLOSE_BUCKETS * width)
