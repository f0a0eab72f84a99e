"""A wire format: the bytes in which OpenAI's chat completions and Anthropic's messages put an answer."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from interlock.connector.model.model import Call

__all__ = ["Reply", "body_of"]

Fault = Literal["hang", "close", "truncate", "stop_short"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the provider server answers to one request.

    text, calls: the answer, put into the wire format that was asked; the arguments of a call are written
    as they are, broken or not. input_tokens, output_tokens: the usage it reports. stop: why the answer
    ends, in the words of the wire format; the ordinary reason if None.
    status, headers: of the response; a status of 400 or more sends an error of that format with `text` as
    its message. body: sent in place of all that, as it is.
    fault: `hang` (never answers), `close` (hangs up instead of answering), `truncate` (hangs up half way),
    `stop_short` (a stream that ends half way as if it were whole).
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    input_tokens: int = 11
    output_tokens: int = 7
    stop: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    fault: Fault | None = None


def body_of(path: str, request: bytes, reply: Reply) -> tuple[str, list[bytes]]:
    """Give the content type and the body, in the pieces in which it is sent, of a reply to a request."""
    anthropic = path.partition("?")[0].endswith("/messages")
    if reply.body is not None:
        return reply.headers.get("Content-Type", "application/json"), [reply.body]
    if reply.status >= 400:
        error = {"type": "error_of_this_kind", "code": None, "param": None, "message": reply.text}
        return "application/json", [_dumps({"type": "error", "error": error})]
    try:
        asked = json.loads(request)
    except ValueError:
        asked = {}
    if asked.get("stream"):
        return "text/event-stream", list(
            _anthropic_stream(reply) if anthropic else _openai_stream(asked, reply)
        )
    return "application/json", [_anthropic(reply) if anthropic else _openai(reply)]


def _dumps(value: Any) -> bytes:
    # ASCII, since an escape is the only way in which a lone surrogate goes over the wire.
    return json.dumps(value, separators=(",", ":")).encode()


def _halves(text: str) -> list[str]:
    middle = (len(text) + 1) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


def _openai_usage(reply: Reply) -> dict[str, int]:
    return {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
    }


def _openai_stop(reply: Reply) -> str:
    return reply.stop or ("tool_calls" if reply.calls else "stop")


def _openai_call(call: Call) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _openai(reply: Reply) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [_openai_call(call) for call in reply.calls]
    return _dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "imitation",
            "choices": [{"index": 0, "message": message, "finish_reason": _openai_stop(reply)}],
            "usage": _openai_usage(reply),
        }
    )


def _openai_stream(asked: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any] | None, stop: str | None = None, **more: Any) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": stop}]
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "imitation"}
        return b"data: " + _dumps({**head, "choices": choices, **more}) + b"\n\n"

    yield chunk({"role": "assistant", "content": ""})
    for piece in _halves(reply.text):
        yield chunk({"content": piece})
    for index, call in enumerate(reply.calls):
        opening = _openai_call(Call(call.id, call.name, ""))
        yield chunk({"tool_calls": [{"index": index, **opening}]})
        for piece in _halves(call.arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _openai_stop(reply))
    if (asked.get("stream_options") or {}).get("include_usage"):
        yield chunk(None, usage=_openai_usage(reply))
    yield b"data: [DONE]\n\n"


def _anthropic_stop(reply: Reply) -> str:
    return reply.stop or ("tool_use" if reply.calls else "end_turn")


def _anthropic_message(reply: Reply, output_tokens: int) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "imitation",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": reply.input_tokens, "output_tokens": output_tokens},
    }


def _anthropic(reply: Reply) -> bytes:
    blocks = [_dumps({"type": "text", "text": reply.text})] if reply.text else []
    for call in reply.calls:
        opening = _dumps({"type": "tool_use", "id": call.id, "name": call.name})
        # Here arguments are a JSON value, not a text: what is broken breaks the whole body.
        blocks.append(opening[:-1] + b',"input":' + call.arguments.encode("utf-8", "surrogatepass") + b"}")
    message = _anthropic_message(reply, reply.output_tokens) | {"stop_reason": _anthropic_stop(reply)}
    head, tail = _dumps(message).split(b'"content":[]')
    return head + b'"content":[' + b",".join(blocks) + b"]" + tail


def _anthropic_stream(reply: Reply) -> Iterator[bytes]:
    def event(kind: str, **more: Any) -> bytes:
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), _dumps({"type": kind, **more}))

    def block(index: int, opening: dict[str, Any], deltas: list[dict[str, str]]) -> Iterator[bytes]:
        yield event("content_block_start", index=index, content_block=opening)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)

    yield event("message_start", message=_anthropic_message(reply, 1))
    if reply.text:
        deltas = [{"type": "text_delta", "text": piece} for piece in _halves(reply.text)]
        yield from block(0, {"type": "text", "text": ""}, deltas)
    for index, call in enumerate(reply.calls, 1 if reply.text else 0):
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _halves(call.arguments)]
        yield from block(index, {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, deltas)
    delta = {"stop_reason": _anthropic_stop(reply), "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": reply.output_tokens})
    yield event("message_stop")
