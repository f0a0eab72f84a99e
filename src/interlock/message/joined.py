"""A joined finding: what several findings say alike, with all their sources and the reason why they are one (RS-2)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, Self

from interlock.message.comparison import same_key, same_value
from interlock.message.evidence import Evidence, sources_of
from interlock.message.result import Finding
from interlock.message.statement.overlay import EVEN, overlay
from interlock.message.statement.statement import Statement, read_statement
from interlock.message.statement.word import plain

__all__ = ["Join", "Joined", "join_findings"]

REWORDED = 0.7
"""How much of the longer of two wordings must be found in the shorter one, if values pin down what is said."""


@dataclass(frozen=True, slots=True)
class Join:
    """Another wording that was joined. reason: `exact` (but for case, accents and spaces), `reworded` (the same values
    and words) or `same_value` (the same subject, attribute and value given apart). score: how much of it was found
    again, from 0 to 100."""

    text: str
    reason: Literal["exact", "reworded", "same_value"]
    score: int = 100


@dataclass(frozen=True, slots=True)
class Joined:
    """A finding as one of its senders worded it, what backs it, and the other wordings that were joined with it."""

    finding: Finding
    evidence: tuple[Evidence, ...]
    joins: tuple[Join, ...] = ()

    @property
    def text(self) -> str:
        """The wording that stands for all."""
        return self.finding.text

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of all sources."""
        return sources_of(self.evidence)

    def as_dict(self) -> dict[str, Any]:
        """Give the exact values."""
        return {
            "finding": self.finding.as_dict(),
            "evidence": [item.as_dict() for item in self.evidence],
            "joins": [{"text": join.text, "reason": join.reason, "score": join.score} for join in self.joins],
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        """Read back what `as_dict` gave."""
        finding = Finding.from_dict({"sources": [], **form["finding"]})
        evidence = tuple(map(Evidence.from_dict, form["evidence"]))
        return cls(finding, evidence, tuple(Join(**item) for item in form["joins"]))


def join_findings(found: Iterable[tuple[str, Finding]]) -> tuple[Joined, ...]:
    """Join the findings that say the same, each with the origin that found it, in whatever order they come.

    Only findings with the very same values, negations and names are joined; what differs in one is left apart, so that
    no conflict is joined away. Findings are joined through others: if A is like B, and B like C, all three are one.
    """
    distinct: defaultdict[Finding, set[Evidence]] = defaultdict(set)
    for origin, finding in found:
        bare = replace(finding, sources=(), observed=None)
        distinct[bare] |= {Evidence(origin, source, finding.observed) for source in finding.sources}
    findings = sorted(distinct, key=_order)
    alike: defaultdict[tuple[tuple[str, ...], ...], list[Finding]] = defaultdict(list)
    for finding in findings:
        alike[_statement(finding).signature].append(finding)
    groups = [group for members in alike.values() for group in _groups(members)]
    return tuple(
        sorted((_joined(group, distinct) for group in groups), key=lambda item: _order(item.finding))
    )


def _order(finding: Finding) -> tuple[str, ...]:
    return finding.text, finding.subject, finding.attribute, finding.value


def _statement(finding: Finding) -> Statement:
    return read_statement(finding.text)


def _groups(members: Sequence[Finding]) -> list[list[Finding]]:
    """Give the members in groups of those that are joined, directly or through others."""
    leader = {finding: finding for finding in members}

    def led(finding: Finding) -> Finding:
        while leader[finding] is not finding:
            finding = leader[finding]
        return finding

    for first, second in combinations(members, 2):
        if led(first) is not led(second) and _join(first, second) is not None:
            leader[led(second)] = led(first)
    groups: defaultdict[Finding, list[Finding]] = defaultdict(list)
    for finding in members:
        groups[led(finding)].append(finding)
    return list(groups.values())


def _join(first: Finding, second: Finding) -> Join | None:
    """Tell why the second is joined with the first; None when it is not."""
    keyed = bool(first.attribute and second.attribute)
    if keyed and not same_key(first, second):
        return None
    if first.value and second.value and not same_value(first, second):
        return None
    if _bare(first.text) == _bare(second.text):
        return Join(second.text, "exact")
    one, two = _statement(first), _statement(second)
    laid = overlay([word.stem for word in one.frame], [word.stem for word in two.frame], EVEN)
    pinned = bool(one.quantities or one.periods)
    if one.frame and two.frame and laid.smaller == 1 and laid.larger >= (REWORDED if pinned else 1):
        return Join(second.text, "reworded", round(100 * laid.larger))
    if keyed and first.value and second.value:
        return Join(second.text, "same_value", round(100 * laid.larger))
    return None


def _bare(text: str) -> str:
    return " ".join(plain(text).split()).rstrip(".!")


def _joined(group: Sequence[Finding], distinct: dict[Finding, set[Evidence]]) -> Joined:
    """Make one of a group: the wording that most evidence has stands for all, of those the shortest."""
    first = min(group, key=lambda finding: (-len(distinct[finding]), len(finding.text), _order(finding)))
    evidence = {item for finding in group for item in distinct[finding]}
    shown = first
    if not first.attribute and all(_commonest(group, name) for name in ("subject", "attribute", "value")):
        subject, attribute, value = (_commonest(group, name) for name in ("subject", "attribute", "value"))
        shown = Finding(first.text, (), subject, attribute, value)
    joins = (_join(first, other) or _through(first, other) for other in group if other is not first)
    return Joined(
        shown,
        tuple(sorted(evidence, key=lambda item: item.order)),
        tuple(sorted(joins, key=lambda join: (join.text, join.reason))),
    )


def _through(first: Finding, other: Finding) -> Join:
    """Tell of a wording that was joined through others."""
    one, two = ([word.stem for word in _statement(item).frame] for item in (first, other))
    laid = overlay(one, two, EVEN)
    return Join(other.text, "reworded", round(100 * laid.larger))


def _commonest(group: Sequence[Finding], name: str) -> str:
    counted = Counter(getattr(finding, name) for finding in group if getattr(finding, name))
    return min(counted, key=lambda text: (-counted[text], text), default="")
