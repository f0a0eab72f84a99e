"""The declaration of a tool: what is refused where it is made, before anything could go wrong in a run."""

from typing import Any

import pytest

from interlock.catalogue import LANGUAGES, say
from interlock.connector.tool import BoundTool, Toolbox, ToolCall, tool
from interlock.errors import InterlockError
from interlock.gate.tool import PLATFORM_NAMES, Tool
from interlock.run.platform_tools import PLATFORM_TOOLS


async def orders(customer: str) -> list[str]:
    """Give the orders of a customer."""
    return [customer]


def refused(**declared: Any) -> InterlockError:
    """Give the error of a declaration, which has its words in every language."""
    with pytest.raises(InterlockError) as caught:
        Toolbox([tool(**declared)(orders)])
    error = caught.value
    for language in LANGUAGES:
        for message in (error.code, f"{error.code}.remedy"):
            assert say(message, language, **error.params).partition(" ")[0] != message
    return error


@pytest.mark.rule("GT-3")
@pytest.mark.parametrize("name", sorted(PLATFORM_NAMES))
def test_no_tool_bears_the_name_of_one_of_the_platforms_own(name: str) -> None:
    assert set(PLATFORM_TOOLS) == PLATFORM_NAMES
    error = refused(name=name, effect="read")
    assert (error.code, error.params["value"]) == ("tool.reserved_name", name)


@pytest.mark.rule("GT-3")
def test_an_effect_that_there_is_not_is_refused_with_the_one_that_is_meant() -> None:
    error = refused(effect="raed")
    assert (error.code, error.params["near"]) == ("tool.unknown_effect_near", "read")
    assert refused(effect="xyz").code == "tool.unknown_effect"
    assert refused(effect=["read"]).code.startswith("tool.unknown_effect")
    assert tool(orders).declaration.effect is None


@pytest.mark.parametrize("timeout", ["5", 0, -1, 1.5, True, None])
def test_a_timeout_is_a_whole_number_of_milliseconds(timeout: Any) -> None:
    assert refused(effect="read", timeout_ms=timeout).code == "tool.bad_timeout"


@pytest.mark.rule("BI-1")
@pytest.mark.parametrize(
    "parameters",
    [
        5,
        [],
        "object",
        {"type": "object", "properties": {"a": {1, 2}}},
        {"type": "object", "properties": {"a": {"default": float("nan")}}},
        {"type": "object", 1: {}},
        {"type": "array"},
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"a": 5}},
    ],
)
def test_parameters_are_the_schema_of_a_json_object(parameters: Any) -> None:
    error = refused(effect="read", parameters=parameters)
    assert error.code == "tool.no_schema"
    english, portuguese = (say(error.params["why"], language) for language in ("en", "pt-BR"))
    assert english != portuguese
    assert not english.startswith("tool.")


def test_why_annotations_give_no_schema_is_told_in_both_languages() -> None:
    async def loose(*anything: Any) -> None:
        """Take anything."""

    async def odd(given: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
        """Take what there is not."""

    for function in (loose, odd):
        with pytest.raises(InterlockError) as caught:
            tool(effect="read")(function)
        assert caught.value.code == "tool.no_schema"
        assert say(caught.value.params["why"], "en") != say(caught.value.params["why"], "pt-BR")


async def refund(order: str) -> None:
    """Refund an order."""


async def refund_under(call: ToolCall, order: str) -> None:
    """Refund an order, and hand the key on."""


@pytest.mark.rule("AC-2", "AC-3")
def test_a_tool_that_cannot_be_handed_its_key_does_not_take_it() -> None:
    declared: dict[str, Any] = {
        "name": "refund",
        "effect": "write",
        "key": "refund/{order}",
        "takes_key": True,
    }
    bound = tool(**declared)(refund_under)
    assert bound.declaration.takes_key
    assert refused(name="orders", effect="read", takes_key=True).code == "tool.takes_no_key"
    for attempt in (
        lambda: tool(**declared)(refund),
        lambda: tool(name="look", effect="read", takes_key=True)(refund_under),
        lambda: Toolbox([BoundTool(Tool(**declared, parameters=bound.declaration.parameters), refund)]),
    ):
        with pytest.raises(InterlockError) as caught:
            attempt()
        assert caught.value.code == "tool.takes_no_key"
