"""`interlock channels`: who talks to whom, for a task or for what is published, and what a coordinator would save."""

from collections.abc import Collection
from typing import Annotated, Any

from cyclopts import Parameter

from interlock.cli.terminal import DONE, Options, Terminal, perform
from interlock.message.channel import (
    Channel,
    as_mermaid,
    channels_declared,
    channels_used,
    kinds_of,
    readable_channels,
    saving,
)
from interlock.message.entry import name_of
from interlock.run.exchange import read_exchange
from interlock.run.publishing import wiring_of
from interlock.runtime import Runtime
from interlock.scope.scope import INSTALLATION, Scope

__all__ = ["channels", "show_channels"]


def channels(
    task: Annotated[str | None, Parameter(help="cli.channels.task")] = None,
    /,
    *,
    coordinator: Annotated[str, Parameter(help="cli.channels.coordinator")] = "",
    mermaid: Annotated[bool, Parameter(help="cli.graph.mermaid", negative="")] = False,
    reader: Annotated[list[Scope] | None, Parameter(help="cli.channels.reader", negative="")] = None,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Count and draw channels."""
    return perform(_channels(task, coordinator, mermaid, reader or [INSTALLATION], options))


async def _channels(
    task: str | None, coordinator: str, mermaid: bool, readable: Collection[Scope], options: Options
) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        found = readable_channels(await channels_of(runtime, task), readable)
    if mermaid and not terminal.as_json:
        terminal.line(as_mermaid(found, terminal.say).rstrip("\n"))
        return DONE
    show_channels(found, coordinator, terminal)
    return DONE


async def channels_of(runtime: Runtime, task: str | None) -> list[Channel]:
    """Give the channels that a task used, or those that the published agents may use."""
    if task is None:
        return channels_declared((await wiring_of(runtime.installation)).agents.values())
    steps, _ = await read_exchange(runtime.installation, await runtime.find_root(task))
    return channels_used(steps)


def show_channels(found: list[Channel], coordinator: str, terminal: Terminal) -> None:
    """Write channels with what a coordinator would save."""
    for channel in found:
        ends = {"one": name_of(channel.one), "other": name_of(channel.other)}
        terminal.tell("channel.line", **ends, kinds=kinds_of(channel))
    if found:
        _tell_saving(found, coordinator, terminal)
    else:
        terminal.tell("channel.none")
    save = saving(found, coordinator)
    form: dict[str, Any] = {
        "channels": [channel.as_dict() for channel in found],
        "participants": save.participants,
        "now": save.now,
        "through_one": save.through_one,
        "coordinator": save.coordinator or None,
        "saved": save.saved,
        "mermaid": as_mermaid(found, terminal.say),
    }
    terminal.data(form)


def _tell_saving(found: list[Channel], coordinator: str, terminal: Terminal) -> None:
    save = saving(found, coordinator)
    said = "channel.saving" if save.saved > 0 else "channel.no_saving"
    terminal.tell(
        said,
        participants=save.participants,
        now=save.now,
        through_one=save.through_one,
        coordinator=name_of(save.coordinator),
        saved=save.saved,
    )
