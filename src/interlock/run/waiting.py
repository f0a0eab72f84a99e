"""What waits for people: questions of runs, tasks that people own, and messages that nobody accepts (MS-8)."""

import json
from dataclasses import dataclass, field
from typing import Any

from interlock import canonical
from interlock.errors import InterlockError
from interlock.message.task import Task
from interlock.run.action import actions_of
from interlock.run.installation import Installation

__all__ = ["NOTHING", "Item", "Waiting"]

PAGE = 500
NOTHING = "–"
OWNED = frozenset({"task.opened", "task.handed_over", "task.queued", "task.taken"})
"""The steps by which a task comes to an owner."""
TRAIL = 1_000_000
SAID_KINDS = {"dead": "undelivered", "in_doubt": "delivery_in_doubt"}
"""By how it stands with what an agent said: as what people have it."""
"""More steps than the stream of a root task has."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that waits for a person.

    kind: `approval`, `question`, `action`, `conflict`, `task`, `dead_letter`, `undelivered` or `delivery_in_doubt`. id:
    that of the question, the task or the message. scope: whose people it waits for. form: what they are shown, read
    from the content store. since,
    due_at: since and until when, in milliseconds since the Unix epoch; `due_at` 0 for no limit. agent: who asks;
    outcome, answered_by: what became of it.
    """

    kind: str
    id: str
    scope: str
    root: str
    task: str = ""
    run: str = ""
    since: int = 0
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
            "since": self.since,
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
        times: dict[str, dict[str, int]] = {}
        while rows := await self._ledger.query("questions_waiting", after, PAGE):
            after = rows[-1][0]
            for row in rows:
                if row[1] not in times:
                    times[row[1]] = await self._asked_at(row[1])
                found.append(await self._question_item(row, times[row[1]]))
        return found

    async def _asked_at(self, root: str) -> dict[str, int]:
        """Give when each question of a root task was asked. Its id does not tell: ids rise though a clock is set
        back."""
        steps = await self._steps(root)
        return {step.body["question"]: step.at for step in steps if step.kind == "question.asked"}

    async def _question_item(self, row: tuple[Any, ...], asked_at: dict[str, int]) -> Item:
        name, root, task, run, _, kind, scope, form, due_at, outcome, by, _ = row
        found = await self._ledger.query("run_by_id", run)
        return Item(
            kind,
            name,
            scope,
            root,
            task,
            run,
            asked_at.get(name, 0),
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
            found += [await self._task_item(Task.of_row(row)) for row in rows]
        return found

    async def _task_item(self, task: Task) -> Item:
        """Give a task with its package. It waits for the people of its owner's scope; taken by a person, of the scope
        of whoever it was taken from."""
        steps = [step for step in await self._steps(task.root) if step.body.get("task") == task.id]
        moves = [step.body for step in steps if step.kind in OWNED - {"task.taken"}]
        last: dict[str, Any] = moves[-1] if moves else {}
        scope = last.get("to", last.get("owner", "")).partition("@")[2]
        return Item(
            "task",
            task.id,
            scope or await self._scope(task),
            task.root,
            task.id,
            task.run,
            since=max((step.at for step in steps if step.kind in OWNED), default=0),
            owner=task.owner,
            reason=last.get("reason"),
            form=await self._package(task, [step.body for step in steps if "package" in step.body]),
        )

    async def _scope(self, task: Task) -> str:
        return str((await self._ledger.query("run_by_id", task.run))[0][3])

    async def _package(self, task: Task, handed: list[dict[str, Any]]) -> dict[str, Any]:
        """What the last hand-off said, with the reason of each who handed the task over; of a task that nobody handed
        over, what it was opened with. What was done is what the action ledger has now."""
        if not handed:
            actions = await self._actions(task)
            return {"goal": await self._goal(task)} | ({"actions": actions} if actions else {})
        packages = [await self._form(body["package"]) for body in handed]
        reasons = dict.fromkeys(
            (body["from"], said.get("reason", "")) for body, said in zip(handed, packages, strict=True)
        )
        return {
            **packages[-1],
            "actions": await self._actions(task),
            "reasons": [{"from": sender, "reason": reason} for sender, reason in reasons],
        }

    async def _actions(self, task: Task) -> list[dict[str, Any]]:
        try:
            return (await actions_of(self._installation, task.root))[0]
        except InterlockError as error:
            return [{"unreadable": error.code}]

    async def _goal(self, task: Task) -> str:
        try:
            return await self._opened_with(task)
        except InterlockError as error:
            return error.code

    async def _opened_with(self, task: Task) -> str:
        """Give the brief of a task in the words of whoever opened it; a dash where there is none. Raises InterlockError
        `content.*`."""
        opening = (await self._ledger.read(task.run, 0, 1))[0].body
        digest = opening["given"]["body"] if "given" in opening else opening.get("input")
        if digest is None:
            return NOTHING
        brief = json.loads(await self._installation.contents.read(digest))
        return brief if isinstance(brief, str) else canonical.encode(brief).decode()

    async def _dead_letters(self) -> list[Item]:
        found, after = [], ""
        while rows := await self._ledger.query("messages_dead", after, PAGE):
            after = rows[-1][0]
            found += [await self._dead_letter(*row) for row in rows]
        return [*found, *await self._undelivered()]

    async def _undelivered(self) -> list[Item]:
        found, after = [], ""
        while rows := await self._ledger.query("said_undelivered", after, PAGE):
            after = rows[-1][0]
            found += [await self._unsaid(*row) for row in rows]
        return found

    async def _unsaid(self, name: str, agent: str, conversation: str, run: str, state: str) -> Item:
        """What an agent said and the outside would not take, or nobody knows, with why."""
        steps = [step for step in await self._steps(conversation) if step.body.get("event") == name]
        said, last = steps[0].body, steps[-1]
        form: dict[str, Any] = {"connector": await self._connector(agent, conversation)}
        try:
            form["text"] = (await self._installation.contents.read(said["content"])).decode(
                "utf-8", "replace"
            )
        except InterlockError as error:
            form["unreadable"] = error.code
        if "deadline" in last.body:
            form["deadline"] = last.body["deadline"]
        row, kind = (await self._ledger.query("run_by_id", run))[0], SAID_KINDS[state]
        where = (row[3], row[5], row[4], run)
        return Item(kind, name, *where, last.at, agent=agent, reason=last.body["reason"], form=form)

    async def _connector(self, agent: str, conversation: str) -> str:
        return str((await self._ledger.within(agent, "conversation_by_id", conversation))[0][1])

    async def _dead_letter(self, name: str, root: str, kind: str, sender: str, recipient: str) -> Item:
        place = (await self._ledger.query("message_by_id", name))[0][3]
        sent = (await self._ledger.read(root, place - 1, 1))[0]
        form = {"type": kind, "from": sender, "to": recipient, **await self._form(sent.body["body"])}
        scope = recipient.partition("@")[2]
        return Item("dead_letter", name, scope, root, sent.body["task"], since=sent.at, form=form)

    async def _steps(self, root: str) -> list[Any]:
        return await self._ledger.read(root, 0, TRAIL)

    # Finding

    async def find(self, start: str) -> Item:
        """Give the one thing whose id begins so, with all that a person is to see of it: a question, open or not, a
        task or a dead letter; for an agent's address, the one thing that it waits for.

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
            row = (await self._ledger.query("question_by_id", name))[0]
            return await self._question_item(row, await self._asked_at(row[1]))
        if name.startswith(("message_", "event_")):
            return next(item for item in await self._dead_letters() if item.id == name)
        return await self._task_item(await self._task(name))

    async def _of_agent(self, agent: str) -> Item:
        items = [item for item in await self._questions() if item.agent == agent]
        if len(items) != 1:
            raise InterlockError("queue.ambiguous" if items else "queue.unknown", value=agent)
        return items[0]

    async def _candidates(self, start: str) -> list[str]:
        if not start.isascii() or not start.replace("_", "").isalnum():
            return []
        named, _, rest = start.rpartition("_")
        found: list[str] = []
        if rest and named in {"", "question", "task"}:
            for kind in (named,) if named else ("question", "task"):
                rows = await self._ledger.query(f"{kind}s_starting_with", f"{kind}_{rest}", f"{kind}_{rest}~")
                found += [row[0] for row in rows]
        if rest and named in {"", "message", "event"}:
            letters = [item.id for item in await self._dead_letters()]
            starts = tuple(f"{kind}_{rest}" for kind in ((named,) if named else ("message", "event")))
            found += [name for name in letters if name.startswith(starts)]
        return found

    async def _task(self, name: str) -> Task:
        return Task.of_row((await self._ledger.query("task_by_id", name))[0])
