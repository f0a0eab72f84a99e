"""The key of an action: no two different calls share one by accident, and every write tool has one (AC-3)."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from interlock import canonical
from interlock.connector.tool import BoundTool, Toolbox, tool
from interlock.errors import InterlockError
from interlock.gate.action_key import identity_of, key_of
from interlock.gate.tool import Tool

TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {"order": TEXT, "amount": {"type": "number"}, "reason": TEXT},
    "required": ["order", "amount"],
}
REFUND = Tool(
    "refund", parameters=SCHEMA, effect="write", steers=("order", "amount"), key="{task_id}:refund:{order}"
)


async def refund(**arguments: Any) -> None:
    """Refund."""


def registered(**declared: Any) -> BoundTool:
    """Register a tool with these declarations."""
    return tool(**{"name": "refund", "effect": "write", "parameters": SCHEMA, **declared})(refund)


@pytest.mark.rule("AC-3")
@pytest.mark.parametrize(
    ("key", "code", "value"),
    [
        (None, "tool.no_key", None),
        ("refund", "tool.bad_key", "refund"),
        ("", "tool.bad_key", ""),
        ("{order", "tool.bad_key", "{order"),
        ("{order}}", "tool.bad_key", "{order}}"),
        ("{}:x", "tool.bad_key", "{}:x"),
        ("{order.id}", "tool.bad_key", "{order.id}"),
        ("{order!r}", "tool.bad_key", "{order!r}"),
        ("{order:>9}", "tool.bad_key", "{order:>9}"),
        ("{task_id}{order}", "tool.bad_key", "{task_id}{order}"),
        ("{task_id}-{order}", "tool.bad_key", "{task_id}-{order}"),
        ("{task_id}:\n{order}", "tool.bad_key", "{task_id}:\n{order}"),
        ("{order}" + ":" * 300, "tool.bad_key", None),
        ("{task_id}:{oder}", "tool.key_argument", "oder"),
        ("{task_id}:{reason}", "tool.key_argument", "reason"),
    ],
)
def test_a_write_tool_without_a_sound_key_is_not_registered(key: Any, code: str, value: Any) -> None:
    for effect in ("write", "destructive"):
        with pytest.raises(InterlockError) as caught:
            registered(key=key, effect=effect)
        assert caught.value.code == code
        assert value is None or caught.value.params["value"] == value
        assert "{" not in caught.value.remedy("en").replace("{task_id}", "").replace("{order_id}", "")
        assert caught.value.remedy("pt-BR") != caught.value.remedy("en")


@pytest.mark.rule("AC-3")
def test_whoever_wrote_the_tool_it_needs_a_key() -> None:
    with pytest.raises(InterlockError) as caught:
        Toolbox([BoundTool(Tool("refund", parameters=SCHEMA, effect="write"), refund)])
    assert caught.value.code == "tool.no_key"
    with pytest.raises(InterlockError) as caught:
        registered(
            key="{task_id}:{order}",
            parameters={**SCHEMA, "properties": {**SCHEMA["properties"], "task_id": TEXT}},
        )
    assert caught.value.code == "tool.key_reserved"
    assert registered(effect="read").declaration.key is None
    assert registered(key="{task_id}:refund:{order}").declaration.key == "{task_id}:refund:{order}"


@pytest.mark.rule("AC-3", "BI-1")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"order": TEXT}, "required": 5},
        {"type": "object", "properties": {"order": TEXT}, "required": "order"},
        {"type": "object", "properties": {"order": TEXT}, "required": [["order"], None]},
        {"type": "object", "properties": {"order": TEXT}, "required": {"order": True}},
        {"type": "object", "required": ["order"]},
    ],
    ids=str,
)
def test_a_malformed_schema_requires_nothing(schema: Any) -> None:
    with pytest.raises(InterlockError) as caught:
        registered(key="{task_id}:{order}", parameters=schema)
    assert (caught.value.code, caught.value.params["known"]) == ("tool.key_argument", ["task_id"])
    for odd in (None, {"properties": True}):
        with pytest.raises(InterlockError) as caught:
            Toolbox([BoundTool(Tool("refund", parameters=odd, effect="write", key="{order}"), refund)])  # type: ignore[arg-type]
        assert caught.value.code == "tool.key_argument"


LOOKALIKES = [
    *(":", "%", "a:b", "%3A", "'", "'50", "=", "\ud83d", "é", "", "{order}", "50", "-7", "1e5", "true"),
    *("false", "null", "[1]", "{}", '{"a":1}', 50, -7, 100000, True, False, None, [1], [], {}, {"a": 1}),
]
VALUES = (
    st.sampled_from(LOOKALIKES)
    | st.text(max_size=6)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
        max_leaves=4,
    )
)
PAIRS = st.tuples(VALUES, VALUES)
MOVE = Tool(
    "move",
    parameters={"type": "object", "properties": {"one": {}, "other": {}}, "required": ["one", "other"]},
    effect="write",
)


def key_for(template: str, values: tuple[Any, Any]) -> str:
    """Render a key of two arguments, whose tool is registered."""
    bound = tool(name="move", effect="write", parameters=MOVE.parameters, key=template)(refund)
    return key_of(bound.declaration, dict(zip(("one", "other"), values, strict=True)), "task_1")


@pytest.mark.rule("AC-3")
@settings(max_examples=600, deadline=None)
@given(st.sampled_from(["{one}:{other}", "{task_id}/{one}'=5{other}", "'{one}e:5{other}0"]), PAIRS, PAIRS)
def test_two_different_tuples_of_values_never_share_a_key(template: str, first: Any, second: Any) -> None:
    assume(canonical.encode(first) != canonical.encode(second))
    assert key_for(template, first) != key_for(template, second)


@pytest.mark.rule("AC-3")
@pytest.mark.parametrize("part", [":", "'", "=", "/", "%", "%3A", "\n", "{", " "])
def test_a_value_does_not_run_into_its_neighbour(part: str) -> None:
    for template in ("{one}:{other}", "{one}/{other}", "{one}'={other}"):
        assert key_for(template, (f"a{part}b", "c")) != key_for(template, ("a", f"b{part}c"))


@pytest.mark.rule("AC-3")
def test_no_two_values_that_look_alike_share_a_key() -> None:
    keys = {key_for("{one}:{other}", (value, "x")) for value in LOOKALIKES}
    assert len(keys) == len(LOOKALIKES)
    assert all(key.isascii() and key.isprintable() and " " not in key for key in keys), "fit for a header"


@pytest.mark.rule("AC-3")
@given(st.integers(-(2**53), 2**53))
def test_a_number_is_one_value_however_it_is_written(number: int) -> None:
    for inside in (lambda value: value, lambda value: [value], lambda value: {"amount": value}):
        keys = {key_for("{one}:{other}", (inside(value), "x")) for value in (number, float(number))}
        assert len(keys) == 1


@pytest.mark.rule("AC-3")
@pytest.mark.parametrize("sign", "'%-._~0aA")
def test_a_sign_that_a_value_may_hold_parts_no_two_values(sign: str) -> None:
    with pytest.raises(InterlockError) as caught:
        key_for(f"{{one}}{sign}{{other}}", ("", ""))
    assert caught.value.code == "tool.bad_key"


@pytest.mark.rule("AC-1")
@pytest.mark.fault("F1")
def test_an_amount_is_the_same_however_it_is_written_and_a_reason_does_not_count() -> None:
    first = {"order": "o7", "amount": 50, "reason": "a"}
    assert key_of(REFUND, first, "task_1") == "task_1:refund:o7"
    assert identity_of(REFUND, first) == identity_of(REFUND, {**first, "amount": 50.00, "reason": "b"})
    assert identity_of(REFUND, first) != identity_of(REFUND, {**first, "amount": 60})
    assert identity_of(REFUND, first) != identity_of(REFUND, {**first, "amount": True})
    assert identity_of(REFUND, first) != identity_of(REFUND, {**first, "amount": "50"})
    bare = Tool("note", parameters=SCHEMA, effect="write", key="{task_id}:note")
    assert identity_of(bare, first) != identity_of(bare, {**first, "reason": "b"}), "all, where none steer"
