"""A work: what a fold over a run's trail gives of one revision of its work graph (WG-1, WG-4).

Nothing here reads or writes. What the steps say is kept in their order; `interlock.run.working` plays it into a
progress, live or after a crash.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.gate.budget import Usage
from interlock.work_graph.progress import Progress

__all__ = ["Work", "play"]


@dataclass(slots=True)
class Work:
    """One revision of a run's work graph.

    call: the call that it was planned with. graph: the digest of the graph. began_at: when it was admitted. told: the
    steps about it, each with its time. children: the child runs that are under way, with their nodes. lent: by child
    run, what of the run's budget it may use, or has used. over: whether all of it is settled.
    """

    revision: int
    call: str
    graph: str
    began_at: int
    told: list[tuple[str, dict[str, Any], int]] = field(default_factory=list)
    children: dict[str, str] = field(default_factory=dict)
    lent: dict[str, Usage] = field(default_factory=dict)
    over: bool = False

    def take(self, kind: str, body: dict[str, Any], at: int) -> None:
        """Move by one step."""
        self.told.append((kind, body, at))
        run = body.get("run")
        if run is None:
            return
        if kind == "work.started":
            self.children[run] = body["node"]
            self.lent[run] = Usage(**body["budget"])
        elif kind == "work.ended":
            self.children.pop(run, None)
            if "usage" in body:
                self.lent[run] = Usage(**body["usage"])


def play(progress: Progress, kind: str, body: Mapping[str, Any], at: int) -> None:
    """Move a progress by one step about its graph."""
    node = body["node"]
    match kind:
        case "work.started":
            progress.start(node, at, body.get("run", ""), body.get("call", ""))
        case "work.ended":
            artifacts = {item["name"]: item for item in body.get("artifacts", ())}
            labels, missing = frozenset(body.get("labels", ())), tuple(body.get("missing", ()))
            progress.end(node, body["outcome"], artifacts, labels, missing, body.get("reason"))
        case "work.kept":
            artifacts = {item["name"]: item for item in body.get("artifacts", ())}
            progress.keep(node, body["attempt"], artifacts, frozenset(body.get("labels", ())), at)
        case "work.skipped":
            progress.skip(node, body.get("because", ""))
