"""A conflict: findings of which not all can be true, found before any model writes (RS-2), and how it ended (RS-3)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations, product
from typing import Any, Self

from interlock import canonical
from interlock.catalogue import Text
from interlock.message.comparison import Comparison, Kind, compare
from interlock.message.evidence import Evidence, sources_of
from interlock.message.joined import Joined
from interlock.message.resolution import Resolution
from interlock.message.statement.name import same_name
from interlock.message.statement.overlay import Weights
from interlock.message.statement.period import agree_in_time
from interlock.message.statement.quantity import agrees, comparable
from interlock.message.statement.statement import read_statement

__all__ = ["Conflict", "Side", "Uncompared", "find_conflicts"]

Node = tuple[int, str]
"""A finding by its number, and what it says: one may say two things, and be in conflict over each."""


@dataclass(frozen=True, slots=True)
class Side:
    """What some of the findings of a conflict say alike: their values as they wrote them, and the findings."""

    values: tuple[str, ...]
    findings: tuple[Joined, ...]

    @property
    def value(self) -> str:
        """The value that stands for the side."""
        return self.values[0]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All that backs the side."""
        found = {item for joined in self.findings for item in joined.evidence}
        return tuple(sorted(found, key=lambda item: item.order))

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the sources of the side."""
        return sources_of(self.evidence)

    @classmethod
    def from_dict(cls, form: Mapping[str, Any], findings: Sequence[Joined]) -> Self:
        """Read back what a conflict says of a side; `findings` are those of the same merge."""
        held = (joined for joined in findings if joined.text in form["findings"])
        return cls(
            tuple(form["values"]), tuple(item for item in held if set(item.sources) <= set(form["sources"]))
        )


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two or more sides that cannot all be true.

    kind: in what they differ. key: the same for the same conflict, whatever order the findings came in.
    resolution: None while it is open.
    """

    key: str
    kind: Kind
    sides: tuple[Side, ...]
    resolution: Resolution | None = field(default=None)

    @property
    def open(self) -> bool:
        """Whether nothing has resolved it."""
        return self.resolution is None

    @property
    def about(self) -> str:
        """What it is about: subject and attribute where a finding names them, else the words of one finding."""
        named = (
            f"{item.subject} – {item.attribute}".strip(" –") for item in self._findings if item.attribute
        )
        return next(named, self.sides[0].findings[0].text)

    @property
    def _findings(self) -> list[Any]:
        return [joined.finding for side in self.sides for joined in side.findings]

    @property
    def reason(self) -> Text:
        """Why it is one, with the value and the sources of each side."""
        return Text(f"conflict.{self.kind}", sides=[_told(side) for side in self.sides])

    def as_dict(self) -> dict[str, Any]:
        """Give the conflict for the node that writes, and for a reader."""
        return {
            "key": self.key,
            "kind": self.kind,
            "about": self.about,
            "reason": self.reason,
            "sides": [
                {
                    "values": list(side.values),
                    "findings": [item.text for item in side.findings],
                    "sources": list(side.sources),
                }
                for side in self.sides
            ],
            "resolution": self.resolution.as_dict() if self.resolution else None,
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any], findings: Sequence[Joined]) -> Self:
        """Read back what `as_dict` gave; `findings` are those of the same merge."""
        resolution = form["resolution"]
        return cls(
            form["key"],
            form["kind"],
            tuple(Side.from_dict(side, findings) for side in form["sides"]),
            None if resolution is None else Resolution(**resolution),
        )


@dataclass(frozen=True, slots=True)
class Uncompared:
    """Two findings whose values cannot be compared, such as amounts in two currencies without a rate: no conflict."""

    findings: tuple[Joined, Joined]
    values: tuple[str, str]
    note: Text


def _told(side: Side) -> Text:
    return Text("conflict.side", value=side.value, sources=list(side.sources))


def find_conflicts(
    findings: Sequence[Joined], rates: Mapping[str, Decimal] | None = None
) -> tuple[tuple[Conflict, ...], tuple[Uncompared, ...]]:
    """Find the conflicts among findings that were joined, and what could not be compared.

    `rates` gives by currency code what one unit is worth in a common currency. The order of the findings does not
    matter. The work grows with the square of their number: some 3 s for 250 findings of one topic.
    """
    findings = sorted(findings, key=_order)
    weights = Weights(read_statement(joined.text) for joined in findings)
    clashes: defaultdict[Node, dict[Node, Comparison]] = defaultdict(dict)
    apart = []
    for first, second in combinations(range(len(findings)), 2):
        found = compare(findings[first].finding, findings[second].finding, weights, rates)
        if found.note is not None:
            apart.append(Uncompared((findings[first], findings[second]), found.values, found.note))
        if found.outcome == "conflict":
            one, two = (first, found.values[0]), (second, found.values[1])
            clashes[one][two] = clashes[two][one] = found
    conflicts = (_conflict(group, clashes, findings, rates or {}) for group in _groups(clashes))
    return tuple(sorted(conflicts, key=lambda conflict: (conflict.about, conflict.key))), tuple(apart)


def _groups(clashes: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """Give the nodes in groups of those that clash, directly or through others."""
    groups, seen = [], set()
    for node in sorted(clashes):
        if node in seen:
            continue
        group, waiting = [], [node]
        seen.add(node)
        while waiting:
            group.append(current := waiting.pop())
            fresh = [other for other in clashes[current] if other not in seen]
            seen.update(fresh)
            waiting.extend(fresh)
        groups.append(sorted(group))
    return groups


def _conflict(
    group: Sequence[Node],
    clashes: Mapping[Node, Mapping[Node, Comparison]],
    findings: Sequence[Joined],
    rates: Mapping[str, Decimal],
) -> Conflict:
    kinds = sorted(found.kind or "value" for node in group for found in clashes[node].values())
    kind = max(dict.fromkeys(kinds), key=kinds.count)
    parts: list[list[Node]] = []
    for node in group:
        fitting = (
            part for part in parts if all(_together(node, other, clashes, kind, rates) for other in part)
        )
        part = next(fitting, None)
        if part is None:
            parts.append([node])
        else:
            part.append(node)
    sides = sorted((_side(part, findings) for part in parts), key=lambda side: side.values)
    said = [[*side.values, *(joined.text for joined in side.findings)] for side in sides]
    return Conflict(canonical.digest_of([kind, said])[:12], kind, tuple(sides))


def _together(
    one: Node,
    two: Node,
    clashes: Mapping[Node, Mapping[Node, Comparison]],
    kind: Kind,
    rates: Mapping[str, Decimal],
) -> bool:
    """Tell whether two nodes may be on one side: they do not clash, and their values agree."""
    return two not in clashes[one] and _agree(kind, one[1], two[1], rates)


def _agree(kind: Kind, first: str, second: str, rates: Mapping[str, Decimal]) -> bool:
    one, two = read_statement(first), read_statement(second)
    if kind == "quantity":
        pairs = [pair for pair in product(one.quantities, two.quantities) if comparable(*pair, rates)]
        return any(agrees(*pair, rates) for pair in pairs) or not pairs
    if kind == "date" and one.periods and two.periods:
        return any(agree_in_time(*pair) for pair in product(one.periods, two.periods))
    if kind == "name" and one.names and two.names:
        return any(same_name(*pair) for pair in product(one.names, two.names))
    return kind != "negation" or bool(one.negations) == bool(two.negations)


def _side(part: Sequence[Node], findings: Sequence[Joined]) -> Side:
    values = sorted({value for _, value in part}, key=lambda value: (len(value), value))
    return Side(tuple(values), tuple(findings[number] for number in sorted({number for number, _ in part})))


def _order(joined: Joined) -> tuple[str, ...]:
    finding = joined.finding
    return finding.text, finding.subject, finding.attribute, finding.value
