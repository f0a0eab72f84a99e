"""A tool's callable, and the toolbox: the set of tools an installation has, by name."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, cast, overload

from interlock import canonical
from interlock.catalogue import Text
from interlock.errors import InterlockError
from interlock.gate.action_key import check_key
from interlock.gate.tool import EFFECTS, PLATFORM_NAMES, Effect, Tool
from interlock.scope.scope import NAME, Scope

__all__ = ["BoundTool", "NotDone", "ToolCall", "Toolbox", "tool"]


class NotDone(Exception):  # noqa: N818  it is what the tool says, not a fault
    """Raised by a tool that writes: surely nothing was done. Its words are told to the agent, and the action may be
    tried anew. After any other exception, and after a time-out, nobody knows whether the effect took place."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a tool may know of the call it serves; a tool takes it as its first parameter if it wants it.

    `secrets` holds just those the tool declared and was granted, resolved after the Gate's allow. `idempotency_key`
    is the key of the action, to be handed on to the outside, for a tool that declares `takes_key`: with the company in
    front where the key does not name the task, and at most 255 characters long.
    """

    run: str
    agent: str
    task: str
    deadline: int
    idempotency_key: str = ""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A declaration with the callable behind it. It is async, takes keyword arguments, gives a JSON value."""

    declaration: Tool
    function: Callable[..., Awaitable[Any]]
    wants_call: bool = False

    async def __call__(self, call: ToolCall, arguments: Mapping[str, Any]) -> Any:
        """Do the call."""
        if self.wants_call:
            return await self.function(call, **arguments)
        return await self.function(**arguments)


@overload
def tool(function: Callable[..., Awaitable[Any]], /) -> BoundTool: ...
@overload
def tool(
    *,
    name: str | None = None,
    effect: Effect | None = None,
    steers: Iterable[str] = (),
    labels: Iterable[str] = ("untrusted",),
    fields: Mapping[str, Iterable[str]] | None = None,
    leaves: bool = False,
    destination: str | None = None,
    secrets: Iterable[str] = (),
    timeout_ms: int = 60_000,
    key: str | None = None,
    takes_key: bool = False,
    parameters: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Awaitable[Any]]], BoundTool]: ...
def tool(function: Callable[..., Awaitable[Any]] | None = None, /, **declared: Any) -> Any:
    """Declare an async function as a tool; the arguments are those of `interlock.gate.tool.Tool`.

    The JSON Schema of the arguments is taken from the annotations unless `parameters` gives it, the
    description from the docstring. A tool without `effect` can be registered, but the Gate never lets it
    run (GT-3). Raises InterlockError `tool.not_async`, `tool.malformed_name`, `tool.unknown_effect` (with
    `_near` when a known one is meant), `tool.bad_timeout`, `tool.unknown_steering`, `tool.no_schema`,
    `tool.takes_no_key`, and what `interlock.gate.action_key.check_key` says of the key.
    """
    if function is not None:
        return _bind(function, {})
    return lambda function: _bind(function, declared)


def _bind(function: Callable[..., Awaitable[Any]], declared: dict[str, Any]) -> BoundTool:
    name = declared.get("name") or function.__name__
    if not inspect.iscoroutinefunction(function):
        raise InterlockError("tool.not_async", tool=name)
    if not NAME.match(name.replace("_", "-")):
        raise InterlockError("tool.malformed_name", value=name)
    _check_effect(name, declared.get("effect"))
    timeout_ms = declared.get("timeout_ms", 60_000)
    if type(timeout_ms) is not int or timeout_ms < 1:
        raise InterlockError("tool.bad_timeout", tool=name, value=timeout_ms)
    wants_call = _wants_call(function)
    given = declared.get("parameters")
    parameters = _schema(function, name, wants_call) if given is None else given
    _check_schema(name, parameters)
    steers = tuple(declared.get("steers", ()))
    known = parameters.get("properties", {})
    for argument in steers:
        if argument not in known:
            raise InterlockError("tool.unknown_steering", tool=name, value=argument, known=sorted(known))
    destination = declared.get("destination")
    bound = BoundTool(
        Tool(
            name=name,
            description=inspect.getdoc(function) or "",
            parameters=parameters,
            effect=declared.get("effect"),
            steers=steers,
            labels=frozenset(declared.get("labels", ("untrusted",))),
            fields={path: frozenset(labels) for path, labels in (declared.get("fields") or {}).items()},
            leaves=declared.get("leaves", False),
            destination=Scope(destination) if destination is not None else None,
            secrets=tuple(declared.get("secrets", ())),
            timeout_ms=timeout_ms,
            key=declared.get("key"),
            takes_key=declared.get("takes_key", False),
        ),
        function,
        wants_call,
    )
    _check_key(bound)
    return bound


def _check_key(bound: BoundTool) -> None:
    """Refuse a key that is not sound, and a tool that says it hands its key on and has none, or cannot be told it."""
    declared = bound.declaration
    check_key(declared)
    if declared.takes_key and (declared.key is None or not bound.wants_call):
        raise InterlockError("tool.takes_no_key", tool=declared.name)


def _check_effect(name: str, effect: Any) -> None:
    if effect is None or effect in EFFECTS:
        return
    near = get_close_matches(str(effect), EFFECTS, n=1)
    code = "tool.unknown_effect_near" if near else "tool.unknown_effect"
    raise InterlockError(code, tool=name, value=str(effect), near="".join(near), known=list(EFFECTS))


def _check_schema(name: str, schema: Any) -> None:
    """Refuse what is no JSON Schema of an object; the Gate judges whether all it says can be used."""
    try:
        canonical.encode_foreign(schema)
    except (TypeError, ValueError, RecursionError):
        raise InterlockError("tool.no_schema", tool=name, why=Text("tool.why_not_json")) from None
    if not isinstance(schema, dict):
        raise InterlockError("tool.no_schema", tool=name, why=Text("tool.why_not_json"))
    properties = schema.get("properties", {})
    if (
        schema.get("type", "object") != "object"
        or not isinstance(properties, dict)
        or not all(isinstance(inner, dict | bool) for inner in properties.values())
    ):
        raise InterlockError("tool.no_schema", tool=name, why=Text("tool.why_not_object"))


def _wants_call(function: Callable[..., Any]) -> bool:
    first = next(iter(inspect.signature(function).parameters.values()), None)
    return first is not None and first.annotation in {ToolCall, "ToolCall"}


def _schema(function: Callable[..., Any], name: str, wants_call: bool) -> dict[str, Any]:
    from pydantic.errors import PydanticUserError  # noqa: PLC0415  costs 100 ms: not before a tool needs it

    try:
        schema = _without_call(function) if wants_call else _schema_of(function)
    except (PydanticUserError, NameError, TypeError) as error:
        raise InterlockError(
            "tool.no_schema", tool=name, why=Text("tool.why_annotation", error=str(error))
        ) from None
    if schema.get("type") != "object":
        raise InterlockError("tool.no_schema", tool=name, why=Text("tool.why_variadic"))
    return schema


def _schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415  as above

    adapter: TypeAdapter[Any] = TypeAdapter(cast(Any, function))
    return adapter.json_schema()


def _without_call(function: Callable[..., Any]) -> dict[str, Any]:
    async def without(**_: Any) -> None: ...

    signature = inspect.signature(function)
    without.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]
    without.__annotations__ = {
        key: value
        for key, value in inspect.get_annotations(function).items()
        if value not in {ToolCall, "ToolCall"}
    }
    return _schema_of(without)


class Toolbox:
    """The tools of an installation, by name."""

    def __init__(self, tools: Iterable[BoundTool] = ()) -> None:
        self._tools: dict[str, BoundTool] = {}
        for item in tools:
            self.add(item)

    def add(self, item: BoundTool) -> None:
        """Register a tool.

        Raises InterlockError `tool.doubled` when another one has its name, `tool.reserved_name` when one of the
        platform's own has it, and what is said of its key, whoever wrote it.
        """
        _check_key(item)
        if item.declaration.name in PLATFORM_NAMES:
            raise InterlockError(
                "tool.reserved_name", value=item.declaration.name, known=sorted(PLATFORM_NAMES)
            )
        if self._tools.setdefault(item.declaration.name, item) is not item:
            raise InterlockError("tool.doubled", value=item.declaration.name)

    def get(self, name: str) -> BoundTool | None:
        """Give the tool of that name, or None."""
        return self._tools.get(name)

    @property
    def declarations(self) -> Mapping[str, Tool]:
        """The declarations of all tools, by name."""
        return {name: item.declaration for name, item in self._tools.items()}
