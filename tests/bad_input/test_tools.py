"""Results of tools of every shape, and tools that behave in ways nobody should: each ends its own call at most."""

import asyncio
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from interlock.connector.model.model import Request
from interlock.connector.tool import BoundTool, tool
from interlock.errors import InterlockError
from interlock.gate.budget import Budget
from interlock.perspective.fence import data_of
from interlock.run.function import Finish
from tests.bad_input.cases import case_of, reader, run_all, run_cases, texts, unbroken
from tests.bad_input.corpora import json_suite
from tests.world import sound, world


class Mute(Exception):
    """An exception whose words are an exception."""

    def __str__(self) -> str:
        raise Mute


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def results() -> list[Any]:
    """Give every text as a result, as a key, and what the JSON suite says is JSON, parsed."""
    cases: list[Any] = texts()
    cases += [{text: text} for text in texts()[:600]]
    for _, expect, raw in json_suite():
        if expect == "accept":
            cases.append(json.loads(raw))
    return cases


def giving(cases: list[Any]) -> BoundTool:
    @tool(effect="read", labels=())
    async def give(case: int) -> Any:
        """Give the case."""
        found = cases[case]
        if callable(found):
            return found()
        return found

    return give


@pytest.mark.rule("BI-1", "RN-4")
@pytest.mark.fault("F42")
def test_any_result_reaches_the_function_as_it_is(tmp_path: Path) -> None:
    cases = results()
    got: dict[int, Any] = {}

    async def body(run: Any) -> Finish:
        case = run.input["case"]
        got[case] = await run.call("give", case=case)
        return Finish("done")

    async def go() -> None:
        spec = reader(tools=("give",), function="m:body")
        functions = {"m:body": body}
        async with world(tmp_path, None, [spec], functions=functions, tools=[giving(cases)]) as runtime:
            runs = await run_cases(runtime, cases)
            unbroken(runs)
            assert {run.status for run in runs} == {"finished"}
            for number, case in enumerate(cases):
                assert got[number] == joined(case)
            assert await sound(runtime)

    asyncio.run(go())


def joined(value: Any) -> Any:
    """Two halves of one character side by side are that character, as every reader of JSON takes them."""
    return json.loads(json.dumps(value))


ODD = [
    b"bytes",
    {1, 2},
    {1: "a"},
    {None: "a"},
    {"a": {2: 3}},
    float("nan"),
    float("-inf"),
    datetime(2026, 1, 1),
    object(),
    lambda: sys.exit(3),
    lambda: (_ for _ in ()).throw(Mute()),
    lambda: (_ for _ in ()).throw(TimeoutError()),
    lambda: (_ for _ in ()).throw(asyncio.CancelledError()),
    lambda: (_ for _ in ()).throw(RecursionError()),
    lambda: (_ for _ in ()).throw(InterlockError("tool.unknown", value="\ud83d")),
    lambda: (_ for _ in ()).throw(ValueError("\ud83d\x00" * 5000)),
    nested(300),
    nested(5000),
    10**5000,
]


@pytest.mark.rule("BI-1", "BI-3")
@pytest.mark.parametrize("by_function", [False, True])
def test_a_tool_that_gives_no_json_or_raises_ends_its_own_call_alone(
    tmp_path: Path, by_function: bool
) -> None:
    told: dict[int, str] = {}

    def answer(request: Request) -> Any:
        if request.number == 1:
            return {"call": "give", "with": {"case": case_of(request)}}
        told[case_of(request)] = request.messages[-1].text
        return {"finish": "told"}

    async def body(run: Any) -> Finish:
        with pytest.raises(InterlockError) as caught:
            await run.call("give", case=run.input["case"])
        assert caught.value.code == "tool.no_result"
        told[run.input["case"]] = str(caught.value)
        return Finish("told")

    async def go() -> None:
        spec = reader(tools=("give",), function="m:body" if by_function else None)
        functions = {"m:body": body}
        async with world(
            tmp_path, {"*": answer}, [spec], functions=functions, tools=[giving(ODD)]
        ) as runtime:
            runs = await run_cases(runtime, ODD)
            unbroken(runs)
            for number, run in enumerate(runs):
                assert run.status == "finished", (ODD[number], run.reason)
                assert told[number].strip()
                assert "Traceback" not in told[number]
            assert await sound(runtime)

    asyncio.run(go())


@pytest.mark.rule("BI-1", "AG-6")
@pytest.mark.parametrize("case", range(9, 16))
def test_a_function_that_raises_ends_its_own_run_alone(tmp_path: Path, case: int) -> None:
    async def body(run: Any) -> Finish:
        if run.input == "raise":
            ODD[case]()  # type: ignore[operator]
        return Finish("done")

    async def go() -> None:
        spec = reader(function="m:body")
        async with world(tmp_path, None, [spec], functions={"m:body": body}) as runtime:
            one, bad, other = await run_all(runtime, ["go", "raise", "go"])
            unbroken([one, bad, other])
            assert (one.status, other.status) == ("finished", "finished")
            assert bad.status == "failed"
            assert await sound(runtime)

    asyncio.run(go())


@pytest.mark.rule("BI-1", "CS-1")
@pytest.mark.parametrize("inline", [0, 1000, 256 * 1024])
def test_a_large_result_is_read_back_before_it_is_on_disk(tmp_path: Path, inline: int) -> None:
    """What a run has taken down waits for the next write; what it then reads must be there all the same."""
    size = 700 * 1024

    @tool(effect="read", labels=())
    async def much() -> str:
        """Give much."""
        return "x" * size

    def answer(request: Request) -> Any:
        told = request.messages[-1].text
        data = data_of(told)
        match request.number:
            case 1:
                return {"call": "much"}
            case 2:
                handle = "artifact-" + told.partition("artifact-")[2][:8]
                return {"call": "read_artifact", "with": {"name": handle, "start": size - 10}}
            case 3:
                assert data == "x" * 11 + '"'
                return {"call": "save_artifact", "with": {"content": "y" * size}}
            case 4:
                handle = json.loads(data)["handle"]
                return {"call": "read_artifact", "with": {"name": handle}}
        assert data.startswith("yyyy")
        return {"finish": {"summary": "done"}}

    async def go() -> None:
        spec = reader(tools=("much",))
        async with world(
            tmp_path, {"*": answer}, [spec], tools=[much], inline_bytes=inline, limits=Budget()
        ) as runtime:
            (run,) = await run_all(runtime, ["go"])
            assert run.status == "finished", run.reason
            assert await sound(runtime)

    asyncio.run(go())
