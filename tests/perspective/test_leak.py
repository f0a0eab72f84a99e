"""Leaks that there were, each shut for good: what of one agent, or of one room, once came out elsewhere."""

import json
from dataclasses import replace

import pytest

from interlock.agent.spec import Attendance
from interlock.connector.observation import Person
from interlock.perspective.fence import data_of
from interlock.run import conversing
from interlock.scope.audience import audiences_in
from tests.message.scene import agent, handing, prompt_of, report, to
from tests.perspective.test_conversation import ANA, BRUNO, CARLA, CHAT, prompt, said, sees
from tests.perspective.test_memory import found_in, recall
from tests.run.scene import Calls, at, drain, go_through, play, runs_of, spec_of, tool_giving, trail
from tests.run.work_scene import agent_loop, child_of
from tests.world import sound, steps_of, world


def ask(name, text="?"):
    """Give the call that asks an agent."""
    return {"call": "ask", "with": {"to": to(name)[0], "text": text}}


@pytest.mark.rule("PX-4", "EV-7")
def test_who_may_not_go_on_along_a_chain_is_not_told_who_else_is_on_it(tmp_path):
    async def story():
        script = {
            at("first"): [ask("second"), {"finish": "ok"}],
            at("second"): [ask("third"), {"finish": "ok"}],
            at("third"): [
                ask("fourth"),
                {"call": "delegate", "with": {"to": at("fourth"), "goal": "g"}},
                {"finish": "-"},
            ],
        }
        specs = [
            agent("first", ["second"]),
            agent("second", ["third"]),
            agent("third", ["fourth"]),
            agent("fourth"),
        ]
        async with world(tmp_path, script, specs, chain_limit=2) as runtime:
            root = await go_through(runtime, at("first"), "go")
            shown = await prompt_of(runtime, "third")
            assert root.id not in shown and "first@" not in shown
            assert shown.count("limit of 2 hops") == 2
            run = (await runs_of(runtime, at("third")))[0]
            errors = [body["error"] for body in await trail(runtime, run, "tool.answered") if "error" in body]
            assert [error["with"]["root_run"] for error in errors] == [root.id] * 2, (
                "people are told, in the trail"
            )
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("PX-4", "MS-4")
def test_who_asked_is_not_told_of_the_tools_and_recipients_of_an_agent_that_failed(tmp_path):
    async def story():
        script = {
            at("one"): [ask("other"), {"finish": "ok"}],
            at("other"): lambda request: {"call": "nonsense"},
        }
        specs = [agent("one", ["other"]), agent("other", ["hidden"], tools=("canary_tool",)), agent("hidden")]
        tools = [tool_giving(Calls(), "canary_tool", {})]
        async with world(tmp_path, script, specs, tools=tools, retries=0) as runtime:
            await go_through(runtime, at("one"), "go")
            shown = await prompt_of(runtime, "one")
            assert "the work was refused" in shown
            assert "canary_tool" not in shown and "nonsense" not in shown and "hidden@" not in shown
            state = await runtime.run((await runs_of(runtime, at("other")))[0])
            assert state.reason["id"] == "run.gave_up", "why is in the trail"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("PX-4", "AC-1")
def test_who_comes_second_to_an_action_is_told_that_it_was_done_and_not_in_which_run(tmp_path):
    async def story():
        pay = tool_giving(Calls(), "pay", {"paid": "x"}, effect="write", labels=("area:acme/finance",))
        script = {
            at("boss", "acme"): [{"calls": [ask("book@acme/finance"), ask("desk")]}, {"finish": "ok"}],
            at("book", "acme/finance"): [{"call": "pay"}, {"finish": "paid"}],
            at("desk"): [{"call": "pay"}, {"finish": "ok"}],
        }
        specs = [
            agent("boss", ["book@acme/finance", "desk"], scope="acme"),
            agent("book", scope="acme/finance", tools=("pay",)),
            agent("desk", tools=("pay",)),
        ]
        async with world(tmp_path, script, specs, tools=[pay]) as runtime:
            await go_through(runtime, at("boss", "acme"), "go")
            (one,), (two,) = [
                await runs_of(runtime, name) for name in (at("book", "acme/finance"), at("desk"))
            ]
            shown = await prompt(runtime, one), await prompt(runtime, two)
            assert "already done by another agent" in "".join(shown), "whoever came second"
            assert two not in shown[0] and one not in shown[1]
            assert await sound(runtime)

    play(story())


PEOPLE = "people@acme"


async def handed_to_desk(folder, labels, book):
    """Give the prompt of an agent to whom a task was handed over after another one had acted for it, and its run."""
    schema = {"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]}
    pay = tool_giving(Calls(), "pay", {"account": "CANARY"}, effect="write", labels=labels, parameters=schema)
    boss, payer = at("boss", "acme"), at("book", book)
    send = {"call": "send", "with": {"to": payer, "text": "pay it"}}
    script = {
        boss: [send, ask(PEOPLE), handing("desk"), {"finish": "ok"}],
        payer: [{"call": "pay", "with": {"note": "SECRET"}}, {"finish": "paid"}],
        at("desk"): [{"finish": "ok"}],
    }
    specs = [
        agent("boss", [payer, PEOPLE], ["desk"], scope="acme"),
        agent("book", scope=book, tools=("pay",)),
        agent("desk"),
    ]
    async with world(folder, script, specs, tools=[pay]) as runtime:
        await go_through(runtime, boss, "go")
        (item,) = await runtime.human_queue.items()
        await runtime.human_queue.answer(item.id, "joana", "it is paid")
        await drain(runtime)
        (run,) = await runs_of(runtime, at("desk"))
        assert await sound(runtime)
        return await prompt(runtime, run), await runtime.run(run)


@pytest.mark.rule("SC-4", "SC-6", "MS-5", "PX-4")
def test_a_package_tells_of_an_action_no_more_than_the_receiver_s_scope_may_hear(tmp_path):
    shown, _ = play(handed_to_desk(tmp_path, ("area:acme/finance",), "acme/finance"))
    assert "CANARY" not in shown and "SECRET" not in shown
    assert json.dumps(json.dumps({"outcome": "done", "tool": "pay"}, separators=(",", ":")))[1:-1] in shown


@pytest.mark.rule("SC-4", "MS-5")
def test_a_package_carries_the_labels_of_the_actions_that_it_tells_of(tmp_path):
    shown, state = play(handed_to_desk(tmp_path, ("untrusted",), "acme/platform"))
    assert "CANARY" in shown and "SECRET" in shown
    assert "untrusted" in state.opening["labels"]


@pytest.mark.rule("WG-5", "ME-2")
def test_a_part_of_a_turn_s_work_recalls_what_the_room_may_know_and_nothing_else(tmp_path):
    async def story():
        heard = []

        def answer(request):
            if "#" in request.agent:
                if len(request.messages) == 1:
                    return recall("parcel")
                heard.append(found_in(request))
                return {"finish": "found"}
            plan = {"call": "plan_work", "with": {"nodes": [agent_loop("look", "Look for the parcel.")]}}
            return (
                plan
                if "plan" in request.messages[0].text and len(request.messages) == 1
                else {"finish": "ok"}
            )

        spec = sees("a", tools=("plan_work", "remember", "recall"))
        async with world(tmp_path, {"*": answer}, [spec], connectors=CHAT) as runtime:
            await runtime.observe("chat", said(1, "the parcel is mine", ANA, (ANA,)))
            await drain(runtime)
            (seen,) = await runtime.observe("chat", said(2, "plan for the parcel", BRUNO, (BRUNO,), "t2"))
            await drain(runtime)
            assert heard == [["plan for the parcel"]]
            state = await runtime.run(seen.run)
            assert (state.status, len(audiences_in(state.labels))) == ("finished", 1)
            child = await child_of(runtime, state, "look")
            assert child.opening["room"]["conversation"] == state.opening["turn"]["conversation"]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("ME-2", "PX-2")
def test_what_was_said_while_a_wrong_link_stood_is_not_told_to_the_other_after_it_was_undone(tmp_path):
    async def story():
        found = []

        def answer(request):
            if "recall" not in request.messages[0].text:
                return {"finish": "ok"}
            if len(request.messages) == 1:
                return recall("holiday")
            found.append(found_in(request))
            return {"finish": "ok"}

        connectors = {**CHAT, "mail": replace(CHAT["chat"])}
        spec = spec_of("a", attends=(Attendance("chat"), Attendance("mail")))
        async with world(tmp_path, {"*": answer}, [spec], connectors=connectors) as runtime:
            other = Person("x@example.org", "Somebody")
            await runtime.observe("chat", said(1, "hello", ANA, (ANA,)))
            await runtime.observe("mail", said(2, "hello", other, (other,)))
            await drain(runtime)
            rows = await runtime.installation.ledger.within(at("a"), "actors_after", "", 9)
            pair = [row[0] for row in rows]
            await runtime.link(at("a"), *pair, "they write alike", "maria")
            await runtime.observe("chat", said(3, "my holiday begins on Monday", ANA, (ANA,)))
            await drain(runtime)
            await runtime.unlink(at("a"), *pair, "they are two", "maria")
            await runtime.observe("mail", said(4, "recall it", other, (other,)))
            await drain(runtime)
            await runtime.observe("chat", said(5, "recall it", ANA, (ANA,), thread="t9"))
            await drain(runtime)
            assert ["my holiday begins on Monday" in texts for texts in found] == [False, True]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("ME-2")
def test_who_comes_in_at_the_very_moment_of_the_answer_does_not_hear_it(tmp_path, monkeypatch):
    async def story():
        asked, late = conversing.withheld, []

        async def withheld(installation, run):
            found = await asked(installation, run)
            if not late:
                late.append(True)
                await runtime.observe("chat", said(2, "I am new", CARLA, (ANA, BRUNO, CARLA)))
            return found

        monkeypatch.setattr(conversing, "withheld", withheld)
        answers = {"*": lambda request: {"finish": f"answer to {len(request.messages[0].text)}"}}
        async with world(tmp_path, answers, [sees("a")], connectors=CHAT) as runtime:
            (first,) = await runtime.observe("chat", said(1, "the secret"))
            await drain(runtime)
            kinds = [step.kind for step in await steps_of(runtime, first.conversation)]
            assert "message.withheld" in kinds
            second = (await runs_of(runtime, at("a")))[1]
            assert "the secret" not in await prompt(runtime, second)
            rows = await runtime.installation.ledger.query("outgoing_due", "chat", 1 << 60, 9)
            assert len(rows) == 1, "the answer of the next turn"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("SC-6", "RS-3", "MS-11")
def test_a_ruling_that_the_run_may_not_hear_settles_nothing_in_its_conclusion(tmp_path):
    async def story():
        key, judge = [], at("judge", "acme")
        finding = [{"text": "The lake near Porto Claro is 30 metres deep.", "sources": ["look"]}]
        deeper = [{"text": "The lake near Porto Claro is 45 metres deep.", "sources": ["look"]}]

        def asking(request):
            key.append(json.loads(data_of(request.messages[-1].text))["conflicts"][0]["key"])
            return ask(judge)

        def ruling(request):
            decision = {"call": "decide", "with": {"topic": key[0], "decision": "30 metres"}}
            return ({"call": "books"}, decision, {"finish": "ruled"})[request.number - 1]

        def worker(found):
            return [{"call": "look"}, report(findings=found), {"finish": "ok"}]

        merge = {"call": "conclude", "with": {"write": False}}
        again = {"call": "conclude", "with": {"write": False, "judge": judge}}
        both = {
            "calls": [
                {"call": "delegate", "with": {"to": at(n), "goal": "g", "scope": [n]}} for n in ("w1", "w2")
            ]
        }
        script = {
            at("boss"): [both, merge, asking, again, {"finish": "done"}],
            at("w1"): worker(finding),
            at("w2"): worker(deeper),
            judge: ruling,
        }
        specs = [
            agent("boss", ["w1", "w2", judge]),
            *(agent(name, tools=("look",)) for name in ("w1", "w2")),
            agent("judge", scope="acme", tools=("books",)),
        ]
        tools = [
            tool_giving(Calls(), "look", {"x": 1}),
            tool_giving(Calls(), "books", {"y": 1}, labels=("area:acme/finance",)),
        ]
        async with world(tmp_path, script, specs, tools=tools) as runtime:
            state = await go_through(runtime, at("boss"), "go")
            assert state.status == "finished", state.reason
            answered = [
                body for body in await trail(runtime, state.id, "tool.answered") if body["tool"] == "conclude"
            ]
            last = json.loads(await runtime.installation.contents.read(answered[-1]["result"]))
            assert len(answered) == 2 and last["incomplete"] is True
            assert not last["conflicts"][0].get("resolution"), "as if nobody had ruled"
            assert await sound(runtime)

    play(story())
