"""Tests of answers over real HTTP: text, calls, streaming, usage, and what the provider is told."""

import asyncio
import json
from typing import Any

import pytest

from interlock.connector.model.model import Answer, Call, Message
from interlock.gate.budget import Usage
from interlock.testing import ProviderServer, Received, Reply
from tests.connector.provider_world import HISTORY, LOOKUP, Seen, ask, every_adapter, model_of, request

CALLS = (Call("k1", "lookup", '{"name":"a","deep":[1,{"é":null}]}'), Call("k2", "other", '{"n":2.5}'))


@every_adapter
@pytest.mark.parametrize(
    ("text", "calls"), [("Plain — ção.", ()), ("", CALLS[:1]), ("", CALLS), ("Both.", CALLS)]
)
def test_an_answer_comes_through(provider: str, stream: bool, text: str, calls: tuple[Call, ...]) -> None:
    with ProviderServer([Reply(text, calls)]) as server:
        model = model_of(server, provider, stream, price_in=3_000_000, price_out=15_000_000)
        (answer,) = ask(model)
    assert answer == Answer(text, calls, Usage(tokens=18, money=3 * 11 + 15 * 7))


@every_adapter
def test_money_is_rounded_up_and_nought_without_prices(provider: str, stream: bool) -> None:
    with ProviderServer([Reply("x"), Reply("x")]) as server:
        (dear,) = ask(model_of(server, provider, stream, price_in=1, price_out=1))
        (free,) = ask(model_of(server, provider, stream))
    assert (dear.usage.money, free.usage.money) == (1, 0)


@every_adapter
def test_a_call_without_arguments_has_an_empty_object(provider: str, stream: bool) -> None:
    arguments = "{}" if provider == "anthropic" and not stream else ""
    with ProviderServer([Reply(calls=(Call("k1", "lookup", arguments),))]) as server:
        (answer,) = ask(model_of(server, provider, stream))
    assert answer.calls == (Call("k1", "lookup", "{}"),)


@every_adapter
def test_an_empty_answer_is_an_answer(provider: str, stream: bool) -> None:
    with ProviderServer([Reply()]) as server:
        (answer,) = ask(model_of(server, provider, stream))
    assert (answer.text, answer.calls) == ("", ())


def _sent(received: Received) -> dict[str, Any]:
    value: dict[str, Any] = received.json
    return value


@pytest.mark.parametrize("stream", [False, True])
def test_openai_is_told_the_whole_history(stream: bool) -> None:
    with ProviderServer([Reply("x")]) as server:
        ask(model_of(server, "openai", stream), request(max_output_tokens=99))
        sent = _sent(server.received[0])
    roles = [message["role"] for message in sent["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "tool"]
    assert sent["messages"][0]["content"] == "Be exact."
    assert [call["id"] for call in sent["messages"][2]["tool_calls"]] == ["c1", "c2"]
    assert sent["messages"][2]["content"] == "Looking."
    assert [item.get("tool_call_id") for item in sent["messages"]][3:] == ["c1", "c2", None, "c3"]
    assert sent["messages"][3]["content"] == HISTORY[2].text
    assert sent["tools"][0]["function"]["parameters"] == LOOKUP.parameters
    assert sent["max_completion_tokens"] == 99
    assert sent["stream"] is stream


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic_is_told_the_whole_history(stream: bool) -> None:
    with ProviderServer([Reply("x")]) as server:
        ask(model_of(server, "anthropic", stream), request(max_output_tokens=99))
        sent = _sent(server.received[0])
    assert sent["system"][0]["text"] == "Be exact."
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant"] * 2 + ["user"]
    results = sent["messages"][2]["content"]
    assert [block["tool_use_id"] for block in results] == ["c1", "c2"]
    assert sent["messages"][1]["content"][1]["input"] == {"name": "a"}
    assert sent["tools"][0]["input_schema"] == LOOKUP.parameters
    assert sent["max_tokens"] == 99


@every_adapter
@pytest.mark.rule("BI-3")
@pytest.mark.parametrize(
    "arguments", ["{broken", "[1]", '{"a":NaN}', '{"a":1,"a":2}', '"', "", '{"a":"\\ud83d"}']
)
def test_broken_arguments_go_back_to_the_provider(provider: str, stream: bool, arguments: str) -> None:
    history = (
        Message("user", "go"),
        Message("assistant", "", (Call("c1", "lookup", arguments),)),
        Message("tool", "not readable", call_id="c1", name="lookup"),
    )
    with ProviderServer([Reply("x")]) as server:
        ask(model_of(server, provider, stream), request(history))
        assert b"c1" in server.received[0].body


@every_adapter
@pytest.mark.rule("BI-1")
@pytest.mark.fault("F42")
def test_surrogates_and_nul_are_sent_as_something_readable(provider: str, stream: bool) -> None:
    bad = "\ud83d \u0000 🦉"
    history = (
        Message("user", bad),
        Message("assistant", bad, (Call(bad, bad, bad),)),
        Message("tool", bad, call_id=bad, name=bad),
    )
    with ProviderServer([Reply("x")]) as server:
        ask(model_of(server, provider, stream), request(history, instructions=bad))
        assert json.loads(server.received[0].body.decode())
        assert b"\\\\ud83d" in server.received[0].body


@every_adapter
def test_twenty_at_once_each_see_their_own_bytes(provider: str, stream: bool) -> None:
    def reply(received: Received) -> Reply:
        return Reply(next(word for word in received.body.decode().split('"') if word.startswith("question")))

    async def all_at_once() -> list[tuple[Answer, Seen]]:
        model = model_of(server, provider, stream)

        async def one(number: int) -> tuple[Answer, Seen]:
            seen = Seen()
            return await model.ask(request([Message("user", f"question {number}")]), seen), seen

        try:
            return await asyncio.gather(*(one(number) for number in range(20)))
        finally:
            await model.close()

    with ProviderServer(reply) as server:
        found = asyncio.run(all_at_once())
        bodies = {item.body for item in server.received}
    assert [answer.text for answer, _ in found] == [f"question {number}" for number in range(20)]
    for number, (_, seen) in enumerate(found):
        assert len(seen) == 1
        assert f'"question {number}"'.encode() in b"".join(seen[0])
    assert bodies == {b"".join(seen[0]) for _, seen in found}
