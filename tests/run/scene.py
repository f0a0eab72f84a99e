"""A scene: what the tests of runs share, above all going through one run to its end and killing it on the way."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, NoReturn

from interlock.agent.spec import Emission, Spec, Trigger
from interlock.connector.tool import BoundTool, tool
from interlock.ledger.step import Step
from interlock.run.human_queue import HumanQueue
from interlock.run.run import Run
from interlock.runtime import Runtime
from interlock.scope.scope import Address, Scope
from interlock.testing.clock import MovableClock
from tests.world import steps_of

PLATFORM = "acme/platform"
LONG_ENOUGH = 100
"""Seconds of real time after which a test that stands still is given up."""


class JumpingClock(MovableClock):
    """A clock that jumps to the end of every sleep, and keeps how long each was."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.move(seconds)
        await asyncio.sleep(0)


class Killed(GeneratorExit):
    """Stands for the end of the process: nothing in the product may catch it."""


def play(story: Coroutine[Any, Any, Any]) -> Any:
    """Run a test's story to its end."""
    return asyncio.run(asyncio.wait_for(story, LONG_ENOUGH))


def spec_of(name: str, scope: str = PLATFORM, **more: Any) -> Spec:
    """Give a spec. `emits` and `starts_on` may be given as names of events."""
    more["emits"] = tuple(_emission(item) for item in more.get("emits", ()))
    more["starts_on"] = tuple(
        Trigger(item) if isinstance(item, str) else item for item in more.get("starts_on", ())
    )
    instructions = more.pop("instructions", "" if more.get("function") else f"You are {name}.")
    return Spec(name, Scope(scope), instructions, **more)


def _emission(item: Any) -> Emission:
    return Emission(item, "work", ("report",)) if isinstance(item, str) else item


def at(name: str, scope: str = PLATFORM) -> Address:
    """Give an address."""
    return Address(f"{name}@{scope}")


class Calls(list[dict[str, Any]]):
    """The calls that tools of a test received, each with the tool's name under `tool`."""

    def of(self, name: str) -> int:
        """How often one of the tools was called."""
        return sum(call["tool"] == name for call in self)


def tool_giving(calls: Calls, name: str, result: Any, **declared: Any) -> BoundTool:
    """Give a tool that takes any arguments, counts its calls, and gives `result` (or calls it, or raises it)."""

    async def function(**arguments: Any) -> Any:
        calls.append({"tool": name, **arguments})
        if isinstance(result, BaseException):
            raise result
        return result(**arguments) if callable(result) else result

    declared = {
        "effect": "read",
        "labels": (),
        "parameters": {"type": "object", "properties": {}},
        **declared,
    }
    if declared["effect"] in {"write", "destructive"}:
        required = declared["parameters"].get("required", ())
        declared.setdefault("key", ":".join(["{task_id}", name, *(f"{{{item}}}" for item in required)]))
    return tool(name=name, **declared)(function)


STEERED = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "body": {"type": "string"}},
    "required": ["to"],
}
"""The schema of a tool whose argument `to` steers."""


async def go_through(
    runtime: Runtime, agent: Address | str, brief: Any = None, *, until_idle: bool = True, **more: Any
) -> Run:
    """Open a run, work until nothing is left to do, and give its state."""
    async with runtime.worker() as worker:
        name = await runtime.open_run(Address(agent), "maria", brief, worker=worker, **more)
        await (worker.idle() if until_idle else worker.finished(name))
    return await runtime.run(name)


async def asked_in(runtime: Runtime, run: str) -> list[tuple[Any, ...]]:
    """Give what a run asked people and nobody has answered, as kind and shown form."""
    items = await HumanQueue(runtime.installation).items()
    return [(item.kind, item.form) for item in items if item.run == run]


async def trail(runtime: Runtime, run: str, kind: str | None = None) -> list[dict[str, Any]]:
    """Give the bodies of a run's steps, or of those of one kind."""
    return [step.body for step in await steps_of(runtime, run) if kind in {None, step.kind}]


async def kinds(runtime: Runtime, run: str) -> list[str]:
    """Give the kinds of a run's steps in order."""
    return [step.kind for step in await steps_of(runtime, run)]


async def runs_of(runtime: Runtime, agent: Address | str) -> list[str]:
    """Give the ids of all runs of an agent, the oldest first."""
    rows = await runtime.installation.ledger.query("runs_before", "run_~", 100_000)
    return sorted(row[0] for row in rows if row[1] == agent)


async def all_steps(runtime: Runtime) -> list[Step]:
    """Give every step of every stream."""
    found: list[Step] = []
    after = ""
    while rows := await runtime.installation.ledger.query("streams_after", after, 500):
        for stream, _, _ in rows:
            found += await steps_of(runtime, stream)
        after = rows[-1][0]
    return found


def result_labels(state: Run) -> set[str]:
    """Give the labels of a run as a plain set."""
    return set(state.labels)


def killing(runtime: Runtime, wanted: Callable[[str], bool], after: int) -> None:
    """Make the process "die" when a fault point that is wanted is reached for the `after`-th time."""
    left = after
    dead = False

    def reach(point: str) -> None:
        nonlocal left, dead
        if dead or (wanted(point) and (left := left - 1) == 0):
            dead = True
            raise Killed(point)

    runtime.installation.reach = reach


def killing_at_append(runtime: Runtime, number: int, *, written: bool) -> None:
    """Make the process "die" at the `number`-th append of the ledger, before or after it is written; nothing
    that comes later is written."""
    ledger = runtime.installation.ledger
    append: Callable[..., Awaitable[Any]] = ledger.append
    left, dead = number, False

    async def dying(*given: Any, **more: Any) -> Any:
        nonlocal left, dead
        if not dead and (given[0] or more.get("rows")):
            left -= 1
        if not dead and left == 0:
            dead = True
            if written:
                await append(*given, **more)
        if dead:
            _die()
        return await append(*given, **more)

    ledger.append = dying  # type: ignore[method-assign]


def _die() -> NoReturn:
    raise Killed


async def work_until_killed(runtime: Runtime) -> bool:
    """Work until nothing is left to do or the process "dies", and tell whether it did."""
    async with runtime.worker() as worker:
        taken: list[asyncio.Future[None]] = []
        take = worker.take

        def taking(run: Run) -> asyncio.Task[None]:
            taken.append(task := take(run))
            return task

        worker.take = taking  # type: ignore[method-assign]
        working = asyncio.ensure_future(worker.drain())
        while not working.done() and not any(map(_killed, taken)):
            await asyncio.wait(
                [working, *(task for task in taken if not task.done())], return_when=asyncio.FIRST_COMPLETED
            )
        if not working.done():
            working.cancel()
        ends = await asyncio.gather(working, *taken, return_exceptions=True)
    return any(isinstance(end, Killed) for end in ends)


def _killed(task: "asyncio.Future[None]") -> bool:
    return task.done() and isinstance(task.exception(), Killed)


async def drain(runtime: Runtime) -> None:
    """Let a fresh worker take over what is left and work until nothing is."""
    async with runtime.worker() as worker:
        await worker.drain()


def read_all(folder: Path) -> bytes:
    """Give all bytes that an installation left on disk."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


Script = Mapping[str, Any]
