"""Planning: a run's body proposes a graph for its own work, and it is admitted as a revision, or refused with all that
is wrong with it (WG-1)."""

from collections.abc import Collection, Mapping
from typing import Any

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.ledger.step import Draft
from interlock.run.installation import Installation
from interlock.run.outcome import Outcomes
from interlock.run.recorder import Recorder
from interlock.run.run import CallState, Run
from interlock.run.timer import timer_row
from interlock.work_graph.reader import graph_of
from interlock.work_graph.work_graph import RootFacts, admit

__all__ = ["Planning"]


class Planning:
    """Plans for one run, under one claim."""

    def __init__(
        self, installation: Installation, recorder: Recorder, spec: Spec, outcomes: Outcomes
    ) -> None:
        self._installation, self._recorder, self._spec, self._outcomes = (
            installation,
            recorder,
            spec,
            outcomes,
        )
        self.run: Run = recorder.run

    async def act(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Admit the graph; from then on the call waits for what it comes to. Raises FormError `work.invalid` or
        `work.not_admitted` with everything that is wrong."""
        if any(not work.over for work in self.run.works):
            self._outcomes.fail(call, Text("work.under_way"))
            return
        graph = graph_of(dict(arguments))
        admit(graph, self._facts())
        run, revision = self.run, len(self.run.works) + 1
        kept = await self._installation.contents.keep_any(run.company, canonical.encode(graph.as_dict()))
        body = {
            "call": call.id,
            "revision": revision,
            "graph": kept.digest,
            "nodes": len(graph.nodes),
            "edges": graph.edges,
        }
        now = self._installation.clock.now()
        timers = [
            timer_row(
                f"{run.id}-{revision}-{node.name}",
                now + node.deadline_ms,
                "work",
                run.root_task,
                {"run": run.id},
            )
            for node in graph.nodes
            if node.kind == "join" and node.deadline_ms is not None
        ]
        admitted = Draft("work.admitted", body, now)
        await self._recorder.flush(then=(admitted,), rows=timers, contents=(kept.row,), durable=False)
        self._installation.reach("work.admitted")

    def _facts(self) -> RootFacts:
        run, settings = self.run, self._installation.settings
        allowed = run.opening.get("contract", {}).get("tools")
        declared = self._installation.tools.declarations
        return RootFacts(
            agent=run.agent,
            tools={
                name: declared[name].secrets
                for name in self._spec.tools
                if name in declared and (allowed is None or name in allowed)
            },
            functions=self._functions(),
            budget=run.budget.left(run.committed),
            given={
                name: item["media"]
                for name, item in {**run.given, **run.artifacts}.items()
                if not item.get("absent")
            },
            at_once=settings.work_at_once,
            nodes=settings.work_nodes,
            nested=run.part.get("depth", 0) < settings.work_depth,
        )

    def _functions(self) -> Collection[str]:
        """What a function's own graph names, its author could call as well; a model's names what its spec grants."""
        loaded = self._installation.functions
        if self._spec.function is not None:
            return loaded.keys()
        return [name for name in self._spec.functions if name in loaded]
