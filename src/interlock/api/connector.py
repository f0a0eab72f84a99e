"""An HTTP server for connectors: `POST /connectors/<name>` brings a message in (UI-5).

Bodies are read as they stream, up to the size and within the time that the settings allow; one that is slow or large
holds up nobody else. Statuses: 202 taken (or nobody attends), 200 known already, 400 no JSON, 401 not signed as it must
be, 404 no such connector, 405 no POST, 408 too slow, 409 another message under an id that was used, 413 too large, 415
not said to be JSON, 422 a field is not as it must be, 503 not now. What went wrong is told as JSON, in the language
that `Accept-Language` asks for.
"""

import asyncio
import contextlib
import logging
import socket
from typing import TYPE_CHECKING, Any

from interlock.catalogue import language_of
from interlock.errors import InterlockError
from interlock.run.receiving import Incoming, incoming
from interlock.run.worker import Worker
from interlock.runtime import Runtime

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["application", "listening", "serve"]

LOG = logging.getLogger("interlock")
MOST_AT_ONCE = 256
"""How many requests are looked at together; more are told to come again."""
STATUSES = {
    "json.malformed": 400,
    "json.too_large": 413,
    "connector.unsigned": 401,
    "connector.bad_time": 401,
    "connector.bad_signature": 401,
    "connector.not_here": 404,
    "connector.only_post": 405,
    "connector.too_slow": 408,
    "connector.replayed": 409,
    "connector.too_large": 413,
    "connector.not_json": 415,
    "connector.too_long": 422,
    "connector.malformed": 422,
    "connector.not_mapped": 422,
}
"""The status of each error; any other one is passing, 503, and the message is to be brought again."""
CLOSED = frozenset({"connector.no_key", "connector.bad_key"})
"""What is told to whoever runs the server, and not to the outside."""
AGAIN = {"retry-after": "1"}
LAST_PORT = 65535


def application(runtime: Runtime, worker: Worker | None = None) -> "Starlette":
    """Give the ASGI application. `worker` runs what messages start, as far as it has places free; the rest is queued.

    Raises InterlockError `connector.no_server` where the extra `http` is not installed.
    """
    starlette = _library("starlette.applications")
    routing = _library("starlette.routing")
    endpoint = _Endpoint(runtime, worker)
    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    routes = [routing.Route("/{rest:path}", endpoint.answer, methods=methods)]
    made: Starlette = starlette.Starlette(routes=routes)
    return made


class _Endpoint:
    """Answers requests."""

    def __init__(self, runtime: Runtime, worker: Worker | None) -> None:
        self._runtime, self._worker = runtime, worker

    async def answer(self, request: "Request") -> "Response":
        responses = _library("starlette.responses")
        headers: dict[str, str] = {}
        try:
            status, told = await self._taken(request)
        except InterlockError as error:
            status, told, headers = _refused(error, request)
        except Exception as error:  # noqa: BLE001  one message must never take the others with it
            LOG.error("a message could not be taken in: %s", type(error).__name__)
            status, told, headers = _refused(InterlockError("connector.broke"), request)
        made: Response = responses.JSONResponse(told, status, headers)
        return made

    async def _taken(self, request: "Request") -> tuple[int, dict[str, Any]]:
        first, _, name = request.path_params["rest"].partition("/")
        if first != "connectors" or not name or "/" in name:
            raise InterlockError("connector.not_here", value=name or first)
        if request.method != "POST":
            raise InterlockError("connector.only_post", method=request.method)
        given = {key: value for key, value in request.headers.items() if key.startswith("webhook-")}
        message = incoming(self._runtime.installation, name, given)
        _check_media(request)
        body = await self._body(request, message)
        worker = self._worker if self._worker is not None and self._worker.has_room else None
        outcome, _ = await message.take(body, lambda found: self._runtime.observe(name, found, worker))
        return (200 if outcome == "known" else 202), {"status": outcome}

    async def _body(self, request: "Request", message: Incoming) -> bytes:
        limit = message.installation.settings.sizes.message
        declared = request.headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and (len(declared) > 15 or int(declared) > limit):
            raise InterlockError("connector.too_large", limit=limit)
        body = bytearray()
        try:
            async with asyncio.timeout(message.choice.timeout_ms / 1000):
                async for part in request.stream():
                    body += part
                    if len(body) > limit:
                        raise InterlockError("connector.too_large", limit=limit)
        except TimeoutError:
            raise InterlockError("connector.too_slow", timeout=message.choice.timeout_ms) from None
        return bytes(body)


def _check_media(request: "Request") -> None:
    """Refuse a body that is not said to be plain JSON in UTF-8."""
    kind, _, more = request.headers.get("content-type", "").lower().partition(";")
    kind = kind.strip()
    charset = more.replace(" ", "").replace('"', "")
    plain = request.headers.get("content-encoding", "identity").lower() == "identity"
    is_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
    if not (plain and is_json and charset in {"", "charset=utf-8", "charset=utf8"}):
        raise InterlockError("connector.not_json")


def _refused(error: InterlockError, request: "Request") -> tuple[int, dict[str, Any], dict[str, str]]:
    if error.code in CLOSED:
        LOG.error("a connector is closed: %s", error.what())
        error = InterlockError("connector.closed")
    wanted = request.headers.get("accept-language", "").partition(",")[0].partition(";")[0].strip()
    language = language_of(wanted)
    status = STATUSES.get(error.code, 503)
    headers = {"content-language": language} | (AGAIN if status == 503 else {})
    # The rest of a body that was not read would be taken for the next request.
    headers |= {"connection": "close"} if status in {408, 413, 415} else {}
    headers |= {"allow": "POST"} if status == 405 else {}
    return status, {"error": error.as_dict(language)}, headers


def listening(host: str, port: int) -> socket.socket:
    """Give a socket that listens at an address; port 0 takes a free one.

    Raises InterlockError `connector.bad_port` or `connector.no_address`.
    """
    if not 0 <= port <= LAST_PORT:
        raise InterlockError("connector.bad_port", value=str(port), most=str(LAST_PORT))
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024
        )
    except (OSError, UnicodeError) as error:
        why = error if isinstance(error, OSError) else type(error).__name__
        raise InterlockError("connector.no_address", host=host, port=str(port), why=why) from None


async def serve(served: "Starlette", door: socket.socket, stop: asyncio.Event) -> None:
    """Serve until `stop` is set, then finish what is being answered; sets it when the server ends by itself."""
    uvicorn = _library("uvicorn")
    config = uvicorn.Config(
        served,
        http=_library("uvicorn.protocols.http.h11_impl").H11Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_AT_ONCE,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=10,
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # whoever calls this has taken care of them
    serving = asyncio.create_task(server.serve(sockets=[door]))
    waiting = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        await serving
    finally:
        waiting.cancel()
        stop.set()


def _library(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415  what only a server needs

    try:
        return import_module(name)
    except ImportError as error:
        raise InterlockError("connector.no_server", module=error.name or name) from None
