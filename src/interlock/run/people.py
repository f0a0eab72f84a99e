"""What is common to all that people decide: who may, on what, in which words."""

from collections.abc import Sequence
from typing import Any

from interlock.catalogue import Text
from interlock.errors import InterlockError
from interlock.ledger.ledger import Refused, Row, Write
from interlock.ledger.step import Draft
from interlock.run.approval import APPROVER
from interlock.run.brief import checked_person
from interlock.run.waiting import Item, Waiting
from interlock.scope.scope import Scope

__all__ = ["People", "said_by_person"]

SAID = 8000
"""How many characters a person's words may have."""


def said_by_person(text: str) -> bytes:
    """Give the bytes of what a person said. Raises InterlockError `queue.no_words`, `queue.too_long` or
    `queue.not_text`."""
    if not text.strip():
        raise InterlockError("queue.no_words")
    if len(text) > SAID:
        raise InterlockError("queue.too_long", size=len(text), limit=SAID)
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InterlockError("queue.not_text") from None


class People(Waiting):
    """Checks what a person decides before any of it is written."""

    async def _of_kind(self, start: str, kinds: set[str], code: str) -> Item:
        item = await self.find(start)
        if item.kind not in kinds:
            raise InterlockError(code, value=item.id, kind=item.kind)
        return item

    async def _asked(self, item: Item) -> dict[str, Any]:
        """Give the step that asked a question."""
        return next(
            step.body
            for step in await self._steps(item.root)
            if step.kind == "question.asked" and step.body["question"] == item.id
        )

    async def _company(self, item: Item) -> str:
        if item.run:
            return str(Scope((await self._ledger.query("run_by_id", item.run))[0][3]).company)
        return str(Scope(item.scope).company)

    def _words(self, text: str, company: str) -> Any:
        """Keep what a person said."""
        return self._installation.contents.keep(company, said_by_person(text))

    def _in_time(self, item: Item) -> None:
        """Nobody can answer when the time is over, also where no worker was there to say so (GT-4)."""
        if not item.outcome and 0 < item.due_at <= self._installation.clock.now():
            raise InterlockError("queue.over", value=item.id)

    def _check(self, by: str, scope: Scope) -> None:
        checked_person(by)
        if not self._installation.settings.has_role(by, APPROVER, scope):
            raise InterlockError("queue.no_role", person=by, role=APPROVER, scope=scope)

    async def _answered(
        self,
        item: Item,
        by: str,
        outcome: str,
        said: str | None = None,
        writes: Sequence[Write] = (),
        guards: Sequence[Row] = (),
    ) -> None:
        self._check(by, Scope(item.scope))
        body: dict[str, Any] = {"question": item.id, "outcome": outcome, "by": by}
        contents = []
        if said is not None:
            kept = self._words(said, await self._company(item))
            body["said"] = kept.digest
            contents.append(kept.row)
        written = await self._ledger.append(
            (Write(item.root, None, (Draft("question.answered", body),)), *writes),
            guards=(Row("question_waits", (item.id,), "already_answered"), *guards),
            rows=(
                Row("end_timer", (item.id,)),
                Row("signal_run", (item.id, "answer", "", item.run)),
                Row("wake_run", (item.run,)),
            ),
            contents=contents,
        )
        if isinstance(written, Refused):
            row = (await self._ledger.query("question_by_id", item.id))[0]
            if row[9] is None:
                raise InterlockError("queue.action_settled", value=item.id)
            raise InterlockError(
                "queue.answered_already",
                value=item.id,
                outcome=Text(f"queue.outcome_{row[9]}"),
                by=row[10] or "–",
            )

    # Sending
