"""A spec: the declaration of an agent, the same whether it was written in YAML or in Python (AG-1)."""

from dataclasses import dataclass, field
from typing import Any, Self

from interlock import canonical
from interlock.gate.budget import Budget
from interlock.scope.scope import Address, Scope

__all__ = ["FINAL_ANSWER", "Attendance", "Emission", "Spec", "Trigger"]

FINAL_ANSWER = "final_answer"
"""The built-in artifact: a run's closing answer (CS-3)."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """An event that starts the agent, and the scopes it is heard from; its own company when none is named."""

    event: str
    heard_from: tuple[Scope, ...] = ()


@dataclass(frozen=True, slots=True)
class Emission:
    """An event the agent emits when a run of it finished well, what it exposes, and who may hear it."""

    event: str
    context: str
    artifacts: tuple[str, ...] = ()
    to: tuple[Scope, ...] = ()


@dataclass(frozen=True, slots=True)
class Attendance:
    """A connector whose conversations the agent sees. way: `engage`, a message there starts it, or `observe`, it only
    takes note (UI-5)."""

    connector: str
    way: str = "engage"


@dataclass(frozen=True, slots=True)
class Spec:
    """What an agent is. `function` (`module:name`) or `instructions` says which of the two bodies it has.

    `functions` are those that a work graph of a model loop may use. `accepts` are the types of messages that start the
    agent, `sends_to` whom it may message and delegate to, `hands_to` whom it may hand tasks to, `attends` the
    connectors whose conversations it sees.

    Two specs that say the same are equal and have the same digest. Reading one from YAML or from Python
    values is `interlock.agent.reader`.
    """

    name: str
    scope: Scope
    instructions: str = ""
    function: str | None = None
    code_digest: str | None = None
    model: str = "default"
    tools: tuple[str, ...] = ()
    limits: Budget = field(default_factory=Budget)
    starts_on: tuple[Trigger, ...] = ()
    emits: tuple[Emission, ...] = ()
    sends_to: tuple[Address, ...] = ()
    hands_to: tuple[Address, ...] = ()
    adds_labels: tuple[str, ...] = ()
    accepts: tuple[str, ...] = ()
    attends: tuple[Attendance, ...] = ()
    functions: tuple[str, ...] = ()

    @property
    def address(self) -> Address:
        """The agent's address, `name@scope`."""
        return Address(f"{self.name}@{self.scope}")

    @property
    def exposed(self) -> frozenset[str]:
        """The names of all artifacts that some event of the agent exposes."""
        return frozenset(name for emission in self.emits for name in emission.artifacts)

    def as_dict(self) -> dict[str, Any]:
        """Give the spec as plain values: the form that is digested and stored."""
        later = {
            "attends": [{"connector": item.connector, "way": item.way} for item in self.attends],
            "functions": list(self.functions),
        }
        return {
            "name": self.name,
            "scope": str(self.scope),
            "instructions": self.instructions,
            "function": self.function,
            "code_digest": self.code_digest,
            "model": self.model,
            "tools": list(self.tools),
            "limits": self.limits.as_dict(),
            "starts_on": [
                {"event": item.event, "from": [str(scope) for scope in item.heard_from]}
                for item in self.starts_on
            ],
            "emits": [
                {
                    "event": item.event,
                    "context": item.context,
                    "artifacts": list(item.artifacts),
                    "to": [str(scope) for scope in item.to],
                }
                for item in self.emits
            ],
            "sends_to": [str(item) for item in self.sends_to],
            "hands_to": [str(item) for item in self.hands_to],
            "adds_labels": list(self.adds_labels),
            "accepts": list(self.accepts),
        } | {key: value for key, value in later.items() if value}

    @classmethod
    def from_dict(cls, form: dict[str, Any]) -> Self:
        """Read back what `as_dict` gave. The form comes from the content store, so it is not checked anew."""
        return cls(
            name=form["name"],
            scope=Scope(form["scope"]),
            instructions=form["instructions"],
            function=form["function"],
            code_digest=form["code_digest"],
            model=form["model"],
            tools=tuple(form["tools"]),
            limits=Budget.of(form["limits"]),
            starts_on=tuple(
                Trigger(item["event"], tuple(Scope(scope) for scope in item["from"]))
                for item in form["starts_on"]
            ),
            emits=tuple(
                Emission(
                    item["event"],
                    item["context"],
                    tuple(item["artifacts"]),
                    tuple(Scope(scope) for scope in item["to"]),
                )
                for item in form["emits"]
            ),
            sends_to=tuple(Address(item) for item in form["sends_to"]),
            hands_to=tuple(Address(item) for item in form["hands_to"]),
            adds_labels=tuple(form["adds_labels"]),
            accepts=tuple(form.get("accepts", ())),
            attends=tuple(Attendance(**item) for item in form.get("attends", ())),
            functions=tuple(form.get("functions", ())),
        )

    @property
    def digest(self) -> str:
        """The SHA-256 of the spec's canonical form; the digest of a version."""
        return canonical.digest_of(self.as_dict())
