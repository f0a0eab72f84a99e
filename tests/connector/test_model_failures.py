"""Tests of failures: every way in which a provider or the network fails has its name."""

import asyncio
import json
import sys
from email.utils import formatdate

import httpx2
import pytest

from interlock.connector.model.failure import shortened, wait_of, words_of
from interlock.connector.model.model import Call, ModelFailure
from interlock.connector.model.provider import ProviderModel
from interlock.connector.model.wire import SENDING, Sending, Wire
from interlock.errors import InterlockError
from interlock.settings import ModelChoice
from interlock.testing import ProviderServer, Reply
from tests.connector.provider_world import Seen, ask, every_adapter, failure_of, model_of, request


@every_adapter
@pytest.mark.rule("WK-4")
@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "rejected", False),
        (401, "unauthorized", False),
        (403, "unauthorized", False),
        (404, "rejected", False),
        (408, "timed_out", True),
        (413, "rejected", False),
        (422, "rejected", False),
        (429, "rate_limited", True),
        (500, "unavailable", True),
        (502, "unavailable", True),
        (503, "unavailable", True),
        (529, "unavailable", True),
    ],
)
def test_a_status_has_its_failure(
    provider: str, stream: bool, status: int, code: str, retryable: bool
) -> None:
    with ProviderServer([Reply("No, and here is why.", status=status)]) as server:
        failure = failure_of(model_of(server, provider, stream))
    assert (failure.code, failure.retryable, failure.status) == (code, retryable, status)
    assert failure.detail == "No, and here is why."


@every_adapter
@pytest.mark.parametrize("status", [301, 307])
def test_a_redirection_is_not_followed(provider: str, stream: bool, status: int) -> None:
    with ProviderServer([Reply(status=status, headers={"Location": "/v1/messages"}, body=b"")]) as server:
        failure = failure_of(model_of(server, provider, stream))
        assert len(server.received) == 1
    assert (failure.code, failure.status) == ("rejected", status)


@every_adapter
@pytest.mark.rule("WK-4")
@pytest.mark.parametrize(
    ("headers", "wait_ms"),
    [
        ({"Retry-After": "2"}, 2000),
        ({"Retry-After": "9", "retry-after-ms": "1500"}, 1500),
        (
            {"Retry-After": formatdate(1_000_060, usegmt=True), "Date": formatdate(1_000_000, usegmt=True)},
            60_000,
        ),
        ({}, None),
    ],
)
def test_the_wait_is_the_one_asked_for(
    provider: str, stream: bool, headers: dict[str, str], wait_ms: int | None
) -> None:
    with ProviderServer([Reply(status=429, headers=headers)]) as server:
        assert failure_of(model_of(server, provider, stream)).wait_ms == wait_ms


@pytest.mark.rule("BI-1")
@pytest.mark.parametrize(
    ("asked", "wait_ms"),
    [
        ("0", 0),
        ("1.5", 1500),
        ("-3", None),
        ("soon", None),
        ("", None),
        ("9" * 400, 24 * 3_600_000),
        ("99999999999", 24 * 3_600_000),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Thu, 01 Jan 1970 00:16:50 GMT", 10_000),
        ("Thu, 01 Jan 1970 00:16:50", 10_000),
        ("Thu, 99 Jan 1970 00:00:00 GMT", None),
        ("٣", 3000),
    ],
)
def test_any_retry_after_is_read_or_passed_over(asked: str, wait_ms: int | None) -> None:
    assert wait_of({"retry-after": asked}, now_ms=1_000_000) == wait_ms


@every_adapter
@pytest.mark.rule("WK-4")
@pytest.mark.parametrize("fault", [Reply(fault="close"), Reply("x" * 500, fault="truncate")])
def test_a_broken_connection_may_be_tried_again(provider: str, stream: bool, fault: Reply) -> None:
    with ProviderServer([fault]) as server:
        failure = failure_of(model_of(server, provider, stream))
    assert (failure.code, failure.retryable) == ("unavailable", True)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("fault", ["truncate", "stop_short"])
@pytest.mark.parametrize("calls", [(), (Call("k", "lookup", '{"name":"a"}'),)])
def test_a_stream_that_stops_half_way_is_no_answer(
    provider: str, fault: str, calls: tuple[Call, ...]
) -> None:
    with ProviderServer([Reply("a long text", calls, fault=fault)]) as server:  # type: ignore[arg-type]
        failure = failure_of(model_of(server, provider, True))
    assert (failure.code, failure.retryable) == ("unavailable", True)


@every_adapter
def test_nobody_there(provider: str, stream: bool) -> None:
    with ProviderServer([]) as server:
        model = model_of(server, provider, stream)
    failure = failure_of(model)
    assert (failure.code, failure.retryable, failure.status) == ("unavailable", True, None)


@every_adapter
@pytest.mark.rule("WK-4")
def test_a_provider_that_hangs_is_left(provider: str, stream: bool) -> None:
    with ProviderServer([Reply(fault="hang")]) as server:
        failure = failure_of(model_of(server, provider, stream, timeout_ms=150))
        assert server.wait_for_abandoned(1)
    assert (failure.code, failure.retryable) == ("timed_out", True)


@every_adapter
def test_a_cancelled_call_closes_its_connection(provider: str, stream: bool) -> None:
    async def go() -> None:
        model = model_of(server, provider, stream)
        asking = asyncio.create_task(model.ask(request(), Seen()))
        await asyncio.to_thread(server.wait_for_requests, 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await asyncio.to_thread(server.wait_for_abandoned, 1)
        await model.close()

    with ProviderServer([Reply(fault="hang")]) as server:
        asyncio.run(go())


GARBAGE = [
    b"",
    b"   ",
    b"{",
    b"null",
    b"[]",
    b"{}",
    b'"text"',
    b"7",
    b"<html>bad gateway</html>",
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b'{"choices":[],"content":[]}',
    b'{"choices":null,"content":null}',
    b'{"choices":[{}],"content":[{}]}',
    b'{"choices":[{"message":{"role":"assistant","content":{"a":1}}}],"content":[{"type":"text","text":{"a":1}}]}',
    b'{"choices":[{"message":{"tool_calls":[{"id":1}]}}],"content":[{"type":"tool_use","id":1,"name":[]}]}',
    b'{"choices":"no","content":"no","usage":"no"}',
    b"data: {]\n\n",
    b"data: [DONE]\n\n",
    b"event: message_start\ndata: {}\n\nevent: message_stop\ndata: {}\n\n",
]


@every_adapter
@pytest.mark.rule("BI-1")
@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", "text/plain"])
def test_what_cannot_be_read_is_a_failure(provider: str, stream: bool, content_type: str) -> None:
    codes: list[str] = []

    async def go() -> None:
        model = model_of(server, provider, stream)
        for _ in GARBAGE:
            try:
                answer = await model.ask(request(), Seen())
                codes.append("nothing" if not (answer.text or answer.calls) else f"invented {answer}")
            except ModelFailure as failure:
                codes.append(failure.code)
                assert len(failure.detail) <= 300
        await model.close()

    with ProviderServer(
        [Reply(body=body, headers={"Content-Type": content_type}) for body in GARBAGE]
    ) as server:
        asyncio.run(go())
    assert len(codes) == len(GARBAGE)
    assert set(codes) <= {"malformed", "unavailable", "nothing"}
    if not stream:
        assert set(codes[:12]) == {"malformed"} or content_type != "application/json"


@every_adapter
@pytest.mark.rule("BI-2")
def test_an_answer_over_the_limit_is_cut_off_and_says_the_limit(provider: str, stream: bool) -> None:
    with ProviderServer([Reply("x" * 100_000)]) as server:
        failure = failure_of(model_of(server, provider, stream, answer_limit=50_000))
    assert (failure.code, failure.retryable) == ("malformed", False)
    assert "50000 bytes" in failure.detail


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_is_a_rejection(stream: bool) -> None:
    with ProviderServer([Reply(stop="content_filter")]) as server:
        failure = failure_of(model_of(server, "openai", stream))
    assert (failure.code, failure.retryable) == ("rejected", False)


@pytest.mark.parametrize(
    ("provider", "event"),
    [
        ("openai", b'data: {"error":{"message":"down","type":"server_error","code":null}}\n\n'),
        (
            "anthropic",
            b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"down"}}\n\n',
        ),
    ],
)
def test_an_error_inside_a_stream_may_be_tried_again(provider: str, event: bytes) -> None:
    reply = Reply(body=event, headers={"Content-Type": "text/event-stream"})
    with ProviderServer([reply]) as server:
        failure = failure_of(model_of(server, provider, True))
    assert (failure.code, failure.retryable, failure.detail) == ("unavailable", True, "down")


def test_the_loop_goes_on_after_a_failure() -> None:
    async def go() -> str:
        model = model_of(server, "openai")
        for _ in range(2):
            with pytest.raises(ModelFailure):
                await model.ask(request(), Seen())
        answer = await model.ask(request(), Seen())
        await model.close()
        return answer.text

    with ProviderServer([Reply(status=500), Reply(fault="close"), Reply("well again")]) as server:
        assert asyncio.run(go()) == "well again"


def test_a_failure_drags_no_exception_of_the_library_along() -> None:
    with ProviderServer([Reply(status=400)]) as server:
        failure = failure_of(model_of(server, "openai"))
    assert failure.__cause__ is None
    assert failure.__context__ is None


def test_words_are_found_and_shortened() -> None:
    assert words_of({"error": {"message": "m"}}) == "m"
    assert words_of({"message": "m"}) == "m"
    assert words_of([{"message": "m"}]) == ""
    assert words_of({"error": {"message": 7}}) == ""
    assert shortened("a\n  b \ud83d", []) == "a b \\ud83d"
    assert len(shortened("x" * 1000, [])) == 300
    assert "sec" not in shortened("x" * 297 + "secret", ["secret"])


@pytest.mark.rule("BI-1")
@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ({"provider": "no-such"}, "model.unknown_provider"),
        ({"provider": "groq"}, "model.not_installed"),
        ({"provider": "xai"}, "model.not_installed"),
        ({"provider": "deepseek", "base_url": "http://127.0.0.1:1"}, "model.no_base_url"),
    ],
)
def test_a_provider_that_cannot_serve_says_why(choice: dict[str, str], code: str) -> None:
    model = ProviderModel(ModelChoice(model="m", key="K", **choice), {"K": "k"})  # type: ignore[arg-type]
    with pytest.raises(InterlockError) as caught:
        ask(model)
    assert caught.value.code == code
    assert choice["provider"] in str(caught.value)


def test_a_library_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("library", "translation", "wire"):
        monkeypatch.delitem(sys.modules, f"interlock.connector.model.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(InterlockError) as caught:
        ask(ProviderModel(ModelChoice("openai", "m", key="K"), {"K": "k"}))
    assert caught.value.code == "model.not_installed"
    assert 'pip install "interlock[models]"' in caught.value.remedy()


@pytest.mark.rule("PS-1")
def test_a_provider_whose_bytes_cannot_be_seen_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hidden:
        def __init__(self, api_key: str) -> None:
            raise AssertionError("must not be opened")

    monkeypatch.setattr("interlock.connector.model.library.infer_provider_class", lambda _: Hidden)
    with pytest.raises(InterlockError) as caught:
        ask(ProviderModel(ModelChoice("hidden", "m", key="K"), {"K": "k"}))
    assert caught.value.code == "model.unobserved"


def test_a_provider_that_wants_more_says_what() -> None:
    with pytest.raises(InterlockError) as caught:
        ask(ProviderModel(ModelChoice("azure", "m", key="K"), {"K": "k"}))
    assert caught.value.code == "model.not_opened"


@pytest.mark.rule("RN-4")
def test_the_wire_lets_a_second_request_of_one_ask_not_out() -> None:
    async def go() -> None:
        client = httpx2.AsyncClient(transport=Wire())
        token = SENDING.set(Sending(Seen(), None, 1000))
        await client.post(f"{server.openai_url}/chat/completions", content=b"{}")
        with pytest.raises(httpx2.TransportError):
            await client.post(f"{server.openai_url}/chat/completions", content=b"{}")
        SENDING.reset(token)
        await client.aclose()

    with ProviderServer(lambda _: Reply("x")) as server:
        asyncio.run(go())
        assert len(server.received) == 1


def test_a_provider_of_the_library_is_reached_by_its_name() -> None:
    with ProviderServer([Reply("hello")]) as server:
        choice = ModelChoice("vllm", "some-model", base_url=server.openai_url, key="K")
        seen = Seen()
        (answer,) = ask(ProviderModel(choice, {"K": "k"}), seen=seen)
        assert server.received[0].headers["authorization"] == "Bearer k"
        assert b"".join(seen[0]) == server.received[0].body
    assert answer.text == "hello"
    assert json.loads(b"".join(seen[0]))["model"] == "some-model"
