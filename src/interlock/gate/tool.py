"""A tool's declaration: what it does to the world, what steers that, and how its result is labelled.

The declaration is data that the Gate judges; the callable behind it belongs to `interlock.connector.tool`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from interlock.scope.label import NO_LABELS, UNTRUSTED, Labels
from interlock.scope.scope import Scope

__all__ = [
    "ASK",
    "CONCLUDE",
    "DECIDE",
    "DELEGATE",
    "EFFECTS",
    "FINISH",
    "HAND_OVER",
    "PLAN_WORK",
    "PLATFORM_NAMES",
    "READ_ARTIFACT",
    "RECALL",
    "REMEMBER",
    "REPORT",
    "SAVE_ARTIFACT",
    "SEND",
    "Effect",
    "Tool",
    "fixed_by",
    "leaves_of",
]

Effect = Literal["read", "write", "destructive"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)

FINISH = "finish"
READ_ARTIFACT = "read_artifact"
SAVE_ARTIFACT = "save_artifact"
SEND, ASK, DELEGATE, REPORT, HAND_OVER, DECIDE = "send", "ask", "delegate", "report", "hand_over", "decide"
CONCLUDE, PLAN_WORK = "conclude", "plan_work"
REMEMBER, RECALL = "remember", "recall"
PLATFORM_NAMES = frozenset(
    {
        *(FINISH, READ_ARTIFACT, SAVE_ARTIFACT, SEND, ASK, DELEGATE, REPORT, HAND_OVER, DECIDE, CONCLUDE),
        *(PLAN_WORK, REMEMBER, RECALL),
    }
)
"""The names of the platform's own tools, which no other tool may bear."""

PATH_SIGNS = frozenset(".[]")
CONTAINERS = (Mapping, list, tuple)


@dataclass(frozen=True, slots=True)
class Tool:
    """What the platform knows of a tool (GT-3).

    name: how specs and models call it.
    parameters: the JSON Schema (2020-12) of its arguments, an object schema.
    effect: `read`, `write` or `destructive`; None when nobody has classified it, and then it never runs.
    steers: the arguments that steer the effect (recipient, account, amount); the others only carry content.
    labels: the labels of its result where `fields` says nothing else; `untrusted` unless declared.
    fields: labels of single fields of the result, by path: `messages[].id`.
    leaves: whether arguments leave the installation, so that receivers are judged even for a read.
    destination: the scope into which it moves data, when it does.
    secrets: names of the secrets it needs; resolved only after an allow, inside the connector.
    timeout_ms: how long one call may take.
    key: the template of the key under which an action happens once (`interlock.gate.action_key`).
    takes_key: whether it hands that key to the outside as idempotency key, so that a call may be repeated.
    recipients: the addresses that its argument `to` may name; None where it sends to nobody.
    platform: whether it is one of the platform's own (`read_artifact`, `send`, `finish`…), whose effect stays in the
    ledger, where labels travel with the data. Every agent has these, a contract does
        not narrow them, and they never ask because of `untrusted`. No declaration from outside can set it.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    effect: Effect | None = None
    steers: tuple[str, ...] = ()
    labels: Labels = frozenset({UNTRUSTED})
    fields: Mapping[str, Labels] = field(default_factory=dict)
    leaves: bool = False
    destination: Scope | None = None
    secrets: tuple[str, ...] = ()
    timeout_ms: int = 60_000
    key: str | None = None
    takes_key: bool = False
    recipients: frozenset[str] | None = None
    platform: bool = False

    def labels_at(self, path: str) -> Labels:
        """Give the labels of the result's field at `path`; the most exact declaration wins."""
        while path:
            if path in self.fields:
                return self.fields[path]
            path = path[:-2] if path.endswith("[]") else path.rpartition(".")[0]
        return self.labels

    def labels_of(self, result: Any) -> Labels:
        """Give the labels of a whole result: those of every field in it.

        An empty list or object is a field, too: the key it stands under is text that somebody chose.
        """
        if not self.fields:
            return self.labels
        return NO_LABELS.union(*(self.labels_at(path) for path, _ in _ends_of(result)))

    def schemas_of(self, argument: str) -> tuple[Mapping[str, Any], ...]:
        """Give the schemas that speak of an argument: its own, and those it refers to or chooses from."""
        return self.variants(_part(self.parameters, "properties").get(argument))

    def variants(self, schema: Any) -> tuple[Mapping[str, Any], ...]:
        """Give `schema`, and each schema that it reaches at the same place of the value.

        Followed are `allOf`, `anyOf`, `oneOf`, and `$ref` within the tool's own document (RFC 6901).
        """
        found: list[Mapping[str, Any]] = []
        waiting = [schema]
        while waiting:
            here = waiting.pop(0)
            if isinstance(here, Mapping) and not any(here is known for known in found):
                found.append(here)
                waiting += [inner for key in ("allOf", "anyOf", "oneOf") for inner in here.get(key, ())]
                waiting.append(_pointed(self.parameters, here.get("$ref")))
        return tuple(found)

    def fixed_values(self, argument: str) -> tuple[Any, ...]:
        """Give the values that the tool itself fixes for an argument: `enum`, `const` and `default`."""
        return tuple(value for schema in self.schemas_of(argument) for value in fixed_by(schema))


def fixed_by(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    """Give the values that one schema names outright: those of `enum`, `const` and `default`."""
    single = tuple(schema[key] for key in ("const", "default") if key in schema)
    return single + tuple(schema.get("enum", ()))


def _part(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = schema.get(key)
    return part if isinstance(part, Mapping) else {}


def _pointed(document: Any, reference: Any) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return document if reference == "#" else None
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def leaves_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Give each scalar in a JSON value with its path: `("messages[].id", 7)`.

    A key that is empty or has a dot or bracket in it is quoted, `headers.["x.id"]`: whoever chooses the keys of
    a result must not be able to write the path of a trusted field.
    """
    return ((path, end) for path, end in _ends_of(value) if not isinstance(end, CONTAINERS))


def _ends_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Give each scalar, empty list and empty object with its path."""
    if not isinstance(value, CONTAINERS) or not value:
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            name = json.dumps([key]) if not key or PATH_SIGNS & set(str(key)) else str(key)
            yield from _ends_of(inner, f"{path}.{name}" if path else name)
    else:
        for inner in value:
            yield from _ends_of(inner, f"{path}[]")
