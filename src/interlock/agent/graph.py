"""A graph of agents, drawn: who starts whom by which event, what lies on a loop, what the barrier refuses.

A picture is a value; `as_text`, `as_mermaid` and its `as_dict` draw it. The same agents give the same
picture.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import rustworkx

from interlock.agent.data_flow import carried_labels
from interlock.agent.spec import Emission, Spec
from interlock.agent.wiring import Wiring, lets_out, source_places
from interlock.catalogue import Text, say
from interlock.scope.barrier import Refusal, barrier
from interlock.scope.label import Vocabulary
from interlock.scope.scope import INSTALLATION, Address, Scope

__all__ = ["Edge", "Picture", "as_mermaid", "as_text", "draw"]

AGENTS_DRAWN = 300
EDGES_DRAWN = 2_000


@dataclass(frozen=True, slots=True)
class Edge:
    """An event that starts an agent. `loop`: it lies on a loop; `own`: it is the agent's own and starts
    nothing; `refusal`: why the barrier opens no run, when the event exposes artifacts."""

    source: Address
    event: str
    listener: Address
    refusal: Refusal | None = None
    loop: bool = False

    @property
    def own(self) -> bool:
        """Whether the agent hears itself."""
        return self.source == self.listener


@dataclass(frozen=True, slots=True)
class Picture:
    """The agents drawn, by address, and the edges between them; and how many agents a bound left out.

    edges_left_out: whether there are more edges among the drawn agents than were drawn. Loops are those among
    what is drawn.
    """

    agents: tuple[Address, ...]
    edges: tuple[Edge, ...]
    agents_left_out: int = 0
    edges_left_out: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Give the picture as plain values, for `--json` and for a page."""
        return {
            "agents": [str(agent) for agent in self.agents],
            "edges": [_edge_form(edge) for edge in self.edges],
            "agents_left_out": self.agents_left_out,
            "edges_left_out": self.edges_left_out,
        }

    @property
    def notes(self) -> list[Text]:
        """What the picture says about what it does not show."""
        notes = []
        if self.agents_left_out:
            notes.append(Text("graph.agents_left_out", count=self.agents_left_out, drawn=len(self.agents)))
        if self.edges_left_out:
            notes.append(Text("graph.edges_left_out", drawn=len(self.edges)))
        return notes


def _edge_form(edge: Edge) -> dict[str, Any]:
    return {
        "source": str(edge.source),
        "event": edge.event,
        "listener": str(edge.listener),
        "loop": edge.loop,
        "own_event": edge.own,
        "refused": edge.refusal and {"rule": edge.refusal.rule, **edge.refusal.text},
    }


def draw(
    specs: Collection[Spec],
    vocabulary: Vocabulary,
    readable: Collection[Scope] = (INSTALLATION,),
    agents: int = AGENTS_DRAWN,
    edges: int = EDGES_DRAWN,
) -> Picture:
    """Draw what a reader of the scopes `readable` may read, at most so many `agents` and `edges`."""
    seen = sorted(
        (spec for spec in specs if any(scope.reaches(spec.scope) for scope in readable)),
        key=lambda spec: spec.address,
    )
    drawn = seen[:agents]
    found = list(islice(_edges(drawn, vocabulary), edges + 1))
    return Picture(
        tuple(spec.address for spec in drawn),
        tuple(_with_loops(found[:edges])),
        len(seen) - len(drawn),
        len(found) > edges,
    )


def _edges(specs: list[Spec], vocabulary: Vocabulary) -> Iterator[Edge]:
    wiring = Wiring(specs)
    for spec in specs:
        for emission in sorted(spec.emits, key=lambda emission: emission.event):
            for listener in _heard_by(wiring, spec, emission):
                labels = carried_labels(spec)
                moved = bool(emission.artifacts) and listener != spec.address
                refusal = barrier(labels, listener.scope, vocabulary) if moved else None
                yield Edge(spec.address, emission.event, listener, refusal)


def _heard_by(wiring: Wiring, spec: Spec, emission: Emission) -> list[Address]:
    found = {
        listener
        for place in source_places(spec.scope)
        for listener in wiring.listeners(emission.event, place)
    }
    return sorted(listener for listener in found if lets_out(emission.to, listener.scope))


def _with_loops(edges: list[Edge]) -> Iterator[Edge]:
    names = sorted({edge.source for edge in edges} | {edge.listener for edge in edges})
    number = {name: index for index, name in enumerate(names)}
    graph = rustworkx.PyDiGraph(multigraph=False)
    graph.add_nodes_from(names)
    graph.add_edges_from_no_data([(number[edge.source], number[edge.listener]) for edge in edges])
    component = {
        node: index
        for index, group in enumerate(rustworkx.strongly_connected_components(graph))
        for node in group
    }
    for edge in edges:
        together = component[number[edge.source]] == component[number[edge.listener]]
        yield Edge(edge.source, edge.event, edge.listener, edge.refusal, together and not edge.own)


def _mark(edge: Edge, language: str) -> str:
    marks = []
    if edge.loop:
        marks.append(say("graph.loop", language))
    if edge.own:
        marks.append(say("graph.own_event", language))
    if edge.refusal:
        marks.append(
            say("graph.refused", language, label=edge.refusal.label, target=str(edge.refusal.target))
        )
    return f"  [{'; '.join(marks)}]" if marks else ""


def as_text(picture: Picture, language: str = "en") -> str:
    """Give the picture as lines: each agent, and under it whom its events start."""
    by_source: dict[Address, list[Edge]] = {}
    for edge in picture.edges:
        by_source.setdefault(edge.source, []).append(edge)
    lines = [] if picture.agents else [say("graph.empty", language)]
    for agent in picture.agents:
        lines.append(str(agent))
        lines.extend(
            f"  {edge.event} → {edge.listener}{_mark(edge, language)}" for edge in by_source.get(agent, ())
        )
    return "\n".join(lines + [say(note, language) for note in picture.notes]) + "\n"


def as_mermaid(picture: Picture, language: str = "en") -> str:
    """Give the picture as a Mermaid flowchart: thick for a loop, dotted for what starts nothing."""
    number = {agent: index for index, agent in enumerate(picture.agents)}
    lines = ["flowchart LR"]
    lines.extend(f'  a{index}["{_escaped(agent)}"]' for agent, index in number.items())
    for edge in picture.edges:
        label = _escaped(edge.event + _mark(edge, language))
        arrow = "-.->" if edge.refusal or edge.own else "==>" if edge.loop else "-->"
        lines.append(f'  a{number[edge.source]} {arrow}|"{label}"| a{number[edge.listener]}')
    lines.extend(f"  %% {say(note, language)}" for note in picture.notes)
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Give text as a Mermaid label: what the language reads as its own is written as a character entity."""
    return "".join(
        character if character.isalnum() or character in " @/._-:;*[]→⟲✗,()" else f"#{ord(character)};"
        for character in text
    )
