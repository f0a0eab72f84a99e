"""Canonical JSON: one byte form for each value, and a strict reader that never raises a bare exception."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock import canonical
from interlock.errors import InterlockError
from tests.bad_input import corpora as bad_input
from tests.bad_input.corpora import refusal

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT
    | st.sampled_from(["\0", "\ud83d", "\ude00", "\U0001f600", "\u202eabc", "\ufeff"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)

# Stricter than RFC 8259 on purpose: a doubled key would let two readers see two different values.
DOUBLED_KEYS = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}


def refused(text: str | bytes, limit: int = 1 << 20) -> InterlockError:
    with pytest.raises(InterlockError) as caught:
        canonical.parse(text, "the answer", limit)
    refusal(caught.value)
    return caught.value


@pytest.mark.rule("BI-1")
def test_the_json_suite_is_honoured() -> None:
    doubled = set()
    for name, expected, raw in bad_input.json_suite():
        try:
            value = canonical.parse(raw, name)
        except InterlockError as error:
            refusal(error)
            if expected == "accept":
                doubled.add(name)
                assert error.params["why"]["id"] == "json.why.doubled_key", name
        else:
            assert expected != "reject", name
            assert canonical.parse(canonical.encode(value), name) == value
    assert doubled == DOUBLED_KEYS


@pytest.mark.rule("BI-1")
@pytest.mark.fault("F42")
@settings(max_examples=200, deadline=None)
@given(ANY_JSON)
def test_any_value_comes_back_and_has_one_digest(value: object) -> None:
    form = canonical.encode(value)
    again = canonical.parse(form, "value")
    assert again == value
    assert canonical.encode(again) == form
    assert canonical.digest_of(json.loads(json.dumps(value))) == canonical.digest_of(value)
    form.decode("utf-8")


@pytest.mark.fault("F42")
@pytest.mark.parametrize("text", ["\0", "\ud83d", "😀", "\u202eشكرا", "x" * 2_000_000])
def test_awkward_text_is_kept_as_value_and_as_key(text: str) -> None:
    value = {text: [text, {"k": text}]}
    assert canonical.parse(canonical.encode(value), "value") == value
    assert canonical.digest_of(value) == canonical.digest_of({text: [text, {"k": text}]})
    assert canonical.digest_of(value) != canonical.digest_of({text: [text, {"k": text + "x"}]})


@pytest.mark.fault("F42")
def test_two_surrogates_that_make_one_character_are_that_character() -> None:
    apart = {"\ud83d\ude00": "\ud83d\ude00", "\uffff": "\ud83d"}
    whole = {"\U0001f600": "\U0001f600", "\uffff": "\ud83d"}
    assert canonical.encode(apart) == canonical.encode(whole)
    assert canonical.parse(canonical.encode(apart), "value") == whole
    with pytest.raises(ValueError, match="doubled_key"):
        canonical.encode({"\ud83d\ude00": 1, "\U0001f600": 2})


@given(st.permutations([("a", 1), ("b", [1, 2]), ("\ud83d", "x"), ("é", None)]))
def test_the_order_of_keys_changes_nothing(pairs: list[tuple[str, object]]) -> None:
    assert canonical.encode(dict(pairs)) == canonical.encode(dict(sorted(pairs)))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_no_number_that_json_lacks_is_hashed(number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical.encode({"a": number})


@pytest.mark.rule("BI-1")
@pytest.mark.parametrize(
    ("text", "why", "where"),
    [
        (b'{"a":\n "\xff"}', "utf8", "2:3"),
        ("[" * 250 + "]" * 250, "depth", "1:1"),
        ("[" * 100_000, "depth", "1:1"),
        ('{"a": {"b": 1, "b": 1}}', "doubled_key", "1:1"),
        ("[NaN]", "constant", "1:1"),
        ("[-Infinity]", "constant", "1:1"),
        ("[1e999]", "number", "1:1"),
        ("9" * 5000, "number", "1:1"),
        ("", "value", "1:1"),
        ('{"a": 1,\n}', "name", "1:8"),
        ('{"a" 1}', "colon", "1:6"),
        ("[1 2]", "comma", "1:4"),
        ('["a\tb"]', "control", "1:4"),
        ('["\\x"]', "escape", "1:3"),
        ('["a', "quote", "1:2"),
        ("1 2", "extra", "1:3"),
        ("\ufeff1", "mark", "1:1"),
    ],
)
def test_each_fault_of_json_is_said(text: str | bytes, why: str, where: str) -> None:
    error = refused(text)
    assert error.code == "json.malformed"
    assert error.params["why"]["id"] == f"json.why.{why}"
    if why != "name":
        assert error.params["where"] == where


@pytest.mark.rule("BI-2")
def test_the_limit_counts_bytes_and_is_stated() -> None:
    assert canonical.parse('"' + "é" * 49 + '"', "x", 100) == "é" * 49
    for text in ('"' + "é" * 50 + '"', ('"' + "é" * 50 + '"').encode()):
        error = refused(text, 100)
        assert error.code == "json.too_large"
        assert (error.params["size"], error.params["limit"]) == (102, 100)


@pytest.mark.rule("BI-1")
@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:0123eE+-.\\utfn \n', max_size=40) | ANY_TEXT)
def test_any_input_gives_a_value_or_a_named_error(text: str | bytes) -> None:
    try:
        canonical.encode(canonical.parse(text, "input"))
    except InterlockError as error:
        refusal(error)
