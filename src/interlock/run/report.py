"""A report: what a delegated run found, checked against what it read (RS-1)."""

from collections.abc import Mapping
from typing import Any

from interlock.catalogue import Text
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
) -> Text | None:
    """Give what is wrong with a report, or None."""
    words = installation.settings.report_words
    texts = [said["summary"], *(item["text"] for item in said["findings"])]
    count = sum(len(text.split()) for text in texts)
    if count > words:
        return Text("result.too_long", count=count, limit=words)
    known = await read_names(run, judgement)
    for place, finding in enumerate(said["findings"], 1):
        for source in finding["sources"]:
            if source not in known:
                return Text("result.unread_source", place=place, known=sorted(known) or ["-"])
    if said["status"] != "complete" and not said.get("not_done"):
        return Text("result.no_gaps", status=said["status"])
    return None
