"""YAML text: any input gives a value or a named error with its place."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.errors import InterlockError
from interlock.form.yaml_text import DEPTH, Marked, read
from tests.bad_input import corpora as bad_input
from tests.bad_input.corpora import refusal

LIMIT = 256 * 1024


def refused(text: str | bytes, limit: int = LIMIT) -> InterlockError:
    with pytest.raises(InterlockError) as caught:
        read(text, "a.yaml", limit)
    error = caught.value
    refusal(error)
    assert error.code.startswith("yaml.")
    assert error.params["file"] == "a.yaml"
    assert error.params["line"] >= 1
    assert error.params["column"] >= 1
    return error


def plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and plain(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(plain, value))
    return value is None or type(value) in {str, bool, int, float}


def test_scalars_follow_the_core_schema() -> None:
    text = "[no, on, yes, true, False, ~, null, 12, -3, 0o17, 0x1F, 1.5, 1e3, '1', 2001-01-01, 1_000, 12:30]"
    assert read(text, "a.yaml", LIMIT).value == [
        *("no", "on", "yes", True, False, None, None, 12, -3, 15, 31, 1.5, 1000.0, "1"),
        *("2001-01-01", "1_000", "12:30"),
    ]


def test_keys_are_texts_as_they_are_written() -> None:
    assert read("{1: a, no: b, true: c, 'q': d}", "a.yaml", LIMIT).value == {
        "1": "a",
        "no": "b",
        "true": "c",
        "q": "d",
    }


@pytest.mark.rule("AG-2")
def test_every_path_has_its_place() -> None:
    marked = read("emits:\n  - event: x\n    artifacts: [one,\n      two]\n", "a.yaml", LIMIT)
    assert marked.where(("emits", 0, "artifacts", 1)) == (4, 7)
    assert marked.where(("emits", 0, "artifacts")) == (3, 16)
    assert marked.where_key(("emits", 0, "artifacts")) == (3, 5)
    assert marked.where(("emits", 0, "absent", 5)) == (2, 5)
    assert marked.where_key(("emits", 0, "absent")) == (2, 5)


def test_an_alias_stands_where_it_is_written() -> None:
    marked = read("a: &x {k: 1}\nb: *x\n", "a.yaml", LIMIT)
    assert marked.value == {"a": {"k": 1}, "b": {"k": 1}}
    assert marked.where(("b",)) == (2, 4)
    assert marked.where(("b", "k")) == (1, 11)
    assert read("&x a: 1\nb: *x\n", "a.yaml", LIMIT).value == {"a": 1, "b": "a"}
    assert read("a: &x b\n*x : 1\n", "a.yaml", LIMIT).value == {"a": "b", "b": 1}


def test_nothing_at_all_is_none() -> None:
    assert read("", "a.yaml", LIMIT).value is None
    assert read(b"\xef\xbb\xbf# only this\n", "a.yaml", LIMIT).value is None
    assert read("---\n...\n", "a.yaml", LIMIT).value is None


def test_a_byte_order_mark_is_accepted() -> None:
    assert read(b"\xef\xbb\xbfa: 1", "a.yaml", LIMIT).value == {"a": 1}


@pytest.mark.rule("AG-2", "BI-1")
@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("a: 1\nb: 2\na: 3\n", "yaml.doubled_key", (3, 1)),
        ("a: {x: 1, 'x': 2}", "yaml.doubled_key", (1, 11)),
        ("a: 1\n---\nb: 2\n", "yaml.second_document", (2, 1)),
        ("a: !!python/object:os.system x", "yaml.tag", (1, 4)),
        ("a: !x [1]", "yaml.tag", (1, 4)),
        ("!!str a: 1", "yaml.tag", (1, 1)),
        ("%YAML 1.1\n---\nno", "yaml.version", (2, 1)),
        ("a: *b", "yaml.alias", (1, 4)),
        ("a: &b [*b]", "yaml.alias", (1, 8)),
        ("[a, b]: 1", "yaml.key", (1, 1)),
        ("a: .nan", "yaml.number", (1, 4)),
        ("a: 1e999", "yaml.number", (1, 4)),
        ("a: -.inf", "yaml.number", (1, 4)),
        ("a: " + "9" * 5000, "yaml.number", (1, 4)),
        ("a: b: c", "yaml.malformed", (1, 5)),
        ("a:\n\t- b", "yaml.malformed", (2, 1)),
        ("a: 'open", "yaml.malformed", (1, 9)),
        ("a: [1, 2", "yaml.malformed", (1, 9)),
        ("a: @b", "yaml.malformed", (1, 4)),
        ("a:\n  - b\n c: d\n", "yaml.malformed", (3, 2)),
    ],
)
def test_each_fault_is_named_with_its_place(text: str, code: str, place: tuple[int, int]) -> None:
    error = refused(text)
    assert error.code == code
    assert (error.params["line"], error.params["column"]) == place


@pytest.mark.rule("BI-1")
@pytest.mark.fault("F42")
@pytest.mark.parametrize(
    ("text", "code", "value", "place"),
    [
        ("a: 1\nb: x\0y", "yaml.character", "U+0000", (2, 5)),
        (b"a: 1\nb: x\0y", "yaml.character", "U+0000", (2, 5)),
        ("a: \ud83d", "yaml.character", "U+D83D", (1, 4)),
        ('a: "\\ud83d"', "yaml.character", "U+D83D", (1, 4)),
        ('a: "\\0"', "yaml.character", "U+0000", (1, 4)),
        ('"\\0": a', "yaml.character", "U+0000", (1, 1)),
        (b"a: 1\r\nb: \xff", "yaml.encoding", "0xFF", (2, 4)),
        (b"a: \xed\xa0\xbd", "yaml.encoding", "0xED", (1, 4)),
        ("a: 1".encode("utf-16"), "yaml.encoding", "0xFF", (1, 1)),
    ],
)
def test_what_cannot_be_stored_is_refused_by_name(
    text: str | bytes, code: str, value: str, place: tuple[int, int]
) -> None:
    error = refused(text)
    assert (error.code, error.params["value"]) == (code, value)
    assert (error.params["line"], error.params["column"]) == place


@pytest.mark.fault("F42")
def test_emoji_and_right_to_left_text_and_a_long_line_are_kept() -> None:
    text = "😀 שלום \u202e" + "x" * 200_000
    assert read(f'"{text}"', "a.yaml", LIMIT).value == text


@pytest.mark.rule("BI-2")
def test_the_limit_is_in_bytes_and_stated() -> None:
    assert read("é" * 50, "a.yaml", 100).value == "é" * 50
    for text in ("é" * 51, ("é" * 51).encode()):
        error = refused(text, 100)
        assert error.code == "yaml.too_large"
        assert (error.params["size"], error.params["limit"]) == (102, 100)


@pytest.mark.rule("BI-1", "BI-2")
@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "[{a: "])
def test_depth_is_bounded(opening: str) -> None:
    error = refused(opening * 20_000)
    assert error.code == "yaml.too_deep"
    assert error.params["limit"] == DEPTH


@pytest.mark.rule("BI-1", "BI-2")
def test_aliases_cannot_pass_the_bound_of_depth() -> None:
    steps = [
        f"a0: &a0 {'[' * 30}{']' * 30}",
        *(f"a{n}: &a{n} {'[' * 30}*a{n - 1}{']' * 30}" for n in range(1, 99)),
    ]
    error = refused("\n".join(steps))
    assert (error.code, error.params["line"]) == ("yaml.too_deep", 3)
    assert read("\n".join(steps[:2]), "a.yaml", LIMIT).value


@pytest.mark.rule("BI-1", "BI-2")
def test_aliases_cannot_grow_without_bound() -> None:
    laughs = "a0: &a0 [lol, lol]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30)
    )
    assert refused(laughs).code == "yaml.alias_growth"
    assert len(read("a: &a " + "x" * 100 + "\nb: [*a, *a]", "a.yaml", LIMIT).value["b"]) == 2


@pytest.mark.rule("BI-1")
def test_every_input_of_the_corpora_gives_a_value_or_a_named_error() -> None:
    values = 0
    for text in bad_input.corpus():
        try:
            marked = read(text, "a.yaml", LIMIT)
        except InterlockError as error:
            refusal(error)
            assert error.params["line"] >= 1
        else:
            values += 1
            assert isinstance(marked, Marked)
            assert plain(marked.value)
            json.dumps(marked.value, allow_nan=False).encode()
    assert values > 500


@pytest.mark.rule("BI-1")
@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=80), st.text(alphabet="ab:-?[]{},&*!|>'\"%@# \n\t\\0~", max_size=60)))
def test_any_bytes_and_any_punctuation_give_a_value_or_a_named_error(text: str | bytes) -> None:
    try:
        assert plain(read(text, "a.yaml", LIMIT).value)
    except InterlockError as error:
        refusal(error)
