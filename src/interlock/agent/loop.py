"""A loop: agents that start each other, found through the one agent whose version is judged (LP-1 to LP-5).

Loops come one after the other, each the first of those that remain, by the partition of Lawler ("A Procedure
for Computing the K Best Solutions…", 1972), which for paths without repetition is Yen's (1971): the remaining
loops fall apart by how long they follow the last one named. No loop is found twice, none is passed over, and
the work is bounded by the number of loops named and of edges examined, not by how many loops there are.
"""

import heapq
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from interlock.agent.route import GOAL, BoundReachedError, Route, RouteSearch, Spending, Standing
from interlock.agent.wiring import Graph, Wired, hears
from interlock.catalogue import Text, say
from interlock.scope.scope import INSTALLATION, Address, Scope

__all__ = ["Loop", "LoopReport", "find_loops", "shown_name", "warnings"]

LOOPS_NAMED = 10
LOOP_EDGES = 200_000
OUTSIDE = "loop.outside"


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop from the published agent back to it, by the names shown.

    `names` begins and ends with the published agent; None stands for an agent outside the reader's access.
    """

    names: tuple[str | None, ...]

    @property
    def length(self) -> int:
        """How many events carry the loop round."""
        return len(self.names) - 1

    @property
    def shown(self) -> list[str | Text]:
        """The names as the parameter of a message, the hidden ones in words of their own."""
        return [Text(OUTSIDE) if name is None else name for name in self.names]


@dataclass(frozen=True, slots=True)
class LoopReport:
    """What the search found.

    loops: the loops named, shortest first, then by the names shown.
    may_be_more: whether a bound was reached, so that there may be loops which are not named.
    checked_in_full: False when not even the shortest loop could be searched to the end.
    edges_examined: how many edges it took.
    inert: whether the agent listens to its own event, which never starts it. `agent` is its name.
    """

    agent: str
    loops: tuple[Loop, ...] = ()
    may_be_more: bool = False
    checked_in_full: bool = True
    edges_examined: int = 0
    inert: bool = False


def shown_name(agent: Address, published: Address, readable: Collection[Scope]) -> str | None:
    """Give the name under which `agent` is shown beside `published`; None when the reader may not read it.

    Neighbours in one scope go by their names, all others by their addresses, so that no two look the same.
    """
    if agent.scope == published.scope:
        return agent.name
    return str(agent) if any(scope.reaches(agent.scope) for scope in readable) else None


@dataclass(frozen=True, slots=True)
class _Found:
    """A route around a loop, what it shares with the loops named before, and where it must not go again."""

    route: Route
    names: tuple[str, ...]
    kept: int = 0
    banned: frozenset[Address] = frozenset({GOAL})

    @property
    def order(self) -> tuple[int, tuple[str, ...], Route]:
        return len(self.route), self.names, self.route


def find_loops(
    graph: Graph,
    published: Wired,
    readable: Collection[Scope] = (INSTALLATION,),
    named: int = LOOPS_NAMED,
    edges: int = LOOP_EDGES,
    language: str = "en",
) -> LoopReport:
    """Search the loops that `published` closes as it will stand, in place of its agent's current version.

    An edge is an event that `from:` and `to:` let through. `readable` are the scopes whose agents the reader
    may read. `named` (at least 1) bounds the loops named, `edges` the edges examined; both count what is
    done, not time, so that the same wiring gives the same report. `language` decides where hidden agents
    come in the order.
    """
    search = _LoopSearch(Standing(graph, published), readable, Spending(edges), language, named)
    agent, inert = published.address.name, _hears_itself(published)
    loops: list[_Found] = []
    try:
        for found in search.loops():
            if len(loops) == named:
                break
            loops.append(found)
        else:
            return LoopReport(agent, _loops(loops, search), False, True, search.spending.examined, inert)
    except BoundReachedError:
        loops = search.with_the_rest(loops)[:named]
    return LoopReport(agent, _loops(loops, search), True, bool(loops), search.spending.examined, inert)


def _loops(found: list[_Found], search: "_LoopSearch") -> tuple[Loop, ...]:
    return tuple(Loop(tuple(search.shown(node) for node in item.route)) for item in found)


def _hears_itself(agent: Wired) -> bool:
    return any(
        hears(trigger, agent.address, emission, agent.address)
        for trigger in agent.starts_on
        for emission in agent.emits
    )


class _LoopSearch:
    """The state of one search: the routes found and not yet given, and what was spent."""

    def __init__(
        self, graph: Standing, readable: Collection[Scope], spending: Spending, language: str, named: int
    ) -> None:
        self.graph = graph
        self.spending = spending
        self._readable = readable
        self._named = named
        self._hidden = say(OUTSIDE, language)
        self._near = str(graph.address.scope)
        self._access = {self._near: True}
        self._waiting: list[tuple[tuple[int, tuple[str, ...], Route], _Found]] = []

    def shown(self, node: Address) -> str | None:
        """Give the name shown for an agent of a route, or None."""
        name, _, scope = (node or self.graph.address).partition("@")
        if scope not in self._access:
            self._access[scope] = shown_name(node, self.graph.address, self._readable) is not None
        if not self._access[scope]:
            return None
        return name if scope == self._near else str(node)

    def loops(self) -> Iterator[_Found]:
        """Give the loops in order, those that look the same once. Raises BoundReachedError."""
        last: tuple[str, ...] = ()
        self._search((self.graph.address,), 0, frozenset({GOAL}), {})
        while self._waiting:
            _, found = heapq.heappop(self._waiting)
            if found.names != last:
                last = found.names
                yield found
            self._part(found)

    def with_the_rest(self, given: list[_Found]) -> list[_Found]:
        """Give the loops already given, then, in order, what else was found before the bound was reached."""
        looks = {found.names: found for _, found in sorted(self._waiting, reverse=True)}
        known = {found.names for found in given}
        rest = (found for names, found in looks.items() if names not in known)
        return given + sorted(rest, key=lambda found: found.order)

    def _part(self, found: _Found) -> None:
        """Search the first loop of each part of what remains: what follows `found` so far, and no farther."""
        route = found.route
        position = {node: index for index, node in enumerate(route)}
        for index in range(found.kept, len(route) - 1):
            self.spending.spend()
            if self.graph.fan_out(route[index]) < 2:
                continue
            own = found.banned if index == found.kept else frozenset({GOAL} if index == 0 else ())
            self._search(route, index, own | {route[index + 1]}, position)

    def _search(
        self, route: Route, index: int, banned: frozenset[Address], position: dict[Address, int]
    ) -> None:
        search = RouteSearch(self.graph, route[index], banned, _before(position, index), self.spending)
        try:
            tail = search.first(self._sorted_name)
        except BoundReachedError:
            if not position:
                self._keep_partial(search.partial(self._sorted_name, self._named), banned)
            raise
        if tail is not None:
            self._keep(route[:index] + tail, index, banned)
            self.spending.spend(
                index + len(tail)
            )  # writing a long loop down is work too, and bounded with it

    def _keep_partial(self, routes: list[Route], banned: frozenset[Address]) -> None:
        """Keep what the very first search had found: without it a bound would hide even the shortest loop."""
        for route in routes:
            self._keep(route, 0, banned)

    def _keep(self, route: Route, kept: int, banned: frozenset[Address]) -> None:
        found = _Found(route, tuple(map(self._sorted_name, route)), kept, banned)
        heapq.heappush(self._waiting, (found.order, found))

    def _sorted_name(self, node: Address) -> str:
        return self.shown(node) or self._hidden


def _before(position: dict[Address, int], index: int) -> Callable[[Address], bool]:
    beyond = len(position) + 1
    return lambda node: position.get(node, beyond) <= index


def warnings(report: LoopReport) -> list[Text]:
    """Give what the author is told: the trigger that does nothing, each loop, and what a bound left open."""
    told: list[Text] = []
    if report.inert:
        told.append(Text("loop.inert", agents=[report.agent, report.agent]))
    told.extend(Text("loop.closes", agents=loop.shown) for loop in report.loops)
    if not report.checked_in_full:
        told.append(Text("loop.not_checked", edges=report.edges_examined))
    elif report.may_be_more:
        told.append(Text("loop.may_be_more", count=len(report.loops), edges=report.edges_examined))
    return told
