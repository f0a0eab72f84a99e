"""A scene: random graphs, and playing one through against a story of what comes of each attempt."""

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies

from interlock.work_graph.node import Node
from interlock.work_graph.progress import GiveUp, JoinUp, Progress, Skip, Start
from interlock.work_graph.reader import graph_of
from interlock.work_graph.work_graph import WorkGraph

FUNCTION = "work:do"


def function(name: str, *needs: Any, **more: Any) -> dict[str, Any]:
    """Give a node that a function does."""
    return {"name": name, "kind": "function", "function": FUNCTION, "needs": list(needs), **more}


def join(name: str, *needs: Any, **more: Any) -> dict[str, Any]:
    """Give a node that joins."""
    return {"name": name, "kind": "join", "needs": list(needs), **more}


def graph(*nodes: dict[str, Any], **more: Any) -> WorkGraph:
    """Give a graph of nodes."""
    return graph_of({"nodes": list(nodes), **more})


@strategies.composite
def graphs(draw: Any, most: int = 14) -> WorkGraph:
    """Any graph of functions and joins, some of them with further attempts."""
    nodes = []
    for at in range(draw(strategies.integers(1, most))):
        needs = draw(strategies.lists(strategies.integers(0, at - 1), unique=True, max_size=4)) if at else []
        named = [f"n{index}" for index in needs]
        if needs and draw(strategies.booleans()):
            nodes.append(join(f"n{at}", *named))
        else:
            nodes.append(function(f"n{at}", *named, attempts=draw(strategies.integers(1, 3))))
    order = draw(strategies.permutations(nodes))
    return graph_of({"nodes": order})


Story = Callable[[Node, int], str]
"""What comes of the attempt at a node of that number."""


def play(
    progress: Progress, story: Story, watch: Callable[[Progress], None] = lambda _: None
) -> Iterator[str]:
    """Go through a graph, one attempt after the other, and give the names as their attempts begin."""
    while not progress.over:
        while steps := progress.steps(0):
            for step in steps:
                match step:
                    case Start(name, number):
                        assert progress.start(name, 0).number == number
                        yield name
                    case JoinUp(name, _, missing):
                        progress.start(name, 0)
                        progress.end(name, "done", missing=missing)
                    case Skip(name, because):
                        progress.skip(name, because)
                    case GiveUp(name, outcome):
                        progress.end(name, outcome)
                watch(progress)
        if progress.over:
            return
        assert progress.running, "it waits for nothing"
        first = next(iter(progress.running.values()))
        progress.end(first.node, story(progress.graph.by_name[first.node], first.number))
        watch(progress)
