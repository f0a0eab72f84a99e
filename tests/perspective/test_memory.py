"""Memory: a note keeps its source, its labels and who could observe it, and comes back only where it may."""

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.agent.spec import Attendance
from interlock.connector.observation import Person
from interlock.errors import InterlockError
from interlock.perspective.fence import data_of
from interlock.scope.audience import audience_label
from tests.perspective.test_conversation import ANA, BRUNO, CARLA, CHAT, prompt, said, sees
from tests.run.scene import at, drain, go_through, play, runs_of, spec_of, trail
from tests.world import sound, world


def remember(text, **more):
    """Give the call that notes something."""
    return {"call": "remember", "with": {"text": text, **more}}


def recall(words, **more):
    """Give the call that looks for something."""
    return {"call": "recall", "with": {"words": words, **more}}


def found_in(request):
    """Give the texts that the last recall of a prompt found."""
    results = [item.text for item in request.messages if item.role == "tool" and '"found"' in item.text]
    return [item["text"] for item in json.loads(data_of(results[-1]))["found"]]


@pytest.mark.rule("ME-1", "ME-2", "ME-3")
def test_what_was_observed_by_two_is_recalled_before_those_two_alone(tmp_path):
    async def story():
        heard = []

        def answer(request):
            text = request.messages[0].text
            if len(request.messages) > 1:
                heard.append(found_in(request) if "recall it" in text else None)
                return {"finish": "yes"}
            return recall("parcel depot") if "recall it" in text else remember("the parcel is at the depot")

        async with world(tmp_path, {"*": answer}, [sees("a")], connectors=CHAT) as runtime:
            await runtime.observe("chat", said(1, "note that"))
            await drain(runtime)
            await runtime.observe("chat", said(2, "recall it", room=(ANA, BRUNO)))
            await drain(runtime)
            await runtime.observe("chat", said(3, "recall it", ANA, (ANA,), thread="t2"))
            await drain(runtime)
            await runtime.observe("chat", said(4, "recall it", ANA, (ANA, BRUNO, CARLA), thread="t3"))
            await drain(runtime)
            await runtime.observe("chat", said(5, "recall it", CARLA, (CARLA,), thread="t4"))
            await drain(runtime)
            assert [("the parcel is at the depot" in (texts or ())) for texts in heard] == [
                False, True, True, False, False,
            ]  # fmt: skip
            rows = await runtime.installation.ledger.within(at("a"), "memories_after", "", 9)
            (row,) = rows
            assert (
                row[3].startswith("run_")
                and row[4].startswith("event_")
                and row[5].startswith("conversation_")
            )
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("ME-1", "ME-2", "SC-4")
def test_what_nobody_outside_observed_is_said_to_nobody_unless_it_is_shared(tmp_path):
    async def story():
        def steps(request):
            if "tell" in request.messages[0].text:
                return recall("margin nine open") if len(request.messages) == 1 else {"finish": "well"}
            done = sum(item.role == "tool" for item in request.messages)
            notes = remember("the margin is 40 percent"), remember("we open at nine", share=True)
            return [*notes, {"finish": "ok"}][done]

        async with world(tmp_path, {"*": steps}, [sees("a")], connectors=CHAT) as runtime:
            state = await go_through(runtime, at("a"), "note these")
            assert state.status == "finished"
            (seen,) = await runtime.observe("chat", said(1, "tell me"))
            await drain(runtime)
            shown = await prompt(runtime, seen.run)
            assert "we open at nine" in shown and "margin is 40" not in shown
            internal = await go_through(runtime, at("a"), "tell yourself")
            assert "margin is 40" in await prompt(runtime, internal.id)
            assert audience_label(()) in internal.labels, (
                "whatever is made of it is for nobody outside either"
            )
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("ME-1", "SC-4")
def test_what_was_heard_in_a_conversation_cannot_be_shared_with_everybody(tmp_path):
    async def story():
        script = {at("a"): [remember("Ana said it", share=True), {"finish": "ok"}]}
        async with world(tmp_path, script, [sees("a")], connectors=CHAT) as runtime:
            (seen,) = await runtime.observe("chat", said(1))
            await drain(runtime)
            assert await runtime.installation.ledger.within(at("a"), "memories_after", "", 9) == []
            assert "cannot be shared" in await prompt(runtime, seen.run)
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("ME-5", "ME-1")
def test_a_memory_is_corrected_by_a_further_revision_that_keeps_its_labels(tmp_path):
    async def story():
        names = []

        def steps(request):
            done = [json.loads(data_of(item.text)) for item in request.messages if item.role == "tool"]
            names.extend(item["memory"] for item in done[:1] if item["memory"] not in names)
            return [
                remember("the depot is in Lisbon"),
                remember("the depot is in Porto", instead_of=names[0] if names else ""),
                recall("depot"),
                {"finish": "ok"},
            ][len(done)]

        async with world(tmp_path, {"*": steps}, [spec_of("a", tools=("remember", "recall"))]) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert state.status == "finished"
            ledger = runtime.installation.ledger
            rows = await ledger.within(at("a"), "revisions_of_memory", names[0])
            assert [row[1] for row in rows] == [1, 2]
            request = await prompt(runtime, state.id)
            assert request.count("in Porto") == 2 and request.count("in Lisbon") == 1, (
                "each as it was written"
            )
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("ME-2", "PX-1")
@pytest.mark.fault("F15")
def test_a_memory_or_an_actor_of_another_agent_is_as_one_that_there_is_not(tmp_path):
    async def story():
        script = {
            at("a"): [remember("canary one"), {"finish": "ok"}],
            at("b"): [
                recall("canary one"),
                remember("x", instead_of="memory_of_a"),
                remember("x", about="actor_of_a"),
                {"finish": "ok"},
            ],
        }
        specs = [spec_of(name, tools=("remember", "recall")) for name in "ab"]
        async with world(tmp_path, script, specs) as runtime:
            await go_through(runtime, at("a"), "go")
            ledger = runtime.installation.ledger
            (mine,) = await ledger.within(at("a"), "memories_after", "", 9)
            script[at("b")][1]["with"]["instead_of"] = mine[0]
            state = await go_through(runtime, at("b"), "go")
            assert state.status == "finished"
            assert "canary one" not in (await prompt(runtime, state.id)).replace('words\\":\\"canary one', "")
            assert await ledger.within(at("b"), "memories_after", "", 9) == []
            kinds = [
                body.get("error", {}).get("with", {}).get("code") for body in await trail(runtime, state.id)
            ]
            assert "memory.unknown" in kinds and "memory.unknown_actor" in kinds

    play(story())


@pytest.mark.rule("PX-2", "ME-2")
def test_two_actors_are_one_person_where_somebody_says_so_and_not_after_it_was_taken_back(tmp_path):
    async def story():
        found = []

        def steps(request):
            if "recall" not in request.messages[0].text:
                return {"finish": "ok"}
            if len(request.messages) == 1:
                return recall("holiday")
            found.append(found_in(request))
            return {"finish": "ok"}

        connectors = {**CHAT, "mail": replace(CHAT["chat"])}
        both = (Attendance("chat"), Attendance("mail"))
        specs = [spec_of("a", attends=both), spec_of("b", attends=both)]
        async with world(tmp_path, {"*": steps}, specs, connectors=connectors) as runtime:
            await runtime.observe("chat", said(1, "my holiday begins on Monday", ANA, (ANA,)))
            mail = Person("ana@example.org", "Ana")
            await runtime.observe("mail", said(2, "hello", mail, (mail,)))
            await drain(runtime)
            ledger = runtime.installation.ledger
            one, other = [row[0] for row in await ledger.within(at("a"), "actors_after", "", 9)]
            for number, change in enumerate((None, runtime.link, runtime.unlink), 3):
                if change is not None:
                    await change(at("a"), one, other, "the same address in the signature", "maria")
                await runtime.observe("mail", said(number, "recall it", mail, (mail,)))
                await drain(runtime)
            told = ["my holiday begins on Monday" in texts for texts in found]
            assert sorted(told) == [False] * 5 + [True], "by a, and only while the link stood"
            with pytest.raises(InterlockError, match="not_linked"):
                await runtime.unlink(at("a"), one, other, "x", "maria")
            with pytest.raises(InterlockError, match="unknown_actor"):
                await runtime.link(at("b"), one, other, "x", "maria")
            assert await sound(runtime)

    play(story())


PEOPLE = [Person(f"p{number}", f"Person {number}") for number in range(5)]


@pytest.mark.rule("ME-2")
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 1 << 30))
def test_no_memory_reaches_a_room_in_which_somebody_could_not_have_observed_it(tmp_path_factory, seed):
    """Random rooms: each thing said, and each thing noted, names who was there; nothing is ever shown before others."""

    async def story():
        chance = random.Random(seed)
        rooms = {}

        def answer(request):
            form = json.loads(data_of(request.messages[0].text, "turn"))
            here = {item["name"] for item in form["present"]}
            for word, there in rooms.items():
                if any(word in item.text for item in request.messages):
                    assert here <= there, (word, here, there)
            done = sum(item.role == "tool" for item in request.messages)
            last = form["messages"][-1]["text"].split()[0]
            return [remember(f"{last} noted"), recall(" ".join(rooms)), {"finish": f"{last} answered"}][done]

        async with world(
            tmp_path_factory.mktemp("rooms"), {"*": answer}, [sees("a")], connectors=CHAT
        ) as runtime:
            for number in range(12):
                room = tuple(chance.sample(PEOPLE, chance.randint(1, 5)))
                rooms[f"word{number:02}x"] = {person.name for person in room}
                thread = f"t{chance.randint(0, 2)}"
                await runtime.observe("chat", said(number, f"word{number:02}x said", room[0], room, thread))
                if chance.random() < 0.7:
                    await drain(runtime)
            await drain(runtime)
            for run in await runs_of(runtime, at("a")):
                state = await runtime.run(run)
                assert state.status in {"finished", "refused"}, state.reason
                assert state.status == "finished" or state.reason["id"] == "run.wider_room", state.reason
            assert await sound(runtime)

    play(story())
