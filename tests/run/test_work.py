"""Work graphs that run for real: parts of a run's work, each with its own context, brought together again."""

import asyncio
import json

import pytest

from interlock.agent.spec import Emission
from interlock.errors import InterlockError
from interlock.gate.budget import Budget
from interlock.run.function import Finish
from interlock.run.human_queue import HumanQueue
from interlock.scope.label import UNTRUSTED, DeclaredLabel
from tests.run.scene import (
    PLATFORM,
    STEERED,
    Calls,
    drain,
    go_through,
    kinds,
    play,
    runs_of,
    spec_of,
    tool_giving,
    trail,
)
from tests.run.work_scene import (
    PLANNER,
    agent_loop,
    child_of,
    children,
    ended,
    joined,
    planner,
    prompt,
    prompts,
    result,
    started,
    working,
)
from tests.work_graph.scene import function, join
from tests.world import sound, world


async def echo(node):
    """Say which node it is, and what came in."""
    return {"node": node.node, "inputs": node.inputs}


@pytest.mark.rule("WG-1", "WG-3")
def test_functions_run_each_after_what_it_needs_and_the_run_reads_what_they_made(tmp_path):
    async def story():
        nodes = [function("a"), function("b", "a"), function("c", "a"), join("all", "b", "c")]
        async with working(tmp_path, nodes, {"work:do": echo}) as runtime:
            run = await go_through(runtime, PLANNER)
            found = await result(runtime, run)
            assert found["status"] == "complete" and found["done"] == 4 and not found["not_done"]
            both = await joined(runtime, run)
            assert [item["content"]["node"] for item in both["inputs"]] == ["b", "c"]
            assert both["inputs"][0]["content"]["inputs"] == {"result": {"node": "a", "inputs": {}}}
            assert (await runtime.artifact(run.id, "b.result"))[0]["labels"] == [f"area:{PLATFORM}"]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("WG-1", "RN-7", "EV-7")
def test_an_agents_part_is_a_run_of_its_own_on_the_same_task_with_no_hop_and_no_events(tmp_path):
    async def story():
        spec = planner(emits=(Emission("work.done", "work", ("final_answer",)),))
        listener = spec_of("listener", starts_on=("work.done",))
        nodes = [agent_loop("a", "Read it.")]
        script = {
            "planner@acme/platform#a": [{"finish": {"summary": "read"}}],
            listener.address: [{"text": "heard"}],
        }
        async with working(tmp_path, nodes, script=script, specs=[listener], spec=spec) as runtime:
            run = await go_through(runtime, PLANNER)
            child = await child_of(runtime, run, "a")
            assert child.status == "finished" and child.task == run.task and child.place == run.place
            assert child.opening["opened_by"]["kind"] == "work"
            assert (await kinds(runtime, child.id))[0] == "run.opened"
            assert "events" not in (await trail(runtime, child.id))[-1]
            assert len(await runs_of(runtime, listener.address)) == 1  # the root's own closing alone
            [task] = await runtime.installation.ledger.query("task_by_id", run.task)
            assert task[7] == "finished"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("WG-2", "PX-4", "CS-5")
@pytest.mark.fault("F35")
def test_the_same_agent_twice_at_a_time_nested_once_more_each_sees_its_own_order_alone(tmp_path):
    def orders(here):
        first = {"call": "plan_work", "with": {"nodes": [
            agent_loop(f"one{here}", f"Handle order {here}-1."), agent_loop(f"two{here}", f"Handle order {here}-2."),
            join("both", f"one{here}", f"two{here}")]}}  # fmt: skip
        return [
            first,
            {"call": "read_artifact", "with": {"name": "joined"}},
            {"finish": {"summary": f"whole {here}"}},
        ]

    async def story():
        script = {f"{PLANNER}#{name}{here}": [{"finish": {"summary": f"handled {here}-{number}"}}]
                  for here in "xy" for name, number in (("one", 1), ("two", 2))}  # fmt: skip
        script |= {f"{PLANNER}#{here}": orders(here) for here in "xy"}
        nodes = [agent_loop("x", "Do batch x."), agent_loop("y", "Do batch y."), join("all", "x", "y")]
        async with working(tmp_path, nodes, script=script, spec=planner(tools=("plan_work",))) as runtime:
            run = await go_through(runtime, PLANNER, {"secret": "ROOT-BRIEF"})
            assert [item["content"] for item in (await joined(runtime, run))["inputs"]] == [
                "whole x",
                "whole y",
            ]
            for here in "xy":
                part = await child_of(runtime, run, here)
                inner = await joined(runtime, part)
                assert [item["content"] for item in inner["inputs"]] == [
                    f"handled {here}-1",
                    f"handled {here}-2",
                ]
                for name, number in (("one", 1), ("two", 2)):
                    leaf = await child_of(runtime, part, f"{name}{here}")
                    seen = await prompt(runtime, leaf)
                    assert f"Handle order {here}-{number}." in seen
                    others = [f"{a}-{b}" for a in "xy" for b in (1, 2) if (a, b) != (here, number)]
                    assert not [other for other in others if other in seen]
                    for canary in ("ROOT-BRIEF", "Do batch", "handled", "run_0", "task_0", 'plan_work"'):
                        assert canary not in seen.replace('"name":"plan_work"', ""), canary
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("WG-2", "WG-4", "CS-5")
def test_what_edges_let_into_which_prompt_can_be_read_from_stored_state_alone(tmp_path):
    async def story():
        nodes = [
            agent_loop("a", "Write.", publishes=["notes"]),
            agent_loop("b", "Write.", publishes=["notes"]),
            agent_loop(
                "c",
                "Compare.",
                needs=[{"from": "a", "artifact": "notes"}, {"from": "b", "artifact": "notes"}],
            ),
        ]
        wrote = {
            f"{PLANNER}#{name}": [{"finish": {"summary": "s", "artifacts": {"notes": f"NOTES-{name}"}}}]
            for name in "ab"
        }
        read = [{"call": "read_artifact", "with": {"name": f"{name}.notes"}} for name in "ab"]
        refused = {"call": "read_artifact", "with": {"name": "notes"}}
        script = {**wrote, f"{PLANNER}#c": [refused, *read, {"finish": {"summary": "same"}}]}
        async with working(tmp_path, nodes, script=script) as runtime:
            run = await go_through(runtime, PLANNER)
            child = await child_of(runtime, run, "c")
            [begun] = await started(runtime, run, "c")
            assert [(edge["from"], edge["artifact"], edge["name"]) for edge in begun["edges"]] == [
                ("a", "notes", "a.notes"), ("b", "notes", "b.notes")]  # fmt: skip
            assert begun["run"] == child.id and child.part["artifacts"] == begun["edges"]
            for edge in begun["edges"]:
                assert (
                    await runtime.installation.contents.read(edge["digest"])
                    == f"NOTES-{edge['from']}".encode()
                )
            seen = await prompts(runtime, child)
            assert "NOTES-" not in seen[1] + seen[2]
            assert "NOTES-a" in seen[3] and "NOTES-b" not in seen[3] and "NOTES-b" in seen[4]
            first, _ = await runtime.prompt(child.id, 1)
            assert first.about["work"] == {"root_run": run.id, "revision": 1, "node": "c", "attempt": 1}

    play(story())


@pytest.mark.rule("WG-3")
def test_a_failed_attempt_is_tried_again_in_a_fresh_context_within_its_limit(tmp_path):
    def answer(request):
        tries.append(request)
        return {"fail": "rejected"} if len(tries) < 3 else {"finish": {"summary": "at last"}}

    tries = []

    async def story():
        nodes = [agent_loop("a", "Try.", attempts=3), function("b", "a")]
        async with working(tmp_path, nodes, {"work:do": echo}, {f"{PLANNER}#a": answer}) as runtime:
            run = await go_through(runtime, PLANNER)
            assert (await result(runtime, run))["status"] == "complete"
            begun = await started(runtime, run, "a")
            assert [body["attempt"] for body in begun] == [1, 2, 3] and len(
                {body["run"] for body in begun}
            ) == 3
            seen = [request.messages for request in tries]
            assert seen[0] == seen[1] == seen[2] and len(seen[0]) == 1

    play(story())


@pytest.mark.rule("WG-3", "RN-6")
def test_what_depends_on_a_node_that_failed_for_good_is_skipped_and_said(tmp_path):
    async def fails(node):
        if node.node == "bad":
            raise ValueError("KANARIE is broken")
        return node.attempt

    async def story():
        nodes = [
            function("bad", attempts=2),
            function("next", "bad"),
            function("last", "next"),
            function("good"),
        ]
        async with working(tmp_path, nodes, {"work:do": fails}) as runtime:
            run = await go_through(runtime, PLANNER)
            found = await result(runtime, run)
            assert found["status"] == "partial" and found["artifacts"] == ["result"]
            assert {item["what"]: item["why"] for item in found["not_done"]} == {
                "bad": "The function work:do raised ValueError.",
                "next": "It needs bad, which came to nothing.",
                "last": "It needs next, which came to nothing.",
            }
            skips = await trail(runtime, run.id, "work.skipped")
            assert [(step["node"], step["because"]) for step in skips] == [("next", "bad"), ("last", "next")]
            assert len(await started(runtime, run, "bad")) == 2
            assert "KANARIE" not in json.dumps(await trail(runtime, run.id))

    play(story())


@pytest.mark.rule("WG-1", "BI-1")
def test_a_model_plans_its_own_work_and_is_told_all_that_is_wrong_with_a_graph(tmp_path):
    shoot = {"name": "b", "kind": "tool", "tool": "shoot", "needs": ["a"]}
    wrong = {"nodes": [agent_loop("a", "x", "b"), shoot, {"name": "c", "kind": "dance"}]}
    lacking = {"nodes": [{"name": "b", "kind": "tool", "tool": "shoot"}, function("f")]}
    right = {"nodes": [agent_loop("a", "Find it.")]}

    async def story():
        script = {
            PLANNER: [
                {"call": "plan_work", "with": wrong},
                {"call": "plan_work", "with": lacking},
                {"call": "plan_work", "with": right},
                {"call": "read_artifact", "with": {"name": "final_answer"}},
                {"finish": {"summary": "done"}},
            ],
            f"{PLANNER}#a": [{"finish": {"summary": "FOUND"}}],
        }
        spec = spec_of("planner", tools=("plan_work",))
        async with world(tmp_path, script, [spec], functions={"work:do": echo}) as runtime:
            run = await go_through(runtime, PLANNER, "ROOT-BRIEF")
            assert run.status == "finished" and len(run.works) == 1
            told = await prompts(runtime, run)
            for words in ("work.invalid", "needs itself, by way of", "nodes[2].kind", "`dance`"):
                assert words in told[2], words
            for words in (
                "work.not_admitted",
                "may not call the tool `shoot`",
                "may not use the function `work:do`",
            ):
                assert words in told[3], words
            assert "FOUND" not in told[4] and "FOUND" in told[5]
            child = await child_of(runtime, run, "a")
            assert "ROOT-BRIEF" not in await prompt(runtime, child)

    play(story())


@pytest.mark.rule("WG-5", "SC-4")
def test_labels_of_the_root_and_of_what_comes_in_go_with_every_part_and_come_back(tmp_path):
    async def story():
        calls = Calls()
        look = tool_giving(calls, "look", {"text": "from outside"}, labels=(UNTRUSTED,))
        nodes = [
            function("clean"),
            {"name": "get", "kind": "tool", "tool": "look"},
            agent_loop("a", "Read.", needs=["get"]),
            function("after", "a"),
        ]
        script = {f"{PLANNER}#a": [{"finish": {"summary": "read"}}]}
        spec = planner(tools=("look",))
        async with working(tmp_path, nodes, {"work:do": echo}, script, tools=[look], spec=spec) as runtime:
            run = await go_through(runtime, PLANNER, labels=())
            ended = {body["node"]: set(body["labels"]) for body in await trail(runtime, run.id, "work.ended")}
            child = await child_of(runtime, run, "a")
            assert UNTRUSTED not in ended["clean"]
            assert UNTRUSTED in ended["get"] & ended["a"] & ended["after"] & child.labels & run.labels

    play(story())


@pytest.mark.rule("WG-5", "SC-6", "SC-7")
def test_the_barrier_is_asked_on_every_edge(tmp_path):
    """What the label's receivers are is changed while the run waits; nothing of it passes an edge after that."""
    nodes = [function("a"), function("b", "a"), agent_loop("c", "x", "a"), join("d", "a"),
             {"name": "e", "kind": "tool", "tool": "look", "needs": ["a"]}]  # fmt: skip

    async def story():
        calls = Calls()
        more = {"tools": [tool_giving(calls, "look", 1)], "spec": planner(tools=("look",))}
        declared = {"pii": DeclaredLabel("pii", frozenset({PLATFORM}))}
        async with working(tmp_path, nodes, {"work:do": echo}, labels=declared, **more) as runtime:
            name = await runtime.open_run(PLANNER, "maria", labels=["pii"])
        narrowed = {"pii": DeclaredLabel("pii", frozenset({"acme/hr"}))}
        async with working(tmp_path, nodes, {"work:do": echo}, labels=narrowed, **more) as runtime:
            await drain(runtime)
            run = await runtime.run(name)
            assert await ended(runtime, run) == {"a": ["done"], **{node: ["refused"] for node in "bcde"}}
            for body in await trail(runtime, name, "work.ended"):
                assert body["outcome"] == "done" or body["reason"]["id"] == "barrier.receiver"
            assert not calls and not await children(runtime, run)
            assert (await result(runtime, run))["status"] == "failed"

    play(story())


@pytest.mark.rule("WG-1", "GT-1", "AC-1", "AC-2")
def test_a_tool_is_called_through_the_gate_and_the_action_ledger(tmp_path):
    async def story():
        calls = Calls()
        look = tool_giving(calls, "look", {"to": "ana", "text": "hi"})
        mail = tool_giving(calls, "mail", {"sent": True}, effect="write", parameters=STEERED, steers=("to",))
        words = {"to": {"$artifact": "to"}, "body": {"$artifact": "said"}}
        nodes = [
            {"name": "look", "kind": "tool", "tool": "look"},
            function("split", "look", publishes={"to": "application/json", "said": "text/plain"}),
            {"name": "mail", "kind": "tool", "tool": "mail", "arguments": words, "needs": [
                {"from": "split", "artifact": "to"}, {"from": "split", "artifact": "said"}]},
            {"name": "again", "kind": "tool", "tool": "mail", "arguments": words, "needs": [
                {"from": "split", "artifact": "to"}, {"from": "split", "artifact": "said"},
                {"from": "mail", "artifact": "result"}]},
        ]  # fmt: skip

        async def split(node):
            found = node.inputs["result"]
            return {"to": found["to"], "said": found["text"]}

        spec = planner(tools=("look", "mail"))
        async with working(tmp_path, nodes, {"work:do": split}, tools=[look, mail], spec=spec) as runtime:
            run = await go_through(runtime, PLANNER)
            assert (await result(runtime, run))["status"] == "complete"
            assert calls.of("mail") == 1 and calls[-1] == {"tool": "mail", "to": "ana", "body": "hi"}
            judged = [(body["tool"], body["verdict"]) for body in await trail(runtime, run.id, "tool.judged")]
            assert judged == [("plan_work", "allow"), ("look", "allow"), ("mail", "allow"), ("mail", "allow")]
            [(_, _, state, *_)] = await runtime.installation.ledger.query("actions_of_task", run.root_task)
            assert state == "done" and run.usage.tool_calls == 4
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("WG-1", "GT-4")
def test_a_tool_that_a_person_must_allow_waits_durably_and_goes_on_when_they_do(tmp_path):
    async def story(outcome):
        calls = Calls()
        look = tool_giving(calls, "look", "x", labels=(UNTRUSTED,))
        mail = tool_giving(calls, "mail", {"sent": True}, effect="write", parameters=STEERED, steers=("to",))
        nodes = [{"name": "look", "kind": "tool", "tool": "look"},
                 {"name": "mail", "kind": "tool", "tool": "mail", "arguments": {"to": "ana"}, "needs": ["look"]},
                 function("other")]  # fmt: skip
        folder, spec = tmp_path / outcome, planner(tools=("look", "mail"))
        folder.mkdir()
        async with working(folder, nodes, {"work:do": echo}, tools=[look, mail], spec=spec) as runtime:
            run = await go_through(runtime, PLANNER)
            assert run.status == "open" and not calls.of("mail")
            assert (await ended(runtime, run))["other"] == ["done"]
            [item] = await HumanQueue(runtime.installation).items()
            assert item.form["arguments"] == {"to": "ana"}
        async with working(folder, nodes, {"work:do": echo}, tools=[look, mail], spec=spec) as runtime:
            people = HumanQueue(runtime.installation)
            if outcome == "approve":
                await people.approve(item.id, "maria")
            else:
                await people.refuse(item.id, "maria", "no")
            await drain(runtime)
            run = await runtime.run(run.id)
            expected = "done" if outcome == "approve" else "refused"
            assert run.status == "finished" and (await ended(runtime, run))["mail"] == [expected]
            assert calls.of("mail") == (outcome == "approve") and calls.of("look") == 1

    play(story("approve"))
    play(story("refuse"))


@pytest.mark.rule("WG-2")
def test_a_verifier_sees_its_rubric_and_the_artifacts_alone_and_what_it_does_not_pass_goes_no_further(
    tmp_path,
):
    def verdict(passed):
        text = json.dumps({"passed": passed, "why": "VERDICT-WORDS"})
        return {"finish": {"summary": "judged", "artifacts": {"verdict": text}}}

    async def story(passed):
        folder = tmp_path / str(passed)
        folder.mkdir()
        check = {"name": "check", "kind": "verify", "rubric": "RUBRIC", "needs": ["a"]}
        nodes = [agent_loop("a", "OBJECTIVE-A"), check, function("publish", "a", "check")]
        model = spec_of("planner", instructions="INSTRUCTIONS", tools=("plan_work",), functions=("work:do",))
        bad = [
            {"finish": {"summary": "no verdict"}},
            {"finish": {"summary": "x", "artifacts": {"verdict": '{"passed": 1}'}}},
        ]
        script = {
            PLANNER: [{"call": "plan_work", "with": {"nodes": nodes}}, {"finish": {"summary": "end"}}],
            f"{PLANNER}#a": [{"finish": {"summary": "MADE-BY-A"}}],
            f"{PLANNER}#check": [*bad, verdict(passed)],
        }
        async with world(folder, script, [model], functions={"work:do": echo}) as runtime:
            run = await go_through(runtime, PLANNER)
            outcomes = await ended(runtime, run)
            assert outcomes["check"] == ["done" if passed else "rejected"]
            assert ("publish" in outcomes) == passed
            child = await child_of(runtime, run, "check")
            seen = await prompts(runtime, child)
            assert "RUBRIC" in seen[1] and "INSTRUCTIONS" not in seen[1] and "OBJECTIVE-A" not in seen[3]
            assert "MADE-BY-A" not in seen[1]
            assert "work.lacks_artifact" in seen[2] and "work.unfit_artifact" in seen[3]
            part = await child_of(runtime, run, "a")
            assert "INSTRUCTIONS" in await prompt(runtime, part)
            assert "verdict" in run.given or passed

    play(story(True))
    play(story(False))


@pytest.mark.rule("WG-2")
def test_an_output_schema_is_held_to_and_its_json_goes_on_as_json(tmp_path):
    async def story():
        schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
        nodes = [agent_loop("a", "Add.", output=schema), function("b", "a")]
        answers = [
            {"finish": {"summary": "s", "artifacts": {"output": text}}}
            for text in ("{", '{"sum": "4"}', '{"sum": 4}')
        ]
        async with working(tmp_path, nodes, {"work:do": echo}, {f"{PLANNER}#a": answers}) as runtime:
            run = await go_through(runtime, PLANNER)
            made = json.loads(await runtime.installation.contents.read(run.given["result"]["digest"]))
            assert made["inputs"] == {"output": {"sum": 4}}
            assert len(await prompts(runtime, await child_of(runtime, run, "a"))) == 3

    play(story())


@pytest.mark.rule("WG-1", "RS-2", "RS-4")
def test_a_join_of_reports_merges_them_by_code(tmp_path):
    def report(value):
        finding = {"text": f"The bridge is {value} m long.", "sources": ["dossier"], "subject": "bridge",
                   "attribute": "length", "value": f"{value} m"}  # fmt: skip
        text = json.dumps({"status": "complete", "summary": "s", "findings": [finding]})
        read = {"call": "read_artifact", "with": {"name": "dossier"}}
        return [read, {"finish": {"summary": "s", "artifacts": {"report": text}}}]

    async def story():
        media = "application/vnd.interlock.result+json"
        make = function("make", publishes=["dossier"])
        parts = [
            agent_loop(name, "Read.", {"from": "make", "artifact": "dossier"}, publishes={"report": media})
            for name in "ab"
        ]
        nodes = [make, *parts, join("all", *({"from": name, "artifact": "report"} for name in "ab"))]
        script = {f"{PLANNER}#a": report(300), f"{PLANNER}#b": report(320)}

        async def dossier(node):
            return {"dossier": "about a bridge"}

        async with working(tmp_path, nodes, {"work:do": dossier}, script) as runtime:
            run = await go_through(runtime, PLANNER)
            merged = (await joined(runtime, run))["merged"]
            assert len(merged["conflicts"]) == 1 and len(merged["findings"]) == 2 and not merged["incomplete"]

    play(story())


@pytest.mark.rule("WG-6")
def test_planned_again_what_is_done_and_still_fits_is_kept(tmp_path):
    async def story():
        done = []

        async def count(node):
            done.append(node.node)
            if node.node == "bad" and done.count("bad") == 1:
                raise ValueError
            return {"n": node.arguments.get("n", 1)}

        def graph(n):
            return [function("a"), function("b", "a", arguments={"n": n}), function("c", "b"), function("bad", "a"),
                    agent_loop("d", "Read.", "a"), join("all", "c", "bad", "d")]  # fmt: skip

        async def body(run):
            first = await run.call("plan_work", nodes=graph(1))
            second = await run.call("plan_work", nodes=graph(1))
            third = await run.call("plan_work", nodes=graph(2))
            return Finish(json.dumps([first["status"], second["status"], third["status"]]))

        script = {f"{PLANNER}#d": [{"finish": {"summary": "read"}}]}
        async with world(
            tmp_path, script, [planner()], functions={"work:body": body, "work:do": count}
        ) as runtime:
            run = await go_through(runtime, PLANNER)
            assert await result(runtime, run) == ["partial", "complete", "complete"]
            assert sorted(done) == ["a", "b", "b", "bad", "bad", "c", "c"]
            kept = [
                (body["revision"], body["node"], body["of"])
                for body in await trail(runtime, run.id, "work.kept")
            ]
            assert sorted(kept) == [
                (2, "a", 1),
                (2, "b", 1),
                (2, "c", 1),
                (2, "d", 1),
                (3, "a", 1),
                (3, "bad", 2),
                (3, "d", 1),
            ]
            assert len(await children(runtime, run)) == 1 and [work.revision for work in run.works] == [
                1,
                2,
                3,
            ]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("GT-5", "WG-1")
def test_what_a_part_may_use_is_cut_from_what_the_run_has_and_none_of_it_is_lost_or_made(tmp_path):
    async def story():
        nodes = [
            agent_loop("a", "x", budget={"tokens": 9000, "tool_calls": 1}),
            agent_loop("b", "y"),
            agent_loop("c", "z", "a"),
        ]
        save = {"call": "save_artifact", "with": {"content": "x"}}
        script = {
            f"{PLANNER}#a": [save, save, {"finish": {"summary": "a"}}],
            f"{PLANNER}#b": [save, {"finish": {"summary": "b"}}],
        }
        limits = Budget(tool_calls=11, tokens=100_000, wall_ms=1_000_000)
        pool = Budget(tool_calls=50, tokens=500_000, wall_ms=2_000_000)
        async with working(tmp_path, nodes, script=script, limits=limits, task_budget=pool) as runtime:
            run = await go_through(runtime, PLANNER)
            a, b = await children(runtime, run)
            assert (a.budget.tokens, a.budget.tool_calls) == (9000, 1) and a.status == "exhausted"
            assert b.budget.tool_calls == 3 and b.budget.tokens == 91_000 // 3
            assert (await ended(runtime, run))["a"] == ["failed"]
            used = run.usage.tool_calls + a.usage.tool_calls + b.usage.tool_calls
            assert run.committed.tool_calls == used == 1 + 1 + 1
            [left] = await runtime.installation.ledger.query("budget_of", run.root_task)
            assert left[0] == 50 - used and left[1] == 500_000 - run.committed.tokens
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("WG-2", "GT-7")
def test_a_part_may_call_the_tools_it_was_given_alone(tmp_path):
    async def story():
        calls = Calls()
        tools = [tool_giving(calls, name, 1) for name in ("look", "list")]
        nodes = [agent_loop("a", "x", tools=["look"])]
        send = {"call": "send", "with": {"to": "x@acme/platform"}}
        script = {f"{PLANNER}#a": [{"call": "list"}, {"call": "look"}, send, {"finish": {"summary": "s"}}]}
        spec = planner(tools=("look", "list"))
        async with working(tmp_path, nodes, script=script, tools=tools, spec=spec) as runtime:
            run = await go_through(runtime, PLANNER)
            child = await child_of(runtime, run, "a")
            judged = {body["tool"]: body["verdict"] for body in await trail(runtime, child.id, "tool.judged")}
            assert (judged["list"], judged["look"], judged["send"]) == ("deny", "allow", "deny")
            assert calls.of("look") == 1 and not calls.of("list")
            assert '"name":"list"' not in (await prompts(runtime, child))[1]

    play(story())


@pytest.mark.rule("RN-6")
def test_cancelling_a_run_cancels_the_parts_of_its_work(tmp_path):
    async def story():
        calls = Calls()
        mail = tool_giving(calls, "mail", 1, effect="write", parameters=STEERED, steers=("to",))
        look = tool_giving(calls, "look", "x", labels=(UNTRUSTED,))
        nodes = [agent_loop("a", "x", tools=["look", "mail"])]
        script = {f"{PLANNER}#a": [{"call": "look"}, {"call": "mail", "with": {"to": "ana"}}]}
        spec = planner(tools=("look", "mail"))
        async with working(tmp_path, nodes, script=script, tools=[look, mail], spec=spec) as runtime:
            run = await go_through(runtime, PLANNER)
            child = await child_of(runtime, run, "a")
            assert (run.status, child.status) == ("open", "open")
            await runtime.cancel(run.id, "maria")
            await drain(runtime)
            assert (await runtime.run(run.id)).status == "cancelled"
            assert (await runtime.run(child.id)).status == "cancelled" and not calls.of("mail")
            assert not await HumanQueue(runtime.installation).items()
            [left] = await runtime.installation.ledger.query("budget_of", run.root_task)
            assert await sound(runtime) and left[0] > 900

    play(story())


@pytest.mark.rule("WG-2", "MS-3")
def test_a_part_hears_no_message_that_its_agent_is_sent(tmp_path):
    async def story():
        async def body(run):
            await run.call("send", to="planner@acme/platform", text="CANARY")
            return Finish("sent")

        nodes = [function("wait"), agent_loop("a", "x", "wait")]
        sender = spec_of("sender", function="work:sender", sends_to=(PLANNER,))
        script = {f"{PLANNER}#a": [{"finish": {"summary": "s"}}]}
        async with working(
            tmp_path, nodes, {"work:do": echo, "work:sender": body}, script, [sender]
        ) as runtime:
            run = await go_through(runtime, PLANNER)
            assert "CANARY" not in await prompt(runtime, await child_of(runtime, run, "a"))
            rows = await runtime.installation.ledger.query(
                "run_by_id", (await child_of(runtime, run, "a")).id
            )
            assert rows[0][9].startswith("work:")

    play(story())


@pytest.mark.rule("WG-1")
def test_a_second_graph_is_not_begun_while_one_is_under_way(tmp_path):
    async def story():
        nodes = [function("a")]
        two = {
            "calls": [
                {"call": "plan_work", "with": {"nodes": nodes}},
                {"call": "plan_work", "with": {"nodes": nodes}},
            ]
        }
        script = {PLANNER: [two, {"finish": {"summary": "s"}}]}
        spec = spec_of("planner", tools=("plan_work",), functions=("work:do",))
        async with world(tmp_path, script, [spec], functions={"work:do": echo}) as runtime:
            run = await go_through(runtime, PLANNER)
            assert run.status == "finished" and len(run.works) in {1, 2}
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("GT-2", "WG-1")
def test_a_model_may_use_no_function_that_its_agent_was_not_granted(tmp_path):
    async def story():
        ran = []

        async def do(node):
            ran.append(node.node)

        script = {
            PLANNER: [{"call": "plan_work", "with": {"nodes": [function("a")]}}, {"finish": {"summary": "s"}}]
        }
        async with world(
            tmp_path, script, [spec_of("planner", tools=("plan_work",))], functions={"work:do": do}
        ) as runtime:
            run = await go_through(runtime, PLANNER)
            assert run.status == "finished" and not ran and not run.works
            assert "may not use the function" in await prompt(runtime, run)
            with pytest.raises(InterlockError) as error:
                await runtime.publish(spec_of("other", functions=("work:undo",)), "maria")
            assert error.value.code == "function.unknown"

    play(story())


@pytest.mark.rule("GT-5")
def test_a_function_that_hangs_is_over_with_the_wall_time_of_its_run(tmp_path):
    async def story():
        async def do(node):
            await asyncio.Event().wait()

        script = {
            PLANNER: [{"call": "plan_work", "with": {"nodes": [function("a")]}}, {"finish": {"summary": "s"}}]
        }
        spec = spec_of("planner", tools=("plan_work",), functions=("work:do",))
        async with world(
            tmp_path, script, [spec], functions={"work:do": do}, limits=Budget(wall_ms=300)
        ) as runtime:
            run = await go_through(runtime, PLANNER)
            assert run.status in {"exhausted", "finished"} and run.usage.wall_ms >= 250
            assert (await ended(runtime, run))["a"] == ["timed_out"]

    play(story())


@pytest.mark.rule("WG-1", "AG-6")
def test_a_function_that_is_gone_when_its_turn_comes_fails_its_node_alone(tmp_path):
    async def story():
        nodes = [function("a"), function("b")]
        async with working(tmp_path, nodes, {"work:do": echo}) as runtime:
            functions = runtime.installation.functions
            reach = runtime.installation.reach

            def gone(point):
                if point == "work.admitted":
                    functions.pop("work:do")
                reach(point)

            runtime.installation.reach = gone
            run = await go_through(runtime, PLANNER)
            assert run.status == "finished" and (await result(runtime, run))["status"] == "failed"

    play(story())
