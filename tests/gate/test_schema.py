"""Arguments: bounded JSON that the tool's schema accepts, and refusals that a model can act on."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from interlock.gate.gate import decide
from interlock.gate.proposal import Proposal
from interlock.gate.schema import DEPTH_LIMIT, validator_of
from interlock.gate.tool import Tool
from interlock.gate.verdict import Allow, Deny
from tests.gate.cases import REFUND, SEARCH, facts, proposal

CANARY = "canary-7f3a"
REMOTE = "localhost:1234"
CUSTOM_DIALECT = "schema that uses custom metaschema with with no validation vocabulary"


def refused(arguments: Any, tool: Tool = SEARCH, **changes: Any) -> Deny:
    verdict = decide(proposal(tool, arguments), facts(granted=frozenset({tool.name}), **changes))
    assert isinstance(verdict, Deny), verdict
    assert verdict.rule == "arguments"
    return verdict


def _suite() -> list[dict[str, Any]]:
    folder = os.environ.get("INTERLOCK_CASES")
    if not folder:
        pytest.skip("INTERLOCK_CASES does not name the folder of cases")
    with gzip.open(Path(folder) / "bad_input" / "json_schema_2020-12.json.gz") as packed:
        files: list[dict[str, Any]] = json.load(packed)
    return [group for entry in files if "/optional/" not in entry["file"] for group in entry["groups"]]


@pytest.mark.rule("BI-1")
def test_the_validator_agrees_with_the_published_suite() -> None:
    agreed, remote, differing = 0, 0, []
    for group in _suite():
        try:
            validator = validator_of(group["schema"])
        except ValueError as error:
            assert REMOTE in str(error), group["description"]
            remote += len(group["tests"])
            continue
        for test in group["tests"]:
            if validator.is_valid(test["data"]) is test["valid"]:
                agreed += 1
            else:
                differing.append(group["description"])
    # Only a dialect that is itself a remote document differs: it would turn the validation keywords off.
    assert differing == [CUSTOM_DIALECT]
    assert (agreed, remote) == (1254, 44)


@pytest.mark.rule("BI-1", "BI-3")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "gate.arguments_unreadable"),
        ("{", "gate.arguments_unreadable"),
        ('{"q": NaN}', "gate.arguments_unreadable"),
        ('{"q": "a", "q": "b"}', "gate.arguments_unreadable"),
        ('{"q": 1e999}', "gate.arguments_unreadable"),
        ("[" * 100_000, "gate.arguments_unreadable"),
        ("9" * 5000, "gate.arguments_unreadable"),
        ('"text"', "gate.arguments_not_object"),
        ("[1]", "gate.arguments_not_object"),
        ("null", "gate.arguments_not_object"),
        ('{"q": "' + "x" * 2000 + '"}', "gate.arguments_too_large"),
        ('{"q": "\\ud83d"}', "gate.arguments_not_text"),
        ('{"q": "x", "\\ud83d": 1}', "gate.arguments_not_text"),
        ('{"q": "x", "n": ' + "9" * 1400 + "}", "gate.arguments_unreadable"),
    ],
)
def test_what_is_no_bounded_json_object_is_denied_by_its_reason(text: str, reason: str) -> None:
    call = Proposal.of_text("run_1", "call_1", "search", text, limit=200_000, tool=SEARCH)
    verdict = decide(call, facts(arguments_limit=1900))
    assert isinstance(verdict, Deny)
    assert (verdict.rule, verdict.text["id"]) == ("arguments", reason)
    assert len(verdict.told()) < 1000


@pytest.mark.rule("BI-2")
def test_the_limit_is_stated_whether_the_text_or_the_value_passes_it() -> None:
    text = json.dumps({"q": "x" * 1000})
    call = Proposal.of_text("run_1", "call_1", "search", text, limit=1000, tool=SEARCH)
    verdict = decide(call, facts())
    assert isinstance(verdict, Deny)
    assert verdict.text == {"id": "gate.arguments_too_large", "with": {"tool": "search", "limit": 1000}}
    assert refused({"q": "é" * 600}, arguments_limit=1000).text["id"] == "gate.arguments_too_large"
    assert refused({"q": [0] * 10**6}, arguments_limit=1000).text["id"] == "gate.arguments_too_large"
    assert isinstance(decide(proposal(SEARCH, {"q": "x" * 990}), facts(arguments_limit=1000)), Allow)


@pytest.mark.rule("BI-1")
def test_depth_is_bounded_before_anything_recurses() -> None:
    tree = {"$defs": {"t": {"additionalProperties": {"$ref": "#/$defs/t"}}}, "$ref": "#/$defs/t"}
    tool = Tool("tree", parameters=tree, effect="read")

    def nested(levels: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for _ in range(levels - 1):
            value = {"x": value}
        return value

    run = facts(granted=frozenset({"tree"}), arguments_limit=10**9)
    assert isinstance(decide(proposal(tool, nested(DEPTH_LIMIT)), run), Allow)
    for levels in (DEPTH_LIMIT + 1, 2000, 200_000):
        deep = nested(levels)
        verdict = decide(proposal(tool, deep), run)
        assert isinstance(verdict, Deny)
        assert verdict.text["id"] == "gate.arguments_too_deep"
        while deep:
            deep = deep.pop("x", {})


@pytest.mark.rule("BI-1")
@pytest.mark.parametrize(
    "value", [object(), {1}, b"x", float("nan"), float("-inf"), 1 << 5000, {1: 2}, [{None: 1}]]
)
def test_what_json_cannot_express_is_denied(value: Any) -> None:
    open_tool = Tool("open", parameters={"type": "object"}, effect="read")
    assert refused({"value": value}, open_tool).text["id"] in {
        "gate.arguments_not_json",
        "gate.arguments_number",
    }
    assert refused(value, open_tool).text["id"] == "gate.arguments_not_object"


@pytest.mark.rule("BI-1", "BI-3")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, ["q", "required"]),
        ({"q": 7}, ["q", "7", '"string"']),
        ({"q": "x", "n": "many"}, ["n", '"many"', '"integer"']),
        ({"q": "x", "limit": 5}, ["limit", "q", "n"]),
        ({"q": 7, "n": "many"}, ["q", "n"]),
    ],
)
def test_a_refusal_tells_field_reason_and_what_is_accepted(arguments: Any, told: list[str]) -> None:
    text = refused(arguments).told()
    assert all(word in text for word in told), text


@pytest.mark.rule("RN-3")
@pytest.mark.parametrize(
    "arguments",
    [
        {"q": {CANARY: CANARY}},
        {"q": [CANARY]},
        {"q": "x", CANARY: 1},
        {"q": "x", "n": CANARY},
        {"q": "x", CANARY: object()},
        {CANARY: CANARY},
    ],
)
def test_the_step_repeats_nothing_of_the_arguments(arguments: Any) -> None:
    assert CANARY not in json.dumps(refused(arguments).as_dict())


@pytest.mark.rule("RN-3", "BI-1")
def test_unreadable_text_is_quoted_to_the_agent_alone_and_bounded() -> None:
    text = f'{{"{CANARY}": 1, "{CANARY}": 2}}'
    verdict = decide(Proposal.of_text("run_1", "c", "search", text, tool=SEARCH), facts())
    assert isinstance(verdict, Deny)
    assert CANARY in verdict.told()
    assert CANARY not in json.dumps(verdict.as_dict())
    assert len(refused({"q": ["x" * 10_000] * 20}).told()) < 1000


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"properties": {"q": {"pattern": "("}}},
        {"properties": {"q": {"pattern": "(?=a)(a+)+$"}}},
        {"properties": {"q": {"pattern": r"(a)\1"}}},
        {"$ref": "http://localhost:1234/x.json"},
        {"$ref": "file:///etc/hostname"},
    ],
)
def test_a_schema_that_is_unusable_or_leads_elsewhere_denies(schema: dict[str, Any]) -> None:
    assert (
        refused({"q": "x"}, Tool("odd", parameters=schema, effect="read")).text["id"]
        == "gate.schema_unusable"
    )


def test_a_pattern_takes_linear_time() -> None:
    tool = Tool("odd", parameters={"properties": {"q": {"pattern": r"^(\w+\s?)*$"}}}, effect="read")
    assert refused({"q": "a" * 250_000 + "!"}, tool).text["id"] == "gate.argument_invalid"


def test_numbers_are_compared_exactly() -> None:
    tool = Tool("odd", parameters={"properties": {"n": {"maximum": 2**64}}}, effect="read")
    assert isinstance(decide(proposal(tool, {"n": 2**64}), facts(granted=frozenset({"odd"}))), Allow)
    refused({"n": 2**64 + 1}, tool)
    refused({"n": 10**1000}, tool)


def test_a_schema_is_compiled_once() -> None:
    assert validator_of(REFUND.parameters) is validator_of(REFUND.parameters)
