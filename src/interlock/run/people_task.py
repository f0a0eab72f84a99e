"""The tasks of people: taken, closed, and given to an agent, each by compare-and-set with the owner's epoch (MS-6)."""

import json
from collections.abc import Sequence
from typing import Any

from interlock import canonical
from interlock.catalogue import Text
from interlock.clock import new_id
from interlock.errors import InterlockError
from interlock.event.chain import Place
from interlock.ledger.ledger import Refused, Row, Write
from interlock.ledger.step import Draft
from interlock.message.envelope import Envelope
from interlock.message.hand_off import package_of
from interlock.message.task import OPEN, Task, is_people, person_owner
from interlock.run.action import actions_of
from interlock.run.closing import budget_left
from interlock.run.opening import Given, Taker, opened_by_message
from interlock.run.people import People, said_by_person
from interlock.run.post import posted
from interlock.run.timer import timer_row
from interlock.run.waiting import NOTHING, SAID_KINDS, Item
from interlock.scope.barrier import barrier
from interlock.scope.label import Labels, join
from interlock.scope.scope import Address, Scope

__all__ = ["PeopleTask"]


class PeopleTask(People):
    """Decides on tasks."""

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
        """Close a task that people own, or put away a conflict that was seen, or the question about an action that is
        not in doubt any more, or what an agent said and did not arrive, or nobody knows. Raises InterlockError
        `queue.*`."""
        item = await self.find(start)
        if item.kind in SAID_KINDS.values():
            await self._put_away(item, by, reason)
        elif item.kind == "conflict" or (item.kind == "action" and not await self._in_doubt(item)):
            await self._answered(item, by, "seen", reason)
        elif item.kind == "task":
            await self._close_task(item, by, reason)
        else:
            raise InterlockError("queue.not_closable", value=item.id, kind=item.kind)
        return item

    async def _put_away(self, item: Item, by: str, reason: str) -> None:
        """Note that a person leaves it at what became of a message to the outside."""
        self._check(by, Scope(item.scope))
        kept = self._words(reason, await self._company(item))
        conversation = (await self._ledger.query("said_by_id", item.id))[0][2]
        body = {
            "perspective": item.agent,
            "event": item.id,
            "status": "closed",
            "by": by,
            "said": kept.digest,
        }
        outcome = await self._ledger.append(
            (Write(conversation, None, (Draft("message.delivered", body),)),),
            guards=(Row("said_is_undelivered", (item.id,), "not_dead"),),
            contents=(kept.row,),
        )
        if isinstance(outcome, Refused):
            raise InterlockError("connector.not_dead", value=item.id)

    async def _in_doubt(self, item: Item) -> bool:
        asked = await self._asked(item)
        return bool((await self._ledger.query("action_by_id", asked["action"]))[0][2] == "in_doubt")

    async def _close_task(self, item: Item, by: str, said: str) -> None:
        self._check(by, Scope(item.scope))
        task = await self._theirs(item, by)
        kept = self._words(said, str(Scope(item.scope).company))
        body = {"task": task.id, "epoch": task.epoch, "by": by, "status": "closed", "said": kept.digest}
        draft = Draft("task.closed", body)
        reply = await self._reply(task, by, kept, said)
        writes = (Write(task.root, None, (Draft("message.sent", reply[0].as_dict()),)),) if reply else ()
        rows = (*posted(reply[0], task.root), Row("end_timer", (reply[0].reply_to,))) if reply else ()
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
        if note:
            said_by_person(note)
        task = await self._theirs(item, by)
        installation = self._installation
        version, state = await installation.current(agent)
        if state != "active":
            raise InterlockError("run.not_started", agent=agent, state=Text(f"run.state_{state}"))
        spec = await installation.spec(agent, version)
        opening = (await self._ledger.read(task.run, 0, 1))[0].body
        package, labels = await self._package_by(task, by, note, opening, agent.scope)
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
        self, task: Task, by: str, note: str, opening: dict[str, Any], scope: Scope
    ) -> tuple[dict[str, Any], Labels]:
        """The package of the last hand-off goes on, or what opened the task where there was none."""
        actions, carried = await actions_of(self._installation, task.root, scope)
        steps = [step.body for step in await self._steps(task.root) if step.body.get("task") == task.id]
        handed = [body for body in steps if "package" in body]
        said: dict[str, Any] = {"reason": NOTHING}
        labels: Labels = join(opening.get("labels", ()), carried)
        if handed:
            said |= json.loads(await self._installation.contents.read(handed[-1]["package"]))
            labels = join(labels, handed[-1].get("labels", ()))
        else:
            said["goal"] = await self._opened_with(task)
        if note:
            said["reason"] = note
        return package_of(said, actions, None), labels
