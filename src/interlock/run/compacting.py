"""Compacting: replaces the older entries of a run by a summary before its model is asked, in one step (ME-4).

The run itself does it, between two of its moves: whoever has something to say meanwhile waits beside the run, so that
nothing races it. A crash leaves the prompts as they were, or the step with its summary.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from interlock.catalogue import say
from interlock.connector.model.model import Answer
from interlock.gate.budget import Usage
from interlock.perspective.compaction import (
    compacted_labels,
    extract,
    record_of,
    replaceable,
    source_text,
)
from interlock.perspective.fence import Fenced
from interlock.perspective.resolver import Resolver
from interlock.perspective.shown import Shown
from interlock.run.installation import Installation
from interlock.run.move import End
from interlock.run.recorder import Recorder
from interlock.run.run import Run
from interlock.scope.label import Labels, listed

if TYPE_CHECKING:
    from interlock.run.asking import Asking

__all__ = ["COMPACTING", "Compacting", "standing_of"]

COMPACTING = "#compacting"
"""What is added to an agent's address where a model summarises for it; a script answers under that name."""
SUMMARY = 16
"""What part of a prompt's limit a summary may take."""


def standing_of(run: Run) -> dict[str, Any]:
    """Give what a summary must not lose: the calls that are still open, with the messages whose replies they wait for,
    the nodes of work graphs that are under way, and the names of the artifacts that the run was given or saved."""
    opened = [
        {"call": call.id, "tool": call.tool, **({"waits_for": call.message} if call.message else {})}
        for call in run.open_calls
    ]
    under_way = [
        {"revision": work.revision, "node": node} for work in run.works for node in work.children.values()
    ]
    names = sorted(name for name, item in {**run.given, **run.artifacts}.items() if not item.get("absent"))
    whole = {"open_calls": opened, "work_under_way": under_way, "artifacts": names}
    return {key: value for key, value in whole.items() if value}


class Compacting:
    """Compacts for one run under one claim."""

    def __init__(self, installation: Installation, recorder: Recorder, asking: "Asking") -> None:
        self._installation, self._recorder, self._asking = installation, recorder, asking
        self.run = recorder.run

    async def look(self, resolver: Resolver, limit: int) -> End | None:
        """Read what the run has been told so far, and replace its older entries if they take too much of a prompt's
        `limit` in bytes. Gives why the run is at its end where making a summary used its budget up."""
        run = self.run
        await resolver.read(run.entries, run.compaction)
        count = replaceable(resolver.entries, limit, self._installation.settings.compaction.percent)
        if not count:
            return None
        made = await self._summary(resolver.entries[:count], resolver.summary, limit)
        if isinstance(made, End):
            return made
        labels = compacted_labels(resolver.opening, resolver.entries[:count], resolver.summary)
        await self._write(resolver.entries[:count], labels, *made)
        await resolver.read(run.entries, run.compaction)
        return None

    async def _summary(
        self, entries: Sequence[Shown], before: Shown | None, limit: int
    ) -> tuple[str, str, Usage] | End:
        """Give a summary, how it was made and what it used: by the configured model role or, without one and where
        that gives none, by code."""
        role = self._installation.settings.compaction.role
        room, usage = max(1, limit // SUMMARY), Usage()
        if role is not None:
            found = await self._written(role, entries, before)
            if isinstance(found, End) and found.status == "exhausted":
                return found
            if isinstance(found, Answer):
                usage = found.usage
                if found.text.strip():
                    return found.text.strip()[:room], "model", usage
        earlier = [part.content for part in before.parts if isinstance(part, Fenced)][:1] if before else []
        return extract(entries, "".join(earlier), room), "extract", usage

    async def _written(self, role: str, entries: Sequence[Shown], before: Shown | None) -> Answer | End:
        settings = self._installation.settings
        instructions = say("prompt.compacting", settings.language)
        choice = settings.models.get(role)
        longest = self._asking.limit_of(choice) if choice else settings.sizes.prompt
        text = source_text(entries, before, max(1, longest - len(instructions.encode())))
        revision = self._revision
        return await self._asking.beside(
            role, COMPACTING, revision, instructions, text, {"compacting": revision}
        )

    @property
    def _revision(self) -> int:
        return 1 + (self.run.compaction.revision if self.run.compaction else 0)

    async def _write(
        self, entries: Sequence[Shown], labels: Labels, text: str, how: str, usage: Usage
    ) -> None:
        run, contents = self.run, self._installation.contents
        replaced = run.compaction.last if run.compaction else 0
        record = record_of(text, how, entries, run.compaction, standing_of(run))
        kept = await contents.keep_any(run.company, record)
        body = {
            "revision": self._revision,
            "first": replaced + 1,
            "last": replaced + len(entries),
            "compacted": kept.digest,
            "size": kept.size,
            "how": how,
            "labels": listed(labels),
            "usage": (usage + Usage(wall_ms=self._recorder.elapsed())).as_dict(),
        }
        self._recorder.note("context.compacted", body, [kept.row])
        await self._recorder.flush()
        self._installation.reach("context.compacted")
