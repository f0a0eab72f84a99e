"""The wire: the HTTP transport under the model library, where a request's exact bytes are seen and let go.

The module imports the HTTP library and is itself imported with the model library, lazily.
"""

from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from urllib.request import getproxies, proxy_bypass

import httpx2

from interlock.connector.model.cut import cut
from interlock.connector.model.model import BeforeSend

__all__ = ["KEY_PLACE", "SENDING", "Sending", "Wire"]

KEY_PLACE = "interlock-puts-the-key-here"
"""What the library is given as the key. The wire puts the key itself in its place as the request leaves, so
that no object of the library, no exception and no log record ever holds it (GT-7)."""

NOT_SENT = ("authorization", "proxy-authorization", "x-api-key", "cookie", "accept-encoding")
"""Headers that the SDKs may fill from the environment behind the settings' back, and one that we set."""

MADE_ANEW = ("content-length", "transfer-encoding")
"""Headers that follow from the body, which may be another than the one that the library encoded."""


@dataclass(slots=True)
class Sending:
    """What one `ask` sends with, and what the wire saw of it.

    body: what is sent in place of what the library encoded, for a request that left before.
    key: what goes in the place of `KEY_PLACE`; without one the header that would carry it is left out.
    answer_limit: the largest body of an answer in bytes. refusal: what `before_send` raised.
    status, headers: those of the response, names in lower case; status is None until one came.
    """

    before_send: BeforeSend = field(repr=False)
    key: str | None = field(repr=False)
    answer_limit: int
    body: bytes | None = field(default=None, repr=False)
    asked: bool = False
    sent: bool = False
    too_long: bool = False
    refusal: Exception | None = None
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


SENDING: ContextVar[Sending] = ContextVar("sending")
"""The sending of the `ask` that runs in this context: one transport serves many at once."""


class Wire(httpx2.AsyncBaseTransport):
    """A transport that lets exactly one request of each `ask` out, after `before_send` was awaited."""

    def __init__(self) -> None:
        self._transports: dict[tuple[str, str | None], httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Show the bytes to `before_send`, then send them. Raises what `before_send` raises."""
        sending = SENDING.get()
        if sending.asked:
            raise httpx2.UnsupportedProtocol(
                "a model call is one request; the library tried a second", request=request
            )
        sending.asked = True
        encoded = await request.aread()
        body = encoded if sending.body is None else sending.body
        try:
            await sending.before_send(cut(body))
        except Exception as error:
            sending.refusal = error
            raise
        sending.sent = True
        response = await self._transport(request.url).handle_async_request(
            _with_key(request, body, sending.key)
        )
        sending.status = response.status_code
        sending.headers = dict(response.headers.items())
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_BoundedStream(response, sending),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        while self._transports:
            await self._transports.popitem()[1].aclose()

    def _transport(self, url: httpx2.URL) -> httpx2.AsyncHTTPTransport:
        proxy = None if proxy_bypass(url.host) else getproxies().get(url.scheme)
        found = self._transports.get((url.scheme, proxy))
        if found is None:
            # Authorities are loaded where TLS may be spoken: it takes longer than all the rest.
            verify = url.scheme != "http" or proxy is not None
            limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
            found = httpx2.AsyncHTTPTransport(verify=verify, limits=limits, proxy=proxy)
            self._transports[url.scheme, proxy] = found
        return found


def _with_key(request: httpx2.Request, body: bytes, key: str | None) -> httpx2.Request:
    headers = [
        (name, value.replace(KEY_PLACE, key or ""))
        for name, value in request.headers.multi_items()
        if (key is not None if KEY_PLACE in value else name.lower() not in (*NOT_SENT, *MADE_ANEW))
    ]
    # Uncompressed, so that the limit on an answer is a limit on what it becomes in memory.
    headers.append(("accept-encoding", "identity"))
    return httpx2.Request(
        request.method, request.url, headers=headers, content=body, extensions=request.extensions
    )


class _BoundedStream(httpx2.AsyncByteStream):
    """The body of a response, which breaks off when it grows past the limit."""

    def __init__(self, response: httpx2.Response, sending: Sending) -> None:
        self._response, self._sending = response, sending

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._response.stream:  # type: ignore[union-attr]
            size += len(piece)
            if size > self._sending.answer_limit:
                self._sending.too_long = True
                raise httpx2.ReadError(f"the answer is longer than {self._sending.answer_limit} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._response.aclose()
