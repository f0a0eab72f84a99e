"""A conclusion: the reports that a run received, merged by code; a model only writes the text (RS-2 to RS-4).

The text is written in a fresh context that sees the merged findings, the conflicts and the gaps alone. What of the open
conflicts and gaps it does not state is appended by code.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from interlock import canonical
from interlock.catalogue import Text, say
from interlock.connector.model.model import Answer
from interlock.errors import InterlockError
from interlock.gate.budget import Usage
from interlock.message.completion import complete_text
from interlock.message.merge import Contribution, Merged, merge
from interlock.message.resolution import Ruling
from interlock.message.result import Result
from interlock.run.asking import Asking
from interlock.run.installation import Installation
from interlock.run.outcome import Outcomes
from interlock.run.recorder import Recorder
from interlock.run.run import CallState
from interlock.run.signal import Signals, decisions_of
from interlock.scope.label import NO_LABELS, Labels, join

__all__ = ["Concluding"]


class Concluding:
    """Concludes for one run under one claim."""

    def __init__(
        self, installation: Installation, recorder: Recorder, outcomes: Outcomes, asking: Asking
    ) -> None:
        self._installation, self._recorder, self._outcomes = installation, recorder, outcomes
        self._asking, self._signals = asking, Signals(installation, recorder)
        self.run = recorder.run

    async def act(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Merge what was reported to the run so far, and have the text written unless only the merging is wanted."""
        contributions = await self._contributions()
        if not contributions:
            self._outcomes.fail(call, Text("result.no_reports"))
            return
        rulings, carried = await self._rulings(arguments.get("judge"))
        try:
            merged = await asyncio.to_thread(merge, contributions, rulings=rulings)
        except InterlockError as error:
            self._outcomes.fail(call, Text("tool.failed", tool=call.tool, code=error.code), str(error))
            return
        form, usage = merged.told(self._installation.settings.language), Usage()
        if arguments.get("write", True):
            written = await self._written(call, arguments.get("task", ""), merged)
            if not isinstance(written, Answer):
                self._outcomes.fail(call, Text("result.not_written", reason=written))
                return
            form["text"] = complete_text(written.text, merged, self._installation.settings.language).text
            usage = written.usage
        kept = await self._installation.contents.keep_any(self.run.company, canonical.encode(form))
        labels = join(self.run.labels, carried)
        handle = self._outcomes.save(kept, "application/json", labels)
        self._outcomes.answer(call, kept, labels, handle=handle, spent=usage)

    async def _contributions(self) -> list[Contribution]:
        """The results that the run's requests were answered with; what another reply says is no finding. A request that
        failed is a gap."""
        found = []
        for call in self.run.calls.values():
            if call.message is None or call.message not in self.run.replies:
                continue
            envelope = await self._signals.envelope(self.run.replies[call.message])
            said = json.loads(await self._installation.contents.read(envelope.body))
            if envelope.type == "result" and "findings" in said:
                result = Result.from_dict({"not_done": [], "tokens": 0, **said})
            elif envelope.type == "error":
                result = Result.from_dict(
                    {"status": "failed", "summary": "", "findings": [], "not_done": [said], "tokens": 0}
                )
            else:
                continue
            found.append(Contribution(await self._origin(call, envelope.sender), result, envelope.labels))
        return found

    async def _origin(self, call: CallState, sender: str) -> str:
        """Who was asked; the platform itself answers where nobody did in time."""
        if "@" in sender:
            return sender
        asked = await self._signals.envelope(call.message or "")
        return asked.recipient

    async def _rulings(self, judge: str | None) -> tuple[list[Ruling], Labels]:
        """What a named judge settled: its decisions whose topic is the key of a conflict, as far as the run may hear
        them, and the labels that they bring (SC-6)."""
        found, labels = [], NO_LABELS
        for item in await decisions_of(self._installation, self.run.root_task):
            carried = frozenset(item["labels"])
            if judge is None or self._outcomes.refusal(carried) is not None:
                continue
            said = json.loads(await self._installation.contents.read(item["content"]))
            if said["by"] == judge:
                found.append(Ruling(judge, said["topic"], said["decision"]))
                labels = join(labels, carried)
        return found, labels

    async def _written(self, call: CallState, task: str, merged: Merged) -> Answer | dict[str, Any]:
        language = self._installation.settings.language
        form = merged.told(language)
        text = canonical.encode({"task": task, **form} if task else form).decode()
        found = await self._asking.write(call.id, say("prompt.writing", language), text)
        return found if isinstance(found, Answer) else found.reason
