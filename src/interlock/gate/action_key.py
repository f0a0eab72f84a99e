"""An action key: the text under which a write happens once, rendered from its tool's template (AC-3).

A template is literal text with placeholders, `{task_id}:refund_fee:{order_id}`: `task_id` is the root task, every other
one names an argument. Two different tuples of values never give the same key: a value is percent-encoded (RFC 3986),
and between two placeholders stands a sign that no encoded value holds.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from interlock import canonical
from interlock.errors import InterlockError
from interlock.gate.tool import Tool

__all__ = ["TASK", "check_key", "identity_of", "key_of"]

TASK = "task_id"
WHOLE = re.compile(r"(?:[^{}\x00-\x1f]|\{[A-Za-z_][A-Za-z0-9_]*\})+\Z")
PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
SEPARATING = re.compile(r"[^A-Za-z0-9_.~%-]")
LONGEST = 256


def check_key(tool: Tool) -> None:
    """See that a tool which writes has a key that can be rendered from every call that its schema accepts.

    Raises InterlockError `tool.no_key`, `tool.bad_key`, `tool.key_argument` or `tool.key_reserved`.
    """
    properties = tool.parameters.get("properties", {})
    if tool.key is None:
        if tool.effect in {"write", "destructive"}:
            raise InterlockError("tool.no_key", tool=tool.name)
        return
    if not _is_template(tool.key):
        raise InterlockError("tool.bad_key", tool=tool.name, value=str(tool.key))
    if TASK in properties and TASK in PLACE.findall(tool.key):
        raise InterlockError("tool.key_reserved", tool=tool.name, value=TASK)
    required = [name for name in tool.parameters.get("required", ()) if name in properties]
    for name in PLACE.findall(tool.key):
        if name != TASK and name not in required:
            raise InterlockError("tool.key_argument", tool=tool.name, value=name, known=[TASK, *required])


def _is_template(text: Any) -> bool:
    if not isinstance(text, str) or len(text) > LONGEST or not WHOLE.match(text):
        return False
    literals = PLACE.split(text)[::2]
    return len(literals) > 1 and all(SEPARATING.search(between) for between in literals[1:-1])


def key_of(tool: Tool, arguments: Mapping[str, Any], task: str) -> str:
    """Give the key of a call whose arguments the tool's schema accepts; `task` is the id of the root task."""
    values = {TASK: task}
    return PLACE.sub(
        lambda found: _shown(values.get(found[1], arguments.get(found[1]))),
        tool.key or f"{{{TASK}}}:{tool.name}",
    )


def _shown(value: Any) -> str:
    plain = _plain(value)
    text = plain if isinstance(plain, str) else canonical.encode(plain).decode()
    return quote(text.encode(errors="surrogatepass"), safe="")


def identity_of(tool: Tool, arguments: Mapping[str, Any]) -> bytes:
    """Give the canonical bytes of what makes a call the same action as another one under its key: the arguments that
    steer the effect, or all of them where the tool names none. What merely carries content may be worded anew, and
    50 is 50.00."""
    names = tool.steers or tuple(arguments)
    return canonical.encode({name: _plain(arguments[name]) for name in names if name in arguments})


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
