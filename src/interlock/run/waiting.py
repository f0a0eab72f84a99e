"""What waits for people: questions of runs, tasks that people own, and messages that nobody accepts (MS-8)."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from interlock.errors import InterlockError
from interlock.message.task import Task
from interlock.run.installation import Installation

__all__ = ["Item", "Waiting"]

PAGE = 500
TRAIL = 1_000_000
"""More steps than the stream of a root task has."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that waits for a person.

    kind: `approval`, `question`, `action`, `conflict`, `task` or `dead_letter`. id: that of the question, the task
    or the
    message. scope: whose people it waits for. form: what they are shown, read from the content store. due_at: until
    when,
    in milliseconds since the Unix epoch; 0 for no limit. agent: who asks; outcome, answered_by: what became of it.
    """

    kind: str
    id: str
    scope: str
    root: str
    task: str = ""
    run: str = ""
    due_at: int = 0
    owner: str = ""
    agent: str = ""
    outcome: str = ""
    answered_by: str = ""
    reason: dict[str, Any] | None = None
    form: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Give it for programs; what is empty is left out."""
        whole = {
            "kind": self.kind,
            "id": self.id,
            "scope": self.scope,
            "root": self.root,
            "task": self.task,
            "run": self.run,
            "due_at": self.due_at,
            "owner": self.owner,
            "agent": self.agent,
            "outcome": self.outcome,
            "by": self.answered_by,
            "reason": self.reason,
            "form": self.form,
        }
        return {key: value for key, value in whole.items() if value}


class Waiting:
    """Reads what waits for people in an installation."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._ledger = installation.ledger

    async def items(self) -> list[Item]:
        """Give all that waits for people: the oldest first, questions before tasks before dead letters."""
        return [*await self._questions(), *await self._tasks(), *await self._dead_letters()]

    async def _questions(self) -> list[Item]:
        found, after = [], ""
        while rows := await self._ledger.query("questions_waiting", after, PAGE):
            after = rows[-1][0]
            found += [await self._question_item(row) for row in rows]
        return found

    async def _question_item(self, row: tuple[Any, ...]) -> Item:
        name, root, task, run, _, kind, scope, form, due_at, outcome, by, _ = row
        found = await self._ledger.query("run_by_id", run)
        return Item(
            kind,
            name,
            scope,
            root,
            task,
            run,
            due_at,
            agent=found[0][1] if found else "",
            outcome=outcome or "",
            answered_by=by or "",
            form=await self._form(form),
        )

    async def _form(self, digest: str) -> dict[str, Any]:
        try:
            form: dict[str, Any] = json.loads(await self._installation.contents.read(digest))
        except InterlockError as error:
            return {"unreadable": error.code}
        return form

    async def _tasks(self) -> list[Item]:
        found, after = [], ""
        while rows := await self._ledger.query("tasks_of_people", after, PAGE):
            after = rows[-1][0]
            for task in map(Task.of_row, rows):
                last = await self._last_move(task)
                scope = last.get("owner", task.owner).partition("@")[2] or await self._scope(task)
                found.append(
                    Item(
                        "task",
                        task.id,
                        scope,
                        task.root,
                        task.id,
                        owner=task.owner,
                        reason=last.get("reason"),
                        form=await self._package(task),
                    )
                )
        return found

    async def _dead_letters(self) -> list[Item]:
        found, after = [], ""
        while rows := await self._ledger.query("messages_dead", after, PAGE):
            after = rows[-1][0]
            for name, root, kind, sender, recipient in rows:
                form = {"type": kind, "from": sender, "to": recipient}
                found.append(Item("dead_letter", name, recipient.partition("@")[2], root, form=form))
        return found

    async def _steps(self, root: str) -> list[Any]:
        return await self._ledger.read(root, 0, TRAIL)

    async def _last_move(self, task: Task) -> dict[str, Any]:
        """The step by which the task came into the human queue last."""
        steps = await self._steps(task.root)
        moves = [step.body for step in steps if step.kind == "task.queued" and step.body["task"] == task.id]
        return moves[-1] if moves else {}

    async def _scope(self, task: Task) -> str:
        return str((await self._ledger.query("run_by_id", task.run))[0][3])

    async def _package(self, task: Task) -> dict[str, Any]:
        """What the task's last hand-offs said, with the reason of each who handed it over."""
        handed = await self._hand_offs(task)
        if not handed:
            return {}
        form = await self._form(handed[-1]["package"])
        reasons = {}
        for body in handed:
            said = form if body is handed[-1] else await self._form(body["package"])
            reasons[body["from"]] = said.get("reason", "")
        return {**form, "reasons": reasons}

    async def _hand_offs(self, task: Task) -> list[dict[str, Any]]:
        return [
            step.body
            for step in await self._steps(task.root)
            if step.kind in {"task.handed_over", "task.queued"}
            and step.body["task"] == task.id
            and "package" in step.body
        ]

    # Finding

    async def find(self, start: str) -> Item:
        """Give the one thing whose id begins so: a question, open or not, or a task; for an agent's address, the one
        thing that it waits for.

        Raises InterlockError `queue.unknown` or `queue.ambiguous`.
        """
        if "@" in start:
            return await self._of_agent(start)
        found = await self._candidates(start)
        if not found:
            raise InterlockError("queue.unknown", value=start)
        if len(found) > 1 and found[0] != start:
            raise InterlockError("queue.ambiguous", value=start)
        name = found[0]
        if name.startswith("question_"):
            return await self._question_item((await self._ledger.query("question_by_id", name))[0])
        task = await self._task(name)
        return Item("task", task.id, await self._scope(task), task.root, task.id, task.run, owner=task.owner)

    async def _of_agent(self, agent: str) -> Item:
        items = [item for item in await self._questions() if item.agent == agent]
        if len(items) != 1:
            raise InterlockError("queue.ambiguous" if items else "queue.unknown", value=agent)
        return items[0]

    async def whole(self, start: str) -> Item:
        """Give the one thing whose id begins so, with all that a person is to see of it. Raises InterlockError
        `queue.unknown` or `queue.ambiguous`."""
        item = await self.find(start)
        if item.kind != "task":
            return item
        task = await self._task(item.id)
        last = await self._last_move(task)
        return replace(item, reason=last.get("reason"), form=await self._package(task))

    async def _candidates(self, start: str) -> list[str]:
        if not start.isascii() or not start.replace("_", "").isalnum():
            return []
        found = []
        for kind, query in (("question", "questions_starting_with"), ("task", "tasks_starting_with")):
            if kind.startswith(start[: len(kind)]) or not start.partition("_")[1]:
                name = start if start.startswith(f"{kind}_") else f"{kind}_{start}"
                found += [row[0] for row in await self._ledger.query(query, name, name + "~")]
        return found

    async def _task(self, name: str) -> Task:
        return Task.of_row((await self._ledger.query("task_by_id", name))[0])
