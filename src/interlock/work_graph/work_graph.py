"""A work graph: the nodes of one run's work, as a value; and whether it may be admitted (WG-1).

Everything that is wrong is told at once. A graph is well formed by itself (no circle, every input is published
upstream under that name and of that type), and it is admitted against what the root run has: its own agent, its tools
and secrets, what is left of its budget, and the artifacts it was given.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from interlock import canonical
from interlock.catalogue import Text
from interlock.form.form import Form
from interlock.form.problem import Report, shown
from interlock.form.yaml_text import Path
from interlock.gate.budget import AMOUNTS, Budget
from interlock.gate.schema import validator_of
from interlock.scope.scope import Address
from interlock.work_graph.edge import Edge, media_fits, names_of
from interlock.work_graph.node import Node

__all__ = ["ARTIFACT_KEY", "RootFacts", "WorkGraph", "admit", "check_shape", "referred"]

ARTIFACT_KEY = "$artifact"
"""An argument of a tool node `{"$artifact": name}` stands for the content of what the node takes in under the name."""
NAMED = 12


@dataclass(frozen=True)
class WorkGraph:
    """A DAG of nodes. `at_once` is how many of them may be under way at a time; None for what the settings say."""

    nodes: tuple[Node, ...]
    at_once: int | None = None

    @cached_property
    def by_name(self) -> dict[str, Node]:
        """The nodes by name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def dependents(self) -> dict[str, tuple[str, ...]]:
        """By node, those that need something of it."""
        found: dict[str, list[str]] = {node.name: [] for node in self.nodes}
        for node in self.nodes:
            for source in node.sources:
                found[source].append(node.name)
        return {name: tuple(names) for name, names in found.items()}

    @cached_property
    def ends(self) -> tuple[str, ...]:
        """The nodes that no other one needs: what the work comes to."""
        return tuple(node.name for node in self.nodes if not self.dependents[node.name])

    @cached_property
    def heights(self) -> dict[str, int]:
        """By node, how many nodes follow it on the longest way to an end."""
        heights: dict[str, int] = {}
        for name in reversed(_in_order(self.nodes)):
            heights[name] = 1 + max((heights[after] for after in self.dependents[name]), default=-1)
        return heights

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return sum(len(node.needs) for node in self.nodes)

    def as_dict(self) -> dict[str, Any]:
        """Give the graph as it is digested and stored."""
        limit = {"at_once": self.at_once} if self.at_once is not None else {}
        return {"nodes": [node.as_dict() for node in self.nodes], **limit}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        """Read back what `as_dict` gave."""
        return cls(tuple(map(Node.from_dict, form["nodes"])), form.get("at_once"))

    @property
    def digest(self) -> str:
        """The SHA-256 of the graph's canonical form."""
        return canonical.digest_of(self.as_dict())


@dataclass(frozen=True, slots=True)
class RootFacts:
    """What a graph is admitted against.

    tools: what the root run may call, each with the secrets that it needs. functions: those that it may use. budget:
    what the root run has left. given: its artifacts by name, with their media types. at_once, nodes: the limits of the
    settings. nested: whether its work may have parts that are agents' work.
    """

    agent: Address
    tools: Mapping[str, Collection[str]] = field(default_factory=dict)
    functions: Collection[str] = ()
    budget: Budget = field(default_factory=Budget)
    given: Mapping[str, str] = field(default_factory=dict)
    at_once: int = 8
    nodes: int = 2000
    nested: bool = True


def admit(graph: WorkGraph, facts: RootFacts) -> None:
    """Admit a graph, or raise FormError `work.not_admitted` with everything that speaks against it."""
    report = Report()
    root = Form(graph.as_dict(), report)
    check_shape(graph.nodes, root)
    if len(graph.nodes) > facts.nodes:
        root.at("nodes").refuse("work.too_many_nodes", value=len(graph.nodes), limit=facts.nodes)
    if graph.at_once is not None and graph.at_once > facts.at_once:
        root.at("at_once").refuse("work.too_many_at_once", value=graph.at_once, limit=facts.at_once)
    for node, form in zip(graph.nodes, root.at("nodes").items(), strict=True):
        _check_grants(node, form, facts)
        _check_given(node, form, facts)
    _check_budget(graph.nodes, root, facts.budget)
    if report:
        report.refuse("work.not_admitted")


def _check_grants(node: Node, form: Form, facts: RootFacts) -> None:
    if node.agent is not None and node.agent != facts.agent:
        form.at("agent").refuse("work.other_agent", value=str(node.agent), agent=facts.agent)
    if node.is_run and not facts.nested:
        form.at("kind").refuse("work.too_deep", value=node.kind)
    named = [(form.at("tool"), node.tool)] if node.tool else []
    named += [
        (Form(name, form.report, (*form.path, "tools", at)), name) for at, name in enumerate(node.tools)
    ]
    for place, name in named:
        if name not in facts.tools:
            place.refuse("work.tool_not_granted", value=shown(name), known=_some(facts.tools))
        elif node.secrets is not None and (lacking := set(facts.tools[name]) - set(node.secrets)):
            place.refuse("work.secret_not_given", value=shown(name), secrets=sorted(lacking))
    if node.function and node.function not in facts.functions:
        form.at("function").refuse(
            "work.function_not_granted", value=shown(node.function), known=_some(facts.functions)
        )


def _check_given(node: Node, form: Form, facts: RootFacts) -> None:
    for at, edge in enumerate(node.needs):
        if edge.source:
            continue
        place = Form(edge.artifact, form.report, (*form.path, "needs", at))
        media = facts.given.get(edge.artifact)
        if media is None:
            place.refuse("work.not_given", value=shown(edge.artifact), known=_some(facts.given))
        elif not media_fits(edge.media, media):
            place.refuse("work.other_type", value=edge.media, artifact=edge.artifact, found=media)


def _check_budget(nodes: Sequence[Node], root: Form, left: Budget) -> None:
    """What the nodes may use together, each once, is within what the root run has left."""
    for amount in AMOUNTS:
        limit = getattr(left, amount)
        wanted = sum(getattr(node.budget, amount) or 0 for node in nodes)
        if amount == "tool_calls":
            wanted += sum(node.kind == "tool" for node in nodes)
        if limit is not None and wanted > limit:
            root.at("nodes").refuse("work.over_budget", value=wanted, limit=limit, amount=amount)


# The shape, by itself


def check_shape(nodes: Sequence[Node], root: Form, places: Sequence[int] | None = None) -> None:
    """Note in the form's report what is wrong with nodes as a graph. `places` are their places in the list that was
    written, where some of it could not be read."""
    places = range(len(nodes)) if places is None else places
    by_name: dict[str, Node] = {}
    for at, node in zip(places, nodes, strict=True):
        if node.name in by_name:
            Form(node.name, root.report, ("nodes", at, "name")).refuse("form.doubled", value=node.name)
        by_name.setdefault(node.name, node)
    if not nodes and root.at("nodes").value in ([], ()):
        root.at("nodes").refuse("work.no_nodes")
    for at, node in zip(places, nodes, strict=True):
        for index, edge in enumerate(node.needs):
            _check_edge(Form(edge.source, root.report, ("nodes", at, "needs", index)), edge, by_name)
        _check_arguments(node, root.report, ("nodes", at))
        if node.output is not None:
            _check_schema(node.output, Form(node.output, root.report, ("nodes", at, "output")))
    circle = _circle(by_name)
    if circle:
        at = places[nodes.index(by_name[circle[0]])]
        Form(circle[0], root.report, ("nodes", at)).refuse(
            "work.circle", value=circle[0], nodes=[*circle, circle[0]]
        )


def _check_edge(form: Form, edge: Edge, by_name: Mapping[str, Node]) -> None:
    if not edge.source:
        return
    source = by_name.get(edge.source)
    if source is None:
        form.refuse("work.no_such_node", value=shown(edge.source), known=_some(by_name))
        return
    media = source.outputs.get(edge.artifact)
    if media is None:
        form.refuse(
            "work.not_published", value=shown(edge.artifact), node=edge.source, known=_some(source.outputs)
        )
    elif not media_fits(edge.media, media):
        form.refuse("work.other_type", value=shown(edge.media), artifact=edge.artifact, found=media)


def referred(arguments: Any) -> Iterator[tuple[Path, str]]:
    """Give the places in a tool node's arguments that stand for the content of an artifact, with its name."""
    waiting: list[tuple[Path, Any]] = [((), arguments)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Mapping):
            if set(value) == {ARTIFACT_KEY} and isinstance(value[ARTIFACT_KEY], str):
                yield path, value[ARTIFACT_KEY]
            else:
                waiting += [((*path, key), item) for key, item in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [((*path, at), item) for at, item in enumerate(value)]


def _check_arguments(node: Node, report: Report, path: Path) -> None:
    known = set(names_of(node.needs).values()) if node.arguments else set()
    for place, name in referred(node.arguments):
        if name not in known:
            Form(name, report, (*path, "arguments", *place)).refuse(
                "work.not_taken_in", value=shown(name), known=_some(known)
            )


def _check_schema(schema: Mapping[str, Any], form: Form) -> None:
    try:
        validator_of(schema)
    except ValueError as error:
        form.refuse("work.bad_schema", why=shown(str(error)))


def _in_order(nodes: Sequence[Node]) -> list[str]:
    """Give the names, each after all that it needs; those on a circle are left out (Kahn, 1962)."""
    names = {node.name for node in nodes}
    left = {node.name: sum(source in names for source in node.sources) for node in nodes}
    after: dict[str, list[str]] = {name: [] for name in names}
    for node in nodes:
        for source in node.sources:
            if source in names:
                after[source].append(node.name)
    order = [node.name for node in nodes if not left[node.name]]
    for name in order:
        for other in after[name]:
            left[other] -= 1
            if not left[other]:
                order.append(other)
    return order


def _circle(by_name: Mapping[str, Node]) -> list[str]:
    """Give the nodes of one circle in the order in which each needs the one before; nothing if there is none."""
    settled = set(_in_order(list(by_name.values())))
    start = next((name for name in by_name if name not in settled), None)
    if start is None:
        return []
    seen: list[str] = []
    name = start
    while name not in seen:
        seen.append(name)
        name = next(source for source in by_name[name].sources if source in by_name and source not in settled)
    return seen[seen.index(name) :][::-1]


def _some(names: Collection[str]) -> list[str | Text]:
    told: list[str | Text] = [*map(shown, sorted(names)[:NAMED])]
    more = len(names) - NAMED
    return [*told, Text("work.more_names", count=more)] if more > 0 else told or ["-"]
