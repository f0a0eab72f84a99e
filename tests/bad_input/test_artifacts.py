"""Artifacts of every shape: stored as they are and read back byte for byte, or refused by name."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from interlock.connector.model.model import Answer, Request
from interlock.errors import InterlockError
from interlock.perspective.fence import data_of
from interlock.run.finish import NAME
from interlock.run.function import Finish
from tests.bad_input.cases import SPECIAL, case_of, reader, run_all, run_cases, texts, unbroken
from tests.world import sound, world


def storable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


@pytest.mark.rule("BI-1", "CS-1", "CS-2", "EV-2")
def test_a_model_publishes_any_text(tmp_path: Path) -> None:
    cases = texts()

    def answer(request: Request) -> dict[str, Any]:
        if request.number > 1:
            return {"finish": {"summary": "could not"}}
        return {"finish": {"summary": "here", "artifacts": {"found": cases[case_of(request)]}}}

    async def go() -> None:
        async with world(tmp_path, {"*": answer}, [reader("found")]) as runtime:
            runs = await run_cases(runtime, cases)
            unbroken(runs)
            contents = runtime.installation.contents
            for case, run in zip(cases, runs, strict=True):
                assert run.status == "finished"
                if not storable(case):
                    assert "found" not in run.artifacts
                    assert run.answers == 2, "the model was told and finished without it"
                    continue
                about, data = await runtime.artifact(run.id, "found")
                assert data == case.encode()
                assert about["digest"] == contents.digest(run.company, case.encode())
                assert about["size"] == len(data)
            assert await sound(runtime)

    asyncio.run(go())


@pytest.mark.rule("BI-1", "CS-4", "CS-5", "CS-6")
def test_a_model_saves_any_text_and_reads_it_back(tmp_path: Path) -> None:
    cases = texts()
    shown: dict[int, str] = {}

    def answer(request: Request) -> Any:
        case = case_of(request)
        told = data_of(request.messages[-1].text)
        if request.number == 1:
            return {"call": "save_artifact", "with": {"content": cases[case]}}
        if request.number == 2 and '"handle"' in told:
            handle = told.partition('"handle":"')[2].partition('"')[0]
            return {"call": "read_artifact", "with": {"name": handle}}
        shown[case] = told
        return {"finish": "done"}

    async def go() -> None:
        async with world(tmp_path, {"*": answer}, [reader()]) as runtime:
            runs = await run_cases(runtime, cases)
            unbroken(runs)
            for number, (case, run) in enumerate(zip(cases, runs, strict=True)):
                assert run.status == "finished"
                if storable(case):
                    assert shown[number] == case or shown[number].startswith(case[: 64 * 1024])
                else:
                    assert "U+D" in shown[number] or "surrogate" in shown[number]
            assert await sound(runtime)

    asyncio.run(go())


@pytest.mark.rule("BI-1", "AG-6")
def test_a_function_publishes_text_and_bytes(tmp_path: Path) -> None:
    cases = texts()

    async def body(run: Any) -> Finish:
        text = cases[run.input["case"]]
        raw = text.encode("utf-8", "surrogatepass")
        name = "text" if storable(text) else "half"
        return Finish("done", {"raw": raw, **({name: text} if name == "text" else {})})

    async def go() -> None:
        spec = reader(function="m:body")
        async with world(tmp_path, None, [spec], functions={"m:body": body}) as runtime:
            runs = await run_cases(runtime, cases)
            unbroken(runs)
            for case, run in zip(cases, runs, strict=True):
                assert run.status == "finished"
                raw = case.encode("utf-8", "surrogatepass")
                assert (await runtime.artifact(run.id, "raw"))[1] == raw
                if storable(case):
                    assert (await runtime.artifact(run.id, "text"))[1] == raw
            assert await sound(runtime)

    asyncio.run(go())


@pytest.mark.rule("BI-1", "RN-3")
@pytest.mark.fault("F42")
@pytest.mark.parametrize("by_function", [False, True])
def test_any_text_as_a_name(tmp_path: Path, by_function: bool) -> None:
    cases = [case for case in texts() if case not in {"final_answer"}]

    def answer(request: Request) -> dict[str, Any]:
        if request.number > 1:
            return {"finish": {"summary": "gave up"}}
        return {"finish": {"summary": "here", "artifacts": {cases[case_of(request)]: "content"}}}

    async def body(run: Any) -> Finish:
        return Finish("here", {cases[run.input["case"]]: "content"})

    async def go() -> None:
        spec = reader(function="m:body" if by_function else None)
        async with world(tmp_path, {"*": answer}, [spec], functions={"m:body": body}) as runtime:
            runs = await run_cases(runtime, cases)
            unbroken(runs)
            for case, run in zip(cases, runs, strict=True):
                if NAME.match(case):
                    assert (await runtime.artifact(run.id, case))[1] == b"content"
                    continue
                assert set(run.artifacts) <= {"final_answer"}
                with pytest.raises(InterlockError) as caught:
                    await runtime.artifact(run.id, case)
                assert caught.value.code == "artifact.unknown"
                assert caught.value.what("pt-BR")
                if by_function:
                    assert run.reason is not None
                    assert run.reason["with"]["code"] == "finish.bad_name"
            assert await sound(runtime)
            for step in await runtime.installation.ledger.read(runs[0].id, 0, 100):
                assert "\x00" not in step.text

    asyncio.run(go())


@pytest.mark.rule("BI-1", "BI-3")
def test_a_summary_of_any_text(tmp_path: Path) -> None:
    cases = texts()

    def answer(request: Request) -> Any:
        return Answer(cases[case_of(request)]) if request.number == 1 else {"finish": "gave up"}

    async def go() -> None:
        async with world(tmp_path, {"*": answer}, [reader()]) as runtime:
            runs = await run_cases(runtime, cases)
            unbroken(runs)
            for case, run in zip(cases, runs, strict=True):
                assert run.status == "finished"
                said = (await runtime.artifact(run.id, "final_answer"))[1].decode()
                fits = case.strip() and storable(case) and len(case.encode()) <= 32 * 1024
                assert said == (case if fits else "gave up")
            assert await sound(runtime)

    asyncio.run(go())


@pytest.mark.rule("BI-1", "RN-3")
@pytest.mark.parametrize(
    "media", ["a patient named Ana", "text/plain\n", "", "\ud83d", "x" * 300, "text/" + "x" * 90]
)
def test_a_media_type_is_no_place_for_text(tmp_path: Path, media: str) -> None:
    def answer(request: Request) -> Any:
        if request.number == 1:
            return {"call": "save_artifact", "with": {"content": "x", "media": media}}
        return {"finish": "gave up"}

    async def go() -> None:
        async with world(tmp_path, {"*": answer}, [reader()]) as runtime:
            (run,) = await run_all(runtime, ["go"])
            assert run.status == "finished"
            assert set(run.artifacts) == {"final_answer"}
            assert await sound(runtime)

    asyncio.run(go())


@pytest.mark.rule("BI-1", "AG-6")
@pytest.mark.parametrize(
    "finish",
    [
        None,
        "text",
        Finish("x", ["a"]),  # type: ignore[arg-type]
        Finish("x", {1: "a"}),  # type: ignore[dict-item]
        Finish("x", {"a": 1}),  # type: ignore[dict-item]
        Finish("x", {"a": None}),  # type: ignore[dict-item]
        Finish("x", not_done=("ab", "c")),  # type: ignore[arg-type]
        Finish("x", not_done=3),  # type: ignore[arg-type]
        Finish(b"x"),  # type: ignore[arg-type]
        Finish("\ud83d"),
        Finish("x", not_done=(("\ud83d", "y"),)),
    ],
)
def test_a_function_that_finishes_with_nonsense(tmp_path: Path, finish: Any) -> None:
    async def body(run: Any) -> Any:
        return finish

    async def go() -> None:
        spec = reader(function="m:body")
        async with world(tmp_path, None, [spec], functions={"m:body": body}) as runtime:
            (run,) = await run_all(runtime, ["go"])
            unbroken([run])
            assert run.status == "failed"
            assert run.reason is not None
            assert await sound(runtime)

    asyncio.run(go())


def test_there_are_cases() -> None:
    assert len(texts()) > 800
    assert len(SPECIAL) > 20
