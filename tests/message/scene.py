"""A scene for the tests of messages: agents of one company that are declared to write to each other."""

import json
from typing import Any

from interlock.agent.spec import Spec
from interlock.run.human_queue import HumanQueue, Item
from interlock.runtime import Runtime
from interlock.scope.scope import Address
from tests.run.scene import PLATFORM, runs_of, spec_of
from tests.world import steps_of

__all__ = ["agent", "bodies", "content", "handing", "owner", "prompt_of", "queue_items", "report", "to"]

KINDS = ("request", "question", "status")


def to(*names: str, scope: str = PLATFORM) -> tuple[Address, ...]:
    """Give addresses of the platform area."""
    return tuple(Address(name if "@" in name else f"{name}@{scope}") for name in names)


def agent(name: str, sends: Any = (), hands: Any = (), scope: str = PLATFORM, **more: Any) -> Spec:
    """Give an agent that starts on every message and may write to the agents named."""
    more.setdefault("accepts", KINDS)
    return spec_of(name, scope, sends_to=to(*sends), hands_to=to(*hands), **more)


def handing(name: str, **more: Any) -> dict[str, Any]:
    """Give the call that hands the task over."""
    said = {"goal": "see it done", "facts": [], "remains": ["all of it"], "reason": "not mine", **more}
    return {"call": "hand_over", "with": {"to": to(name)[0], **said}}


def report(**more: Any) -> dict[str, Any]:
    """Give the call that reports."""
    said = {"status": "complete", "summary": "All is well.", "findings": [], **more}
    return {"call": "report", "with": said}


async def bodies(runtime: Runtime, root: str, kind: str) -> list[dict[str, Any]]:
    """Give the bodies of one kind of steps of an exchange."""
    return [step.body for step in await steps_of(runtime, root) if step.kind == kind]


async def content(runtime: Runtime, digest: str) -> Any:
    """Give a piece of content that is JSON."""
    return json.loads(await runtime.installation.contents.read(digest))


async def owner(runtime: Runtime, task: str) -> tuple[str, int, str | None, str]:
    """Give owner, epoch, pending hand-off and state of a task."""
    row = (await runtime.installation.ledger.query("task_by_id", task))[0]
    return row[4], row[5], row[6], row[7]


async def queue_items(runtime: Runtime) -> list[Item]:
    """Give what waits for people."""
    return await HumanQueue(runtime.installation).items()


async def prompt_of(runtime: Runtime, name: str, number: int | None = None, which: int = -1) -> str:
    """Give the exact bytes of a prompt of an agent's run, as text."""
    run = (await runs_of(runtime, to(name)[0]))[which]
    return (await runtime.prompt(run, number))[0].request.decode()
