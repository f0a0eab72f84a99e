"""A check of what is owed: no listener that a closing step left to be opened was forgotten (EV-5, EV-10)."""

import json
from collections import Counter
from typing import Any

from interlock.ledger.content_store import ContentStore
from interlock.ledger.ledger import Ledger
from interlock.ledger.step import Step

__all__ = ["is_forgotten", "list_of"]

ALL = 1_000_000
"""More steps than the stream of a task has."""


def list_of(step: Step) -> str | None:
    """Give the digest of the list of listeners that a closing step left owed; None for any other step.

    Raises InterlockError `ledger.damaged`, and what comes of a body of another form.
    """
    if step.kind != "run.closed":
        return None
    return next((str(item["list"]) for item in step.body.get("events", ()) if "list" in item), None)


async def is_forgotten(ledger: Ledger, contents: ContentStore, run: str, listed: str) -> bool:
    """Tell whether a listener of the list was neither opened nor noted as not started, and is owed no more.

    The outbox is looked at first: its row goes only after the last listener, so that a dispatcher at work is
    never taken for one that forgot. Raises InterlockError for what cannot be read.
    """
    if await ledger.query("owed_of_run", run):
        return False
    wanted = Counter(
        delivery["listener"]
        for event in json.loads(await contents.read_afresh(listed))
        for delivery in event["deliveries"]
        if delivery["outcome"] == "open"
    )
    return bool(wanted - await _settled(ledger, run))


async def _settled(ledger: Ledger, run: str) -> "Counter[str]":
    """Count for each listener how often an event of the run opened it, or was noted not to."""
    opened: list[Any] = [agent for _, agent, _ in await ledger.query("runs_caused_by", run, run)]
    task = (await ledger.query("run_by_id", run))[0][4]
    noted = [
        step.body["listener"]
        for step in await ledger.read(task, 0, ALL)
        if step.kind == "event.not_started" and step.body["run"] == run
    ]
    return Counter(opened + noted)
