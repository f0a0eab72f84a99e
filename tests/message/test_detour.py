"""A detour: whatever a chain of messages passes through on its way, its place survives, and the limit holds (EV-7)."""

import pytest

from interlock.run.human_queue import HumanQueue
from interlock.settings import Policy
from tests.message.scene import agent, bodies, handing, owner, queue_items, report, to
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

LIMIT = 3
POLICIES = (Policy("two pairs of eyes", "ask", "acme", "pay"),)
DETOURS = {
    "none": None,
    "an approval": {"call": "pay"},
    "a person's answer": {"call": "ask", "with": {"to": "people@acme/platform", "text": "may I?"}},
    "a crash": {"call": "look"},
    "a retry": {"fail": {"code": "rejected"}},
    "an answer of another agent": {"call": "ask", "with": {"to": at("oracle"), "text": "which way?"}},
}


def next_of(name):
    """Whom an agent of the pair gives it to."""
    return "b" if name == "a" else "a"


def going_on(way, name):
    """Give the call by which the chain goes on."""
    if way == "hand_off":
        return handing(next_of(name))
    return {"call": "delegate", "with": {"to": to(next_of(name))[0], "goal": "go on"}}


class Travellers:
    """The model of both agents: the detour first, then on to the other one, then the end."""

    def __init__(self, way, detour):
        self._way, self._detour, self._begun = way, DETOURS[detour], 0

    def __call__(self, request):
        name = request.agent.partition("@")[0]
        asked = [call.name for message in request.messages for call in message.calls]
        if request.number == 1:
            self._begun += 1
            # Who was opened by a person is not tried again; of those after it every other run fails.
            if self._detour is not None and not ("fail" in self._detour and self._begun % 2):
                return self._detour
        if not {"hand_over", "delegate"} & set(asked):
            return going_on(self._way, name)
        owes = any(offer.name == "report" for offer in request.tools)
        return report() if owes and "report" not in asked else {"finish": "gave up"}


async def see_through(runtime):
    """Work to the end, with people who allow and answer whatever they are asked."""
    queue = HumanQueue(runtime.installation)
    for _ in range(4 * LIMIT):
        await drain(runtime)
        for item in await queue_items(runtime):
            if item.kind == "approval":
                await queue.approve(item.id, "joana")
            elif item.kind == "question":
                await queue.answer(item.id, "joana", "yes")


@pytest.mark.rule("EV-7", "EV-6", "MS-8")
@pytest.mark.fault("F17")
@pytest.mark.parametrize("way", ["hand_off", "delegation"])
@pytest.mark.parametrize("detour", DETOURS)
def test_no_run_starts_beyond_the_limit_whatever_the_chain_passes_through(tmp_path, way, detour):
    async def story():
        clock, calls, model = JumpingClock(), Calls(), Travellers(way, detour)
        script = {at("a"): model, at("b"): model, at("oracle"): [{"finish": "that way"}]}
        tools = [
            tool_giving(calls, "pay", 1, effect="write", key="{task_id}:pay"),
            tool_giving(calls, "look", 1),
        ]
        settings = {"tools": tools, "clock": clock, "policies": POLICIES, "chain_limit": LIMIT}
        settings |= {"acknowledge_ms": 600_000}
        specs = [
            agent(
                name, sends=[next_of(name), "oracle", "people"], hands=[next_of(name)], tools=("pay", "look")
            )
            for name in ("a", "b")
        ]
        async with world(tmp_path, script, [*specs, agent("oracle")], **settings) as runtime:
            name = await runtime.open_run(at("a"), "maria", "go")
        for number in range(1, 5 if detour == "a crash" else 0):
            async with world(tmp_path, script, [], **settings) as runtime:
                killing(runtime, lambda point: point == "model.after_answer", number)
                assert await work_until_killed(runtime)
            clock.move(31)
        async with world(tmp_path, script, [], **settings) as runtime:
            await see_through(runtime)
            runs = [run for who in ("a", "b") for run in await runs_of(runtime, at(who))]
            hops = {(await runtime.run(run)).place.hop for run in runs}
            assert hops == set(range(LIMIT + 1)), "as far as the limit, and no further"
            for run in await runs_of(runtime, at("oracle")):
                assert (await runtime.run(run)).place.hop <= LIMIT
            root = (await runtime.run(name)).root_task
            if way == "hand_off":
                assert (await owner(runtime, root))[0] == "people@acme/platform"
                (queued,) = await bodies(runtime, root, "task.queued")
                assert queued["reason"]["id"] == "chain.limit_hand_off", "the exchange says why"
            else:
                answered = [body for run in runs for body in await trail(runtime, run, "tool.answered")]
                said = {body["error"]["id"] for body in answered if "error" in body}
                assert "chain.limit_delegation" in said, "the trail says why"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("MS-7", "RN-6", "MS-8")
@pytest.mark.fault("F26")
def test_a_body_that_raises_is_tried_a_bounded_number_of_times_and_then_people_have_the_task(tmp_path):
    async def story():
        entered = []

        async def body(run):
            entered.append(1)
            raise ValueError("it is not what I expected")

        specs = [agent("a", hands=["b"]), agent("b", function="m:body")]
        async with world(
            tmp_path, {at("a"): [handing("b")]}, specs, functions={"m:body": body}, retries=2
        ) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert len(entered) == 3
            assert (await owner(runtime, state.task))[0] == "people@acme/platform"
            (queued,) = await bodies(runtime, state.root_task, "task.queued")
            assert queued["reason"]["id"] == "task.receiver_failed"
            (item,) = await queue_items(runtime)
            assert item.kind == "task"
            assert await sound(runtime)

    play(story())
