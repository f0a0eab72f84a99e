"""A work picture: what became of a run's work graph, node by node, read from stored steps alone (WG-4).

It says which edge let which artifact into which prompt: by name with the first request of a child run, and with its
content from the request after it was read.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.catalogue import Text, say
from interlock.run.installation import Installation
from interlock.run.reckoning import why_not
from interlock.run.run import TRAIL, Run, fold
from interlock.run.work import Work, play
from interlock.work_graph.node import Node
from interlock.work_graph.progress import Progress
from interlock.work_graph.work_graph import WorkGraph

__all__ = ["MARKS", "Prompted", "Tried", "WorkPicture", "as_mermaid", "pictures_of"]

BROKEN = frozenset({"failed", "skipped"})


@dataclass(frozen=True, slots=True)
class Prompted:
    """A request of a child run: its number and snapshot; the artifacts that it names, and those whose content it has,
    by the names of its edges."""

    n: int
    snapshot: str
    named: tuple[str, ...]
    content: tuple[str, ...]


@dataclass(slots=True)
class Tried:
    """An attempt at a node. edges: what was let in, as the step keeps it. kept: from which revision it is kept, else 0.
    run: the child run, if it has one. outcome: empty as long as it is under way."""

    number: int
    edges: list[dict[str, Any]]
    kept: int = 0
    run: str = ""
    call: str = ""
    outcome: str = ""
    reason: dict[str, Any] | None = None
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    prompts: list[Prompted] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class WorkPicture:
    """One revision of a run's work graph, with what became of each node. `states` and `why` are by node."""

    run: str
    work: Work
    graph: WorkGraph
    status: str
    states: Mapping[str, str]
    why: Mapping[str, Text]
    tried: Mapping[str, list[Tried]]

    def as_dict(self, language: str = "en") -> dict[str, Any]:
        """Give the picture as plain values, with reasons in a language."""
        return {
            "run": self.run,
            "revision": self.work.revision,
            "call": self.work.call,
            "graph": self.work.graph,
            "status": self.status,
            "nodes": [self._node(node, language) for node in self.graph.nodes],
        }

    def _node(self, node: Node, language: str) -> dict[str, Any]:
        form: dict[str, Any] = {"node": node.name, "kind": node.kind, "state": self.states[node.name]}
        form["needs"] = [edge.as_dict() for edge in node.needs]
        if node.name in self.why:
            form["why"] = say(self.why[node.name], language)
        form["attempts"] = [_attempt(item, language) for item in self.tried[node.name]]
        return form


def _attempt(tried: Tried, language: str) -> dict[str, Any]:
    form: dict[str, Any] = {"attempt": tried.number, "outcome": tried.outcome, "edges": tried.edges}
    more: dict[str, Any] = {"kept": tried.kept, "run": tried.run, "call": tried.call}
    more |= {"artifacts": tried.artifacts, "missing": tried.missing}
    more["why"] = say(tried.reason, language) if tried.reason else ""
    more["prompts"] = [
        {"n": item.n, "snapshot": item.snapshot, "named": list(item.named), "content": list(item.content)}
        for item in tried.prompts
    ]
    return form | {key: value for key, value in more.items() if value}


async def pictures_of(installation: Installation, run: str) -> list[WorkPicture]:
    """Give all revisions of a run's work graph, the first one first. Raises InterlockError `ledger.damaged`."""
    state = fold(await installation.ledger.read(run, 0, TRAIL), run)
    return [await _picture(installation, state, work) for work in state.works]


async def _picture(installation: Installation, run: Run, work: Work) -> WorkPicture:
    graph = WorkGraph.from_dict(json.loads(await installation.contents.read(work.graph)))
    progress = Progress(graph, len(graph.nodes), work.began_at)
    tried: dict[str, list[Tried]] = {node.name: [] for node in graph.nodes}
    for kind, body, at in work.told:
        play(progress, kind, body, at)
        _take(tried[body["node"]], kind, body)
    for items in tried.values():
        for item in items:
            if item.run:
                item.prompts = await _prompts(installation, item.run, item.edges)
    undone = [name for name, found in progress.states.items() if found in BROKEN]
    return WorkPicture(
        run.id,
        work,
        graph,
        progress.status if progress.over else "open",
        progress.states,
        {name: why_not(progress, name) for name in undone},
        tried,
    )


def _take(tried: list[Tried], kind: str, body: Mapping[str, Any]) -> None:
    if kind == "work.skipped":
        return
    if kind == "work.ended":
        last = tried[-1]
        last.outcome, last.reason = body["outcome"], body.get("reason")
        last.artifacts, last.missing = list(body.get("artifacts", ())), list(body.get("missing", ()))
        return
    item = Tried(
        body["attempt"], list(body.get("edges", ())), run=body.get("run", ""), call=body.get("call", "")
    )
    if kind == "work.kept":
        item.kept, item.outcome, item.artifacts = body["of"], "done", list(body.get("artifacts", ()))
    tried.append(item)


async def _prompts(installation: Installation, child: str, edges: list[dict[str, Any]]) -> list[Prompted]:
    named = tuple(edge["name"] for edge in edges)
    read: list[str] = []
    found = []
    for step in await installation.ledger.read(child, 0, TRAIL):
        body = step.body
        if step.kind == "model.asked" and "writing" not in body:
            found.append(Prompted(body["n"], body["snapshot"], named, tuple(dict.fromkeys(read))))
        elif step.kind == "tool.answered" and "slice" in body:
            read += [edge["name"] for edge in edges if edge["digest"] == body["result"]]
    return found


# Drawn


MARKS = {"done": "✓", "failed": "✗", "skipped": "–", "running": "…", "waiting": " "}


def as_mermaid(picture: WorkPicture, language: str = "en") -> str:
    """Give the picture as a Mermaid flowchart: an edge is solid once it let its artifact in; what failed or was skipped
    is dashed."""
    number = {node.name: index for index, node in enumerate(picture.graph.nodes)}
    lines = ["flowchart LR"]
    if any(not edge.source for node in picture.graph.nodes for edge in node.needs):
        lines.append(f'  root["{say("work.root", language)}"]')
    for node in picture.graph.nodes:
        state = picture.states[node.name]
        mark = MARKS[state].strip()
        lines.append(f'  n{number[node.name]}["{f"{mark} " if mark else ""}{node.name}<br/>{node.kind}"]')
        if state in BROKEN:
            lines.append(f"  style n{number[node.name]} stroke-dasharray: 4")
    for node in picture.graph.nodes:
        let_in = {
            (item["from"], item["artifact"]) for tried in picture.tried[node.name] for item in tried.edges
        }
        for edge in node.needs:
            source = f"n{number[edge.source]}" if edge.source else "root"
            arrow = "-->" if (edge.source, edge.artifact) in let_in else "-.->"
            lines.append(f'  {source} {arrow}|"{edge.artifact}"| n{number[node.name]}')
    return "\n".join(lines) + "\n"
