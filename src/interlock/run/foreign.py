"""A foreign call: somebody else's code, a tool or a function body, awaited so that it ends no run but its own."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from interlock.errors import InterlockError
from interlock.run.recorder import Lost

__all__ = ["Raised", "foreign"]

SAID = 2000
"""How many characters of an exception's words are kept."""


class Raised(Exception):  # noqa: N818  it is what happened, not a fault of ours
    """Foreign code raised: the class of the exception, and its words, shortened."""

    def __init__(self, error: BaseException) -> None:
        self.kind = type(error).__name__
        self.said = f"{self.kind}: {_words(error)}"[:SAID]
        super().__init__(self.kind)


async def foreign(work: Awaitable[Any]) -> Any:
    """Await foreign code and give what it gives. Raises Raised for whatever it raises, but lets InterlockError,
    Lost and a cancellation from outside through.

    `SystemExit` would end the event loop with every run on it, and a cancellation that the code made up itself
    would look as if the worker were stopping; here both are its own failure.
    """
    try:
        return await work
    except (InterlockError, Lost):
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise Raised(error) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001  it may raise anything
        raise Raised(error) from None


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  the words are somebody else's code, too
        return "…"
