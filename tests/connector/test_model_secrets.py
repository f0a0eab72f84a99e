"""Tests of the key: it reaches the provider, and no object, log record or error."""

import asyncio
import logging
import traceback
from collections.abc import Sequence

import pytest

from interlock.connector.model.model import ModelFailure
from interlock.connector.model.provider import ProviderModel
from interlock.connector.model.wire import KEY_PLACE
from interlock.errors import InterlockError
from interlock.settings import ModelChoice
from interlock.testing import ProviderServer, Reply
from tests.connector.provider_world import Seen, ask, every_adapter, model_of, request

KEY = "sk-canary-0123456789"


def _reachable(root: object, depth: int = 12) -> str:
    """The texts of all that can be reached from an object through attributes and containers."""
    seen: set[int] = set()
    found: list[str] = []

    def visit(value: object, left: int) -> None:
        if id(value) in seen or left == 0:
            return
        seen.add(id(value))
        if isinstance(value, str | bytes):
            found.append(str(value))
        elif isinstance(value, dict):
            for item in (*value.keys(), *value.values()):
                visit(item, left - 1)
        elif isinstance(value, list | tuple | set | frozenset):
            for item in value:
                visit(item, left - 1)
        elif not isinstance(value, type | int | float):
            visit(getattr(value, "__dict__", None), left - 1)
            for name in getattr(type(value), "__slots__", ()):
                visit(getattr(value, name, None), left - 1)

    visit(root, depth)
    return "\n".join(found)


@every_adapter
@pytest.mark.rule("GT-7")
@pytest.mark.parametrize(
    "reply",
    [
        Reply("fine"),
        Reply(f"wrong key {KEY}", status=401),
        Reply(body=f"<html>{KEY}</html>".encode()),
        Reply(f"your Bearer {KEY}, " * 40, status=400),
        Reply(fault="close"),
    ],
)
def test_the_key_is_sent_and_shown_nowhere(
    provider: str, stream: bool, reply: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    seen = Seen()
    shown: list[str] = []

    async def go() -> None:
        model = model_of(server, provider, stream, key="THE_KEY", environment={"THE_KEY": f"{KEY}\n"})
        try:
            await model.ask(request(), seen)
        except ModelFailure as failure:
            shown.extend([failure.detail, "".join(traceback.format_exception(failure))])
            shown.append(_reachable(failure))
        # The environment is the caller's; everything else the model holds is searched.
        model._environment = {}
        shown.extend([repr(model), str(vars(model)), _reachable(model, 40)])
        await model.close()

    with ProviderServer([reply]) as server:
        asyncio.run(go())
        headers = server.received[0].headers
    assert KEY in headers.get("authorization", "") + headers.get("x-api-key", "")
    assert any(KEY_PLACE in text for text in shown), "the search must get as far as the library's own key"
    for text in (*shown, *(record.getMessage() for record in caplog.records), caplog.text):
        assert KEY not in text
    assert all(KEY.encode() not in part for parts in seen for part in parts)


@every_adapter
@pytest.mark.rule("GT-7")
def test_the_key_is_read_at_each_call(provider: str, stream: bool) -> None:
    environment = {"K": "first"}

    async def go() -> None:
        model = model_of(server, provider, stream, key="K", environment=environment)
        await model.ask(request(), Seen())
        environment["K"] = "second"
        await model.ask(request(), Seen())
        await model.close()

    with ProviderServer(lambda _: Reply("x")) as server:
        asyncio.run(go())
        sent = [item.headers.get("authorization") or item.headers["x-api-key"] for item in server.received]
    assert [text.rpartition(" ")[2] for text in sent] == ["first", "second"]


@every_adapter
def test_a_loopback_server_needs_no_key(provider: str, stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"Authorization: Bearer {KEY}")
    with ProviderServer([Reply("x")]) as server:
        ask(model_of(server, provider, stream))
        headers = server.received[0].headers
    assert not {"authorization", "x-api-key"} & headers.keys()
    assert KEY not in str(headers)


@pytest.mark.rule("GT-7")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_environment_of_the_process_turns_no_key_elsewhere(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stop(parts: Sequence[bytes]) -> None:
        raise OSError("far enough")

    async def go() -> str:
        model = ProviderModel(ModelChoice(provider, "m", key="K"), {"K": KEY})
        with pytest.raises(OSError, match="far enough"):
            await model.ask(request(), stop)
        library = model._library
        await model.close()
        return str(library._model.base_url) if library else ""

    with ProviderServer([]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic_url)
        assert asyncio.run(go()).startswith(f"https://api.{provider}.com")
        assert server.received == ()


@pytest.mark.rule("GT-7")
@pytest.mark.parametrize(
    ("key", "base_url", "variable"),
    [
        (None, None, "OPENAI_API_KEY"),
        (None, "https://models.example/v1", "OPENAI_API_KEY"),
        ("MY_KEY", None, "MY_KEY"),
        ("MY_KEY", "http://127.0.0.1:9/v1", "MY_KEY"),
    ],
)
def test_a_missing_key_names_its_variable(key: str | None, base_url: str | None, variable: str) -> None:
    seen = Seen()
    with pytest.raises(InterlockError) as caught:
        ask(ProviderModel(ModelChoice("openai", "m", base_url=base_url, key=key), {variable: " "}), seen=seen)
    assert caught.value.code == "model.no_key"
    assert variable in caught.value.what()
    assert seen == []


@pytest.mark.rule("GT-7", "BI-1")
@pytest.mark.parametrize("key", ["a\nb", "schlüssel", "a\x00"])
def test_a_key_that_no_header_holds_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(InterlockError) as caught:
        ask(ProviderModel(ModelChoice("openai", "m", key="K"), {"K": key}))
    assert caught.value.code == "model.malformed_key"
    assert key not in str(caught.value)


@pytest.mark.rule("GT-7", "BI-1")
@pytest.mark.parametrize(
    "address", ["", "models.example", "ftp://x", "http://", "http://[::1", "http://h:x", "https://me:pw@h/v1"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InterlockError) as caught:
        ProviderModel(ModelChoice("openai", "m", base_url=address), {})
    assert caught.value.code == "model.malformed_address"
    assert "pw" not in str(caught.value)


def test_a_choice_without_a_model_is_refused() -> None:
    with pytest.raises(InterlockError) as caught:
        ProviderModel(ModelChoice("openai"), {})
    assert caught.value.code == "model.no_model"
