"""Tests of the exact bytes: what is shown before sending is what the server receives."""

import asyncio
import hashlib
from collections.abc import Sequence
from itertools import pairwise

import pytest

from interlock.connector.model.model import Call, Message, ModelFailure, Request
from interlock.errors import InterlockError
from interlock.testing import ProviderServer, Reply
from tests.connector.provider_world import HISTORY, Seen, ask, every_adapter, model_of, request

REQUESTS = {
    "text": request([Message("user", "hello")], tools=()),
    "tools": request([Message("user", "hello")]),
    "history": request(),
    "nothing": request([Message("user", "")], instructions="", tools=()),
}


@every_adapter
@pytest.mark.rule("PS-1")
@pytest.mark.fault("F54")
@pytest.mark.parametrize("kind", REQUESTS)
def test_the_digest_of_the_parts_is_that_of_the_body(provider: str, stream: bool, kind: str) -> None:
    seen = Seen()
    with ProviderServer([Reply("x", (Call("k", "lookup", "{}"),))] * 2) as server:
        ask(model_of(server, provider, stream), REQUESTS[kind], REQUESTS[kind], seen=seen)
        digests = [item.digest for item in server.received]
    assert [hashlib.sha256(b"".join(parts)).hexdigest() for parts in seen] == digests
    assert digests[0] == digests[1]


@every_adapter
@pytest.mark.rule("PS-1")
@pytest.mark.fault("F54")
@pytest.mark.parametrize(
    "fault", [Reply(status=429), Reply(status=500), Reply(fault="close"), Reply(body=b"<html>")]
)
def test_a_retry_is_shown_as_it_is_sent(provider: str, stream: bool, fault: Reply) -> None:
    seen = Seen()

    async def try_twice() -> None:
        model = model_of(server, provider, stream)
        with pytest.raises(ModelFailure):
            await model.ask(request(), seen)
        await model.ask(request(), seen)
        await model.close()

    with ProviderServer([fault, Reply("x")]) as server:
        asyncio.run(try_twice())
        assert [b"".join(parts) for parts in seen] == [item.body for item in server.received]


@every_adapter
@pytest.mark.rule("RN-4")
@pytest.mark.parametrize(
    "fault", [Reply(status=429), Reply(status=500), Reply(status=529), Reply(fault="close")]
)
def test_no_second_request_is_made_in_silence(provider: str, stream: bool, fault: Reply) -> None:
    with ProviderServer(lambda _: fault) as server:
        with pytest.raises(ModelFailure):
            ask(model_of(server, provider, stream))
        assert len(server.received) == 1


@every_adapter
@pytest.mark.fault("F3")
def test_the_next_request_begins_with_the_parts_of_this_one(provider: str, stream: bool) -> None:
    rounds: list[Request] = []
    history = [Message("user", "start")]
    for number in range(1, 6):
        rounds.append(request(history, number))
        history += [
            Message("assistant", f"round {number}", (Call(f"c{number}", "lookup", '{"name":"a"}'),)),
            Message("tool", f"{number}" * 6000, call_id=f"c{number}", name="lookup"),
        ]
    seen = Seen()
    with ProviderServer(lambda _: Reply("x")) as server:
        ask(model_of(server, provider, stream), *rounds, seen=seen)
    for before, after in pairwise(seen):
        tail = next(index for index, part in enumerate(before) if part.startswith(b"],"))
        assert after[:tail] == before[:tail]
        fresh = set(after) - set(before)
        assert sum(map(len, fresh)) < 7000


class Unsaved(Exception):
    """What a store raises."""


@every_adapter
@pytest.mark.rule("PS-1")
@pytest.mark.parametrize(
    "error",
    [
        Unsaved("disk full"),
        InterlockError("model.no_roles", value="x"),
        TimeoutError("store"),
        ModelFailure("x", True),
    ],
)
def test_what_before_send_raises_comes_through_and_nothing_is_sent(
    provider: str, stream: bool, error: Exception
) -> None:
    async def refuse(parts: Sequence[bytes]) -> None:
        raise error

    async def go() -> None:
        model = model_of(server, provider, stream)
        try:
            await model.ask(request(), refuse)
        finally:
            await model.close()

    with ProviderServer(lambda _: Reply("x")) as server:
        with pytest.raises(type(error)) as caught:
            asyncio.run(go())
        assert caught.value is error
        assert server.received == ()


@every_adapter
@pytest.mark.rule("PS-1")
def test_nothing_is_sent_while_before_send_waits(provider: str, stream: bool) -> None:
    async def go() -> None:
        entered, stored = asyncio.Event(), asyncio.Event()

        async def store(parts: Sequence[bytes]) -> None:
            entered.set()
            await stored.wait()
            assert server.received == ()

        model = model_of(server, provider, stream)
        asking = asyncio.create_task(model.ask(request(HISTORY), store))
        await entered.wait()
        assert server.received == ()
        stored.set()
        await asking
        assert len(server.received) == 1
        await model.close()

    with ProviderServer([Reply("x")]) as server:
        asyncio.run(go())
