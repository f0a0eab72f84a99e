"""The Gate as a function: total, the same for the same, and never opened by more labels or narrower terms."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock import canonical
from interlock.gate.budget import Budget, Usage
from interlock.gate.gate import decide
from interlock.gate.origin import Origins
from interlock.gate.policy import Policy
from interlock.gate.proposal import ActionFacts, Contract, Proposal, Response, RunFacts
from interlock.gate.tool import Tool
from interlock.gate.verdict import Allow, Ask, Deny, Verdict
from interlock.scope.label import UNTRUSTED
from interlock.scope.scope import Scope
from tests.gate.cases import FINISH, READ_ARTIFACT, TOOLS, facts

TEXTS = st.sampled_from(["", "o-17", "f-1", "x", "\x00", "\ud83d", "٣", "text", "id"]) | st.text(
    st.characters(), max_size=6
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(50),
    st.floats(),
    TEXTS,
    st.binary(max_size=2),
    st.just(object()),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.integers(), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["order", "amount", "text", "id", "q", "name", "summary"])
ARGUMENTS = st.dictionaries(NAMES, TEXTS | st.just(50) | VALUES, max_size=3) | VALUES
LABELS = st.sets(
    st.sampled_from([UNTRUSTED, "pii", "area:acme", "area:acme/platform", "area:", "odd", 7])
).map(frozenset)
SCHEMAS = st.sampled_from(
    [{}, {"type": "object"}, {"properties": 3}, {"$ref": "#"}, {"enum": []}, {"type": 7}]
)
ODD = st.builds(
    Tool,
    name=st.sampled_from(["search", "odd"]),
    parameters=SCHEMAS,
    effect=st.sampled_from(["read", "write", "destructive", None, "odd"]),
    steers=st.lists(NAMES, max_size=2).map(tuple),
    leaves=st.booleans(),
    destination=st.sampled_from([None, Scope("*"), Scope("acme/finance")]),
    platform=st.booleans(),
)
SOUND = st.sampled_from([*TOOLS, READ_ARTIFACT, FINISH])
ANY_TOOL = SOUND | ODD | st.none()
POLICIES = st.lists(
    st.builds(
        Policy,
        name=st.just("p"),
        verdict=st.sampled_from(["ask", "deny"]),
        scope=st.sampled_from(["*", "acme", "acme/platform", "globex", "??"]),
        effect=st.sampled_from([None, "read", "write"]),
    ),
    max_size=2,
).map(tuple)
CONTRACTS = st.builds(
    Contract,
    tools=st.none() | st.frozensets(st.sampled_from([tool.name for tool in TOOLS])),
    effects=st.none() | st.frozensets(st.sampled_from(["read", "write", "destructive"])),
)
ORIGINS = VALUES.map(Origins.of_brief) | st.sampled_from([lambda: Origins.of_brief(50), lambda: 1 / 0])

ACTIONS = st.builds(
    ActionFacts,
    state=st.sampled_from(["claimed", "done", "failed", "in_doubt"]),
    same=st.booleans(),
    by_run=st.sampled_from(["run_1", "run_2"]),
    mine=st.booleans(),
)


@st.composite
def proposals(draw: st.DrawFn, tools: st.SearchStrategy[Any] = ANY_TOOL) -> Proposal:
    tool = draw(tools)
    return Proposal(
        "run_1",
        draw(TEXTS),
        tool.name if tool else draw(TEXTS),
        draw(ARGUMENTS),
        tool,
        draw(st.dictionaries(NAMES, LABELS, max_size=1)),
        draw(st.builds(Usage, st.integers(0, 20), st.integers(0, 2000))),
    )


@st.composite
def runs(draw: st.DrawFn) -> RunFacts:
    return facts(
        labels=draw(LABELS),
        contract=draw(CONTRACTS),
        policies=draw(POLICIES),
        budget=draw(st.sampled_from([Budget(), Budget(tool_calls=10, tokens=1000)])),
        origins=draw(ORIGINS),
        action=draw(st.none() | ACTIONS),
    )


def rank(verdict: Verdict) -> int:
    return (Allow, Ask, Deny).index(type(verdict))


@pytest.mark.rule("GT-1", "GT-2")
@settings(max_examples=400, deadline=None)
@given(proposals(), runs(), st.lists(TEXTS, max_size=2))
def test_the_gate_never_raises_and_what_it_says_fits_a_step(
    call: Proposal, run: RunFacts, digests: list[str]
) -> None:
    answers = [Response("a", digest, "approve") for digest in [*digests, call.digest]]
    verdict = decide(call, run, answers)
    canonical.encode(verdict.as_dict())
    if isinstance(verdict, Deny):
        assert verdict.told().encode()
    if isinstance(verdict, Allow):
        canonical.encode(call.arguments)


@pytest.mark.fault("F13")
@settings(max_examples=150, deadline=None)
@given(proposals(), runs())
def test_the_verdict_depends_on_the_arguments_alone(call: Proposal, run: RunFacts) -> None:
    assert decide(call, run).as_dict() == decide(call, run).as_dict()


@pytest.mark.rule("SC-4", "GT-3")
@settings(max_examples=300, deadline=None)
@given(proposals(SOUND), runs(), LABELS, NAMES)
def test_more_labels_never_open_the_gate(
    call: Proposal, run: RunFacts, more: frozenset[str], name: str
) -> None:
    before = rank(decide(call, run))
    assert rank(decide(call, replace(run, labels=run.labels | more))) >= before
    brought = {**call.artifacts, name: call.artifacts.get(name, frozenset()) | more}
    assert rank(decide(replace(call, artifacts=brought), run)) >= before


@pytest.mark.rule("GT-6", "GT-5")
@settings(max_examples=300, deadline=None)
@given(proposals(SOUND), runs(), CONTRACTS, POLICIES, st.integers(0, 20))
def test_contracts_policies_and_spent_budget_only_narrow(
    call: Proposal, run: RunFacts, contract: Contract, policies: tuple[Policy, ...], spent: int
) -> None:
    before = rank(decide(call, run))
    assert rank(decide(call, replace(run, policies=run.policies + policies))) >= before
    assert rank(decide(call, replace(run, used=Usage(tool_calls=spent)))) >= before
    if run.contract == Contract():
        assert rank(decide(call, replace(run, contract=contract))) >= before


@pytest.mark.rule("GT-2", "SC-7")
@settings(max_examples=300, deadline=None)
@given(proposals(SOUND), runs())
def test_an_approval_of_everything_releases_an_ask_and_never_a_denial(call: Proposal, run: RunFacts) -> None:
    before = decide(call, run)
    shown = before.objections if isinstance(before, Ask) else ()
    labels = run.labels | call.labels
    after = decide(call, run, [Response("a", call.digest, "approve", shown, labels)])
    assert isinstance(after, Deny if isinstance(before, Deny) else Allow)


@pytest.mark.rule("AC-1", "GT-1", "GT-2")
@settings(max_examples=400, deadline=None)
@given(proposals(SOUND), runs(), ACTIONS, st.booleans())
def test_the_action_ledger_can_only_narrow_or_leave_nothing_to_do(
    call: Proposal, run: RunFacts, action: ActionFacts, takes_key: bool
) -> None:
    call = replace(call, tool=replace(call.tool, takes_key=takes_key))  # type: ignore[type-var]
    before = decide(call, replace(run, action=None))
    after = decide(call, replace(run, action=action))
    if isinstance(before, Deny) or action.state == "failed" or (action.mine and action.same):
        assert after.as_dict() == before.as_dict()
    elif action.same and action.state in {"done", "claimed"}:
        assert isinstance(after, Allow), "nobody is asked about what will not be done"
        assert after.repeats
        assert after.as_dict()["rule"] == "duplicate"
    elif action.same and takes_key:
        assert after.as_dict() == before.as_dict()
    else:
        assert isinstance(after, Deny)
        assert after.rule == "duplicate"
