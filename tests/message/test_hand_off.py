"""A hand-off: one owner at any moment, acknowledged in time, else with people; the action ledger fills the package."""

import asyncio

import pytest

from interlock.run.human_queue import HumanQueue
from interlock.run.timer import Timers
from tests.message.scene import agent, bodies, content, handing, owner, prompt_of, queue_items, to
from tests.run.scene import (
    Calls,
    JumpingClock,
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

REFUND = {
    "type": "object",
    "properties": {"order": {"type": "string"}, "amount": {"type": "number"}},
    "required": ["order", "amount"],
}


def refund(calls, **declared):
    """A tool that writes."""
    return tool_giving(
        calls,
        "refund",
        {"receipt": "r-1"},
        effect="write",
        parameters=REFUND,
        steers=["order", "amount"],
        key="{task_id}:refund:{order}",
        **declared,
    )


@pytest.mark.rule("MS-5", "MS-6", "RN-7")
def test_a_hand_off_moves_the_task_with_the_actions_of_the_ledger(tmp_path):
    async def story():
        calls = Calls()
        script = {
            at("a"): [
                {"call": "refund", "with": {"order": "o7", "amount": 40}},
                handing("b", facts=[{"id": "f1", "fact": "the order was late"}], actions=[]),
                handing("b", facts=[{"id": "f1", "fact": "the order was late"}]),
            ],
            at("b"): [{"finish": "closed the case"}],
        }
        specs = [agent("a", hands=["b"], tools=("refund",)), agent("b")]
        async with world(tmp_path, script, specs, tools=[refund(calls)]) as runtime:
            first = await go_through(runtime, at("a"), "please see that o7 is put right")
            (moved,) = await bodies(runtime, first.root_task, "task.handed_over")
            package = await content(runtime, moved["package"])
            assert package["goal"] == "please see that o7 is put right", "in the user's words"
            assert package["actions"] == [
                {
                    "tool": "refund",
                    "arguments": {"order": "o7", "amount": 40},
                    "outcome": "done",
                    "result": {"receipt": "r-1"},
                }
            ]
            second = await runtime.run((await runs_of(runtime, at("b")))[0])
            assert (second.task, second.root_task, second.epoch) == (first.task, first.root_task, 2)
            assert second.place.hop == 1
            assert await owner(runtime, first.task) == (at("b"), 2, None, "finished")
            rejected = await bodies(runtime, first.root_task, "message.rejected")
            assert [item["rule"] for item in rejected] == ["arguments"], "no model can say what was done"
            prompt = await prompt_of(runtime, "b")
            assert "the order was late" in prompt and "r-1" in prompt
            assert (first.status, first.reason["id"]) == ("finished", "run.handed_over")
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("MS-7", "MS-8")
@pytest.mark.fault("F31")
def test_a_hand_off_that_nobody_acknowledges_goes_to_people_and_a_late_one_changes_nothing(tmp_path):
    async def story():
        clock, calls = JumpingClock(), Calls()
        script = {at("a"): [handing("b", reason="billing knows better")], at("b"): [{"finish": "late"}]}
        specs = [agent("a", hands=["b"]), agent("b")]
        async with world(tmp_path, script, specs, tools=[refund(calls)], clock=clock) as runtime:
            async with runtime.worker() as worker:
                name = await runtime.open_run(at("a"), "maria", "go", worker=worker)
                await worker.finished(name)
            task = (await runtime.run(name)).task
            assert (await owner(runtime, task))[0] == at("b"), "the moment it is handed over"
            assert (await owner(runtime, task))[2] is not None
            clock.move(29.9)
            assert await Timers(runtime.installation).fire() == 0
            clock.move(0.2)
            assert await Timers(runtime.installation).fire() == 1
            assert await owner(runtime, task) == ("people@acme/platform", 3, None, "open")
            (queued,) = await bodies(runtime, task, "task.queued")
            assert queued["reason"]["id"] == "task.not_acknowledged"
            (item,) = await queue_items(runtime)
            assert (item.kind, item.form["reasons"]) == (
                "task",
                [{"from": at("a"), "reason": "billing knows better"}],
            )
            await drain(runtime)
            late = await runtime.run((await runs_of(runtime, at("b")))[0])
            assert (late.status, late.reason["id"]) == ("cancelled", "run.late_acknowledgement")
            assert late.answers == 0, "it never began"
            assert await owner(runtime, task) == ("people@acme/platform", 3, None, "open")
            assert await bodies(runtime, task, "task.acknowledged") == []
            assert await Timers(runtime.installation).fire() == 0
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("MS-6")
@pytest.mark.fault("F21", "F22")
def test_of_several_hand_offs_in_one_answer_one_wins_and_every_call_has_its_result(tmp_path):
    async def story():
        for number, others in enumerate((("b", "c"), ("b", "b"))):
            folder = tmp_path / str(number)
            folder.mkdir()
            calls = Calls()
            answer = {
                "calls": [
                    handing(others[0]),
                    {"call": "look"},
                    handing(others[1]),
                    {"call": "refund", "with": {"order": "o1", "amount": 1}},
                ]
            }
            later = [{"call": "refund", "with": {"order": "o2", "amount": 2}}, {"finish": "mine is over"}]
            script = {at("a"): [answer, *later], "*": [{"finish": "ok"}]}
            specs = [agent("a", hands=["b", "c"], tools=("look", "refund")), agent("b"), agent("c")]
            tools = [refund(calls), tool_giving(calls, "look", {"found": 5})]
            async with world(folder, script, specs, tools=tools) as runtime:
                state = await go_through(runtime, at("a"), "go")
                assert len(await bodies(runtime, state.root_task, "task.handed_over")) == 1
                answered = {body["call"]: body for body in await trail(runtime, state.id, "tool.answered")}
                assert set(answered) >= {f"call_1_{place}" for place in range(4)}
                assert "handed_over" in answered["call_1_0"]
                assert answered["call_1_2"]["error"]["id"] == "message.handed_over_already"
                prompt = await prompt_of(runtime, "a", 2)
                assert all(f"call_1_{place}" in prompt for place in range(4))
                assert "already" in prompt
                assert answered["call_2_0"]["error"]["id"] == "message.not_owner", "it owns nothing any more"
                assert [call["order"] for call in calls if call["tool"] == "refund"] == ["o1"]
                assert state.status == "finished"
                assert await sound(runtime)

    play(story())


@pytest.mark.rule("EV-7", "MS-8")
@pytest.mark.fault("F19", "F17")
def test_two_agents_that_hand_the_task_to_and_fro_end_with_people_who_see_both_reasons(tmp_path):
    async def story():
        script = {
            at("a"): lambda _: handing("b", reason="it is about money"),
            at("b"): lambda _: handing("a", reason="it is about the parcel"),
        }
        specs = [agent("a", hands=["b"]), agent("b", hands=["a"])]
        async with world(tmp_path, script, specs) as runtime:
            state = await go_through(runtime, at("a"), "who does it?")
            runs = [*(await runs_of(runtime, at("a"))), *(await runs_of(runtime, at("b")))]
            hops = sorted([(await runtime.run(run)).place.hop for run in runs])
            assert hops == list(range(9))
            assert sum([(await runtime.run(run)).answers for run in runs]) == 9, "the cost is bounded"
            (queued,) = await bodies(runtime, state.root_task, "task.queued")
            assert queued["reason"]["id"] == "chain.limit_hand_off"
            (item,) = await queue_items(runtime)
            assert item.form["reasons"] == [
                {"from": at("a"), "reason": "it is about money"},
                {"from": at("b"), "reason": "it is about the parcel"},
            ], "each said once"
            assert (await owner(runtime, state.task))[0] == "people@acme/platform"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("PX-4", "MS-5")
@pytest.mark.fault("F24")
def test_the_receiver_sees_the_package_and_nothing_of_the_sender_s_run(tmp_path):
    async def story():
        calls = Calls()
        turns = iter(range(100))
        handed = []

        def a(request):
            if request.number == 1:
                return {"call": "look"}
            handed.append(next(turns))
            return handing("b", facts=[{"id": "f", "fact": "the parcel is at the depot"}])

        script = {at("a"): a, at("b"): lambda _: handing("a", reason="yours")}
        specs = [
            agent("a", hands=["b"], tools=("look",), instructions="CANARY-INSTRUCTION you are a."),
            agent("b", hands=["a"]),
        ]
        tools = [tool_giving(calls, "look", {"raw": "CANARY-RESULT " * 50})]
        async with world(tmp_path, script, specs, tools=tools, chain_limit=6) as runtime:
            await go_through(runtime, at("a"), "go")
            assert len(handed) >= 3
            prompts = [await prompt_of(runtime, "b", which=which) for which in range(3)]
            assert not any("CANARY" in prompt for prompt in prompts)
            assert all(prompt.count("the parcel is at the depot") == 1 for prompt in prompts)
            assert len({len(prompt) for prompt in prompts}) == 1, "the same size, however often"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("MS-7", "RN-4")
def test_a_receiver_that_fails_is_tried_again_and_then_people_have_the_task(tmp_path):
    async def story():
        script = {at("a"): [handing("b")], at("b"): [{"fail": {"code": "rejected"}}] * 9}
        async with world(
            tmp_path, script, [agent("a", hands=["b"]), agent("b")], clock=JumpingClock(), retries=2
        ) as runtime:
            state = await go_through(runtime, at("a"), "go")
            runs = [await runtime.run(run) for run in await runs_of(runtime, at("b"))]
            assert [run.status for run in runs] == ["failed"] * 3
            assert {run.place.hop for run in runs} == {1}, "a retry keeps its place"
            assert (await owner(runtime, state.task))[0] == "people@acme/platform"
            (queued,) = await bodies(runtime, state.root_task, "task.queued")
            assert queued["reason"]["id"] == "task.receiver_failed"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("MS-8", "MS-6")
def test_a_person_takes_a_task_from_an_agent_gives_it_on_and_it_is_acknowledged(tmp_path):
    async def story():
        calls = Calls()
        gate, entered = asyncio.Event(), asyncio.Event()

        async def slow(**_):
            entered.set()
            await gate.wait()
            return 1

        item = tool_giving(calls, "slow", 1)
        item = type(item)(item.declaration, slow)
        script = {
            at("a"): [{"call": "slow"}, {"call": "refund", "with": {"order": "o1", "amount": 1}}],
            at("b"): [{"finish": "done by b"}],
        }
        specs = [agent("a", tools=("slow", "refund")), agent("b")]
        async with world(tmp_path, script, specs, tools=[item, refund(calls)]) as runtime:
            queue = HumanQueue(runtime.installation)
            async with runtime.worker() as worker:
                name = await runtime.open_run(at("a"), "maria", "go", worker=worker)
                await entered.wait()
                task = (await runtime.run(name)).task
                await queue.take(task, "joana")
                assert (await owner(runtime, task))[:2] == ("person:joana", 2)
                gate.set()
                await worker.idle()
            state = await runtime.run(name)
            assert (state.status, state.reason["id"]) == ("cancelled", "run.task_taken")
            assert calls.of("refund") == 0, "whoever no longer owns it cannot act"
            await queue.give(task, "joana", to("b")[0], "please finish it")
            await drain(runtime)
            assert await owner(runtime, task) == (at("b"), 3, None, "finished")
            (moved,) = await bodies(runtime, task, "task.handed_over")
            assert (await content(runtime, moved["package"]))["reason"] == "please finish it"
            assert moved["by"] == "joana"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("MS-6")
def test_a_task_is_handed_to_people_where_the_version_says_so(tmp_path):
    async def story():
        script = {at("a"): [{"call": "hand_over", "with": {
            "to": "people@acme/platform", "goal": "decide", "facts": [], "remains": [], "reason": "a person must"}}],
            at("c"): [handing("b"), {"finish": "so be it"}]}  # fmt: skip
        specs = [agent("a", hands=["people"]), agent("b"), agent("c", hands=["people"])]
        async with world(tmp_path, script, specs) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert (await owner(runtime, state.task))[:2] == ("people@acme/platform", 2)
            queue = HumanQueue(runtime.installation)
            await queue.close(state.task, "maria", "settled by phone")
            assert (await owner(runtime, state.task))[3] == "closed"
            other = await go_through(runtime, at("c"), "go")
            assert (await owner(runtime, other.task))[:2] == (at("c"), 1), "nobody else may have it"
            judged = await trail(runtime, other.id, "tool.judged")
            assert (judged[0]["rule"], judged[0]["reason"]["id"]) == ("grant", "gate.not_a_recipient")
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("RN-2", "MS-7")
def test_verify_names_a_hand_off_or_a_question_that_nothing_would_ever_end(tmp_path):
    async def story():
        for number, script in enumerate(
            (
                {at("a"): [handing("b")]},
                {at("a"): [{"call": "ask", "with": {"to": "people@acme/platform", "text": "may I?"}}]},
            )
        ):
            folder = tmp_path / str(number)
            folder.mkdir()
            specs = [agent("a", hands=["b"], sends=["people"]), agent("b")]
            async with world(folder, script, specs, clock=JumpingClock()) as runtime:
                async with runtime.worker() as worker:
                    name = await runtime.open_run(at("a"), "maria", "go", worker=worker)
                    await worker.finished(name)
                assert await sound(runtime)
                runtime._ledger._db.execute("DELETE FROM timer")
                found = [(item.problem, item.stream) async for item in runtime.verify()]
                assert found == [("no_timer", (await runtime.run(name)).root_task)]

    play(story())


@pytest.mark.rule("MS-7", "RN-4")
@pytest.mark.fault("F22")
def test_who_acknowledged_in_time_and_handed_on_is_not_late_when_resumed(tmp_path):
    async def story():
        clock, calls = JumpingClock(), Calls()
        script = {
            at("a"): [handing("b")],
            at("b"): [{"calls": [handing("c"), {"call": "look"}]}, {"finish": "handed on, with what I saw"}],
            at("c"): [{"finish": "done"}],
        }
        specs = [agent("a", hands=["b"]), agent("b", hands=["c"], tools=("look",)), agent("c")]
        settings = {"tools": [tool_giving(calls, "look", 5)], "clock": clock, "acknowledge_ms": 60_000}
        async with world(tmp_path, script, specs, **settings) as runtime:
            name = await runtime.open_run(at("a"), "maria", "go")
            killing(runtime, lambda point: point == "hand_off.after_send", 2)
            assert await work_until_killed(runtime)
        clock.move(31)
        async with world(tmp_path, script, [], **settings) as runtime:
            await drain(runtime)
            b = await runtime.run((await runs_of(runtime, at("b")))[0])
            assert (b.status, b.reason) == ("finished", None), "its acknowledgement was not late"
            assert calls.of("look") == 1
            task = (await runtime.run(name)).task
            assert await owner(runtime, task) == (at("c"), 3, None, "finished")
            assert await sound(runtime)

    play(story())
