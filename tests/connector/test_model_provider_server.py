"""Tests of the provider server itself, spoken to without any model library."""

import hashlib
import json
import socket
from contextlib import suppress
from http.client import HTTPConnection, RemoteDisconnected
from typing import Any
from urllib.parse import urlsplit

import pytest

from interlock.connector.model.model import Call
from interlock.testing import ProviderServer, Received, Reply

CALLS = (Call("k1", "lookup", '{"name":"é"}'), Call("k2", "lookup", "{broken"))
OPENAI, ANTHROPIC = "/v1/chat/completions", "/v1/messages"


def _connect(server: ProviderServer) -> HTTPConnection:
    return HTTPConnection(urlsplit(server.openai_url).netloc, timeout=10)


def _post(connection: HTTPConnection, path: str, body: bytes) -> tuple[int, bytes]:
    connection.request("POST", path, body)
    response = connection.getresponse()
    return response.status, response.read()


def _events(body: bytes) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in body.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def test_requests_are_kept_as_they_came() -> None:
    body = b'{"stream" : false,  "x":"\xc3\xa9"}'
    with ProviderServer([Reply("a"), Reply("b")]) as server:
        connection = _connect(server)
        for path in (OPENAI, ANTHROPIC):
            assert _post(connection, path, body)[0] == 200
        connection.close()
        first, second = server.received
    assert (first.path, second.path) == (OPENAI, ANTHROPIC)
    assert first.body == second.body == body
    assert first.digest == hashlib.sha256(body).hexdigest()
    assert first.json == {"stream": False, "x": "é"}
    assert first.headers["content-length"] == str(len(body))


def test_an_openai_stream_adds_up_to_the_answer() -> None:
    asked = b'{"stream":true,"stream_options":{"include_usage":true}}'
    with ProviderServer([Reply("Hello", CALLS)]) as server:
        connection = _connect(server)
        _, body = _post(connection, OPENAI, asked)
        connection.close()
    *chunks, last = _events(body)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    pieces = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert "".join(delta.get("content", "") for delta in deltas) == "Hello"
    for index, call in enumerate(CALLS):
        mine = [piece["function"] for piece in pieces if piece["index"] == index]
        assert len(mine) == 3
        assert "".join(piece["arguments"] for piece in mine) == call.arguments
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert last["usage"]["total_tokens"] == 18
    assert body.endswith(b"data: [DONE]\n\n")


def test_an_anthropic_stream_adds_up_to_the_answer() -> None:
    with ProviderServer([Reply("Hello", CALLS)]) as server:
        connection = _connect(server)
        _, body = _post(connection, ANTHROPIC, b'{"stream":true}')
        connection.close()
    events = _events(body)
    deltas = [event for event in events if event["type"] == "content_block_delta"]
    texts = ["", "", ""]
    for event in deltas:
        texts[event["index"]] += event["delta"].get("text") or event["delta"].get("partial_json")
    assert texts == ["Hello", CALLS[0].arguments, CALLS[1].arguments]
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"] == {"output_tokens": 7}
    assert [event["type"] for event in (events[0], events[-1])] == ["message_start", "message_stop"]


def test_a_reply_too_many_says_so() -> None:
    with ProviderServer([]) as server:
        connection = _connect(server)
        status, body = _post(connection, OPENAI, b"{}")
        connection.close()
    assert status == 500
    assert b"no reply left" in body


def test_what_a_callable_raises_comes_out_of_the_context() -> None:
    def reply(_: Received) -> Reply:
        raise LookupError("what the test got wrong")

    with pytest.raises(LookupError, match="what the test got wrong"), ProviderServer(reply) as server:
        connection = _connect(server)
        with pytest.raises(RemoteDisconnected):
            _post(connection, OPENAI, b"{}")
        connection.close()


@pytest.mark.parametrize(
    "text", [b"nonsense\r\n\r\n", b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", b"x" * 200_000, b""]
)
def test_what_is_no_request_is_hung_up_on(text: bytes) -> None:
    with ProviderServer([Reply("x")]) as server:
        host, _, port = urlsplit(server.openai_url).netloc.partition(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            # Text that was never read makes the hanging up a reset, which may come before all of it is sent.
            with suppress(OSError):
                connection.sendall(text)
                connection.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""
        assert server.received == ()


def test_leaving_ends_replies_that_hang() -> None:
    with ProviderServer([Reply(fault="hang")]) as server:
        connection = _connect(server)
        connection.request("POST", OPENAI, b"{}")
        assert server.wait_for_requests(1)
    with pytest.raises((RemoteDisconnected, ConnectionError)):
        connection.getresponse()
    connection.close()
