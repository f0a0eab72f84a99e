"""The human queue on the command line: what waits for people, and what they decide, each recorded with a name."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from cyclopts import Parameter

from interlock.cli.layout import laid_out, one_line
from interlock.cli.moment import moment
from interlock.cli.run import show_run
from interlock.cli.terminal import DONE, FOUND, Options, Terminal, account, perform
from interlock.cli.waiting import line_of, show_waiting
from interlock.run.run import OPEN
from interlock.run.waiting import NOTHING, Item
from interlock.runtime import Runtime
from interlock.scope.scope import Address

__all__ = ["answer", "approve", "close", "give", "queue", "refuse", "take"]

Person = Annotated[str | None, Parameter(help="cli.run.person")]
Wait = Annotated[bool, Parameter(help="cli.queue.wait")]
Id = Annotated[str, Parameter(help="cli.queue.id")]
Because = Annotated[str, Parameter(help="cli.queue.because")]


def queue(
    item: Annotated[str | None, Parameter(help="cli.queue.item")] = None,
    /,
    *,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Show what waits for people; with an id, all of it."""
    return perform(_queue(item, options))


async def _queue(item: str | None, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        waiting, now = runtime.human_queue, runtime.installation.clock.now()
        if item is not None:
            found = await waiting.find(item)
            _show(found, now, terminal, whole=True)
            terminal.data(found.as_dict())
            return DONE
        items = await waiting.items()
        for one in items:
            _show(one, now, terminal)
        if not items:
            terminal.tell("queue.empty")
        terminal.data([{**one.as_dict(), "line": line_of(one, terminal)} for one in items])
    return DONE


def _show(item: Item, now: int, terminal: Terminal, whole: bool = False) -> None:
    """Write what waits, since when, for whom, and what to do about it."""
    terminal.line(item.id)
    terminal.line(f"  {line_of(item, terminal)}")
    terminal.line(f"  {_about(item, now, terminal)}")
    if item.outcome:
        terminal.line(f"  {terminal.say(f'queue.outcome_{item.outcome}')} ({item.answered_by or NOTHING})")
    if whole:
        _show_form(item, terminal)
        terminal.line(f"  {terminal.say('queue.read', root=item.root)}")
    if not item.outcome:
        terminal.line(f"  {terminal.say(f'queue.how_{item.kind}', id=item.id)}")


def _about(item: Item, now: int, terminal: Terminal) -> str:
    limit = "ever" if not item.due_at else "until" if item.due_at > now else "over"
    return terminal.say(
        f"queue.about_{limit}",
        kind=terminal.say(f"queue.kind_{item.kind}"),
        scope=item.scope,
        since=moment(terminal, item.since),
        until=moment(terminal, item.due_at),
    )


def _show_form(item: Item, terminal: Terminal) -> None:
    for key, value in item.form.items():
        if key == "digest":
            continue
        name = terminal.say(f"exchange.part_{key}")
        terminal.line(f"  {one_line(key) if name.startswith('exchange.part_') else name}:")
        for line in _lines(key, value, terminal):
            terminal.line(f"    {line}")


def _lines(key: str, value: Any, terminal: Terminal) -> list[str]:
    if key == "objections":
        return [f"- {item['rule']}: {terminal.say(item['reason'])}" for item in value]
    if key == "deadline":
        return [moment(terminal, value)]
    if key == "reason" and isinstance(value, dict):
        return [terminal.say(value)]
    return list(laid_out(value))


# Deciding


def approve(item: Id, /, *, person: Person = None, wait: Wait = True, options: Options = Options()) -> int:  # noqa: B008
    """Approve a call."""

    async def decide(runtime: Runtime, by: str) -> Item:
        return await runtime.human_queue.approve(item, by)

    return perform(_decide(decide, "approved", person, wait, options))


def refuse(
    item: Id,
    /,
    *,
    because: Because,
    person: Person = None,
    wait: Wait = True,
    options: Options = Options(),  # noqa: B008
) -> int:
    """Refuse a call."""

    async def decide(runtime: Runtime, by: str) -> Item:
        return await runtime.human_queue.refuse(item, by, because)

    return perform(_decide(decide, "refused", person, wait, options))


def answer(
    item: Id,
    text: Annotated[str, Parameter(help="cli.answer.text")],
    /,
    *,
    person: Person = None,
    wait: Wait = True,
    options: Options = Options(),  # noqa: B008
) -> int:
    """Answer a question, or a task."""

    async def decide(runtime: Runtime, by: str) -> Item:
        return await runtime.human_queue.answer(item, by, text)

    return perform(_decide(decide, "answered", person, wait, options))


def take(item: Id, /, *, person: Person = None, wait: Wait = True, options: Options = Options()) -> int:  # noqa: B008
    """Take a task."""

    async def decide(runtime: Runtime, by: str) -> Item:
        return await runtime.human_queue.take(item, by)

    return perform(_decide(decide, "taken", person, wait, options))


def give(
    item: Id,
    agent: Annotated[str, Parameter(help="cli.give.agent")],
    /,
    *,
    note: Annotated[str, Parameter(help="cli.give.note")] = "",
    person: Person = None,
    wait: Wait = True,
    options: Options = Options(),  # noqa: B008
) -> int:
    """Give a task to an agent."""

    async def decide(runtime: Runtime, by: str) -> Item:
        return await runtime.human_queue.give(item, by, Address(agent), note)

    return perform(_decide(decide, "given", person, wait, options))


def close(
    item: Id,
    /,
    *,
    because: Because,
    person: Person = None,
    wait: Wait = True,
    options: Options = Options(),  # noqa: B008
) -> int:
    """Close a task, or put a conflict away."""

    async def decide(runtime: Runtime, by: str) -> Item:
        return await runtime.human_queue.close(item, by, because)

    return perform(_decide(decide, "closed", person, wait, options))


async def _decide(
    decide: Callable[[Runtime, str], Awaitable[Item]],
    what: str,
    person: str | None,
    wait: bool,
    options: Options,
) -> int:
    """Record a decision, and work on what it lets go on."""
    terminal, by = options.terminal, account() if person is None else person
    async with await options.runtime() as runtime:
        item = await decide(runtime, by)
        terminal.tell(f"cli.queue.{what}", id=item.id, by=by)
        runs: list[dict[str, Any]] = []
        if wait:
            async with runtime.worker() as worker:
                terminal.progress("cli.queue.working")
                await worker.drain()
                terminal.progress_done()
            runs = [
                await show_run(runtime, row[0], terminal)
                for row in await runtime.installation.ledger.query("runs_of_root", "", item.root)
            ]
            await show_waiting(runtime, item.root, terminal)
        terminal.data({"id": item.id, "by": by, "what": what, "runs": runs})
    return DONE if all(run["status"] in {"finished", OPEN, "cancelled"} for run in runs) else FOUND
