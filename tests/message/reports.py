"""Reports for the tests of messages: contributions written in a line."""

from datetime import UTC, datetime

from interlock.message.merge import Contribution, Merged, merge
from interlock.message.result import Finding, Result, Undone


def finding(text: str, *sources: str, observed: str = "", **named: str) -> Finding:
    """Give a finding; without sources it has one of its own."""
    moment = datetime.fromisoformat(observed).replace(tzinfo=UTC) if observed else None
    return Finding(text, sources or (f"tool:{abs(hash(text)) % 97}",), observed=moment, **named)


def contribution(
    origin: str, *findings: Finding, undone: tuple[Undone, ...] = (), **more: object
) -> Contribution:
    """Give the contribution of an origin; it is partial if something is undone."""
    status = more.pop("status", "partial" if undone else "complete")
    labels = more.pop("labels", frozenset())
    return Contribution(origin, Result(status, findings, undone, **more), labels)


def merged(*texts: str, **given: object) -> Merged:
    """Merge one text of each of several origins."""
    return merge(
        [contribution(f"worker-{n}@acme", finding(text, f"source-{n}")) for n, text in enumerate(texts)],
        **given,
    )
