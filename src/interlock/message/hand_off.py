"""A hand-off: a task moves to another owner with a package, and is acknowledged or falls back to people (MS-5,
MS-7)."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["ACTION_OUTCOMES", "package_of", "shown_package"]

ACTION_OUTCOMES = ("done", "failed", "in_doubt", "claimed")


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


def shown_package(
    package: Mapping[str, Any], sender: str, attachments: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Give what the receiver's prompt begins with."""
    shown = {"handed_over_by": sender, **package}
    return {**shown, "attachments": list(attachments)} if attachments else shown
