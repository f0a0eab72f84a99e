"""A schema's work: how often its parts may look at one value, known before the validator looks at any.

A validator takes time without bound for a few bytes of schema and arguments when each alternative holds two more,
or when a recursive schema reaches itself by two ways for the same value: the ways double with every level. So the
ways are counted on the graph of the schema's parts, each part once, whatever they would come to.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

import rustworkx

from interlock.catalogue import Text

__all__ = ["WORK_LIMIT", "unbounded_work"]

WORK_LIMIT = 20_000
LEVELS = 64  # of the arguments, which bound how often a recursive schema returns to itself

HERE, MEMBERS, ITEMS = "here", "members", "items"
MAPS_HERE = ("dependentSchemas", "dependencies")
LISTS_HERE = ("allOf", "anyOf", "oneOf")
SINGLE_HERE = ("not", "if", "then", "else")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")  # which ask the parts beside them once more


@dataclass(slots=True)
class _Document:
    """What references may name in a tool's own document: parts by their URI, and each part's base URI.

    `dynamic` are the parts of each `$dynamicAnchor`: which of them is meant depends on the way taken.
    """

    resources: dict[str, Any] = field(default_factory=dict)
    anchors: dict[str, Any] = field(default_factory=dict)
    dynamic: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    bases: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Any) -> "_Document":
        found = cls()
        found.resources[""] = schema
        waiting = [(schema, "")]
        while waiting:
            part, base = waiting.pop()
            if isinstance(part, Mapping):
                if id(part) in found.bases:
                    continue
                base = found._note(part, base)
                waiting += [(inner, base) for inner in part.values()]
            elif isinstance(part, list | tuple):
                waiting += [(inner, base) for inner in part]
        return found

    def _note(self, part: Mapping[str, Any], base: str) -> str:
        """Note a part under the names it bears, and give the base URI of what is in it.

        Raises ValueError for a name that two parts bear.
        """
        if isinstance(own := part.get("$id"), str):
            base = urldefrag(urljoin(base, own)).url
            self._name(self.resources, base, part)
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := part.get(key), str):
                self._name(self.anchors, f"{base}#{name}", part)
                self.dynamic[name] += [part] if key == "$dynamicAnchor" else []
        self.bases[id(part)] = base
        return base

    @staticmethod
    def _name(names: dict[str, Any], name: str, part: Any) -> None:
        if names.setdefault(name, part) is not part:
            raise ValueError(name)

    def named(self, part: Mapping[str, Any], key: str) -> list[Any]:
        """Give the parts that a reference may mean.

        Raises LookupError, TypeError or ValueError when it means none of them.
        """
        base, reference = self.bases[id(part)], part[key]
        if not isinstance(reference, str):
            raise TypeError(key)
        url, fragment = urldefrag(base + reference if reference.startswith("#") else urljoin(base, reference))
        if fragment and not fragment.startswith("/"):
            plain = self.anchors.get(f"{url}#{fragment}")
            found = [] if plain is None else [plain]
            found += [
                one for one in self.dynamic.get(fragment, ()) if key == "$dynamicRef" and one is not plain
            ]
            return found or [self.anchors[f"{url}#{fragment}"]]
        target = self.resources[url]
        for step in fragment.split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            target = target[int(name)] if isinstance(target, list | tuple) else target[name]
        return [target]


def unbounded_work(schema: Any) -> Text | None:
    """Tell why a schema could keep the validator at work without a useful bound; None when it cannot.

    Bounded are the parts of the schema that may look at one value, with each reference counted in full: there may
    be `WORK_LIMIT`. A recursive schema must reach itself by one way only for each value.
    """
    try:
        parts, ways = _ways(schema, _Document.of(schema))
    except (LookupError, TypeError, ValueError):
        return Text("gate.schema_reference")
    graph = rustworkx.PyDiGraph(multigraph=False)
    graph.add_nodes_from(range(parts))
    graph.add_edges_from_no_data([(source, target) for source in ways for target, _, _ in ways[source]])
    work: dict[int, int] = {}
    for group in rustworkx.strongly_connected_components(graph):  # a group comes after all that it reaches
        members = frozenset(group)
        inner = [[way for way in ways[node] if way[0] in members] for node in group]
        recursive = any(inner)
        if recursive and (any(_doubles(found) for found in inner) or _returns_at_once(group, inner)):
            return Text("gate.schema_recursive")
        outside = sum(times * work[to] for node in group for to, _, times in ways[node] if to not in members)
        total = (len(group) + outside) * (LEVELS if recursive else 1)
        work.update(dict.fromkeys(group, total))
        if total > WORK_LIMIT:
            return Text("gate.schema_heavy", limit=WORK_LIMIT)
    return None


Way = tuple[int, str, int]
"""A way from one part to another: the other's number, where in the value it looks, and how often."""


def _ways(schema: Any, document: _Document) -> tuple[int, dict[int, list[Way]]]:
    """Give the number of parts, the first of which is the schema, and the ways from each."""
    numbers: dict[int, int] = {id(schema): 0}
    ways: dict[int, list[Way]] = {}
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, Mapping):
            ways[numbers[id(part)]] = []
            continue
        found = []
        twice = 1 + sum(key in part for key in UNEVALUATED)
        for inner, place in _parts_of(part, document):
            if id(inner) not in numbers:
                numbers[id(inner)] = len(numbers)
                waiting.append(inner)
            found.append((numbers[id(inner)], place, twice if place == HERE else 1))
        ways[numbers[id(part)]] = found
    return len(numbers), ways


def _parts_of(part: Mapping[str, Any], document: _Document) -> Iterator[tuple[Any, str]]:
    """Give each part that a schema applies, with the place in the value: parts of one place may meet one value."""
    for key, value in part.items():
        if key in REFERENCES:
            yield from ((inner, HERE) for inner in document.named(part, key))
        elif key in SINGLE_HERE:
            yield value, HERE
        elif key in LISTS_HERE and isinstance(value, list | tuple):
            yield from ((inner, HERE) for inner in value)
        elif key in MAPS_HERE and isinstance(value, Mapping):
            yield from ((inner, HERE) for inner in value.values() if isinstance(inner, Mapping))
        elif key == "properties" and isinstance(value, Mapping):
            yield from ((inner, f"{MEMBERS}.") for inner in value.values())
        elif key == "patternProperties" and isinstance(value, Mapping):
            yield from ((inner, f"{MEMBERS}.{pattern}") for pattern, inner in value.items())
        elif key in {"additionalProperties", "propertyNames"}:
            yield value, f"{MEMBERS}."
        elif key in {"items", "prefixItems", "additionalItems"}:
            places = value if isinstance(value, list | tuple) else [value]
            yield from ((inner, f"{ITEMS}.") for inner in places)
        elif key in {"contains", *UNEVALUATED}:
            yield value, f"{MEMBERS if key == UNEVALUATED[0] else ITEMS}.{key}"


def _doubles(ways: list[Way]) -> bool:
    """Tell whether a part reaches its own group by two ways for one value.

    `properties` differ in their names, `items` in their places, and no value is both an object and a list.
    """
    here = sum(times for _, place, times in ways if place == HERE)
    below = [{place for _, place, _ in ways if place.startswith(kind)} for kind in (MEMBERS, ITEMS)]
    return here + max(map(len, below)) > 1


def _returns_at_once(group: list[int], inner: list[list[Way]]) -> bool:
    """Tell whether a group comes back to itself for the very same value, which would never end."""
    graph = rustworkx.PyDiGraph(multigraph=False)
    numbers = {node: index for index, node in enumerate(group)}
    graph.add_nodes_from(group)
    for node, found in zip(group, inner, strict=True):
        graph.add_edges_from_no_data(
            [(numbers[node], numbers[to]) for to, place, _ in found if place == HERE]
        )
    return not rustworkx.is_directed_acyclic_graph(graph)
