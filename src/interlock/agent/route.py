"""A route: the shortest way by which one agent's events come round to another's start, and the first by name.

The search is breadth-first from both ends (Pohl, "Bi-directional Search", 1971): each end takes a whole
level at a time, and the end that has examined fewer edges goes next, so that a dead end on either side ends
it at once. An event that thousands emit and thousands hear stands for more edges than could ever be walked.
So a list of listeners is read once a search; what stays in it is only what some other emitter might still
reach.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Set
from dataclasses import dataclass, field

from interlock.agent.spec import Emission, Trigger
from interlock.agent.wiring import Graph, Wired, heard_places, lets_out, source_places
from interlock.scope.scope import Address, Scope

__all__ = ["GOAL", "BoundReachedError", "Route", "RouteSearch", "Spending", "Standing"]

GOAL: Address = str.__new__(Address, "")
"""The judged agent as the end of a route, an address nobody can have; as its beginning it has its own."""

Route = tuple[Address, ...]
"""Addresses in order, ending in `GOAL`."""

Key = tuple[str, str]
Sender = tuple[Address, tuple[Scope, ...]]
Unheard = dict[Key, Collection[Address]]
Unsent = dict[Key, Collection[Sender]]


class BoundReachedError(Exception):
    """The bound on examined edges is reached."""


@dataclass(slots=True)
class Spending:
    """How many edges were examined, and how many may be. Rejected ones count, for they cost as much."""

    bound: int
    examined: int = 0

    def spend(self, edges: int = 1) -> None:
        """Count edges before they are examined. Raises BoundReachedError when there are not so many left."""
        if self.examined + edges > self.bound:
            raise BoundReachedError
        self.examined += edges


class Standing:
    """The wiring as it will stand: the judged version in place of the agent's current one (LP-3)."""

    def __init__(self, graph: Graph, judged: Wired) -> None:
        self._graph = graph
        self._judged = judged
        self.address = judged.address
        self._places: dict[str, tuple[Scope, tuple[str, ...]]] = {}
        self._heard = self._hears(judged.starts_on)
        self._emitted = self._sends(judged.emits)
        self._heard_now = self._hears(graph.triggers(self.address))
        self._emitted_now = self._sends(graph.emissions(self.address))

    def _hears(self, triggers: Iterable[Trigger]) -> set[Key]:
        scope, _ = self.place(GOAL)
        return {(trigger.event, place) for trigger in triggers for place in heard_places(trigger, scope)}

    def _sends(self, emissions: Iterable[Emission]) -> dict[Key, list[Sender]]:
        sent: dict[Key, list[Sender]] = {}
        for emission in emissions:
            for place in self.place(GOAL)[1]:
                sent.setdefault((emission.event, place), []).append((self.address, emission.to))
        return sent

    def place(self, node: Address) -> tuple[Scope, tuple[str, ...]]:
        """Give the scope of an agent, or of the goal, and the places under which its events are found."""
        text = (node or self.address).partition("@")[2]
        if text not in self._places:
            scope = Scope(text)
            self._places[text] = scope, source_places(scope)
        return self._places[text]

    def emissions(self, node: Address) -> Iterable[Emission]:
        """Give what an agent emits."""
        return self._judged.emits if node == self.address else self._graph.emissions(node)

    def triggers(self, node: Address) -> Iterable[Trigger]:
        """Give what starts an agent, or the goal."""
        return self._judged.starts_on if node == GOAL else self._graph.triggers(node)

    def fan_out(self, node: Address) -> int:
        """Give how many listeners an agent may have at most; one who is heard twice counts twice."""
        _, places = self.place(node)
        return sum(
            ((emission.event, place) in self._heard) + len(self._graph.listeners(emission.event, place))
            for emission in self.emissions(node)
            for place in places
        )

    def listeners(self, key: Key) -> Collection[Address]:
        """Give who hears an event from a place; the judged version, first, as the goal."""
        found = self._graph.listeners(*key)
        if key in self._heard_now:
            found = [address for address in found if address != self.address]
        return (GOAL, *found) if key in self._heard else found

    def emitters(self, key: Key) -> Collection[Sender]:
        """Give who emits an event under a place, with their `to:`; the judged version first."""
        found = self._graph.emitters(*key)
        if key in self._emitted_now:
            found = [sender for sender in found if sender[0] != self.address]
        return (*self._emitted[key], *found) if key in self._emitted else found


@dataclass(slots=True)
class RouteSearch:
    """One search from `source` to the goal, beginning with no edge to a `banned` agent.

    `blocked` tells of an address whether the route must avoid it. After BoundReachedError, `partial` still
    gives what was found.
    """

    graph: Standing
    source: Address
    banned: Set[Address]
    blocked: Callable[[Address], bool]
    spending: Spending
    ahead: dict[Address, int] = field(default_factory=dict)
    behind: dict[Address, int] = field(default_factory=dict)
    came_from: dict[Address, Address] = field(default_factory=dict)
    goes_to: dict[Address, Address] = field(default_factory=dict)
    met: list[Address] = field(default_factory=list)

    def first(self, name: Callable[[Address], str]) -> Route | None:
        """Give the shortest route whose agents' names come first; None if there is none.

        `name` gives the name shown for an agent. Raises BoundReachedError.
        """
        return self._first_by_name(name) if self._meet() else None

    def partial(self, name: Callable[[Address], str], count: int) -> list[Route]:
        """Give one shortest route through each of the first `count` meeting points, by name, found so far."""
        nearest = sorted(self.met, key=lambda node: (name(node), node))[:count]
        return [self._through(node) for node in nearest]

    def _meet(self) -> bool:
        front, rear = [self.source], [GOAL]
        self.ahead[self.source] = self.behind[GOAL] = 0
        heard: Unheard = {}
        sent: Unsent = {}
        forward = backward = 0
        while front and rear and not self.met:
            before = self.spending.examined
            if forward <= backward:
                front = [found for node in front for found in self._discover_ahead(node, heard)]
                forward += self.spending.examined - before
            else:
                rear = [found for node in rear for found in self._discover_behind(node, sent)]
                backward += self.spending.examined - before
        return bool(self.met)

    def _discover_ahead(self, node: Address, unread: Unheard) -> Iterator[Address]:
        for listener in self._onward(node, unread, self.ahead):
            self.ahead[listener] = self.ahead[node] + 1
            self.came_from[listener] = node
            if listener in self.behind:
                self.met.append(listener)
            yield listener

    def _discover_behind(self, node: Address, unread: Unsent) -> Iterator[Address]:
        for emitter in self._backward(node, unread, self.behind):
            self.behind[emitter] = self.behind[node] + 1
            self.goes_to[emitter] = node
            if emitter in self.ahead:
                self.met.append(emitter)
            yield emitter

    def _onward(self, node: Address, unread: Unheard, known: Collection[Address]) -> Iterator[Address]:
        """Give who is started by `node`, without the known and blocked; keep in `unread` who is not, yet."""
        _, places = self.graph.place(node)
        banned = self.banned if node == self.source else ()
        for emission in self.graph.emissions(node):
            for place in places:
                key = (emission.event, place)
                entries = unread[key] if key in unread else self.graph.listeners(key)
                if not entries:
                    continue
                unread[key], rest = (), None
                for listener in entries:
                    self.spending.spend()
                    if listener in known or (listener and self.blocked(listener)):
                        continue
                    if listener in banned or (
                        emission.to and not lets_out(emission.to, self.graph.place(listener)[0])
                    ):
                        if rest is None:
                            unread[key] = rest = []
                        rest.append(listener)
                    else:
                        yield listener

    def _backward(self, node: Address, unread: Unsent, known: Collection[Address]) -> Iterator[Address]:
        """Give who starts `node`, without the known and blocked; keep in `unread` who does not, yet."""
        scope, _ = self.graph.place(node)
        banned = node in self.banned
        for trigger in self.graph.triggers(node):
            for place in heard_places(trigger, scope):
                key = (trigger.event, place)
                entries = unread[key] if key in unread else self.graph.emitters(key)
                if not entries:
                    continue
                unread[key], rest = (), None
                for emitter, to in entries:
                    self.spending.spend()
                    if emitter in known or (emitter != self.source and self.blocked(emitter)):
                        continue
                    if (banned and emitter == self.source) or (to and not lets_out(to, scope)):
                        if rest is None:
                            unread[key] = rest = []
                        rest.append((emitter, to))
                    else:
                        yield emitter

    def _layers(self) -> list[Set[Address]]:
        """Give, for each position of a shortest route, the agents that stand there on some shortest route.

        Behind the meeting points a position is given by the distance to the goal, and the layer stays empty.
        """
        meeting = self.ahead[self.met[0]]
        layers: list[Set[Address]] = [frozenset()] * meeting + [frozenset(self.met)]
        for position in range(meeting - 1, 0, -1):
            unread: Unsent = {}
            found: set[Address] = set()
            for node in sorted(layers[position + 1]):
                found.update(self._backward(node, unread, found))
            layers[position] = {node for node in found if self.ahead.get(node) == position}
        return layers

    def _first_by_name(self, name: Callable[[Address], str]) -> Route:
        length = self.ahead[self.met[0]] + self.behind[self.met[0]]
        if len(self.ahead) + len(self.behind) == length + 2:
            return self._through(self.met[0])
        layers = self._layers()
        steps: list[dict[Address, Address]] = []
        current = [self.source]
        for position in range(1, length + 1):
            previous = self._started_at(position, current, layers, length - position)
            lowest = min(map(name, previous))
            current = sorted(node for node in previous if name(node) == lowest)
            steps.append(previous)
        return self._retrace(steps)

    def _started_at(
        self, position: int, current: list[Address], layers: list[Set[Address]], distance: int
    ) -> dict[Address, Address]:
        unread: Unheard = {}
        seen: set[Address] = set()
        previous: dict[Address, Address] = {}
        for node in current:
            for listener in self._onward(node, unread, seen):
                seen.add(listener)
                fits = (
                    listener in layers[position]
                    if position < len(layers)
                    else self.behind.get(listener) == distance
                )
                if fits:
                    previous[listener] = node
        return previous

    @staticmethod
    def _retrace(steps: list[dict[Address, Address]]) -> Route:
        route = [GOAL]
        for previous in reversed(steps):
            route.append(previous[route[-1]])
        return tuple(reversed(route))

    def _through(self, node: Address) -> Route:
        return (*self._way_to(node), *self._way_from(node))

    def _way_to(self, node: Address) -> list[Address]:
        way = [node]
        while way[-1] != self.source:
            way.append(self.came_from[way[-1]])
        return way[::-1]

    def _way_from(self, node: Address) -> list[Address]:
        way = []
        while node != GOAL:
            node = self.goes_to[node]
            way.append(node)
        return way
