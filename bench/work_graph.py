"""What a work graph costs: the overhead of a node, and the makespan of graphs whose nodes sleep.

    INTERLOCK_CASES=... python bench/work_graph.py [--seconds 4] [--only NAME] [--json FILE] [--where FOLDER]

The graphs are those of real scientific workflows, read in place from the folder that `INTERLOCK_CASES` names. Every
task is a `function` node, every dependency an edge; all of them are done by one run of one agent, with everything
journalled. Beside each stands the same graph in plain asyncio with the same limit, which keeps nothing.

- overhead: the functions give a small value at once; the time for the whole graph, divided by its nodes, less what the
  plain one takes.
- at 8: the functions sleep, in proportion to how long the real tasks took, so that an ideal list schedule of 8 places
  takes `--seconds`; the makespan divided by that.
- unlimited: they sleep so that the critical path takes `--seconds`, with as many places as there are nodes; the
  makespan divided by the critical path.
"""

import argparse
import asyncio
import gzip
import heapq
import json
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.agent.spec import Spec
from interlock.connector.model.choice import Models
from interlock.connector.tool import Toolbox
from interlock.gate.budget import Budget
from interlock.modules import Loaded
from interlock.run.function import Finish, NodeInput
from interlock.run.installation import Function
from interlock.runtime import Runtime
from interlock.scope.scope import Scope
from interlock.settings import Settings
from interlock.work_graph.reader import graph_of
from interlock.work_graph.work_graph import WorkGraph

PLACES = 8
MANY = 5000
CODE = "0" * 64
FREE = Budget(wall_ms=86_400_000)


@dataclass(frozen=True)
class Workflow:
    """A real graph: by node, the seconds that its task took."""

    name: str
    graph: WorkGraph
    seconds: Mapping[str, float]

    @classmethod
    def of(cls, form: Mapping[str, Any]) -> "Workflow":
        """Read a line of the file of graphs."""
        names = [f"t{place}" for place in range(len(form["nodes"]))]
        nodes = [
            {
                "name": names[place],
                "kind": "function",
                "function": "work:do",
                "needs": [names[at] for at in needs],
            }
            for place, (_, _, needs) in enumerate(form["nodes"])
        ]
        seconds = {names[place]: seconds for place, (_, seconds, _) in enumerate(form["nodes"])}
        return cls(form["name"], graph_of({"nodes": nodes}), seconds)

    def schedule(self, places: int) -> float:
        """Give the makespan of an ideal list schedule: no node costs anything beside its own time."""
        left = {node.name: len(node.sources) for node in self.graph.nodes}
        ready = [(-self.graph.heights[name], name) for name, count in left.items() if not count]
        heapq.heapify(ready)
        running: list[tuple[float, str]] = []
        now = 0.0
        while ready or running:
            while ready and len(running) < places:
                name = heapq.heappop(ready)[1]
                heapq.heappush(running, (now + self.seconds[name], name))
            now, name = heapq.heappop(running)
            for after in self.graph.dependents[name]:
                left[after] -= 1
                if not left[after]:
                    heapq.heappush(ready, (-self.graph.heights[after], after))
        return now


def workflows(folder: Path) -> list[Workflow]:
    """Read all graphs."""
    with gzip.open(folder / "workflows" / "wfinstances.jsonl.gz", "rt") as file:
        return [Workflow.of(json.loads(line)) for line in file]


Sleep = Callable[[str], Awaitable[None]]


async def journalled(folder: Path, workflow: Workflow, places: int, sleep: Sleep) -> float:
    """Have the graph done by a run, and give how many seconds its work took."""
    took = 0.0

    async def do(node: NodeInput) -> Any:
        await sleep(node.node)
        return {"node": node.node, "taken_in": len(node.inputs)}

    async def body(run: Any) -> Finish:
        nonlocal took
        began = time.perf_counter()
        found = await run.call("plan_work", **workflow.graph.as_dict())
        took = time.perf_counter() - began
        assert found["status"] == "complete" and found["done"] == len(workflow.graph.nodes), found
        return Finish("done")

    functions = {"work:body": Function(body, CODE), "work:do": Function(do, CODE)}
    settings = Settings(work_at_once=places, limits=FREE, task_budget=FREE)
    async with await Runtime.open(
        folder,
        settings=settings,
        loaded=Loaded(Toolbox(), functions),
        models=Models({}, folder, {}, 1),
        environment={},
    ) as runtime:
        spec = Spec("worker", Scope("acme/bench"), function="work:body")
        await runtime.publish(spec, "bench")
        async with runtime.worker() as worker:
            run = await runtime.open_run(spec.address, "bench", worker=worker)
            await worker.finished(run)
        state = await runtime.run(run)
        assert state.status == "finished", state.reason
        check_order(workflow, state.works[0].told)
    return took


def check_order(workflow: Workflow, told: list[tuple[str, dict[str, Any], int]]) -> None:
    """See that every dependency was kept: a node began after all that it needs had ended."""
    done: set[str] = set()
    for kind, step, _ in told:
        if kind == "work.started":
            assert set(workflow.graph.by_name[step["node"]].sources) <= done, step["node"]
        elif kind == "work.ended":
            done.add(step["node"])
    assert len(done) == len(workflow.graph.nodes)


async def plain(workflow: Workflow, places: int, sleep: Sleep) -> float:
    """Do the graph in plain asyncio, and give how many seconds that took."""
    left = {node.name: len(node.sources) for node in workflow.graph.nodes}
    slots, tasks = asyncio.Semaphore(places), []
    over, open_nodes = asyncio.Event(), len(left)

    async def do(name: str) -> None:
        nonlocal open_nodes
        async with slots:
            await sleep(name)
        open_nodes -= 1
        for after in workflow.graph.dependents[name]:
            left[after] -= 1
            if not left[after]:
                tasks.append(asyncio.create_task(do(after)))
        if not open_nodes:
            over.set()

    began = time.perf_counter()
    tasks += [asyncio.create_task(do(name)) for name, count in list(left.items()) if not count]
    await over.wait()
    return time.perf_counter() - began


async def at_once(name: str) -> None:
    """Take no time."""


def sleeping(workflow: Workflow, scale: float) -> Sleep:
    """Give what sleeps in proportion to how long the real task took."""

    async def sleep(name: str) -> None:
        await asyncio.sleep(workflow.seconds[name] * scale)

    return sleep


async def measured(workflow: Workflow, where: Path | None, seconds: float) -> dict[str, float]:
    """Measure one graph."""
    count = len(workflow.graph.nodes)
    found: dict[str, float] = {"nodes": count, "edges": workflow.graph.edges}

    async def kept(places: int, sleep: Sleep) -> float:
        folder = Path(tempfile.mkdtemp(prefix="bench-work-", dir=where))
        try:
            return await journalled(folder, workflow, places, sleep)
        finally:
            shutil.rmtree(folder)

    bare = await plain(workflow, PLACES, at_once)
    found["overhead ms"] = (await kept(PLACES, at_once) - bare) / count * 1000
    for title, places in (("at 8", PLACES), ("unlimited", MANY)):
        scale = seconds / workflow.schedule(places)
        found[title] = await kept(places, sleeping(workflow, scale)) / seconds
        found[f"plain {title}"] = await plain(workflow, places, sleeping(workflow, scale)) / seconds
    return found


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--where", type=Path)
    given = parser.parse_args()
    if "INTERLOCK_CASES" not in os.environ:
        parser.error("INTERLOCK_CASES names no folder of cases")
    columns = ("nodes", "edges", "overhead ms", "at 8", "plain at 8", "unlimited", "plain unlimited")
    print(f"{'workflow':42}" + "".join(f"{name:>16}" for name in columns))
    rows = {}
    for workflow in workflows(Path(os.environ["INTERLOCK_CASES"])):
        if given.only in workflow.name:
            row = rows[workflow.name] = asyncio.run(measured(workflow, given.where, given.seconds))
            print(f"{workflow.name[:41]:42}" + "".join(f"{row[name]:16,.2f}" for name in columns), flush=True)
    if rows:
        nodes = sum(row["nodes"] for row in rows.values())
        mean = sum(row["overhead ms"] * row["nodes"] for row in rows.values()) / nodes
        print(f"overhead of a node, over all {nodes:,.0f}: {mean:.2f} ms")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
