"""Working: a run has the parts of its admitted graph done, many at a time, and takes down what comes of each (WG-1 to
WG-6).

A part that is an agent's work is a child run, which wakes this one when it is closed; meanwhile this one is held by
nobody. A tool is called through the Gate and the action ledger like any call of the run; a function and a join are
done in place. After a crash what is done is done; of what was under way in this process a further attempt is made.
"""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Protocol

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.gate.budget import Budget, Usage
from interlock.gate.verdict import Allow, Verdict
from interlock.ledger.ledger import ContentRow
from interlock.ledger.step import Draft
from interlock.run.allowance import draw_for_call
from interlock.run.attempting import Attempting, Came
from interlock.run.foreign import PATIENCE
from interlock.run.installation import Installation
from interlock.run.judgement import Judgement
from interlock.run.move import Act, Judge, Receive, ending, move_of_call
from interlock.run.nursing import Nursing
from interlock.run.outcome import Outcomes
from interlock.run.part import cancelling
from interlock.run.reckoning import reckon, why_not
from interlock.run.recorder import Recorder
from interlock.run.run import CallState, Run
from interlock.run.signal import Signals
from interlock.run.timer import timer_row
from interlock.run.work import Work, play
from interlock.scope.label import join, listed
from interlock.work_graph.attempt import Attempt
from interlock.work_graph.node import RESULT, Node
from interlock.work_graph.progress import GiveUp, JoinUp, Progress, Skip, Start, Step
from interlock.work_graph.work_graph import WorkGraph

__all__ = ["Gated", "Working"]

POLL = 0.05
"""After how many seconds a run that works looks whether somebody has something to say to it."""


class Gated(Protocol):
    """The door, as far as work needs it."""

    judgement: Judgement
    outcomes: Outcomes

    async def judge(self, call: CallState, name: str, arguments: Any) -> Verdict:
        """Put a call before the Gate."""
        ...

    async def act(self, call: CallState, name: str, arguments: Any) -> None:
        """Make an allowed call."""
        ...

    async def receive(self, call: CallState) -> None:
        """Take in the reply that a call waited for."""
        ...


@dataclass(slots=True)
class _State:
    """A graph under way in this process. played: how many steps of it the progress has taken in. tasks: what is being
    done here, by node. fits: by what defines a node and what it took in, the steps that an earlier revision began and
    ended it with."""

    work: Work
    graph: WorkGraph
    progress: Progress
    played: int = 0
    tasks: dict[str, asyncio.Task[Came | None]] = field(default_factory=dict)
    fits: dict[str, tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=dict)


class Working:
    """Works for one run under one claim."""

    def __init__(self, installation: Installation, recorder: Recorder, spec: Spec, door: Gated) -> None:
        self._installation, self._recorder, self._door = installation, recorder, door
        self.run: Run = recorder.run
        self._signals = Signals(installation, recorder)
        self._attempting = Attempting(installation, self.run, door.judgement.released)
        self._nursing = Nursing(installation, recorder, spec)
        self._states: dict[int, _State] = {}

    async def go_on(self, call: CallState) -> None:
        """Bring the graph that a call waits for on as far as it goes now. When all of it is settled, the call has its
        result; when what is left waits for others, the call rests."""
        state = await self._state_of(self.run.works[call.work - 1])
        progress, look = state.progress, True
        try:
            while True:
                if look:
                    await self._see_children(state)
                await self._see_calls(state)
                await self._take_steps(state)
                if progress.over:
                    await reckon(self._installation, self.run, self._door.outcomes, call, progress)
                    return
                await self._recorder.flush(durable=False)
                if not state.tasks:
                    call.resting = True
                    return
                await self._first_done(state)
                look = await self._signals.take()
                if ending(self.run, self._installation.settings.corrections) is not None:
                    return
        finally:
            await self._drop(state)

    # The state, and what moves it

    async def _state_of(self, work: Work) -> _State:
        state = self._states.get(work.revision)
        if state is not None:
            return state
        graph = WorkGraph.from_dict(json.loads(await self._installation.contents.read(work.graph)))
        progress = Progress(graph, self._installation.settings.work_at_once, work.began_at)
        state = self._states[work.revision] = _State(work, graph, progress)
        for earlier in self.run.works[: work.revision - 1]:
            state.fits |= _fits(earlier)
        self._play(state)
        for attempt in list(progress.running.values()):
            if not attempt.run and not attempt.call:
                self._end(state, attempt, self._attempting.failed(Text("work.lost"), outcome="lost"))
        return state

    def _play(self, state: _State) -> None:
        for kind, body, at in state.work.told[state.played :]:
            play(state.progress, kind, body, at)
        state.played = len(state.work.told)

    def _note(self, state: _State, kind: str, body: dict[str, Any], contents: list[ContentRow]) -> None:
        self._recorder.note(kind, body, contents)
        self._play(state)

    def _end(self, state: _State, attempt: Attempt, came: Came) -> None:
        body = {**_place(state, attempt), **came.body}
        if not attempt.run and not attempt.call and (spent := self._recorder.elapsed()):
            body["usage"] = Usage(wall_ms=spent).as_dict()
        self._note(state, "work.ended", body, came.contents)

    # What came in

    async def _first_done(self, state: _State) -> None:
        """Wait for the first of what is being done here, or a moment, and take in all that is done."""
        await asyncio.wait(state.tasks.values(), timeout=POLL, return_when=asyncio.FIRST_COMPLETED)
        for name, task in list(state.tasks.items()):
            if task.done():
                del state.tasks[name]
                came = task.result()
                if came is not None:
                    self._end(state, state.progress.running[name], came)

    async def _see_children(self, state: _State) -> None:
        """Take in what child runs came to that are closed."""
        for child, name in list(state.work.children.items()):
            came = await self._nursing.outcome(child, state.graph.by_name[name])
            if came is not None:
                self._end(state, state.progress.running[name], came)

    async def _see_calls(self, state: _State) -> None:
        """Bring on the calls of tools: those that were judged, were answered, or waited for a person who answered."""
        for name, attempt in list(state.progress.running.items()):
            if attempt.call and name not in state.tasks:
                await self._see_call(state, attempt, self.run.calls[attempt.call])

    async def _see_call(self, state: _State, attempt: Attempt, call: CallState) -> None:
        if call.done is None:
            match move_of_call(self.run, call):
                case Judge():
                    await self._judge(state, attempt, call)
                case Act():
                    state.tasks[attempt.node] = asyncio.create_task(self._act(call))
                case Receive():
                    await self._door.receive(call)
        if call.done is not None and attempt.node in state.progress.running:
            self._end(state, attempt, await self._answered(state, attempt, call))

    async def _judge(self, state: _State, attempt: Attempt, call: CallState) -> None:
        if self._installation.settings.scope_budgets:
            reason = await draw_for_call(self._installation, self._recorder, call.tool)
            if reason is not None:
                self._end(state, attempt, self._attempting.failed(reason, outcome="refused"))
                return
        verdict = await self._door.judge(call, *await self._door.judgement.proposed(call))
        if isinstance(verdict, Allow):
            state.tasks[attempt.node] = asyncio.create_task(self._act(call))

    async def _act(self, call: CallState) -> None:
        await self._door.act(call, *await self._door.judgement.proposed(call))

    async def _answered(self, state: _State, attempt: Attempt, call: CallState) -> Came:
        node = state.graph.by_name[attempt.node]
        entry = call.done
        if entry is None or entry.kind == "told" or entry.content is None:
            outcome = "failed" if call.verdict == "allow" else "refused"
            reason = call.reason or Text("work.lost")
            return Came({"outcome": outcome, "reason": reason})
        size = len(await self._installation.contents.read(entry.content))
        item = self._attempting.artifact(
            node, RESULT, entry.content, size, self.run.labels, state.work.revision
        )
        return Came({"outcome": "done", "artifacts": [item], "labels": item["labels"]})

    # What is to be done

    async def _take_steps(self, state: _State) -> None:
        while steps := state.progress.steps(self._installation.clock.now()):
            for step in steps:
                await (
                    self._recorder.settle()
                )  # what came may be too large to be read back before it is written
                await self._take(state, step)

    async def _take(self, state: _State, step: Step) -> None:
        match step:
            case Start(name, number):
                await self._start(state, state.graph.by_name[name], number)
            case JoinUp(name, number, missing):
                await self._join(state, state.graph.by_name[name], number, missing)
            case Skip(name, because):
                body = {"revision": state.work.revision, "node": name}
                self._note(state, "work.skipped", {**body, "because": because} if because else body, [])
            case GiveUp(name, outcome):
                await self._give_up(state, state.progress.running[name], outcome)

    async def _start(self, state: _State, node: Node, number: int) -> None:
        items = self._attempting.let_in(node, state.progress)
        body: dict[str, Any] = {"revision": state.work.revision, "node": node.name, "attempt": number}
        if isinstance(items, Text):
            self._note(state, "work.started", body, [])
            refused = self._attempting.failed(items, outcome="refused")
            self._end(state, state.progress.running[node.name], refused)
            return
        body |= {"edges": items, "fit": self._fit(node, items)}
        if (before := state.fits.get(body["fit"])) is not None:
            self._keep(state, body, *before)
            return
        match node.kind:
            case "function":
                self._note(state, "work.started", body, [])
                work = self._attempting.call_function(node, number, items, state.work.revision)
                state.tasks[node.name] = asyncio.create_task(work)
            case "tool":
                await self._start_call(state, node, body)
            case _:
                await self._start_child(state, node, body)

    def _fit(self, node: Node, items: list[dict[str, Any]]) -> str:
        """Give the digest of all that decides what a node makes: what defines it and what was let in."""
        function = self._installation.functions.get(node.function)
        code = function.code_digest if function is not None else ""
        taken_in = [[item["name"], item["digest"], item["labels"]] for item in items]
        whole = canonical.encode([node.digest, code, taken_in])
        return self._installation.contents.digest(self.run.company, whole)

    def _keep(
        self, state: _State, body: dict[str, Any], started: dict[str, Any], ended: dict[str, Any]
    ) -> None:
        """What an earlier revision did still fits (WG-6)."""
        kept: dict[str, Any] = {key: ended[key] for key in ("artifacts", "labels", "run") if key in ended}
        about: dict[str, Any] = {**body, **kept, "of": started["revision"], "attempt": started["attempt"]}
        self._note(state, "work.kept", about, [])

    async def _start_call(self, state: _State, node: Node, body: dict[str, Any]) -> None:
        """The run itself takes in what the call is made with, so its labels join the run's (SC-4)."""
        contents, run = self._installation.contents, self.run
        arguments = await self._attempting.resolved(node.arguments, body["edges"])
        kept = await contents.keep_any(run.company, canonical.encode(arguments))
        call = f"work_{body['revision']}_{node.name}_{body['attempt']}"
        body |= {"call": call, "tool": node.tool, "arguments_content": kept.digest}
        if labels := join(*(item["labels"] for item in body["edges"])):
            body["labels"] = listed(labels)
        now = self._installation.clock.now()
        await self._recorder.flush(
            then=(Draft("work.started", body, now),),
            rows=self._timer(node, f"{run.id}-{call}", now),
            contents=(kept.row,),
            durable=False,
        )
        self._play(state)
        await self._see_call(state, state.progress.running[node.name], run.calls[call])

    def _timer(self, node: Node, name: str, now: int) -> list[Any]:
        if node.deadline_ms is None:
            return []
        return [timer_row(name, now + node.deadline_ms, "work", self.run.root_task, {"run": self.run.id})]

    async def _start_child(self, state: _State, node: Node, body: dict[str, Any]) -> None:
        budget = self._share(state, node)
        opening, rows = await self._nursing.open(
            node, body, budget, self._attempting.labels_of(body["edges"])
        )
        now = self._installation.clock.now()
        body |= {"run": opening.run, "budget": budget.as_dict()}
        refused = await self._nursing.write(body, now, opening, rows, self._timer(node, opening.run, now))
        if refused is None:
            self._play(state)
            self._installation.reach("work.child_opened")
            return
        del body["run"], body["budget"]
        self._note(state, "work.started", body, [])
        self._end(
            state, state.progress.running[node.name], self._attempting.failed(refused, outcome="refused")
        )

    def _share(self, state: _State, node: Node) -> Budget:
        """What a child run may use: what its node says, else an equal part of what the run has left, among the child
        runs that are still to come and the run itself; never more than is left (GT-5)."""
        left = self.run.budget.left(self.run.committed)
        states = state.progress.states
        waiting = sum(item.is_run and states[item.name] == "waiting" for item in state.graph.nodes)
        share = left.share(waiting + 1).as_dict()
        return Budget.of(share | node.budget.as_dict()).narrowed(left)

    async def _join(self, state: _State, node: Node, number: int, missing: tuple[str, ...]) -> None:
        items = self._attempting.let_in(node, state.progress)
        body: dict[str, Any] = {"revision": state.work.revision, "node": node.name, "attempt": number}
        if not isinstance(items, Text):
            body["edges"] = items
        self._note(state, "work.started", body, [])
        if isinstance(items, Text):
            came = self._attempting.failed(items, outcome="refused")
        else:
            why = {name: why_not(state.progress, name) for name in missing}
            came = await self._attempting.join_up(node, items, missing, why, state.work.revision)
        self._end(state, state.progress.running[node.name], came)

    async def _give_up(self, state: _State, attempt: Attempt, outcome: str) -> None:
        task = state.tasks.pop(attempt.node, None)
        if task is not None:
            await _stop([task])
        reason = Text(f"work.{outcome}")
        body = {**_place(state, attempt), "outcome": outcome, "reason": reason}
        now = self._installation.clock.now()
        rows = cancelling(self.run, attempt.run) if attempt.run else ()
        await self._recorder.flush(then=(Draft("work.ended", body, now),), rows=rows, durable=False)
        self._play(state)

    async def _drop(self, state: _State) -> None:
        tasks = list(state.tasks.values())
        state.tasks.clear()
        if tasks:
            await _stop(tasks)


def _place(state: _State, attempt: Attempt) -> dict[str, Any]:
    place = {"revision": state.work.revision, "node": attempt.node, "attempt": attempt.number}
    return {**place, "run": attempt.run} if attempt.run else place


def _fits(work: Work) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Give what of an earlier revision was done, by what decided it."""
    begun: dict[str, dict[str, Any]] = {}
    found = {}
    for kind, body, _ in work.told:
        if kind == "work.started":
            begun[body["node"]] = body
        elif kind == "work.ended" and body["outcome"] == "done" and "fit" in begun[body["node"]]:
            found[begun[body["node"]]["fit"]] = begun[body["node"]], body
        elif kind == "work.kept":
            found[body["fit"]] = {**body, "revision": body["of"]}, body
    return found


async def _stop(tasks: list[asyncio.Task[Came | None]]) -> None:
    """End tasks; somebody else's code that does not heed that is left to itself."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=PATIENCE)
    for task in tasks:
        task.add_done_callback(lambda ended: None if ended.cancelled() else ended.exception())
