"""`interlock send`: a person writes to an agent, and reads the reply."""

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from interlock.cli.exchange import show_exchange
from interlock.cli.terminal import DONE, FOUND, Options, account, perform
from interlock.cli.waiting import show_waiting
from interlock.runtime import Runtime
from interlock.scope.scope import Address

__all__ = ["send"]


def send(
    agent: Annotated[str, Parameter(help="cli.send.agent")],
    text: Annotated[str, Parameter(help="cli.send.text")],
    /,
    *,
    kind: Annotated[Literal["request", "question", "status"], Parameter(help="cli.send.kind")] = "question",
    task: Annotated[str | None, Parameter(help="cli.send.task")] = None,
    label: Annotated[list[str] | None, Parameter(help="cli.run.label", negative="")] = None,
    person: Annotated[str | None, Parameter(help="cli.run.person")] = None,
    wait: Annotated[bool, Parameter(help="cli.run.wait")] = True,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Write to an agent."""
    by = account() if person is None else person
    said = {"goal": text} if kind == "request" else {"text": text}
    return perform(_send(Address(agent), said, kind, task, label or [], by, wait, options))


async def _send(
    agent: Address,
    said: dict[str, Any],
    kind: Any,
    task: str | None,
    labels: list[str],
    by: str,
    wait: bool,
    options: Options,
) -> int:
    terminal = options.terminal
    async with await options.runtime() as runtime:
        checked = runtime.installation.settings.vocabulary.check(labels)
        message, run = await runtime.human_queue.send(by, agent, said, kind, start=task, labels=checked)
        if not wait:
            terminal.tell("cli.send.queued", message=message, run=run)
            terminal.data({"message": message, "run": run})
            return DONE
        async with runtime.worker() as worker:
            terminal.progress("cli.run.working", run=run)
            await worker.drain()
            terminal.progress_done()
        root = (await runtime.run(run)).root_task
        await show_exchange(runtime, root, terminal)
        await show_waiting(runtime, root, terminal)
        return DONE if await _replied(runtime, message, kind) else FOUND


async def _replied(runtime: Runtime, message: str, kind: str) -> bool:
    """Tell whether the message has what it was to have: a reply that is none of failure, unless none comes."""
    if kind == "status":
        return True
    rows = await runtime.installation.ledger.query("reply_of", message)
    return bool(rows) and rows[0][2] == "result"
