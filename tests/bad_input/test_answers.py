"""Answers of models of every shape: told what is wrong, a bounded number of times, and nothing breaks (BI-3)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from interlock import canonical
from interlock.connector.model.model import Answer, Call, Request
from interlock.connector.tool import tool
from interlock.errors import InterlockError
from interlock.perspective.fence import data_of
from tests.bad_input.cases import case_of, reader, run_all, run_cases, texts, unbroken
from tests.bad_input.corpora import json_suite
from tests.world import sound, steps_of, world


@tool(effect="read", labels=())
async def echo(text: str, number: int = 0) -> dict[str, Any]:
    """Give back what it is given."""
    return {"text": text, "number": number}


@tool(effect="read", labels=(), parameters={"type": "object"})
async def anything(**arguments: Any) -> dict[str, Any]:
    """Take whatever comes."""
    return arguments


def once(first: Any) -> Any:
    """Give a script that says one thing per case, then finishes."""
    return lambda request: first(case_of(request)) if request.number == 1 else {"finish": "gave up"}


@pytest.mark.rule("BI-1", "BI-3", "RN-3")
def test_any_text_as_the_name_of_a_tool(tmp_path: Path) -> None:
    cases = texts()
    script = {"*": once(lambda case: Answer(calls=(Call("1", cases[case], "{}"),)))}

    async def go() -> None:
        async with world(tmp_path, script, [reader(tools=("echo",))], tools=[echo]) as runtime:
            runs = await run_cases(runtime, cases)
            unbroken(runs)
            for run in runs:
                assert run.status == "finished"
                assert run.faults == 1
                judged = [step for step in await steps_of(runtime, run.id) if step.kind == "tool.judged"]
                assert [(step.body["tool"], step.body["rule"]) for step in judged[:1]] == [("", "grant")]
            assert await sound(runtime)

    asyncio.run(go())


@pytest.mark.rule("BI-1", "BI-3")
@pytest.mark.parametrize("name", ["echo", "finish", "read_artifact", "save_artifact"])
def test_any_text_as_the_arguments_of_a_call(tmp_path: Path, name: str) -> None:
    cases = texts()
    script = {"*": once(lambda case: Answer(calls=(Call("1", name, cases[case]),)))}

    async def go() -> None:
        async with world(tmp_path, script, [reader(tools=("echo",))], tools=[echo]) as runtime:
            runs = await run_cases(runtime, cases)
            unbroken(runs)
            assert {run.status for run in runs} == {"finished"}
            assert all(run.faults == 1 for run in runs), "no case of the corpora is what the tool accepts"
            assert await sound(runtime)

    asyncio.run(go())


@pytest.mark.rule("BI-1", "BI-3")
def test_the_arguments_that_json_allows_arrive_as_they_were_written(tmp_path: Path) -> None:
    """The suite says what is JSON; a tool that takes anything must see objects of it unchanged, or nobody does."""
    suite = [(name, expect, raw) for name, expect, raw in json_suite()]
    cases = ['{"given":' + raw.decode("utf-8", "surrogateescape") + "}" for _, _, raw in suite]
    seen: dict[int, str] = {}

    def answer(request: Request) -> Any:
        case = case_of(request)
        if request.number == 1:
            return Answer(calls=(Call("1", "anything", cases[case]),))
        seen[case] = data_of(request.messages[-1].text)
        return {"finish": "done"}

    async def go() -> None:
        spec = reader(tools=("anything",))
        async with world(tmp_path, {"*": answer}, [spec], tools=[anything]) as runtime:
            runs = await run_cases(runtime, cases)
            unbroken(runs)
            for number, ((_, expect, _), run) in enumerate(zip(suite, runs, strict=True)):
                try:
                    value = canonical.parse(cases[number], "case")
                except InterlockError:
                    value = None
                if expect == "reject":
                    assert value is None or run.faults == 0
                if run.faults == 0:
                    assert value is not None
                    assert json.loads(seen[number]) == value
            assert sum(run.faults == 0 for run in runs) > 90
            assert await sound(runtime)

    asyncio.run(go())


@pytest.mark.rule("BI-1", "BI-3")
def test_values_of_every_text_in_every_place_of_an_argument(tmp_path: Path) -> None:
    cases = texts()
    seen: dict[int, str] = {}

    def answer(request: Request) -> Any:
        case = case_of(request)
        text = cases[case]
        if request.number == 1:
            arguments = canonical.encode({"value": text, "list": [text, {text: text}], text: 1}).decode()
            return Answer(calls=(Call("1", "anything", arguments),))
        seen[case] = data_of(request.messages[-1].text)
        return {"finish": "done"}

    async def go() -> None:
        spec = reader(tools=("anything",))
        async with world(tmp_path, {"*": answer}, [spec], tools=[anything]) as runtime:
            runs = await run_cases(runtime, cases)
            unbroken(runs)
            for number, (case, run) in enumerate(zip(cases, runs, strict=True)):
                assert run.status == "finished"
                half = any("\ud800" <= character <= "\udfff" for character in case)
                assert (run.faults > 0) == (half or len(case) > 60_000)
                if not half and len(case) < 10_000:
                    assert json.loads(seen[number])["list"] == [case, {case: case}]
            assert await sound(runtime)

    asyncio.run(go())


SUMMARY = '{"summary":"x"}'
NONSENSE = [
    Answer(),
    Answer(" \n\t"),
    Answer(calls=(Call("1", "nobody", "{}"),)),
    Answer(calls=(Call("1", "finish", "{"),)),
    Answer(calls=(Call("1", "finish", ""),)),
    Answer(calls=(Call("1", "finish", "null"),)),
    Answer(calls=(Call("1", "finish", '"x"'),)),
    Answer(calls=(Call("1", "finish", json.dumps(SUMMARY)),)),
    Answer(calls=(Call("1", "finish", json.dumps(json.dumps(SUMMARY))),)),
    Answer(calls=(Call("1", "finish", '{"summary":"x","summary":"y"}'),)),
    Answer(calls=(Call("1", "finish", '{"summary":1}'),)),
    Answer(calls=(Call("1", "finish", '{"summary":"x","artifacts":{"a":1}}'),)),
    Answer(calls=(Call("1", "finish", '{"summary":"x","artifacts":[]}'),)),
    Answer(calls=(Call("1", "finish", '{"summary":"x","artifacts":{"final_answer":"y"}}'),)),
    Answer(calls=(Call("1", "finish", '{"summary":"x","artifacts":{"A b":"y"}}'),)),
    Answer(calls=(Call("1", "finish", '{"summary":"x","not_done":[{"what":"y"}]}'),)),
    Answer(calls=(Call("1", "finish", '{"summary":"\\ud83d"}'),)),
    Answer(calls=(Call("1", "finish", SUMMARY), Call("1", "finish", SUMMARY))),
    Answer(calls=(Call("1", "read_artifact", '{"name":"artifact-00000000"}'),)),
    Answer(calls=(Call("1", "read_artifact", '{"name":"x","start":-1}'),)),
    Answer(calls=(Call("1", "read_artifact", '{"name":"x","start":1e300}'),)),
    Answer(calls=(Call("1", "save_artifact", '{"content":7}'),)),
    Answer(calls=(Call("1", "", ""),)),
    Answer(calls=(Call("1", "echo", '{"text":"x","number":9' + "9" * 4999 + "}"),)),
]


@pytest.mark.rule("BI-3")
@pytest.mark.parametrize("answer", NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_is_told_a_bounded_number_of_times(tmp_path: Path, answer: Answer) -> None:
    requests: list[Request] = []

    def script(request: Request) -> Answer:
        requests.append(request)
        return answer

    async def go() -> None:
        spec = reader(tools=("echo",))
        async with world(tmp_path, {"*": script}, [spec], tools=[echo], corrections=2) as runtime:
            (run,) = await run_all(runtime, ["go"])
            unbroken([run])
            assert run.status in {"failed", "refused"}
            assert run.reason is not None
            assert run.reason["id"] == "run.gave_up"
            assert len(requests) <= 3
            told = requests[-1].messages[-1].text
            assert told.strip(), "the model is told what was wrong"
            assert "run.gave_up" not in told
            assert await sound(runtime)

    asyncio.run(go())


@pytest.mark.rule("BI-3", "GT-5")
def test_endless_calls_end_with_the_budget(tmp_path: Path) -> None:
    def script(request: Request) -> dict[str, Any]:
        return {"calls": [{"call": "echo", "with": {"text": f"{request.number}"}}] * 7}

    async def go() -> None:
        async with world(tmp_path, {"*": script}, [reader(tools=("echo",))], tools=[echo]) as runtime:
            (run,) = await run_all(runtime, ["go"])
            assert run.status == "exhausted"
            assert run.usage.tool_calls <= 100
            assert await sound(runtime)

    asyncio.run(go())
