"""The human queue: what waits for people, and what they decide, recorded with the person's name (MS-8, GT-4).

In it are the tasks that people own, the questions that runs wait for, and the messages that nobody accepts. Of two who
decide at once, the first one counts and the second one is told.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from interlock import canonical
from interlock.catalogue import Text
from interlock.clock import new_id
from interlock.errors import InterlockError
from interlock.event.chain import Place
from interlock.gate.budget import Budget
from interlock.gate.tool import leaves_of
from interlock.ledger.ledger import Appended, Refused, Row, Write
from interlock.ledger.step import Draft
from interlock.message.envelope import Envelope, Type, malformed
from interlock.message.hand_off import package_of
from interlock.message.task import OPEN, Task, is_people, person_owner
from interlock.run.action import actions_of
from interlock.run.approval import APPROVER
from interlock.run.brief import checked_person
from interlock.run.closing import budget_left
from interlock.run.installation import Installation
from interlock.run.opening import Given, Taker, opened_by_message
from interlock.run.post import posted
from interlock.run.timer import timer_row
from interlock.scope.barrier import barrier
from interlock.scope.label import NO_LABELS, Labels
from interlock.scope.scope import Address, Scope

__all__ = ["HumanQueue", "Item"]

PAGE = 500
SAID = 8000
"""How many characters a person's words may have."""


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


class HumanQueue:
    """The human queue of an installation."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._ledger = installation.ledger

    # What waits

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
        return await self._ledger.read(root, 0, 1_000_000)

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
        """Give the one thing whose id begins so: a question, open or not, or a task.

        Raises InterlockError `queue.unknown` or `queue.ambiguous`.
        """
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

    # Deciding

    async def approve(self, start: str, by: str) -> Item:
        """Approve the call that a question is about, exactly as it was shown. Raises InterlockError `queue.*`."""
        item = await self._of_kind(start, {"approval"}, "queue.not_an_approval")
        await self._answered(item, by, "approve")
        return item

    async def refuse(self, start: str, by: str, reason: str) -> Item:
        """Refuse the call that a question is about; the agent is told the reason. Raises InterlockError `queue.*`."""
        item = await self._of_kind(start, {"approval"}, "queue.not_an_approval")
        await self._answered(item, by, "refuse", reason)
        return item

    async def answer(self, start: str, by: str, text: str) -> Item:
        """Answer a question of an agent; of an action in doubt, say `done` or `not_done`; of a task that people own,
        give the answer to whoever waits for it and close it. Raises InterlockError `queue.*`."""
        item = await self.find(start)
        match item.kind:
            case "question":
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

    async def _of_kind(self, start: str, kinds: set[str], code: str) -> Item:
        item = await self.find(start)
        if item.kind not in kinds:
            raise InterlockError(code, value=item.id, kind=item.kind)
        return item

    async def _settled(self, item: Item, by: str, outcome: str) -> None:
        """A person says whether an action in doubt was done; it is settled with the question."""
        step = next(
            step.body
            for step in await self._steps(item.root)
            if step.kind == "question.asked" and step.body["question"] == item.id
        )
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

    async def _answered(
        self,
        item: Item,
        by: str,
        outcome: str,
        said: str = "",
        writes: Sequence[Write] = (),
        guards: Sequence[Row] = (),
    ) -> None:
        self._check(by, Scope(item.scope))
        body: dict[str, Any] = {"question": item.id, "outcome": outcome, "by": by}
        contents = []
        if said:
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
            raise InterlockError(
                "queue.answered_already",
                value=item.id,
                outcome=Text(f"queue.outcome_{row[9]}"),
                by=row[10] or "–",
            )

    async def _company(self, item: Item) -> str:
        if item.run:
            return str(Scope((await self._ledger.query("run_by_id", item.run))[0][3]).company)
        return str(Scope(item.scope).company)

    def _words(self, text: str, company: str) -> Any:
        if len(text) > SAID:
            raise InterlockError("queue.too_long", size=len(text), limit=SAID)
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise InterlockError("queue.not_text") from None
        return self._installation.contents.keep(company, data)

    def _check(self, by: str, scope: Scope) -> None:
        checked_person(by)
        if not self._installation.settings.has_role(by, APPROVER, scope):
            raise InterlockError("queue.no_role", person=by, role=APPROVER, scope=scope)

    # Tasks

    async def take(self, start: str, by: str) -> Item:
        """Take a task: the person owns it from now on; an agent that worked on it stops. Raises InterlockError
        `queue.*`."""
        item = await self._of_kind(start, {"task"}, "queue.not_a_task")
        self._check(by, Scope(item.scope))
        task = await self._open_task(item)
        if task.owner == person_owner(by):
            raise InterlockError("queue.yours_already", value=task.id)
        body = {"task": task.id, "epoch": task.epoch + 1, "owner": person_owner(by), "by": by}
        rows = await self._disowning(task, by)
        await self._move(task, Draft("task.taken", body), rows)
        return item

    async def _disowning(self, task: Task, by: str) -> list[Row]:
        told = canonical.encode(Text("run.task_taken", by=by)).decode()
        rows = []
        for run, _ in await self._ledger.query("open_runs_of_root", task.root):
            if (await self._ledger.query("run_by_id", run))[0][4] == task.id:
                rows += [
                    Row("signal_run", (f"{task.id}-{task.epoch}", "disowned", told, run)),
                    Row("wake_run", (run,)),
                ]
        return rows

    async def _open_task(self, item: Item) -> Task:
        task = await self._task(item.id)
        if task.state != OPEN:
            raise InterlockError("queue.closed_already", value=task.id)
        return task

    async def _move(self, task: Task, draft: Draft, rows: Sequence[Row] = (), **more: Any) -> None:
        guards = (Row("owner_is", (task.id, task.epoch), "not_owner"), *more.pop("guards", ()))
        writes = (*more.pop("writes", ()), Write(task.root, None, (draft,)))
        outcome = await self._ledger.append(writes, guards=guards, rows=rows, **more)
        if isinstance(outcome, Refused):
            now = await self._task(task.id)
            raise InterlockError("queue.moved_meanwhile", value=task.id, owner=now.owner)

    async def close(self, start: str, by: str, reason: str) -> Item:
        """Close a task that people own, or put away a conflict that was seen. Raises InterlockError `queue.*`."""
        item = await self.find(start)
        if item.kind == "conflict":
            await self._answered(item, by, "seen", reason)
        elif item.kind == "task":
            await self._close_task(item, by, reason)
        else:
            raise InterlockError("queue.not_closable", value=item.id, kind=item.kind)
        return item

    async def _close_task(self, item: Item, by: str, said: str) -> None:
        self._check(by, Scope(item.scope))
        task = await self._theirs(item, by)
        kept = self._words(said, str(Scope(item.scope).company))
        body = {"task": task.id, "epoch": task.epoch, "by": by, "status": "closed", "said": kept.digest}
        draft = Draft("task.closed", body)
        reply = await self._reply(task, by, kept, said)
        writes = (Write(task.root, None, (Draft("message.sent", reply[0].as_dict()),)),) if reply else ()
        rows = posted(reply[0], task.root) if reply else ()
        contents = [kept.row, *([reply[1].row] if reply else [])]
        await self._move(task, draft, rows, writes=writes, contents=contents)

    async def _theirs(self, item: Item, by: str) -> Task:
        """Give a task that people own: the human queue, or this very person."""
        task = await self._open_task(item)
        if not is_people(task.owner) and task.owner != person_owner(by):
            raise InterlockError("queue.not_yours", value=task.id, owner=task.owner)
        return task

    async def _reply(self, task: Task, by: str, kept: Any, said: str) -> tuple[Envelope, Any] | None:
        """What a person says closes the request that opened the task, if somebody still waits for it."""
        opening = (await self._ledger.read(task.run, 0, 1))[0].body
        message = opening.get("given", {})
        if message.get("type") not in {"request", "question"}:
            return None
        if await self._ledger.query("reply_of", message["id"]):
            return None
        company = str(Scope(opening["scope"]).company)
        body = self._installation.contents.keep(company, canonical.encode({"text": said}))
        envelope = Envelope(
            id=new_id("message", self._installation.clock),
            task=task.id,
            type="result",
            sender=person_owner(by),
            recipient=message["from"],
            body=body.digest,
            size=body.size,
            labels=frozenset(),
            by=by,
            reply_to=message["id"],
            run_to=message.get("run"),
        )
        return envelope, body

    async def give(self, start: str, by: str, agent: Address, note: str = "") -> Item:
        """Hand a task to an agent, with what is known of it and a person's note; the agent must acknowledge it like any
        hand-off. Raises InterlockError `queue.*`, `agent.unknown` or `run.not_started`."""
        item = await self._of_kind(start, {"task"}, "queue.not_a_task")
        self._check(by, Scope(item.scope))
        task = await self._theirs(item, by)
        installation = self._installation
        version, state = await installation.current(agent)
        if state != "active":
            raise InterlockError("run.not_started", agent=agent, state=Text(f"run.state_{state}"))
        spec = await installation.spec(agent, version)
        opening = (await self._ledger.read(task.run, 0, 1))[0].body
        package, labels = await self._package_by(task, by, note, opening)
        self._check_barrier(agent, labels)
        company = str(Scope(opening["scope"]).company)
        body = installation.contents.keep(company, canonical.encode(package))
        name, run = new_id("handoff", installation.clock), new_id("run", installation.clock)
        given = Given("hand_off", name, person_owner(by), None, body.digest, labels, epoch=task.epoch + 1)
        form = {"id": task.id, "root": task.root, "epoch": task.epoch + 1}
        form |= {"parent": task.parent} if task.parent else {}
        pool = await budget_left(installation, task.root)
        source = {"behalf": by} | ({"contract": opening["contract"]} if "contract" in opening else {})
        opened = opened_by_message(
            run, form, spec, version, given, source, Place(run), installation.settings.limits, pool, Taker()
        )
        due_at = installation.clock.now() + installation.settings.acknowledge_ms
        moved = {
            "task": task.id,
            "hand_off": name,
            "epoch": task.epoch + 1,
            "from": task.owner,
            "to": agent,
            "by": by,
            "run": run,
            "package": body.digest,
            "size": body.size,
            "labels": sorted(labels),
            "due_at": due_at,
        }
        watched = {"task": task.id, "epoch": task.epoch + 1, "to": agent, "run": run, "scope": item.scope}
        await self._move(
            task,
            Draft("task.handed_over", moved),
            (timer_row(name, due_at, "hand_off", task.root, watched),),
            writes=(opened.write,),
            guards=opened.guards,
            contents=(body.row,),
        )
        return item

    def _check_barrier(self, agent: Address, labels: Labels) -> None:
        refusal = barrier(labels, agent.scope, self._installation.settings.vocabulary)
        if refusal is not None:
            raise InterlockError("barrier.brief", agent=agent, why=refusal.text)

    async def _package_by(
        self, task: Task, by: str, note: str, opening: dict[str, Any]
    ) -> tuple[dict[str, Any], Labels]:
        """The package of the last hand-off goes on, or what opened the task where there was none."""
        actions = await actions_of(self._installation, task.root)
        handed = await self._hand_offs(task)
        said: dict[str, Any] = {"goal": "–", "reason": note or "–"}
        labels: Labels = frozenset(opening.get("labels", ()))
        if handed:
            said |= await self._form(handed[-1]["package"])
            labels |= frozenset(handed[-1].get("labels", ()))
        elif "given" in opening or "input" in opening:
            digest = opening["given"]["body"] if "given" in opening else opening["input"]
            brief = json.loads(await self._installation.contents.read(digest))
            said["goal"] = brief if isinstance(brief, str) else canonical.encode(brief).decode()
        if note:
            said["reason"] = note
        return package_of(said, actions, None), labels

    # Sending

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
        name, run = new_id("message", installation.clock), new_id("run", installation.clock)
        body = installation.contents.keep(spec.scope.company, canonical.encode(said))
        traced = tuple(path for path, _ in leaves_of(said))
        given = Given(kind, name, person_owner(by), None, body.digest, labels, traced=traced)
        form, pool, guards = await self._task_for(start)
        opened = opened_by_message(
            run,
            form,
            spec,
            version,
            given,
            {"behalf": by},
            Place(run),
            installation.settings.limits,
            pool,
            Taker(),
        )
        envelope = Envelope(
            id=name,
            task=form["id"],
            type=kind,
            sender=person_owner(by),
            recipient=agent,
            body=body.digest,
            size=body.size,
            labels=labels,
            by=by,
            opens=run,
        )
        told = (*opened.told, Draft("message.sent", envelope.as_dict()))
        outcome = await self._ledger.append(
            (opened.write, Write(form["root"], None, told)),
            guards=(*guards, *opened.guards),
            contents=(body.row,),
        )
        if not isinstance(outcome, Appended):
            raise InterlockError("run.not_opened", agent=agent, why=type(outcome).__name__)
        return name, run

    async def _task_for(self, start: str | None) -> tuple[dict[str, Any], Budget, tuple[Row, ...]]:
        name = new_id("task", self._installation.clock)
        if start is None:
            pool = self._installation.settings.task_budget
            row = Row("insert_budget", (name, pool.tool_calls, pool.tokens, pool.money, pool.wall_ms))
            return {"id": name, "root": name}, pool, (row,)
        item = await self._of_kind(start, {"task"}, "queue.not_a_task")
        pool = (await budget_left(self._installation, item.root)).share(2)
        return {"id": name, "root": item.root, "parent": item.id}, pool, ()
