"""An approval: a person's answer to the question whether one call may be made, with exactly its arguments (GT-4).

The question is kept with all that the person is shown. An answer fits the call's digest, its version, its objections
and its labels; when any of them is another one now, the answer is stale and the question is put anew.
"""

import json
from typing import Any

from interlock import canonical
from interlock.catalogue import Text, say
from interlock.clock import new_id
from interlock.gate.proposal import Proposal, Response
from interlock.gate.verdict import Ask, Objection
from interlock.ledger.ledger import Refused
from interlock.ledger.step import Draft
from interlock.run.installation import Installation
from interlock.run.post import asked
from interlock.run.recorder import Lost, Recorder
from interlock.run.run import CallState
from interlock.run.timer import timer_row
from interlock.scope.label import listed

__all__ = ["APPROVER", "Approvals"]

APPROVER = "approver"
"""The role of those who decide."""


class Approvals:
    """Asks people about the calls of one run, and finds what they answered."""

    def __init__(self, installation: Installation, recorder: Recorder) -> None:
        self._installation, self._recorder = installation, recorder
        self.run = recorder.run

    async def ask(self, call: CallState, proposal: Proposal, verdict: Ask) -> None:
        """Put the question to the people of the run's scope, and let the call wait. On disk when this returns."""
        installation, run = self._installation, self.run
        labels = listed(run.labels | proposal.labels)
        form = {
            "tool": proposal.name,
            "arguments": proposal.arguments,
            "digest": proposal.digest,
            "objections": [item.as_dict() for item in verdict.objections],
            "labels": labels,
            "receivers": _receivers(proposal),
            "agent": run.agent,
            "version": run.version,
        }
        kept = await installation.contents.keep_any(run.company, canonical.encode(form))
        name = new_id("question", installation.clock)
        due_at = installation.clock.now() + installation.settings.answer_ms
        draft = asked(name, "approval", run, kept.digest, due_at, labels, call.id, call.tool)
        waiting = Draft(
            "tool.waiting", {"call": call.id, "tool": call.tool, "question": name, "due_at": due_at}
        )
        self._recorder.note_beside(run.root_task, draft.kind, draft.body, (kept.row,))
        outcome = await self._recorder.flush(
            then=(waiting,), rows=(timer_row(name, due_at, "question", run.root_task, {"run": run.id}),)
        )
        if isinstance(outcome, Refused):
            raise Lost(run.id)

    async def responses(self, call: CallState) -> list[Response]:
        """Give what persons answered about a call, as the Gate weighs it."""
        if call.question is None:
            return []
        rows = await self._installation.ledger.query("questions_of_call", self.run.id, call.id)
        return [await self._response(row) for row in rows if row[5] == "approval" and row[9] is not None]

    async def _response(self, row: tuple[Any, ...]) -> Response:
        """Read a row of the query `questions_of_call`. An approval by somebody who has the role no more fits
        nothing."""
        name, form, outcome, by = row[0], row[7], row[9], row[10]
        asked_for = json.loads(await self._installation.contents.read(form))
        fits = asked_for["version"] == self.run.version
        if outcome == "approve":
            fits &= self._installation.settings.has_role(by, APPROVER, self.run.scope)
        return Response(
            name,
            asked_for["digest"] if fits else "",
            outcome if outcome in {"approve", "refuse"} else "expire",
            tuple(Objection(item["rule"], _text(item["reason"])) for item in asked_for["objections"]),
            frozenset(asked_for["labels"]),
        )

    async def said(self, call: CallState) -> str:
        """Give the words of whoever answered last about a call; nothing where there are none."""
        rows = await self._installation.ledger.query("questions_of_call", self.run.id, call.id)
        if not rows or rows[-1][11] is None:
            return ""
        words = (await self._installation.contents.read(rows[-1][11])).decode()
        return say("prompt.person_said", self._installation.settings.language, by=rows[-1][10], words=words)


def _text(form: dict[str, Any]) -> Text:
    return Text(form["id"], **form.get("with", {}))


def _receivers(proposal: Proposal) -> list[str]:
    tool = proposal.tool
    if tool is None:
        return []
    place = [str(tool.destination)] if tool.destination is not None else []
    return [f"tool:{tool.name}", *place]
