"""A model: one request in a provider-neutral form, one answer, and the exact bytes that left for it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from interlock.gate.budget import Usage

__all__ = [
    "Answer",
    "BeforeSend",
    "Call",
    "Message",
    "Model",
    "ModelFailure",
    "ReplayingModel",
    "Request",
    "ToolOffer",
]


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool as the model is told of it: name, description, JSON Schema of the arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the model wrote it: its id, the tool's name, and the arguments as the raw JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request.

    `user`: `text`. `assistant`: `text` and `calls`. `tool`: the result of call `call_id` of tool `name`, in
    `text`.
    """

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `agent` and `number` (from 1, within the run) say whose it is and which."""

    agent: str
    number: int
    instructions: str
    tools: tuple[ToolOffer, ...]
    messages: tuple[Message, ...]
    max_output_tokens: int = 4096


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, and what it used (tokens, and money in micro-units where the price is known)."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage = field(default_factory=Usage)


BeforeSend = Callable[[Sequence[bytes]], Awaitable[None]]
"""Is awaited with the exact bytes of the request, cut into parts whose concatenation is the body,
immediately before they leave. If it raises, nothing is sent."""


class ModelFailure(Exception):  # noqa: N818  it is what happened, not a fault of ours
    """A call that gave no answer.

    code: `rate_limited`, `unavailable`, `timed_out`, `rejected` (the provider refuses this request),
    `unauthorized`, `malformed`. `retryable` says whether the same request may be tried again, `wait_ms`
    what the provider asked for (`Retry-After`), `status` its HTTP status, `detail` its words, shortened
    and without secrets.
    """

    def __init__(
        self,
        code: str,
        retryable: bool,
        wait_ms: int | None = None,
        status: int | None = None,
        detail: str = "",
    ) -> None:
        self.code, self.retryable, self.wait_ms, self.status, self.detail = (
            code,
            retryable,
            wait_ms,
            status,
            detail,
        )
        super().__init__(code)


class Model(Protocol):
    """What a provider's adapter does. It makes exactly one attempt; retries are the runner's, recorded."""

    provider: str
    model: str

    async def ask(self, request: Request, before_send: BeforeSend) -> Answer:
        """Send one request and give its answer. Raises ModelFailure."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


@runtime_checkable
class ReplayingModel(Model, Protocol):
    """A model that a stored request can be sent to again."""

    async def replay(self, data: bytes, before_send: BeforeSend) -> Answer:
        """Send exactly the bytes of a request that left before, and give its answer; one attempt, as `ask` makes.

        Raises ModelFailure, and InterlockError `model.not_replayed` for bytes that this model cannot have sent.
        """
        ...
