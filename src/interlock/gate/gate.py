"""The Gate: one total, pure decision over a proposal, closed when unsure (GT-1, GT-2).

The shape follows Cedar's authorizer: the first denial wins and is named, a fault inside a rule denies, and
there is no way around.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from interlock import canonical
from interlock.catalogue import Text
from interlock.gate import rule
from interlock.gate.policy import Policy
from interlock.gate.proposal import Proposal, Response, RunFacts
from interlock.gate.verdict import _SEAL, Allow, Ask, Deny, Objection, Verdict

__all__ = ["decide", "rules_digest"]

FORMAT = 2
"""Raised whenever a rule comes to judge otherwise, so that the digest of the rule set changes with it."""


def decide(proposal: Proposal, run: RunFacts, answers: Sequence[Response] = ()) -> Verdict:
    """Give the verdict on a proposal. Never raises for a fault in what it is given: that denies.

    The verdict depends on the arguments alone. An `Allow` fits just this call, with these arguments, once.
    """
    objections: list[Objection] = []
    for name, judge in rule.RULES:
        try:
            found = judge(proposal, run)
        except BaseException as error:  # noqa: BLE001  closed when a rule fails, also by a panic of native code
            return _failed(name, error)
        if isinstance(found, Deny):
            return found
        objections += found
    try:
        return _answered(proposal, run, objections, answers)
    except BaseException as error:  # noqa: BLE001  as above
        return _failed(rule.APPROVAL, error)


def _answered(
    proposal: Proposal, run: RunFacts, objections: list[Objection], answers: Sequence[Response]
) -> Verdict:
    digest = proposal.digest
    answer = (
        rule.judge_answers(objections, answers, digest, run.labels | proposal.labels) if answers else None
    )
    if isinstance(answer, Deny):
        return answer
    if rule.is_repeat(run) and run.action is not None:
        return Allow(_SEAL, digest, Text("gate.repeats", run=run.action.by_run), rule.DUPLICATE)
    if not objections:
        return Allow(_SEAL, digest)
    if answer is None:
        return Ask(tuple(objections))
    return Allow(_SEAL, digest, Text("gate.answer_approve", answer=answer.answer_id))


def _failed(name: str, error: BaseException) -> Deny:
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        raise error
    return Deny(name, Text("gate.rule_failed", rule=name, error=type(error).__name__))


def rules_digest(policies: Iterable[Policy] = ()) -> str:
    """Give the SHA-256 of the rule set: its format, the rules in order, and the installation's policies."""
    whole: dict[str, Any] = {
        "format": FORMAT,
        "rules": [*(name for name, _ in rule.RULES), rule.APPROVAL],
        "policies": [[item.name, item.verdict, item.scope, item.tool, item.effect] for item in policies],
    }
    return canonical.digest_of(whole)
