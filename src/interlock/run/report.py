"""A report: what a delegated run found, checked against what it read (RS-1)."""

from collections.abc import Mapping
from typing import Any

from interlock.message.result import Result, result_of
from interlock.run.installation import Installation
from interlock.run.judgement import Judgement
from interlock.run.run import Run

__all__ = ["checked_report", "read_names"]


async def read_names(run: Run, judgement: Judgement) -> frozenset[str]:
    """Give the names of what a run read: artifacts, and the tools that gave it a result."""
    found = set()
    for call in run.calls.values():
        if call.done is None or call.done.kind not in {"artifact", "result"}:
            continue
        if call.done.kind == "artifact":
            _, arguments = await judgement.proposed(call)
            found.add(str(arguments["name"]))
        else:
            found.add(call.tool)
    return frozenset(found)


async def checked_report(
    installation: Installation, run: Run, judgement: Judgement, said: Mapping[str, Any]
) -> Result:
    """Give a report as a result. Raises FormError `result.malformed` with all that is wrong with it."""
    read = await read_names(run, judgement)
    return result_of(dict(said), read, words=installation.settings.report_words, tokens=run.usage.tokens)
