"""The work that a schema can make of a few bytes: counted before any validator is let at it."""

import json
from typing import Any

import pytest

from interlock.catalogue import LANGUAGES, say
from interlock.gate.gate import decide
from interlock.gate.schema import DEPTH_LIMIT
from interlock.gate.schema_work import WORK_LIMIT, unbounded_work
from interlock.gate.tool import Tool
from interlock.gate.verdict import Allow, Deny
from tests.gate.cases import facts, proposal

N = {"$ref": "#/$defs/n"}
TEXT = {"type": "string"}


def rooted(definition: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Give a schema whose argument `c` is of a definition `n`, which may name itself."""
    return {"type": "object", "$defs": {"n": definition, **more}, "properties": {"c": N}}


def doubled(levels: int, keyword: str = "anyOf") -> dict[str, Any]:
    """Give a schema of a few parts for each level, and twice as many ways through it."""
    rest = {f"d{at}": {keyword: [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(levels)}
    return rooted({"$ref": "#/$defs/d0"}, **json.loads(json.dumps(rest)), **{f"d{levels}": TEXT})


def why(schema: Any) -> str | None:
    text = unbounded_work(schema)
    return text["id"] if text else None


@pytest.mark.rule("BI-2")
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_alternatives_that_double_with_every_level_are_counted_and_never_walked(keyword: str) -> None:
    assert why(doubled(10, keyword)) is None
    assert why(doubled(14, keyword)) == "gate.schema_heavy"
    assert why(doubled(3000, keyword)) == "gate.schema_heavy"


@pytest.mark.rule("BI-2")
def test_the_parts_may_be_as_many_as_the_bound_and_no_more() -> None:
    parts = {"type": "object", "properties": {f"p{number}": {} for number in range(WORK_LIMIT - 1)}}
    assert why(parts) is None
    assert why({**parts, "not": False}) == "gate.schema_heavy"


@pytest.mark.rule("BI-2")
@pytest.mark.parametrize(
    "definition",
    [
        {"anyOf": [{"properties": {"c": N}, "required": ["x"]}, {"properties": {"c": N}, "required": ["y"]}]},
        {"oneOf": [{"properties": {"c": N}}, {"items": N}]},
        {"allOf": [{"properties": {"c": N}}, {"properties": {"c": N}}]},
        {"properties": {"c": N}, "not": {"properties": {"c": N}}},
        {"if": {"properties": {"c": N}}, "then": {"properties": {"c": N}}},
        {"properties": {"c": N}, "patternProperties": {"c": N}},
        {"patternProperties": {"c": N, "^c": N}},
        {"items": N, "contains": N},
        {"properties": {"c": N}, "dependentSchemas": {"c": {"properties": {"c": N}}}},
        {"anyOf": [{"properties": {"c": N}}], "unevaluatedProperties": False},
        {"$dynamicAnchor": "m", "allOf": [{"items": {"$dynamicRef": "#m"}}, {"items": N}]},
        {"$anchor": "m", "allOf": [{"items": {"$ref": "#m"}}, {"items": N}]},
        {"$id": "urn:x:y", "allOf": [{"items": {"$ref": "urn:x:y"}}, {"items": {"$ref": "#"}}]},
        {"$ref": "#/$defs/n"},
        {"allOf": [{"not": N}]},
    ],
    ids=lambda definition: json.dumps(definition)[:60],
)
def test_a_recursive_schema_that_meets_itself_twice_is_not_used(definition: dict[str, Any]) -> None:
    schema = rooted(definition)
    assert why(schema) == "gate.schema_recursive"
    value: dict[str, Any] = {}
    for _ in range(DEPTH_LIMIT - 2):
        value = {"c": value}
    tool = Tool("tree", parameters=schema, effect="read")
    verdict = decide(proposal(tool, value), facts(granted=frozenset({"tree"})))
    assert isinstance(verdict, Deny)
    assert verdict.text["id"] == "gate.schema_unusable"
    for language in LANGUAGES:
        reason = say("gate.schema_recursive", language)
        assert reason != "gate.schema_recursive"
        assert reason in say(verdict.details[0], language)


@pytest.mark.rule("BI-1")
@pytest.mark.parametrize(
    "definition",
    [
        {"type": "object", "properties": {"c": N, "d": N}, "additionalProperties": N},
        {"type": "object", "properties": {"c": {"anyOf": [N, {"type": "null"}]}}},
        {"type": "object", "properties": {"name": TEXT, "children": {"type": "array", "items": N}}},
        {"properties": {"c": {"$ref": "#/$defs/o"}}},
    ],
    ids=lambda definition: json.dumps(definition)[:60],
)
def test_a_recursive_schema_with_one_way_for_each_value_is_used(definition: dict[str, Any]) -> None:
    schema = rooted(definition, o={"properties": {"c": N}})
    assert why(schema) is None
    value: dict[str, Any] = {}
    for _ in range(DEPTH_LIMIT - 2):
        value = {"c": value}
    tool = Tool("tree", parameters=schema, effect="read")
    assert isinstance(decide(proposal(tool, value), facts(granted=frozenset({"tree"}))), Allow)


@pytest.mark.rule("BI-2")
def test_recursions_that_begin_one_another_multiply() -> None:
    def chain(length: int) -> dict[str, Any]:
        more = {
            f"r{at}": {
                "properties": {"c": {"$ref": f"#/$defs/r{at}"}},
                "allOf": [{"$ref": f"#/$defs/r{at + 1}"}],
            }
            for at in range(length)
        }
        return rooted({"$ref": "#/$defs/r0"}, **more, **{f"r{length}": TEXT})

    assert why(chain(1)) is None
    assert why(chain(6)) == "gate.schema_heavy"


@pytest.mark.rule("BI-1")
def test_a_reference_must_name_one_part() -> None:
    assert why(rooted({"$ref": "#/$defs/none"})) == "gate.schema_reference"
    assert why(rooted({"$ref": "https://elsewhere.example/schema"})) == "gate.schema_reference"
    assert why(rooted({"$anchor": "a"}, o={"$anchor": "a"})) == "gate.schema_reference"
    assert why(rooted({"$ref": 5})) == "gate.schema_reference"
    assert why(rooted({"$ref": "#/$defs/a~1b%25"}, **{"a/b%": TEXT})) is None
    assert why({"$id": "https://x.example/t", **rooted({"$ref": "t#/$defs/o"}, o=TEXT)}) is None
