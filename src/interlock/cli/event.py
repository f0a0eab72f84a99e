"""`interlock event`: what the events of a run came to, listener by listener."""

import json
from typing import Annotated, Any

from cyclopts import Parameter

from interlock.catalogue import Text
from interlock.cli.terminal import DONE, Options, Terminal, perform
from interlock.cli.trail import last_words
from interlock.ledger.step import Step
from interlock.run.run import TRAIL, fold
from interlock.runtime import Runtime

__all__ = ["event", "events_of"]


def event(
    run: Annotated[str, Parameter(help="cli.trail.run")],
    /,
    *,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Show what the events of a run came to."""
    return perform(_event(run, options))


async def _event(run: str, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        name = await runtime.find_run(run)
        found = await events_of(runtime, name, terminal)
        if not found:
            await _none(runtime, name, terminal)
        for item in found:
            _show(item, terminal)
        terminal.data(found)
    return DONE


async def _none(runtime: Runtime, run: str, terminal: Terminal) -> None:
    """Say that a run emitted nothing, and what became of it instead."""
    steps = await runtime.installation.ledger.read(run, 0, TRAIL)
    state = fold(steps, run)
    terminal.tell("cli.event.none", status=Text(f"cli.status.{state.status}"))
    if state.reason is not None:
        terminal.line(f"  {terminal.say(state.reason)}")
    if said := await last_words(runtime, steps, terminal):
        terminal.line(f"  “{said}”")


async def events_of(runtime: Runtime, run: str, terminal: Terminal) -> list[dict[str, Any]]:
    """Give each event of a run with what became of it for each listener; why none went out, if so.

    Raises InterlockError `ledger.damaged`.
    """
    steps = await runtime.installation.ledger.read(run, 0, TRAIL)
    said: list[dict[str, Any]] = []
    for step in (*steps, *await _of_task(runtime, fold(steps, run).task, run)):
        for item in _events_in(step):
            if "list" in item:
                said += json.loads(await runtime.installation.contents.read(item["list"]))
            else:
                said.append(item)
    opened = {row[1]: row[0] for row in await runtime.installation.ledger.query("runs_caused_by", run, run)}
    for item in said:
        for delivery in item.get("deliveries", ()):
            if delivery["outcome"] == "open":
                delivery["run"] = opened.get(delivery["listener"])
            if "reason" in delivery:
                delivery["text"] = terminal.say(delivery["reason"])
    return said


async def _of_task(runtime: Runtime, task: str, run: str) -> list[Step]:
    """What was decided after a closing that did not say, stands in the task's stream."""
    return [
        step
        for step in await runtime.installation.ledger.read(task, 0, TRAIL)
        if step.kind in {"event.listed", "event.withheld", "event.not_started"} and step.body["run"] == run
    ]


def _events_in(step: Step) -> list[dict[str, Any]]:
    body = step.body
    if step.kind == "run.closed":
        withheld = [{"withheld": body["chain"]}] if "chain" in body else []
        found: list[dict[str, Any]] = [*body.get("events", ()), *withheld]
        return found[:1] if found and "list" in found[0] else found
    if step.kind == "event.listed":
        return [{"list": body["list"]}]
    if step.kind in {"event.withheld", "event.not_started"}:
        return [{"withheld": body["reason"]}]
    return []


def _show(item: dict[str, Any], terminal: Terminal) -> None:
    if "withheld" in item:
        terminal.line(terminal.say(item["withheld"]))
        return
    terminal.tell("trail.emitted", event=item["event"])
    for delivery in item["deliveries"]:
        if delivery["outcome"] == "open":
            terminal.line(f"  → {terminal.say('trail.delivered', **delivery)}")
        else:
            text = terminal.say(
                "trail.not_delivered", listener=delivery["listener"], reason=delivery["reason"]
            )
            terminal.line(f"  → {text}")
    if not item["deliveries"]:
        terminal.line(f"  → {terminal.say('trail.nobody_heard')}")
