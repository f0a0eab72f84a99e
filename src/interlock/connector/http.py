"""An HTTP connector's way out: one signed request to one address, with one time limit for all of it (UI-5).

No redirect is followed and no proxy asked, so that what is sent goes to the address of the settings or nowhere. Little
of an answer is read, whatever comes. The library's call blocks, so it has a thread of its own; what is given up is shut
down under it, which ends the thread, too.
"""

import asyncio
import http.client
import re
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from interlock.errors import InterlockError

__all__ = ["LONGEST_ANSWER", "Answer", "post"]

LONGEST_ANSWER = 64 * 1024
"""How many bytes of an answer are read."""
SECONDS = re.compile(r"[0-9]{1,6}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. status: that of HTTP. body: as much of it as is read. retry_after: the seconds for which the
    outside wants to be left alone; 0 where it does not say."""

    status: int
    body: bytes = b""
    retry_after: int = 0


async def post(address: str, headers: Mapping[str, str], body: bytes, timeout_ms: int) -> Answer:
    """Send a body to an address and give the answer.

    Raises InterlockError `connector.unreachable` where nothing was sent, and `connector.no_answer` or
    `connector.broken_off` where something was and nobody knows what came of it. None holds anything of what was sent.
    """
    try:
        exchange = _Exchange(address, timeout_ms / 1000)
    except ValueError as error:
        raise InterlockError("connector.unreachable", why=type(error).__name__) from None
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Answer] = loop.create_future()

    def settle(answer: Answer | None, error: Exception | None) -> None:
        if done.done():
            return
        if answer is not None:
            done.set_result(answer)
        else:
            done.set_exception(error or OSError())

    def carry_out() -> None:
        answer, failure = None, None
        try:
            answer = exchange.carry_out(headers, body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            failure = error
        with suppress(RuntimeError):  # the loop is gone, and nobody waits any more
            loop.call_soon_threadsafe(settle, answer, failure)

    threading.Thread(target=carry_out, name="interlock-post", daemon=True).start()
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            return await done
    except (OSError, http.client.HTTPException, ValueError) as error:
        exchange.give_up()  # from here on nothing can begin to be sent
        if not exchange.begun:
            raise InterlockError("connector.unreachable", why=type(error).__name__) from None
        if isinstance(error, TimeoutError):
            raise InterlockError("connector.no_answer", timeout=timeout_ms) from None
        raise InterlockError("connector.broken_off", why=type(error).__name__) from None
    finally:
        exchange.give_up()


class _Exchange:
    """One request and its answer, in a thread; another one may give it up."""

    def __init__(self, address: str, timeout: float) -> None:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
        self._path = parts.path or "/"
        self._connection = (
            http.client.HTTPSConnection(host, port, timeout=timeout, context=_trusted())
            if parts.scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=timeout)
        )
        self._line: socket.socket | None = None
        self._given_up = False
        self.begun = False
        """Whether something may have been sent."""

    def carry_out(self, headers: Mapping[str, str], body: bytes) -> Answer:
        try:
            self._connection.connect()
            self._line = self._connection.sock
            self.begun = True
            if self._given_up:  # asked after saying so: of the two who look, one surely sees the other
                raise TimeoutError
            self._connection.request("POST", self._path, body, {**headers, "connection": "close"})
            response = self._connection.getresponse()
            wanted = response.headers.get("retry-after", "")
            waits = int(wanted) if SECONDS.match(wanted) else 0
            return Answer(response.status, response.read(LONGEST_ANSWER), waits)
        finally:
            self._connection.close()

    def give_up(self) -> None:
        self._given_up = True
        if self._line is not None:
            with suppress(OSError):
                self._line.shutdown(socket.SHUT_RDWR)


@cache
def _trusted() -> ssl.SSLContext:
    return ssl.create_default_context()
