"""Budgets: of a run, of the task that its chain shares, and of a scope for a day; at the limit, nothing is lost."""

import asyncio
import json
from dataclasses import replace

import pytest

from interlock.agent.spec import Emission
from interlock.connector.model.model import Answer, Call
from interlock.connector.model.scripted import ScriptedModel
from interlock.gate.budget import Budget, Usage
from interlock.run.function import Finish
from interlock.settings import ModelChoice
from tests.run.scene import Calls, JumpingClock, at, go_through, play, runs_of, spec_of, tool_giving, trail
from tests.world import sound, world

SAVE = {"call": "save_artifact", "with": {"content": "what I have"}}
LOOK = {"call": "look"}
USED = 1000


def costing(tokens=USED, money=0, call=LOOK):
    """An answer that cost so much."""
    name, given = call["call"], call.get("with", {})
    return Answer(calls=(Call("x", name, json.dumps(given)),), usage=Usage(tokens=tokens, money=money))


FOUND = {"finish": {"summary": "long", "artifacts": {"found": "x" * 40_000}}}
LIMITS = {
    "tool_calls": (Budget(tool_calls=3), {}),
    "tokens": (Budget(tokens=9_000), {}),
    "money": (Budget(money=5_000), {"price_in": 1_000_000, "price_out": 1_000_000, "max_output_tokens": 100}),
    "wall_ms": (Budget(wall_ms=2_500), {}),
}


@pytest.mark.rule("GT-5", "RN-6")
@pytest.mark.parametrize("amount", LIMITS)
def test_at_each_limit_of_a_run_it_ends_exhausted_and_keeps_what_it_has(tmp_path, amount):
    async def story():
        clock, calls = JumpingClock(), Calls()

        def look(**_):
            clock.move(1)
            return 1

        limits, choice = LIMITS[amount]
        answer = costing(money=USED if amount == "money" else 0)
        script = {"*": lambda request: costing(10, 10, SAVE) if request.number == 1 else answer}
        tools = [tool_giving(calls, "look", look)]
        spec = spec_of("a", tools=("look",), emits=["done"], limits=limits)
        settings = {"tools": tools, "clock": clock, "models": {"default": ModelChoice("scripted", **choice)}}
        async with world(tmp_path, script, [spec], **settings) as runtime:
            state = await go_through(runtime, at("a"))
            assert state.status == "exhausted"
            assert state.reason["id"] in {f"gate.over_{amount}", "budget.run_used_up"}
            assert amount in str(state.reason)
            used = getattr(state.usage, amount)
            assert used <= getattr(limits, amount) or amount == "wall_ms"
            assert 1 <= calls.of("look") <= 8
            handle = next(name for name in state.artifacts if name.startswith("artifact-"))
            assert (await runtime.artifact(state.id, handle))[1] == b"what I have"
            closed = (await trail(runtime, state.id, "run.closed"))[0]
            assert {item["id"] for item in closed["not_done"]} >= {
                "run.not_finished",
                "run.artifact_not_made",
            }
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("GT-5")
def test_the_largest_estimate_of_a_model_call_is_kept_free_before_it_is_made(tmp_path):
    """A call that might pass the limit is not made, in tokens and in money, whatever it would have used."""

    async def story():
        for number, (limits, choice) in enumerate(
            [
                (Budget(tokens=5_000), {"max_output_tokens": 4_500}),
                (Budget(money=5_000), {"max_output_tokens": 4_500, "price_out": 1_000_000}),
            ]
        ):
            folder = tmp_path / str(number)
            folder.mkdir()
            asked = []

            def answer(request, asked=asked):
                asked.append(request.number)
                return costing(400, 600)

            spec = spec_of("a", tools=("look",), limits=limits)
            calls = Calls()
            settings = {"models": {"default": ModelChoice("scripted", **choice)}}
            async with world(
                folder, {"*": answer}, [spec], tools=[tool_giving(calls, "look", 1)], **settings
            ) as runtime:
                state = await go_through(runtime, at("a"))
                assert state.status == "exhausted"
                assert len(asked) <= 1

    play(story())


@pytest.mark.rule("GT-5", "WK-4")
def test_the_time_of_calls_that_fail_counts_and_the_waiting_between_them_does_not(tmp_path):
    async def story():
        clock = JumpingClock()

        class Slow(ScriptedModel):
            async def ask(self, request, before_send):
                try:
                    return await super().ask(request, before_send)
                finally:
                    clock.move(1)

        fails = [{"code": "unavailable", "wait_ms": 30_000}] * 2
        model = Slow({"*": [{"fails": fails, "text": "done"}]})
        async with world(tmp_path, None, [spec_of("a")], model=model, clock=clock) as runtime:
            state = await go_through(runtime, at("a"))
            assert state.status == "finished"
            assert state.usage.wall_ms == 3_000
            assert sum(clock.slept) >= 60

    play(story())


@pytest.mark.rule("GT-5")
def test_a_model_call_takes_no_longer_than_the_run_has_time(tmp_path):
    async def story():
        class Endless(ScriptedModel):
            async def ask(self, request, before_send):
                await before_send([b"{}"])
                await asyncio.Event().wait()

        spec = spec_of("a", limits=Budget(wall_ms=40))
        async with world(tmp_path, None, [spec], model=Endless({})) as runtime:
            state = await go_through(runtime, at("a"))
            assert state.status in {"exhausted", "failed"}
            assert len(await trail(runtime, state.id, "model.failed")) >= 1

    play(story())


@pytest.mark.rule("GT-5", "AG-6", "RN-6")
def test_a_function_that_never_ends_takes_no_longer_than_the_run_has_time(tmp_path):
    async def story():
        async def body(run):
            await run.save_artifact("what I have")
            await asyncio.Event().wait()

        spec = spec_of("f", function="m:body", limits=Budget(wall_ms=60))
        async with world(tmp_path, None, [spec], functions={"m:body": body}) as runtime:
            state = await go_through(runtime, at("f"))
            assert (state.status, state.reason["with"]) == ("exhausted", {"amount": "wall_ms"})
            assert any(name.startswith("artifact-") for name in state.artifacts)

    play(story())


@pytest.mark.rule("GT-5", "RN-7")
def test_a_childs_budget_is_cut_from_what_its_task_has_left(tmp_path):
    async def story():
        calls = Calls()
        script = {
            at("a"): [LOOK, LOOK, {"finish": {"summary": "s", "artifacts": {"report": "r"}}}],
            at("b"): lambda request: LOOK,
            at("c"): lambda request: LOOK,
        }
        specs = [
            spec_of("a", tools=("look",), emits=["done"], limits=Budget(tool_calls=5)),
            spec_of("b", tools=("look",), starts_on=["done"], limits=Budget(tool_calls=6)),
            spec_of("c", tools=("look",), starts_on=["done"], limits=Budget(tool_calls=6)),
        ]
        pool = Budget(tool_calls=10, tokens=5_000_000)
        for at_once in (16, 0):
            folder = tmp_path / str(at_once)
            folder.mkdir()
            calls.clear()
            settings = {
                "tools": [tool_giving(calls, "look", 1)],
                "task_budget": pool,
                "listeners_at_once": at_once,
            }
            async with world(folder, script, specs, **settings) as runtime:
                first = await go_through(runtime, at("a"))
                assert (first.status, first.budget.tool_calls, first.usage.tool_calls) == ("finished", 5, 2)
                children = [await runtime.run((await runs_of(runtime, at(name)))[0]) for name in ("b", "c")]
                assert sorted(child.budget.tool_calls for child in children) == [4, 4]
                assert {child.status for child in children} == {"exhausted"}
                assert len(calls) == 10
                left = (await runtime.installation.ledger.query("budget_of", first.root_task))[0]
                assert left[0] == 0

    play(story())


@pytest.mark.rule("GT-5")
def test_what_a_run_did_not_use_goes_back_to_its_task(tmp_path):
    async def story():
        calls = Calls()
        script = {"*": [LOOK, {"finish": "ok"}]}
        async with world(
            tmp_path, script, [spec_of("a", tools=("look",))], tools=[tool_giving(calls, "look", 1)]
        ) as runtime:
            state = await go_through(runtime, at("a"))
            left = (await runtime.installation.ledger.query("budget_of", state.root_task))[0]
            pool = runtime.installation.settings.task_budget
            assert left[0] == pool.tool_calls - 1
            assert left[1] == pool.tokens - state.usage.tokens

    play(story())


@pytest.mark.rule("GT-5")
@pytest.mark.parametrize("kind", ["model", "function"])
def test_a_scopes_budget_of_the_day_is_never_passed_by_many_at_once(tmp_path, kind):
    async def story():
        calls, clock = Calls(), JumpingClock()

        async def body(run):
            for _ in range(4):
                await run.call("look")
            return Finish("done")

        function = {"function": "m:body"} if kind == "function" else {}
        script = {"*": [costing(100), costing(100), costing(100), costing(100), {"finish": "done"}]}
        specs = [
            spec_of("a", tools=("look",), **function),
            spec_of("a", "acme/finance", tools=("look",), **function),
        ]
        budgets = {"acme": Budget(tool_calls=100), "acme/platform": Budget(tool_calls=30)}
        settings = {
            "tools": [tool_giving(calls, "look", 1)],
            "functions": {"m:body": body},
            "scope_budgets": budgets,
            "clock": clock,
        }
        async with world(tmp_path, script, specs, **settings) as runtime:

            async def together():
                async with runtime.worker() as worker:
                    names = [
                        await runtime.open_run(spec.address, "maria", worker=worker)
                        for spec in specs
                        for _ in range(32)
                    ]
                    await worker.idle()
                return [await runtime.run(name) for name in names]

            for day in (1, 2):
                calls.clear()
                states = await together()
                near = sum(state.usage.tool_calls for state in states if state.scope == "acme/platform")
                whole = sum(state.usage.tool_calls for state in states)
                assert near <= 30
                assert whole <= 100
                assert len(calls) == whole
                assert whole >= 90
                ends = {state.status for state in states}
                assert ends <= {"finished", "exhausted"}
                exhausted = [state for state in states if state.status == "exhausted"]
                assert exhausted
                assert {state.reason["id"] for state in exhausted} == {"budget.scope_used_up"}
                subject = f"acme/platform {clock.now() // 86_400_000}"
                left = (await runtime.installation.ledger.query("budget_of", subject))[0][0]
                assert left == 30 - near, day
                clock.move(86_400)
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("GT-5", "EV-3")
def test_a_listener_opened_with_nothing_left_ends_exhausted_at_once(tmp_path):
    async def story():
        calls = Calls()
        script = {"*": [LOOK, {"finish": {"summary": "s", "artifacts": {"report": "r"}}}]}
        emits = [Emission("done", "c", ("report",))]
        specs = [
            spec_of("a", tools=("look",), emits=emits),
            spec_of("b", tools=("look",), starts_on=["done"]),
        ]
        settings = {"tools": [tool_giving(calls, "look", 1)], "task_budget": Budget(tool_calls=1)}
        async with world(tmp_path, script, specs, **settings) as runtime:
            first = await go_through(runtime, at("a"))
            assert first.status == "finished"
            (name,) = await runs_of(runtime, at("b"))
            second = await runtime.run(name)
            assert (second.status, second.budget.tool_calls) == ("exhausted", 0)
            assert len(calls) == 1

    play(story())


@pytest.mark.rule("GT-5", "RN-6")
def test_a_finish_is_taken_whatever_the_answer_that_holds_it_cost(tmp_path):
    """The tokens are spent when the finish is there; to deny it would lose what they bought."""

    async def story():
        limits = Budget(tokens=9_000, tool_calls=0)
        script = {"*": lambda request: {**FOUND}}
        spec = spec_of("a", emits=["done"], limits=limits)
        async with world(tmp_path, script, [spec]) as runtime:
            state = await go_through(runtime, at("a"))
            assert (state.status, state.usage.tokens > 9_000) == ("finished", True)
            assert state.artifacts["found"]["size"] == len(FOUND["finish"]["artifacts"]["found"])

    play(story())


SHARED = Budget(wall_ms=200)


async def wall_left(runtime):
    """What is left today of the wall time of the scope `acme`."""
    day = runtime.installation.clock.now() // 86_400_000
    return (await runtime.installation.ledger.query("budget_of", f"acme {day}"))[0][3]


@pytest.mark.rule("GT-5", "RN-6")
@pytest.mark.parametrize("endless", ["tool", "model"])
def test_no_call_takes_longer_than_its_scope_has_wall_time(tmp_path, endless):
    """All runs of the scope together are held to it: what one call may take, no other may take too."""

    async def story():
        calls, asked = Calls(), []

        async def never():
            await asyncio.Event().wait()

        class Model(ScriptedModel):
            async def ask(self, request, before_send):
                if endless == "tool":
                    return await super().ask(request, before_send)
                await before_send([b"{}"])
                asked.append(request)
                return await never()

        async def look():
            calls.append({"tool": "look"})
            await never()

        waiting = replace(tool_giving(calls, "look", None, timeout_ms=3_000), function=look)
        settings = {
            "tools": [waiting],
            "scope_budgets": {"acme": SHARED},
            "models": {"default": ModelChoice("scripted", timeout_ms=3_000)},
        }
        model = Model({"*": lambda request: LOOK})
        async with world(tmp_path, None, [spec_of("a", tools=("look",))], model=model, **settings) as runtime:
            async with runtime.worker() as worker:
                names = [await runtime.open_run(at("a"), "maria", worker=worker) for _ in range(4)]
                await worker.idle()
            states = [await runtime.run(name) for name in names]
            assert {state.status for state in states} == {"exhausted"}
            assert {state.reason["with"]["amount"] for state in states} == {"wall_ms"}
            for state in states:
                assert state.usage.wall_ms < 3_000
            assert len(calls) + len(asked) <= 2
            assert await wall_left(runtime) == 0
            assert (await go_through(runtime, at("a"))).usage == Usage()
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("GT-5")
@pytest.mark.parametrize("amount", ["wall_ms", "tokens"])
def test_what_a_run_used_beyond_what_it_drew_is_charged_to_its_scope(tmp_path, amount):
    """What is spent is spent, and the run that spent it keeps its result; the next run is refused."""

    async def story():
        calls, clock = Calls(), JumpingClock()
        limits = SHARED if amount == "wall_ms" else Budget(tokens=9_000)
        finish = {"call": "finish", "with": {"summary": "done"}}
        script = {"*": [costing(100), costing(20_000, call=finish)]}

        def look():
            clock.move(1 if amount == "wall_ms" else 0)

        settings = {
            "tools": [tool_giving(calls, "look", look)],
            "clock": clock,
            "scope_budgets": {"acme": limits},
        }
        async with world(tmp_path, script, [spec_of("a", tools=("look",))], **settings) as runtime:
            first = await go_through(runtime, at("a"))
            assert getattr(first.usage, amount) > getattr(limits, amount)
            assert first.status == ("exhausted" if amount == "wall_ms" else "finished")
            second = await go_through(runtime, at("a"))
            assert (second.status, second.reason["id"]) == ("exhausted", "budget.scope_used_up")
            assert second.reason["with"]["amount"] == amount
            assert (second.usage, len(calls)) == (Usage(), 1)
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("GT-5")
@pytest.mark.parametrize("limit", [3_600_000, 10_000])
def test_wall_time_that_calls_did_not_take_goes_back_to_the_scope(tmp_path, limit):
    async def story():
        calls, clock = Calls(), JumpingClock()

        def look():
            clock.move(1)

        settings = {
            "tools": [tool_giving(calls, "look", look)],
            "clock": clock,
            "scope_budgets": {"acme": Budget(wall_ms=limit)},
        }
        script = {"*": [LOOK, LOOK, {"finish": {"summary": "done"}}]}
        async with world(tmp_path, script, [spec_of("a", tools=("look",))], **settings) as runtime:
            for number in (1, 2):
                state = await go_through(runtime, at("a"))
                assert (state.status, state.usage.wall_ms) == ("finished", 2_000)
                assert await wall_left(runtime) == limit - number * 2_000

    play(story())


@pytest.mark.rule("GT-5", "EV-3")
@pytest.mark.parametrize("at_once", [16, 0])
@pytest.mark.parametrize("listeners", [1, 16])
def test_the_listeners_of_one_closing_share_what_their_task_has_left(tmp_path, at_once, listeners):
    """Twice the calls that each is given would pass the pool if the first took what their limits allow."""

    async def story():
        names = [f"l{number:02}" for number in range(listeners)]
        pool, limit = Budget(tool_calls=40), Budget(tool_calls=30)
        script = {
            at("s"): [{"finish": {"summary": "s", "artifacts": {"report": "r"}}}],
            "*": [LOOK, LOOK, {"finish": {"summary": "s"}}],
        }
        specs = [
            spec_of("s", emits=["done"]),
            *(spec_of(name, tools=("look",), starts_on=["done"]) for name in names),
        ]
        settings = {
            "tools": [tool_giving(Calls(), "look", 1)],
            "task_budget": pool,
            "limits": limit,
            "listeners_at_once": at_once,
        }
        async with world(tmp_path, script, specs, **settings) as runtime:
            first = await go_through(runtime, at("s"))
            states = [await runtime.run((await runs_of(runtime, at(name)))[0]) for name in names]
            assert [state.status for state in states] == ["finished"] * listeners
            given = [state.budget.tool_calls for state in states]
            if listeners == 1:
                assert given == [30]
            else:
                assert min(given) >= 2
                assert sum(given) <= 40
            left = (await runtime.installation.ledger.query("budget_of", first.root_task))[0][0]
            assert left == 40 - 2 * listeners

    play(story())
