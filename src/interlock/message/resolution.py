"""A resolution: which side of a conflict stands: by its evidence, or by the decision of a named judge (RS-3)."""

from dataclasses import dataclass
from typing import Any, Literal

from interlock.catalogue import Text

__all__ = ["Resolution", "Ruling"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a judge decided on the conflict with a key: the value of the side that stands, and why.

    judge: the address of the agent that was named for it. Who may be named is for the caller to hold.
    """

    judge: str
    conflict: str
    value: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The number of the side that stands, how it was found, and the reason for a reader: a sentence if it was read back
    from where it stood as one."""

    side: int
    how: Literal["evidence", "judge"]
    reason: Text | str

    def as_dict(self) -> dict[str, Any]:
        """Give the exact values."""
        return {"side": self.side, "how": self.how, "reason": self.reason}
