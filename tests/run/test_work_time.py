"""Work graphs and time: branches that are slow or hang, workers that die, and what goes on after them."""

import asyncio
import json

import pytest

from interlock.connector.tool import ToolCall, tool
from interlock.run.human_queue import HumanQueue
from interlock.scope.label import UNTRUSTED
from interlock.testing.clock import MovableClock
from tests.run.scene import (
    STEERED,
    Calls,
    JumpingClock,
    drain,
    go_through,
    killing_at_append,
    play,
    tool_giving,
    trail,
    work_until_killed,
)
from tests.run.work_scene import (
    PLANNER,
    agent_loop,
    child_of,
    children,
    ended,
    joined,
    planner,
    result,
    started,
    working,
)
from tests.work_graph.scene import function, join
from tests.world import sound


async def until(holds):
    """Wait until something holds."""
    while not await holds():
        await asyncio.sleep(0.005)


@pytest.mark.rule("WG-3")
@pytest.mark.fault("F37")
def test_a_join_ends_by_its_deadline_and_says_what_is_missing(tmp_path):
    async def story():
        slow, ran = asyncio.Event(), []

        async def do(node):
            ran.append(node.node)
            if node.node == "slow":
                await slow.wait()
            if node.node == "hangs":
                await asyncio.Event().wait()
            return node.node

        nodes = [
            function("fast1"), function("fast2", "fast1"), function("slow"), function("hangs"),
            join("all", "fast2", "slow", "hangs", deadline="10s"), function("after", "all"),
        ]  # fmt: skip
        clock = MovableClock()
        async with (
            working(tmp_path, nodes, {"work:do": do}, clock=clock) as runtime,
            runtime.worker() as worker,
        ):
            name = await runtime.open_run(PLANNER, "maria", worker=worker)

            async def fast_is_done():
                return "fast2" in await ended(runtime, await runtime.run(name))

            await until(fast_is_done)
            assert set(ran) == {"fast1", "fast2", "slow", "hangs"}
            slow.set()
            await asyncio.sleep(0.05)
            assert "after" not in ran
            clock.move(10)
            await worker.finished(name)
            run = await runtime.run(name)
            found = await result(runtime, run)
            assert found["status"] == "partial" and "after" in ran
            assert {"what": "hangs", "why": "What waited for it went on without it."} in found["not_done"]
            assert (await ended(runtime, run))["hangs"] == ["not_needed"]
            data = await runtime.installation.contents.read(
                (await started(runtime, run, "after"))[0]["edges"][0]["digest"]
            )
            whole = json.loads(data)
            assert whole["status"] == "partial" and [item["content"] for item in whole["inputs"]] == [
                "fast2",
                "slow",
            ]
            assert whole["missing"] == [{"from": "hangs", "why": "It did not come in time."}]

    play(story())


@pytest.mark.rule("WG-3")
def test_a_function_that_takes_too_long_is_given_up_and_tried_again(tmp_path):
    async def story():
        tries = []

        async def do(node):
            tries.append(node.attempt)
            if node.attempt == 1:
                await asyncio.Event().wait()
            return node.attempt

        nodes, clock = [function("a", attempts=2, deadline="5s")], MovableClock()
        async with (
            working(tmp_path, nodes, {"work:do": do}, clock=clock) as runtime,
            runtime.worker() as worker,
        ):
            name = await runtime.open_run(PLANNER, "maria", worker=worker)

            async def has_begun():
                return bool(tries)

            await until(has_begun)
            clock.move(5)
            await worker.finished(name)
            run = await runtime.run(name)
            assert (await ended(runtime, run))["a"] == ["timed_out", "done"] and tries == [1, 2]

    play(story())


@pytest.mark.rule("WG-3", "WK-2")
@pytest.mark.parametrize("deadline", ["node", "join"])
def test_deadlines_of_parts_that_wait_outlast_the_process_that_set_them(tmp_path, deadline):
    """The part waits for a person; nobody holds its run nor the planner's."""

    async def story():
        calls = Calls()
        tools = [tool_giving(calls, "look", "x", labels=(UNTRUSTED,)),
                 tool_giving(calls, "mail", 1, effect="write", parameters=STEERED, steers=("to",))]  # fmt: skip
        more = {"deadline": "60s"} if deadline == "node" else {}
        last = {"deadline": "60s"} if deadline == "join" else {}
        nodes = [
            agent_loop("a", "x", tools=["look", "mail"], **more),
            function("b"),
            join("all", "a", "b", **last),
        ]
        script = {f"{PLANNER}#a": [{"call": "look"}, {"call": "mail", "with": {"to": "ana"}}]}
        clock = MovableClock()
        given = {"tools": tools, "spec": planner(tools=("look", "mail")), "clock": clock}

        async def do(node):
            return "B"

        async with working(tmp_path, nodes, {"work:do": do}, script, **given) as runtime:
            run = await go_through(runtime, PLANNER)
            assert run.status == "open" and len(await HumanQueue(runtime.installation).items()) == 1
        clock.move(59)
        async with working(tmp_path, nodes, {"work:do": do}, script, **given) as runtime:
            await drain(runtime)
            assert (await runtime.run(run.id)).status == "open"
            clock.move(2)
            await drain(runtime)
            run = await runtime.run(run.id)
            child = await child_of(runtime, run, "a")
            assert (run.status, child.status) == ("finished", "cancelled")
            assert (await ended(runtime, run))["a"] == ["timed_out" if deadline == "node" else "not_needed"]
            both = await joined(runtime, run)
            assert both["status"] == "partial" and [item["content"] for item in both["inputs"]] == ["B"]
            assert (await result(runtime, run))["status"] == "partial" and not calls.of("mail")
            assert not await HumanQueue(runtime.installation).items()
            assert await sound(runtime)

    play(story())


NODES = [
    function("a"),
    function("b", "a"),
    {"name": "mail", "kind": "tool", "tool": "mail", "arguments": {"to": "ana"}, "needs": ["a"]},
    agent_loop("c", "Read.", "b"),
    join("all", "c", "mail"),
    function("last", "all"),
]


@pytest.mark.rule("WG-3", "RN-4", "AC-2", "WG-4")
@pytest.mark.parametrize("written", [False, True])
def test_killed_at_any_write_it_goes_on_and_nothing_that_was_done_is_done_again(tmp_path, written):
    async def story(number):
        ran, calls = [], Calls()

        async def do(node):
            ran.append(node.node)
            return node.node

        @tool(effect="write", steers=("to",), key="{task_id}:mail:{to}", takes_key=True, labels=())
        async def mail(call: ToolCall, to: str) -> int:
            calls.append({"tool": "mail", "key": call.idempotency_key})
            return 1

        script = {f"{PLANNER}#c": [{"finish": {"summary": "read"}}]}
        folder = tmp_path / str(number)
        folder.mkdir()
        clock = JumpingClock()
        given = {"tools": [mail], "spec": planner(tools=("mail",)), "clock": clock}
        async with working(folder, NODES, {"work:do": do}, script, **given) as runtime:
            name = await runtime.open_run(PLANNER, "maria")
            killing_at_append(runtime, number, written=written)
            killed = await work_until_killed(runtime)
        clock.move(31)
        async with working(folder, NODES, {"work:do": do}, script, **given) as runtime:
            before = await ended(runtime, await runtime.run(name))
            counts, called = {node: ran.count(node) for node in before}, calls.of("mail")
            await drain(runtime)
            run = await runtime.run(name)
            assert run.status == "finished", (number, run.reason)
            assert (await result(runtime, run))["status"] == "complete", number
            for node, outcomes in before.items():
                if outcomes[-1] == "done":
                    assert ran.count(node) == counts[node], (number, node)
            assert len({call["key"] for call in calls}) == 1
            if before.get("mail", [""])[-1] == "done":
                assert calls.of("mail") == called
            assert len(await children(runtime, run)) == 1
            for node in ("a", "b", "last"):
                tried = await started(runtime, run, node)
                assert [body["attempt"] for body in tried] == list(range(1, len(tried) + 1))
                assert (await ended(runtime, run))[node] == ["lost"] * (len(tried) - 1) + ["done"]
            assert await sound(runtime)
        return killed

    number = 1
    while play(story(number)):
        number += 1
    assert number > 10


@pytest.mark.rule("WG-3")
def test_a_node_that_is_lost_with_its_worker_again_and_again_fails(tmp_path):
    async def story():
        async def do(node):
            await asyncio.Event().wait()

        async with working(tmp_path, [function("a")], {"work:do": do}) as runtime:
            name = await runtime.open_run(PLANNER, "maria")
        for count in range(1, 4):
            async with (
                working(tmp_path, [function("a")], {"work:do": do}) as runtime,
                runtime.worker() as worker,
            ):
                await worker.claim()

                async def has_begun(count=count, runtime=runtime):
                    return len(await trail(runtime, name, "work.started")) == count

                await until(has_begun)
        async with working(tmp_path, [function("a")], {"work:do": do}) as runtime:
            await drain(runtime)
            run = await runtime.run(name)
            assert (await ended(runtime, run))["a"] == ["lost"] * 3
            assert (await result(runtime, run))["status"] == "failed"

    play(story())


@pytest.mark.rule("RN-4", "CS-1")
def test_what_is_too_large_for_the_database_is_passed_on_all_the_same(tmp_path):
    async def story():
        async def do(node):
            return "x" * 3000 if node.node == "a" else len(node.inputs["result"])

        nodes = [function("a"), function("b", "a"), join("c", "a")]
        async with working(tmp_path, nodes, {"work:do": do}, inline_bytes=1000) as runtime:
            run = await go_through(runtime, PLANNER)
            assert (await result(runtime, run))["status"] == "complete"
            assert len((await joined(runtime, run))["inputs"][0]["content"]) == 3000
            assert await sound(runtime)

    play(story())
