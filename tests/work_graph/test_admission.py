"""Reading and admitting work graphs: one form, everything that is wrong told at once."""

import json

import pytest
from hypothesis import given

from interlock.form.problem import FormError
from interlock.gate.budget import Budget
from interlock.scope.scope import Address
from interlock.work_graph.edge import Edge, names_of
from interlock.work_graph.reader import form_of_graph, graph_of, read_graph
from interlock.work_graph.work_graph import RootFacts, WorkGraph, admit
from tests.work_graph.scene import FUNCTION, function, graph, graphs, join

AGENT = Address("planner@acme/platform")
FACTS = RootFacts(
    AGENT, {"look": (), "mail": ("mail_key",)}, {FUNCTION}, Budget(tool_calls=10), {"dossier": "text/plain"}
)


def codes(error):
    """Give the codes of all problems, in their order."""
    return [problem["code"] for problem in error.value.problems]


def refused(nodes, facts=FACTS, **more):
    """Give the codes for which a graph is not admitted."""
    with pytest.raises(FormError) as error:
        admit(graph_of({"nodes": nodes, **more}), facts)
    assert error.value.code == "work.not_admitted"
    return codes(error)


YAML = """
nodes:
  - name: reader_a
    kind: agent_loop
    objective: Read the dossier.
    tools: [look]
    budget: {tool_calls: 2, wall_time: 1m}
    attempts: 2
    deadline: 90s
    publishes: [notes]
    needs: [{artifact: dossier}]
  - name: sum
    kind: function
    function: work:do
    needs: [{from: reader_a, artifact: notes, type: text/plain}]
  - {name: all, kind: join, needs: [sum, reader_a]}
  - {name: check, kind: verify, rubric: It must add up., needs: [all]}
at_once: 2
"""


@pytest.mark.rule("WG-1")
def test_yaml_python_and_a_models_json_give_the_same_graph():
    written = read_graph(YAML, "work.yaml")
    assert graph_of(form_of_graph(written)) == written
    assert graph_of(json.loads(json.dumps(form_of_graph(written)))) == written
    assert WorkGraph.from_dict(json.loads(json.dumps(written.as_dict()))) == written
    assert written.by_name["all"].needs == (
        Edge("sum", "result", "application/json"),
        Edge("reader_a", "final_answer", "text/plain"),
    )
    assert written.ends == ("check",)
    admit(written, FACTS)


@pytest.mark.rule("WG-1")
@given(graphs())
def test_any_graph_reads_back_as_itself(given_graph):
    assert graph_of(form_of_graph(given_graph)) == given_graph
    assert graph_of(form_of_graph(given_graph)).digest == given_graph.digest
    admit(given_graph, FACTS)


@pytest.mark.rule("WG-1", "BI-1")
def test_all_problems_of_what_was_written_are_told_with_their_places():
    text = """nodes:
  - {name: a, kind: agent_loop, objective: x, needs: [c], colour: red}
  - {name: b, kind: function, tools: [x], needs: [{from: a, artifact: nope}], output: {type: 5}}
  - {name: c, kind: join, needs: [a, {from: b, artifact: result, type: text/plain}]}
  - {name: d, kind: tool, tool: look, arguments: {q: {$artifact: nothing}}, attempts: 99}
  - {name: d, kind: verify}
  - {kind: dance}
"""
    with pytest.raises(FormError) as error:
        read_graph(text, "work.yaml")
    assert error.value.code == "work.invalid"
    found = codes(error)
    for code in (
        "form.unknown_key", "work.needed_key", "work.unused_key", "work.not_published", "work.bad_schema",
        "work.circle", "work.other_type", "work.not_taken_in", "form.doubled", "form.missing_key", "form.malformed",
    ):  # fmt: skip
        assert code in found, code
    assert all(problem["file"] == "work.yaml" and problem["line"] > 1 for problem in error.value.problems)
    assert "c → a → c" in str(error.value) or "a → c → a" in str(error.value)


@pytest.mark.rule("WG-1")
def test_a_circle_of_any_length_is_refused():
    for length in range(1, 6):
        nodes = [function(f"n{at}", f"n{(at + 1) % length}") for at in range(length)]
        with pytest.raises(FormError) as error:
            graph_of({"nodes": [function("free"), *nodes]})
        assert codes(error) == ["work.circle"]


@pytest.mark.rule("WG-1")
def test_what_the_root_lacks_is_refused_all_at_once():
    found = refused(
        [
            {"name": "a", "kind": "agent_loop", "objective": "x", "agent": "b@acme/desk", "tools": ["look", "shoot"]},
            {"name": "b", "kind": "tool", "tool": "mail", "secrets": []},
            {"name": "c", "kind": "function", "function": "work:undo", "needs": [{"artifact": "secret"}]},
            {"name": "d", "kind": "agent_loop", "objective": "x", "budget": {"tool_calls": 10}, "needs": [
                {"artifact": "dossier", "type": "application/json"}]},
        ],
        at_once=9,
    )  # fmt: skip
    assert sorted(found) == sorted(
        [
            "work.other_agent", "work.tool_not_granted", "work.secret_not_given", "work.function_not_granted",
            "work.not_given", "work.other_type", "work.over_budget", "work.too_many_at_once",
        ]
    )  # fmt: skip


@pytest.mark.rule("WG-1")
def test_budgets_count_together_and_each_tool_node_is_a_call():
    calls = [{"name": f"t{at}", "kind": "tool", "tool": "look"} for at in range(11)]
    assert refused(calls) == ["work.over_budget"]
    admit(graph_of({"nodes": calls[:10]}), FACTS)


@pytest.mark.rule("WG-1", "BI-2")
def test_the_number_of_nodes_and_the_depth_are_limited():
    nodes = [function(f"n{at}") for at in range(4)]
    assert refused(nodes, RootFacts(AGENT, functions={FUNCTION}, nodes=3)) == ["work.too_many_nodes"]
    agent = {"name": "a", "kind": "agent_loop", "objective": "x"}
    assert refused([agent], RootFacts(AGENT, nested=False)) == ["work.too_deep"]
    admit(graph(agent), RootFacts(AGENT, nested=True))


@pytest.mark.rule("WG-1")
def test_nodes_made_in_python_are_checked_as_those_that_are_read():
    good = graph(function("a"), function("b", "a"))
    bad = WorkGraph((good.nodes[1],))
    with pytest.raises(FormError) as error:
        admit(bad, FACTS)
    assert codes(error) == ["work.no_such_node"]


@pytest.mark.rule("WG-2", "CS-5")
def test_names_that_collide_are_qualified_by_their_source():
    edges = [Edge("a", "notes", "text/plain"), Edge("b", "notes", "text/plain"), Edge("", "notes", "text/plain"),
             Edge("c", "a.notes", "text/plain"), Edge("c", "other", "text/plain")]  # fmt: skip
    assert list(names_of(edges).values()) == ["a.notes-2", "b.notes", "root.notes", "a.notes", "other"]


@pytest.mark.rule("BI-1")
@pytest.mark.parametrize(
    "form", [None, [], 3, "x", {}, {"nodes": None}, {"nodes": [None]}, {"nodes": []}, {"nodes": [3]}]
)
def test_whatever_is_no_graph_is_refused_with_a_form_error(form):
    with pytest.raises(FormError) as error:
        graph_of(form)
    assert error.value.code == "work.invalid"


def test_a_join_that_needs_nothing_is_refused():
    with pytest.raises(FormError) as error:
        graph_of({"nodes": [join("a")]})
    assert codes(error) == ["work.needed_key"]
