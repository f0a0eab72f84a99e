"""Verdicts: an Allow that only the Gate makes, once, for one call; and the answers of persons."""

import copy
import pickle
import threading
from dataclasses import replace

import pytest

from interlock.errors import InterlockError
from interlock.gate.budget import Usage
from interlock.gate.gate import decide
from interlock.gate.policy import Policy
from interlock.gate.proposal import Contract, Proposal, Response, RunFacts
from interlock.gate.verdict import Allow, Ask, Deny
from tests.gate.cases import DELETE, RAW, SEARCH, TAINTED, approval, brief, facts, proposal, refund

READ = proposal(SEARCH, {"q": "disk"})


def allowed(call: Proposal, run: RunFacts, *answers: Response) -> Allow:
    verdict = decide(call, run, answers)
    assert isinstance(verdict, Allow), verdict
    return verdict


def asked(call: Proposal, run: RunFacts, *answers: Response) -> Ask:
    verdict = decide(call, run, answers)
    assert isinstance(verdict, Ask), verdict
    return verdict


@pytest.mark.rule("GT-1")
def test_an_allow_cannot_be_made_changed_copied_or_extended_elsewhere() -> None:
    allow = allowed(READ, facts())
    forgeries = [
        lambda: Allow(object(), READ.digest),
        lambda: Allow(None, READ.digest),
        lambda: setattr(allow, "_digest", "another"),
        lambda: copy.copy(allow),
        lambda: copy.deepcopy(allow),
        lambda: pickle.dumps(allow),
        lambda: type("Wider", (Allow,), {}),
        lambda: object.__new__(Allow).consume(READ.digest),
    ]
    for forge in forgeries:
        with pytest.raises(InterlockError):
            forge()
    allow.consume(READ.digest)


@pytest.mark.rule("GT-1")
def test_an_allow_is_used_once_also_by_many_threads() -> None:
    allow = allowed(READ, facts())
    outcomes: list[str] = []
    start = threading.Barrier(8)

    def use() -> None:
        start.wait()
        try:
            allow.consume(READ.digest)
            outcomes.append("used")
        except InterlockError as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["gate.allow_spent"] * 7 + ["used"]


@pytest.mark.rule("GT-1", "GT-4")
@pytest.mark.fault("F13")
def test_an_allow_fits_one_run_one_call_one_tool_and_its_arguments() -> None:
    allow = allowed(READ, facts())
    others = [
        replace(READ, run="run_2"),
        replace(READ, call_id="call_2"),
        replace(READ, name="note"),
        replace(READ, arguments={"q": "disk "}),
        replace(READ, arguments={"q": "disk", "n": 1}),
    ]
    assert len({READ.digest, *(other.digest for other in others)}) == 6
    for other in others:
        with pytest.raises(InterlockError, match=r"gate\.allow_of_another_call"):
            allow.consume(other.digest)
    allow.consume(READ.digest)


@pytest.mark.rule("GT-4")
def test_arguments_changed_after_the_allow_do_not_fit_it() -> None:
    arguments = {"q": "disk"}
    call = proposal(SEARCH, arguments)
    allow = allowed(call, facts())
    arguments["q"] = "everything"
    with pytest.raises(InterlockError, match=r"gate\.allow_of_another_call"):
        allow.consume(call.digest)


@pytest.mark.fault("F13")
def test_two_runs_of_one_version_share_neither_labels_nor_approvals_nor_allows() -> None:
    tainted, clean = facts(labels=TAINTED), facts(run="run_2")
    first, second = refund(), refund(run="run_2")
    question = asked(first, tainted)
    yes = approval(question, first, tainted)
    allow = allowed(first, tainted, yes)
    allowed(second, clean)
    asked(second, replace(clean, labels=TAINTED), yes)
    with pytest.raises(InterlockError):
        allow.consume(second.digest)
    verdict = decide(first, clean)
    assert isinstance(verdict, Deny)
    assert verdict.text["id"] == "gate.other_run"


@pytest.mark.rule("GT-2", "GT-4")
def test_an_approval_releases_every_objection_at_once_and_is_named() -> None:
    run = facts(labels=TAINTED, policies=(Policy("p", "ask"),))
    question = asked(refund(), run)
    assert [item.rule for item in question.objections] == ["taint", "taint", "policy"]
    allow = allowed(refund(), run, approval(question, refund(), run))
    assert allow.as_dict()["reason"] == {"id": "gate.answer_approve", "with": {"answer": "answer_1"}}


@pytest.mark.rule("GT-4")
def test_an_approval_does_not_carry_over_to_other_arguments_objections_or_labels() -> None:
    run = facts(labels=TAINTED)
    yes = approval(asked(refund(), run), refund(), run)
    asked(refund(amount=51), run, yes)
    asked(refund(amount=50.5), run, yes)
    asked(refund(), replace(run, policies=(Policy("p", "ask"),)), yes)
    asked(refund(), replace(run, labels=TAINTED | {"area:acme/platform"}), yes)
    assert asked(refund(), replace(run, policies=(Policy("p", "ask"),)), yes).objections[-1].rule == "policy"


@pytest.mark.rule("GT-4")
@pytest.mark.fault("F31")
def test_a_refusal_and_an_expiry_deny_each_by_its_name() -> None:
    run = facts(labels=TAINTED)
    question = asked(refund(), run)
    yes, no, late = (
        approval(question, refund(), run, outcome) for outcome in ("approve", "refuse", "expire")
    )
    for answers, reason in (
        ((no,), "refuse"),
        ((late,), "expire"),
        ((yes, no), "refuse"),
        ((yes, late), "expire"),
    ):
        verdict = decide(refund(), run, answers)
        assert isinstance(verdict, Deny)
        assert (verdict.rule, verdict.text["id"]) == ("approval", f"gate.answer_{reason}")
    asked(refund(call_id="call_2"), run, no)


DENIALS = {
    "grant": (proposal(SEARCH, {"q": "x"}), facts(granted=frozenset())),
    "unclassified": (proposal(RAW), facts()),
    "contract": (READ, facts(contract=Contract(tools=frozenset()))),
    "arguments": (proposal(SEARCH, {"q": 7}), facts()),
    "barrier": (refund(), facts(labels=frozenset({"pii"}))),
    "taint": (proposal(DELETE, {"id": "f-1"}), facts(labels=TAINTED)),
    "policy": (READ, facts(policies=(Policy("p", "deny"),))),
    "budget": (replace(READ, estimate=Usage(tool_calls=99)), facts()),
    "rule_failed": (READ, facts(policies=(Policy("p", "deny", scope="??"),))),
}


@pytest.mark.rule("GT-2", "SC-7")
@pytest.mark.parametrize("kind", DENIALS)
def test_an_approval_never_releases_a_denial(kind: str) -> None:
    call, run = DENIALS[kind]
    before = decide(call, run)
    assert isinstance(before, Deny)
    everything = frozenset({"untrusted", "pii", "area:acme"}) | run.labels | call.labels
    objections = tuple(item for verdict in (decide(refund(), brief(0)),) for item in verdict.objections)  # type: ignore[union-attr]
    assert decide(call, run, [Response("a", call.digest, "approve", objections, everything)]) == before
