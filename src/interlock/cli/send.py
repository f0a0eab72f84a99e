"""`interlock send`: a person writes to an agent, and reads the reply."""

import json
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from interlock.cli.exchange import show_exchange
from interlock.cli.run import check_model
from interlock.cli.terminal import DONE, FOUND, Options, account, perform
from interlock.cli.waiting import show_waiting
from interlock.message.envelope import Type
from interlock.runtime import Runtime
from interlock.scope.scope import Address

__all__ = ["send"]


def send(
    agent: Annotated[str, Parameter(help="cli.send.agent")],
    text: Annotated[str, Parameter(help="cli.send.text")],
    /,
    *,
    type: Annotated[Literal["request", "question", "status"], Parameter(help="cli.send.type")] = "question",
    task: Annotated[str | None, Parameter(help="cli.send.task")] = None,
    label: Annotated[list[str] | None, Parameter(help="cli.run.label", negative="")] = None,
    person: Annotated[str | None, Parameter(help="cli.run.person")] = None,
    wait: Annotated[bool, Parameter(help="cli.run.wait")] = True,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Write to an agent."""
    by = account() if person is None else person
    said = {"goal": text} if type == "request" else {"text": text}
    return perform(_send(Address(agent), said, type, task, label or [], by, wait, options))


async def _send(
    agent: Address,
    said: dict[str, Any],
    type_: Type,
    task: str | None,
    labels: list[str],
    by: str,
    wait: bool,
    options: Options,
) -> int:
    terminal = options.terminal
    async with await options.runtime() as runtime:
        checked = runtime.installation.settings.vocabulary.check(labels)
        if wait:
            await check_model(runtime, agent)
        message, run = await runtime.human_queue.send(by, agent, said, type_, start=task, labels=checked)
        if not wait:
            terminal.tell("cli.send.queued", message=message, run=run)
            terminal.data({"message": message, "run": run})
            return DONE
        async with runtime.worker() as worker:
            terminal.progress("cli.run.working", run=run)
            await worker.drain()
            terminal.progress_done()
        root = (await runtime.run(run)).root_task
        form = await show_exchange(runtime, root, terminal)
        items = await show_waiting(runtime, root, terminal)
        reply = await _reply(runtime, message)
        waiting = [item.as_dict() for item in items]
        terminal.data({"message": message, "run": run, "reply": reply, "waiting": waiting, **form})
        return DONE if type_ == "status" or (reply or {}).get("type") == "result" else FOUND


async def _reply(runtime: Runtime, message: str) -> dict[str, Any] | None:
    """Give the reply to a message, None where there is none."""
    installation = runtime.installation
    rows = await installation.ledger.query("reply_of", message)
    if not rows:
        return None
    reply, place, type_, sender, _ = rows[0]
    root = (await installation.ledger.query("message_by_id", reply))[0][1]
    (step,) = await installation.ledger.read(root, place - 1, 1)
    says = json.loads(await installation.contents.read(step.body["body"]))
    return {"message": reply, "type": type_, "from": sender, "says": says}
