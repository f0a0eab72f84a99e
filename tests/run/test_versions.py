"""Versions in runs: immutable, pinned to each run, and not started while an agent is paused, retired or stopped."""

import asyncio

import pytest

from interlock.agent.spec import FINAL_ANSWER, Emission
from interlock.errors import InterlockError
from interlock.ledger.ledger import Write
from interlock.ledger.step import Draft
from interlock.run.dispatcher import Dispatcher
from interlock.run.publishing import change_agent, change_scope
from interlock.scope.scope import INSTALLATION, Scope
from tests.run.scene import (
    Calls,
    Killed,
    all_steps,
    at,
    drain,
    go_through,
    play,
    runs_of,
    spec_of,
    tool_giving,
    trail,
)
from tests.world import sound, world

EMITS = Emission("done", "work", (FINAL_ANSWER,))


@pytest.mark.rule("AG-2")
def test_publishing_the_same_spec_twice_makes_no_new_version_and_no_version_changes(tmp_path):
    async def story():
        async with world(tmp_path) as runtime:
            first = await runtime.publish(spec_of("a"), "maria")
            again = await runtime.publish(spec_of("a"), "joão")
            second = await runtime.publish(spec_of("a", instructions="Other."), "joão")
            back = await runtime.publish(spec_of("a"), "ana")
            assert [(item.version, item.new) for item in (first, again, second, back)] == [
                (1, True), (1, False), (2, True), (3, True),
            ]  # fmt: skip
            assert first.digest == again.digest == back.digest != second.digest
            rows = await runtime.installation.ledger.query("versions_of_agent", at("a"))
            assert [(number, author) for number, _, _, author, _ in rows] == [
                (1, "maria"),
                (2, "joão"),
                (3, "ana"),
            ]
            assert (await runtime.installation.spec(at("a"), 1)).instructions == "You are a."
            assert (await runtime.installation.spec(at("a"), 2)).instructions == "Other."
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("AG-2")
def test_two_who_publish_at_once_get_numbers_one_after_the_other(tmp_path):
    async def story():
        async with world(tmp_path) as runtime:
            published = await asyncio.gather(
                *(
                    runtime.publish(spec_of("a", instructions=f"Number {index}."), "maria")
                    for index in range(8)
                )
            )
            assert sorted(item.version for item in published) == list(range(1, 9))

    play(story())


@pytest.mark.rule("AG-3", "EV-3")
@pytest.mark.fault("F48")
def test_a_run_keeps_its_version_while_another_is_published(tmp_path):
    """What it may call, what it is told and what it emits is what the version it started on declares."""

    async def story():
        calls = Calls()
        runtime_of = {}
        halfway, go_on = asyncio.Event(), asyncio.Event()

        async def wait(**_):
            calls.append({"tool": "wait"})
            halfway.set()
            await go_on.wait()

        tools = [tool_giving(calls, "old", 1), tool_giving(calls, "wait_here", lambda **_: None)]
        tools[1] = type(tools[1])(tools[1].declaration, wait)
        prompts = []

        def heard(request):
            prompts.append((request.instructions, tuple(offer.name for offer in request.tools)))
            return {"call": "old"} if len(request.messages) == 3 else {"call": "wait_here"}

        script = {
            at("a"): [heard, heard, {"finish": "done"}],
            "*": [{"text": "ok"}],
        }
        first = spec_of("a", tools=("old", "wait_here"), emits=[EMITS], instructions="First.")
        second = spec_of("a", emits=[Emission("other", "work", (FINAL_ANSWER,))], instructions="Second.")
        specs = [first, spec_of("b", starts_on=["done"]), spec_of("c", starts_on=["other"])]
        async with world(tmp_path, script, specs, tools=tools) as runtime, runtime.worker() as worker:
            runtime_of["it"] = runtime
            name = await runtime.open_run(at("a"), "maria", worker=worker)
            await halfway.wait()
            assert (await runtime.publish(second, "maria")).version == 2
            go_on.set()
            await worker.idle()
            state = await runtime.run(name)
            assert (state.version, state.status) == (1, "finished")
            assert calls.of("old") == 1
            assert {instructions.split("\n")[0] for instructions, _ in prompts} == {"First."}
            assert all("old" in offered for _, offered in prompts)
            assert len(await runs_of(runtime, at("b"))) == 1
            assert await runs_of(runtime, at("c")) == []
            script_now = await runtime.open_run(at("a"), "maria")
            assert (await trail(runtime, script_now))[0]["version"] == 2

    play(story())


@pytest.mark.rule("AG-3")
def test_a_run_that_waits_in_the_queue_starts_on_the_version_it_was_opened_with(tmp_path):
    async def story():
        seen = []

        def heard(request):
            seen.append(request.instructions.split("\n")[0])
            return {"finish": "done"}

        async with world(tmp_path, {"*": heard}, [spec_of("a", instructions="First.")]) as runtime:
            await runtime.open_run(at("a"), "maria")
            await runtime.publish(spec_of("a", instructions="Second."), "maria")
            await runtime.open_run(at("a"), "maria")
            async with runtime.worker() as worker:
                await worker.drain()
            assert sorted(seen) == ["First.", "Second."]

    play(story())


CHANGES = {
    "paused": lambda runtime: change_agent(runtime.installation, at("b"), "pause", "maria"),
    "retired": lambda runtime: change_agent(runtime.installation, at("b"), "retire", "maria"),
    "area": lambda runtime: change_scope(runtime.installation, Scope("acme/platform"), True, "maria"),
    "company": lambda runtime: change_scope(runtime.installation, Scope("acme"), True, "maria"),
    "installation": lambda runtime: change_scope(runtime.installation, INSTALLATION, True, "maria"),
}


async def let_go_on(runtime, how):
    """Undo a change, as far as there is a way."""
    if how in {"paused", "retired"}:
        await change_agent(runtime.installation, at("b"), "resume", "maria")
        return
    scope = {"area": "acme/platform", "company": "acme", "installation": "*"}[how]
    await change_scope(runtime.installation, Scope(scope), False, "maria")


@pytest.mark.rule("AG-5")
@pytest.mark.parametrize("at_once", [0, 16], ids=["owed", "at-once"])
@pytest.mark.parametrize("how", CHANGES)
def test_nothing_starts_while_paused_retired_or_stopped_and_nothing_is_replayed_later(tmp_path, how, at_once):
    async def story():
        specs = [spec_of("a", "globex/platform", emits=[EMITS]), spec_of("b", "acme/platform")]
        script = {"*": [{"text": "ok"}]}
        async with world(tmp_path, script, specs, listeners_at_once=at_once) as runtime:
            listener = spec_of("b", starts_on=["heard"])
            source = spec_of("a", "acme/finance", emits=[Emission("heard", "work", ())])
            await runtime.publish(listener, "maria")
            await runtime.publish(source, "maria")
            name = await opened_before(runtime, source.address)
            await CHANGES[how](runtime)
            if how not in {"company", "installation"}:
                await go_through(runtime, source.address)
            async with runtime.worker() as worker:
                await worker.drain()
            assert await runs_of(runtime, at("b")) == []
            with pytest.raises(InterlockError, match=r"run\.not_started"):
                await runtime.open_run(at("b"), "maria")
            assert await runs_of(runtime, at("b")) == []
            noted = [step for step in await all_steps(runtime) if step.kind == "agent.not_started"]
            assert [step.body["agent"] for step in noted] == [at("b")]
            told = (await trail(runtime, name, "run.closed"))[0]
            assert (
                "listeners" in told["events"][0]
                or told["events"][0]["deliveries"][0]["outcome"] == "not_started"
            )
            await let_go_on(runtime, how)
            async with runtime.worker() as worker:
                await worker.drain()
            assert await runs_of(runtime, at("b")) == []
            await go_through(runtime, at("b"))
            assert len(await runs_of(runtime, at("b"))) == 1

    play(story())


async def opened_before(runtime, address):
    """Open a run before anything is stopped; it is worked on after that."""
    return await runtime.open_run(address, "maria")


@pytest.mark.rule("AG-4", "AG-5")
@pytest.mark.parametrize("how", CHANGES)
def test_a_listener_stopped_after_the_event_went_out_is_recorded_as_not_started(tmp_path, how):
    """The list stands; who is on it and was stopped since then starts nothing, and never catches up."""

    async def story():
        source = spec_of("a", "acme/finance", emits=[Emission("heard", "work", ())])
        specs = [source, spec_of("b", starts_on=["heard"]), spec_of("c", "acme/finance", starts_on=["heard"])]
        async with world(tmp_path, {"*": [{"text": "ok"}]}, specs, listeners_at_once=0) as runtime:
            state = await go_through(runtime, source.address, until_idle=False)
            assert [item[0] for item in await runtime.installation.ledger.query("owed_runs", "", 9)] == [
                state.id
            ]
            await CHANGES[how](runtime)
            async with runtime.worker() as worker:
                await worker.dispatcher.sweep()
                await worker.dispatcher.sweep()
            assert await runtime.installation.ledger.query("owed_runs", "", 9) == []
            noted = list(await trail(runtime, state.task, "event.not_started"))
            stopped = {"b@acme/platform"} | (
                {"c@acme/finance"} if how in {"company", "installation"} else set()
            )
            assert {body["listener"] for body in noted} == stopped
            assert len(noted) == len(stopped)
            await let_go_on(runtime, how)
            async with runtime.worker() as worker:
                await worker.drain()
            assert await runs_of(runtime, at("b")) == []
            assert len(await runs_of(runtime, at("c", "acme/finance"))) == (0 if len(stopped) == 2 else 1)
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("AG-5", "EV-5")
def test_a_listener_paused_after_it_was_started_is_not_recorded_as_not_started(tmp_path):
    async def story():
        source = spec_of("a", emits=[Emission("heard", "work", ())])
        specs = [source, spec_of("b", starts_on=["heard"])]
        async with world(tmp_path, {"*": [{"text": "ok"}]}, specs, listeners_at_once=0) as runtime:
            state = await go_through(runtime, source.address, until_idle=False)
            ((run, listed),) = await runtime.installation.ledger.query("owed_runs", "", 9)
            dispatcher = Dispatcher(runtime.installation)
            assert await dispatcher.sweep() == 1
            await CHANGES["paused"](runtime)
            await dispatcher._settle(run, listed)
            assert await trail(runtime, state.task, "event.not_started") == []
            assert len(await runs_of(runtime, at("b"))) == 1

    play(story())


@pytest.mark.rule("AG-5", "EV-5")
def test_what_was_recorded_as_not_started_stays_so_though_the_dispatcher_died_after_it(tmp_path):
    async def story():
        source = spec_of("a", emits=[Emission("heard", "work", ())])
        specs = [source, spec_of("b", starts_on=["heard"])]
        async with world(tmp_path, {"*": [{"text": "ok"}]}, specs, listeners_at_once=0) as runtime:
            state = await go_through(runtime, source.address, until_idle=False)
            await CHANGES["paused"](runtime)
            ledger = runtime.installation.ledger
            append = ledger.append

            async def dying(writes, **more):
                if any(row.query == "settle_owed" for row in more.get("rows", ())):
                    raise Killed
                return await append(writes, **more)

            ledger.append = dying
            with pytest.raises(Killed):
                await Dispatcher(runtime.installation).sweep()
            ledger.append = append
            assert len(await trail(runtime, state.task, "event.not_started")) == 1
            await let_go_on(runtime, "paused")
            await drain(runtime)
            assert await runs_of(runtime, at("b")) == []
            assert await ledger.query("owed_runs", "", 9) == []
            assert len(await trail(runtime, state.task, "event.not_started")) == 1

    play(story())


@pytest.mark.rule("AG-5", "EV-5")
def test_a_paused_listener_is_not_opened_though_another_was_noted_in_between(tmp_path):
    """Two dispatchers note in one stream at the same time: whoever comes second looks again."""

    async def story():
        source = spec_of("a", emits=[Emission("heard", "work", ())])
        specs = [source, spec_of("b", starts_on=["heard"])]
        async with world(tmp_path, {"*": [{"text": "ok"}]}, specs, listeners_at_once=0) as runtime:
            state = await go_through(runtime, source.address, until_idle=False)
            await CHANGES["paused"](runtime)
            ledger = runtime.installation.ledger
            read, noted = ledger.read, []

            async def overtaken(stream, *more):
                steps = await read(stream, *more)
                if stream == state.task and not noted:
                    noted.append(stream)
                    other = Draft("event.not_started", {"cause": "event:of:another"})
                    await ledger.append((Write(stream, None, (other,)),))
                return steps

            ledger.read = overtaken
            await Dispatcher(runtime.installation).sweep()
            ledger.read = read
            assert await runs_of(runtime, at("b")) == []
            told = await trail(runtime, state.task, "event.not_started")
            assert [body.get("listener") for body in told] == [None, at("b")]

    play(story())
