"""What people may decide, and what not: nothing after its time, nothing unread, nothing of other people's tasks."""

import apsw
import pytest

from interlock.connector.tool import ToolCall, tool
from interlock.errors import InterlockError
from interlock.run.human_queue import HumanQueue
from interlock.scope.scope import Scope
from interlock.settings import Policy
from tests.message.scene import agent, bodies, owner, queue_items, to
from tests.run.scene import (
    STEERED,
    Calls,
    JumpingClock,
    at,
    drain,
    go_through,
    killing,
    play,
    tool_giving,
    work_until_killed,
)
from tests.world import sound, world

ASK = (Policy("two pairs of eyes", "ask", "acme", "pay"),)
PAY = {"call": "pay", "with": {"to": "acc-1"}}
QUESTION = {"call": "ask", "with": {"to": "people@acme/platform", "text": "which?"}}


def paying(calls):
    """A tool that people must see before it runs."""
    return tool_giving(calls, "pay", {"paid": 1}, effect="write", parameters=STEERED, steers=["to"])


async def code_of(deciding):
    """The code of the error with which a decision is refused."""
    with pytest.raises(InterlockError) as caught:
        await deciding
    return caught.value.code


@pytest.mark.rule("GT-4", "MS-8")
@pytest.mark.fault("F31")
def test_nobody_decides_when_the_time_is_over_though_no_worker_looked(tmp_path):
    async def story():
        clock, calls = JumpingClock(), Calls()
        script = {at("a"): [PAY, {"finish": "did without"}], at("q"): [QUESTION, {"finish": "did without"}]}
        specs = [agent("a", tools=("pay",)), agent("q", sends=["people"])]
        settings = {"tools": [paying(calls)], "policies": ASK, "clock": clock, "answer_ms": 2000}
        async with world(tmp_path, script, specs, **settings) as runtime:
            runs = [(await go_through(runtime, at(name), "go")).id for name in ("a", "q")]
            queue = HumanQueue(runtime.installation)
            approval, question = await queue.items()
            assert approval.due_at - approval.since == 2000
            clock.move(1.999)
            assert await code_of(queue.answer(question.id, "joana", " ")) == "queue.no_words"
            clock.move(0.001)
            assert await code_of(queue.approve(approval.id, "joana")) == "queue.over"
            assert await code_of(queue.refuse(approval.id, "joana", "late")) == "queue.over"
            assert await code_of(queue.answer(question.id, "joana", "this one")) == "queue.over"
            await drain(runtime)
            assert [(await runtime.run(run)).status for run in runs] == ["finished", "finished"]
            assert (calls, await queue_items(runtime)) == ([], [])
            assert await code_of(queue.approve(approval.id, "joana")) == "queue.answered_already"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("GT-4", "EV-6")
def test_what_cannot_be_read_cannot_be_approved_and_can_be_refused(tmp_path):
    async def story():
        calls = Calls()
        script = {at("a"): [PAY, {"finish": "did without"}]}
        settings = {"tools": [paying(calls)], "policies": ASK}
        async with world(tmp_path, script, [agent("a", tools=("pay",))], **settings) as runtime:
            state = await go_through(runtime, at("a"), "go")
            (asked,) = await bodies(runtime, state.task, "question.asked")
        db = apsw.Connection(str(tmp_path / ".interlock" / "ledger.db"))
        db.execute(
            "UPDATE content SET body = zeroblob(length(body)), form = 0 WHERE digest = ?",
            (bytes.fromhex(asked["form"]),),
        )
        db.close()
        async with world(tmp_path, script, [], **settings) as runtime:
            queue = HumanQueue(runtime.installation)
            (item,) = await queue.items()
            assert item.form.keys() == {"unreadable"}
            assert await code_of(queue.approve(item.id, "joana")) == "queue.unreadable"
            await queue.refuse(item.id, "joana", "nobody can read it")
            assert (calls, await queue.items()) == ([], [])

    play(story())


@pytest.mark.rule("MS-8", "MS-6")
def test_a_task_is_decided_on_by_the_people_it_was_handed_to(tmp_path):
    async def story():
        handing = {"call": "hand_over", "with": {
            "to": "people@acme", "goal": "decide", "facts": [], "remains": [], "reason": "for all"}}  # fmt: skip
        people = {"ana": {"approver": (Scope("acme"),)}, "joana": {"approver": (Scope("acme/platform"),)}}
        specs = [agent("a", hands=["people@acme"]), agent("b")]
        async with world(tmp_path, {at("a"): [handing]}, specs, people=people) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert (await owner(runtime, state.task))[0] == "people@acme"
            queue = HumanQueue(runtime.installation)
            (listed,) = await queue.items()
            assert (listed.scope, listed) == ("acme", await queue.find(state.task[:-4]))
            for deciding in (queue.take(state.task, "joana"), queue.close(state.task, "joana", "no"),
                             queue.give(state.task, "joana", to("b")[0])):  # fmt: skip
                assert await code_of(deciding) == "queue.no_role"
            await queue.take(state.task, "ana")
            (taken,) = await queue.items()
            assert (taken.scope, taken.owner) == ("acme", "person:ana"), "still theirs"
            assert taken.form["goal"] == "go", "in the words of whoever asked"
            assert await code_of(queue.give(state.task, "ana", to("b")[0], "x" * 9000)) == "queue.too_long"
            assert await code_of(queue.close(state.task, "ana", "")) == "queue.no_words"
            await queue.close(state.task, "ana", "decided")
            assert await code_of(queue.take(state.task, "ana")) == "queue.closed_already"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("AC-2", "MS-8")
def test_a_question_about_an_action_that_was_done_meanwhile_is_put_away(tmp_path):
    async def story():
        clock, keys = JumpingClock(), []

        @tool(
            effect="write",
            parameters=STEERED,
            steers=["to"],
            labels=(),
            takes_key=True,
            key="pay:{to}",
            name="pay",
        )
        async def taking(call: ToolCall, to: str) -> dict:
            keys.append(call.idempotency_key)
            return {"receipt": "r-3"}

        script = {at("a"): [PAY, {"finish": "done"}]}
        settings = {"tools": [taking], "clock": clock}
        async with world(tmp_path, script, [agent("a", tools=("pay",))], **settings) as runtime:
            name = await runtime.open_run(at("a"), "maria", "go")
            killing(runtime, lambda point: point == "tool.after_call", 1)
            assert await work_until_killed(runtime)
        clock.move(31)
        async with world(tmp_path, script, [], **settings) as runtime:
            await runtime.cancel(name, "maria")
            await drain(runtime)
            queue = HumanQueue(runtime.installation)
            (item,) = await queue.items()
            assert item.kind == "action"
            assert await code_of(queue.close(item.id, "joana", "seen")) == "queue.not_closable"
            assert (await go_through(runtime, at("a"), "again")).status == "finished"
            assert len(keys) == 2 and len(set(keys)) == 1, "done again under the same key"
            assert await code_of(queue.answer(item.id, "joana", "not_done")) == "queue.action_settled"
            await queue.close(item.id, "joana", "it was done by the next run")
            assert await queue.items() == []
            assert await sound(runtime)

    play(story())
