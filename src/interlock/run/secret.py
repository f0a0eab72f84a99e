"""A secret: resolved by name for one allowed call, and taken out of whatever comes back (GT-7)."""

from collections.abc import Mapping
from typing import Any

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
    """Give a JSON value in which each secret's value is replaced by its name, in keys and in texts."""
    if not secrets:
        return value
    if isinstance(value, str):
        for name, secret in sorted(secrets.items(), key=lambda item: -len(item[1])):  # one may begin another
            value = value.replace(secret, f"[secret {name}]")
        return value
    if isinstance(value, Mapping):
        return {redacted(key, secrets): redacted(inner, secrets) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(inner, secrets) for inner in value]
    return value
