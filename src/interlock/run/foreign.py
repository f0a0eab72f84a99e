"""A foreign call: somebody else's code, a tool or a function body, awaited so that it ends no run but its own."""

import asyncio
import sys
from collections.abc import Awaitable, Coroutine
from typing import Any

from interlock.catalogue import Text, say
from interlock.connector.tool import NotDone
from interlock.errors import InterlockError
from interlock.run.recorder import Lost

__all__ = ["WAITING", "Ended", "Raised", "UnansweredError", "code_of", "foreign", "within"]

KEPT = 64 * 1024
"""How many characters of an exception's words are looked at."""
PATIENCE = 1.0
"""How many seconds foreign code has to end when its run is stopped; after that nobody waits for it."""


WAITING = "waiting"
"""In place of a status: the function is put aside, and called anew when what it waits for has come."""


class Ended(BaseException):
    """The run is at its end, whatever the function would do next. Not an Exception: a function that catches
    all exceptions must not go on after this."""

    def __init__(self, status: str, reason: dict[str, Any], detail: str = "") -> None:
        self.status, self.reason, self.detail = status, reason, detail


class Raised(Exception):  # noqa: N818  it is what happened, not a fault of ours
    """Foreign code raised. `said` are the exception's class and words, which are its own; `kind` is what a step
    may keep of them: the nearest class of Python itself; `undone`, whether it says that nothing was done."""

    def __init__(self, error: BaseException) -> None:
        self.undone = isinstance(error, NotDone)
        known = (kind for kind in type(error).__mro__ if kind.__module__.partition(".")[0] in OWN)
        self.kind = next(known).__name__
        self.said = f"{type(error).__name__}: {_words(error)}"[:KEPT]
        super().__init__(self.kind)


class UnansweredError(Exception):
    """A call came to nothing. `said` are the tool's own words, without secrets. `undone`: the tool says that surely
    nothing was done; else nobody knows."""

    def __init__(self, reason: Text, said: str = "", undone: bool = False) -> None:
        self.reason, self.said, self.undone = reason, said, undone
        super().__init__(reason["id"])


OWN = sys.stdlib_module_names | {"builtins"}


def code_of(error: InterlockError) -> str:
    """Give what a step may keep of the code of an error that foreign code raised: one that the catalogue knows."""
    return error.code if say(error.code) not in {error.code, f"{error.code} {error.params}"} else "?"


async def foreign(work: Awaitable[Any]) -> Any:
    """Await foreign code and give what it gives. Raises Raised for whatever it raises, but lets InterlockError,
    Lost, Ended and a cancellation from outside through.

    `SystemExit` would end the event loop with every run on it, and a cancellation that the code made up itself
    would look as if the worker were stopping; here both are its own failure.
    """
    try:
        return await work
    except (InterlockError, Lost, Ended, KeyboardInterrupt, GeneratorExit):
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise Raised(error) from None
    except BaseException as error:  # noqa: BLE001  it may raise anything
        raise Raised(error) from None


async def within(work: Coroutine[Any, Any, Any], seconds: float | None) -> Any:
    """Await `work` for at most `seconds`, whatever it makes of being cancelled.

    Raises TimeoutError when the time is over; the work is cancelled then, and nobody waits for it any more.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task}, timeout=PATIENCE)
        _forget(task)
        raise
    if done:
        return task.result()
    task.cancel()
    _forget(task)
    raise TimeoutError


def _forget(task: "asyncio.Future[Any]") -> None:
    task.add_done_callback(lambda ended: None if ended.cancelled() else ended.exception())


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  the words are somebody else's code, too
        return "…"
