"""What a child process does to a ledger: `python -m tests.ledger.process <what> <folder> <arguments as JSON>`.

It says `ready`, begins when it is told to go, says as a line of JSON what it has to say, and is killed where
`INTERLOCK_FAULT` says.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from interlock.clock import SystemClock
from interlock.errors import InterlockError
from interlock.fault import from_environment
from interlock.ledger.content_store import ContentStore
from interlock.ledger.key import Keys
from interlock.ledger.ledger import Appended, Write
from interlock.ledger.object_folder import ObjectFolder
from interlock.ledger.sqlite import SqliteLedger
from interlock.ledger.step import Draft, Head

ROOT = Path(__file__).parents[2]


class Child:
    """A child process under the control of a test."""

    def __init__(self, what: str, folder: Path, fault: str = "", **arguments: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.ledger.process", what, str(folder), json.dumps(arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "INTERLOCK_FAULT": fault},
            text=True,
        )

    def ready(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def said(self) -> list[Any]:
        """Wait for its end, and give what it said."""
        out, err = self._process.communicate(timeout=50)
        assert not err, err
        return [json.loads(line) for line in out.splitlines()]

    @property
    def code(self) -> int | None:
        return self._process.returncode


def run_together(children: Sequence[Child]) -> list[list[Any]]:
    """Let children begin at the same moment, and give what each said."""
    for child in children:
        child.ready()
    for child in children:
        child.go()
    return [child.said() for child in children]


def say(value: Any) -> None:
    print(json.dumps(value), flush=True)


async def write_steps(ledger: SqliteLedger, stream: str, count: int) -> None:
    """Write steps one by one; say the number of each that was acknowledged."""
    for number in range(1, count + 1):
        outcome = await ledger.append((Write(stream, None, (Draft("noted", {"n": number}),)),))
        assert isinstance(outcome, Appended), outcome
        say(number)


async def write_pairs(ledger: SqliteLedger, streams: int, count: int) -> None:
    """Write numbered steps to pairs of streams, many at a time; say each that was acknowledged."""

    async def pair(name: int) -> None:
        for number in range(1, count + 1):
            drafts = (Draft("noted", {"n": number}), Draft("noted", {"n": number}))
            writes = [Write(f"{side}_{name}", None, drafts) for side in ("left", "right")]
            assert isinstance(await ledger.append(writes), Appended)
            say([name, number])

    await asyncio.gather(*(pair(name) for name in range(streams)))


async def claim_all(ledger: SqliteLedger, worker: str) -> None:
    """Claim until nothing is free; say what was claimed."""
    while claimed := await ledger.claim(worker, 2, 600_000):
        say([item.run for item in claimed])


async def go_on(ledger: SqliteLedger, run: str, seq: int, digest: str, fence: int, count: int) -> None:
    """Go on with a run from a head; say how each append came out, until one did not."""
    head = Head(seq, bytes.fromhex(digest))
    for number in range(count):
        outcome = await ledger.append(
            (Write(run, head, (Draft("noted", {"n": number, "by": os.getpid()}),), fence),)
        )
        say(type(outcome).__name__)
        if not isinstance(outcome, Appended):
            return
        head = outcome.heads[0]


async def keep_large(ledger: SqliteLedger, first: int, count: int) -> None:
    """Store large content and write the step that names it; say each that was acknowledged."""
    reach = from_environment(os.environ)
    folder = ledger.path.parent
    objects = ObjectFolder(folder / "objects", reach)
    contents = ContentStore(ledger, Keys.of_file(folder / "key"), objects, 64)
    for number in range(first, first + count):
        kept = await contents.keep_any("acme", bytes([number]) * 100_000)
        step = Draft(
            "artifact.saved",
            {"name": str(number), "digest": kept.digest, "size": kept.size, "media": "x", "labels": []},
        )
        assert isinstance(
            await ledger.append((Write("task_1", None, (step,)),), contents=(kept.row,)), Appended
        )
        say(kept.digest)


def make_key(folder: Path) -> None:
    """Open the key file, making it if need be; say what a digest under it is."""
    say(Keys.of_file(folder / "home" / "key").digest("acme", b"x").hex())


async def open_many(folder: Path, count: int) -> None:
    """Open fresh files, one after the other, at about the moment that others do; say what went wrong."""
    for number in range(count):
        ledger = await SqliteLedger.open(folder / f"{number}.db")
        assert isinstance(await ledger.append((Write("acme", None, (Draft("opened", {}),)),)), Appended)
        await ledger.close()


async def main(what: str, folder: str, arguments: dict[str, Any]) -> None:
    print("ready", flush=True)
    sys.stdin.readline()
    if what == "make_key":
        make_key(Path(folder))
        return
    try:
        if what == "open_many":
            await open_many(Path(folder), **arguments)
            return
        reach = from_environment(os.environ)
        ledger = await SqliteLedger.open(Path(folder) / "ledger.db", clock=SystemClock(), reach=reach)
        await globals()[what](ledger, **arguments)
        await ledger.close()
    except InterlockError as error:
        say(str(error))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
