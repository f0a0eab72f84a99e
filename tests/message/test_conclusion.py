"""Conclusions: reports merged by code, conflicts and gaps found before any model writes, and stated in the end."""

import json

import pytest

from interlock.perspective.fence import data_of
from tests.message.scene import agent, prompt_of, report
from tests.run.scene import Calls, at, go_through, play, tool_giving, trail
from tests.world import sound, world

DEEP = "The lake near Porto Claro is 30 metres deep."
DEEPER = "The lake near Porto Claro is 45 metres deep."
WIDE = "A ferry crosses the water twice a day."


def told(*texts, **more):
    """A worker that reads and reports."""
    findings = [{"text": text, "sources": ["look"]} for text in texts]
    return [{"call": "look"}, report(findings=findings, **more), {"finish": "ok"}]


def fan_out(*names):
    """The call that gives the work to each."""
    return {
        "calls": [
            {"call": "delegate", "with": {"to": at(n), "goal": "the lake", "scope": [n]}} for n in names
        ]
    }


def specs(*names):
    """A coordinator and its workers."""
    workers = [agent(name, tools=("look",)) for name in names]
    return [agent("boss", sends=[*names, "judge"]), *workers]


async def concluded(runtime, run):
    """What the conclusion came to."""
    bodies = await trail(runtime, run, "tool.answered")
    digest = next(body["result"] for body in bodies if body["tool"] == "conclude")
    return json.loads(await runtime.installation.contents.read(digest))


@pytest.mark.rule("RS-2", "RS-3", "RS-4", "PX-4", "PS-1")
def test_reports_are_merged_by_code_and_the_model_that_writes_sees_nothing_else(tmp_path):
    async def story():
        calls, prompts = Calls(), []

        def writing(request):
            prompts.append(request)
            return {"text": "The lake is wide."}

        gap = {"status": "partial", "not_done": [{"what": "the temperature", "why": "no thermometer"}]}
        script = {
            at("boss"): [fan_out("w1", "w2", "w3"), {"call": "conclude"}, {"finish": "done"}],
            f"{at('boss')}#writing": [writing],
            at("w1"): told(DEEP, WIDE),
            at("w2"): told(DEEPER, WIDE, **gap),
            at("w3"): [{"fail": {"code": "rejected"}}] * 4,
        }
        tools = [tool_giving(calls, "look", {"CANARY": "raw"})]
        async with world(tmp_path, script, specs("w1", "w2", "w3"), tools=tools) as runtime:
            state = await go_through(runtime, at("boss"), "CANARY-BRIEF")
            assert state.status == "finished"
            form = await concluded(runtime, state.id)
            assert str(form["findings"]).count(WIDE) == 1, "the same finding once"
            (conflict,) = form["conflicts"]
            assert conflict["kind"] == "quantity"
            assert len(conflict["sides"]) == 2
            assert {item["what"] for item in form["gaps"]} >= {"the temperature"}
            assert form["incomplete"] is True
            assert form["text"].startswith("The lake is wide.")
            assert "30 metres" in form["text"] and "45 metres" in form["text"], "what the text left out"
            assert "the temperature" in form["text"] and "no thermometer" in form["text"]
            assert form["text"].count("look") == 2, "each side with its source"
            assert form["sources"] == ["look"], "the sources once"
            (asked,) = prompts
            seen = asked.instructions + str(asked.messages)
            assert "CANARY" not in seen
            assert asked.tools == ()
            steps = await trail(runtime, state.id, "model.asked")
            assert [body.get("writing") for body in steps].count("call_2_0") == 1, "its prompt is kept"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("RS-3")
def test_more_independent_sources_or_a_named_judge_settle_a_conflict(tmp_path):
    async def story():
        for number, who in enumerate(("evidence", "judge", "another")):
            folder = tmp_path / str(number)
            folder.mkdir()
            calls, key = Calls(), []

            def judging(request, key=key):
                if request.number == 1:
                    return {"call": "decide", "with": {"topic": key[0], "decision": "30 metres"}}
                return {"finish": "ruled"}

            def asking(request, key=key):
                key.append(json.loads(data_of(request.messages[-1].text))["conflicts"][0]["key"])
                return {"call": "ask", "with": {"to": at("judge"), "text": "which one?"}}

            names = ("w1", "w2", "w3") if who == "evidence" else ("w1", "w2")
            merge = {"call": "conclude", "with": {"write": False}}
            again = {
                "call": "conclude",
                "with": {"write": False, "judge": at("judge" if who == "judge" else "w1")},
            }
            more = [] if who == "evidence" else [asking, again]
            script = {
                at("boss"): [fan_out(*names), merge, *more, {"finish": "done"}],
                at("judge"): judging,
                at("w1"): told(DEEP), at("w2"): told(DEEPER), at("w3"): [{"call": "peek"}, report(
                    findings=[{"text": DEEP, "sources": ["peek"]}]), {"finish": "ok"}],
            }  # fmt: skip
            tools = [tool_giving(calls, "look", {"a": 1}), tool_giving(calls, "peek", {"a": 1})]
            all_specs = [*specs("w1", "w2"), agent("w3", tools=("peek",)), agent("judge")]
            all_specs[0] = agent("boss", sends=["w1", "w2", "w3", "judge"])
            async with world(folder, script, all_specs, tools=tools) as runtime:
                state = await go_through(runtime, at("boss"), "go")
                assert state.status == "finished", state.reason
                bodies = [
                    b for b in await trail(runtime, state.id, "tool.answered") if b["tool"] == "conclude"
                ]
                form = json.loads(await runtime.installation.contents.read(bodies[-1]["result"]))
                (conflict,) = form["conflicts"]
                resolution = conflict["resolution"]
                if who == "another":
                    assert resolution is None, "only the judge that is named rules"
                    continue
                assert resolution["how"] == who
                assert "30 metres" in conflict["sides"][resolution["side"]]["values"][0]
                assert form["incomplete"] is False
                assert await sound(runtime)

    play(story())


@pytest.mark.rule("RS-2", "RS-4")
def test_there_is_nothing_to_conclude_without_a_report(tmp_path):
    async def story():
        script = {at("boss"): [{"call": "conclude"}, {"finish": "gave up"}]}
        async with world(tmp_path, script, [agent("boss", sends=["w1"])]) as runtime:
            state = await go_through(runtime, at("boss"), "go")
            assert "nothing to merge" in await prompt_of(runtime, "boss", 2)
            assert state.status == "finished"

    play(story())
