"""A hand-off: a task moves to another owner with a package, and is acknowledged or falls back to people (MS-5,
MS-7)."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["package_of"]


def package_of(
    said: Mapping[str, Any], actions: Sequence[Mapping[str, Any]], goal: str | None
) -> dict[str, Any]:
    """Give the package: what the sender said, with the actions as the action ledger has them.

    What a model remembers of actions is no part of what it can say, so the ledger cannot be contradicted by it.
    `goal` is
    the goal of an earlier hand-off of the same task or the person's own brief; it stands, in the user's words, in place
    of what the sender made of it.
    """
    return {
        "goal": said["goal"] if goal is None else goal,
        "facts": list(said.get("facts", ())),
        "actions": [dict(action) for action in actions],
        "remains": list(said.get("remains", ())),
        "constraints": list(said.get("constraints", ())),
        "reason": said["reason"],
    }
