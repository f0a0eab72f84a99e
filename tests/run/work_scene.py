"""A scene: an agent whose function plans its work as a graph, and looking at what its parts were shown and made."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from interlock.agent.spec import Spec
from interlock.run.function import Finish
from interlock.run.run import Run
from interlock.runtime import Runtime
from tests.run.scene import at, spec_of, trail
from tests.world import world

PLANNER = at("planner")


def planner(**more: Any) -> Spec:
    """Give an agent whose function has one graph done and finishes with what that came to."""
    return spec_of("planner", function="work:body", **more)


def agent_loop(name: str, objective: str, *needs: Any, **more: Any) -> dict[str, Any]:
    """Give a node that is the agent's own work."""
    return {"name": name, "kind": "agent_loop", "objective": objective, "needs": list(needs), **more}


@asynccontextmanager
async def working(
    folder: Path,
    nodes: list[dict[str, Any]],
    functions: Mapping[str, Any] | None = None,
    script: Mapping[str, Any] | None = None,
    specs: Iterable[Spec] = (),
    *,
    spec: Spec | None = None,
    graph: Mapping[str, Any] | None = None,
    **more: Any,
) -> AsyncIterator[Runtime]:
    """Open an installation whose planner has these nodes done."""

    async def body(run: Any) -> Finish:
        found = await run.call("plan_work", nodes=nodes, **(graph or {}))
        return Finish(json.dumps(found))

    loaded = {"work:body": body, **(functions or {})}
    async with world(folder, script, [spec or planner(), *specs], functions=loaded, **more) as runtime:
        yield runtime


async def result(runtime: Runtime, run: Run) -> dict[str, Any]:
    """Give what the graph came to, as the planner was told."""
    _, data = await runtime.artifact(run.id, "final_answer")
    found: dict[str, Any] = json.loads(data)
    return found


async def joined(runtime: Runtime, run: Run) -> dict[str, Any]:
    """Give what a join brought together, as the run can read it."""
    state = await runtime.run(run.id)
    found: dict[str, Any] = json.loads(
        await runtime.installation.contents.read(state.given["joined"]["digest"])
    )
    return found


async def started(runtime: Runtime, run: Run, node: str) -> list[dict[str, Any]]:
    """Give the steps by which attempts at a node began."""
    return [body for body in await trail(runtime, run.id, "work.started") if body["node"] == node]


async def ended(runtime: Runtime, run: Run) -> dict[str, list[str]]:
    """Give by node what came of its attempts."""
    found: dict[str, list[str]] = {}
    for body in await trail(runtime, run.id, "work.ended"):
        found.setdefault(body["node"], []).append(body["outcome"])
    return found


async def child_of(runtime: Runtime, run: Run, node: str, which: int = -1) -> Run:
    """Give the child run that did a node."""
    return await runtime.run((await started(runtime, run, node))[which]["run"])


async def children(runtime: Runtime, run: Run) -> list[Run]:
    """Give all child runs of a run, in the order in which they were opened."""
    found = [body["run"] for body in await trail(runtime, run.id, "work.started") if "run" in body]
    return [await runtime.run(name) for name in found]


async def prompt(runtime: Runtime, run: Run) -> str:
    """Give the last prompt of a run, as text."""
    return (await runtime.prompt(run.id))[0].request.decode()


async def prompts(runtime: Runtime, run: Run) -> dict[int, str]:
    """Give all prompts of a run by their numbers."""
    asked = [body["n"] for body in await trail(runtime, run.id, "model.asked")]
    return {n: (await runtime.prompt(run.id, n))[0].request.decode() for n in asked}
