"""`interlock trail`: what happened in a run, told step by step."""

import sys
from typing import Annotated, Any

from cyclopts import Parameter

from interlock.cli.terminal import DONE, Options, Terminal, perform
from interlock.ledger.step import Step
from interlock.run.run import TRAIL
from interlock.run.story import story_of
from interlock.runtime import Runtime

__all__ = ["show_trail", "trail"]

RECENT = 20
SHOWN = 500
BESIDE = " " * 19


def trail(
    run: Annotated[str | None, Parameter(help="cli.trail.run")] = None,
    /,
    *,
    follow: Annotated[bool, Parameter(help="cli.trail.follow", negative="")] = False,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Tell what happened in a run; without one, list the latest runs."""
    return perform(_trail(run, follow, options))


async def _trail(run: str | None, follow: bool, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        if run is None:
            await _recent(runtime, terminal)
            return DONE
        name = await runtime.find_run(run)
        steps = await show_trail(runtime, name, terminal)
        while follow and not (steps and steps[-1].kind == "run.closed"):
            sys.stdout.flush()
            async for step in runtime.installation.ledger.follow(name, steps[-1].seq):
                steps.append(step)
                await _lines(runtime, steps, terminal, step.seq)
                sys.stdout.flush()
        terminal.data([_form(step) for step in steps])
    return DONE


async def _recent(runtime: Runtime, terminal: Terminal) -> None:
    rows = await runtime.installation.ledger.query("runs_before", "run_~", RECENT)
    if not rows:
        terminal.tell("cli.trail.none")
    for row in rows:
        status = terminal.say(f"cli.status.{row[-1]}")
        terminal.line(f"{row[0]}  {row[1]}  {status}")
    terminal.data([{"run": row[0], "agent": row[1], "version": row[2], "status": row[-1]} for row in rows])


async def show_trail(runtime: Runtime, run: str, terminal: Terminal) -> list[Step]:
    """Write the story of a run and give its steps."""
    steps = await runtime.installation.ledger.read(run, 0, TRAIL)
    opening = steps[0].body
    terminal.tell("cli.trail.title", run=run, agent=opening["agent"], version=opening["version"])
    terminal.tell("cli.trail.task", task=opening["task"]["id"], root=opening["task"]["root"])
    await _lines(runtime, steps, terminal, 1)
    return steps


async def _lines(runtime: Runtime, steps: list[Step], terminal: Terminal, since: int) -> None:
    last = 0
    for line in story_of(steps):
        if line.seq < since:
            continue
        start = f"{line.seq:>4}  +{line.after_ms / 1000:8.3f} s  " if line.seq != last else BESIDE
        if line.seq != last and last:
            await _said(runtime, steps[last - 1], terminal)
        last = line.seq
        mark = ("", "  · ", "      → ")[line.depth]
        terminal.line(f"{start}{mark}{terminal.say(line.text)}")
    if last:
        await _said(runtime, steps[last - 1], terminal)


async def _said(runtime: Runtime, step: Step, terminal: Terminal) -> None:
    """Write the end of what a tool, a provider or the platform said when something failed."""
    if step.kind == "tool.judged" or terminal.as_json or "detail" not in step.body:
        return
    said = (await runtime.installation.contents.read(step.body["detail"])).decode().rstrip()
    if said:
        terminal.line(f"{BESIDE}    “{said[-SHOWN:].splitlines()[-1].strip()}”")


def _form(step: Step) -> dict[str, Any]:
    return {"seq": step.seq, "kind": step.kind, "at": step.at, "digest": step.digest.hex(), "body": step.body}
