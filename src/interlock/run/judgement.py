"""A judgement: what the Gate is told of a proposed call and of the run that proposes it (GT-1, GT-3, GT-6)."""

import json
from collections.abc import Mapping
from typing import Any

from interlock.agent.spec import Spec
from interlock.gate.budget import Usage
from interlock.gate.origin import NO_ORIGINS, Origins
from interlock.gate.proposal import Contract, Proposal, RunFacts
from interlock.gate.tool import Tool, leaves_of
from interlock.perspective.answer import load_answer
from interlock.run.installation import Installation
from interlock.run.platform_tools import FINISH, PLAN_WORK, READ_ARTIFACT, bound_for, declared_for
from interlock.run.run import CallState, Run
from interlock.scope.label import UNTRUSTED, Labels
from interlock.scope.scope import Address, Scope

__all__ = ["Judgement"]

NOTHING, ONE_CALL = Usage(), Usage(tool_calls=1)
NAME = 256
"""No artifact's name or handle is longer; a longer text in an argument names none."""


class Judgement:
    """Puts proposals and facts together for one run under one claim."""

    def __init__(self, installation: Installation, run: Run, spec: Spec) -> None:
        self._installation, self._run = installation, run
        contract = run.opening.get("contract", {})
        self._contract = Contract(
            *(frozenset(contract[name]) if name in contract else None for name in ("tools", "effects"))
        )
        self.released = frozenset((label, to) for label, to in run.opening.get("released", ()))
        self._granted = frozenset(spec.tools)
        self._declared: dict[str, Tool | None] = {}
        self._spec = spec
        self._proposed: dict[str, tuple[str, Any]] = {}

    def declared(self, name: str) -> Tool | None:
        """Give the declaration of a tool as this run meets it."""
        if name not in self._declared:
            tools = self._installation.tools.declarations
            self._declared[name] = declared_for(name, tools, self._spec)
        return self._declared[name]

    def artifact(self, name: str) -> dict[str, Any] | None:
        """Give an artifact that this very run was given or saved; nothing else exists for it (CS-5)."""
        item = self._run.artifacts.get(name) or self._run.given.get(name)
        return None if item is None or item.get("absent") else item

    def proposal(self, call: CallState, name: str, arguments: Any) -> Proposal:
        """Give the proposal of a call from the name and the arguments as the body wrote them."""
        tool = self.declared(name)
        if isinstance(arguments, str):
            return Proposal.of_text(self._run.id, call.id, name, arguments, self._limit(tool), tool=tool)
        if tool is not None and tool.platform:
            tool = bound_for(tool, arguments, self._replies_to())
        carried = self._carried_by(arguments)
        estimate = NOTHING if name == FINISH else ONE_CALL
        return Proposal(self._run.id, call.id, name, arguments, tool, carried, estimate)

    def _replies_to(self) -> Scope | None:
        sender = self._run.message.get("from", "")
        return Address(sender).scope if "@" in sender else None

    def _limit(self, tool: Tool | None) -> int:
        """What is published or saved through a call may be as long as an answer of a model or an artifact may be;
        that each artifact keeps to its own limit is seen when it is taken in."""
        sizes = self._installation.settings.sizes
        if tool is not None and tool.name == PLAN_WORK:
            return sizes.answer
        holds_content = tool is not None and tool.platform and tool.name != READ_ARTIFACT
        return max(sizes.answer, sizes.artifact + sizes.arguments) if holds_content else sizes.arguments

    def _carried_by(self, arguments: Any) -> dict[str, Labels]:
        """The labels that arguments carry by naming an artifact, whether it was read or not (SC-6)."""
        if not (self._run.given or self._run.artifacts):
            return {}
        found = {}
        for path, leaf in leaves_of(arguments):
            item = self.artifact(leaf) if isinstance(leaf, str) and len(leaf) <= NAME else None
            if item is not None:
                found[path] = frozenset(item["labels"])
        return found

    async def facts(self, proposal: Proposal) -> RunFacts:
        """Give what the Gate must know of the run. Origins of values are looked up only where they decide."""
        run, settings, tool = self._run, self._installation.settings, proposal.tool
        tainted = UNTRUSTED in run.labels or UNTRUSTED in proposal.labels
        traced = tainted and tool is not None and tool.effect != "read" and not tool.platform
        return RunFacts(
            run=run.id,
            agent=run.agent,
            scope=run.scope,
            labels=run.labels,
            granted=self._granted,
            contract=self._contract,
            released=self.released,
            budget=run.budget,
            used=run.committed,
            vocabulary=settings.vocabulary,
            policies=settings.policies,
            origins=await self.origins() if traced else NO_ORIGINS,
            arguments_limit=self._limit(tool),
        )

    def remember(self, proposed: Mapping[str, tuple[str, Any]]) -> None:
        """Keep what an answer proposed, by the calls' ids, so that it need not be read back."""
        self._proposed.update(proposed)

    async def proposed(self, call: CallState) -> tuple[str, Any]:
        """Give the tool's name and the arguments of a call, as the body wrote them."""
        if call.id not in self._proposed:
            contents = self._installation.contents
            if call.arguments is not None:
                self._proposed[call.id] = call.tool, json.loads(await contents.read(call.arguments))
            else:
                answers = [entry.content for entry in self._run.entries if entry.kind == "answer"]
                self._proposed.update((await load_answer(contents, answers[call.answer - 1] or "")).proposed)
        return self._proposed[call.id]

    async def origins(self) -> Origins:
        """Where this run's values came from, as they entered: a person's brief, what another agent passed on of one,
        and trusted fields of results."""
        run, contents = self._run, self._installation.contents
        found = []
        if run.message.get("traced"):
            said = json.loads(await contents.read(run.message["body"]))
            found.append(Origins.passed_on(said, frozenset(run.message["traced"])))
        by_person = run.opening["opened_by"]["kind"] == "person" and UNTRUSTED not in run.opening["labels"]
        if by_person and "input" in run.opening:
            found.append(Origins.of_brief(json.loads(await contents.read(run.opening["input"]))))
        for call in run.calls.values():
            tool = self.declared(call.tool)
            if tool is None or tool.platform or call.done is None or call.done.kind != "result":
                continue
            if any(UNTRUSTED not in labels for labels in (tool.labels, *tool.fields.values())):
                result = json.loads(await contents.read(call.done.content or ""))
                found.append(Origins.of_result(tool, call.id, result))
        return NO_ORIGINS.join(*found)
