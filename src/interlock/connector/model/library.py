"""The model library, opened for one choice: its client over our wire, and what its exceptions mean.

It is pydantic-ai's direct API. The module takes one to three seconds to import, so nothing imports it
before the first call of a model (`interlock.connector.model.provider` does, in a thread of its own).
"""

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator
from typing import Any, cast

import httpx2
from pydantic_ai import models
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import ContentFilterError, ModelAPIError, ModelHTTPError, UserError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings

from interlock.connector.model.failure import by_status, shortened, wait_of, words_of
from interlock.connector.model.model import Answer, BeforeSend, Message, ModelFailure, Request
from interlock.connector.model.translation import calls_of, history_of, parameters_of, text_of
from interlock.connector.model.wire import KEY_PLACE, SENDING, Sending, Wire
from interlock.errors import InterlockError
from interlock.gate.budget import Usage
from interlock.settings import ModelChoice

__all__ = ["Library"]

SCHEMAS_AS_THEY_ARE = ModelProfile(json_schema_transformer=None)

PASSING = ("timed_out", "unavailable")
"""The failures after which the same request may well succeed."""

ADDRESSES = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
"""The providers' own addresses. The SDKs would else take one from the environment, and send the key there."""

NAMES = {"openai": "openai-chat"}
"""Where the library's name differs: its `openai` is the Responses API, which few compatible servers speak."""

STAND_IN = Request("", 1, "", (), (Message("user", "-"),))
"""What the library is given to encode where stored bytes are sent in its place."""


class Library:
    """The model library with one choice of provider and model.

    Raises InterlockError `model.unknown_provider`, `model.not_installed`, `model.not_opened`,
    `model.no_base_url` or `model.unobserved`.
    """

    def __init__(self, choice: ModelChoice) -> None:
        self._choice = choice
        self._client = httpx2.AsyncClient(
            transport=Wire(), timeout=None, follow_redirects=False, trust_env=False
        )
        self._model = _open(choice, self._client)

    async def ask(
        self,
        request: Request,
        before_send: BeforeSend,
        key: str | None,
        answer_limit: int,
        now: Callable[[], int],
    ) -> Answer | ModelFailure:
        """Make one request, and give its answer or what went wrong.

        Raises only what `before_send` raised. `now` gives the time in milliseconds since the Unix epoch.
        """
        return await self._sent(request, Sending(before_send, key, answer_limit), now, self._choice.stream)

    async def replay(
        self,
        data: bytes,
        before_send: BeforeSend,
        key: str | None,
        answer_limit: int,
        now: Callable[[], int],
    ) -> Answer | ModelFailure:
        """Make one request with the body `data`, and give its answer or what went wrong, as `ask` does.

        The library is driven with a request of its own, which leads it to the same address and makes it read the
        answer; the wire puts `data` in the place of what it encodes.
        """
        sending = Sending(before_send, key, answer_limit, body=data)
        return await self._sent(STAND_IN, sending, now, _asks_for_stream(data, self._choice.stream))

    async def _sent(
        self, request: Request, sending: Sending, now: Callable[[], int], stream: bool
    ) -> Answer | ModelFailure:
        token = SENDING.set(sending)
        try:
            async with asyncio.timeout(self._choice.timeout_ms / 1000):
                return await self._request(request, stream)
        except TimeoutError:
            failure = ModelFailure(
                "timed_out", True, None, None, f"no answer in {self._choice.timeout_ms} ms"
            )
        except Exception as error:  # noqa: BLE001  an answer of any shape may trip the library anywhere
            failure = self._failure(error, sending, now())
        finally:
            SENDING.reset(token)
        # Raised and given outside the handlers, so that no library exception hangs on as context.
        if sending.refusal is not None:
            raise sending.refusal
        return failure

    async def _request(self, request: Request, stream: bool) -> Answer:
        history, parameters = history_of(request.messages), parameters_of(request)
        settings = ModelSettings(
            max_tokens=request.max_output_tokens, timeout=self._choice.timeout_ms / 1000, max_retries=0
        )
        send = self._streamed if stream else self._whole
        return self._answer(await send(history, settings, parameters), stream)

    async def _whole(
        self, history: list[ModelMessage], settings: ModelSettings, parameters: models.ModelRequestParameters
    ) -> ModelResponse:
        return await model_request(
            self._model,
            history,
            model_settings=settings,
            model_request_parameters=parameters,
            instrument=False,
        )

    async def _streamed(
        self, history: list[ModelMessage], settings: ModelSettings, parameters: models.ModelRequestParameters
    ) -> ModelResponse:
        async with model_request_stream(
            self._model,
            history,
            model_settings=settings,
            model_request_parameters=parameters,
            instrument=False,
        ) as stream:
            async for _ in stream:
                continue
            response = stream.get()
        # The library takes a missing reason for an ordinary end, but it is the only sign of a broken stream.
        if response.finish_reason != "content_filter" and not (response.provider_details or {}).get(
            "finish_reason"
        ):
            raise httpx2.RemoteProtocolError("the stream ended before the answer did")
        return response

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _answer(self, response: ModelResponse, stream: bool) -> Answer:
        as_values = self._choice.provider == "anthropic" and not stream
        text, calls = text_of(response), calls_of(response, as_values)
        if response.finish_reason == "content_filter" and not (text or calls):
            refusal = (response.provider_details or {}).get("refusal")
            raise ContentFilterError(
                refusal if isinstance(refusal, str) else "the provider withheld the answer"
            )
        return Answer(text, calls, self._usage(response.usage.input_tokens, response.usage.output_tokens))

    def _usage(self, taken: int, given: int) -> Usage:
        taken, given = max(0, taken), max(0, given)
        money = -(-(taken * self._choice.price_in + given * self._choice.price_out) // 1_000_000)
        return Usage(tokens=taken + given, money=money)

    def _failure(self, error: Exception, sending: Sending, now_ms: int) -> ModelFailure:
        detail = shortened(_words(error), [sending.key or ""])
        if sending.too_long:
            detail = f"the answer is longer than {sending.answer_limit} bytes"
            return ModelFailure("malformed", False, None, sending.status, detail)
        if sending.status is not None and not 200 <= sending.status < 300:
            return by_status(sending.status, wait_of(sending.headers, now_ms), detail)
        if isinstance(error, ModelHTTPError):
            return by_status(error.status_code, None, detail)
        code = _code(error, sending)
        return ModelFailure(code, code in PASSING, None, sending.status, detail)


def _asks_for_stream(data: bytes, otherwise: bool) -> bool:
    """Tell whether the body of a request asks for a streamed answer; `otherwise` where it does not say."""
    try:
        form = json.loads(data)
    except (ValueError, RecursionError):
        return otherwise
    asked = form.get("stream", otherwise) if isinstance(form, dict) else otherwise
    return asked is True


def _code(error: Exception, sending: Sending) -> str:
    """Name a failure that no HTTP status explains."""
    broken = next((cause for cause in _causes(error) if isinstance(cause, httpx2.TransportError)), None)
    if broken is not None:
        return "timed_out" if isinstance(broken, httpx2.TimeoutException) else "unavailable"
    if isinstance(error, ModelAPIError) and error.in_stream:
        return "unavailable"
    return "rejected" if isinstance(error, ContentFilterError) or not sending.sent else "malformed"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _words(error: Exception) -> str:
    return words_of(getattr(error, "body", None)) or str(error) or type(error).__name__


def _open(choice: ModelChoice, client: httpx2.AsyncClient) -> models.Model:
    try:
        provider = _provider(choice, client)
        model = _model(choice, provider)
    except ImportError:
        raise InterlockError("model.not_installed", provider=choice.provider) from None
    except UserError as error:
        raise InterlockError("model.not_opened", provider=choice.provider, why=str(error)) from None
    return model


def _model(choice: ModelChoice, provider: Provider[Any]) -> models.Model:
    found = models.infer_model(
        f"{NAMES.get(choice.provider, choice.provider)}:{choice.model}", lambda _: provider
    )
    kind = cast("Callable[..., models.Model]", type(found))
    return kind(choice.model, provider=provider, profile=SCHEMAS_AS_THEY_ARE)


def _provider(choice: ModelChoice, client: httpx2.AsyncClient) -> Provider[Any]:
    try:
        kind = infer_provider_class(choice.provider)
    except ValueError:
        raise InterlockError("model.unknown_provider", value=choice.provider) from None
    taken = inspect.signature(kind.__init__).parameters
    if "http_client" not in taken or "api_key" not in taken:
        raise InterlockError("model.unobserved", provider=choice.provider)
    given: dict[str, Any] = {"http_client": client, "api_key": KEY_PLACE}
    address = choice.base_url or ADDRESSES.get(choice.provider)
    if address is not None:
        if "base_url" not in taken:
            raise InterlockError("model.no_base_url", provider=choice.provider)
        given["base_url"] = address
    return cast("Callable[..., Provider[Any]]", kind)(**given)
