"""A queue of runs, filled through the API as a program would: `queue(folder, agent, count)`."""

import asyncio
from pathlib import Path

from interlock.runtime import Runtime
from interlock.scope.scope import Address

__all__ = ["queue"]


def queue(folder: Path, agent: str, count: int) -> list[str]:
    """Queue runs in the installation of a folder and give their ids."""

    async def fill() -> list[str]:
        async with await Runtime.open(folder) as runtime:
            opened = (runtime.open_run(Address(agent), "ana", {"n": n}) for n in range(count))
            return list(await asyncio.gather(*opened))

    return asyncio.run(fill())
