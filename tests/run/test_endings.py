"""Endings: how a run ends, with which reason, and what it says was not done; and models that answer nonsense."""

import asyncio

import pytest

from interlock.catalogue import say
from interlock.connector.model.model import Answer, Call
from interlock.connector.model.provider import ProviderModel
from interlock.errors import InterlockError
from interlock.gate.budget import Budget
from interlock.settings import ModelChoice
from tests.run.scene import (
    STEERED,
    Calls,
    JumpingClock,
    at,
    drain,
    go_through,
    play,
    spec_of,
    tool_giving,
    trail,
)
from tests.world import sound, world

LOOK = {"call": "look"}


def tools_of(calls):
    """A read tool, an inbox, and a write tool."""
    return [
        tool_giving(calls, "look", {"a": 1}),
        tool_giving(calls, "inbox", {"body": "x"}, labels=["untrusted"]),
        tool_giving(calls, "write", {"a": 1}, effect="write", parameters=STEERED, steers=["to"]),
    ]


ENDINGS = {
    "finished": ([LOOK, {"finish": {"summary": "s", "artifacts": {"report": "r"}}}], {}, None),
    "failed": ([LOOK, {"fail": {"code": "rejected"}}], {}, "run.model_failed"),
    "refused": ([{"call": "nothing"}] * 4, {}, "run.gave_up"),
    "exhausted": ([LOOK, LOOK, LOOK], {"limits": Budget(tool_calls=2)}, "gate.over_tool_calls"),
}


@pytest.mark.rule("RN-6", "EV-3")
@pytest.mark.parametrize("status", ENDINGS)
def test_a_run_ends_with_its_reason_and_says_what_was_not_done(tmp_path, status):
    async def story():
        calls = Calls()
        answers, limits, reason = ENDINGS[status]
        specs = [
            spec_of("a", tools=("look", "inbox", "write"), emits=["done"], **limits),
            spec_of("b", starts_on=["done"]),
        ]
        async with world(
            tmp_path, {at("a"): answers, "*": [{"text": "ok"}]}, specs, tools=tools_of(calls)
        ) as runtime:
            state = await go_through(runtime, at("a"), "go")
            closed = (await trail(runtime, state.id, "run.closed"))[0]
            assert (closed["status"], state.status) == (status, status)
            if status == "finished":
                assert "reason" not in closed
                assert "not_done" not in closed
            else:
                assert closed["reason"]["id"] == reason
                assert "events" not in closed
                assert {item["id"] for item in closed["not_done"]} >= {
                    "run.not_finished",
                    "run.artifact_not_made",
                }
                for language in ("en", "pt_BR"):
                    words = [say(text, language) for text in (closed["reason"], *closed["not_done"])]
                    assert all(" " in said and "{" not in said for said in words)
            started = await runtime.installation.ledger.query("runs_of_agent", at("b"))
            assert bool(started) == (status == "finished")
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("RN-6")
def test_what_a_finished_run_did_not_do_is_kept(tmp_path):
    async def story():
        not_done = [{"what": "the second invoice", "why": "it was not found"}]
        script = {"*": [{"finish": {"summary": "s", "not_done": not_done}}]}
        async with world(tmp_path, script, [spec_of("a")]) as runtime:
            state = await go_through(runtime, at("a"))
            closed = (await trail(runtime, state.id, "run.closed"))[0]
            kept = await runtime.installation.contents.read(closed["not_done_said"])
            assert kept.decode().count("the second invoice") == 1

    play(story())


@pytest.mark.rule("RN-6", "RN-5")
@pytest.mark.parametrize("when", ["before", "during", "while waiting", "function"])
def test_a_run_is_cancelled_before_its_next_move(tmp_path, when):
    async def story():
        calls, clock = Calls(), JumpingClock()
        runtimes = []

        async def cancel(**_):
            calls.append({"tool": "look"})
            for (name,) in await runtimes[0].installation.ledger.query("runs_starting_with", "run_", "run_~"):
                await runtimes[0].cancel(name, "joão")
            return 1

        async def body(run):
            for _ in range(4):
                await run.call("look")

        look = tool_giving(calls, "look", 1)
        look = type(look)(look.declaration, cancel)
        answers = [{"fails": [{"code": "unavailable", "wait_ms": 5}], **LOOK}, LOOK, LOOK, {"finish": "done"}]
        function = {"function": "m:body"} if when == "function" else {}
        specs = [spec_of("a", tools=("look",), emits=["done"], **function)]
        settings = {"tools": [look], "clock": clock, "functions": {"m:body": body}}
        async with world(tmp_path, {"*": answers}, specs, **settings) as runtime:
            runtimes.append(runtime)
            name = await runtime.open_run(at("a"), "maria")
            if when == "before":
                await runtime.cancel(name, "joão")
            await drain(runtime)
            state = await runtime.run(name)
            assert (state.status, state.reason) == (
                "cancelled",
                {"id": "run.cancelled", "with": {"by": "joão"}},
            )
            assert len(calls) == (0 if when == "before" else 1)
            order = [step["signal"] for step in await trail(runtime, name, "signal.taken")]
            assert order == ["cancel"]
            assert (await trail(runtime, name, "run.closed"))[0]["not_done"]
            assert await runtime.installation.ledger.query("signals_of_run", name) == []
            with pytest.raises(InterlockError, match=r"run\.closed_already"):
                await runtime.cancel(name, "joão")

    play(story())


@pytest.mark.rule("RN-6", "RN-5")
def test_who_cancels_a_run_that_closes_meanwhile_is_told_and_nothing_is_left_waiting(tmp_path):
    async def story():
        async with world(tmp_path, {"*": [{"finish": "done"}]}, [spec_of("a")]) as runtime:
            name = await runtime.open_run(at("a"), "maria")
            ledger = runtime.installation.ledger
            append = ledger.append

            async def at_last(*given, **more):
                if any("cancel" in row.values for row in (*more.get("guards", ()), *more.get("rows", ()))):
                    ledger.append = append
                    await drain(runtime)
                return await append(*given, **more)

            ledger.append = at_last
            with pytest.raises(InterlockError, match=r"run\.closed_already"):
                await runtime.cancel(name, "joão")
            assert (await runtime.run(name)).status == "finished"
            assert await ledger.query("signals_of_run", name) == []

    play(story())


@pytest.mark.rule("BI-3", "GT-1")
def test_a_model_is_told_of_each_mistake_and_may_then_do_it_right(tmp_path):
    async def story():
        calls, heard = Calls(), []

        def hear(request):
            heard.append(request.messages[-1].text)
            return LOOK

        answers = [
            {"call": "no_such_tool"},
            {"raw": {"name": "look", "arguments": '{"n": '}},
            hear,
            {"finish": {"summary": "a", "artifacts": {"report": "1"}}},
        ]
        specs = [spec_of("a", tools=("look",), emits=["done"])]
        async with world(tmp_path, {"*": answers}, specs, tools=tools_of(calls)) as runtime:
            state = await go_through(runtime, at("a"))
            assert state.status == "finished"
            assert state.faults == 0
            assert calls.of("look") == 1
            assert "1:7" in heard[0]
            told = (await runtime.prompt(state.id, 2))[0].request.decode()
            assert "no_such_tool" in told
            assert "look" in told

    play(story())


TWO_FINISHES = {
    "calls": [{"call": "finish", "with": {"summary": "x"}}, {"call": "finish", "with": {"summary": "y"}}]
}
NONSENSE = {
    "unknown tool": ({"call": "no_such_tool"}, "refused"),
    "broken json": ({"raw": {"name": "look", "arguments": "{"}}, "refused"),
    "no object": ({"raw": {"name": "look", "arguments": "[]"}}, "refused"),
    "two finishes": (TWO_FINISHES, "failed"),
    "bad finish": ({"call": "finish", "with": {"wrong": 1}}, "refused"),
    "bad name": ({"finish": {"summary": "s", "artifacts": {"No Name": "x"}}}, "failed"),
    "empty": ({"text": "  \n"}, "failed"),
    "plain text": ({"text": "I am done."}, "failed"),
    "denied": ({"call": "write", "with": {"to": "x"}}, "refused"),
}


@pytest.mark.rule("BI-3")
@pytest.mark.parametrize("kind", NONSENSE)
def test_a_model_that_goes_on_with_nonsense_is_stopped_and_others_are_not(tmp_path, kind):
    async def story():
        calls = Calls()
        nonsense, status = NONSENSE[kind]
        script = {at("bad"): lambda request: nonsense, at("good"): [LOOK, {"finish": "done"}]}
        specs = [spec_of("bad", tools=("look",), emits=["done"]), spec_of("good", tools=("look",))]
        async with (
            world(tmp_path, script, specs, tools=tools_of(calls)) as runtime,
            runtime.worker() as worker,
        ):
            bad = await runtime.open_run(at("bad"), "maria", worker=worker)
            good = [await runtime.open_run(at("good"), "maria", worker=worker) for _ in range(3)]
            await worker.idle()
            state = await runtime.run(bad)
            assert state.status == status
            assert state.reason["id"] == "run.gave_up"
            assert state.answers <= 4
            assert state.answers >= 2
            assert "{" not in say(state.reason, "pt_BR")
            assert {(await runtime.run(name)).status for name in good} == {"finished"}
            judged = {item["call"] for item in await trail(runtime, bad, "tool.judged")}
            answered = {item["call"] for item in await trail(runtime, bad, "tool.answered")}
            assert answered <= judged
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("BI-3", "RN-6")
def test_a_finish_beside_other_calls_is_taken_after_them(tmp_path):
    async def story():
        calls = Calls()
        both = {"calls": [{"call": "finish", "with": {"summary": "s"}}, {"call": "look"}, {"call": "look"}]}
        async with world(
            tmp_path, {"*": [both]}, [spec_of("a", tools=("look",))], tools=tools_of(calls)
        ) as runtime:
            state = await go_through(runtime, at("a"))
            assert state.status == "finished"
            assert calls.of("look") == 2
            assert len(await trail(runtime, state.id, "tool.answered")) == 2

    play(story())


@pytest.mark.rule("BI-3", "GT-5")
def test_endless_calls_end_with_the_budget(tmp_path):
    async def story():
        calls = Calls()
        spec = spec_of("a", tools=("look",), limits=Budget(tool_calls=7))
        many = Answer(calls=tuple(Call("same-id", "look", "{}") for _ in range(60)))
        for number, script in enumerate(({"*": lambda request: LOOK}, {"*": lambda request: many})):
            folder = tmp_path / str(number)
            folder.mkdir()
            calls.clear()
            async with world(folder, script, [spec], tools=tools_of(calls)) as runtime:
                state = await go_through(runtime, at("a"))
                assert (state.status, calls.of("look")) == ("exhausted", 7)
                closed = (await trail(runtime, state.id, "run.closed"))[0]
                assert len(closed["not_done"]) <= 3

    play(story())


@pytest.mark.rule("BI-1", "BI-3")
def test_a_tool_that_raises_or_never_ends_fails_its_call_alone(tmp_path):
    async def story():
        calls = Calls()

        async def never(**_):
            await asyncio.Event().wait()

        stuck = tool_giving(calls, "stuck", 1, timeout_ms=30)
        tools = [
            tool_giving(calls, "raises", ValueError("no")),
            tool_giving(calls, "exits", SystemExit(3)),
            tool_giving(calls, "cancels", asyncio.CancelledError()),
            tool_giving(calls, "odd", {1, 2}),
            tool_giving(calls, "nan", {"x": float("nan")}),
            type(stuck)(stuck.declaration, never),
        ]
        names = ("raises", "exits", "cancels", "odd", "nan", "stuck")
        script = {"*": [*({"call": name} for name in names), {"finish": "done"}]}
        specs = [spec_of("a", tools=names)]
        async with world(tmp_path, script, specs, tools=tools, corrections=9) as runtime:
            state = await go_through(runtime, at("a"))
            assert state.status == "finished", state.reason
            errors = [item["error"]["id"] for item in await trail(runtime, state.id, "tool.answered")]
            assert errors == [
                "tool.raised",
                "tool.raised",
                "tool.raised",
                "tool.not_json",
                "tool.not_json",
                "tool.timed_out",
            ]

    play(story())


@pytest.mark.rule("RN-6", "EV-2")
def test_a_run_that_finishes_without_what_it_exposes_says_so(tmp_path):
    async def story():
        specs = [spec_of("a", emits=["done"]), spec_of("b", starts_on=["done"])]
        script = {at("a"): [{"finish": "forgot it"}], "*": [{"text": "ok"}]}
        async with world(tmp_path, script, specs) as runtime:
            state = await go_through(runtime, at("a"), "go")
            closed = (await trail(runtime, state.id, "run.closed"))[0]
            assert closed["status"] == "finished"
            assert closed["not_done"] == [{"id": "run.artifact_not_made", "with": {"name": "report"}}]

    play(story())


@pytest.mark.rule("RN-6", "AG-2")
def test_a_model_that_cannot_be_had_is_told_as_that(tmp_path):
    async def story():
        choice = ModelChoice("openai", "some-model", key="NO_SUCH_KEY")
        async with world(tmp_path, specs=[spec_of("a")], model=ProviderModel(choice, {})) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert (state.status, state.reason["id"]) == ("failed", "run.no_model")
            for language in ("en", "pt-BR"):
                assert "NO_SUCH_KEY" in say(state.reason, language)

    play(story())
