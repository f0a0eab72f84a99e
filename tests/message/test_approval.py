"""Approvals: a person's answer to one call with exactly its arguments; it survives restarts and lifts no denial."""

from dataclasses import replace

import pytest

from interlock.errors import InterlockError
from interlock.run.human_queue import HumanQueue
from interlock.scope.label import DeclaredLabel
from interlock.scope.scope import Scope
from interlock.settings import Policy
from tests.message.scene import agent, bodies, prompt_of, queue_items
from tests.run.scene import Calls, JumpingClock, at, drain, go_through, play, spec_of, tool_giving, trail
from tests.world import sound, world

PAY = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "note": {"type": "string"}},
    "required": ["to"],
}
ASK = (Policy("two pairs of eyes", "ask", "acme", "pay"),)


def paying(calls, **declared):
    """A tool that people must see before it runs."""
    return tool_giving(calls, "pay", {"paid": 1}, effect="write", parameters=PAY, steers=["to"], **declared)


def pay(to="acc-1", **more):
    """A call of it."""
    return {"call": "pay", "with": {"to": to, **more}}


SPEC = [agent("a", tools=("pay",))]


@pytest.mark.rule("GT-4", "GT-2", "MS-8")
@pytest.mark.fault("F28", "F13")
def test_two_runs_wait_and_after_a_restart_only_the_approved_one_goes_on(tmp_path):
    async def story():
        calls = Calls()
        script = {at("a"): [pay(), {"finish": "done"}]}
        settings = {"tools": [paying(calls)], "policies": ASK, "clock": JumpingClock()}
        async with world(tmp_path, script, SPEC, **settings) as runtime:
            runs = [(await go_through(runtime, at("a"), "go")).id for _ in range(2)]
        async with world(tmp_path, script, [], **settings) as runtime:
            items = await queue_items(runtime)
            assert [item.run for item in items] == runs
            form = items[1].form
            assert (form["tool"], form["arguments"]) == ("pay", {"to": "acc-1"})
            assert [item["reason"]["with"]["policy"] for item in form["objections"]] == ["two pairs of eyes"]
            assert form["labels"] == ["area:acme/platform"]
            await HumanQueue(runtime.installation).approve(items[1].id, "joana")
            await drain(runtime)
            states = [await runtime.run(run) for run in runs]
            assert [state.status for state in states] == ["open", "finished"]
            assert len(calls) == 1
            judged = (await trail(runtime, runs[1], "tool.judged"))[:2]
            assert [body["verdict"] for body in judged] == ["ask", "allow"]
            assert judged[1]["rule"] == "approval"
            (answer,) = await bodies(runtime, states[1].task, "question.answered")
            assert (answer["outcome"], answer["by"]) == ("approve", "joana")
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("GT-4")
@pytest.mark.fault("F31")
def test_a_refused_and_an_expired_approval_are_told_as_results_and_are_two_things(tmp_path):
    async def story():
        for outcome in ("refuse", "expire"):
            folder = tmp_path / outcome
            folder.mkdir()
            clock, calls = JumpingClock(), Calls()
            script = {at("a"): [pay(), {"finish": "did without"}]}
            settings = {"tools": [paying(calls)], "policies": ASK, "clock": clock, "answer_ms": 2000}
            async with world(folder, script, SPEC, **settings) as runtime:
                state = await go_through(runtime, at("a"), "go")
                if outcome == "refuse":
                    (item,) = await queue_items(runtime)
                    await HumanQueue(runtime.installation).refuse(item.id, "joana", "wrong account")
                else:
                    clock.move(2.1)
                await drain(runtime)
                state = await runtime.run(state.id)
                assert (state.status, calls) == ("finished", [])
                prompt = await prompt_of(runtime, "a", 2)
                assert ("wrong account" in prompt) == (outcome == "refuse")
                (answer,) = await bodies(runtime, state.task, "question.answered")
                assert (answer["outcome"], answer.get("by")) == (
                    outcome,
                    "joana" if outcome == "refuse" else None,
                )
                judged = (await trail(runtime, state.id, "tool.judged"))[1]
                assert (judged["verdict"], judged["reason"]["id"]) == ("deny", f"gate.answer_{outcome}")
                assert await queue_items(runtime) == []
                assert await sound(runtime)

    play(story())


@pytest.mark.rule("GT-4", "RN-6")
@pytest.mark.fault("F31")
def test_what_a_cancelled_run_asked_is_withdrawn(tmp_path):
    async def story():
        calls = Calls()
        settings = {"tools": [paying(calls)], "policies": ASK}
        async with world(tmp_path, {at("a"): [pay()]}, SPEC, **settings) as runtime:
            state = await go_through(runtime, at("a"), "go")
            (item,) = await queue_items(runtime)
            await runtime.cancel(state.id, "maria")
            await drain(runtime)
            assert (await runtime.run(state.id)).status == "cancelled"
            with pytest.raises(InterlockError) as caught:
                await HumanQueue(runtime.installation).approve(item.id, "joana")
            assert caught.value.code == "queue.answered_already"
            assert caught.value.params["outcome"]["id"] == "queue.outcome_withdrawn"
            assert (calls, await queue_items(runtime)) == ([], [])
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("GT-4")
@pytest.mark.fault("F6")
def test_an_approval_that_was_used_is_not_used_again_when_the_run_fails_later(tmp_path):
    async def story():
        clock, calls = JumpingClock(), Calls()
        fails = [{"code": "unavailable", "retryable": True}] * 3
        script = {at("a"): [pay(), {"finish": "done", "fails": fails}]}
        settings = {"tools": [paying(calls)], "policies": ASK, "clock": clock}
        async with world(tmp_path, script, SPEC, **settings) as runtime:
            state = await go_through(runtime, at("a"), "go")
            (item,) = await queue_items(runtime)
            await HumanQueue(runtime.installation).approve(item.id, "joana")
            await drain(runtime)
            state = await runtime.run(state.id)
            assert (state.status, len(calls)) == ("finished", 1)
            assert await queue_items(runtime) == []
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("GT-4")
def test_an_approval_goes_stale_with_the_labels_the_arguments_and_the_role(tmp_path):
    async def story():
        for what in ("labels", "arguments", "role"):
            folder = tmp_path / what
            folder.mkdir()
            calls = Calls()
            inbox = tool_giving(calls, "inbox", {"text": "x"}, labels=["untrusted"])
            other = pay("acc-2") if what == "arguments" else pay()
            answer = {"calls": [pay(), {"call": "inbox"}] if what == "labels" else [pay()]}
            script = {at("a"): [answer, other, {"finish": "done"}]}
            people = {"joana": {"approver": (Scope("acme"),)}}
            settings = {"tools": [paying(calls), inbox], "policies": ASK, "people": people}
            async with world(folder, script, [agent("a", tools=("pay", "inbox"))], **settings) as runtime:
                state = await go_through(runtime, at("a"), "go")
                (item,) = await queue_items(runtime)
                await HumanQueue(runtime.installation).approve(item.id, "joana")
                if what == "role":
                    runtime.installation.settings.people.clear()
                    runtime.installation.settings.people["rosa"] = {"approver": (Scope("acme"),)}
                await drain(runtime)
                (again,) = await queue_items(runtime)
                assert again.kind == "approval"
                assert again.id != item.id
                assert len([call for call in calls if call["tool"] == "pay"]) == (what == "arguments")
                if what == "labels":
                    assert "untrusted" in again.form["labels"]
                assert (await runtime.run(state.id)).status == "open"
                assert await sound(runtime)

    play(story())


@pytest.mark.rule("GT-4", "SC-7", "GT-2")
def test_an_approval_lifts_no_denial_of_any_kind(tmp_path):
    """An approval is given, and then each kind of denial comes up before the call is made."""

    async def story():
        pii = {"pii": DeclaredLabel("pii", frozenset({"acme/platform"}), "approver")}

        def labels(runtime, spec):
            object.__setattr__(runtime.installation.settings, "labels", {})

        def policy(runtime, spec):
            object.__setattr__(runtime.installation.settings, "policies", (*ASK, Policy("no", "deny")))

        def ungrant(runtime, spec):
            runtime.installation._specs[at("a"), 1] = spec_of("a", tools=())

        def schema(runtime, spec):
            tools = runtime.installation.tools._tools
            other = {**PAY, "properties": {"to": {"type": "integer"}}}
            tools["pay"] = replace(
                tools["pay"], declaration=replace(tools["pay"].declaration, parameters=other)
            )

        def gone(runtime, spec):
            runtime.installation.tools._tools.pop("pay")

        cases = {"data_barrier": labels, "policy": policy, "grant": ungrant, "arguments": schema}
        for rule, change in [*cases.items(), ("grant", gone)]:
            folder = tmp_path / change.__name__
            folder.mkdir()
            calls = Calls()
            script = {at("a"): [pay(), {"finish": "did without"}]}
            tools = [paying(calls, destination="acme/platform")]
            settings = {"tools": tools, "policies": ASK, "labels": pii}
            async with world(folder, script, SPEC, **settings) as runtime:
                state = await go_through(runtime, at("a"), "go", labels=["pii"])
                (item,) = await queue_items(runtime)
                await HumanQueue(runtime.installation).approve(item.id, "joana")
                change(runtime, SPEC[0])
                await drain(runtime)
                judged = [
                    body
                    for body in await trail(runtime, state.id, "tool.judged")
                    if body["call"] == "call_1_0"
                ]
                assert [body["verdict"] for body in judged] == ["ask", "deny"], change.__name__
                assert judged[1]["rule"] == rule
                assert calls == []

    play(story())
