"""Tests of bad input: hostile answers of a provider come through raw, or as a named failure."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Sequence

import pytest

from interlock.connector.model.model import Answer, Call, ModelFailure
from interlock.testing import ProviderServer, Reply
from tests.connector.provider_world import Seen, cases, every_adapter, model_of, request

ASKED = request(request().messages[:1], tools=())


def _blobs() -> list[bytes]:
    lines = cases("bad_input/jsontestsuite.jsonl").read_text().splitlines()
    return [base64.b64decode(json.loads(line)["b64"]) for line in lines]


def _texts() -> list[str]:
    naughty: list[str] = json.loads(cases("bad_input/blns.json").read_text())
    blobs = [blob.decode("utf-8", "backslashreplace") for blob in _blobs()]
    return [*blobs, *naughty, "\ud83d", "\u0000", "a\u2028b", " lead", "trail \n", "\n\n"]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _encodable(text: str) -> bool:
    return text == text.encode("utf-8", "ignore").decode()


Ask = Callable[[Reply], Awaitable[Answer | ModelFailure]]


def _serve(provider: str, stream: bool, job: Callable[[Ask], Awaitable[None]]) -> None:
    """Let a job ask one model again and again, each time with the reply that is to come."""
    to_come = [Reply()]

    async def go() -> None:
        model = model_of(server, provider, stream)

        async def ask(reply: Reply) -> Answer | ModelFailure:
            to_come[0] = reply
            try:
                return await model.ask(ASKED, Seen())
            except ModelFailure as failure:
                return failure

        await job(ask)
        await model.close()

    with ProviderServer(lambda _: to_come[0]) as server:
        asyncio.run(go())


def _slices(texts: Sequence[str], size: int) -> list[Sequence[str]]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]


@every_adapter
@pytest.mark.rule("BI-1", "BI-3")
def test_any_arguments_come_through_raw_or_as_a_failure(provider: str, stream: bool) -> None:
    as_value = provider == "anthropic" and not stream

    def expected(text: str) -> str:
        return (
            json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
            if as_value
            else text or "{}"
        )

    async def check(ask: Ask, texts: Sequence[str]) -> None:
        calls = [Call(f"k{index}", "lookup", text) for index, text in enumerate(texts)]
        outcome = await ask(Reply(calls=tuple(calls)))
        if isinstance(outcome, Answer):
            assert [call.arguments for call in outcome.calls] == [expected(text) for text in texts]
        elif len(texts) > 1:
            for half in _slices(texts, (len(texts) + 1) // 2):
                await check(ask, half)
        else:
            assert outcome.code == "malformed"
            assert as_value or not _encodable(texts[0]), texts[0]

    async def job(ask: Ask) -> None:
        texts = sorted(_texts(), key=_is_json)
        for some in _slices(texts, 1 if as_value else 32):
            await check(ask, some)

    _serve(provider, stream, job)


@every_adapter
@pytest.mark.rule("BI-1", "BI-3")
def test_any_text_comes_through_raw_or_as_a_failure(provider: str, stream: bool) -> None:
    async def check(ask: Ask, texts: Sequence[str]) -> None:
        outcome = await ask(Reply("|".join(texts)))
        if isinstance(outcome, Answer):
            assert outcome.text == "|".join(texts)
        elif len(texts) > 1:
            for half in _slices(texts, (len(texts) + 1) // 2):
                await check(ask, half)
        else:
            assert outcome.code == "malformed"
            assert not _encodable(texts[0]), texts[0]

    async def job(ask: Ask) -> None:
        alone = [text for text in _texts() if text != text.strip() or len(text) < 3]
        for some in [*([text] for text in alone), *_slices(_texts(), 24)]:
            await check(ask, some)

    _serve(provider, stream, job)


@every_adapter
@pytest.mark.rule("BI-1", "BI-3")
def test_any_bytes_as_a_body_are_no_exception(provider: str, stream: bool) -> None:
    kind = {"Content-Type": "text/event-stream" if stream else "application/json"}

    async def job(ask: Ask) -> None:
        for blob in _blobs():
            outcome = await ask(Reply(body=b"data: " + blob + b"\n\n" if stream else blob, headers=kind))
            assert isinstance(outcome, ModelFailure), blob
            assert outcome.code in {"malformed", "unavailable"}

    _serve(provider, stream, job)
