"""A schema: whether a call's arguments are JSON of bounded shape and what the tool's JSON Schema accepts.

JSON Schema 2020-12 is judged by `jsonschema-rs`. Nothing is fetched: a reference that leaves the tool's own
document makes the schema unusable. Patterns run in linear time, so one with look-around or a back-reference
does too. The depth is bounded before the validator, which recurses on the machine's stack, sees the value, and so
is the work that the schema can make of it.
"""

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

from interlock.catalogue import Text
from interlock.gate.schema_work import LEVELS, unbounded_work
from interlock.gate.tool import Tool
from interlock.gate.verdict import Deny

__all__ = ["DEPTH_LIMIT", "judge_arguments", "validator_of"]

DEPTH_LIMIT = LEVELS
INTEGER_BITS = 4096
REGEX_BYTES = 1024 * 1024
ERRORS_TOLD = 5
CONTAINERS = (dict, list, tuple)
NOT_JSON, NOT_TEXT, NOT_NUMBER = -3, -2, -1
UNFIT = {NOT_JSON: "not_json", NOT_TEXT: "not_text", NOT_NUMBER: "number"}
QUOTED = 200


class _Same:
    """A key that is equal only to itself: schemas are dictionaries, which have no hash."""

    __slots__ = ("schema",)

    def __init__(self, schema: Mapping[str, Any] | bool) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.schema is other.schema


@lru_cache(maxsize=1024)
def _compiled(key: _Same) -> Draft202012Validator:
    return Draft202012Validator(
        key.schema if isinstance(key.schema, bool) else dict(key.schema),
        offline=True,
        pattern_options=RegexOptions(size_limit=REGEX_BYTES, dfa_size_limit=REGEX_BYTES),
    )


@lru_cache(maxsize=1024)
def _unbounded(key: _Same) -> Text | None:
    return unbounded_work(key.schema)


def validator_of(schema: Mapping[str, Any] | bool) -> Draft202012Validator:
    """Give the compiled form of a schema; the very same mapping, which must not change, is compiled once.

    Raises ValueError, whose words quote the schema, for one that is malformed or unusable.
    """
    return _compiled(_Same(schema))


def judge_arguments(tool: Tool, arguments: Any, limit: int) -> Deny | None:
    """Judge parsed arguments: an object, of at most `limit` bytes, as the tool's schema accepts."""
    if type(arguments) is not dict or not all(type(key) is str for key in arguments):
        return _deny("not_object", tool, kind=type(arguments).__name__)
    refusal = _shape(tool, arguments, limit)
    if refusal is not None:
        return refusal
    if why := _unbounded(_Same(tool.parameters)):
        return _unusable(tool, why)
    try:
        validator = validator_of(tool.parameters)
    except ValueError as error:
        return _unusable(tool, _short(str(error)))
    if validator.is_valid(arguments):
        return None
    return _invalid(tool, list(islice(validator.iter_errors(arguments), ERRORS_TOLD)))


def _unusable(tool: Tool, why: Text | str) -> Deny:
    detail = Text("gate.schema_unusable.told", tool=tool.name, why=why)
    return Deny("arguments", Text("gate.schema_unusable", tool=tool.name), (detail,))


def _shape(tool: Tool, arguments: dict[str, Any], limit: int) -> Deny | None:
    """Bound size and depth, and refuse what JSON in UTF-8 cannot carry, without recursing.

    Keys are weighed like values. A name that the tool does not declare is not repeated.
    """
    declared = tool.parameters.get("properties", {})
    left = limit
    waiting: list[tuple[str, Any, int]] = [
        (key if key in declared else "?", item, 1)
        for key, value in arguments.items()
        for item in (key, value)
    ]
    while waiting:
        name, value, depth = waiting.pop()
        kind = type(value)
        if kind in CONTAINERS:
            if depth == DEPTH_LIMIT:
                return _deny("too_deep", tool, limit=DEPTH_LIMIT)
            size = _entries(value)
            inner = [*value, *value.values()] if kind is dict else value
            waiting += [(name, item, depth + 1) for item in (inner if size <= left else ())]
        else:
            size = _size(value)
        if size < 0:
            return _deny(UNFIT[size], tool, argument=name, kind=kind.__name__)
        left -= size
        if left < 0:
            return _deny("too_large", tool, limit=limit)
    return None


def _entries(value: Any) -> int:
    """Give the signs that a container itself takes, or the negative mark of a key that is no text."""
    if type(value) is dict and not all(type(key) is str for key in value):
        return NOT_JSON
    return 2 + 2 * len(value)


def _size(value: Any) -> int:
    """Give a scalar's size in bytes, or the negative mark of what makes it unfit."""
    kind = type(value)
    if kind is str:
        if value.isascii():
            return len(value)
        try:
            return len(value.encode())
        except UnicodeEncodeError:
            return NOT_TEXT
    if kind is int:
        return NOT_NUMBER if value.bit_length() > INTEGER_BITS else 1 + value.bit_length() // 3
    if kind is float:
        return 8 if math.isfinite(value) else NOT_NUMBER
    return 4 if value is None or kind is bool else NOT_JSON


def _deny(name: str, tool: Tool, **params: Any) -> Deny:
    return Deny("arguments", Text(f"gate.arguments_{name}", tool=tool.name, **params))


def _invalid(tool: Tool, errors: list[ValidationError]) -> Deny:
    """Name the first error for the step by what the tool declares, and tell the agent of each in full."""
    first = errors[0]
    argument = _argument(tool, first)
    text = Text("gate.argument_invalid", tool=tool.name, argument=argument, keyword=first.kind.name)
    return Deny("arguments", text, tuple(_told(tool, error) for error in errors))


def _argument(tool: Tool, error: ValidationError) -> str:
    """Give the declared argument that an error is about; `?` when the name is not the tool's own."""
    name = error.kind.value if error.kind.name == "required" and not error.instance_path else _first(error)
    return name if name in tool.parameters.get("properties", {}) else "?"


def _first(error: ValidationError) -> str:
    return str(next(iter(error.instance_path), ""))


def _told(tool: Tool, error: ValidationError) -> Text:
    field = _short(".".join(str(step) for step in error.instance_path))
    keyword, value = error.kind.name, error.kind.value
    if keyword == "required":
        return Text("gate.argument_missing.told", tool=tool.name, argument=_joined(field, value))
    if keyword in {"additionalProperties", "unevaluatedProperties"}:
        known = sorted(tool.parameters.get("properties", {})) if not field else []
        names = _short(", ".join(_joined(field, name) for name in value))
        return Text("gate.argument_unknown.told", tool=tool.name, argument=names, known=known or ["-"])
    return Text(
        "gate.argument_invalid.told",
        tool=tool.name,
        argument=field or "-",
        given=_json(error.instance),
        keyword=keyword,
        accepted=_json(_accepted(tool.parameters, error)),
    )


def _joined(field: str, name: Any) -> str:
    return f"{field}.{name}" if field else str(name)


def _accepted(schema: Any, error: ValidationError) -> Any:
    """Give what the failing keyword demands, out of the tool's own schema where the path leads there."""
    for step in error.schema_path:
        try:
            schema = schema[step]
        except (KeyError, IndexError, TypeError):
            return error.kind.name
    return schema


def _json(value: Any) -> str:
    return _short(json.dumps(value, ensure_ascii=False, default=str))


def _short(text: str) -> str:
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}…"
