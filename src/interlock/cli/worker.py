"""`interlock worker`: runs what is queued, until it is stopped or nothing is left."""

import asyncio
import signal
import sys
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from interlock.cli.terminal import DONE, Options, perform

__all__ = ["stopping", "worker"]


def worker(
    *,
    concurrency: Annotated[PositiveInt, Parameter(help="cli.worker.concurrency")] = 64,
    drain: Annotated[bool, Parameter(help="cli.worker.drain", negative="")] = False,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Run what is queued."""
    return perform(_work(concurrency, drain, options))


async def _work(concurrency: int, drain: bool, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime() as runtime, runtime.worker(concurrency) as at_work:
        terminal.tell("cli.worker.started", worker=at_work.name)
        sys.stdout.flush()  # whoever started it through a pipe is told now, not when it ends
        if drain:
            await at_work.drain()
        else:
            await at_work.work(*stopping())
        terminal.tell("cli.worker.stopped", runs=at_work.ended)
        if at_work.damaged:
            terminal.tell("cli.worker.set_aside", runs=sorted(at_work.damaged))
        terminal.data({"worker": at_work.name, "runs": at_work.ended, "set_aside": sorted(at_work.damaged)})
    return DONE


def stopping() -> tuple[asyncio.Event, asyncio.Event]:
    """Give what the first SIGTERM or Ctrl-C sets, and what the second one does."""
    stop, hurry = asyncio.Event(), asyncio.Event()

    def told() -> None:
        (hurry if stop.is_set() else stop).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told)
    return stop, hurry
