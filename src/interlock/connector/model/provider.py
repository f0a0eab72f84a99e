"""A provider's model: one HTTP request for each `ask`, its exact bytes shown before they leave."""

import asyncio
from collections.abc import Mapping
from importlib import import_module
from ipaddress import ip_address
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from interlock.clock import Clock, SystemClock
from interlock.connector.model.model import Answer, BeforeSend, ModelFailure, Request
from interlock.errors import InterlockError
from interlock.settings import ModelChoice, Sizes

if TYPE_CHECKING:
    from interlock.connector.model.library import Library

__all__ = ["ProviderModel"]


class ProviderModel:
    """A model behind a provider's HTTP interface; one serves many `ask`s at once, within one event loop.

    choice: provider, model, address, time-out, prices. environment: where the variable that the choice names
    holds the key, looked up at each call and kept nowhere. answer_limit: the largest answer taken, in bytes.
    Money is reported where the choice has prices.

    Raises InterlockError `model.no_model` or `model.malformed_address` for a choice that cannot work.
    """

    def __init__(
        self,
        choice: ModelChoice,
        environment: Mapping[str, str],
        *,
        answer_limit: int = Sizes().answer,
        clock: Clock | None = None,
    ) -> None:
        if not choice.model:
            raise InterlockError("model.no_model", provider=choice.provider)
        self.provider = choice.provider
        self.model = choice.model
        self._choice = choice
        self._loopback = choice.base_url is not None and _is_loopback(choice.base_url)
        self._environment = environment
        self._answer_limit = answer_limit
        self._clock = clock or SystemClock()
        self._opening = asyncio.Lock()
        self._library: Library | None = None

    def __repr__(self) -> str:
        return f"ProviderModel(provider={self.provider!r}, model={self.model!r})"

    async def ask(self, request: Request, before_send: BeforeSend) -> Answer:
        """Send one request and give its answer.

        `before_send` is awaited once, with the bytes that then leave; what it raises comes through unchanged
        and nothing is sent. Raises ModelFailure for whatever the provider or the network does, InterlockError
        `model.no_key`, `model.malformed_key`, `model.not_installed`, `model.not_opened`,
        `model.unknown_provider`, `model.no_base_url` or `model.unobserved` for what the installation lacks.
        A cancelled call closes its connection.
        """
        key = self._key()
        library = await self._opened()
        answer = await library.ask(request, before_send, key, self._answer_limit, self._clock.now)
        if isinstance(answer, ModelFailure):
            raise answer
        return answer

    async def replay(self, data: bytes, before_send: BeforeSend) -> Answer:
        """Send exactly the bytes of a request that left before, with the key and the headers of now, and give its
        answer: streamed where those bytes ask for that, whatever the choice says. Raises as `ask` does.
        """
        key = self._key()
        library = await self._opened()
        answer = await library.replay(data, before_send, key, self._answer_limit, self._clock.now)
        if isinstance(answer, ModelFailure):
            raise answer
        return answer

    async def close(self) -> None:
        """Let go of connections."""
        library, self._library = self._library, None
        if library is not None:
            await library.close()

    def _key(self) -> str | None:
        variable = self._choice.key or f"{self.provider.upper().replace('-', '_')}_API_KEY"
        key = self._environment.get(variable, "").strip()
        if not key:
            if self._loopback and self._choice.key is None:
                return None
            raise InterlockError("model.no_key", provider=self.provider, variable=variable)
        if not (key.isascii() and key.isprintable()):
            raise InterlockError("model.malformed_key", variable=variable)
        return key

    async def _opened(self) -> "Library":
        async with self._opening:
            if self._library is None:
                # The import takes seconds; in a thread it leaves the loop to the other runs.
                self._library = await asyncio.to_thread(_open, self._choice)
            return self._library


def _open(choice: ModelChoice) -> "Library":
    try:
        module = import_module("interlock.connector.model.library")
    except ImportError as error:
        if (error.name or "").startswith("interlock"):
            raise
        raise InterlockError("model.not_installed", provider=choice.provider) from None
    return cast("Library", module.Library(choice))


def _is_loopback(address: str) -> bool:
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if host is None or parts.scheme not in {"http", "https"} or parts.username is not None:
        raise InterlockError("model.malformed_address", value=address.rpartition("@")[2])
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
