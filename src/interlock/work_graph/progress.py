"""A progress: how far the work of a graph has come, and what is to be done next (WG-3).

Nothing here waits, reads or writes. What happened goes in, in the order in which it was recorded; what is to be done
comes out. The same serves a worker that has just recorded something and one that takes the run over after a crash.
What it costs grows with the nodes and edges that a change touches, not with the graph.
"""

import heapq
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from interlock.scope.label import Labels
from interlock.work_graph.attempt import AGAIN, LOST, LOST_LIMIT, Attempt
from interlock.work_graph.work_graph import WorkGraph

__all__ = ["GiveUp", "JoinUp", "Progress", "Skip", "Start", "Step"]

WAITING, RUNNING, DONE, FAILED, SKIPPED = "waiting", "running", "done", "failed", "skipped"
SETTLED = frozenset({DONE, FAILED, SKIPPED})


@dataclass(frozen=True, slots=True)
class Start:
    """Begin an attempt at a node: the `number`-th."""

    node: str
    number: int


@dataclass(frozen=True, slots=True)
class JoinUp:
    """Join what has come; `missing` are the sources that will not come, or did not come in time."""

    node: str
    number: int
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skip:
    """A node that is not done. because: the node that it needs and that came to nothing; empty where nobody needs this
    one any more."""

    node: str
    because: str = ""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """End an attempt that is under way. outcome: `timed_out`, or `not_needed`."""

    node: str
    outcome: str


Step = Start | JoinUp | Skip | GiveUp


class Progress:
    """How far the work of a graph has come. `at_once`: how many attempts may be under way; `began_at`: when the graph
    began, in milliseconds, from which the deadlines of joins count."""

    def __init__(self, graph: WorkGraph, at_once: int, began_at: int = 0) -> None:
        self.graph = graph
        self._at_once = at_once if graph.at_once is None else min(at_once, graph.at_once)
        self._began_at = began_at
        self.states = dict.fromkeys(graph.by_name, WAITING)
        self.attempts: dict[str, list[Attempt]] = {name: [] for name in graph.by_name}
        self.because: dict[str, str] = {}
        self.running: dict[str, Attempt] = {}
        self._left = {node.name: len(node.sources) for node in graph.nodes}
        self._needed = {name: len(after) for name, after in graph.dependents.items()}
        self._joins = {node.name for node in graph.nodes if node.kind == "join"}
        self._timed = [
            node.name for node in graph.nodes if node.kind == "join" and node.deadline_ms is not None
        ]
        self._open = len(graph.nodes)
        self._places = {name: (-graph.heights[name], at) for at, name in enumerate(graph.by_name)}
        self._ready: list[tuple[tuple[int, int], str]] = []
        self._joinable: deque[str] = deque()
        self._to_skip: deque[Skip] = deque()
        self._unneeded: set[str] = set()
        for name, left in self._left.items():
            if not left:
                self._make_ready(name)

    @property
    def over(self) -> bool:
        """Whether every node is done, failed or skipped."""
        return not self._open

    @property
    def status(self) -> str:
        """What it all comes to: `complete`, `partial` when anything is missing, `failed` when no end is done."""
        if not any(self.states[name] == DONE for name in self.graph.ends):
            return "failed"
        whole = all(state == DONE for state in self.states.values())
        return "complete" if whole and not any(map(self._is_partial, self._joins)) else "partial"

    def _is_partial(self, join: str) -> bool:
        return bool(self.attempts[join]) and self.attempts[join][-1].partial

    def result(self, node: str) -> Attempt | None:
        """Give the attempt that a node was done by; None as long as it is not."""
        return self.attempts[node][-1] if self.states[node] == DONE else None

    # What happened

    def start(self, node: str, at: int, run: str = "", call: str = "") -> Attempt:
        """Take in that an attempt began."""
        attempt = Attempt(node, len(self.attempts[node]) + 1, at, run, call)
        self.attempts[node].append(attempt)
        self.states[node] = RUNNING
        self.running[node] = attempt
        return attempt

    def end(
        self,
        node: str,
        outcome: str,
        artifacts: Mapping[str, dict[str, Any]] | None = None,
        labels: Labels = frozenset(),
        missing: tuple[str, ...] = (),
        reason: dict[str, Any] | None = None,
    ) -> None:
        """Take in what came of the attempt that is under way."""
        attempt = self.running.pop(node)
        attempt.outcome, attempt.artifacts, attempt.labels = outcome, artifacts or {}, labels
        attempt.missing, attempt.reason = missing, reason
        if outcome == DONE:
            self._settle(node, DONE)
        elif outcome == "not_needed":
            self._settle(node, SKIPPED)
        elif self._may_try_again(node, outcome):
            self.states[node] = WAITING
            self._make_ready(node)
        else:
            self._settle(node, FAILED)

    def _may_try_again(self, node: str, outcome: str) -> bool:
        tried = [attempt.outcome for attempt in self.attempts[node]]
        if outcome == LOST:
            return tried.count(LOST) < LOST_LIMIT
        return outcome in AGAIN and sum(item in AGAIN for item in tried) < self.graph.by_name[node].attempts

    def keep(
        self, node: str, number: int, artifacts: Mapping[str, dict[str, Any]], labels: Labels, at: int
    ) -> None:
        """Take in that a node was done in an earlier revision, by its attempt of that number, and that this still fits
        (WG-6)."""
        kept = Attempt(node, number, at, outcome=DONE, artifacts=artifacts, labels=labels)
        self.attempts[node].append(kept)
        self._settle(node, DONE)

    def skip(self, node: str, because: str = "") -> None:
        """Take in that a node is not done."""
        self.because[node] = because
        self._settle(node, SKIPPED)

    def _settle(self, node: str, state: str) -> None:
        self.states[node] = state
        self._open -= 1
        for after in self.graph.dependents[node]:
            self._left[after] -= 1
            if self.states[after] != WAITING:
                continue
            if after in self._joins:
                if not self._left[after]:
                    self._joinable.append(after)
            elif state != DONE:
                self._to_skip.append(Skip(after, node))
            elif not self._left[after]:
                self._make_ready(after)
        for source in self.graph.by_name[node].sources:
            self._needed[source] -= 1
            if not self._needed[source] and self.states[source] not in SETTLED and self._overtaken(source):
                self._unneeded.add(source)

    def _overtaken(self, source: str) -> bool:
        """Whether a join went on without it. Where all that needed it was skipped it goes on: a later revision of the
        graph may have a use for what it makes."""
        return any(self.states[after] == DONE for after in self.graph.dependents[source])

    def _make_ready(self, node: str) -> None:
        if node in self._joins:
            self._joinable.append(node)
        else:
            heapq.heappush(self._ready, (self._places[node], node))

    # What is to be done

    def steps(self, now: int) -> list[Step]:
        """Give what is to be done now, one thing for each node. Whoever asks takes all of it in, and asks again until
        nothing is left."""
        found: dict[str, Step] = {}
        for step in self._steps(now):
            found.setdefault(step.node, step)
        return list(found.values())

    def _steps(self, now: int) -> Iterator[Step]:
        for name, attempt in self.running.items():
            limit = self.graph.by_name[name].deadline_ms
            if name in self._unneeded:
                yield GiveUp(name, "not_needed")
            elif limit is not None and now >= attempt.started_at + limit:
                yield GiveUp(name, "timed_out")
        while self._to_skip:
            skip = self._to_skip.popleft()
            if self.states[skip.node] == WAITING:
                yield skip
        for name in sorted(self._unneeded):
            if self.states[name] == WAITING:
                yield Skip(name)
        yield from self._joins_now(now)
        yield from self._starts()

    def _joins_now(self, now: int) -> Iterator[Step]:
        due = [name for name in self._timed if self.states[name] == WAITING and self._is_due(name, now)]
        while self._joinable:
            due.append(self._joinable.popleft())
        yield from (self._join(name) for name in due if self.states[name] == WAITING)

    def _join(self, name: str) -> Step:
        node = self.graph.by_name[name]
        missing = tuple(source for source in node.sources if self.states[source] != DONE)
        if (
            missing
            and len(missing) == len(node.sources)
            and all(self.states[item] in SETTLED for item in missing)
        ):
            return Skip(name, missing[0])
        return JoinUp(name, len(self.attempts[name]) + 1, missing)

    def _starts(self) -> Iterator[Step]:
        free = self._at_once - len(self.running)
        while self._ready and free > 0:
            _, name = heapq.heappop(self._ready)
            if self.states[name] == WAITING and name not in self._unneeded:
                free -= 1
                yield Start(name, len(self.attempts[name]) + 1)

    def _is_due(self, name: str, now: int) -> bool:
        limit = self.graph.by_name[name].deadline_ms
        return limit is not None and now >= self._began_at + limit

    def due_at(self) -> int | None:
        """Give when time alone will change what is to be done; None if it will not."""
        nodes = self.graph.by_name
        found = [
            attempt.started_at + limit
            for name, attempt in self.running.items()
            if (limit := nodes[name].deadline_ms) is not None
        ]
        found += [
            self._began_at + limit
            for name in self._timed
            if self.states[name] == WAITING and (limit := nodes[name].deadline_ms) is not None
        ]
        return min(found, default=None)
