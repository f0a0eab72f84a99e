"""An ending: the closing step of a run, and with it, in one transaction, the runs that its events open."""

import traceback
from collections.abc import Callable
from typing import Any

from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.errors import InterlockError
from interlock.ledger.ledger import Refused
from interlock.ledger.step import Head
from interlock.run.closing import Emitted, closing_rows, publish_events, returned_budget
from interlock.run.finish import Finished
from interlock.run.installation import Installation
from interlock.run.opening import Opening, Taker
from interlock.run.recorder import Recorder

__all__ = ["Ending"]

TRIES = 5


class Ending:
    """Closes one run under one claim. `taker` says who takes the listeners' runs; `opened` are these."""

    def __init__(
        self, installation: Installation, recorder: Recorder, spec: Spec, taker: Callable[[], Taker]
    ) -> None:
        self._installation, self._recorder, self._spec, self._taker = installation, recorder, spec, taker
        self.run = recorder.run
        self.opened: list[tuple[Opening, Head]] = []

    async def broke(self, kind: str, error: BaseException) -> None:
        """Close a run that could not go on for a reason in the platform itself, which is kept in full."""
        self._recorder.forget()
        detail = "".join(traceback.format_exception(error))
        await self.close("failed", Text("run.broke", kind=kind), detail=detail)

    async def close(
        self, status: str, reason: dict[str, Any] | None, finished: Finished | None = None, detail: str = ""
    ) -> None:
        """Write the closing step, and with it the runs that the events open, in one transaction."""
        finished = finished or Finished()
        self._installation.reach("run.before_close")
        at_once = self._installation.settings.listeners_at_once
        refused = ""
        for _ in range(TRIES):
            emitted = await self._emitted(status, finished, at_once)
            self._recorder.note("run.closed", self._closing_body(status, reason, finished, emitted, detail))
            outcome = await self._recorder.flush(
                writes=emitted.writes,
                guards=(*returned_budget(self.run), *emitted.guards),
                rows=closing_rows(self.run, emitted.owed),
                contents=(*finished.contents, *emitted.contents),
                durable=False,
            )
            if not isinstance(outcome, Refused):
                self.opened = list(zip(emitted.openings, outcome.heads[1:], strict=True))
                self._installation.reach("run.after_close")
                return
            refused = outcome.constraint
            self._recorder.take_back()
        raise InterlockError("run.not_closed", run=self.run.id, constraint=refused)

    async def _emitted(self, status: str, finished: Finished, at_once: int) -> Emitted:
        if status != "finished" or not self._spec.emits:
            return Emitted()
        artifacts = {**self.run.artifacts, **finished.artifacts}
        return await publish_events(
            self._installation, self.run, self._spec, artifacts, self._taker(), at_once
        )

    def _closing_body(
        self,
        status: str,
        reason: dict[str, Any] | None,
        finished: Finished,
        emitted: Emitted,
        detail: str,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"status": status, "usage": self.run.usage.as_dict()}
        if reason is not None:
            body["reason"] = reason
        if detail:
            kept = self._installation.contents.keep(
                self.run.company, detail.encode(errors="backslashreplace")
            )
            finished.contents.append(kept.row)
            body["detail"] = kept.digest
        if finished.artifacts:
            body["artifacts"] = list(finished.artifacts.values())
        if finished.not_done is not None:
            body["not_done_said"] = finished.not_done
        if not_done := self._not_done(status, finished):
            body["not_done"] = not_done
        if emitted.events:
            body["events"] = emitted.events
        if emitted.chain is not None:
            body["chain"] = emitted.chain
        return body

    def _not_done(self, status: str, finished: Finished) -> list[dict[str, Any]]:
        """What was asked and not achieved, in the platform's words: the brief, the artifacts that the version
        exposes, and each call left over."""
        missing = sorted(self._spec.exposed - {*self.run.artifacts, *finished.artifacts})
        found: list[dict[str, Any]] = []
        if status != "finished":
            found.append(Text("run.not_finished", agent=self.run.agent))
        found += [Text("run.artifact_not_made", name=name) for name in missing]
        if status != "finished":
            left_over = dict.fromkeys((call.tool, call.verdict == "allow") for call in self.run.waiting)
            found += [
                Text("run.call_in_doubt" if allowed else "run.call_not_made", tool=tool)
                for tool, allowed in left_over
            ]
        return found
