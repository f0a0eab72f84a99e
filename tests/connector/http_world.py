"""The outside of a connector, for tests: it signs and sends messages over real HTTP, takes answers, and checks how they
are signed. It signs in its own way, so that it agrees with the product by the published scheme alone."""

import asyncio
import base64
import hashlib
import hmac
import http.client
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import apsw

from interlock.agent.spec import Attendance, Spec
from interlock.api.connector import application, listening, serve
from interlock.runtime import Runtime
from interlock.scope.scope import Scope
from interlock.settings import ConnectorChoice
from tests.run.scene import spec_of
from tests.world import world

KEY_BYTES = bytes(range(32))
KEY = "whsec_" + base64.b64encode(KEY_BYTES).decode()
ENVIRONMENT = {"CHAT_KEY": KEY}
JSON = {"content-type": "application/json"}


def signed(body: bytes, name: str = "d1", at: int | None = None, key: bytes = KEY_BYTES) -> dict[str, str]:
    """Give the headers of a message, signed now."""
    moment = str(int(time.time()) if at is None else at)
    made = hmac.new(key, b".".join((name.encode(), moment.encode(), body)), hashlib.sha256).digest()
    return {
        "webhook-id": name,
        "webhook-timestamp": moment,
        "webhook-signature": "v1," + base64.b64encode(made).decode(),
    }


def message(number: int, text: str = "hello", sender: str = "u1", thread: str = "t1", **more: Any) -> bytes:
    """Give the body of a message, as the usual mapping has it."""
    told = {
        "id": f"m{number}",
        "thread": thread,
        "sender": {"id": sender, "name": sender.upper()},
        "text": text,
    }
    return json.dumps(told | more).encode()


def sees(name: str, way: str = "engage", connector: str = "chat", **more: Any) -> Spec:
    """Give an agent that attends a connector."""
    return spec_of(name, attends=(Attendance(connector, way),), **more)


@dataclass(frozen=True, slots=True)
class Told:
    """What the outside was sent."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)

    @property
    def fits(self) -> bool:
        """Whether it is signed as it must be."""
        given = {key: self.headers[key] for key in ("webhook-id", "webhook-timestamp", "webhook-signature")}
        return given == signed(self.body, given["webhook-id"], int(given["webhook-timestamp"]))


@dataclass
class Outside:
    """Where answers go. `answers` are given in turn, the last one again and again: a status, a status with a body, or a
    callable that is given what was told and gives one of these; `None` breaks the connection off."""

    answers: list[Any] = field(default_factory=lambda: [200])
    told: list[Told] = field(default_factory=list)
    address: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, told: Told) -> tuple[int, bytes] | None:
        """Take what was told, and give the answer."""
        with self.lock:
            self.told.append(told)
            found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(found):
            found = found(told)
        if found is None:
            return None
        return (found, b"") if isinstance(found, int) else (found[0], json.dumps(found[1]).encode())


@contextmanager
def outside(*answers: Any) -> Iterator[Outside]:
    """Listen on loopback for what agents say."""
    found = Outside(list(answers) or [200])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {key.lower(): value for key, value in self.headers.items()}
            answer = found.answer(Told(self.path, headers, body))
            if answer is None:
                self.close_connection = True
                return
            self.send_response(answer[0])
            for key, value in (("content-length", str(len(answer[1]))), ("location", "/elsewhere")):
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(answer[1])

        def log_message(self, *_: Any) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    found.address = f"http://127.0.0.1:{server.server_port}/answers"
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass(frozen=True, slots=True)
class Door:
    """An installation that takes messages in over HTTP."""

    runtime: Runtime
    port: int
    folder: Path

    async def send(
        self,
        body: bytes,
        headers: dict[str, str] | None = None,
        path: str = "/connectors/chat",
        method: str = "POST",
    ) -> tuple[int, Any]:
        """Send a request and give status and body of the answer; signed, under an id of its own,
        unless `headers` say otherwise."""
        given = JSON | signed(body, f"b{hash(body)}") if headers is None else headers
        return await asyncio.to_thread(post, self.port, body, given, path, method)

    async def bring(self, number: int, text: str = "hello", *more: Any, **fields: Any) -> tuple[int, Any]:
        """Bring a message of the usual kind, under an id of its own."""
        body = message(number, text, *more, **fields)
        return await self.send(body, JSON | signed(body, f"d{number}"))

    async def counts(self) -> tuple[int, ...]:
        """Give how many messages, actors, runs, contents and received ids there are: what a message could leave."""
        tables = ("message_event", "actor", "run", "content", "received")
        return tuple([await asyncio.to_thread(count, self.folder, table) for table in tables])


def count(folder: Path, table: str) -> int:
    """Give how many rows a table of an installation has, read from beside it."""
    (path,) = folder.rglob("ledger.db")
    with apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY) as db:
        return int(db.execute(f"SELECT count(*) FROM {table}").get)


def post(port: int, body: bytes, headers: dict[str, str], path: str, method: str = "POST") -> tuple[int, Any]:
    """Send one request to loopback and give status and body of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    finally:
        connection.close()


def chat(address: str | None = None, **more: Any) -> dict[str, ConnectorChoice]:
    """Give the connector `chat`."""
    return {"chat": ConnectorChoice(Scope("acme/platform"), "CHAT_KEY", address, **more)}


@asynccontextmanager
async def door(
    folder: Path,
    script: Any,
    specs: list[Spec],
    connectors: dict[str, ConnectorChoice] | None = None,
    **more: Any,
) -> AsyncIterator[Door]:
    """Open an installation that takes messages in. Runs are queued; `drain` carries them out."""
    more = {"environment": ENVIRONMENT, "connectors": connectors or chat()} | more
    async with world(folder, script, specs, **more) as runtime:
        stop = asyncio.Event()
        with listening("127.0.0.1", 0) as at:
            serving = asyncio.create_task(serve(application(runtime), at, stop))
            try:
                yield Door(runtime, at.getsockname()[1], folder)
            finally:
                stop.set()
                await serving


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds that another thread brings about."""
    while not holds():
        await asyncio.sleep(0.01)
