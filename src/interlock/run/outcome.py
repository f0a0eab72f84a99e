"""An outcome: what came of a call, taken down with its labels (SC-4), or why nothing came of it."""

from typing import Any

from interlock import canonical
from interlock.catalogue import Text, say
from interlock.gate.budget import Usage
from interlock.gate.tool import Tool
from interlock.ledger.content_store import Kept
from interlock.run.installation import Installation
from interlock.run.platform_tools import handles_of
from interlock.run.recorder import Recorder
from interlock.run.run import CallState, Run
from interlock.scope.barrier import Refusal, barrier
from interlock.scope.label import NO_LABELS, Labels, listed

__all__ = ["Outcomes", "artifact_body"]


def artifact_body(run: Run, name: str, kept: Kept, media: str, labels: Labels) -> dict[str, Any]:
    """Give an artifact as a step keeps it: name, ref, digest, size, media type and labels (CS-2)."""
    return {
        "name": name,
        "ref": f"{run.id}/{name}",
        "digest": kept.digest,
        "size": kept.size,
        "media": media,
        "labels": listed(labels),
    }


class Outcomes:
    """Takes down what comes of the calls of one run."""

    def __init__(
        self, installation: Installation, recorder: Recorder, released: frozenset[tuple[str, str]]
    ) -> None:
        self._installation, self._recorder, self._released = installation, recorder, released
        self._run = recorder.run

    async def take(self, call: CallState, tool: Tool, result: Any) -> Kept | None:
        """Take in a tool's result, unless it is no JSON, too large, or not for this run's scope; give what is kept."""
        settings = self._installation.settings
        try:
            data = canonical.encode_foreign(result)
        except (TypeError, ValueError, RecursionError):
            self.fail(call, Text("tool.not_json", tool=tool.name))
            return None
        limit = settings.sizes.result
        if len(data) > limit:
            self.fail(call, Text("tool.result_too_large", tool=tool.name, size=len(data), limit=limit))
            return None
        labels = tool.labels_of(result)
        refusal = self.refusal(labels)
        if refusal is not None:
            self.fail(call, refusal.text)
            return None
        kept = await self._installation.contents.keep_any(self._run.company, data)
        too_large = len(data) > settings.sizes.shown
        handle = self.save(kept, "application/json", labels) if too_large else ""
        self.answer(call, kept, labels, handle=handle)
        return kept

    def answer(
        self,
        call: CallState,
        kept: Kept,
        labels: Labels,
        cut: dict[str, int] | None = None,
        handle: str = "",
        spent: Usage | None = None,
        **more: Any,
    ) -> None:
        """Take down a result; its labels join the run's. `cut` is the slice of an artifact that was read,
        `handle` that under which a result too large to be shown was saved, `spent` what a model used for it."""
        body = self.answered(call, kept, labels) | more
        if spent is not None:
            body["usage"] = (Usage(**body["usage"]) + spent).as_dict()
        if cut is not None:
            body["slice"] = cut
        if handle:
            body["handle"] = handle
        self._recorder.note("tool.answered", body, [kept.row])

    def answered(self, call: CallState, kept: Kept, labels: Labels = NO_LABELS) -> dict[str, Any]:
        """Give the body of the step that takes a result down."""
        body: dict[str, Any] = {
            "call": call.id,
            "tool": call.tool,
            "result": kept.digest,
            "size": kept.size,
            "usage": self._usage(),
        }
        return body | {"labels": listed(labels)} if labels else body

    def fail_saying(self, call: CallState, tool: Tool, reason: Text, said: str) -> None:
        """Take down that a tool failed with words of its own. They may hold anything that its result may, so they
        carry all its labels, and a body whose scope may not have those hears the reason alone."""
        labels = tool.labels.union(*tool.fields.values())
        if self.refusal(labels) is None:
            self.fail(call, reason, said, labels, foreign=True)
        else:
            self.fail(call, reason)

    def refusal(self, labels: Labels) -> Refusal | None:
        """Give why data with these labels may not enter the run; None when it may."""
        vocabulary = self._installation.settings.vocabulary
        return barrier(labels, self._run.scope, vocabulary, frozenset(), self._released)

    def fail(
        self,
        call: CallState,
        reason: Text,
        told: str = "",
        labels: Labels = NO_LABELS,
        *,
        foreign: bool = False,
    ) -> None:
        """Take down that a call came to nothing; `told` is what the body hears, the reason unless given, and
        `labels` what that brings into the run. With `foreign` they are a tool's own words."""
        kept = self.words(reason, told)
        body = self.failed(call, reason, told)
        if labels:
            body["labels"] = listed(labels)
        if foreign:
            body["said_by"] = "tool"
        self._recorder.note("tool.answered", body, [kept.row])

    def failed(self, call: CallState, reason: Text, told: str = "") -> dict[str, Any]:
        """Give the body of the step that says that a call came to nothing; it names `words(reason, told)`."""
        detail = self.words(reason, told).digest
        return {"call": call.id, "tool": call.tool, "error": reason, "detail": detail, "usage": self._usage()}

    def words(self, reason: Text, told: str = "") -> Kept:
        """Prepare what a body hears of a call that came to nothing."""
        return self.keep_text(told or say(reason, self._installation.settings.language))

    def _usage(self) -> dict[str, int]:
        return Usage(tool_calls=1, wall_ms=self._recorder.elapsed()).as_dict()

    def keep_text(self, text: str) -> Kept:
        """Prepare a text that a body is told."""
        return self._installation.contents.keep(self._run.company, text.encode(errors="backslashreplace"))

    def save(self, kept: Kept, media: str, labels: Labels) -> str:
        """Publish content under a handle of its own, with the run's labels and its own; give the handle.

        The same content keeps its handle while it carries no more labels than before (SC-4).
        """
        carried = labels | self._run.labels
        handle = next(handle for handle in handles_of(kept.digest) if self._fits(handle, kept, carried))
        if handle not in self._run.artifacts:
            body = artifact_body(self._run, handle, kept, media, carried)
            self._recorder.note("artifact.saved", body, [kept.row])
        return handle

    def _fits(self, handle: str, kept: Kept, labels: Labels) -> bool:
        """Tell whether a handle is free, or stands for this content with all these labels."""
        known = self._run.artifacts.get(handle)
        return known is None or (known["digest"] == kept.digest and labels <= set(known["labels"]))
