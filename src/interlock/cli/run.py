"""`interlock run`: opens a run, works until it and what it caused are closed, and shows what came of it.
`interlock cancel`: tells a run that it is cancelled."""

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from interlock import canonical
from interlock.cli.layout import barred
from interlock.cli.terminal import DONE, FOUND, Options, Terminal, account, perform
from interlock.cli.trail import last_words
from interlock.cli.waiting import show_waiting
from interlock.errors import InterlockError
from interlock.run.run import OPEN, TRAIL, fold
from interlock.runtime import Runtime
from interlock.scope.scope import Address

__all__ = ["cancel", "chain_of", "check_model", "run", "show_run"]


def run(
    agent: Annotated[str, Parameter(help="cli.run.agent")],
    brief: Annotated[str | None, Parameter(help="cli.run.brief")] = None,
    /,
    *,
    person: Annotated[str | None, Parameter(help="cli.run.person")] = None,
    label: Annotated[list[str] | None, Parameter(help="cli.run.label", negative="")] = None,
    only_tool: Annotated[list[str] | None, Parameter(help="cli.run.only_tool", negative="")] = None,
    only_effect: Annotated[list[str] | None, Parameter(help="cli.run.only_effect", negative="")] = None,
    release: Annotated[list[str] | None, Parameter(help="cli.run.release", negative="")] = None,
    wait: Annotated[bool, Parameter(help="cli.run.wait")] = True,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Open a run."""
    asked: dict[str, Any] = {
        "labels": label or (),
        "tools": only_tool,
        "effects": only_effect,
        "released": [_released(text) for text in release or ()],
    }
    return perform(_run(Address(agent), brief, account() if person is None else person, asked, wait, options))


def _released(text: str) -> tuple[str, str]:
    label, equals, receiver = text.partition("=")
    if not (equals and label and receiver):
        raise InterlockError("cli.run.bad_release", value=text)
    return label, receiver


def brief_of(text: str | None, limit: int) -> Any:
    """Read a brief: `@file`, `-` for standard input, JSON, or plain text as it is."""
    if text is None:
        return None
    if text == "-":
        text = _text(sys.stdin.buffer.read(limit + 1), "-", limit)
    elif text.startswith("@"):
        text = _text(_file(Path(text[1:]), limit), text[1:], limit)
    if text.lstrip()[:1] in {"{", "["}:
        return canonical.parse(text, "brief", limit)
    return text


def _file(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as source:
            return source.read(limit + 1)
    except (OSError, ValueError) as error:
        why = error if isinstance(error, OSError) else str(error)
        raise InterlockError("runtime.unreadable", file=str(path), why=why) from None


def _text(data: bytes, file: str, limit: int) -> str:
    if len(data) > limit:
        raise InterlockError("brief.too_large", size=len(data), limit=limit)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InterlockError("cli.run.not_utf8", file=file, place=error.start) from None


async def _run(
    agent: Address, brief: str | None, person: str, asked: dict[str, Any], wait: bool, options: Options
) -> int:
    terminal = options.terminal
    async with await options.runtime() as runtime:
        value = brief_of(brief, runtime.installation.settings.sizes.brief)
        if not wait:
            opened = await runtime.open_run(agent, person, value, **asked)
            terminal.tell("cli.run.queued", run=opened)
            terminal.data({"run": opened, "status": OPEN})
            return DONE
        await check_model(runtime, agent)
        async with runtime.worker() as worker:
            opened = await runtime.open_run(agent, person, value, worker=worker, **asked)
            terminal.progress("cli.run.working", run=opened)
            await worker.finished(opened)
            await worker.idle()
            terminal.progress_done()
        runs = [await show_run(runtime, name, terminal) for name in await chain_of(runtime, opened)]
        root = (await runtime.run(opened)).root_task
        await show_waiting(runtime, root, terminal)
        terminal.tell("cli.run.look", agent=agent)
        terminal.data(runs)
        return DONE if all(item["status"] == "finished" for item in runs) else FOUND


async def check_model(runtime: Runtime, agent: Address) -> None:
    """See that the agent's model can be had here, before a run is opened that could only fail."""
    version, _ = await runtime.installation.current(agent)
    spec = await runtime.installation.spec(agent, version)
    if spec.function is None:
        runtime.installation.models.open(spec.model)


async def chain_of(runtime: Runtime, root: str) -> list[str]:
    """Give a run and all that it caused: by events, messages and hand-offs, in the order in which they were opened."""
    task = (await runtime.run(root)).root_task
    return [row[0] for row in await runtime.installation.ledger.query("runs_of_root", root, task)]


async def show_run(runtime: Runtime, name: str, terminal: Terminal) -> dict[str, Any]:
    """Write what came of a run: its status, its closing answer, and the names of its artifacts."""
    steps = await runtime.installation.ledger.read(name, 0, TRAIL)
    run = fold(steps)
    terminal.line(f"{run.agent}  {terminal.say(f'trail.closed_{run.status}')}  {name}")
    artifacts = {key: item["size"] for key, item in run.artifacts.items()}
    answer = None
    if "final_answer" in run.artifacts:
        answer = (await runtime.artifact(name, "final_answer"))[1].decode()
        for line in barred(answer) if "\n" in answer else (answer,):
            terminal.line(f"  {line}")
    if run.reason is not None:
        terminal.line(f"  {terminal.say(run.reason)}")
    said = await last_words(runtime, steps, terminal)
    if said:
        terminal.line(f"  “{said}”")
    if set(artifacts) - {"final_answer"}:
        terminal.tell("cli.run.artifacts", names=sorted(set(artifacts) - {"final_answer"}))
    return {
        "run": name,
        "agent": run.agent,
        "version": run.version,
        "status": run.status,
        "reason": None if run.reason is None else terminal.say(run.reason),
        "said": said or None,
        "final_answer": answer,
        "artifacts": artifacts,
    }


def cancel(
    run: Annotated[str, Parameter(help="cli.trail.run")],
    /,
    *,
    person: Annotated[str | None, Parameter(help="cli.run.person")] = None,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Cancel a run."""
    return perform(_cancel(run, account() if person is None else person, options))


async def _cancel(run: str, person: str, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime() as runtime:
        name = await runtime.find_run(run)
        await runtime.cancel(name, person)
    terminal.tell("cli.cancel.told", run=name)
    terminal.data({"run": name})
    return DONE
