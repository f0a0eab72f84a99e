"""An origin: where a value came from, so that a call can be traced to somebody trusted (GT-3).

Tracing compares values with their type, never texts: digits that stand somewhere in a sentence are no trace
of an amount. This is provenance of values, as in CaMeL (Debenedetti et al., "Defeating Prompt Injections by
Design", 2025), read from what entered the run rather than from an interpreter. It cannot tell two equal
values apart, so a steering argument is best an identifier and not a flag.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from interlock.gate.tool import Tool, fixed_by, leaves_of
from interlock.scope.label import UNTRUSTED

__all__ = ["NO_ORIGINS", "Origin", "Origins", "is_traced"]

Leaf = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from: a signed-in person's `brief`, what an agent `passed_on` of one, or a trusted field of a
    tool's `result`.

    path: the field, as `leaves_of` writes it; empty for a value that stands alone.
    tool, call_id: the call whose result it was; empty for the others.
    """

    kind: Literal["brief", "passed_on", "result"]
    path: str = ""
    tool: str = ""
    call_id: str = ""


def _typed(value: Any) -> Leaf | None:
    """Give the key under which equal values of the same type meet; None for what is never a trace.

    Python compares whole numbers and floats exactly and hashes equal ones alike, so 50 meets 50.0, and
    2**53 + 1 does not meet its rounded float. Booleans would meet 1 and 0, and are kept apart.
    """
    if isinstance(value, bool):
        return (bool, value)
    if isinstance(value, str):
        return (str, value)
    return (float, value) if isinstance(value, int | float) else None


@dataclass(frozen=True, slots=True)
class Origins:
    """The values that entered a run from somebody trusted, each with its origins. Never changed in place."""

    known: Mapping[Leaf, tuple[Origin, ...]] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of_brief(cls, brief: Any) -> "Origins":
        """Take in the brief of a signed-in person.

        A brief that is text gives that whole text as its one value; one that is JSON gives its leaves.
        """
        return cls._of((leaf, Origin("brief", path)) for path, leaf in leaves_of(brief))

    @classmethod
    def of_result(cls, tool: Tool, call_id: str, result: Any) -> "Origins":
        """Take in a tool's result: only its fields that the tool declares without `untrusted`."""
        return cls._of(
            (leaf, Origin("result", path, tool.name, call_id))
            for path, leaf in leaves_of(result)
            if UNTRUSTED not in tool.labels_at(path)
        )

    @classmethod
    def passed_on(cls, said: Any, places: Set[str]) -> "Origins":
        """Take in what another agent wrote: only the values at `places`, which its own run traced."""
        return cls._of((leaf, Origin("passed_on", path)) for path, leaf in leaves_of(said) if path in places)

    @classmethod
    def _of(cls, found: Iterable[tuple[Any, Origin]]) -> "Origins":
        known: dict[Leaf, list[Origin]] = {}
        for value, origin in found:
            key = _typed(value)
            if key is not None:
                known.setdefault(key, []).append(origin)
        return cls(MappingProxyType({key: tuple(dict.fromkeys(origins)) for key, origins in known.items()}))

    def join(self, *others: "Origins") -> "Origins":
        """Give the origins of this and of the others together."""
        known: dict[Leaf, list[Origin]] = {}
        for one in (self, *others):
            for key, origins in one.known.items():
                known.setdefault(key, []).extend(origins)
        return Origins(MappingProxyType({key: tuple(dict.fromkeys(found)) for key, found in known.items()}))

    def of(self, value: Any) -> tuple[Origin, ...]:
        """Give the origins of one scalar; none for null, lists and objects."""
        key = _typed(value)
        return self.known.get(key, ()) if key is not None else ()


NO_ORIGINS = Origins()


def is_traced(tool: Tool, argument: str, arguments: Mapping[str, Any], origins: Origins) -> bool:
    """Tell whether an argument's value comes from somebody trusted, in every part.

    Trusted are `origins` and what the tool's own schema fixes. An argument left out stands for the `default`
    its schema declares, and without one is not traced: leaving out a recipient or a filter steers too.
    Null, an empty list and an empty object name nothing, and are never traced. A key of an object counts
    as a value unless the schema names it.
    """
    schemas = tool.schemas_of(argument)
    if argument in arguments:
        return _traced(tool, arguments[argument], schemas, origins)
    return any(
        _traced(tool, schema["default"], schemas, origins) for schema in schemas if "default" in schema
    )


def _traced(tool: Tool, value: Any, schemas: tuple[Mapping[str, Any], ...], origins: Origins) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and all(
            (_names(schemas, key) or bool(origins.of(key)))
            and _traced(tool, inner, _below(tool, schemas, "properties", key), origins)
            for key, inner in value.items()
        )
    if isinstance(value, list | tuple):
        return bool(value) and all(
            _traced(tool, inner, _below(tool, schemas, "prefixItems", place), origins)
            for place, inner in enumerate(value)
        )
    key = _typed(value)
    return key is not None and (
        bool(origins.of(value))
        or any(_typed(fixed) == key for schema in schemas for fixed in fixed_by(schema))
    )


def _names(schemas: Iterable[Mapping[str, Any]], key: str) -> bool:
    return any(key in schema.get("properties", ()) for schema in schemas)


def _below(
    tool: Tool, schemas: Iterable[Mapping[str, Any]], keyword: str, step: str | int
) -> tuple[Mapping[str, Any], ...]:
    return tuple(
        variant
        for schema in schemas
        for inner in _inner(schema, keyword, step)
        for variant in tool.variants(inner)
    )


def _inner(schema: Mapping[str, Any], keyword: str, step: str | int) -> Iterator[Any]:
    if keyword == "properties":
        yield schema.get("properties", {}).get(step)
        return
    places = schema.get("prefixItems", ())
    yield places[int(step)] if int(step) < len(places) else schema.get("items")
