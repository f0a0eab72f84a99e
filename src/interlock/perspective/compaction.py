"""A compaction: the older entries of a run, replaced in its prompts by a summary (ME-4).

The summary is derived: it keeps the union of the labels of what it replaces, and its record names every source. Whole
exchanges are replaced, never a call without its result; the last one, and what is still open, stay. The entries
themselves stay in the trail.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock import canonical
from interlock.ledger.content_store import ContentStore
from interlock.perspective.fence import Fenced, shown_fenced
from interlock.perspective.shown import Shower, Shown, groups_of_entries
from interlock.scope.label import Labels, join, listed

__all__ = [
    "Compaction",
    "compacted_labels",
    "extract",
    "named_by_record",
    "record_of",
    "replaceable",
    "source_text",
    "summary_of",
]

KEPT = 3
"""What part of the threshold the newest entries may take that are not replaced."""
WORTH = 8
"""What part of the limit must at least be replaced: less is not worth a summary."""
LINE = 80
"""How many characters of each entry an extract has at least."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction as the trail keeps it.

    revision: which one of the run. last: so many of the run's entries, from the first on, are replaced. record: the
    digest of summary and sources. labels: the union of theirs.
    """

    revision: int
    last: int
    record: str
    labels: Labels

    @classmethod
    def of_step(cls, body: Mapping[str, Any]) -> "Compaction":
        """Read it from the body of a step `context.compacted`."""
        return cls(body["revision"], body["last"], body["compacted"], frozenset(body["labels"]))


def replaceable(entries: Sequence[Shown], limit: int, percent: int) -> int:
    """Give how many entries, from the first on, are to be replaced now: none while all take at most `percent` of
    the `limit` in bytes."""
    sizes = [item.size for item in entries]
    threshold = limit * percent // 100
    if sum(sizes) <= threshold:
        return 0
    groups = groups_of_entries(entries)
    starts = [place for place, group in enumerate(groups) if not place or groups[place - 1] != group]
    last = _last_exchange(entries, groups)
    # From the newest group backwards, as many as may stay; never less than the last exchange.
    cut = last
    while cut and sum(sizes[_start_before(starts, cut) :]) <= threshold // KEPT:
        cut = _start_before(starts, cut)
    return cut if sum(sizes[:cut]) >= limit // WORTH else 0


def _last_exchange(entries: Sequence[Shown], groups: Sequence[int]) -> int:
    """Where the first exchange begins that must stay: the last one, or an earlier one with a call still open."""
    settled = {item.call for item in entries if item.role == "tool"}
    found = 0
    for place, item in enumerate(entries):
        if item.kind == "answer":
            found = place
            if any(call.id not in settled for call in item.calls):
                return place
    return found


def _start_before(starts: Sequence[int], place: int) -> int:
    return max(start for start in starts if start < place)


def compacted_labels(opening: Shown, entries: Sequence[Shown], before: Shown | None) -> Labels:
    """Give the labels that a summary of entries, and of the summary before them, carries: theirs, audiences among them,
    and those of the opening, which every answer of a model has read (SC-4)."""
    return join(opening.labels, *(item.labels for item in entries), before.labels if before else ())


def source_text(entries: Sequence[Shown], before: Shown | None, room: int) -> str:
    """Give entries and the summary before them as a model is to read them that summarises: every one fenced, and what
    is longer than its fair share of `room` bytes cut."""
    fenced = [*([part for part in before.parts if isinstance(part, Fenced)] if before else ())]
    for item in entries:
        fenced += _as_data(item)
    share = max(LINE, room // max(1, len(fenced)) // 2)
    spare = sum(max(0, share - len(part.content)) for part in fenced)
    over = sum(len(part.content) > share for part in fenced)
    longest = share + (spare // over if over else 0)
    text = shown_fenced(_cut(part, longest) for part in fenced)
    while len(text.encode()) > room and longest > LINE:
        longest = max(LINE, longest // 2)
        text = shown_fenced(_cut(part, longest) for part in fenced)
    return text


def _as_data(item: Shown) -> Iterator[Fenced]:
    words = " ".join(part for part in item.parts if isinstance(part, str))
    said = "\n".join([*([words] if words else ()), *(f"{call.name} {call.arguments}" for call in item.calls)])
    if said:
        yield Fenced("answer" if item.kind == "answer" else "note", said)
    yield from (part for part in item.parts if isinstance(part, Fenced))


def _cut(part: Fenced, longest: int) -> Fenced:
    if len(part.content) <= longest:
        return part
    return Fenced(part.kind, part.content[:longest] + " …", part.name, part.labels)


def extract(entries: Sequence[Shown], before: str, room: int) -> str:
    """Give a plain summary without any model, of at most `room` characters: the one `before` it, then the beginning
    of each entry on a line of its own; where there are too many, the newest."""
    lines = [line for item in entries for line in _lines(item)]
    kept = before[: room // 2]
    left = room - len(kept) - LINE
    most = max(1, left // (LINE + 1))
    dropped, lines = max(0, len(lines) - most), lines[-most:]
    longest = max(LINE, left // max(1, len(lines)) - 1)
    begun = [line if len(line) <= longest else f"{line[: longest - 1]}…" for line in lines]
    omitted = [f"(… {dropped})"] if dropped else []
    return "\n".join([*([kept] if kept else ()), *omitted, *begun])[:room]


def _lines(item: Shown) -> Iterator[str]:
    for part in _as_data(item):
        origin = f"{part.kind} {part.name}".strip()
        size = f" ({len(part.content)})" if len(part.content) > LINE else ""
        for line in part.content.splitlines() if part.kind == "answer" else (part.content,):
            words = " ".join(line.split())
            yield f"→ {words}" if part.kind == "answer" else f"{origin}{size}: {words}"


def record_of(
    text: str, how: str, entries: Sequence[Shown], before: Compaction | None, standing: Mapping[str, Any]
) -> bytes:
    """Give the record of a compaction: its summary, `how` that was made (`extract`, or `model`), its sources by kind,
    digest and labels, with the memories and message events in each, and what stands open still."""
    sources: list[dict[str, Any]] = []
    if before is not None:
        sources.append(_source("summary", before.record, before.labels))
    sources += [_source(item.kind, item.digest, item.labels, item.call, item.recalled) for item in entries]
    return canonical.encode({"text": text, "how": how, "sources": sources, "standing": dict(standing)})


def _source(
    kind: str, digest: str | None, labels: Labels, call: str = "", recalled: Sequence[tuple[str, int]] = ()
) -> dict[str, Any]:
    seen = [list(item) for item in recalled]
    whole = {"kind": kind, "content": digest, "labels": listed(labels), "call": call, "recalled": seen}
    return {key: value for key, value in whole.items() if value}


async def summary_of(contents: ContentStore, compaction: Compaction, shower: Shower) -> Shown:
    """Give the summary as a prompt shows it. Raises InterlockError `content.missing` or `content.corrupt`."""
    record = json.loads(await contents.read(compaction.record))
    return shower.summary(record, compaction.revision, compaction.labels, compaction.record)


def named_by_record(data: bytes) -> Iterator[tuple[str, str]]:
    """Give what a record names, as `interlock.ledger.content_check` asks for it: its sources."""
    for source in json.loads(data)["sources"]:
        if "content" in source:
            yield (
                {"summary": "compacted", "answer": "answer"}.get(source["kind"], "content"),
                source["content"],
            )
