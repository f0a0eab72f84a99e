"""The action ledger in runs: what was done is not done again, what nobody knows is for people, what differs is a
conflict."""

import asyncio

import pytest

from interlock.connector.tool import NotDone, ToolCall, tool
from interlock.run.human_queue import HumanQueue
from interlock.testing.clock import MovableClock
from tests.message.scene import agent, bodies, prompt_of, queue_items, to
from tests.run.scene import (
    Calls,
    JumpingClock,
    asked_in,
    at,
    drain,
    go_through,
    killing,
    play,
    runs_of,
    tool_giving,
    trail,
    work_until_killed,
)
from tests.world import sound, world

SCHEMA = {
    "type": "object",
    "properties": {"order": {"type": "integer"}, "amount": {"type": "number"}, "reason": {"type": "string"}},
    "required": ["order", "amount"],
}


def refunding(calls, result=None, **declared):
    """The tool that all of this is about."""
    return tool_giving(
        calls,
        "refund",
        {"receipt": "r-1"} if result is None else result,
        effect="write",
        parameters=SCHEMA,
        steers=["order", "amount"],
        **{"key": "{task_id}:refund:{order}", **declared},
    )


def refund(amount=50, reason="a", order=7):
    """A call of it."""
    return {"call": "refund", "with": {"order": order, "amount": amount, "reason": reason}}


async def acted(runtime, root):
    """What the exchange tells of actions."""
    return [body["outcome"] for body in await bodies(runtime, root, "task.acted")]


@pytest.mark.rule("AC-1", "AC-2")
def test_the_second_of_two_agents_gets_the_result_of_the_first(tmp_path):
    async def story():
        calls = Calls()
        ask = {"call": "ask", "with": {"to": at("b"), "text": "refund it, too"}}
        script = {
            at("a"): [refund(), ask, {"finish": "done"}],
            at("b"): [refund(50.00, "another"), {"finish": "done"}],
        }
        specs = [agent("a", sends=["b"], tools=("refund",)), agent("b", tools=("refund",))]
        async with world(tmp_path, script, specs, tools=[refunding(calls)]) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert calls.of("refund") == 1
            assert "r-1" in await prompt_of(runtime, "b", 2)
            assert await acted(runtime, state.task) == ["done", "repeated"]
            judged = (await trail(runtime, (await runs_of(runtime, at("b")))[0], "tool.judged"))[0]
            assert (judged["verdict"], judged["rule"]) == ("allow", "duplicate")
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("AC-1", "AC-2", "MS-8")
@pytest.mark.fault("F1")
def test_a_reworded_retry_after_a_crash_is_not_done_again_and_another_amount_is_a_conflict(tmp_path):
    async def story():
        clock, calls = JumpingClock(), Calls()
        script = {at("a"): [refund(50, "a"), refund(50.00, "b"), refund(60, "c"), {"finish": "done"}]}
        settings = {"tools": [refunding(calls)], "clock": clock}
        async with world(tmp_path, script, [agent("a", tools=("refund",))], **settings) as runtime:
            name = await runtime.open_run(at("a"), "maria", "go")
            killing(runtime, lambda point: point == "tool.after_call", 1)
            assert await work_until_killed(runtime)
        assert calls.of("refund") == 1
        clock.move(31)
        async with world(tmp_path, script, [], **settings) as runtime:
            await drain(runtime)
            assert (await runtime.run(name)).status == "open"
            ((kind, form),) = await asked_in(runtime, name)
            assert (kind, form["arguments"]["amount"], form["tool"]) == ("action", 50, "refund")
            assert form["deadline"] > 0, "until when it may still take effect"
            queue = HumanQueue(runtime.installation)
            (item,) = await queue.items()
            await queue.answer(item.id, "joana", "done")
            await drain(runtime)
            state = await runtime.run(name)
            assert state.status == "finished"
            assert calls.of("refund") == 1, "one outside call, whatever the wording"
            assert await acted(runtime, state.task) == [
                "in_doubt",
                "done",
                "repeated",
                "repeated",
                "conflict",
            ]
            (conflict,) = await queue_items(runtime)
            assert conflict.kind == "conflict"
            assert conflict.form["done"]["arguments"]["amount"] == 50
            assert conflict.form["wanted"]["arguments"]["amount"] == 60
            await queue.close(conflict.id, "joana", "60 was a typing error")
            assert await queue_items(runtime) == []
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("AC-2")
def test_a_person_who_says_that_it_was_not_done_lets_it_be_done_once(tmp_path):
    async def story():
        clock, calls = JumpingClock(), Calls()
        results = iter([OSError("the line broke")])

        def broken_once(**_):
            for error in results:
                raise error
            return {"receipt": "r-2"}

        script = {at("a"): [refund(), {"finish": "done"}]}
        settings = {"tools": [refunding(calls, broken_once)], "clock": clock}
        async with world(tmp_path, script, [agent("a", tools=("refund",))], **settings) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert state.status == "open"
            ((_, form),) = await asked_in(runtime, state.id)
            assert form["said"] == "OSError: the line broke", "both facts before the person"
            assert form["reason"]["id"] == "tool.raised"
            queue = HumanQueue(runtime.installation)
            await queue.answer((await queue.items())[0].id, "joana", "not_done")
            await drain(runtime)
            state = await runtime.run(state.id)
            assert (state.status, calls.of("refund")) == ("finished", 2)
            assert await acted(runtime, state.task) == ["in_doubt", "failed", "done"]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("AC-2", "GT-4")
@pytest.mark.fault("F31")
def test_an_action_in_doubt_that_nobody_settles_stays_in_doubt_and_is_told(tmp_path):
    async def story():
        clock, calls = JumpingClock(), Calls()
        script = {at("a"): [refund(), {"finish": "done"}]}
        settings = {"tools": [refunding(calls, TimeoutError())], "clock": clock, "answer_ms": 5000}
        async with world(tmp_path, script, [agent("a", tools=("refund",))], **settings) as runtime:
            state = await go_through(runtime, at("a"), "go")
            clock.move(6)
            await drain(runtime)
            state = await runtime.run(state.id)
            assert (state.status, calls.of("refund")) == ("finished", 1)
            assert "nobody knows" in await prompt_of(runtime, "a", 2)
            answered = await bodies(runtime, state.task, "question.answered")
            assert [item["outcome"] for item in answered] == ["expire"]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("AC-2")
def test_a_tool_that_takes_the_key_is_called_again_with_the_same_one(tmp_path):
    async def story():
        clock, keys = JumpingClock(), []

        @tool(effect="write", parameters=SCHEMA, steers=["order", "amount"], labels=(), takes_key=True,
              key="{task_id}:refund:{order}", name="refund")  # fmt: skip
        async def taking(call: ToolCall, order: int, amount: float, reason: str = "") -> dict:
            keys.append(call.idempotency_key)
            return {"receipt": "r-3"}

        script = {at("a"): [refund(), {"finish": "done"}]}
        settings = {"tools": [taking], "clock": clock}
        async with world(tmp_path, script, [agent("a", tools=("refund",))], **settings) as runtime:
            name = await runtime.open_run(at("a"), "maria", "go")
            killing(runtime, lambda point: point == "tool.after_call", 1)
            assert await work_until_killed(runtime)
        clock.move(31)
        async with world(tmp_path, script, [], **settings) as runtime:
            await drain(runtime)
            state = await runtime.run(name)
            assert state.status == "finished"
            assert keys == [f"{state.task}:refund:7"] * 2, "from the first attempt on"
            assert await acted(runtime, state.task) == ["done"]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("AC-2")
def test_a_tool_that_says_that_nothing_was_done_may_be_called_anew(tmp_path):
    async def story():
        calls = Calls()
        first = iter([NotDone("no such order")])

        def careful(**_):
            for error in first:
                raise error
            return {"receipt": "r-4"}

        script = {at("a"): [refund(), refund(), {"finish": "done"}]}
        async with world(
            tmp_path, script, [agent("a", tools=("refund",))], tools=[refunding(calls, careful)]
        ) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert (state.status, calls.of("refund")) == ("finished", 2)
            assert "no such order" in await prompt_of(runtime, "a", 2)
            assert await acted(runtime, state.task) == ["failed", "done"]
            assert await queue_items(runtime) == []
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("AC-1", "SC-5")
def test_a_key_without_the_task_is_one_for_its_company_alone(tmp_path):
    async def story():
        calls = Calls()
        tools = [refunding(calls, key="refund:{order}")]
        specs = [
            agent("a", tools=("refund",)),
            agent("b", tools=("refund",)),
            agent("a", scope="globex/desk", tools=("refund",)),
        ]
        script = {"*": [refund(), {"finish": "done"}]}
        async with world(tmp_path, script, specs, tools=tools) as runtime:
            await go_through(runtime, at("a"), "go")
            await go_through(runtime, at("b"), "go")
            assert calls.of("refund") == 1, "two root tasks, one order"
            await go_through(runtime, to("a", scope="globex/desk")[0], "go")
            assert calls.of("refund") == 2, "the order 7 of another company"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("AC-2", "SC-5")
def test_the_key_that_is_handed_out_is_one_for_its_company_and_not_too_long(tmp_path):
    async def story():
        keys = []

        @tool(effect="write", parameters={**SCHEMA, "properties": {**SCHEMA["properties"], "note": {"type": "string"}},
              "required": [*SCHEMA["required"], "note"]}, steers=["order", "amount"], labels=(), takes_key=True,
              key="refund:{order}:{note}", name="refund")  # fmt: skip
        async def taking(call: ToolCall, **_: object) -> dict:
            keys.append(call.idempotency_key)
            return {"receipt": "r-3"}

        def noted(note: str) -> dict:
            return {"call": "refund", "with": {**refund()["with"], "note": note}}

        specs = [agent("a", tools=("refund",)), agent("a", scope="globex/desk", tools=("refund",))]
        script = {"*": [noted("late"), noted("x" * 300), {"finish": "done"}]}
        async with world(tmp_path, script, specs, tools=[taking]) as runtime:
            await go_through(runtime, at("a"), "go")
            await go_through(runtime, to("a", scope="globex/desk")[0], "go")
            assert [keys[0], keys[2]] == ["acme:refund:7:late", "globex:refund:7:late"]
            assert keys[1].startswith("action_") and keys[3].startswith("action_") and keys[1] != keys[3]

    play(story())


@pytest.mark.rule("AC-2")
def test_what_a_tool_says_of_one_attempt_settles_no_earlier_one(tmp_path):
    async def story():
        calls = Calls()
        said = iter([OSError("it went out, and the line broke"), NotDone("no connection"), None])

        def unsteady(**_):
            if (error := next(said)) is not None:
                raise error
            return {"receipt": "r-5"}

        @tool(effect="write", parameters=SCHEMA, steers=["order", "amount"], labels=(), takes_key=True,
              key="{task_id}:refund:{order}", name="refund")  # fmt: skip
        async def taking(call: ToolCall, order: int, amount: float, reason: str = "") -> dict:
            calls.append({"tool": "refund"})
            return unsteady()

        script = {at("a"): [refund(), refund(), refund(), {"finish": "done"}]}
        async with world(tmp_path, script, [agent("a", tools=("refund",))], tools=[taking]) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert (state.status, calls.of("refund")) == ("finished", 3)
            assert await acted(runtime, state.task) == ["in_doubt", "in_doubt", "done"]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("RN-5", "AC-1", "WK-2")
@pytest.mark.fault("F2")
def test_who_lost_the_lease_while_another_was_at_it_does_not_begin(tmp_path):
    async def story():
        clock, entered, gate, calls = MovableClock(), asyncio.Event(), asyncio.Event(), []

        @tool(effect="write", parameters=SCHEMA, steers=["order", "amount"], labels=(), key="refund:{order}",
              name="refund")  # fmt: skip
        async def slow(call: ToolCall, order: int, amount: float, reason: str = "") -> dict:
            calls.append(call.agent)
            if len(calls) == 1:
                entered.set()
                await gate.wait()
                raise NotDone("not today")
            return {"receipt": "r-6"}

        script = {"*": [refund(), {"finish": "done"}]}
        specs = [agent("a", tools=("refund",)), agent("b", tools=("refund",))]
        settings = {"tools": [slow], "clock": clock, "action_wait_ms": 3_600_000}
        async with (
            world(tmp_path, script, specs, **settings) as runtime,
            world(tmp_path, script, [], **settings) as other,
            runtime.worker() as first,
            other.worker() as second,
        ):
            query = other.installation.ledger.query

            async def read_early(name, *values):
                found = await query(name, *values)
                if name == "action_by_id":
                    await entered.wait()
                return found

            other.installation.ledger.query = read_early
            waiting = await other.open_run(at("b"), "maria", "go", worker=second)
            await runtime.open_run(at("a"), "maria", "go", worker=first)
            await clock.someone_sleeps()
            clock.move(31)
            await runtime.installation.ledger.renew(first.name, 30_000)
            assert [item.run for item in await runtime.installation.ledger.claim("third", 9, 30_000)] == [
                waiting
            ]
            gate.set()
            await first.idle()
            while second._tasks:
                clock.move(0.05)
                await asyncio.sleep(0)
            assert calls == [at("a")], "b's first worker had lost the run"
            clock.move(31)
            await first.drain()
            assert calls == [at("a"), at("b")]
            assert (await runtime.run(waiting)).status == "finished"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("AC-2", "MS-6", "MS-8")
@pytest.mark.parametrize("takes_key", [False, True])
def test_an_action_is_in_doubt_when_its_task_was_taken_before_the_run_could_go_on(tmp_path, takes_key):
    async def story():
        clock, calls = JumpingClock(), Calls()
        declared = {"takes_key": True} if takes_key else {}

        @tool(effect="write", parameters=SCHEMA, steers=["order", "amount"], labels=(), name="refund",
              key="{task_id}:refund:{order}", **declared)  # fmt: skip
        async def taking(call: ToolCall, order: int, amount: float, reason: str = "") -> dict:
            calls.append({"tool": "refund"})
            return {"receipt": "r-7"}

        script = {at("a"): [refund(), {"finish": "done"}]}
        settings = {"tools": [taking], "clock": clock}
        async with world(tmp_path, script, [agent("a", tools=("refund",))], **settings) as runtime:
            name = await runtime.open_run(at("a"), "maria", "go")
            killing(runtime, lambda point: point == "tool.after_call", 1)
            assert await work_until_killed(runtime)
        clock.move(31)
        async with world(tmp_path, script, [], **settings) as runtime:
            task = (await runtime.run(name)).task
            query = runtime.installation.ledger.query

            async def taken_late(name, *values):
                """The person comes when the run has looked for what it is told, and before it acts."""
                found = await query(name, *values)
                if name == "signals_of_run":
                    runtime.installation.ledger.query = query
                    await HumanQueue(runtime.installation).take(task, "joana")
                return found

            runtime.installation.ledger.query = taken_late
            await drain(runtime)
            assert (await runtime.run(name)).status == "cancelled"
            assert calls.of("refund") == 1
            ((state,),) = [row[2:3] for row in await query("actions_of_task", task)]
            assert state == "in_doubt", "it may have been done"
            kinds = [item.kind for item in await queue_items(runtime)]
            assert sorted(kinds) == ["action", "task"], "people settle it"
            assert await sound(runtime)

    play(story())
