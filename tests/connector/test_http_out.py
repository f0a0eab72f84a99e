"""Answers go out signed, to one address, as an action would: once, and in doubt where nobody knows. They are known when
they come back, so that no agent hears itself and every chain goes on where it was."""

import asyncio
import json
import threading
import time

import pytest

from interlock.run.outgoing import Outgoing, send_again
from interlock.run.worker import Worker
from interlock.settings import MessageMapping
from interlock.testing.clock import MovableClock
from tests.connector.http_world import JSON, chat, count, door, message, outside, sees, signed
from tests.run.scene import at, drain, play, read_all, runs_of
from tests.world import sound, steps_of

ANSWER = {"*": lambda request: {"finish": "an answer"}}
ROOM = ["u1", "u2"]


@pytest.fixture
def clock():
    """A clock that is right, and stands until it is moved."""
    return MovableClock(now=int(time.time() * 1000))


async def states(runtime, agent="a"):
    """Give what the steps say became of what an agent said, in order."""
    ledger = runtime.installation.ledger
    talks = await ledger.within(at(agent), "conversations_after", "", 99)
    steps = [step for (name, *_) in talks for step in await steps_of(runtime, name)]
    return [step.body["status"] for step in steps if step.kind == "message.delivered"]


@pytest.mark.rule("UI-5")
def test_an_answer_goes_out_signed_to_its_thread_with_what_it_answers(tmp_path):
    async def story():
        with outside((201, {"id": "x1"})) as other:
            async with door(tmp_path, ANSWER, [sees("a")], chat(other.address)) as there:
                await there.bring(1, "hello", room=ROOM)
                await drain(there.runtime)
                (told,) = other.told
                assert (
                    told.path == "/answers"
                    and told.fits
                    and told.headers["content-type"] == "application/json"
                )
                event = told.json["id"]
                assert told.json == {"id": event, "thread": "t1", "text": "an answer", "in_reply_to": "m1"}
                assert told.headers["webhook-id"] == event and event.startswith("event_")
                assert await states(there.runtime) == ["delivered"]
                assert count(tmp_path, "outgoing") == 0
                await drain(there.runtime)
                assert len(other.told) == 1
                assert b"whsec_" not in read_all(tmp_path)
                assert await sound(there.runtime)

    play(story())


@pytest.mark.rule("UI-5", "AC-2")
@pytest.mark.parametrize("status", [429, 503, 302, 401])
def test_what_the_outside_did_not_take_this_time_is_sent_again_the_same(tmp_path, clock, status):
    async def story():
        with outside(status, status, 200) as other:
            async with door(tmp_path, ANSWER, [sees("a")], chat(other.address), clock=clock) as there:
                await there.bring(1)
                for tries in (1, 2, 3):
                    await drain(there.runtime)
                    await drain(there.runtime)
                    assert len(other.told) == tries, "not before its time"
                    clock.move(3600)
                assert len({told.body for told in other.told}) == 1
                assert {told.headers["webhook-id"] for told in other.told} == {other.told[0].json["id"]}
                assert await states(there.runtime) == ["failed", "failed", "delivered"]
                assert {told.path for told in other.told} == {"/answers"}, "no redirect is followed"

    play(story())


@pytest.mark.rule("UI-5", "AC-2", "MS-8")
@pytest.mark.parametrize("answer", [500, 504, None])
def test_what_may_have_arrived_is_in_doubt_and_not_sent_again_but_by_a_person(tmp_path, clock, answer):
    async def story():
        with outside(answer, 200) as other:
            async with door(tmp_path, ANSWER, [sees("a")], chat(other.address), clock=clock) as there:
                await there.bring(1)
                for _ in range(3):
                    await drain(there.runtime)
                    clock.move(7200)
                assert (len(other.told), await states(there.runtime)) == (1, ["in_doubt"])
                (item,) = await there.runtime.human_queue.items()
                assert (item.kind, item.form["text"], item.form["connector"]) == (
                    "delivery_in_doubt",
                    "an answer",
                    "chat",
                )
                assert item.form["deadline"] > 0 and item.reason["id"].startswith("connector.")
                assert (await there.runtime.human_queue.find(item.id[:30])).id == item.id
                await send_again(there.runtime.installation, item.id, "maria")
                await drain(there.runtime)
                assert (len(other.told), await states(there.runtime)) == (
                    2,
                    ["in_doubt", "again", "delivered"],
                )
                assert (
                    other.told[0].body == other.told[1].body and await there.runtime.human_queue.items() == []
                )
                assert await sound(there.runtime)

    play(story())


@pytest.mark.rule("UI-5", "MS-8")
def test_a_person_can_leave_it_at_that(tmp_path, clock):
    async def story():
        with outside(None) as other:
            async with door(tmp_path, ANSWER, [sees("a")], chat(other.address), clock=clock) as there:
                await there.bring(1)
                await drain(there.runtime)
                (item,) = await there.runtime.human_queue.items()
                await there.runtime.human_queue.close(item.id, "maria", "Ana has it.")
                assert await there.runtime.human_queue.items() == []
                assert await states(there.runtime) == ["in_doubt", "closed"]
                with pytest.raises(Exception, match=r"not_dead"):
                    await send_again(there.runtime.installation, item.id, "maria")
                assert await sound(there.runtime)

    play(story())


@pytest.mark.rule("UI-5", "AC-2")
def test_an_outside_that_takes_one_id_once_is_sent_it_until_it_answers(tmp_path, clock):
    async def story():
        with outside(500, None, 504, 200) as other:
            connectors = chat(other.address, takes_key=True)
            async with door(tmp_path, ANSWER, [sees("a")], connectors, clock=clock) as there:
                await there.bring(1)
                for _ in range(6):
                    await drain(there.runtime)
                    clock.move(7200)
                assert await states(there.runtime) == ["failed"] * 3 + ["delivered"]
                assert len({(told.headers["webhook-id"], told.body) for told in other.told}) == 1

    play(story())


@pytest.mark.rule("UI-5")
@pytest.mark.parametrize(("answers", "kind"), [([503], "undelivered"), ([500, 503], "delivery_in_doubt")])
def test_after_the_last_attempt_people_have_it_and_it_is_told_whether_it_may_have_arrived(
    tmp_path, clock, answers, kind
):
    async def story():
        with outside(*answers) as other:
            connectors = chat(other.address, takes_key=True, attempts=3)
            async with door(tmp_path, ANSWER, [sees("a")], connectors, clock=clock) as there:
                await there.bring(1)
                for _ in range(5):
                    await drain(there.runtime)
                    clock.move(7200)
                assert len(other.told) == 3
                assert [item.kind for item in await there.runtime.human_queue.items()] == [kind]

    play(story())


@pytest.mark.rule("UI-5")
def test_nobody_there_and_an_answer_for_good_are_dead_letters(tmp_path, clock):
    async def story():
        with outside(422) as other:
            gone = other.address
            async with door(tmp_path, ANSWER, [sees("a")], chat(gone), clock=clock) as there:
                await there.bring(1)
                await drain(there.runtime)
                assert (len(other.told), await states(there.runtime)) == (1, ["given_up"])
        async with door(tmp_path, ANSWER, [sees("a")], chat(gone, attempts=2), clock=clock) as there:
            await there.bring(2, thread="t2")
            for _ in range(3):
                await drain(there.runtime)
                clock.move(7200)
            items = await there.runtime.human_queue.items()
            assert [(item.kind, item.reason["id"]) for item in items] == [
                ("undelivered", "connector.would_not"), ("undelivered", "connector.unreachable"),
            ]  # fmt: skip
            assert await states(there.runtime) == ["given_up", "failed", "given_up"]

    play(story())


@pytest.mark.rule("UI-5", "AC-1")
def test_many_workers_send_each_answer_once_and_in_the_order_of_its_conversation(tmp_path):
    async def story():
        with outside(lambda told: time.sleep(0.05) or 200) as other:
            async with door(
                tmp_path,
                {"*": lambda request: {"finish": f"answer {time.time_ns()}"}},
                [sees("a")],
                chat(other.address),
            ) as there:
                for number in range(12):
                    await there.bring(number, thread=f"t{number % 4}")
                workers = [there.runtime.worker() for _ in range(4)]
                for worker in workers:
                    await worker.__aenter__()
                for _ in range(4):
                    await asyncio.gather(*(worker.drain() for worker in workers))
                for worker in workers:
                    await worker.__aexit__(None, None, None)
                assert isinstance(workers[0], Worker)
                ids = [told.json["id"] for told in other.told]
                assert len(ids) == len(set(ids)) == count(tmp_path, "said") and len(ids) >= 4
                for thread in range(4):
                    told = [item.json["text"] for item in other.told if item.json["thread"] == f"t{thread}"]
                    assert told == sorted(told)

    play(story())


# What comes back


def echo(told, number, **more):
    """Give the body with which the outside brings an agent's message back."""
    return message(number, told["text"], "bot", told["thread"], **more)


RECOGNISED = {
    "by the id that it went out under": ((200, {}), lambda told: {"own": told["id"]}),
    "by the id that the outside told": ((200, {"id": "m99"}), lambda told: {}),
    "by its text, where the outside told none": ((200, {}), lambda told: {}),
    "by its text, where it was in doubt": (None, lambda told: {}),
}


@pytest.mark.rule("EV-7", "UI-5")
@pytest.mark.parametrize("how", RECOGNISED)
def test_an_agent_s_own_message_that_comes_back_is_known_and_starts_nothing(tmp_path, how):
    async def story():
        answer, given_back = RECOGNISED[how]
        with outside(answer) as other:
            async with door(tmp_path, ANSWER, [sees("a")], chat(other.address)) as there:
                await there.bring(1, "hello")
                for _ in range(3):
                    await drain(there.runtime)
                    assert len(other.told) == 1, "no answer to itself"
                    before = (await there.counts())[:4]
                    told = other.told[0].json
                    body = echo(told, 99, **given_back(told))
                    assert await there.send(body) == (200, {"status": "known"})
                    after = (await there.counts())[:4]
                    assert (after[0], after[2]) == (before[0], before[2])
                await drain(there.runtime)
                assert len(await runs_of(there.runtime, at("a"))) == 1
                assert await there.runtime.human_queue.items() == [], "what came back did arrive"
                assert await sound(there.runtime)

    play(story())


@pytest.mark.rule("EV-7", "UI-5")
def test_a_person_who_says_the_same_words_is_heard(tmp_path):
    async def story():
        with outside((200, {})) as other:
            async with door(tmp_path, ANSWER, [sees("a")], chat(other.address)) as there:
                await there.bring(1, "hello")
                await drain(there.runtime)
                assert await there.bring(2, "an answer") == (202, {"status": "taken"}), (
                    "she has spoken here before"
                )
                await drain(there.runtime)
                assert await there.send(echo(other.told[0].json, 3)) == (200, {"status": "known"})
                assert await there.bring(4, "an answer", "u9") == (200, {"status": "known"}), (
                    "the second answer's"
                )
                assert await there.bring(5, "an answer", "u8") == (202, {"status": "taken"}), (
                    "there is no third"
                )

    play(story())


@pytest.mark.rule("EV-7", "UI-5")
def test_what_comes_back_while_it_is_sent_is_to_be_brought_again(tmp_path):
    async def story():
        arrived, go = threading.Event(), threading.Event()

        def slow(told):
            arrived.set()
            go.wait(20)
            return 200, {"id": "m77"}

        with outside(slow) as other:
            async with door(tmp_path, ANSWER, [sees("a")], chat(other.address)) as there:
                await there.bring(1, "hello")
                async with there.runtime.worker() as worker:
                    draining = asyncio.create_task(worker.drain())
                    await asyncio.to_thread(arrived.wait, 20)
                    body = echo(other.told[0].json, 77)
                    status, told = await there.send(body)
                    assert (status, told["error"]["code"]) == (503, "connector.being_sent")
                    go.set()
                    await draining
                assert await there.send(body) == (200, {"status": "known"})
                assert len(await runs_of(there.runtime, at("a"))) == 1

    play(story())


@pytest.mark.rule("EV-7", "EV-6")
@pytest.mark.fault("F17")
@pytest.mark.parametrize("by", ["own", "told", "text"])
def test_two_agents_who_talk_by_way_of_the_outside_stop_where_a_chain_stops(tmp_path, by):
    """The outside gives back all that is said, as chats do, for ever: each hears the other, and the chain ends it."""

    async def story():
        answers = (200, {}) if by != "told" else lambda told: (200, {"id": f"e{told.json['id']}"})
        with outside(answers) as other:
            script = {"*": lambda request: {"finish": f"answer {time.time_ns()}"}}
            async with door(tmp_path, script, [sees("a"), sees("b")], chat(other.address)) as there:
                await there.bring(1, "begin")
                seen = 0
                for _ in range(40):
                    await drain(there.runtime)
                    fresh, seen = other.told[seen:], len(other.told)
                    for told in fresh:
                        own = {"own": told.json["id"]} if by == "own" else {}
                        body = json.loads(echo(told.json, 1, **own)) | {"id": f"e{told.json['id']}"}
                        assert (await there.send(json.dumps(body).encode()))[0] in {200, 202}
                    if not fresh:
                        break
                assert not fresh, "it never ended"
                runs = [run for who in "ab" for run in await runs_of(there.runtime, at(who))]
                places = [(await there.runtime.run(run)).opening["chain"] for run in runs]
                assert max(place["hop"] for place in places) == 8
                assert len({place["root_run"] for place in places}) == 2, (
                    "both heard the person; nothing began anew"
                )
                stopped = [step for who in "ab" for step in await steps_of(there.runtime, at(who))]
                reasons = [step.body["reason"]["id"] for step in stopped if step.kind == "agent.not_started"]
                assert reasons and set(reasons) == {"chain.limit_turn"}
                assert await sound(there.runtime)

    play(story())


@pytest.mark.rule("EV-7", "PX-4")
@pytest.mark.fault("F17", "F24")
def test_a_message_of_ours_that_comes_in_by_another_connector_goes_on_on_its_chain(tmp_path):
    async def story():
        with outside((200, {})) as one:
            connectors = {"chat": chat(one.address)["chat"], "mail": chat()["chat"]}
            specs = [sees("a"), sees("b", connector="mail")]
            async with door(tmp_path, ANSWER, specs, connectors) as there:
                await there.bring(1, "hello")
                await drain(there.runtime)
                told = one.told[0].json
                assert (await there.send(echo(told, 5, own=told["id"]), path="/connectors/mail"))[0] == 202
                (first,), (second,) = [await runs_of(there.runtime, at(who)) for who in "ab"]
                chain = (await there.runtime.run(second)).opening["chain"]
                assert (chain["root_run"], chain["hop"]) == (first, 1)
                await drain(there.runtime)
                shown = (await there.runtime.prompt(second))[0].request.decode()
                assert "an answer" in shown
                for hidden in (at("a"), "You are a.", told["id"], first, "bring this", "whsec_", "root_run"):
                    assert hidden not in shown, f"{hidden}: of another agent, or of the way here"

    play(story())


@pytest.mark.rule("UI-5", "PX-2")
def test_where_an_answer_says_its_id_is_a_matter_of_the_mapping(tmp_path):
    async def story():
        with outside((200, {"message": {"ts": 17}})) as other:
            connectors = chat(other.address, mapping=MessageMapping(answer="message.ts"))
            async with door(tmp_path, ANSWER, [sees("a"), sees("b", "observe")], connectors) as there:
                await there.bring(1, "hello")
                await drain(there.runtime)
                body = json.loads(echo(other.told[0].json, 1)) | {"id": 17}
                raw = json.dumps(body).encode()
                assert (await there.send(raw, JSON | signed(raw, "d2")))[0] == 202, "b hears what a said"
                assert len(await runs_of(there.runtime, at("a"))) == 1
                (*_, last) = await states(there.runtime)
                assert last == "delivered", "it was known by its id and not by its text"

    play(story())


@pytest.mark.rule("EV-7")
@pytest.mark.fault("F17")
def test_words_of_a_person_among_what_waits_do_not_hide_the_chain(tmp_path):
    async def story():
        with outside((200, {})) as other:
            async with door(tmp_path, ANSWER, [sees("a"), sees("b")], chat(other.address)) as there:
                await there.bring(1, "hello")
                await drain(there.runtime)
                first = other.told[0].json
                await there.bring(2, "busy now?")
                assert await there.send(echo(first, 9, own=first["id"])) == (202, {"status": "taken"})
                await there.bring(3, "and another thing")
                await drain(there.runtime)
                runs = [run for who in "ab" for run in await runs_of(there.runtime, at(who))]
                hops = [(await there.runtime.run(run)).opening["chain"]["hop"] for run in runs]
                assert sorted(hops) == [0, 0, 0, 0, 0, 1], (
                    "the turn that took in an agent's words is on its chain"
                )

    play(story())


@pytest.mark.rule("UI-5")
def test_what_was_said_later_does_not_overtake_what_is_still_to_be_sent(tmp_path, clock):
    async def story():
        with outside(503, 200) as other:
            async with door(tmp_path, ANSWER, [sees("a")], chat(other.address), clock=clock) as there:
                await there.bring(1)
                await drain(there.runtime)
                await there.bring(2)
                await drain(there.runtime)
                assert [told.json["in_reply_to"] for told in other.told] == ["m1"]
                clock.move(3600)
                await drain(there.runtime)
                assert [told.json["in_reply_to"] for told in other.told] == ["m1", "m1", "m2"]

    play(story())


@pytest.mark.rule("UI-5", "AC-1")
def test_of_several_who_find_the_same_to_send_one_sends_it(tmp_path, clock):
    async def story():
        with outside(503, 200) as other:
            async with door(tmp_path, ANSWER, [sees("a")], chat(other.address), clock=clock) as there:
                await there.bring(1)
                await drain(there.runtime)
                clock.move(3600)
                senders = [Outgoing(there.runtime.installation) for _ in range(8)]
                found = await asyncio.gather(*(sender.sweep() for sender in senders))
                assert sum(found) > 1, "more than one found it"
                await asyncio.gather(*(task for sender in senders for task in sender.tasks))
                assert len(other.told) == 2 and await states(there.runtime) == ["failed", "delivered"]

    play(story())
