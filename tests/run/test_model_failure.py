"""Failures of models: tried again with a wait that is recorded, a bounded number of times, also across a crash."""

import pytest

from interlock.connector.model.scripted import ScriptedModel
from interlock.settings import ModelChoice
from tests.run.scene import (
    JumpingClock,
    at,
    drain,
    go_through,
    killing,
    kinds,
    play,
    spec_of,
    trail,
    work_until_killed,
)
from tests.world import sound, world


@pytest.mark.rule("WK-4", "RN-6")
@pytest.mark.parametrize(
    ("code", "status", "asked_ms"),
    [("rate_limited", 429, 7_000), ("unavailable", 500, None), ("timed_out", None, None)],
)
def test_a_call_is_tried_again_after_a_wait_that_grows_and_is_recorded(tmp_path, code, status, asked_ms):
    async def story():
        clock = JumpingClock()
        failure = {
            "code": code,
            **({"status": status} if status else {}),
            **({"wait_ms": asked_ms} if asked_ms else {}),
        }
        script = {"*": [{"fails": [failure] * 4, "text": "done"}]}
        async with world(tmp_path, script, [spec_of("a")], clock=clock) as runtime:
            state = await go_through(runtime, at("a"))
            assert state.status == "finished"
            order = [kind for kind in await kinds(runtime, state.id) if kind.startswith("model.")]
            assert order == ["model.asked", "model.failed"] * 4 + ["model.asked", "model.answered"]
            failed = await trail(runtime, state.id, "model.failed")
            assert [(item["code"], item["status"]) for item in failed] == [(code, status)] * 4
            waits = [item["wait_ms"] for item in failed]
            assert [round(wait / 1000, 3) for wait in waits] == [round(slept, 3) for slept in clock.slept]
            for attempt, wait in enumerate(waits, 1):
                longest = max(min(60_000, 500 << attempt), asked_ms or 0)
                assert max(longest // 2 if not asked_ms else 0, asked_ms or 0) <= wait <= longest
            snapshots = {item["snapshot"] for item in await trail(runtime, state.id, "model.asked")}
            assert len(snapshots) >= 1
            assert state.attempts == 0

    play(story())


@pytest.mark.rule("WK-4", "BI-3", "RN-6")
@pytest.mark.parametrize(
    ("code", "attempts"), [("unavailable", 3), ("rejected", 1), ("unauthorized", 1), ("malformed", 1)]
)
def test_attempts_are_bounded_and_what_is_not_worth_it_is_not_tried_again(tmp_path, code, attempts):
    async def story():
        clock = JumpingClock()
        script = {"*": [{"fail": {"code": code, "detail": "the provider's words"}}]}
        models = {"default": ModelChoice("scripted", attempts=3)}
        async with world(tmp_path, script, [spec_of("a")], clock=clock, models=models) as runtime:
            state = await go_through(runtime, at("a"))
            assert state.status == "failed"
            assert state.reason["with"] == {"code": code, "attempts": attempts, "role": "default"}
            failed = await trail(runtime, state.id, "model.failed")
            assert len(failed) == attempts
            assert failed[-1]["wait_ms"] == 0
            assert await runtime.installation.contents.read(failed[0]["detail"]) == b"the provider's words"

    play(story())


@pytest.mark.rule("WK-4", "RN-4")
@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_crash_among_the_attempts_does_not_lose_their_count(tmp_path, after):
    async def story():
        clock = JumpingClock()
        script = {"*": [{"fail": {"code": "unavailable"}}]}
        settings = {"clock": clock, "models": {"default": ModelChoice("scripted", attempts=4)}}
        async with world(tmp_path, script, [spec_of("a")], **settings) as runtime:
            name = await runtime.open_run(at("a"), "maria")
            killing(runtime, lambda point: point == "model.before_send", after)
            assert await work_until_killed(runtime)
        clock.move(31)
        async with world(tmp_path, script, [], **settings) as runtime:
            await drain(runtime)
            state = await runtime.run(name)
            assert (state.status, state.reason["with"]["attempts"]) == ("failed", 4)
            assert len(await trail(runtime, name, "model.asked")) == 4
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("WK-4", "BI-1")
def test_a_model_that_breaks_in_itself_ends_its_run_alone(tmp_path):
    async def story():
        class Broken(ScriptedModel):
            async def ask(self, request, before_send):
                if request.agent == at("bad"):
                    raise RuntimeError("KANARIE")
                return await super().ask(request, before_send)

        model = Broken({"*": [{"text": "done"}]})
        specs = [spec_of("bad"), spec_of("good")]
        async with world(tmp_path, None, specs, model=model) as runtime, runtime.worker() as worker:
            names = [await runtime.open_run(at(name), "maria", worker=worker) for name in ("bad", "good")]
            await worker.idle()
            states = [await runtime.run(name) for name in names]
            assert [state.status for state in states] == ["failed", "finished"]
            assert states[0].reason == {"id": "run.broke", "with": {"kind": "RuntimeError"}}
            closed = (await trail(runtime, names[0], "run.closed"))[0]
            assert b"KANARIE" in await runtime.installation.contents.read(closed["detail"])

    play(story())
