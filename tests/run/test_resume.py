"""Resuming: from every prefix of a trail a run comes to the same end, and what is recorded is not done again."""

import asyncio
import shutil

import pytest

from interlock.agent.spec import Emission
from interlock.connector.model.scripted import ScriptedModel
from interlock.errors import InterlockError
from tests.run.scene import (
    Calls,
    JumpingClock,
    all_steps,
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

REPORT = Emission("done", "work", ("report",))
SPECS = [
    spec_of("a", tools=("look", "write"), emits=[REPORT]),
    spec_of("b", starts_on=["done"]),
]
WRITTEN = {"effect": "write"}


class Counting(ScriptedModel):
    """A scripted model that keeps which requests it answered."""

    def __init__(self, script):
        super().__init__(script)
        self.answered = []

    async def ask(self, request, before_send):
        answer = await super().ask(request, before_send)
        self.answered.append((request.agent, request.number))
        return answer


SCRIPT = {
    at("a"): [
        {"calls": [{"call": "look", "with": {"n": 1}}, {"call": "look", "with": {"n": 2}}]},
        {"call": "save_artifact", "with": {"content": "bulk"}},
        {"call": "write", "with": {"n": 3}},
        {"finish": {"summary": "done", "artifacts": {"report": "r"}}},
    ],
    at("b"): [{"call": "read_artifact", "with": {"name": "report"}}, {"finish": "ok"}],
}


def settings_of(clock, calls, model):
    """The same installation, for each of the processes that work on it."""
    tools = [
        tool_giving(calls, "look", lambda **given: {"found": given["n"]}),
        tool_giving(calls, "write", {"ok": True}, **WRITTEN),
    ]
    return {"tools": tools, "clock": clock, "model": model}


async def outcome(runtime):
    """What must be the same, however often a run was interrupted: the ends, the artifacts and what was asked."""
    found = {}
    for agent in (at("a"), at("b")):
        for name in await runs_of(runtime, agent):
            state = await runtime.run(name)
            artifacts = {
                key: (item["digest"], tuple(item["labels"])) for key, item in state.artifacts.items()
            }
            found[agent] = (state.status, artifacts, state.answers, sorted(state.labels), len(state.calls))
    return found


def recorded_in(bodies):
    """Which model answers and which tool results stand in a trail."""
    answers = {body["n"] for body in bodies if "answer" in body and "calls" in body}
    results = {body["call"] for body in bodies if "result" in body or "error" in body}
    return answers, results


@pytest.mark.rule("RN-4", "EV-5", "RN-2")
def test_a_run_goes_on_from_every_prefix_of_its_trail(tmp_path):
    async def one(key, number, written, expected):
        folder = tmp_path / f"{number}-{written}"
        (folder / ".interlock").mkdir(parents=True)
        shutil.copy(key, folder / ".interlock" / "key")
        clock, calls, model = JumpingClock(), Calls(), Counting(SCRIPT)
        settings = settings_of(clock, calls, model)
        async with world(folder, None, SPECS, **settings) as runtime:
            name = await runtime.open_run(at("a"), "maria", "go")
            killing_at_append(runtime, number, written=written)
            killed = await work_until_killed(runtime)
        asked, called = list(model.answered), len(calls)
        clock.move(31)
        async with world(folder, None, [], **settings) as runtime:
            answers, results = recorded_in(await trail(runtime, name))
            await drain(runtime)
            state = await runtime.run(name)
            if state.status == "open":
                assert [kind for kind, _ in await asked_in(runtime, name)] == ["action"]
                assert calls.of("write") <= 1
                assert "call_3_0" not in results
            else:
                assert await outcome(runtime) == expected
                assert calls.of("write") == 1
            again = [number for agent, number in model.answered[len(asked) :] if agent == at("a")]
            assert not set(again) & answers
            assert calls[called:] == [] or results <= {"call_1_0", "call_1_1", "call_2_0"}
            assert len(await runs_of(runtime, at("b"))) == (1 if state.status == "finished" else 0)
            assert await sound(runtime)
        return killed

    async def story():
        clock, calls, model = JumpingClock(), Calls(), Counting(SCRIPT)
        whole = tmp_path / "whole"
        whole.mkdir()
        async with world(whole, None, SPECS, **settings_of(clock, calls, model)) as runtime:
            await go_through(runtime, at("a"), "go")
            expected = dict((await outcome(runtime)).items())
        # Digests are keyed by installation: the same key makes the outcomes comparable.
        key = whole / ".interlock" / "key"
        number = 1
        while any([await one(key, number, written, expected) for written in (False, True)]):
            number += 1
        assert number > 8

    play(story())


@pytest.mark.rule("RN-4", "AC-2")
@pytest.mark.parametrize(
    "point",
    [
        "model.before_send",
        "model.after_answer",
        "tool.before_call",
        "tool.after_call",
        "run.before_close",
        "run.after_close",
    ],
)
def test_a_run_killed_at_a_fault_point_goes_on_and_writes_at_most_once(tmp_path, point):
    async def story():
        for count in (1, 2, 3):
            folder = tmp_path / str(count)
            folder.mkdir()
            clock, calls, model = JumpingClock(), Calls(), Counting(SCRIPT)
            settings = settings_of(clock, calls, model)
            async with world(folder, None, SPECS, **settings) as runtime:
                name = await runtime.open_run(at("a"), "maria", "go")
                killing(runtime, lambda reached: reached == point, count)
                await work_until_killed(runtime)
            clock.move(31)
            async with world(folder, None, [], **settings) as runtime:
                await drain(runtime)
                state = await runtime.run(name)
                in_doubt = point.startswith("tool.") and count == 3
                assert state.status == ("open" if in_doubt else "finished")
                assert [kind for kind, _ in await asked_in(runtime, name)] == ["action"] * in_doubt
                assert calls.of("write") <= 1
                assert await sound(runtime)

    play(story())


@pytest.mark.rule("RN-4", "RN-5")
def test_two_takeovers_of_one_run_leave_one_story(tmp_path):
    """Whoever lost its lease writes nothing more, and says nothing of it."""

    async def story():
        clock, calls = JumpingClock(), Calls()
        waiting = asyncio.Event()

        async def slow(**_):
            calls.append({"tool": "slow"})
            if len(calls) == 1:
                await waiting.wait()
            return 1

        item = tool_giving(calls, "slow", 1)
        item = type(item)(item.declaration, slow)
        script = {"*": [{"call": "slow"}, {"finish": "done"}]}
        async with world(
            tmp_path, script, [spec_of("a", tools=("slow",))], tools=[item], clock=clock
        ) as runtime:
            name = await runtime.open_run(at("a"), "maria")
            async with runtime.worker() as first, runtime.worker() as second:
                await first.claim()
                while not calls:
                    await asyncio.sleep(0)
                clock.move(31)
                assert await second.claim() == 1
                await second.idle()
                assert (await runtime.run(name)).status == "finished"
                before = await kinds(runtime, name)
                waiting.set()
                await first.idle()
                assert await kinds(runtime, name) == before
                assert before.count("run.closed") == 1
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("RN-2", "RN-4")
@pytest.mark.fault("F33")
def test_a_clock_that_stands_still_or_goes_back_changes_no_order(tmp_path):
    async def story():
        clock, calls = JumpingClock(), Calls()
        script = {"*": [*[{"call": "look", "with": {"n": n}} for n in range(12)], {"finish": "done"}]}
        tools = [tool_giving(calls, "look", lambda **given: given["n"])]
        specs = [spec_of("a", tools=("look",))]
        async with world(tmp_path, script, specs, tools=tools, clock=clock) as runtime:
            first = await go_through(runtime, at("a"))
            clock.move(-3600)
            second = await go_through(runtime, at("a"))
            assert len({step.at for step in await all_steps(runtime) if step.stream == first.id}) == 1
            assert (first.status, second.status) == ("finished", "finished")
            assert await kinds(runtime, first.id) == await kinds(runtime, second.id)
            assert len(await kinds(runtime, first.id)) >= 50
            assert await runs_of(runtime, at("a")) == [first.id, second.id]
            order = list(await trail(runtime, second.id))
            for _ in range(100):
                assert list(await trail(runtime, second.id)) == order
            assert second.usage.wall_ms == 0
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("RN-4", "WK-4")
@pytest.mark.parametrize("code", ["ledger.unwritable", "ledger.busy"])
def test_a_ledger_that_cannot_be_written_for_a_while_fails_no_run_and_strands_none(tmp_path, code):
    """One after the other, each append of a run fails for a while, and with it all that come after it."""

    async def story():
        for number in range(1, 12):
            folder = tmp_path / str(number)
            folder.mkdir()
            clock, calls, model = JumpingClock(), Calls(), Counting(SCRIPT)
            async with world(folder, None, SPECS, **settings_of(clock, calls, model)) as runtime:
                ledger = runtime.installation.ledger
                append, made = ledger.append, []

                async def full(*given, append=append, made=made, number=number, **more):
                    made.append(1)
                    if number <= len(made) < number + 4:
                        raise InterlockError(code, file="ledger.db", why="full", seconds=60)
                    return await append(*given, **more)

                async with runtime.worker() as worker:
                    name = await runtime.open_run(at("a"), "maria", "go", worker=worker)
                    ledger.append = full
                    while worker._tasks:
                        await asyncio.wait(worker._tasks.values())
                    ledger.append = append
                    await worker.drain()
                    state = await runtime.run(name)
                    doubted = [kind for kind, _ in await asked_in(runtime, name)] == ["action"]
                    assert state.status == ("open" if doubted else "finished")
                    assert calls.of("write") == 1
                assert await sound(runtime)

    play(story())


@pytest.mark.rule("AC-2", "RN-4")
@pytest.mark.parametrize("effect", ["read", "write"])
def test_a_call_whose_result_could_not_be_kept_is_not_told_as_one_that_failed(tmp_path, effect):
    """A read is made again when there is room; a write has happened, so it is in doubt and is not made again."""

    async def story():
        calls, clock = Calls(), JumpingClock()
        tools = [tool_giving(calls, "export", "e" * 400_000, effect=effect)]
        script = {"*": [{"call": "export"}, {"finish": "done"}]}
        async with world(
            tmp_path, script, [spec_of("a", tools=("export",))], tools=tools, clock=clock
        ) as runtime:
            contents = runtime.installation.contents
            keep_any, failing = contents.keep_any, [1]

            async def full(company, data):
                if len(data) > 300_000 and failing:
                    failing.pop()
                    raise InterlockError("content.unwritable", file="objects", why="full")
                return await keep_any(company, data)

            contents.keep_any = full
            name = await runtime.open_run(at("a"), "maria")
            await drain(runtime)
            state = await runtime.run(name)
            assert failing == []
            if effect == "read":
                assert (state.status, len(calls)) == ("finished", 2)
            else:
                assert (state.status, len(calls)) == ("open", 1)
                assert [kind for kind, _ in await asked_in(runtime, name)] == ["action"]
            assert all("error" not in body for body in await trail(runtime, name, "tool.answered"))

    play(story())


@pytest.mark.rule("CS-8", "BI-1")
def test_a_run_whose_version_cannot_be_read_ends_and_says_so(tmp_path):
    async def story():
        script = {"*": [{"finish": "done"}]}
        async with world(tmp_path, script, [spec_of("a"), spec_of("b")]) as runtime:
            names = [await runtime.open_run(at(agent), "maria") for agent in ("a", "b")]
            row = (await runtime.installation.ledger.query("version_of_agent", at("a"), 1))[0]
            runtime.installation._specs.clear()
            read = runtime.installation.contents.read

            async def damaged(digest):
                return await read("ab" * 32 if digest == row[2] else digest)

            runtime.installation.contents.read = damaged
            await drain(runtime)
            states = [await runtime.run(name) for name in names]
            assert [state.status for state in states] == ["failed", "finished"]
            assert states[0].reason == {"id": "run.broke", "with": {"kind": "content.missing"}}
            assert await runtime.installation.ledger.query("lease_of_run", names[0]) == []

    play(story())
