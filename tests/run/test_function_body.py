"""Function bodies: journalled call by call, replayed on resume, and under the same Gate, budget and barrier."""

import asyncio

import pytest

from interlock.errors import InterlockError
from interlock.gate.budget import Budget
from interlock.run.function import Finish
from interlock.run.installation import Function
from tests.run.scene import (
    STEERED,
    Calls,
    JumpingClock,
    asked_in,
    at,
    drain,
    go_through,
    killing,
    killing_at_append,
    kinds,
    play,
    runs_of,
    spec_of,
    tool_giving,
    trail,
    work_until_killed,
)
from tests.world import sound, world

NAME = "company:body"
BODY = spec_of("f", function=NAME, tools=("look", "write"))


def tools_of(calls, leaves=False):
    """A read and a write tool."""
    return [
        tool_giving(calls, "look", lambda **given: {"found": given.get("n", 0) * 2}, leaves=leaves),
        tool_giving(calls, "write", {"ok": True}, effect="write", parameters=STEERED, steers=["to"]),
        tool_giving(calls, "inbox", {"body": "x"}, labels=["untrusted"]),
        tool_giving(calls, "foreign", {"a": 1}, labels=["area:acme/finance"]),
    ]


@pytest.mark.rule("AG-6", "RN-4")
def test_a_function_goes_on_from_every_place_and_makes_no_recorded_call_again(tmp_path):
    """Killed at every append in turn, before it and after it: the same values, the same end, no write twice."""

    async def story():
        taken = []

        async def body(run):
            seen = [run.now(), run.new_id("order"), run.chance()]
            seen += [(await run.call("look", n=n))["found"] for n in (1, 2)]
            seen += [run.now(), run.new_id("order"), run.chance()]
            handle = await run.save_artifact("bulk")
            seen.append(await run.read_artifact(handle))
            taken.append(seen)
            return Finish("done", {"report": "r" * len(seen)}, (("more", "no time"),))

        async def one(number, written):
            folder = tmp_path / f"{number}-{written}"
            folder.mkdir()
            clock, calls = JumpingClock(), Calls()
            taken.clear()
            settings = {"tools": tools_of(calls), "functions": {NAME: body}, "clock": clock}
            async with world(folder, None, [BODY], **settings) as runtime:
                name = await runtime.open_run(at("f"), "maria", "go")
                killing_at_append(runtime, number, written=written)
                ended = await work_until_killed(runtime)
                before = await trail(runtime, name)
            clock.move(31)
            first = taken[-1] if taken else None
            async with world(folder, None, [], **settings) as runtime:
                await drain(runtime)
                state = await runtime.run(name)
                assert state.status == "finished", state.reason
                recorded = sum("result" in body and body["tool"] == "look" for body in before)
                assert 2 <= calls.of("look") <= (3 if ended and recorded < 2 else 2)
                assert first is None or taken[-1] == first
                order = await kinds(runtime, name)
                assert order.count("tool.answered") == 4
                assert await sound(runtime)
                return ended

        number = 1
        while any([await one(number, written) for written in (False, True)]):
            number += 1
        assert number >= 4

    play(story())


@pytest.mark.rule("AG-6")
def test_time_identifiers_and_chance_are_equal_on_replay(tmp_path):
    async def story():
        seen = []

        async def body(run):
            values = [run.new_id("order"), run.chance(), run.now()]
            await run.call("look", n=1)
            values += [run.new_id("order"), run.chance(), run.now()]
            seen.append(values)
            await run.call("look", n=2)
            return Finish("done")

        clock, calls = JumpingClock(), Calls()
        settings = {"tools": tools_of(calls), "functions": {NAME: body}, "clock": clock}
        async with world(tmp_path, None, [BODY], **settings) as runtime:
            killing(runtime, lambda point: point == "tool.before_call" and calls.of("look") == 1, 1)
            await runtime.open_run(at("f"), "maria", "go")
            assert await work_until_killed(runtime)
        clock.move(3600)
        async with world(tmp_path, None, [], **settings) as runtime:
            await drain(runtime)
        assert len(seen) == 2
        assert len(set(seen[0])) == 6 or seen[0][2] == seen[0][5]
        assert calls.of("look") <= 3

    play(story())


async def killed_and_resumed(
    folder, body, again, spec=BODY, *, kills=1, point="tool.before_call", at_call=2, leaves=False
):
    """Kill a run of `body` at its second call, as often as told, and go on with `again`; give the run's state."""
    clock, calls = JumpingClock(), Calls()
    settings = {"tools": tools_of(calls, leaves), "clock": clock}
    name = None
    for _ in range(kills):
        async with world(folder, None, [] if name else [spec], functions={NAME: body}, **settings) as runtime:
            name = name or await runtime.open_run(at("f"), "maria", "go")
            killing(runtime, lambda reached: reached == point, at_call if calls == [] else 1)
            assert await work_until_killed(runtime)
        clock.move(31)
    async with world(folder, None, [], functions={NAME: again}, **settings) as runtime:
        await drain(runtime)
        return await runtime.run(name), calls, await trail(runtime, name)


async def two_calls(run):
    first = await run.call("look", n=1)
    second = await run.call("look", n=2)
    return Finish(f"{first} {second}")


@pytest.mark.rule("AG-6")
@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("kills", [1, 2, 3])
def test_a_call_judged_under_several_claims_is_still_the_same_call(tmp_path, kills, leaves):
    """With `leaves` each verdict is on disk before the call, so that it stands there once for each claim."""

    async def story():
        state, calls, bodies = await killed_and_resumed(
            tmp_path, two_calls, two_calls, kills=kills, point="tool.after_call", leaves=leaves
        )
        assert state.status == "finished", state.reason
        assert [call["n"] for call in calls].count(1) == 1
        judged = [body for body in bodies if "verdict" in body and body["call"] == "call_2"]
        assert len(judged) == (kills + 1 if leaves else 1)

    play(story())


@pytest.mark.rule("AG-6")
def test_a_replay_that_differs_ends_the_run_and_says_where(tmp_path):
    async def other_arguments(run):
        await run.call("look", n=7)

    async def other_tool(run):
        await run.call("inbox")

    async def other_second(run):
        await run.call("look", n=1)
        await run.call("look", n=3)

    async def ends_early(run):
        return Finish("nothing")

    async def story():
        cases = (other_arguments, 1), (other_tool, 1), (other_second, 2), (ends_early, 0)
        for again, place in cases:
            folder = tmp_path / again.__name__
            folder.mkdir()
            spec = spec_of("f", function=NAME, tools=("look", "inbox"))
            state, calls, _ = await killed_and_resumed(
                folder, two_calls, again, spec, point="run.before_close", at_call=1
            )
            assert state.status == "failed", state.reason
            expected = "function.ended_early" if again is ends_early else "function.replay_differs"
            assert (state.reason["id"], state.reason["with"].get("place")) == (expected, place), state.reason
            assert [call.get("n") for call in calls] == [1, 2]

    play(story())


@pytest.mark.rule("AG-2", "AG-6")
def test_the_version_holds_the_codes_digest_and_changed_code_does_not_start(tmp_path):
    async def story():
        calls = Calls()
        settings = {"tools": tools_of(calls), "functions": {NAME: two_calls}}
        async with world(tmp_path, None, [BODY], **settings) as runtime:
            spec = await runtime.installation.spec(at("f"), 1)
            assert spec.code_digest == "0" * 64
            runtime.installation.functions = {NAME: Function(two_calls, "1" * 64)}
            state = await go_through(runtime, at("f"))
            assert (state.status, state.reason["id"]) == ("failed", "function.code_changed")
            assert calls == []
            assert (await runtime.publish(BODY, "maria")).version == 2
            assert (await go_through(runtime, at("f"))).status == "finished"
            runtime.installation.functions = {}
            state = await go_through(runtime, at("f"))
            assert (state.status, state.reason["id"]) == ("failed", "function.not_loaded")
            with pytest.raises(InterlockError, match=r"function\.unknown"):
                await runtime.publish(BODY, "maria")

    play(story())


@pytest.mark.rule("AG-6", "GT-1", "GT-2", "GT-3", "SC-5")
def test_a_function_obeys_the_same_gate_barrier_and_taint(tmp_path):
    async def story():
        calls, caught = Calls(), []

        async def body(run):
            for name, given in (("foreign", {}), ("look", {"n": 1}), ("nothing", {}), ("inbox", {})):
                try:
                    await run.call(name, **given)
                except InterlockError as error:
                    caught.append((name, error.code))
            await run.call("write", to="maria@example.org", body="x")

        spec = spec_of("f", function=NAME, tools=("write", "inbox", "foreign"))
        async with world(
            tmp_path, None, [spec], tools=tools_of(calls), functions={NAME: body}, corrections=9
        ) as runtime:
            state = await go_through(runtime, at("f"), {"to": "somebody@example.org"})
            judged = [
                (item["tool"], item["verdict"], item.get("rule"))
                for item in await trail(runtime, state.id, "tool.judged")
            ]
            assert judged == [
                ("foreign", "allow", None), ("look", "deny", "grant"), ("nothing", "deny", "grant"),
                ("inbox", "allow", None), ("write", "ask", "taint"),
            ]  # fmt: skip
            assert caught == [
                ("foreign", "tool.no_result"),
                ("look", "gate.denied"),
                ("nothing", "gate.denied"),
            ]
            assert state.status == "open"
            ((kind, form),) = await asked_in(runtime, state.id)
            assert (kind, form["tool"]) == ("approval", "write")
            assert calls.of("write") == 0
            assert state.labels == {"area:acme/platform", "untrusted"}

    play(story())


@pytest.mark.rule("AG-6", "GT-5", "RN-6")
@pytest.mark.parametrize("how", ["plain", "catches all", "gathers", "task group"])
def test_a_function_cannot_go_on_after_its_budget_however_it_catches(tmp_path, how):
    async def story():
        calls = Calls()

        async def body(run):
            if how == "plain":
                for n in range(5):
                    await run.call("look", n=n)
            elif how == "catches all":
                for n in range(5):
                    try:
                        await run.call("look", n=n)
                    except BaseException:  # noqa: BLE001  the point of the test
                        continue
            elif how == "gathers":
                await asyncio.gather(*(run.call("look", n=n) for n in range(5)), return_exceptions=True)
            else:
                async with asyncio.TaskGroup() as group:
                    for n in range(5):
                        group.create_task(run.call("look", n=n))
            return Finish("went on")

        spec = spec_of("f", function=NAME, tools=("look",), limits=Budget(tool_calls=2))
        async with world(tmp_path, None, [spec], tools=tools_of(calls), functions={NAME: body}) as runtime:
            state = await go_through(runtime, at("f"))
            assert (state.status, state.reason["id"]) == ("exhausted", "gate.over_tool_calls")
            assert [call["n"] for call in calls] == [0, 1]
            assert (await runtime.installation.ledger.query("lease_of_run", state.id)) == []

    play(story())


@pytest.mark.rule("AG-6", "BI-1")
def test_a_function_that_raises_ends_its_run_alone(tmp_path):
    async def story():
        async def body(run):
            if run.input == "group":
                async with asyncio.TaskGroup() as group:
                    group.create_task(fail())
            if run.input == "exit":
                raise SystemExit(1)
            if run.input == "cancelled":
                raise asyncio.CancelledError
            return Finish("fine")

        async def fail():
            raise ValueError("CANARY")

        async with (
            world(tmp_path, None, [spec_of("f", function=NAME)], functions={NAME: body}) as runtime,
            runtime.worker() as worker,
        ):
            briefs = ["group", "exit", "cancelled", "fine"]
            names = [await runtime.open_run(at("f"), "maria", brief, worker=worker) for brief in briefs]
            await worker.idle()
            states = [await runtime.run(name) for name in names]
            assert [state.status for state in states] == ["failed", "failed", "failed", "finished"]
            assert [state.reason["id"] for state in states[:3]] == ["function.raised"] * 3
            assert await runs_of(runtime, at("f")) == sorted(names)

    play(story())
