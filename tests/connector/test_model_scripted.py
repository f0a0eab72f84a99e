"""Tests of the scripted model: the n-th answer for the n-th request, and clear mistakes."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock import canonical
from interlock.connector.model import scripted
from interlock.connector.model.model import Answer, Call, Message, ModelFailure, Request, ToolOffer
from interlock.connector.model.scripted import ScriptedModel
from interlock.errors import InterlockError
from interlock.gate.budget import Usage
from tests.connector.provider_world import HISTORY, LOOKUP, Seen, request

AGENT = "finder@acme/lab"


def _ask(model: ScriptedModel, *requests: Request, seen: Seen | None = None) -> list[Answer]:
    seen = Seen() if seen is None else seen

    async def go() -> list[Answer]:
        return [await model.ask(item, seen) for item in requests]

    return asyncio.run(go())


def _from_file(folder: Path, text: str) -> ScriptedModel:
    file = folder / "answers.yaml"
    file.write_text(text, encoding="utf-8")
    return ScriptedModel.from_file(file)


def test_every_form_of_answer(tmp_path: Path) -> None:
    model = _from_file(
        tmp_path,
        """
finder@acme/lab:
  - call: read_artifact
    with: {name: triage_summary}
  - calls:
      - {call: a, with: {b: 1, a: [true, null, 2.5]}}
      - {call: b}
      - raw: {name: c, arguments: "{broken"}
    text: both
  - finish: {summary: "Done.", artifacts: {x: "é"}}
  - finish: Done.
  - text: plain
  - raw: {name: foo, arguments: ""}
  - {call: first, raw: {name: second, arguments: "{}"}, finish: third}
  - text: ""
""",
    )
    answers = _ask(model, *(request(number=number) for number in range(1, 9)))
    assert [(answer.text, answer.calls) for answer in answers] == [
        ("", (Call("call_1_1", "read_artifact", '{"name":"triage_summary"}'),)),
        (
            "both",
            (
                Call("call_2_1", "a", '{"a":[true,null,2.5],"b":1}'),
                Call("call_2_2", "b", "{}"),
                Call("call_2_3", "c", "{broken"),
            ),
        ),
        ("", (Call("call_3_1", "finish", '{"artifacts":{"x":"é"},"summary":"Done."}'),)),
        ("", (Call("call_4_1", "finish", '{"summary":"Done."}'),)),
        ("plain", ()),
        ("", (Call("call_6_1", "foo", ""),)),
        (
            "",
            (
                Call("call_7_1", "first", "{}"),
                Call("call_7_2", "second", "{}"),
                Call("call_7_3", "finish", '{"summary":"third"}'),
            ),
        ),
        ("", ()),
    ]


@pytest.mark.rule("RN-4")
def test_a_resumed_run_goes_on_where_it_was() -> None:
    script = {AGENT: [{"text": "one"}, {"text": "two"}, {"text": "three"}]}
    assert [answer.text for answer in _ask(ScriptedModel(script), request(number=3), request(number=2))] == [
        "three",
        "two",
    ]
    assert _ask(ScriptedModel(script), request(number=2)) == _ask(ScriptedModel(script), request(number=2))


def test_anyone_else_is_the_star() -> None:
    model = ScriptedModel({"*": [{"text": "star"}], "other@acme": [{"text": "other"}]})
    assert _ask(model, request())[0].text == "star"


@pytest.mark.parametrize(
    "script", [{}, {"other@acme": [{"text": "x"}]}, {AGENT: []}, {AGENT: [{"text": "x"}] * 6}]
)
def test_a_script_that_runs_out_says_where(script: Any) -> None:
    with pytest.raises(ModelFailure) as caught:
        _ask(ScriptedModel(script), request(number=7))
    assert (caught.value.code, caught.value.retryable) == ("rejected", False)
    assert "request 7 of finder@acme/lab" in caught.value.detail


@pytest.mark.rule("WK-4")
def test_failures_come_before_the_answer_and_are_shown_first() -> None:
    fails = [{"code": "rate_limited", "wait_ms": 10, "status": 429}, {"code": "malformed"}]
    model = ScriptedModel({AGENT: [{"text": "at last", "fails": fails}]})
    seen = Seen()
    failures = []
    for _ in fails:
        with pytest.raises(ModelFailure) as caught:
            _ask(model, request(), seen=seen)
        failures.append(
            (caught.value.code, caught.value.retryable, caught.value.wait_ms, caught.value.status)
        )
    assert failures == [("rate_limited", True, 10, 429), ("malformed", False, None, None)]
    assert [answer.text for answer in _ask(model, request(), request(), seen=seen)] == ["at last", "at last"]
    assert len(seen) == 4


def test_a_failure_in_place_of_an_answer_stays() -> None:
    model = ScriptedModel({AGENT: [{"fail": {"code": "unauthorized", "detail": "no"}}]})
    for _ in range(3):
        with pytest.raises(ModelFailure) as caught:
            _ask(model, request())
        assert (caught.value.code, caught.value.detail) == ("unauthorized", "no")


def test_answers_may_be_made_by_callables() -> None:
    ready = Answer("ready", (Call("mine", "x", "{}"),), Usage(tokens=5))
    model = ScriptedModel(
        {
            AGENT: [ready, lambda asked: {"call": asked.messages[0].text, "with": {}}],
            "*": lambda asked: Answer(f"{asked.agent} {asked.number}"),
        }
    )
    first, second = _ask(model, request(), request([Message("user", "hey")], 2))
    assert first is ready
    assert second.calls == (Call("call_2_1", "hey", "{}"),)
    (other,) = _ask(model, Request("else@acme", 9, "", (), ()))
    assert other.text == "else@acme 9"


def test_usage_is_a_token_for_four_bytes_begun() -> None:
    seen = Seen()
    model = ScriptedModel({AGENT: [{"text": "é" * 3}]}, price_in=1_000_000, price_out=3_000_000)
    (answer,) = _ask(model, request(), seen=seen)
    taken = -(-len(b"".join(seen[0])) // 4)
    assert answer.usage == Usage(tokens=taken + 2, money=taken + 6)


surrogates = st.text(st.characters(codec=None))
calls = st.builds(Call, surrogates, surrogates, surrogates)
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    surrogates,
    st.lists(calls, max_size=2).map(tuple),
    surrogates,
    surrogates,
)
tools = st.builds(ToolOffer, surrogates, surrogates, st.just(LOOKUP.parameters))


@pytest.mark.rule("PS-1")
@pytest.mark.fault("F42", "F54")
@given(surrogates, st.lists(tools, max_size=2).map(tuple), st.lists(messages, max_size=4).map(tuple))
def test_the_parts_are_the_canonical_form(
    instructions: str, offers: tuple[ToolOffer, ...], history: tuple[Message, ...]
) -> None:
    seen = Seen()
    model = ScriptedModel({"*": lambda _: {"text": "x"}})
    asked = Request(instructions, 3, instructions, offers, history, 77)
    _ask(model, asked, asked, seen=seen)
    body = b"".join(seen[0])
    value = json.loads(body)
    assert canonical.encode(value) == body
    assert seen[1] == seen[0]
    assert len(seen[0]) == len(history) + 2
    assert value["tail"] == {
        "agent": json.loads(canonical.encode(instructions)),
        "max_output_tokens": 77,
        "number": 3,
    }
    assert [item["text"] for item in value["messages"]] == [
        json.loads(canonical.encode(message.text)) for message in history
    ]
    assert [item["name"] for item in value["head"]["tools"]] == [
        json.loads(canonical.encode(offer.name)) for offer in offers
    ]


@pytest.mark.fault("F3")
def test_the_next_request_begins_with_the_parts_of_this_one() -> None:
    seen = Seen()
    model = ScriptedModel({AGENT: lambda _: {"text": "x"}})
    _ask(model, *(request(HISTORY[:count], count) for count in range(len(HISTORY) + 1)), seen=seen)
    for count, (before, after) in enumerate(pairwise(seen)):
        shared = count + 1
        assert after[:shared] == before[:shared]
        assert all(mine is theirs for mine, theirs in zip(before[2:shared], after[2:shared], strict=True))


def test_other_instructions_and_tools_are_not_taken_from_the_store() -> None:
    seen = Seen()
    model = ScriptedModel({AGENT: lambda _: {"text": "x"}})
    other = ToolOffer(LOOKUP.name, LOOKUP.description, {**LOOKUP.parameters, "title": "Other"})
    _ask(model, request(), request(instructions="New."), request(tools=(other,)), request(), seen=seen)
    assert len({parts[0] for parts in seen}) == 3
    assert seen[3] == seen[0]


@pytest.mark.rule("BI-2")
def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted, "HELD", 10_000)
    model = ScriptedModel({AGENT: lambda _: {"text": "x"}})
    rounds = [request([Message("user", f"{number} " + "x" * 999)], number) for number in range(1, 101)]
    _ask(model, *rounds)
    assert sum(map(len, model._request._messages.values())) <= 10_000


@pytest.mark.rule("PS-1")
def test_what_before_send_raises_comes_through() -> None:
    async def refuse(parts: object) -> None:
        raise OSError("disk full")

    model = ScriptedModel({AGENT: [{"text": "x", "fails": [{"code": "unavailable"}]}]})
    with pytest.raises(OSError, match="disk full"):
        asyncio.run(model.ask(request(), refuse))
    with pytest.raises(ModelFailure):
        _ask(model, request())


@pytest.mark.rule("BI-1", "AG-2")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- text: x\n", 1),
        ("finder@acme/lab: 7\n", 1),
        ("finder@acme/lab:\n  - text: x\n  - {}\n", 3),
        ("finder@acme/lab:\n  - text: x\n  - txt: y\n", 3),
        ("finder@acme/lab:\n  - text: x\n\n  - call: a\n    with: [1]\n", 5),
        ("finder@acme/lab:\n  - with: {a: 1}\n", 2),
        ("finder@acme/lab:\n  - text: 5\n", 2),
        ("finder@acme/lab:\n  - calls:\n      - {call: a}\n      - {coll: a}\n", 4),
        ("finder@acme/lab:\n  - calls: a\n", 2),
        ("finder@acme/lab:\n  - raw: {name: a}\n", 2),
        (
            "finder@acme/lab:\n  - text: x\n    fails:\n      - {code: malformed}\n      - {code: broke}\n",
            5,
        ),
        ("finder@acme/lab:\n  - text: x\n    fails:\n      - {code: rate_limited, wait_ms: soon}\n", 4),
        ("finder@acme/lab:\n  - fail: no\n", 2),
        ("finder@acme/lab:\n  - finish: [a]\n", 2),
    ],
)
def test_a_mistake_names_file_and_line(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(InterlockError) as caught:
        _from_file(tmp_path, text)
    assert caught.value.code == "model.script_malformed"
    assert f"answers.yaml:{line}:" in caught.value.what()
    assert f"answers.yaml:{line}:" in caught.value.what("pt-BR")


@pytest.mark.rule("BI-1")
def test_a_file_that_is_no_yaml_names_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(InterlockError) as caught:
        _from_file(tmp_path, 'a@b:\n  - text: "open\n')
    assert caught.value.code.startswith("yaml.")
    assert "answers.yaml:" in str(caught.value)


@pytest.mark.rule("BI-1")
def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InterlockError) as caught:
        ScriptedModel.from_file(tmp_path / "nowhere.yaml")
    assert caught.value.code == "model.script_unreadable"
    assert "nowhere.yaml" in caught.value.what()


@pytest.mark.rule("BI-1")
@pytest.mark.parametrize(
    "entry",
    [{"text": b"x"}, {"call": "a", "with": {"x": {1, 2}}}, {"call": "a", "with": {"x": float("nan")}}, 7],
)
def test_a_mistake_in_python_names_its_place(entry: Any) -> None:
    with pytest.raises(InterlockError) as caught:
        ScriptedModel({AGENT: [{"text": "x"}, entry]})
    assert "['finder@acme/lab'][1]" in caught.value.what()
    with pytest.raises(InterlockError) as caught:
        _ask(ScriptedModel({AGENT: lambda _: entry}), request(number=2))
    assert "['finder@acme/lab'][1]" in caught.value.what()
