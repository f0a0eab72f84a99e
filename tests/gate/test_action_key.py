"""The key of an action: no two different calls share one by accident, and every write tool has one (AC-3)."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

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
    assert registered(key="refund/{order}", takes_key=True).declaration.takes_key


VALUES = st.text(max_size=6) | st.sampled_from([":", "%", "a:b", "%3A", "\ud83d", "é", "", "{order}"])


@pytest.mark.rule("AC-3")
@given(st.tuples(VALUES, VALUES), st.tuples(VALUES, VALUES))
def test_two_different_tuples_of_values_never_share_a_key(one: Any, other: Any) -> None:
    assume(one != other)
    names = ("first", "second")
    two = Tool(
        "move",
        parameters={"type": "object", "properties": dict.fromkeys(names, TEXT), "required": list(names)},
        effect="write",
        key="{first}:{second}",
    )
    keys = {key_of(two, dict(zip(names, values, strict=True)), "task_1") for values in (one, other)}
    assert len(keys) == 2


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
