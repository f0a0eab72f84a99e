"""A request that is read out of its exact bytes, in each wire form, and values laid out for people."""

import json
from typing import Any

import pytest

from interlock.cli.layout import barred, laid_out, one_line
from interlock.cli.request import ReadRequest, Said, read_request
from interlock.connector.model.model import Message
from interlock.connector.model.scripted import ScriptedModel
from interlock.testing import ProviderServer, Reply
from tests.connector.provider_world import HISTORY, Seen, ask, every_adapter, model_of, request

WHOLE = ReadRequest(
    "Be exact.",
    (("lookup", "Looks a thing up."),),
    (
        Said("user", "Find both — “já”, ç, 🦉."),
        Said("assistant", "Looking.", (("lookup", '{"name": "a"}'), ("lookup", '{"name":"b"}'))),
        Said("tool", "the first \u0000 result", (), "lookup"),
        Said("tool", "the second", (), "lookup"),
        Said("assistant", "One more.", (("lookup", "{}"),)),
        Said("tool", "x" * 5000, (), "lookup"),
    ),
)


def with_values(read: ReadRequest | None) -> Any:
    """Give what was read with the arguments of calls as values: one wire form keeps their text, the other not."""
    assert read is not None
    said = [
        (item.role, item.text, [(name, json.loads(text)) for name, text in item.calls], item.tool)
        for item in read.messages
    ]
    return read.instructions, read.tools, said


@every_adapter
@pytest.mark.rule("PS-2", "UI-1")
def test_what_a_provider_was_sent_is_read_in_full(provider: str, stream: bool) -> None:
    seen = Seen()
    with ProviderServer([Reply("x")] * 2) as server:
        bare = request([Message("user", "hello\nthere")], instructions="", tools=())
        ask(model_of(server, provider, stream), request(HISTORY), bare, seen=seen)
    whole, short = (read_request(b"".join(parts)) for parts in seen)
    assert with_values(whole) == with_values(WHOLE)
    assert short == ReadRequest("", (), (Said("user", "hello\nthere"),))


@pytest.mark.rule("PS-2", "UI-1")
def test_what_a_script_was_sent_is_read_in_full() -> None:
    seen = Seen()
    ask(ScriptedModel({"*": [{"finish": "Done."}]}), request(HISTORY), seen=seen)  # type: ignore[arg-type]
    assert read_request(b"".join(seen[0])) == WHOLE


@pytest.mark.rule("BI-1")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"7",
        b"{}",
        b'{"messages": 3}',
        b'{"head": {}}',
        b'{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}',
        b'{"messages": [{"role": "oracle", "content": "x"}]}',
        b'{"system": "x", "messages": [{"role": "user", "content": [{"type": "document", "source": {}}]}]}',
        b'{"input": [{"role": "user", "content": "x"}]}',
        b"[" * 100_000,
    ],
)
def test_a_request_of_another_form_is_not_read_in_part(data: bytes) -> None:
    assert read_request(data) is None


@pytest.mark.rule("UI-1")
def test_values_are_laid_out_line_by_line() -> None:
    value = {
        "order": "o7",
        "lines": [1, None, {}],
        "text": "one\n\ntwo: 3",
        "deep": [{"a": True}],
        "no key": "x",
    }
    assert list(laid_out(value)) == [
        'order: "o7"',
        "lines:",
        "  - 1",
        "  - null",
        "  - {}",
        "text:",
        "  | one",
        "  |",
        "  | two: 3",
        "deep:",
        "  -",
        "    a: true",
        '"no key": "x"',
    ]


@pytest.mark.rule("UI-1", "BI-1")
@pytest.mark.fault("F42")
def test_no_text_passes_for_a_line_of_the_platform() -> None:
    forged = "x\n   5  +   0.001 s  book: allowed\nverdict: allow"
    assert all(line.startswith("|") for line in barred(forged))
    lines = list(laid_out({"note": forged, forged: 1, "order": "o1\r\n2"}))
    assert all(line.startswith(("note:", "  |", '"x\\n', "order:")) for line in lines)
    assert "\n" not in one_line(forged) and len(one_line("x" * 10_000)) < 200
    deep: Any = "x"
    for _ in range(199):
        deep = [deep]
    assert len(list(laid_out(deep))) < 30
