"""What the tests of bad input share: texts to try, and runs of many of them at once over one ledger."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import Any

from interlock.agent.spec import Emission, Spec
from interlock.connector.model.model import Request
from interlock.perspective.fence import data_of
from interlock.run.run import Run
from interlock.runtime import Runtime
from interlock.scope.scope import Address, Scope
from tests.bad_input.corpora import json_suite, look_alikes, naughty_strings, yaml_suite

PLATFORM = Scope("acme/platform")
READER = Address("reader@acme/platform")

SPECIAL = [
    "",
    " ",
    "\x00",
    "a\x00b",
    "\ud83d",
    "x\udc00y\ud83d",
    "\ude00\ud83d",
    "😀👩‍👩‍👧‍👦🇧🇷",
    "مرحبا بالعالم \u202etxt.exe\u202c",
    "\ufeffmark",
    "\u2028\u2029\x85\x1b[2J\x07\r",
    "{}",
    "[]",
    "null",
    '"text"',
    '"{\\"summary\\": \\"x\\"}"',
    "{'summary': 'x'}",
    "NaN",
    "[" * 5000,
    '{"a":' * 300 + "1" + "}" * 300,
    "9" * 5000,
    "-0",
    "1e999",
    "{name} {0} {} %s %(x)s {x.__class__}",
]
"""Texts that some part of a system like this one is known to stumble over."""


def texts() -> list[str]:
    """Give every text that is tried: the corpora's, and our own. Bytes come as the text they decode to."""
    suite = [raw.decode("utf-8", "surrogateescape") for _, _, raw in json_suite()]
    return [*SPECIAL, *naughty_strings(), *suite, *list(look_alikes())[::24], *yaml_suite()[::8]]


def reader(*artifacts: str, tools: tuple[str, ...] = (), function: str | None = None) -> Spec:
    """Give the spec of the agent that all these cases go through."""
    emits = (Emission("read", "case", artifacts),) if artifacts else ()
    instructions = "" if function else "Read it."
    return Spec("reader", PLATFORM, instructions, tools=tools, emits=emits, function=function)


def case_of(request: Request) -> int:
    """Give the number of the case that a request is about: the run was opened with it."""
    return int(json.loads(data_of(request.messages[0].text))["case"])


async def run_all(runtime: Runtime, briefs: Iterable[Any], person: str = "maria") -> list[Run]:
    """Open a run for each brief, all at once, and give them when all are closed."""
    async with runtime.worker() as worker:
        names = [await runtime.open_run(READER, person, brief, worker=worker) for brief in briefs]
        await asyncio.gather(*(worker.finished(name) for name in names))
        await worker.idle()
    return [await runtime.run(name) for name in names]


async def run_cases(runtime: Runtime, cases: Sequence[Any]) -> list[Run]:
    """Run the agent once for each case, told only the number of it."""
    return await run_all(runtime, [{"case": number} for number in range(len(cases))])


def unbroken(runs: Iterable[Run]) -> None:
    """Check that each run is closed, and none because the platform itself broke."""
    for run in runs:
        assert run.status != "open"
        assert run.reason is None or run.reason["id"] != "run.broke", run.reason
