"""Fault points: named places between two writes at which a test may stop the process for good.

The product only reaches them; what happens there is handed in. The default does nothing.
"""

import os
import signal
from collections.abc import Callable, Mapping

__all__ = ["POINTS", "Reach", "from_environment", "nothing"]

Reach = Callable[[str], None]
"""Is called with the name of each fault point that is reached."""

POINTS = (
    "append.before_commit",
    "append.after_commit",
    "object.before_rename",
    "object.after_rename",
    "run.opened",
    "run.claimed",
    "model.before_send",
    "model.after_answer",
    "replay.before_send",
    "replay.after_answer",
    "context.compacted",
    "tool.before_call",
    "tool.after_call",
    "run.parked",
    "work.admitted",
    "work.child_opened",
    "hand_off.before_send",
    "hand_off.after_send",
    "hand_off.before_acknowledge",
    "hand_off.after_acknowledge",
    "timer.before_fire",
    "timer.after_fire",
    "run.before_close",
    "run.after_close",
    "dispatch.before_open",
    "dispatch.after_open",
    "outgoing.before_send",
    "outgoing.after_send",
)


def nothing(point: str) -> None:
    """Go on."""


def from_environment(environment: Mapping[str, str]) -> Reach:
    """Give what `INTERLOCK_FAULT` asks for: `point:n` kills this process the n-th time the point is reached.

    `*:n` counts every point. It is for tests of real processes; an unset variable gives `nothing`.
    """
    wanted = environment.get("INTERLOCK_FAULT")
    if not wanted:
        return nothing
    name, _, count = wanted.partition(":")
    left = int(count or 1)

    def reach(point: str) -> None:
        nonlocal left
        if name in {"*", point}:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return reach
