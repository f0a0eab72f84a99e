"""A secret: resolved by name for one allowed call, and taken out of whatever comes back (GT-7)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

from interlock.errors import InterlockError
from interlock.gate.tool import Tool
from interlock.settings import SecretGrant

__all__ = ["redacted", "resolve_secrets"]

SHORTEST = 4
"""A shorter value would be found in innocent text everywhere, and is no secret."""


def resolve_secrets(
    tool: Tool, grants: Mapping[str, SecretGrant], environment: Mapping[str, str]
) -> dict[str, str]:
    """Give the secrets a tool declares, by name.

    Raises InterlockError `secret.not_granted` or `secret.missing`, naming the secret and never its value.
    """
    found = {}
    for name in tool.secrets:
        grant = grants.get(name)
        if grant is None or tool.name not in grant.tools:
            raise InterlockError("secret.not_granted", secret=name, tool=tool.name)
        value = environment.get(grant.variable)
        if not value or len(value) < SHORTEST:
            raise InterlockError("secret.missing", secret=name, variable=grant.variable)
        found[name] = value
    return found


def redacted(value: Any, secrets: Mapping[str, str]) -> Any:
    """Give a JSON value in which each secret's value is replaced by its name: in keys, in texts and as a number,
    also where it stands escaped as in JSON, in Python's notation or in a URL. Other codings of it are not
    recognised."""
    if not secrets:
        return value
    forms = {form: name for name, secret in secrets.items() for form in _forms_of(secret)}
    return _redacted(value, sorted(forms.items(), key=lambda item: -len(item[0])))  # one may begin another


def _forms_of(secret: str) -> set[str]:
    escaped = json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1]
    return {secret, *escaped, quote(secret), quote(secret, safe=""), quote_plus(secret)}


def _redacted(value: Any, forms: Sequence[tuple[str, str]]) -> Any:
    if isinstance(value, str):
        for form, name in forms:
            value = value.replace(form, f"[secret {name}]")
        return value
    if isinstance(value, Mapping):
        return {_redacted(key, forms): _redacted(inner, forms) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(inner, forms) for inner in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return next((f"[secret {name}]" for form, name in forms if form == str(value)), value)
    return value
