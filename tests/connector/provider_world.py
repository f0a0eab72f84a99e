"""A provider's world: every adapter, a request with all kinds of messages, and one call over real HTTP."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from interlock.connector.model.model import Answer, Call, Message, ModelFailure, Request, ToolOffer
from interlock.connector.model.provider import ProviderModel
from interlock.settings import ModelChoice
from interlock.testing import ProviderServer

ADAPTERS = [("openai", False), ("openai", True), ("anthropic", False), ("anthropic", True)]
every_adapter = pytest.mark.parametrize(
    ("provider", "stream"),
    ADAPTERS,
    ids=[f"{name}-{'stream' if stream else 'whole'}" for name, stream in ADAPTERS],
)

LOOKUP = ToolOffer(
    "lookup",
    "Looks a thing up.",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Lookup",
        "type": "object",
        "properties": {"name": {"type": "string", "pattern": "^[a-z]+$", "default": "x"}},
        "required": ["name"],
        "additionalProperties": True,
    },
)
HISTORY = (
    Message("user", "Find both — “já”, ç, 🦉."),
    Message(
        "assistant", "Looking.", (Call("c1", "lookup", '{"name": "a"}'), Call("c2", "lookup", '{"name":"b"}'))
    ),
    Message("tool", "the first \u0000 result", call_id="c1", name="lookup"),
    Message("tool", "the second", call_id="c2", name="lookup"),
    Message("assistant", "One more.", (Call("c3", "lookup", "{}"),)),
    Message("tool", "x" * 5000, call_id="c3", name="lookup"),
)


def request(messages: Sequence[Message] = HISTORY, number: int = 1, **more: Any) -> Request:
    """A request of a fixed agent."""
    given = {"instructions": "Be exact.", "tools": (LOOKUP,), **more}
    return Request("finder@acme/lab", number, messages=tuple(messages), **given)


def model_of(server: ProviderServer, provider: str, stream: bool = False, **more: Any) -> ProviderModel:
    """A model that talks to the imitation."""
    environment: Mapping[str, str] = more.pop("environment", {})
    answer_limit = more.pop("answer_limit", 8 * 1024 * 1024)
    url = server.openai_url if provider == "openai" else server.anthropic_url
    name = "gpt-4o" if provider == "openai" else "claude-opus-5"
    choice = ModelChoice(provider, name, base_url=url, stream=stream, **more)
    return ProviderModel(choice, environment, answer_limit=answer_limit)


class Seen(list[list[bytes]]):
    """A `before_send` that keeps the parts it was shown."""

    async def __call__(self, parts: Sequence[bytes]) -> None:
        self.append(list(parts))


def ask(model: ProviderModel, *requests: Request, seen: Seen | None = None) -> list[Answer]:
    """Ask one thing after the other, then close."""
    seen = Seen() if seen is None else seen

    async def all_of_them() -> list[Answer]:
        try:
            return [await model.ask(item, seen) for item in requests or (request(),)]
        finally:
            await model.close()

    return asyncio.run(all_of_them())


def failure_of(model: ProviderModel, *requests: Request) -> ModelFailure:
    """Ask, and give the failure that must come."""
    with pytest.raises(ModelFailure) as caught:
        ask(model, *requests)
    return caught.value


def cases(name: str) -> Path:
    """A file of the shared cases."""
    folder = os.environ.get("INTERLOCK_CASES")
    if not folder:
        pytest.skip("INTERLOCK_CASES names no folder of cases")
    return Path(folder) / name
