"""A policy: a rule the installation adds to the Gate; it can only make a call harder."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Policy"]


@dataclass(frozen=True, slots=True)
class Policy:
    """A rule of the installation: which calls a person must see first, or nobody may make.

    name: what a verdict calls it. verdict: `ask` or `deny`. scope: where it holds, with everything below it.
    tool: the tool it is about; any when it names none. effect: the effect it is about; any when it names none.
    """

    name: str
    verdict: Literal["ask", "deny"]
    scope: str = "*"
    tool: str | None = None
    effect: str | None = None
