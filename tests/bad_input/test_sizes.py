"""The size of each thing that comes in: bounded, by a setting, and the error states the bound (BI-2)."""

import asyncio
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from interlock.agent.spec import Spec
from interlock.catalogue import LANGUAGES, say
from interlock.connector.model.model import Answer, Call, Request
from interlock.connector.tool import tool
from interlock.errors import InterlockError
from interlock.gate.budget import Budget
from interlock.perspective.fence import data_of
from interlock.run.function import Finish
from interlock.settings import Sizes
from interlock.settings_reader import COUNTED, read_settings
from tests.bad_input.cases import PLATFORM, READER, reader, run_all
from tests.bad_input.corpora import refusal
from tests.world import sound, steps_of, world

LIMIT = 1000


@tool(effect="read", labels=())
async def give(size: int) -> str:
    """Give as much as is asked."""
    return "é" * size


@tool(effect="read", labels=())
async def take(text: str) -> int:
    """Take a text."""
    return len(text)


def finishing(**arguments: Any) -> Any:
    return lambda request: {"finish": arguments if request.number == 1 else "gave up"}


def calling(name: str, arguments: dict[str, Any]) -> Any:
    return lambda request: {"call": name, "with": arguments} if request.number == 1 else {"finish": "gave up"}


def bound(size: int) -> Any:
    """Give, by size's name, the script that stays at the bound for `size` = LIMIT and passes it by one more."""
    text = "é" * (size // 2) + "x" * (size % 2)
    return {
        "artifact": finishing(summary="s", artifacts={"found": text}),
        "summary": finishing(summary=text),
        "text": finishing(summary="s", not_done=[{"what": text, "why": "w"}]),
        "answer": lambda request: Answer(text if request.number == 1 else "gave up"),
        "result": calling("give", {"size": (size - 2) // 2 + size % 2}),
        "artifacts_per_run": finishing(summary="s", artifacts={f"a{n}": "x" for n in range(size)}),
        "calls_per_answer": lambda request: (
            {"calls": [{"call": "take", "with": {"text": "x"}}] * size}
            if request.number == 1
            else {"finish": "gave up"}
        ),
    }


async def steps_with(folder: Path, script: Any, **sizes: int) -> tuple[list[dict[str, Any]], list[str], str]:
    """Run the agent once; give the bodies of its steps, what it was told last, and how it ended."""
    told: list[str] = []

    def listening(request: Request) -> Any:
        told.append(request.messages[-1].text)
        return script(request)

    spec = reader("found", tools=("give", "take")) if "artifact" in sizes else reader(tools=("give", "take"))
    settings: dict[str, Any] = {"sizes": Sizes(**sizes), "limits": Budget()}
    async with world(folder, {"*": listening}, [spec], tools=[give, take], **settings) as runtime:
        (run,) = await run_all(runtime, ["go"])
        assert await sound(runtime)
        return [step.body for step in await steps_of(runtime, run.id)], told, run.status


def reasons_in(value: Any) -> list[dict[str, Any]]:
    """Give every message in a step."""
    found: list[dict[str, Any]] = []
    if isinstance(value, dict):
        found += [value] if "id" in value and isinstance(value["id"], str) and "." in value["id"] else []
        value = list(value.values())
    if isinstance(value, list):
        found += [message for inner in value for message in reasons_in(inner)]
    return found


@pytest.mark.rule("BI-2")
@pytest.mark.parametrize("name", [*COUNTED, "artifact", "summary", "text", "answer", "result"])
def test_what_a_run_takes_in_is_bounded_and_the_bound_is_told(tmp_path: Path, name: str) -> None:
    limit = 20 if name in COUNTED else LIMIT

    async def go(size: int) -> tuple[list[str], bool, str]:
        folder = tmp_path / str(size)
        folder.mkdir()
        bodies, told, status = await steps_with(folder, bound(size)[name], **{name: limit})
        wrong = [text for body in bodies for text in reasons_in(body) if f"{limit:,}" in say(text)]
        return told, bool(wrong) or any(f"{limit:,}" in text for text in told[1:]), status

    _, refused, status = asyncio.run(go(limit))
    assert (refused, status) == (False, "finished")
    told, refused, status = asyncio.run(go(limit + 1))
    assert refused, "the limit is stated"
    assert status == ("failed" if name == "answer" else "finished")
    assert name == "answer" or len(told) == 2, "the model is told once, and nothing is repeated"


@pytest.mark.rule("BI-2", "BI-3")
def test_the_arguments_of_a_call_are_bounded(tmp_path: Path) -> None:
    async def go() -> None:
        for size, fits in ((LIMIT - 20, True), (LIMIT + 1, False)):
            folder = tmp_path / str(size)
            folder.mkdir()
            arguments = '{"text":"' + "x" * size + '"}'

            def script(request: Request, arguments: str = arguments) -> Any:
                return (
                    Answer(calls=(Call("1", "take", arguments),)) if request.number == 1 else Answer("done")
                )

            _, told, status = await steps_with(folder, script, arguments=LIMIT)
            assert status == "finished"
            assert (data_of(told[-1]) == str(size)) == fits
            assert fits or "1,000" in told[-1]

    asyncio.run(go())


@pytest.mark.rule("BI-2")
def test_what_enters_a_prompt_at_once_is_bounded_and_the_rest_is_read_on(tmp_path: Path) -> None:
    def script(request: Request) -> Any:
        if request.number == 1:
            return {"call": "give", "with": {"size": LIMIT}}
        if request.number == 2:
            handle = "artifact-" + request.messages[-1].text.partition("artifact-")[2][:8]
            return {"call": "read_artifact", "with": {"name": handle}}
        return {"finish": "done"}

    _, told, status = asyncio.run(steps_with(tmp_path, script, shown=LIMIT))
    assert status == "finished"
    assert len(told[2].encode()) < LIMIT + 200
    assert "1,002" in told[2]


@pytest.mark.rule("BI-2")
def test_a_brief_and_a_spec_are_bounded(tmp_path: Path) -> None:
    async def go() -> None:
        sizes = Sizes(brief=LIMIT, spec=LIMIT)
        async with world(tmp_path, {"*": [{"finish": "read"}]}, [reader()], sizes=sizes) as runtime:
            await runtime.open_run(READER, "maria", "x" * (LIMIT - 2))
            for use, code in (
                (runtime.open_run(READER, "maria", "x" * (LIMIT - 1)), "brief.too_large"),
                (runtime.publish(Spec("long", PLATFORM, "é" * LIMIT), "maria"), "publish.too_large"),
            ):
                with pytest.raises(InterlockError) as caught:
                    await use
                assert caught.value.code == code
                assert "1,000" in refusal(caught.value)

    asyncio.run(go())


@pytest.mark.rule("BI-2")
@pytest.mark.fault("F44")
def test_what_is_far_too_large_is_refused_once_and_never_retried(tmp_path: Path) -> None:
    large = "x" * (50 * 1024 * 1024)
    calls = 0

    @tool(effect="read", labels=())
    async def flood() -> str:
        """Give 50 MB."""
        nonlocal calls
        calls += 1
        return large

    async def body(run: Any) -> Finish:
        with pytest.raises(InterlockError) as caught:
            await run.call("flood")
        assert "sizes.result" in str(caught.value)
        return Finish("done", {"large": large})

    async def go() -> None:
        spec = reader(tools=("flood",), function="m:body")
        sizes = Sizes(result=1024 * 1024)
        functions = {"m:body": body}
        async with world(tmp_path, None, [spec], tools=[flood], functions=functions, sizes=sizes) as runtime:
            (run,) = await run_all(runtime, ["go"])
            assert run.status == "finished"
            assert calls == 1
            assert run.artifacts["large"]["size"] == len(large)
            assert (tmp_path / ".interlock" / "objects").exists(), "it goes by reference, beside the database"
            with pytest.raises(InterlockError) as caught:
                await runtime.open_run(READER, "maria", large)
            assert caught.value.code == "brief.too_large"

    asyncio.run(go())


@pytest.mark.rule("BI-2")
def test_every_size_is_a_setting() -> None:
    for item in fields(Sizes):
        read = read_settings(f"sizes: {{{item.name}: 77}}", "interlock.yaml")
        assert getattr(read.sizes, item.name) == 77
        assert getattr(read.sizes, item.name) != item.default


@pytest.mark.rule("BI-2", "LP-7")
@pytest.mark.parametrize(
    "code", ["artifact.too_large", "brief.too_large", "publish.too_large", "finish.too_many"]
)
def test_the_remedy_names_the_setting(code: str) -> None:
    for language in LANGUAGES:
        assert "`sizes." in say(f"{code}.remedy", language)
