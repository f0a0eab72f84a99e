"""Conversations: each agent that sees a thread has its own of it, and answers in it once for all that was said."""

from dataclasses import replace

import pytest

from interlock.agent.spec import Attendance
from interlock.connector.observation import Observation, Person
from interlock.perspective.perspective import Perspective
from interlock.run.publishing import change_agent
from interlock.scope.scope import Scope
from interlock.settings import ConnectorChoice
from tests.run.scene import at, drain, play, runs_of, spec_of
from tests.world import sound, steps_of, world

CHAT = {"chat": ConnectorChoice(Scope("acme/platform"), "CHAT_KEY", "http://127.0.0.1:9/")}
ANA, BRUNO, CARLA = Person("u1", "Ana"), Person("u2", "Bruno"), Person("u3", "Carla")


def said(number, text="hello", sender=ANA, room=(ANA, BRUNO), thread="t1", **more):
    """Give a message of a thread."""
    return Observation(f"m{number}", thread, sender, text, 1000 + number, tuple(room), **more)


def sees(name, way="engage", **more):
    """Give an agent that sees the chat."""
    return spec_of(name, attends=(Attendance("chat", way),), **more)


async def prompt(runtime, run):
    """Give the exact bytes of a run's last prompt, as text."""
    return (await runtime.prompt(run))[0].request.decode()


@pytest.mark.rule("PX-2", "UI-5", "PX-5")
def test_two_agents_that_see_one_message_have_two_of_everything(tmp_path):
    async def story():
        script = {at("a"): [{"finish": "hello Ana"}], at("b"): []}
        async with world(tmp_path, script, [sees("a"), sees("b", "observe")], connectors=CHAT) as runtime:
            one, other = await runtime.observe("chat", said(1))
            assert [(item.agent, item.outcome) for item in (one, other)] == [
                (at("a"), "engaged"), (at("b"), "observed"),
            ]  # fmt: skip
            assert one.event != other.event and one.conversation != other.conversation
            ledger = runtime.installation.ledger
            actors = [{row[0] for row in await ledger.within(at(who), "actors_after", "", 9)} for who in "ab"]
            assert len(actors[0]) == len(actors[1]) == 2 and not actors[0] & actors[1]
            ways = [(await Perspective(ledger, item.agent).event(item.event)).way for item in (one, other)]
            assert ways == ["engage", "observe"]
            await drain(runtime)
            assert await runs_of(runtime, at("b")) == []
            state = await runtime.run(one.run)
            assert state.reason is None, state.reason
            assert (state.status, state.opening["behalf"] in actors[0]) == ("finished", True)
            assert "hello" in await prompt(runtime, one.run) and "Bruno" in await prompt(runtime, one.run)
            own = (await Perspective(ledger, at("a")).events_after(one.conversation, 0, 9))[-1]
            assert (own.way, own.run) == ("own", one.run)
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("UI-5", "EV-5")
@pytest.mark.fault("F8")
def test_what_is_brought_again_changes_nothing_and_opens_nothing(tmp_path):
    async def story():
        async with world(tmp_path, {at("a"): [{"finish": "ok"}]}, [sees("a")], connectors=CHAT) as runtime:
            (first,) = await runtime.observe("chat", said(1))
            (again,) = await runtime.observe("chat", said(1))
            assert (again.outcome, again.event) == ("known", first.event)
            await drain(runtime)
            (late,) = await runtime.observe("chat", said(1))
            assert late.outcome == "known"
            await drain(runtime)
            assert len(await runs_of(runtime, at("a"))) == 1
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("PX-5")
def test_what_is_said_while_a_turn_is_open_is_the_next_turn_s_all_at_once(tmp_path):
    async def story():
        async with world(
            tmp_path, {"*": lambda request: {"finish": "an answer"}}, [sees("a")], connectors=CHAT
        ) as runtime:
            (first,) = await runtime.observe("chat", said(1, "one"))
            waiting = [
                (await runtime.observe("chat", said(n, word, BRUNO)))[0]
                for n, word in ((2, "two"), (3, "three"))
            ]
            assert [(item.outcome, item.run) for item in waiting] == [("waiting", first.run)] * 2
            await drain(runtime)
            runs = await runs_of(runtime, at("a"))
            assert len(runs) == 2
            before, after = [await prompt(runtime, run) for run in runs]
            assert "one" in before and "two" not in before
            assert all(word in after for word in ("one", "two", "three", "an answer"))
            turn = (await runtime.run(runs[1])).opening["turn"]
            assert (len(turn["events"]), len(turn["history"])) == (2, 2)
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("PX-5")
def test_what_waits_is_taken_in_batches_and_nothing_that_engages_is_passed_over(tmp_path, monkeypatch):
    async def story():
        monkeypatch.setattr("interlock.run.turn.BATCH", 3)
        async with world(
            tmp_path, {"*": lambda request: {"finish": "an answer"}}, [sees("a")], connectors=CHAT
        ) as runtime:
            await runtime.observe("chat", said(1))
            for n in range(2, 9):
                await runtime.observe("chat", said(n, f"word {n}", BRUNO))
            await drain(runtime)
            taken = [
                len((await runtime.run(run)).opening["turn"]["events"])
                for run in await runs_of(runtime, at("a"))
            ]
            assert taken == [1, 3, 3, 1]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("PX-5")
def test_of_much_that_was_only_observed_the_last_is_taken_in_with_what_engages(tmp_path, monkeypatch):
    async def story():
        monkeypatch.setattr("interlock.run.turn.BATCH", 3)
        async with world(
            tmp_path, {"*": lambda request: {"finish": "an answer"}}, [sees("a")], connectors=CHAT
        ) as runtime:
            await runtime.observe("chat", said(1))
            await drain(runtime)
            await change_agent(runtime.installation, at("a"), "pause", "maria")
            for n in range(2, 9):
                await runtime.observe("chat", said(n, f"word {n}", BRUNO))
            await change_agent(runtime.installation, at("a"), "resume", "maria")
            await runtime.observe("chat", said(9, "word 9"))
            await drain(runtime)
            _, last = await runs_of(runtime, at("a"))
            assert len((await runtime.run(last)).opening["turn"]["events"]) == 3
            shown = await prompt(runtime, last)
            assert all(f"word {n}" in shown for n in (7, 8, 9))

    play(story())


@pytest.mark.rule("ME-2", "PX-3")
def test_who_joins_later_is_not_shown_what_was_said_before(tmp_path):
    async def story():
        async with world(
            tmp_path, {"*": lambda request: {"finish": "an answer"}}, [sees("a")], connectors=CHAT
        ) as runtime:
            await runtime.observe("chat", said(1, "the secret of Ana and Bruno"))
            await drain(runtime)
            (second,) = await runtime.observe("chat", said(2, "hi, I am new", CARLA, (ANA, BRUNO, CARLA)))
            await drain(runtime)
            shown = await prompt(runtime, second.run)
            assert "the secret" not in shown and "an answer" not in shown and "hi, I am new" in shown
            (third,) = await runtime.observe("chat", said(3, "again we two", ANA, (ANA, BRUNO)))
            await drain(runtime)
            assert "the secret" in await prompt(runtime, third.run)
            assert (await runtime.run(third.run)).status == "finished"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("ME-2")
def test_a_room_that_widens_while_the_agent_thinks_hears_no_answer(tmp_path):
    async def story():
        async with world(
            tmp_path, {"*": lambda request: {"finish": "the secret again"}}, [sees("a")], connectors=CHAT
        ) as runtime:
            (first,) = await runtime.observe("chat", said(1, "the secret"))
            await runtime.observe("chat", said(2, "I am new", CARLA, (ANA, BRUNO, CARLA)))
            await drain(runtime)
            state = await runtime.run(first.run)
            assert (state.status, state.reason["id"]) == ("refused", "run.wider_room")
            rows = await runtime.installation.ledger.query("outgoing_due", "chat", 1 << 60, 9)
            assert len(rows) == 1, "the next turn, which saw nothing of it, answers"
            other = (await runs_of(runtime, at("a")))[1]
            assert "the secret" not in (await prompt(runtime, other)).replace("the secret again", "")
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("SC-6", "SC-5")
def test_the_barrier_keeps_a_connector_s_data_in_its_scope(tmp_path):
    async def story():
        outside = replace(sees("a"), scope=Scope("acme/finance"))
        async with world(tmp_path, {}, [outside], connectors=CHAT) as runtime:
            (found,) = await runtime.observe("chat", said(1))
            assert (found.outcome, found.reason["id"]) == ("refused", "barrier.area")
            assert await runtime.installation.ledger.within(outside.address, "actors_after", "", 9) == []
            kinds = [step.kind for step in await steps_of(runtime, outside.address)]
            assert kinds[-1] == "agent.not_started"

    play(story())
