"""A rule: one question of the Gate, asked in the fixed order `grant`, `contract`, `arguments`, `barrier`,
`taint`, `policy`, `budget`, `duplicate`; the answers of persons come last, as `approval`.

Each rule is a pure function of the proposal and the facts of its run. It gives a `Deny`, or the objections
that a person would have to decide on, or none.
"""

import difflib
from collections.abc import Callable, Sequence
from typing import Any, get_args

from interlock.catalogue import Text
from interlock.gate.origin import Origins, is_traced
from interlock.gate.proposal import Proposal, Response, RunFacts
from interlock.gate.schema import judge_arguments
from interlock.gate.tool import Effect, Tool
from interlock.gate.verdict import Deny, Objection
from interlock.scope.barrier import Refusal, barrier
from interlock.scope.label import UNTRUSTED, Labels, listed
from interlock.scope.scope import Scope

__all__ = ["APPROVAL", "DUPLICATE", "RULES", "Ruling", "is_repeat", "judge_answers"]

Ruling = Deny | Sequence[Objection]

EFFECTS = frozenset(get_args(Effect))
NAME_QUOTED = 64


def _grant(proposal: Proposal, run: RunFacts) -> Ruling:
    """The tool is declared, classified, and granted to the version; the platform's own always are."""
    tool = proposal.tool
    if proposal.run != run.run:
        return Deny("grant", Text("gate.other_run"))
    if tool is None or tool.name != proposal.name:
        return _unknown(proposal, run)
    if tool.name not in run.granted and not tool.platform:
        return Deny("grant", Text("gate.not_granted", tool=tool.name, granted=_named(run.granted)))
    if tool.effect not in EFFECTS:
        return Deny("grant", Text("gate.unclassified", tool=tool.name))
    if tool.recipients is not None and proposal.unreadable is None:
        return _recipient(tool, proposal.arguments)
    return ()


def _recipient(tool: Tool, arguments: Any) -> Ruling:
    """Only whom the version declares is written to; arguments that name nobody are the next rule's matter."""
    to = arguments.get("to") if isinstance(arguments, dict) else None
    declared = tool.recipients or frozenset()
    if not isinstance(to, str) or to in declared:
        return ()
    text = Text("gate.not_a_recipient", tool=tool.name, declared=_named(declared))
    return Deny(
        "grant", text, (Text("gate.not_a_recipient.told", value=to[:NAME_QUOTED], declared=_named(declared)),)
    )


def _unknown(proposal: Proposal, run: RunFacts) -> Deny:
    if proposal.name in run.granted:
        return Deny("grant", Text("gate.tool_missing", tool=proposal.name))
    name = proposal.name[:NAME_QUOTED].encode(errors="backslashreplace").decode()
    near = difflib.get_close_matches(name, sorted(run.granted), n=3)
    if near:
        text, detail = (
            Text("gate.unknown_tool_near", near=near),
            Text("gate.unknown_tool_near.told", value=name, near=near),
        )
    else:
        granted = _named(run.granted)
        text, detail = (
            Text("gate.unknown_tool", granted=granted),
            Text("gate.unknown_tool.told", value=name, granted=granted),
        )
    return Deny("grant", text, (detail,))


def _named(names: frozenset[str]) -> list[str]:
    return sorted(names) or ["-"]


def _declared(proposal: Proposal) -> Tool:
    if proposal.tool is None:
        raise LookupError(proposal.name)
    return proposal.tool


def _contract(proposal: Proposal, run: RunFacts) -> Ruling:
    """The call is what the run's brief is about (GT-6); how a run reads its input and finishes always is."""
    tool, terms = _declared(proposal), run.contract
    if tool.platform:
        return ()
    if terms.tools is not None and tool.name not in terms.tools:
        return Deny("contract", Text("gate.outside_contract_tool", tool=tool.name, tools=_named(terms.tools)))
    if terms.effects is not None and tool.effect not in terms.effects:
        effects = _named(terms.effects)
        text = Text("gate.outside_contract_effect", tool=tool.name, effect=tool.effect, effects=effects)
        return Deny("contract", text)
    return ()


def _arguments(proposal: Proposal, run: RunFacts) -> Ruling:
    """The arguments are what the tool's schema accepts."""
    tool, error = _declared(proposal), proposal.unreadable
    if error is None:
        return judge_arguments(tool, proposal.arguments, run.arguments_limit) or ()
    if error.code == "json.too_large":
        text = Text("gate.arguments_too_large", tool=tool.name, limit=error.params["limit"])
        return Deny("arguments", text)
    where, why = error.params.get("where", "1:1"), error.params.get("why", error.code)
    text = Text("gate.arguments_unreadable", tool=tool.name, where=where)
    return Deny(
        "arguments", text, (Text("gate.arguments_unreadable.told", tool=tool.name, where=where, why=why),)
    )


def _barrier(proposal: Proposal, run: RunFacts) -> Ruling:
    """The labels of the run and of what the arguments name may go where the call takes them (SC-6, SC-8).

    A read that stays inside moves the artifact it names into the run's scope, and nothing else.
    """
    tool, carried = _declared(proposal), proposal.labels
    receivers = frozenset({f"tool:{tool.name}"})
    outward = not tool.platform and (tool.effect != "read" or tool.leaves)
    if tool.destination is not None or outward:
        refusal = barrier(run.labels | carried, tool.destination, run.vocabulary, receivers, run.released)
    else:
        refusal = _undeclared(run.labels, run) or barrier(
            carried - run.labels, run.scope, run.vocabulary, released=run.released
        )
    return Deny(refusal.rule, refusal.text) if refusal is not None else ()


def _undeclared(labels: Labels, run: RunFacts) -> Refusal | None:
    unknown = (label for label in listed(labels) if not run.vocabulary.knows(label))
    label = next(unknown, None)
    return Refusal(label, "?", run.scope, "undeclared") if label is not None else None


def _taint(proposal: Proposal, run: RunFacts) -> Ruling:
    """In a run that carries `untrusted`, what steers an effect is traced to somebody trusted (GT-3).

    A write without steering arguments asks: nothing in it could be traced. A destructive tool that names no
    steering arguments is judged as if every argument it is given steered, so that a declaration too short
    does not open the door; one that is given none asks.
    """
    tool = _declared(proposal)
    if tool.effect == "read" or tool.platform or UNTRUSTED not in run.labels | proposal.labels:
        return ()
    origins = run.origins if isinstance(run.origins, Origins) else run.origins()
    if tool.effect == "destructive":
        return _destructive(proposal, tool, origins)
    if not tool.steers:
        return [Objection("taint", Text("gate.unsteered", tool=tool.name))]
    return [
        Objection("taint", Text("gate.untraced", tool=tool.name, argument=argument))
        for argument in tool.steers
        if not is_traced(tool, argument, proposal.arguments, origins)
    ]


def _destructive(proposal: Proposal, tool: Tool, origins: Origins) -> Ruling:
    declared = tool.parameters.get("properties", {})
    for argument in tool.steers or proposal.arguments:
        if not is_traced(tool, argument, proposal.arguments, origins):
            shown = argument if argument in declared else "?"
            return Deny("taint", Text("gate.untraced_destructive", tool=tool.name, argument=shown))
    return [Objection("taint", Text("gate.destructive", tool=tool.name))]


def _policy(proposal: Proposal, run: RunFacts) -> Ruling:
    """The installation's own rules. The platform's tools are under those alone that name them."""
    tool = _declared(proposal)
    objections = []
    for item in run.policies:
        named = item.tool == tool.name or (item.tool is None and not tool.platform)
        if not named or item.effect not in {None, tool.effect} or not Scope(item.scope).reaches(run.scope):
            continue
        if item.verdict != "ask":
            return Deny("policy", Text("gate.policy_denies", policy=item.name, tool=tool.name))
        objections.append(Objection("policy", Text("gate.policy_asks", policy=item.name, tool=tool.name)))
    return objections


def _budget(proposal: Proposal, run: RunFacts) -> Ruling:
    """The largest estimate of the call fits into what is left (GT-5). Of an amount that the call does not use,
    nothing need be left: a finish, which uses none, is taken whatever came before it cost."""
    left = run.budget.left(run.used)
    amount = left.exceeded_by(proposal.estimate)
    if amount is None:
        return ()
    wanted = getattr(proposal.estimate, amount)
    return Deny("budget", Text(f"gate.over_{amount}", wanted=wanted, left=getattr(left, amount)))


def _duplicate(proposal: Proposal, run: RunFacts) -> Ruling:
    """What was done is not done again, and what somebody wants otherwise is not done at all (AC-1).

    The same action that is done, or that another run is doing, makes no call: `is_repeat` says so, and no person is
    asked. One in doubt may be repeated only where the tool takes the key.
    """
    tool, action = _declared(proposal), run.action
    if action is None or action.mine or action.state == "failed":
        return () if action is None or action.same or action.state == "failed" else _conflict(tool)
    if not action.same:
        return _conflict(tool)
    if action.state == "in_doubt" and not tool.takes_key:
        return Deny(DUPLICATE, Text("action.in_doubt", tool=tool.name))
    return ()


def _conflict(tool: Tool) -> Deny:
    return Deny(DUPLICATE, Text("action.conflict", tool=tool.name))


def is_repeat(run: RunFacts) -> bool:
    """Tell whether a call would do nothing but give what another one did or is doing."""
    action = run.action
    return action is not None and action.same and not action.mine and action.state in {"done", "claimed"}


DUPLICATE = "duplicate"
"""The rule that looks into the action ledger, before a person is asked."""

RULES: tuple[tuple[str, Callable[[Proposal, RunFacts], Ruling]], ...] = (
    ("grant", _grant),
    ("contract", _contract),
    ("arguments", _arguments),
    ("barrier", _barrier),
    ("taint", _taint),
    ("policy", _policy),
    ("budget", _budget),
    (DUPLICATE, _duplicate),
)
"""The rules in the order in which the first denial wins."""

APPROVAL = "approval"
"""The rule that comes last."""


def judge_answers(
    objections: Sequence[Objection], answers: Sequence[Response], digest: str, labels: Labels
) -> Deny | Response | None:
    """Find what persons answered about the call with `digest` (GT-4).

    A refusal or an expiry of this very call denies, whatever else was answered. An approval is given when
    it covers every objection there is now and the labels there are now; None when a person must decide.
    """
    mine = [answer for answer in answers if answer.digest == digest]
    for outcome in ("refuse", "expire"):
        for answer in mine:
            if answer.outcome == outcome:
                return Deny(APPROVAL, Text(f"gate.answer_{outcome}", answer=answer.answer_id))
    for answer in mine:
        if answer.outcome == "approve" and labels <= answer.labels and _covers(answer.objections, objections):
            return answer
    return None


def _covers(shown: Sequence[Any], objections: Sequence[Objection]) -> bool:
    return all(objection in shown for objection in objections)
