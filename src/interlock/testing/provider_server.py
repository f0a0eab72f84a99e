"""A provider server: an imitation of a model provider on loopback, with its faults, over real HTTP.

It speaks the wire formats of OpenAI's chat completions and Anthropic's messages, streamed and whole, by
`interlock.testing.wire_format`, and keeps the exact bytes of each request it received.

    with ProviderServer([Reply(text="Hello"), Reply(status=429, headers={"Retry-After": "2"})]) as server:
        choice = ModelChoice("openai", "small", base_url=server.openai_url)
"""

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

from interlock.testing.wire_format import Reply, body_of

__all__ = ["ProviderServer", "Received", "Reply"]

LARGEST = 64 * 1024 * 1024
HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived: path, headers (names in lower case), the exact bytes of the body."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def digest(self) -> str:
        """The SHA-256 of the body, in hexadecimal."""
        return hashlib.sha256(self.body).hexdigest()

    @property
    def json(self) -> Any:
        """The body as a value. Raises ValueError if it is not JSON."""
        return json.loads(self.body)


class ProviderServer:
    """A context manager that serves on a free port of 127.0.0.1, in a thread of its own, until it is left.

    replies: an iterable, one for each request in the order of arrival, or a callable from `Received` to
    `Reply`. A request for which there is none gets status 500 that says so. What the callable raises is
    raised again when the context is left.
    """

    def __init__(self, replies: Iterable[Reply] | Callable[[Received], Reply]) -> None:
        self._answer = replies if callable(replies) else _in_turn(replies)
        self._received: list[Received] = []
        self._changed = threading.Condition()
        self._abandoned = 0
        self._mistakes: list[Exception] = []
        self._port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="provider-server", daemon=True)
        self._ready = threading.Event()
        self._stop = asyncio.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self._mistakes and error is None:
            raise self._mistakes[0]

    @property
    def openai_url(self) -> str:
        """The `base_url` for provider `openai`."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def anthropic_url(self) -> str:
        """The `base_url` for provider `anthropic`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def received(self) -> tuple[Received, ...]:
        """The requests so far, in the order of arrival."""
        with self._changed:
            return tuple(self._received)

    def wait_for_requests(self, count: int, seconds: float = 10) -> bool:
        """Block until `count` requests have arrived in all; False if they have not after `seconds`."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._received) >= count, seconds)

    def wait_for_abandoned(self, count: int, seconds: float = 10) -> bool:
        """Block until `count` clients in all have hung up on a reply with `fault="hang"`."""
        with self._changed:
            return self._changed.wait_for(lambda: self._abandoned >= count, seconds)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        connections: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            # Cancelled only when the server stops; the streams of asyncio would log it as an accident.
            with suppress(asyncio.CancelledError):
                await self._connection(reader, writer)
            connections.discard(task)

        # asyncio sets TCP_NODELAY on every connection, so that small pieces of a stream do not wait.
        server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=HEAD)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            try:
                while (request := await _read(reader)) and await self._serve_one(request, reader, writer):
                    continue
            finally:
                writer.close()

    async def _serve_one(
        self, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request. Tells whether the connection lives on."""
        with self._changed:
            self._received.append(request)
            self._changed.notify_all()
        try:
            reply = self._answer(request)
        except Exception as error:  # noqa: BLE001  the test's own callable; `__exit__` raises what it raised
            self._mistakes.append(error)
            return False
        if reply.fault == "hang":
            await self._hang(reader)
            return False
        return await _write(writer, request, reply)

    async def _hang(self, reader: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):
            await reader.read(1)
        with self._changed:
            self._abandoned += 1
            self._changed.notify_all()


def _in_turn(replies: Iterable[Reply]) -> Callable[[Received], Reply]:
    left = iter(replies)
    spent = Reply(status=500, body=b'{"error":{"message":"the provider server has no reply left"}}')
    return lambda _: next(left, spent)


async def _read(reader: asyncio.StreamReader) -> Received | None:
    """Read one request, or give None when the client has hung up or sends what is no HTTP/1.1 request."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    length = headers.get("content-length", "0")
    if first.count(" ") != 2 or not length.isdecimal() or int(length) > LARGEST:
        return None
    return Received(first.split(" ")[1], headers, await reader.readexactly(int(length)))


async def _write(writer: asyncio.StreamWriter, request: Received, reply: Reply) -> bool:
    """Write a reply with its fault. Tells whether the connection lives on."""
    if reply.fault == "close":
        return False
    kind, pieces = body_of(request.path, request.body, reply)
    streamed = kind == "text/event-stream"
    headers = {"Content-Type": kind, **reply.headers}
    headers |= (
        {"Transfer-Encoding": "chunked"} if streamed else {"Content-Length": str(len(b"".join(pieces)))}
    )
    shown = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} {_phrase(reply.status)}\r\n{shown}\r\n".encode("latin-1"))
    cut_short = reply.fault in {"truncate", "stop_short"}
    if streamed:
        for piece in pieces[: len(pieces) // 2] if cut_short else pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        if reply.fault != "truncate":
            writer.write(b"0\r\n\r\n")
    else:
        body = b"".join(pieces)
        writer.write(body[: len(body) // 2] if cut_short else body)
    await writer.drain()
    return (streamed and reply.fault == "stop_short") or not cut_short


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Overloaded" if status == 529 else "Unknown"
