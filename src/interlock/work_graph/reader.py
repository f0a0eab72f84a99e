"""The reader of work graphs: YAML, plain Python values and a model's JSON become the same checked graph (WG-1).

Every problem of a graph is told at once, with file, line and column where it was written in YAML. Whether the graph
fits a run is for `interlock.work_graph.work_graph.admit` to say.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from interlock.agent.reader import ARTIFACT, FUNCTION, TOOL
from interlock.agent.spec import FINAL_ANSWER
from interlock.form.amount import milliseconds_in, time_text
from interlock.form.budget import budget_of, form_of_budget
from interlock.form.form import Form
from interlock.form.problem import Report, shown
from interlock.form.yaml_text import read
from interlock.scope.scope import Address
from interlock.settings import Sizes
from interlock.work_graph.edge import GIVEN, Edge
from interlock.work_graph.node import JOINED, KINDS, OUTPUT, TEXT, VERDICT, Node
from interlock.work_graph.work_graph import WorkGraph, check_shape

__all__ = ["ATTEMPTS_MOST", "GRAPH_KEYS", "NODE_KEYS", "form_of_graph", "graph_of", "read_graph"]

GRAPH_KEYS = ("nodes", "at_once")
EDGE_KEYS = ("from", "artifact", "type")
NODE_KEYS = (
    *("name", "kind", "objective", "agent", "tool", "arguments", "function", "tools", "secrets", "budget"),
    *("attempts", "deadline", "rubric", "output", "publishes", "needs"),
)
EVERY = frozenset({"name", "kind", "objective", "deadline", "needs"})
RUN_KEYS = frozenset({"agent", "tools", "secrets", "budget", "attempts", "rubric", "output", "publishes"})
KEYS_OF: Mapping[str, frozenset[str]] = {
    "agent_loop": EVERY | RUN_KEYS,
    "verify": EVERY | RUN_KEYS,
    "tool": EVERY | {"tool", "arguments", "secrets", "attempts"},
    "function": EVERY | {"function", "arguments", "attempts", "publishes"},
    "join": EVERY,
}
REQUIRED = {
    "agent_loop": ("objective",),
    "verify": ("rubric",),
    "tool": ("tool",),
    "function": ("function",),
    "join": ("needs",),
}
ATTEMPTS_MOST = 10
GRAPH_BYTES = Sizes().spec

NODE = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}\Z", re.ASCII)
MEDIA = re.compile(r"[a-z]+/[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}(?:; ?charset=[A-Za-z0-9-]{1,20})?\Z", re.ASCII)
RESERVED = frozenset({FINAL_ANSWER, OUTPUT, VERDICT, JOINED})


def read_graph(text: str | bytes, file: str, *, limit: int = GRAPH_BYTES) -> WorkGraph:
    """Read a graph from YAML of at most `limit` bytes; `file` names it in errors.

    Raises InterlockError of the domain `yaml` when the text is not one YAML document, and FormError `work.invalid` with
    all problems of what it says.
    """
    marked = read(text, file, limit)
    return _graph(Form(marked.value, Report(marked)))


def graph_of(form: Any) -> WorkGraph:
    """Make a graph of plain values, such as the arguments of a model's call, with the same checks.

    Raises FormError `work.invalid`.
    """
    return _graph(Form(form, Report()))


def form_of_graph(graph: WorkGraph) -> dict[str, Any]:
    """Write a graph in the shape that people write; `graph_of` reads it back as the same graph."""
    nodes = []
    for node in graph.nodes:
        form = node.as_dict()
        if "deadline_ms" in form:
            form["deadline"] = time_text(form.pop("deadline_ms"))
        if "budget" in form:
            form["budget"] = form_of_budget(node.budget)
        nodes.append(form)
    return {"nodes": nodes, **({"at_once": graph.at_once} if graph.at_once is not None else {})}


def _graph(form: Form) -> WorkGraph:
    report = form.report
    if not form.fields(GRAPH_KEYS, ("nodes",)):
        report.refuse("work.invalid")
    read_nodes: dict[int, tuple[Node, Form]] = {}
    for item in form.at("nodes").items():
        node = _node(item)
        if node is not None:
            read_nodes[int(item.path[-1])] = node, item
    by_name = {node.name: node for node, _ in read_nodes.values()}
    nodes = {
        at: replace(node, needs=_needs(item.at("needs"), by_name)) for at, (node, item) in read_nodes.items()
    }
    check_shape(list(nodes.values()), form, list(nodes))
    at_once = form.at("at_once").whole(None, 1, 10_000)
    if report:
        report.refuse("work.invalid")
    return WorkGraph(tuple(nodes.values()), at_once)


def _node(form: Form) -> Node | None:
    if not form.fields(NODE_KEYS, ("name", "kind")):
        return None
    kind = form.at("kind").choice(KINDS, "agent_loop")
    _check_keys(form, kind)
    return Node(
        name=form.at("name").matching(NODE, "node") or "",
        kind=kind,
        objective=form.at("objective").text(),
        agent=form.at("agent").made(Address, "address"),
        tool=form.at("tool").matching(TOOL, "tool") or "",
        arguments=_mapping(form.at("arguments")) or {},
        function=form.at("function").matching(FUNCTION, "function") or "",
        tools=form.at("tools").unique(lambda item: item.matching(TOOL, "tool")),
        secrets=None if form.at("secrets").value is None else form.at("secrets").unique(_word),
        budget=budget_of(form.at("budget")),
        attempts=form.at("attempts").whole(1, 1, ATTEMPTS_MOST),
        deadline_ms=form.at("deadline").amount(milliseconds_in, "time", None, 1),
        rubric=form.at("rubric").text(),
        output=_mapping(form.at("output")),
        publishes=_published(form.at("publishes")),
    )


def _word(form: Form) -> str | None:
    return form.matching(NODE, "node")


def _check_keys(form: Form, kind: str) -> None:
    """What a node says is what its kind has a use for, and all that it needs."""
    for key in NODE_KEYS:
        said = form.at(key)
        if said.value is None or said.value in ("", [], {}, ()):
            if key in REQUIRED[kind]:
                said.refuse("work.needed_key", at_key=True, value=key, kind=kind)
        elif key not in KEYS_OF[kind]:
            said.refuse("work.unused_key", at_key=True, value=key, kind=kind)


def _mapping(form: Form) -> dict[str, Any] | None:
    if form.value is None:
        return None
    return {key: item.value for key, item in form.entries()}


def _published(form: Form) -> tuple[tuple[str, str], ...]:
    """Artifacts by name with their media types; a list names such as are text."""
    if isinstance(form.value, list | tuple):
        return tuple((name, TEXT) for name in form.unique(_artifact))
    found = {}
    for key, item in form.entries():
        name = _artifact(Form(key, form.report, item.path))
        media = item.matching(MEDIA, "media") or TEXT
        if name is not None:
            found[name] = media
    return tuple(found.items())


def _artifact(form: Form) -> str | None:
    name = form.matching(ARTIFACT, "artifact")
    if name in RESERVED:
        form.refuse("work.reserved", value=name)
        return None
    return name


def _needs(form: Form, by_name: Mapping[str, Node]) -> tuple[Edge, ...]:
    return form.unique(lambda item: _edge(item, by_name))


def _edge(form: Form, by_name: Mapping[str, Node]) -> Edge | None:
    """An edge; a name alone means what the node of that name publishes above all, an edge without `from` what the root
    run has."""
    if isinstance(form.value, str):
        source = by_name.get(form.value)
        if source is None:
            known = sorted(by_name)[:12] or ["-"]
            form.refuse("work.no_such_node", value=shown(form.value), known=known)
            return None
        return Edge(source.name, source.main, source.outputs[source.main])
    if not form.fields(EDGE_KEYS, ("artifact",)):
        return None
    artifact = form.at("artifact").matching(ARTIFACT, "artifact")
    source_name = form.at("from").matching(NODE, "node") or GIVEN
    media = form.at("type").matching(MEDIA, "media")
    if artifact is None or (form.at("from").value is not None and not source_name):
        return None
    if media is None:
        source = by_name.get(source_name)
        media = source.outputs.get(artifact, TEXT) if source else TEXT
    return Edge(source_name, artifact, media)
