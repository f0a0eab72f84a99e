"""What a run is opened with: briefs, persons, labels, contracts and releases of every shape."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from interlock.errors import InterlockError
from interlock.scope.label import DeclaredLabel
from interlock.scope.scope import Address, Scope
from tests.bad_input.cases import READER, reader, run_all, texts, unbroken
from tests.bad_input.corpora import json_suite, refusal
from tests.bad_input.test_tools import joined, nested
from tests.world import sound, steps_of, world


@pytest.mark.rule("BI-1", "RN-8")
@pytest.mark.fault("F42")
def test_any_text_as_a_brief_is_kept_as_it_is(tmp_path: Path) -> None:
    briefs: list[Any] = texts()
    briefs += [{text: [text]} for text in texts()[:300]]
    briefs += [json.loads(raw) for _, expect, raw in json_suite() if expect == "accept"]

    async def go() -> None:
        async with world(tmp_path, {"*": [{"finish": "read"}]}, [reader()]) as runtime:
            runs = await run_all(runtime, briefs)
            unbroken(runs)
            contents = runtime.installation.contents
            for brief, run in zip(briefs, runs, strict=True):
                if brief is None:
                    assert "input" not in run.opening
                    continue
                assert run.status == "finished"
                data = await contents.read(run.opening["input"])
                assert json.loads(data) == joined(brief)
                assert contents.digest(run.company, data) == run.opening["input"]
                snapshot, _ = await runtime.prompt(run.id)
                assert snapshot.request
            assert await sound(runtime)

    asyncio.run(go())


@pytest.mark.rule("BI-1")
@pytest.mark.parametrize(
    "brief",
    [
        b"x",
        {1: 2},
        {"a": {None: 1}},
        {1, 2},
        float("nan"),
        [float("inf")],
        nested(300),
        nested(9000),
        object(),
        10**5000,
    ],
    ids=range(10),
)
def test_a_brief_that_json_cannot_carry_is_refused(tmp_path: Path, brief: Any) -> None:
    async def go() -> None:
        async with world(tmp_path, {}, [reader()]) as runtime:
            with pytest.raises(InterlockError) as caught:
                await runtime.open_run(READER, "maria", brief)
            assert caught.value.code == "brief.not_json"
            assert refusal(caught.value)

    asyncio.run(go())


@pytest.mark.rule("BI-1", "RN-3")
def test_any_text_as_the_name_of_a_person(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path, {"*": [{"finish": "read"}]}, [reader()]) as runtime:
            opened = await runtime.open_run(READER, "maria")
            taken = 0
            for name in texts():
                fits = bool(name.strip()) and len(name) <= 128 and name.isprintable()
                if fits:
                    run = await runtime.open_run(READER, name)
                    (opening, *_) = await steps_of(runtime, run)
                    assert opening.body["behalf"] == name
                    taken += 1
                    continue
                for use in (
                    runtime.open_run(READER, name),
                    runtime.cancel(opened, name),
                    runtime.publish(reader("other"), name),
                ):
                    with pytest.raises(InterlockError) as caught:
                        await use
                    assert caught.value.code == "run.bad_person"
                    assert refusal(caught.value)
            assert taken > 300
            assert await sound(runtime)

    asyncio.run(go())


def is_scope(text: str) -> bool:
    try:
        return bool(Scope(text))
    except InterlockError:
        return False


@pytest.mark.rule("BI-1", "SC-3", "SC-8", "GT-6")
def test_any_text_as_a_label_a_tool_an_effect_or_a_receiver(tmp_path: Path) -> None:
    labels = {"pii": DeclaredLabel("pii")}
    known = {"pii", "untrusted"}
    good = {"read", "write", "destructive", "*"}

    async def go() -> None:
        async with world(tmp_path, {}, [reader()], labels=labels) as runtime:
            for text in texts():
                if text in known | good or not text:
                    continue
                uses: list[tuple[str, dict[str, Any]]] = [
                    ("label.undeclared", {"labels": [text]}),
                    ("label.undeclared", {"released": [(text, "acme")]}),
                    ("run.unknown_tool", {"tools": [text]}),
                    ("run.unknown_effect", {"effects": [text]}),
                ]
                if not is_scope(text):
                    uses.append(("run.bad_receiver", {"released": [("pii", text)]}))
                for code, asked in uses:
                    with pytest.raises(InterlockError) as caught:
                        await runtime.open_run(READER, "maria", **asked)
                    assert caught.value.code == code
                    assert refusal(caught.value)

    asyncio.run(go())


@pytest.mark.rule("BI-1", "SC-2")
def test_any_text_where_a_run_an_agent_or_an_artifact_is_named(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path, {"*": [{"finish": "read"}]}, [reader()]) as runtime:
            (run,) = await run_all(runtime, ["go"])
            for text in texts():
                uses: list[Any] = [runtime.artifact(run.id, text)]
                if text not in {"0", "1"} and not set(text) <= set("0123456789abcdef"):
                    uses += [runtime.find_run(text), runtime.cancel(text, "maria")]
                for use in uses:
                    with pytest.raises(InterlockError) as caught:
                        await use
                    assert refusal(caught.value)
                with pytest.raises(InterlockError) as caught:
                    await runtime.open_run(Address(text), "maria")
                assert refusal(caught.value)
            assert await sound(runtime)

    asyncio.run(go())
