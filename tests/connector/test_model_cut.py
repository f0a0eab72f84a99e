"""Tests of the cut: nothing is lost, and what two requests share is the same parts."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interlock.connector.model.cut import BLOCK, LONG, cut

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)


@pytest.mark.rule("PS-1")
@given(st.dictionaries(st.text(), values), st.sampled_from([None, 1]), st.booleans())
def test_parts_join_to_the_body_of_any_json(
    value: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    body = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert b"".join(cut(body)) == body


@pytest.mark.rule("PS-1", "BI-1")
@given(
    st.binary()
    | st.lists(st.sampled_from([b"{", b"[", b"]", b"}", b'"', b"\\", b",", b":", b"1"])).map(b"".join)
)
@example(b"")
@example(b'{"a":["')
@example(b'{"a":["\\')
@example(b"{]]]]}}}[[[,,,")
def test_parts_join_to_any_bytes(body: bytes) -> None:
    for tried in (body, b"{" + body, b'{"messages":[' + body):
        parts = cut(tried)
        assert b"".join(parts) == tried
        assert len(parts) == 1 or all(parts)


def test_elements_begin_parts_with_their_comma() -> None:
    body = b'{"model":"m","messages":[{"a":[1,2]},"b", 3],"tools":[{"t":{}}],"stop":[],"n":{"x":[1,2]}}'
    assert cut(body) == [
        b'{"model":"m","messages":[',
        b'{"a":[1,2]}',
        b',"b"',
        b", 3",
        b'],"tools":[',
        b'{"t":{}}',
        b'],"stop":[',
        b'],"n":{"x":[1,2]}}',
    ]


def test_long_strings_are_parts_of_their_own() -> None:
    long = json.dumps('[{,\\"' * LONG).encode()
    body = b'{"messages":[{"role":"tool","content":' + long + b'},{"role":"user"}]}'
    assert cut(body)[1:4] == [b'{"role":"tool","content":', long, b"}"]


@given(st.lists(values), st.lists(values, min_size=1), st.dictionaries(st.text(), values, max_size=2))
def test_a_longer_history_begins_with_the_parts_of_the_shorter(
    old: list[Any], new: list[Any], rest: dict[str, Any]
) -> None:
    def body(messages: list[Any]) -> bytes:
        return json.dumps({"model": "m", "messages": messages, "rest": rest}, separators=(",", ":")).encode()

    before, after = cut(body(old)), cut(body(old + new))
    tail = len(cut(body([]))) - 1
    assert after[: len(before) - tail] == before[: len(before) - tail]
    assert after[len(after) - tail :] == before[len(before) - tail :]


def test_what_is_no_object_comes_in_blocks() -> None:
    assert [len(part) for part in cut(b"\x00" * (2 * BLOCK + 1))] == [BLOCK, BLOCK, 1]
    assert cut(b"[1,2]") == [b"[1,2]"]


@pytest.mark.rule("BI-1")
@pytest.mark.parametrize("unit", [b'\\"', b'"', b"[", b'{"', b"\\", b'","'])
def test_hostile_bodies_are_read_once(unit: bytes) -> None:
    body = b'{"messages":["' + unit * (1024 * 1024 // len(unit))
    assert b"".join(cut(body)) == body
