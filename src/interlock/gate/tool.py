"""A tool's declaration: what it does to the world, which arguments steer that, and how its result is labelled.

The declaration is data that the Gate judges; the callable behind it belongs to `interlock.connector.tool`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from interlock.scope.label import NO_LABELS, UNTRUSTED, Labels
from interlock.scope.scope import Scope

__all__ = ["Effect", "Tool", "leaves_of"]

Effect = Literal["read", "write", "destructive"]


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

    def labels_at(self, path: str) -> Labels:
        """Give the labels of the result's field at `path`; the most exact declaration wins."""
        while path:
            if path in self.fields:
                return self.fields[path]
            path = path[:-2] if path.endswith("[]") else path.rpartition(".")[0]
        return self.labels

    def labels_of(self, result: Any) -> Labels:
        """Give the labels of a whole result: those of every field in it, and the tool's own if it is empty."""
        if not self.fields:
            return self.labels
        found = [self.labels_at(path) for path, _ in leaves_of(result)]
        return NO_LABELS.union(*found) if found else self.labels

    def fixed_values(self, argument: str) -> tuple[Any, ...]:
        """Give the set of values that the tool itself fixes for an argument (`enum` or `const`)."""
        schema = self.parameters.get("properties", {}).get(argument, {})
        if not isinstance(schema, Mapping):
            return ()
        return (schema["const"],) if "const" in schema else tuple(schema.get("enum", ()))


def leaves_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Give each scalar in a JSON value with its path: `("messages[].id", 7)`."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves_of(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves_of(inner, f"{path}[]")
    else:
        yield path, value
