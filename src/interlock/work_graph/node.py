"""A node: one part of the work of a run, what it is to do, with what, and what it publishes (WG-1, WG-2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from interlock import canonical
from interlock.agent.spec import FINAL_ANSWER
from interlock.gate.budget import Budget
from interlock.scope.scope import Address
from interlock.work_graph.edge import Edge

__all__ = [
    "JOINED",
    "JSON",
    "KINDS",
    "OUTPUT",
    "RESULT",
    "RESULT_MEDIA",
    "TEXT",
    "VERDICT",
    "VERDICT_SCHEMA",
    "Node",
]

KINDS = ("agent_loop", "tool", "function", "verify", "join")
TEXT, JSON = "text/plain", "application/json"
RESULT_MEDIA = "application/vnd.interlock.result+json"
"""The media type of a report (RS-1): a join of these merges them."""
RESULT, OUTPUT, VERDICT, JOINED = "result", "output", "verdict", "joined"
"""What is published by a tool or a function; by an agent with an output schema; by a verifier; by a join."""

VERDICT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"passed": {"type": "boolean"}, "why": {"type": "string"}},
    "required": ["passed", "why"],
}
"""What a verdict says, unless the node has a schema of its own; `passed` it always has."""


@dataclass(frozen=True, slots=True)
class Node:
    """A part of the work.

    kind: one of `KINDS`. objective: what it is to achieve. agent: whose work it is; None, or the root run's own agent.
    tool, arguments: for `tool`. function: for `function`, as `module:name`. tools: what an `agent_loop` may call.
    secrets: which secrets its tools may use; None for those that they need. budget: the most it may use.
    attempts: how often it is tried in all. deadline_ms: how long an attempt may take; for a join, how long after the
    graph began it waits. rubric: by what a verifier judges, or an agent is told that it will be judged. output: the
    JSON Schema of what it must publish. publishes: the artifacts it publishes, each with its media type. needs: what it
    takes in.
    """

    name: str
    kind: str
    objective: str = ""
    agent: Address | None = None
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    function: str = ""
    tools: tuple[str, ...] = ()
    secrets: tuple[str, ...] | None = None
    budget: Budget = field(default_factory=Budget)
    attempts: int = 1
    deadline_ms: int | None = None
    rubric: str = ""
    output: Mapping[str, Any] | None = None
    publishes: tuple[tuple[str, str], ...] = ()
    needs: tuple[Edge, ...] = ()

    @property
    def is_run(self) -> bool:
        """Whether it runs as a child run, with a fresh context."""
        return self.kind in {"agent_loop", "verify"}

    @property
    def outputs(self) -> dict[str, str]:
        """Give all that other nodes may need of it, by name, with its media type."""
        match self.kind:
            case "tool":
                return {RESULT: JSON}
            case "join":
                return {JOINED: JSON}
            case "function":
                return dict(self.publishes) or {RESULT: JSON}
        judged = (
            {VERDICT: JSON} if self.kind == "verify" else {OUTPUT: JSON} if self.output is not None else {}
        )
        return {**dict(self.publishes), **judged, FINAL_ANSWER: TEXT}

    @property
    def main(self) -> str:
        """The artifact that is meant when a node alone is named as what another one needs."""
        match self.kind:
            case "agent_loop":
                return OUTPUT if self.output is not None else FINAL_ANSWER
            case "verify":
                return VERDICT
        return next(iter(self.outputs))

    @property
    def sources(self) -> tuple[str, ...]:
        """The nodes it needs something of, each once."""
        return tuple(dict.fromkeys(edge.source for edge in self.needs if edge.source))

    def as_dict(self) -> dict[str, Any]:
        """Give the node as it is written and digested; what it does not say is left out."""
        form: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "objective": self.objective,
            "agent": str(self.agent) if self.agent else "",
            "tool": self.tool,
            "arguments": dict(self.arguments),
            "function": self.function,
            "tools": list(self.tools),
            "budget": self.budget.as_dict(),
            "attempts": self.attempts if self.attempts > 1 else 0,
            "deadline_ms": self.deadline_ms or 0,
            "rubric": self.rubric,
            "publishes": dict(self.publishes),
            "needs": [edge.as_dict() for edge in self.needs],
        }
        form = {key: value for key, value in form.items() if value}
        if self.secrets is not None:
            form["secrets"] = list(self.secrets)
        if self.output is not None:
            form["output"] = dict(self.output)
        return form

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        """Read back what `as_dict` gave; it comes from the content store, so it is not checked anew."""
        return cls(
            name=form["name"],
            kind=form["kind"],
            objective=form.get("objective", ""),
            agent=Address(form["agent"]) if "agent" in form else None,
            tool=form.get("tool", ""),
            arguments=form.get("arguments", {}),
            function=form.get("function", ""),
            tools=tuple(form.get("tools", ())),
            secrets=tuple(form["secrets"]) if "secrets" in form else None,
            budget=Budget.of(form.get("budget", {})),
            attempts=form.get("attempts", 1),
            deadline_ms=form.get("deadline_ms"),
            rubric=form.get("rubric", ""),
            output=form.get("output"),
            publishes=tuple(form.get("publishes", {}).items()),
            needs=tuple(map(Edge.from_dict, form.get("needs", ()))),
        )

    @property
    def digest(self) -> str:
        """The SHA-256 of what defines the node: two that say the same do the same."""
        return canonical.digest_of(self.as_dict())
