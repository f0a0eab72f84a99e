"""The loop search, against a brute-force reading of the rules and against graphs of real workflows."""

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import rustworkx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.agent.loop import Loop, LoopReport, find_loops, warnings
from interlock.agent.spec import Emission, Spec, Trigger
from interlock.agent.wiring import Wiring
from interlock.catalogue import say
from interlock.scope.scope import INSTALLATION, Address, Scope

SCOPES = [Scope(text) for text in ("*", "acme", "acme/hr", "acme/hr-extern", "globex", "globex/hr")]
ALL = 10_000


def agent(address: str, hears: Iterable[str | Trigger] = (), emits: Iterable[str | Emission] = ()) -> Spec:
    """An agent by address, with plain event names or full declarations."""
    name, _, scope = address.partition("@")
    return Spec(
        name=name,
        scope=Scope(scope or "acme"),
        starts_on=tuple(item if isinstance(item, Trigger) else Trigger(item) for item in hears),
        emits=tuple(item if isinstance(item, Emission) else Emission(item, "c") for item in emits),
    )


def names(report: LoopReport) -> list[str]:
    """The loops as a reader sees them."""
    return [say("loop.closes", agents=loop.shown).split(": ", 1)[1].split(".")[0] for loop in report.loops]


def lets_through(source: Spec, listener: Spec) -> bool:
    """The rule of EV-4, written out from its words without the index."""
    for emission in source.emits:
        for trigger in listener.starts_on:
            if trigger.event != emission.event:
                continue
            if trigger.heard_from:
                opened = any(scope.reaches(source.scope) for scope in trigger.heard_from)
            else:
                opened = listener.scope.company == source.scope.company
            narrowed = not emission.to or any(scope.reaches(listener.scope) for scope in emission.to)
            if opened and narrowed:
                return True
    return False


def brute_force(agents: Iterable[Spec], published: Spec, readable: Iterable[Scope]) -> list[tuple[str, ...]]:
    """Every loop through `published` as names shown, once each, in the order of LP-2."""
    standing = {item.address: item for item in agents} | {published.address: published}
    reads = tuple(readable)
    edges = {
        one: [two for two in standing if one != two and lets_through(standing[one], standing[two])]
        for one in standing
    }

    def shown(address: Address) -> str:
        if address.scope == published.scope:
            return address.name
        seen = any(scope.reaches(address.scope) for scope in reads)
        return str(address) if seen else "an agent outside your access"

    def walk(path: list[Address]) -> Iterator[tuple[str, ...]]:
        for following in edges[path[-1]]:
            if following == published.address:
                yield (*map(shown, path), published.name)
            elif following not in path:
                yield from walk([*path, following])

    return sorted(set(walk([published.address])), key=lambda loop: (len(loop), loop))


def as_shown(loop: Loop) -> tuple[str, ...]:
    """The names of a loop with the hidden ones in words."""
    return tuple(name or "an agent outside your access" for name in loop.names)


EVENTS = st.sampled_from(["a", "b", "c"])
SOME_SCOPES = st.lists(st.sampled_from(SCOPES), max_size=2, unique=True).map(tuple)


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """Any agent of few names, scopes and events."""
    return Spec(
        name=draw(st.sampled_from(["dev", "rev", "an", "zed"])),
        scope=draw(st.sampled_from(SCOPES)),
        starts_on=tuple(Trigger(draw(EVENTS), draw(SOME_SCOPES)) for _ in range(draw(st.integers(0, 2)))),
        emits=tuple(
            Emission(draw(EVENTS), "c", to=draw(SOME_SCOPES)) for _ in range(draw(st.integers(0, 2)))
        ),
    )


@pytest.mark.rule("LP-1", "LP-2", "LP-3", "LP-4")
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(specs(), max_size=7), specs(), st.lists(st.sampled_from(SCOPES), max_size=2))
def test_every_loop_is_named_once_in_order(
    agents: list[Spec], published: Spec, readable: list[Scope]
) -> None:
    report = find_loops(Wiring(agents), published, readable, named=ALL, edges=10**7)
    expected = brute_force(agents, published, readable)
    assert [as_shown(loop) for loop in report.loops] == expected
    assert report.checked_in_full and not report.may_be_more
    assert report.inert == lets_through(published, published)


@pytest.mark.rule("LP-2")
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(specs(), max_size=8), specs(), st.integers(1, 3), st.integers(0, 60), st.randoms())
def test_a_bound_never_hides_that_it_was_reached(
    agents: list[Spec], published: Spec, named: int, edges: int, chance
) -> None:
    report = find_loops(Wiring(agents), published, named=named, edges=edges)
    expected = brute_force(agents, published, [INSTALLATION])
    found = [as_shown(loop) for loop in report.loops]
    assert report.edges_examined <= edges
    assert len(found) <= named and set(found) <= set(expected)
    assert found == sorted(found, key=lambda loop: (len(loop), loop))
    if not report.may_be_more:
        assert found == expected
    if not report.checked_in_full:
        assert report.may_be_more and not found
    if found:
        assert len(found[0]) == len(expected[0])
    current = {item.address: item for item in agents}
    shuffled = list(current.values())
    chance.shuffle(shuffled)
    assert find_loops(Wiring(shuffled), published, named=named, edges=edges) == report


def cases(name: str) -> list[dict]:
    """The lines of one file of graphs."""
    folder = os.environ.get("INTERLOCK_CASES")
    if not folder:
        pytest.skip("INTERLOCK_CASES names no folder of cases")
    with gzip.open(Path(folder) / "agent_graphs" / name, "rt") as lines:
        return [json.loads(line) for line in lines]


@dataclass(frozen=True, slots=True)
class Case:
    """A directed graph, and the nodes that its source says lie on a cycle of several nodes."""

    nodes: int
    edges: list[tuple[int, int]]
    cyclic: set[int] | None

    @property
    def agents(self) -> list[Spec]:
        """Each node as an agent: node i emits `e<i>`, and j listens to it where there is an edge i to j."""
        heard: dict[int, list[str]] = {}
        for one, two in self.edges:
            heard.setdefault(two, []).append(f"e{one}")
        return [agent(f"n{i}", dict.fromkeys(heard.get(i, ())), [f"e{i}"]) for i in range(self.nodes)]


def n8n() -> Iterator[Case]:
    """The workflow graphs over their main edges."""
    for row in cases("n8n_flows.jsonl.gz"):
        edges = [(one, two) for one, two, kind in row["edges"] if kind == "main"]
        yield Case(len(row["types"]), edges, {node for group in row["cyclic_sccs"] for node in group})


def imports() -> Case:
    """The import graph of a standard library."""
    (row,) = cases("cpython_stdlib_imports.jsonl.gz")
    edges = [(one, two) for one, following in enumerate(row["adj"]) for two in following]
    return Case(row["nodes"], edges, None)


def check(case: Case, named: int, edges: int) -> int:
    """Publish each node: the shortest loop is named if and only if the node lies on a cycle."""
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(case.nodes))
    graph.add_edges_from_no_data([edge for edge in case.edges if edge[0] != edge[1]])
    distances = rustworkx.distance_matrix(graph, null_value=-1)
    agents = case.agents
    wiring = Wiring(agents)
    looping = 0
    for node, published in enumerate(agents):
        report = find_loops(wiring, published, named=named, edges=edges)
        back = [distances[one][node] for one in graph.successor_indices(node)]
        expected = (
            [int(min(length for length in back if length >= 0)) + 1] if max(back, default=-1) >= 0 else []
        )
        assert report.checked_in_full and report.edges_examined <= edges and len(report.loops) <= named
        assert [loop.length for loop in report.loops[:1]] == expected
        assert report.inert == ((node, node) in case.edges)
        if case.cyclic is not None:
            assert bool(report.loops or report.inert) == (node in case.cyclic)
        looping += bool(expected)
    return looping


@pytest.mark.rule("LP-1", "LP-2")
def test_each_node_of_each_real_workflow_is_judged_right() -> None:
    flows = list(n8n())
    assert sum(check(flow, named=10, edges=200_000) for flow in flows) > 50


@pytest.mark.rule("LP-1", "LP-2")
def test_each_module_of_a_real_import_graph_is_judged_right() -> None:
    assert check(imports(), named=2, edges=40_000) == 236


@pytest.mark.rule("LP-1", "LP-2")
def test_the_loop_reads_back_to_the_published_agent_and_shortest_comes_first() -> None:
    others = [
        agent("reviewer", ["code.written"], ["code.reviewed"]),
        agent("tester", ["code.reviewed"], ["code.tested"]),
        agent("auditor@*", [Trigger("code.written", (Scope("acme"),))], [Emission("code.tested", "c")]),
    ]
    developer = agent("developer", ["code.reviewed", "code.tested"], ["code.written"])
    report = find_loops(Wiring(others), developer)
    assert names(report) == ["developer → reviewer → developer", "developer → reviewer → tester → developer"]
    assert say(warnings(report)[0]).startswith("Publishing this closes a loop")
    assert "developer → reviewer → developer" in say(warnings(report)[0], "pt-BR")
    assert say(warnings(report)[0], "pt-BR") != say(warnings(report)[0])


@pytest.mark.rule("LP-3")
def test_the_version_is_judged_in_place_of_the_current_one() -> None:
    looping = agent("developer", ["code.reviewed"], ["code.written"])
    reviewer = agent("reviewer", ["code.written"], ["code.reviewed"])
    harmless = agent("developer", [], ["code.written"])
    assert find_loops(Wiring([looping, reviewer]), harmless).loops == ()
    assert find_loops(Wiring([harmless, reviewer]), looping).loops
    assert find_loops(Wiring([looping, reviewer]), agent("third", ["code.written"])).loops == ()


@pytest.mark.rule("LP-4")
def test_an_agent_outside_the_readers_access_is_counted_and_not_named() -> None:
    hidden = agent("spy@globex", [Trigger("a", (Scope("acme"),))], ["b"])
    developer = agent("developer", [Trigger("b", (Scope("globex"),))], ["a"])
    report = find_loops(Wiring([hidden]), developer, [Scope("acme")])
    (told,) = warnings(report)
    assert "developer → an agent outside your access → developer" in say(told)
    assert "developer → um agente fora do seu acesso → developer" in say(told, "pt-BR")
    assert "spy" not in json.dumps(told) and "globex" not in json.dumps(told)
    assert report.loops[0].length == 2
    assert names(find_loops(Wiring([hidden]), developer)) == ["developer → spy@globex → developer"]


@pytest.mark.rule("LP-5")
def test_an_agent_that_hears_itself_is_named_alone() -> None:
    report = find_loops(Wiring([]), agent("developer", ["a"], ["a"]))
    assert report.inert and report.loops == () and not report.may_be_more
    (told,) = warnings(report)
    assert "developer → developer" in say(told) and "does nothing" in say(told)
    assert "não faz nada" in say(told, "pt-BR")


@pytest.mark.rule("LP-2")
@pytest.mark.fault("F10")
def test_a_prefix_of_a_scope_is_another_scope() -> None:
    extern = agent("a10@acme/hr-extern", [Trigger("a", (Scope("acme/hr"),))], ["b"])
    inside = agent("a1@acme/hr", ["b"], [Emission("a", "c", to=(Scope("acme/hr"),))])
    assert find_loops(Wiring([extern]), inside).loops == ()


def hub(size: int) -> list[Spec]:
    """Agents that all emit one event and all hear it: `size` squared edges."""
    return [agent(f"n{i:06}", ["tick"], ["tick"]) for i in range(size)]


@pytest.mark.rule("LP-2")
def test_an_event_of_everyone_to_everyone_is_never_multiplied_out() -> None:
    agents = hub(1000)
    report = find_loops(Wiring(agents), agents[7])
    assert [loop.length for loop in report.loops] == [2] * 10
    assert [loop.names[1] for loop in report.loops[:3]] == ["n000000", "n000001", "n000002"]
    assert report.may_be_more and report.checked_in_full and report.inert
    assert report.edges_examined < 200_000


@pytest.mark.rule("LP-2")
def test_what_the_bound_left_open_is_said() -> None:
    agents = hub(300)
    cut = find_loops(Wiring(agents), agents[0], edges=100)
    assert not cut.checked_in_full and cut.may_be_more and cut.loops == ()
    assert "not checked in full" in say(warnings(cut)[-1])
    assert "não foi verificada por completo" in say(warnings(cut)[-1], "pt-BR")
    short = find_loops(Wiring(agents), agents[0], edges=350)
    assert short.checked_in_full and short.may_be_more and short.loops[0].length == 2
    assert "There may be more loops" in say(warnings(short)[-1])


@pytest.mark.rule("LP-2")
def test_other_companies_and_dead_ends_cost_nothing() -> None:
    crowd = [agent(f"n{i}@company-{i}", ["tick"], ["tick"]) for i in range(2000)]
    mine = agent("mine@company-5", ["tick"], ["tick"])
    report = find_loops(Wiring(crowd), mine)
    assert names(report) == ["mine → n5 → mine"] and report.edges_examined < 20
    nobody = agent("nobody@company-5", [Trigger("tick", (INSTALLATION,))], ["unheard"])
    assert find_loops(Wiring(crowd), nobody).edges_examined == 0
