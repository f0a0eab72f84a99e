"""An action key: the text under which a write happens once, rendered from its tool's template (AC-3).

A template is literal text with placeholders, `{task_id}:refund_fee:{order_id}`: `task_id` is the root task, every other
one names an argument. Two different tuples of values never give the same key:

- A text is percent-encoded (RFC 3986), so that between two placeholders can stand a sign which no value holds.
- Everything else is written as canonical JSON, percent-encoded, with 50, 50.0 and 50.00 as the one number 50.
- A text that reads as such a value, `50` or `true`, has a `'` before it, as in a spreadsheet.
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
SEPARATING = re.compile(r"[^A-Za-z0-9_.~%'-]")
READS_AS_JSON = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|null|[\[{].*", re.DOTALL)
MARK = "'"
LONGEST = 256


def check_key(tool: Tool) -> None:
    """See that a tool which writes has a key that can be rendered from every call that its schema accepts.

    Raises InterlockError `tool.no_key`, `tool.bad_key`, `tool.key_argument` or `tool.key_reserved`.
    """
    if tool.key is None:
        if tool.effect in {"write", "destructive"}:
            raise InterlockError("tool.no_key", tool=tool.name)
        return
    if not _is_template(tool.key):
        raise InterlockError("tool.bad_key", tool=tool.name, value=str(tool.key))
    named, (declared, required) = PLACE.findall(tool.key), _arguments_of(tool.parameters)
    if TASK in declared and TASK in named:
        raise InterlockError("tool.key_reserved", tool=tool.name, value=TASK)
    for name in named:
        if name != TASK and name not in required:
            raise InterlockError("tool.key_argument", tool=tool.name, value=name, known=[TASK, *required])


def _arguments_of(schema: Any) -> tuple[list[str], list[str]]:
    """Give the names of all arguments, and of those that no call lacks; none where the schema is malformed."""
    parts = schema if isinstance(schema, Mapping) else {}
    declared, required = parts.get("properties"), parts.get("required")
    names = list(declared) if isinstance(declared, Mapping) else []
    return names, [name for name in names if isinstance(required, list | tuple) and name in required]


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
    if not isinstance(plain, str):
        return quote(canonical.encode(plain), safe="")
    mark = MARK if READS_AS_JSON.fullmatch(plain) else ""
    return mark + quote(plain.encode(errors="surrogatepass"), safe="")


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
