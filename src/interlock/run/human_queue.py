"""The human queue: what waits for people, and what they decide, recorded with the person's name (MS-8, GT-4).

In it are the tasks that people own, the questions that runs wait for, and the messages that nobody accepts. Of two who
decide at once, the first one counts and the second one is told.
"""

from typing import Any

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.clock import new_id
from interlock.errors import InterlockError
from interlock.event.chain import Place
from interlock.gate.budget import Budget
from interlock.gate.tool import leaves_of
from interlock.ledger.ledger import Appended, Row, Write
from interlock.ledger.step import Draft
from interlock.message.envelope import Envelope, Type, malformed
from interlock.message.task import person_owner
from interlock.run.brief import checked_person
from interlock.run.closing import budget_left
from interlock.run.opening import Given, Opening, Taker, opened_by_message
from interlock.run.people_task import PeopleTask
from interlock.run.waiting import Item
from interlock.scope.label import NO_LABELS, Labels
from interlock.scope.scope import Address

__all__ = ["HumanQueue", "Item"]


class HumanQueue(PeopleTask):
    """The human queue of an installation."""

    async def approve(self, start: str, by: str) -> Item:
        """Approve the call that a question is about, exactly as it was shown. Raises InterlockError `queue.*`."""
        item = await self._of_kind(start, {"approval"}, "queue.not_an_approval")
        self._in_time(item)
        if "unreadable" in item.form:
            raise InterlockError("queue.unreadable", value=item.id, why=item.form["unreadable"])
        await self._answered(item, by, "approve")
        return item

    async def refuse(self, start: str, by: str, reason: str) -> Item:
        """Refuse the call that a question is about; the agent is told the reason. Raises InterlockError `queue.*`."""
        item = await self._of_kind(start, {"approval"}, "queue.not_an_approval")
        self._in_time(item)
        await self._answered(item, by, "refuse", reason)
        return item

    async def answer(self, start: str, by: str, text: str) -> Item:
        """Answer a question of an agent; of an action in doubt, say `done` or `not_done`; of a task that people own,
        give the answer to whoever waits for it and close it. Raises InterlockError `queue.*`."""
        item = await self.find(start)
        match item.kind:
            case "question":
                self._in_time(item)
                await self._answered(item, by, "answer", text)
            case "action":
                if text not in {"done", "not_done"}:
                    raise InterlockError("queue.done_or_not", value=text)
                await self._settled(item, by, text)
            case "task":
                await self._close_task(item, by, text)
            case _:
                raise InterlockError("queue.not_a_question", value=item.id, kind=item.kind)
        return item

    async def _settled(self, item: Item, by: str, outcome: str) -> None:
        """A person says whether an action in doubt was done; it is settled with the question."""
        step = await self._asked(item)
        name = step["action"]
        row = (await self._ledger.query("action_by_id", name))[0]
        kind = "action.done" if outcome == "done" else "action.failed"
        acted = {
            **{key: step[key] for key in ("task", "action", "tool", "run", "call")},
            "agent": step["agent"],
            "outcome": "done" if outcome == "done" else "failed",
            "arguments": row[5],
            "by": by,
        }
        await self._answered(
            item,
            by,
            outcome,
            writes=(
                Write(name, None, (Draft(kind, {"action": name, "by": by}),)),
                Write(item.root, None, (Draft("task.acted", acted),)),
            ),
            guards=(Row("action_stands", (name, "in_doubt", row[9]), "already_answered"),),
        )

    async def send(
        self,
        by: str,
        agent: Address,
        said: dict[str, Any],
        kind: Type = "request",
        *,
        start: str | None = None,
        labels: Labels = NO_LABELS,
    ) -> tuple[str, str]:
        """Send a message of a person to an agent; it opens a run, on a task of its own or below the one whose id begins
        with `start`. Gives the ids of the message and of the run.

        Raises InterlockError `agent.unknown`, `run.not_started`, `barrier.brief`, `message.not_accepted`,
        `message.malformed` or `queue.*`.
        """
        checked_person(by)
        installation = self._installation
        version, state = await installation.current(agent)
        if state != "active":
            raise InterlockError("run.not_started", agent=agent, state=Text(f"run.state_{state}"))
        spec = await installation.spec(agent, version)
        if kind not in spec.accepts:
            raise InterlockError(
                "message.not_accepted", agent=agent, value=kind, known=list(spec.accepts) or ["-"]
            )
        if (problem := malformed(kind, said)) is not None:
            raise InterlockError("message.malformed", where=problem[0], why=problem[1])
        self._check_barrier(agent, labels)
        name = new_id("message", installation.clock)
        body = installation.contents.keep(spec.scope.company, canonical.encode(said))
        traced = tuple(path for path, _ in leaves_of(said))
        given = Given(kind, name, person_owner(by), None, body.digest, labels, traced=traced)
        form, opened, guards = await self._opened(start, spec, version, given, by)
        envelope = Envelope(
            id=name,
            task=form["id"],
            type=kind,
            sender=given.sender,
            recipient=agent,
            body=body.digest,
            size=body.size,
            labels=labels,
            by=by,
            opens=opened.run,
        )
        told = (*opened.told, Draft("message.sent", envelope.as_dict()))
        outcome = await self._ledger.append(
            (opened.write, Write(form["root"], None, told)),
            guards=(*guards, *opened.guards),
            contents=(body.row,),
        )
        if not isinstance(outcome, Appended):
            raise InterlockError("run.not_opened", agent=agent, why=type(outcome).__name__)
        return name, opened.run

    async def _opened(
        self, start: str | None, spec: Spec, version: int, given: Given, by: str
    ) -> tuple[dict[str, Any], Opening, tuple[Row, ...]]:
        """Give the task that a person's message opens, its run, and what must hold for it."""
        form, pool, guards = await self._task_for(start)
        run, limits = new_id("run", self._installation.clock), self._installation.settings.limits
        source = {"behalf": by}
        opened = opened_by_message(run, form, spec, version, given, source, Place(run), limits, pool, Taker())
        return form, opened, guards

    async def _task_for(self, start: str | None) -> tuple[dict[str, Any], Budget, tuple[Row, ...]]:
        name = new_id("task", self._installation.clock)
        if start is None:
            pool = self._installation.settings.task_budget
            row = Row("insert_budget", (name, pool.tool_calls, pool.tokens, pool.money, pool.wall_ms))
            return {"id": name, "root": name}, pool, (row,)
        item = await self._of_kind(start, {"task"}, "queue.not_a_task")
        pool = (await budget_left(self._installation, item.root)).share(2)
        return {"id": name, "root": item.root, "parent": item.id}, pool, ()
