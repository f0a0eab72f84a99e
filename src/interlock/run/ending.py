"""An ending: the closing step of a run, and with it, in one transaction, all that follows from it.

What follows: its task is closed, whoever waits for it gets a reply, its events open runs, its questions wait for nobody
any more. A run that failed at what somebody sent it is tried again a bounded number of times; then people have the
task.
"""

import traceback
from collections.abc import Callable
from typing import Any

from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.errors import InterlockError
from interlock.ledger.ledger import Refused, Write
from interlock.ledger.step import Draft, Head
from interlock.run.closing import Emitted, closing_rows, publish_events, returned_budget
from interlock.run.conversing import follow_turn
from interlock.run.finish import Finished
from interlock.run.following import Following, followed
from interlock.run.installation import Installation
from interlock.run.opening import Opening, Taker
from interlock.run.recorder import Recorder

__all__ = ["Ending"]

TRIES = 5


class Ending:
    """Closes one run under one claim. `taker` says who takes the runs that this opens; `opened` are these."""

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
        """Write the closing step, and with it all that follows, in one transaction."""
        finished = finished or Finished()
        self._installation.reach("run.before_close")
        at_once = self._installation.settings.listeners_at_once
        refused, owns, waited_for = "", not self.run.handed_over, True
        for _ in range(TRIES):
            emitted = await self._emitted(status, finished, at_once) if owns else Emitted()
            following = await followed(
                self._installation, self.run, self._spec, status, finished, owns, waited_for, emitted
            )
            if "turn" in self.run.opening:
                await follow_turn(self._installation, self.run, status, finished, following)
            openings = [*emitted.openings, *following.openings]
            body = self._closing_body(status, reason, finished, emitted, detail)
            refused = await self._write(body, finished, emitted, following, openings)
            if not refused:
                self._installation.reach("run.after_close")
                return
            owns &= refused != "not_owner"
            waited_for &= refused != "already_replied"
        raise InterlockError("run.not_closed", run=self.run.id, constraint=refused)

    async def _write(
        self,
        body: dict[str, Any],
        finished: Finished,
        emitted: Emitted,
        following: Following,
        openings: list[Opening],
    ) -> str:
        """Write it all, and give the constraint that forbade it; nothing when it is written."""
        told = (*following.told, *(draft for opening in openings for draft in opening.told))
        guards = [guard for opening in openings for guard in opening.guards]
        outcome = await self._recorder.flush(
            then=(Draft("run.closed", body),),
            writes=(
                *(opening.write for opening in openings),
                *following.writes,
                Write(self.run.root_task, None, told),
            ),
            guards=(*following.guards, *returned_budget(self.run), *guards),
            rows=(*closing_rows(self.run, emitted.owed), *following.rows),
            contents=(*finished.contents, *emitted.contents, *following.contents),
            durable=False,
        )
        if isinstance(outcome, Refused):
            return outcome.constraint
        self.opened = list(zip(openings, outcome.heads[1:], strict=False))
        return ""

    async def _emitted(self, status: str, finished: Finished, at_once: int) -> Emitted:
        if status != "finished" or not self._spec.emits or self.run.part:
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
        if lent := self.run.lent.as_dict():
            body["lent"] = lent
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
        if self.run.handed_over:
            return []
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
