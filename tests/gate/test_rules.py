"""The rules of the Gate, one by one, and their order."""

from dataclasses import replace

import pytest

from interlock.catalogue import LANGUAGES, Text, say
from interlock.gate import rule
from interlock.gate.budget import Budget, Usage
from interlock.gate.gate import decide, rules_digest
from interlock.gate.policy import Policy
from interlock.gate.proposal import ActionFacts, Contract, Proposal
from interlock.gate.verdict import Allow, Ask, Deny
from interlock.scope.scope import Scope
from tests.gate.cases import (
    CRM,
    DELETE,
    FINISH,
    LOOKUP,
    NOTE,
    PUSH,
    RAW,
    READ_ARTIFACT,
    REFUND,
    SEARCH,
    TAINTED,
    facts,
    proposal,
    refund,
)

READ = proposal(SEARCH, {"q": "disk"})


def denied(verdict: object) -> tuple[str, str]:
    assert isinstance(verdict, Deny), verdict
    assert all(verdict.told(language) for language in LANGUAGES)
    return verdict.rule, verdict.text["id"]


@pytest.mark.rule("GT-1")
def test_an_ordinary_read_is_allowed() -> None:
    verdict = decide(READ, facts())
    assert isinstance(verdict, Allow)
    assert verdict.as_dict() == {"verdict": "allow"}


@pytest.mark.rule("GT-1", "BI-3")
def test_an_unknown_tool_is_denied_with_the_nearest_names() -> None:
    verdict = decide(proposal(None, name="serch"), facts())
    assert denied(verdict) == ("grant", "gate.unknown_tool_near")
    assert isinstance(verdict, Deny)
    assert "search" in verdict.told()
    assert "serch" not in str(verdict.as_dict())


@pytest.mark.rule("BI-1")
def test_a_tool_name_of_any_size_or_shape_is_denied_and_not_repeated() -> None:
    verdict = decide(proposal(None, name="\ud83d" + "x" * 5_000_000), facts())
    assert denied(verdict) == ("grant", "gate.unknown_tool")
    assert isinstance(verdict, Deny)
    assert len(verdict.told().encode()) < 1000
    assert "xxx" not in str(verdict.as_dict())


def test_a_tool_is_denied_that_is_granted_and_missing_or_declared_under_another_name() -> None:
    assert denied(decide(proposal(None, name="search"), facts())) == ("grant", "gate.tool_missing")
    assert denied(decide(proposal(NOTE, {"text": "x"}, name="search"), facts()))[0] == "grant"


def test_a_tool_that_is_not_granted_is_denied_and_the_platforms_own_always_are_granted() -> None:
    run = facts(granted=frozenset({"note"}))
    assert denied(decide(READ, run)) == ("grant", "gate.not_granted")
    assert isinstance(decide(proposal(READ_ARTIFACT, {"name": "x"}), run), Allow)


@pytest.mark.rule("GT-3")
def test_a_tool_that_nobody_has_classified_does_not_run() -> None:
    assert denied(decide(proposal(RAW), facts())) == ("grant", "gate.unclassified")
    odd = replace(RAW, effect="harmless")  # type: ignore[arg-type]
    assert denied(decide(proposal(odd), facts())) == ("grant", "gate.unclassified")


@pytest.mark.rule("GT-6")
@pytest.mark.parametrize(
    ("contract", "reason"),
    [
        (Contract(), None),
        (Contract(tools=frozenset({"search"})), None),
        (Contract(tools=frozenset()), "gate.outside_contract_tool"),
        (Contract(tools=frozenset({"note"})), "gate.outside_contract_tool"),
        (Contract(effects=frozenset({"read"})), None),
        (Contract(effects=frozenset({"write"})), "gate.outside_contract_effect"),
        (Contract(frozenset({"search"}), frozenset({"write"})), "gate.outside_contract_effect"),
    ],
)
def test_a_contract_narrows(contract: Contract, reason: str | None) -> None:
    verdict = decide(READ, facts(contract=contract))
    if reason is None:
        assert isinstance(verdict, Allow)
    else:
        assert denied(verdict) == ("contract", reason)


@pytest.mark.rule("GT-6")
def test_a_contract_grants_nothing_and_leaves_the_run_its_input_and_its_end() -> None:
    run = facts(granted=frozenset(), contract=Contract(tools=frozenset({"search"})))
    assert denied(decide(READ, run)) == ("grant", "gate.not_granted")
    assert isinstance(decide(proposal(FINISH), run), Allow)


@pytest.mark.rule("SC-6", "SC-7")
def test_the_barrier_stands_before_a_destination() -> None:
    run = facts(labels=frozenset({"area:acme/platform"}))
    verdict = decide(proposal(PUSH, {"text": "x"}), run)
    assert denied(verdict) == ("data_barrier", "barrier.area")
    assert isinstance(verdict, Deny)
    assert {"area:acme/platform", "acme/platform", "acme/finance"} <= set(verdict.text["with"].values())


@pytest.mark.rule("SC-6")
def test_an_argument_that_names_an_artifact_carries_its_labels() -> None:
    named = {"text": frozenset({"area:acme/platform"})}
    assert isinstance(decide(proposal(PUSH, {"text": "a"}), facts()), Allow)
    assert denied(decide(proposal(PUSH, {"text": "a"}, artifacts=named), facts()))[0] == "data_barrier"
    assert isinstance(decide(proposal(NOTE, {"text": "a"}, artifacts={"text": TAINTED}), facts()), Ask)


@pytest.mark.rule("SC-5", "SC-6")
def test_reading_an_artifact_moves_it_into_the_runs_scope() -> None:
    for label, allowed in (("area:acme/platform", True), ("area:acme", False), ("area:globex", False)):
        call = proposal(READ_ARTIFACT, {"name": "x"}, artifacts={"name": frozenset({label})})
        assert isinstance(decide(call, facts()), Allow) is allowed
    call = proposal(READ_ARTIFACT, {"name": "x"}, artifacts={"name": frozenset({"pii"})})
    assert denied(decide(call, facts())) == ("data_barrier", "barrier.receiver")
    assert isinstance(decide(call, facts(scope=Scope("acme/hr"))), Allow)


@pytest.mark.rule("SC-8")
def test_a_declared_label_goes_to_its_receivers_and_to_those_a_person_released() -> None:
    run = facts(labels=frozenset({"pii"}))
    assert isinstance(decide(proposal(CRM, {"text": "x"}), run), Allow)
    assert isinstance(decide(READ, run), Allow)
    for outward in (proposal(NOTE, {"text": "x"}), proposal(LOOKUP, {"text": "x"})):
        assert denied(decide(outward, run)) == ("data_barrier", "barrier.receiver")
        released = replace(run, released=frozenset({("pii", f"tool:{outward.name}")}))
        assert isinstance(decide(outward, released), Allow)
        other = replace(run, released=frozenset({("pii", "tool:other"), ("other", f"tool:{outward.name}")}))
        assert denied(decide(outward, other))[0] == "data_barrier"


@pytest.mark.rule("SC-3")
@pytest.mark.parametrize("label", ["secret", "area:", "area:Acme", "", "pii "])
def test_an_undeclared_or_malformed_label_flows_nowhere(label: str) -> None:
    for call in (READ, proposal(NOTE, {"text": "x"}), proposal(READ_ARTIFACT, {"name": "x"})):
        assert denied(decide(call, facts(labels=frozenset({label})))) == (
            "data_barrier",
            "barrier.undeclared",
        )
    brought = proposal(SEARCH, {"q": "x"}, artifacts={"q": frozenset({label})})
    assert denied(decide(brought, facts())) == ("data_barrier", "barrier.undeclared")


@pytest.mark.rule("GT-2")
def test_policies_ask_or_deny_where_they_reach() -> None:
    def under(*policies: Policy) -> object:
        return decide(READ, facts(policies=policies))

    verdict = under(Policy("p1", "ask"), Policy("p2", "ask", tool="search"))
    assert isinstance(verdict, Ask)
    assert [item.text["with"]["policy"] for item in verdict.objections] == ["p1", "p2"]
    assert denied(under(Policy("p1", "ask"), Policy("p2", "deny", scope="acme"))) == (
        "policy",
        "gate.policy_denies",
    )
    for elsewhere in ({"scope": "acme/finance"}, {"tool": "note"}, {"effect": "write"}):
        assert isinstance(under(Policy("p", "deny", **elsewhere)), Allow)
    assert denied(under(Policy("p", "deny", scope="ACME"))) == ("policy", "gate.rule_failed")
    assert denied(under(Policy("p", "allow")))[0] == "policy"  # type: ignore[arg-type]


def test_a_policy_reaches_the_platforms_tools_only_by_name() -> None:
    assert isinstance(decide(proposal(FINISH), facts(policies=(Policy("p", "deny", effect="write"),))), Allow)
    assert (
        denied(decide(proposal(FINISH), facts(policies=(Policy("p", "deny", tool="finish"),))))[0] == "policy"
    )


@pytest.mark.rule("GT-5")
@pytest.mark.parametrize("amount", ["tool_calls", "tokens", "money", "wall_ms"])
def test_the_budget_is_not_passed_by_any_amount(amount: str) -> None:
    run = facts(budget=Budget(**{amount: 10}), used=Usage(**{amount: 8}))
    assert isinstance(decide(replace(READ, estimate=Usage(**{amount: 2})), run), Allow)
    verdict = decide(replace(READ, estimate=Usage(**{amount: 3})), run)
    assert denied(verdict) == ("budget", f"gate.over_{amount}")
    assert isinstance(verdict, Deny)
    assert verdict.text["with"] == {"wanted": 3, "left": 2}


@pytest.mark.rule("GT-1")
def test_of_many_faults_the_first_in_the_fixed_order_is_named() -> None:
    names = [name for name, _ in rule.RULES] + [rule.APPROVAL]
    order = [
        "grant",
        "contract",
        "arguments",
        "barrier",
        "taint",
        "policy",
        "budget",
        "duplicate",
        "approval",
    ]
    assert names == order
    call = proposal(DELETE, {"id": 7}, estimate=Usage(tool_calls=99))
    run = facts(
        granted=frozenset(),
        contract=Contract(tools=frozenset()),
        labels=TAINTED | {"pii"},
        policies=(Policy("p", "deny"),),
        action=ActionFacts("done", False, "run_2"),
    )
    seen = []
    for mended in (
        {},
        {"granted": frozenset({"delete_file"})},
        {"contract": Contract()},
        {"arguments": {"id": "f-1"}},
        {"labels": TAINTED},
        {"labels": frozenset()},
        {"policies": ()},
        {"estimate": Usage()},
    ):
        if {"arguments", "estimate"} & set(mended):
            call = replace(call, **mended)
        else:
            run = replace(run, **mended)
        seen.append(denied(decide(call, run))[0])
    assert seen == [
        *("grant", "contract", "arguments", "data_barrier", "taint", "policy", "budget", "duplicate"),
    ]
    assert isinstance(decide(call, replace(run, action=None)), Allow)


@pytest.mark.rule("AC-1", "GT-1")
def test_the_action_ledger_is_looked_into_before_a_person_is_asked() -> None:
    run = facts(policies=(Policy("p", "ask"),))
    call = proposal(REFUND, {"order": "a", "amount": 5})
    asking = decide(call, run)
    assert isinstance(asking, Ask)
    for state in ("done", "claimed"):
        verdict = decide(call, replace(run, action=ActionFacts(state, True, "run_2")))
        assert isinstance(verdict, Allow), "nothing will be done, so nobody is asked"
        assert verdict.repeats
        assert (verdict.as_dict()["rule"], verdict.as_dict()["reason"]["with"]) == (
            "duplicate",
            {"run": "run_2"},
        )
    for state in ("done", "claimed", "in_doubt"):
        verdict = decide(call, replace(run, action=ActionFacts(state, False, "run_2")))
        assert denied(verdict) == ("duplicate", "action.conflict")
    assert denied(decide(call, replace(run, action=ActionFacts("in_doubt", True, "run_2")))) == (
        "duplicate",
        "action.in_doubt",
    )
    again = replace(call, tool=replace(REFUND, takes_key=True))
    for proposed, action in (
        (again, ActionFacts("in_doubt", True, "run_2")),
        (call, ActionFacts("failed", True, "run_2")),
        (call, ActionFacts("failed", False, "run_2")),
        (call, ActionFacts("claimed", True, "run_1", mine=True)),
    ):
        assert isinstance(decide(proposed, replace(run, action=action)), Ask), "judged like any call"


@pytest.mark.rule("AC-1", "GT-2")
def test_what_is_denied_is_denied_though_it_was_done_before() -> None:
    done = ActionFacts("done", True, "run_2")
    call = proposal(REFUND, {"order": "a", "amount": 5})
    assert denied(decide(call, facts(granted=frozenset(), action=done)))[0] == "grant"
    assert denied(decide(call, facts(policies=(Policy("p", "deny"),), action=done)))[0] == "policy"


@pytest.mark.rule("GT-1")
@pytest.mark.parametrize("place", range(len(rule.RULES)))
@pytest.mark.parametrize("fault", [ZeroDivisionError, MemoryError, BaseException])
def test_a_rule_that_fails_denies_and_is_named(
    monkeypatch: pytest.MonkeyPatch, place: int, fault: type[BaseException]
) -> None:
    def fail(*_: object) -> object:
        raise fault("the content of an argument")

    rules = list(rule.RULES)
    rules[place] = (rules[place][0], fail)  # type: ignore[assignment]
    monkeypatch.setattr(rule, "RULES", tuple(rules))
    verdict = decide(READ, facts())
    assert isinstance(verdict, Deny)
    assert verdict.as_dict() == {
        "verdict": "deny",
        "rule": rules[place][0],
        "reason": Text("gate.rule_failed", rule=rules[place][0], error=fault.__name__),
    }


def test_an_interrupt_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(rule, "RULES", (("grant", interrupt),))
    with pytest.raises(KeyboardInterrupt):
        decide(READ, facts())


def test_every_reason_has_its_words_in_both_languages() -> None:
    verdicts = [
        decide(READ, facts(run="run_2")),
        decide(refund(), facts(labels=TAINTED)),
        decide(READ, facts(policies=(Policy("p", "ask"),))),
        decide(Proposal.of_text("run_1", "c", "search", "{", tool=SEARCH), facts()),
    ]
    for verdict in verdicts:
        reason = verdict.as_dict()["reason"]
        for language in LANGUAGES:
            assert reason["id"] not in say(reason, language)
            assert "{" not in say(reason, language)
        assert say(reason, "en") != say(reason, "pt-BR")


def test_the_rule_set_has_a_digest_that_moves_with_the_policies() -> None:
    policies = [Policy("p", "ask"), Policy("q", "deny", tool="search")]
    digests = {rules_digest(policies[:count]) for count in range(3)}
    assert len(digests) == 3
    assert rules_digest(policies) == rules_digest(tuple(policies))
