"""Tests of a request that is sent again: the exact bytes leave, whatever the library would encode now."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest

from interlock.connector.model.model import Answer, Call, Message, Model, ModelFailure, ReplayingModel
from interlock.connector.model.scripted import ScriptedModel
from interlock.errors import InterlockError
from interlock.testing import ProviderServer, Reply
from tests.connector.provider_world import HISTORY, Seen, ask, every_adapter, model_of, request

REPLY = Reply("Look: “já”.", (Call("k", "lookup", '{"name":"é"}'),), input_tokens=20, output_tokens=9)


def replay(model: ReplayingModel, data: bytes, seen: Seen | None = None) -> Answer:
    """Send bytes again, then close."""

    async def once() -> Answer:
        try:
            return await model.replay(data, Seen() if seen is None else seen)
        finally:
            await model.close()

    return asyncio.run(once())


@every_adapter
@pytest.mark.rule("PS-2", "PS-1")
@pytest.mark.parametrize("streams_now", [False, True])
def test_the_same_bytes_and_headers_arrive(provider: str, stream: bool, streams_now: bool) -> None:
    """The settings may ask for another way of answering by now; what was sent says which one is meant."""
    seen = Seen()
    with ProviderServer([REPLY, REPLY]) as server:
        [first] = ask(model_of(server, provider, stream), request(HISTORY), seen=seen)
        data = b"".join(seen[0])
        again = replay(model_of(server, provider, streams_now, max_output_tokens=7), data, seen)
        sent, resent = server.received
    assert resent.body == sent.body == data == b"".join(seen[1])
    assert resent.path == sent.path
    assert resent.headers == sent.headers
    assert (again.text, again.calls, again.usage) == (first.text, first.calls, first.usage)
    assert again.calls[0].arguments == '{"name":"é"}'


@every_adapter
@pytest.mark.rule("PS-2")
@pytest.mark.parametrize("data", [b'{"stream": false, "x": [1 ,2]}\n', b'{"odd":', b"\xff\x00", b" { } "])
def test_no_byte_is_put_in_order(provider: str, stream: bool, data: bytes) -> None:
    """Whatever is stored goes out as it is, also what no library of now would write."""
    with ProviderServer([Reply("x")]) as server:
        with suppress(ModelFailure):
            replay(model_of(server, provider, stream), data)
        [received] = server.received
    assert received.body == data
    assert received.headers["content-length"] == str(len(data))


@every_adapter
@pytest.mark.rule("PS-2", "GT-7")
def test_the_key_goes_with_it(provider: str, stream: bool) -> None:
    key = "a-key-that-is-secret"
    more = {"key": "SOME_KEY", "environment": {"SOME_KEY": key}}
    with ProviderServer([REPLY]) as server:
        replay(model_of(server, provider, stream, **more), b'{"stream":false}')
        [received] = server.received
    assert key in received.headers.get("authorization", "") + received.headers.get("x-api-key", "")


@every_adapter
@pytest.mark.rule("PS-1", "PS-2")
def test_nothing_leaves_that_was_not_let_go(provider: str, stream: bool) -> None:
    async def before_send(parts: Sequence[bytes]) -> None:
        raise LookupError

    async def once() -> None:
        model = model_of(server, provider, stream)
        try:
            with pytest.raises(LookupError):
                await model.replay(b"{}", before_send)
        finally:
            await model.close()

    with ProviderServer([REPLY]) as server:
        asyncio.run(once())
        assert server.received == ()


@every_adapter
@pytest.mark.rule("PS-2")
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(status=429, headers={"Retry-After": "2"}), "rate_limited"),
        (Reply(status=500), "unavailable"),
        (Reply(status=401), "unauthorized"),
        (Reply(fault="close"), "unavailable"),
    ],
)
def test_a_failure_is_named_as_that_of_an_ask(provider: str, stream: bool, reply: Reply, code: str) -> None:
    with ProviderServer([reply, REPLY]) as server:
        with pytest.raises(ModelFailure) as caught:
            replay(model_of(server, provider, stream), b'{"stream":false}')
        assert len(server.received) == 1
    assert caught.value.code == code


@pytest.mark.rule("PS-2")
@pytest.mark.parametrize(
    "messages", [HISTORY, (), (Message("user", "\ud800 \u0000 🦉"), Message("assistant", "x"))]
)
def test_a_script_is_shown_what_it_was_shown(messages: tuple[Message, ...]) -> None:
    seen, asked = Seen(), []

    def answer(given):  # type: ignore[no-untyped-def]
        asked.append(given)
        return {"text": f"{given.number}"}

    model = ScriptedModel({"*": answer}, price_in=7)
    sent = request(messages, number=3, max_output_tokens=9)
    [first] = ask(model, sent, seen=seen)  # type: ignore[arg-type]
    assert replay(model, b"".join(seen[0]), seen) == first
    assert b"".join(seen[0]) == b"".join(seen[1])
    assert asked[0] == asked[1] == sent


@pytest.mark.rule("PS-2", "BI-1")
@pytest.mark.parametrize(
    "data", [b"", b"{}", b"\xff", b"[" * 100_000, b'{"head":{},"messages":[],"tail":{}}']
)
def test_a_script_refuses_what_it_was_never_shown(data: bytes) -> None:
    seen = Seen()
    with pytest.raises(InterlockError) as caught:
        replay(ScriptedModel({"*": [{"text": "x"}]}), data, seen)
    assert caught.value.code == "model.not_replayed" and seen == []


@pytest.mark.rule("PS-2")
def test_both_models_can_send_again() -> None:
    with ProviderServer([]) as server:
        models: list[Model] = [ScriptedModel({}), model_of(server, "openai")]
        assert all(isinstance(model, ReplayingModel) for model in models)
