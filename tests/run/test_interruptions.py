"""Interruptions: what is cancelled, swallowed or raised in the middle of a run leaves it neither open nor in doubt
about what was written."""

import asyncio
import json
import time

import pytest

from interlock.connector.tool import tool
from interlock.errors import InterlockError
from interlock.gate.budget import Budget
from interlock.perspective.fence import data_of
from interlock.run.function import Finish
from interlock.settings import ModelChoice, SecretGrant
from tests.run.scene import Calls, at, go_through, kinds, play, spec_of, tool_giving, trail
from tests.world import sound, world

ANYTHING = {"type": "object", "properties": {}}


def slow_disk(runtime):
    """Let each flush take as long as on a disk that turns."""

    def reach(point):
        if point == "append.before_commit":
            time.sleep(0.02)

    runtime.installation.ledger._group._reach = reach


@pytest.mark.rule("RN-6", "GT-5", "WK-2")
@pytest.mark.parametrize(("wall_ms", "timeout_ms"), [(5, 120_000), (10, 120_000), (100_000, 10)])
def test_a_model_call_that_ends_during_a_flush_leaves_no_run_open(tmp_path, wall_ms, timeout_ms):
    async def story():
        settings = {"models": {"default": ModelChoice("scripted", timeout_ms=timeout_ms, attempts=1)}}
        spec = spec_of("a", limits=Budget(wall_ms=wall_ms))
        async with world(tmp_path, {"*": [{"finish": "x"}]}, [spec], **settings) as runtime:
            slow_disk(runtime)
            state = await go_through(runtime, at("a"), "go")
            assert state.status in {"exhausted", "failed"}
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("RN-6", "AG-6", "RN-4")
def test_a_function_that_gives_up_on_its_own_calls_still_ends(tmp_path):
    async def story():
        calls = Calls()

        async def body(run):
            for number in range(4):
                try:
                    async with asyncio.timeout(0.001 * (number + 1)):
                        await run.call("note", number=number)
                except TimeoutError:
                    continue
            return Finish("done")

        spec = spec_of("f", tools=("note",), function="m:body", instructions="")
        numbered = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
        tools = [tool_giving(calls, "note", {"ok": 1}, effect="write", parameters=numbered)]
        async with world(tmp_path, specs=[spec], tools=tools, functions={"m:body": body}) as runtime:
            slow_disk(runtime)
            state = await go_through(runtime, at("f"))
            assert state.status in {"finished", "failed"}
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("RN-6", "AG-6")
def test_a_call_that_a_function_leaves_behind_is_recorded_before_the_run_ends(tmp_path):
    async def story():
        calls, left = Calls(), []

        async def body(run):
            left.append(asyncio.create_task(run.call("pay")))
            await asyncio.sleep(0)
            return Finish("done")

        spec = spec_of("f", tools=("pay",), function="m:body", instructions="")
        tools = [tool_giving(calls, "pay", {"ok": 1}, effect="write")]
        async with world(tmp_path, specs=[spec], tools=tools, functions={"m:body": body}) as runtime:
            state = await go_through(runtime, at("f"))
            assert state.status == "finished"
            assert (calls.of("pay"), len(await trail(runtime, state.id, "tool.answered"))) == (1, 1)

    play(story())


@pytest.mark.rule("RN-6", "BI-1", "GT-5")
def test_a_tool_that_will_not_be_cancelled_holds_its_run_no_longer_than_its_time(tmp_path):
    async def story():
        @tool(name="stubborn", effect="read", labels=(), parameters=ANYTHING, timeout_ms=50)
        async def stubborn():
            while not released.is_set():
                try:
                    await asyncio.wait_for(released.wait(), 30)
                except (TimeoutError, asyncio.CancelledError):
                    continue

        released = asyncio.Event()
        script = {"*": [{"call": "stubborn"}, {"finish": "went on"}]}
        async with world(tmp_path, script, [spec_of("a", tools=("stubborn",))], tools=[stubborn]) as runtime:
            state = await asyncio.wait_for(go_through(runtime, at("a"), "go"), 20)
            assert state.status == "finished"
            assert (await trail(runtime, state.id, "tool.answered"))[0]["error"]["id"] == "tool.timed_out"
            released.set()

    play(story())


class NativePanic(BaseException):
    """What a library's native code may raise."""


class SalaryOfAnaIs9000(ValueError):
    """A class whose name says what nobody else may know."""


@pytest.mark.rule("RN-6", "RN-3", "SC-6", "GT-7")
@pytest.mark.parametrize(
    "error",
    [
        NativePanic("SalaryOfAnaIs9000"),
        SalaryOfAnaIs9000("SalaryOfAnaIs9000"),
        InterlockError("SalaryOfAnaIs9000"),
        InterlockError("salary.of_ana", value="SalaryOfAnaIs9000"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_tool_raises_is_a_failure_whose_words_stay_out_of_steps(tmp_path, error):
    """The words are the tool's: of another area, so that the barrier keeps them from the run, too."""

    async def story():
        tools = [tool_giving(Calls(), "hr", error, labels=["area:acme/hr"])]
        told = []

        def script(request):
            told.append(request.messages[-1].text)
            return {"call": "hr"} if request.number == 1 else {"finish": "went on"}

        async with world(tmp_path, {"*": script}, [spec_of("a", tools=("hr",))], tools=tools) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert state.status == "finished"
            words = [str(body) for body in await trail(runtime, state.id)] + told
            assert not [text for text in words if "SalaryOfAna" in text or "salary.of" in text]

    play(story())


@pytest.mark.rule("RN-4", "RN-6", "WK-2")
def test_a_write_that_was_made_is_not_in_doubt_after_a_stop_in_the_next_call(tmp_path):
    async def story():
        calls = Calls()
        entered = asyncio.Event()

        @tool(name="slow", effect="read", labels=(), parameters=ANYTHING)
        async def slow():
            entered.set()
            await asyncio.sleep(0 if calls.of("slow") else 60)
            return 1

        script = {"*": [{"calls": [{"call": "pay"}, {"call": "slow"}]}, {"finish": "done"}]}
        tools = [tool_giving(calls, "pay", {"ok": 1}, effect="write"), slow]
        async with world(tmp_path, script, [spec_of("a", tools=("pay", "slow"))], tools=tools) as runtime:
            async with runtime.worker() as worker:
                name = await runtime.open_run(at("a"), "maria", "go", worker=worker)
                await entered.wait()
            calls.append({"tool": "slow"})
            async with runtime.worker() as other:
                await other.drain()
            state = await runtime.run(name)
            assert (state.status, calls.of("pay")) == ("finished", 1)
            assert (await kinds(runtime, name)).count("run.claimed") == 1

    play(story())


@pytest.mark.rule("GT-5")
def test_attempts_that_were_lost_are_paid_for(tmp_path):
    async def story():
        fails = [{"code": "timed_out", "retryable": True, "wait_ms": 0}] * 20
        script = {"*": [{"fails": fails, "finish": "late"}]}
        choice = ModelChoice("scripted", attempts=30, max_output_tokens=1000)
        spec = spec_of("a", limits=Budget(tokens=7_000))
        settings = {"models": {"default": choice}}
        async with world(tmp_path, script, [spec], **settings) as runtime:
            runtime.installation.clock = Hasty()
            state = await go_through(runtime, at("a"), "go")
            assert (state.status, 0 < state.usage.tokens <= 7_000) == ("exhausted", True)
            assert len(await trail(runtime, state.id, "model.asked")) < 7

    play(story())


class Hasty:
    """A clock that waits for nothing."""

    def now(self):
        return time.time_ns() // 1_000_000

    def random_bytes(self, count):
        return bytes(count)

    async def sleep(self, seconds):
        await asyncio.sleep(0)


@pytest.mark.rule("GT-7")
@pytest.mark.parametrize("result", ["number", "cut", "deep"])
def test_a_secret_is_taken_out_of_numbers_long_words_and_deep_results(tmp_path, result):
    async def story():
        secret = "90871234561"

        @tool(name="fetch", effect="read", labels=(), parameters=ANYTHING, secrets=["pin"])
        async def fetch():
            if result == "number":
                return {"pin": int(secret)}
            if result == "cut":
                raise ValueError("x" * 1980 + secret)
            deep = secret
            for _ in range(5000):
                deep = [deep]
            return deep

        settings = {"secrets": {"pin": SecretGrant("PIN", ("fetch",))}, "environment": {"PIN": secret}}
        script = {"*": [{"call": "fetch"}, {"finish": "went on"}]}
        spec = spec_of("a", tools=("fetch",))
        async with world(tmp_path, script, [spec], tools=[fetch], **settings) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert state.status == "finished"
        stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert secret[:8].encode() not in stored

    play(story())


@pytest.mark.rule("BI-3")
def test_a_whole_number_written_as_a_float_reads_an_artifact(tmp_path):
    async def story():
        save = {"call": "save_artifact", "with": {"content": "0123456789"}}

        def script(request):
            if request.number == 1:
                return save
            handle = json.loads(data_of(request.messages[-1].text))["handle"] if request.number == 2 else ""
            read = {"call": "read_artifact", "with": {"name": handle, "start": 4.0}}
            return read if request.number == 2 else {"finish": data_of(request.messages[-1].text)}

        async with world(tmp_path, {"*": script}, [spec_of("a")]) as runtime:
            state = await go_through(runtime, at("a"), "go")
            _, answer = await runtime.artifact(state.id, "final_answer")
            assert answer == b"456789"

    play(story())
