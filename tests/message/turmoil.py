"""A turmoil: a company whose processes die, sleep and come second, driven by single deeds that chance chooses.

Two processes share one ledger and one movable clock. Each has a connection, a worker and tools of its own; what the
tools do outside is counted where no death of a process undoes it. A deed is a name with small numbers, so that any
course of events is a list that can be shortened, kept and played again.
"""

import asyncio
import os
from collections import Counter, defaultdict, deque
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from interlock.agent.spec import Spec
from interlock.connector.model.model import Request
from interlock.connector.model.scripted import ScriptedModel
from interlock.connector.tool import BoundTool, NotDone, Toolbox, ToolCall, tool
from interlock.errors import InterlockError
from interlock.gate.budget import Budget
from interlock.modules import Loaded
from interlock.run.human_queue import HumanQueue, Item
from interlock.run.timer import Timers
from interlock.runtime import Runtime
from interlock.settings import ModelChoice, Policy, Settings
from tests.message.scene import agent, handing, report, to
from tests.run.scene import JumpingClock, Killed
from tests.world import OneModel

__all__ = ["AGENTS", "DEEDS", "MODES", "SAYINGS", "Deed", "Outside", "Turmoil"]

Deed = tuple[Any, ...]
AGENTS = ("a", "b", "c")
PEOPLE = "people@acme/platform"
LEASE_MS, ACKNOWLEDGE_MS, REPLY_MS, ANSWER_MS = 30_000, 30_000, 120_000, 600_000
PLENTY = Budget(tool_calls=1000, tokens=1 << 30, wall_ms=1 << 40)
MORE = Budget(tool_calls=100_000_000, tokens=1 << 50, wall_ms=1 << 60)
ORDER = {
    "type": "object",
    "properties": {
        "order": {"type": "integer"},
        "amount": {"type": "number"},
        "reason": {"type": "string"},
    },
    "required": ["order"],
}
KEYS = {"pay": "{task_id}:pay:{order}", "book": "{task_id}:book:{order}", "ship": "ship:{order}"}
MODES = ("ok", "raises_after", "raises_before", "says_not_done", "slow_after", "slow_before", "no_json")
"""How a tool may behave: with or without its effect, at once or only when it is let go."""


class Outside:
    """The world that tools have their effects on. `takes_key`: what comes under a key that was seen has no effect."""

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()
        self.entered: Counter[str] = Counter()
        self.modes: deque[str] = deque()

    def take_effect(self, key: str, takes_key: bool) -> None:
        """Have an effect."""
        if not (takes_key and self.effects[key]):
            self.effects[key] += 1


class Process:
    """One process: a runtime with a worker, which may die at any point that it reaches."""

    def __init__(self, folder: Path, clock: JumpingClock, outside: Outside, model: ScriptedModel) -> None:
        self._folder, self._clock, self._outside, self._model = folder, clock, outside, model
        self.left = 0
        """At how many points from now it dies; 0 for never."""
        self.dead = False
        self.held: dict[str, asyncio.Event] = {}
        """By run: what a tool that was entered waits for."""
        self._moved = asyncio.Event()

    async def start(self) -> None:
        """Open the installation."""
        self.dead, self.left = False, 0
        self.held.clear()
        tools = Toolbox([self._bound("pay"), self._bound("book", takes_key=True), self._bound("ship")])
        self.runtime = await Runtime.open(
            self._folder,
            settings=SETTINGS,
            loaded=Loaded(tools, {}),
            models=OneModel(self._model),
            clock=self._clock,
            environment={},
        )
        self.worker = self.runtime.worker()
        self.worker._liveness.__enter__()
        self._taken: list[asyncio.Task[None]] = []
        take = self.worker.take

        def taking(run: Any) -> asyncio.Task[None]:
            self._taken.append(task := take(run))
            return task

        self.worker.take = taking  # type: ignore[method-assign]
        ledger, installation = self.runtime.installation.ledger, self.runtime.installation
        installation.reach = self._reach
        ledger._reach = self._reach
        group = ledger._group
        group._reach = self._reach_in_commit
        submit = group.submit

        async def submitting(*given: Any, **more: Any) -> Any:
            if self.dead:
                raise Killed
            return await submit(*given, **more)

        group.submit = submitting

    def _reach(self, point: str) -> None:
        self._count()
        if self.dead:
            raise Killed(point)

    def _reach_in_commit(self, point: str) -> None:
        """Before the commit nothing of it is written; after it all is, and the process comes no further."""
        self._count()
        if self.dead and point == "append.before_commit":
            raise Killed(point)

    def _count(self) -> None:
        if self.left:
            self.left -= 1
            self.dead |= self.left == 0

    def _bound(self, name: str, takes_key: bool = False) -> BoundTool:
        outside = self._outside

        @tool(name=name, effect="write", parameters=ORDER, steers=["order", "amount"], labels=(),
              key=KEYS[name], takes_key=takes_key)  # fmt: skip
        async def act(call: ToolCall, order: int, amount: float = 0, reason: str = "") -> Any:
            key = KEYS[name].format(task_id=call.task, order=order)
            assert call.idempotency_key == (key if takes_key else ""), "from the first attempt on"
            outside.entered[key] += 1
            mode = outside.modes.popleft() if outside.modes else "ok"
            if mode == "slow_after":
                await self._hold(call.run)
            if mode not in {"raises_before", "says_not_done"}:
                outside.take_effect(key, takes_key)
            if mode == "slow_before":
                await self._hold(call.run)
            if mode == "says_not_done":
                raise NotDone("this call did nothing, whatever became of those before it")
            if mode.startswith("raises"):
                raise OSError("the line broke")
            return object() if mode == "no_json" else {"receipt": key}

        return act

    async def _hold(self, run: str) -> None:
        self.held[run] = asyncio.Event()
        self._moved.set()
        try:
            await self.held[run].wait()
        finally:
            self.held.pop(run, None)

    async def claim(self, most: int) -> None:
        """Take up to so many runs that nobody holds."""
        worker, installation = self.worker, self.runtime.installation
        await worker._free_the_dead()
        await worker._give_back()
        for item in await installation.ledger.claim(worker.name, most, installation.settings.lease_ms):
            run = await worker._state_of(item)
            if run is not None:
                worker.take(run)

    async def settle(self) -> None:
        """Go on until all that this process runs is over, or waits in a tool."""
        while not self.dead:
            tasks = [
                task for run, task in self.worker._tasks.items() if run not in self.held and not task.done()
            ]
            if not tasks:
                return
            self._moved.clear()
            moved = asyncio.ensure_future(self._moved.wait())
            await asyncio.wait({*tasks, moved}, return_when=asyncio.FIRST_COMPLETED)
            moved.cancel()

    async def guarded(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Await what this process does, up to its death. Gives what it gives, None after a death."""
        task = asyncio.ensure_future(work)
        await asyncio.wait({task})
        error = task.exception()
        if error is None:
            return task.result()
        if not self.dead:
            raise error
        return None

    async def end(self) -> None:
        """End like a process that was killed: what is not committed is lost, and its locks are free."""
        self.dead = True
        for task in self._taken:
            task.cancel()
        await asyncio.gather(*self._taken, return_exceptions=True)
        group, db = self.runtime.installation.ledger._group, self.runtime.installation.ledger._db
        while group._committing:
            await asyncio.sleep(0)
        for timer in (group._linger, group._turn):
            if timer is not None:
                timer.cancel()
        group._executed.clear()
        group._helper.shutdown()
        if db.in_transaction:
            db.execute("ROLLBACK")
        db.close()
        liveness = self.worker._liveness
        if liveness._descriptor is not None:
            os.close(liveness._descriptor)
            liveness._descriptor = None


SETTINGS = Settings(
    models={"default": ModelChoice("scripted")},
    synchronous="NORMAL",
    lease_ms=LEASE_MS,
    acknowledge_ms=ACKNOWLEDGE_MS,
    reply_ms=REPLY_MS,
    answer_ms=ANSWER_MS,
    action_wait_ms=200,
    limits=PLENTY,
    task_budget=MORE,
    policies=(Policy("two pairs of eyes", "ask", "acme", "ship"),),
)


def _pay(name: str, number: int) -> dict[str, Any]:
    amount = (50, 50.00, 60)[number % 3]
    return {"call": name, "with": {"order": number % 2, "amount": amount, "reason": f"because {number}"}}


def _act(name: str, number: int) -> dict[str, Any]:
    return {"call": name, "with": {"order": number % 2, "reason": f"because {number}"}}


def _to_people() -> dict[str, Any]:
    said = {"goal": "decide", "facts": [], "remains": [], "reason": "a person must"}
    return {"call": "hand_over", "with": {"to": PEOPLE, **said}}


def _delegate(name: str, number: int) -> dict[str, Any]:
    return {"call": "delegate", "with": {"to": to(name)[0], "goal": f"part {number}", "within": 60}}


def _talk(tool: str, name: str) -> dict[str, Any]:
    return {"call": tool, "with": {"to": name if "@" in name else to(name)[0], "text": "how is it?"}}


SAYINGS: tuple[Any, ...] = (
    lambda name, number: handing(name),
    lambda name, number: {"calls": [handing(name), handing(AGENTS[number % 3])]},
    lambda name, number: {"calls": [_pay("pay", number), handing(name), _act("book", number)]},
    lambda name, number: _to_people(),
    lambda name, number: _pay("pay", number),
    lambda name, number: _act("book", number),
    lambda name, number: _pay("ship", number),
    lambda name, number: {"calls": [_pay("pay", number), _pay("pay", number + 2)]},
    _delegate,
    lambda name, number: {"calls": [_delegate(name, number), _delegate(AGENTS[number % 3], number + 1)]},
    lambda name, number: _talk("ask", name),
    lambda name, number: _talk("ask", PEOPLE),
    lambda name, number: _talk("send", name),
    lambda name, number: {"call": "decide", "with": {"topic": f"t{number % 2}", "decision": "so it is"}},
    lambda name, number: report(),
    lambda name, number: {"finish": "done"},
    lambda name, number: {"fail": {"code": "rejected"}},
)
"""What a model may say next, made from the name of an agent and a number."""


def _spec(name: str) -> Spec:
    others = [*AGENTS, "people"]
    return agent(name, sends=others, hands=others, tools=("pay", "book", "ship"))


class Turmoil:
    """The company. `do` carries out one deed; what it comes to can be read from the ledger."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.folder = folder
        self.clock, self.outside = JumpingClock(seed=seed), Outside()
        self._said: defaultdict[str, deque[Any]] = defaultdict(deque)
        model = ScriptedModel(dict.fromkeys(map(str, to(*AGENTS)), self._answer))
        self.processes = [Process(folder, self.clock, self.outside, model) for _ in range(2)]
        self.deaths = 0

    async def begin(self) -> None:
        """Start the processes, with the agents published."""
        await self.processes[0].start()
        await self.processes[0].runtime.publish_together([_spec(name) for name in AGENTS], "maria")
        await self.processes[1].start()

    async def end(self) -> None:
        """End the processes."""
        for process in self.processes:
            await process.end()

    @property
    def ledger(self) -> Any:
        """The ledger, as the first process sees it."""
        return self.processes[0].runtime.installation.ledger

    def _answer(self, request: Request) -> Any:
        waiting = self._said[request.agent]
        if waiting:
            return waiting.popleft()
        owes = any(offer.name == "report" for offer in request.tools)
        reported = any(call.name == "report" for message in request.messages for call in message.calls)
        return report() if owes and not reported else {"finish": "nothing more to say"}

    async def do(self, deed: Deed) -> None:
        """Carry out a deed; a process that it killed is started again."""
        name, *numbers = deed
        await getattr(self, f"do_{name}")(*numbers)
        for process in self.processes:
            if process.dead:
                self.deaths += 1
                await process.end()
                await process.start()

    # Deeds. The first number of most chooses a process.

    async def do_open(self, which: int, who: int) -> None:
        """A person opens a task."""
        process = self.processes[which % 2]
        name = to(AGENTS[who % 3])[0]
        await process.guarded(process.runtime.open_run(name, "maria", "see to it"))

    async def do_say(self, who: int, what: int, whom: int, number: int) -> None:
        """What an agent's model will say next is laid down."""
        made = SAYINGS[what % len(SAYINGS)](AGENTS[whom % 3], number)
        self._said[str(to(AGENTS[who % 3])[0])].append(made)

    async def do_behave(self, mode: int) -> None:
        """How the next tool that is entered behaves is laid down."""
        self.outside.modes.append(MODES[mode % len(MODES)])

    async def do_work(self, which: int, most: int) -> None:
        """A process takes up to so many runs, and works on all it has."""
        process = self.processes[which % 2]
        await process.guarded(self._work(process, most % 4 or 99))

    async def do_work_together(self, most: int) -> None:
        """Both processes do so at the same time."""
        works = [process.guarded(self._work(process, most % 4 or 99)) for process in self.processes]
        await asyncio.gather(*works)

    async def _work(self, process: Process, most: int) -> None:
        await process.claim(most)
        await process.settle()

    async def do_let_go(self, which: int) -> None:
        """The tools that a process waits in go on."""
        process = self.processes[which % 2]
        for event in list(process.held.values()):
            event.set()
        await asyncio.sleep(0)
        await process.guarded(process.settle())

    async def do_doom(self, which: int, points: int) -> None:
        """A process will die at the so-many-th point that it reaches."""
        self.processes[which % 2].left = 1 + points % 40

    async def do_kill(self, which: int) -> None:
        """A process dies where it stands, be it in a tool."""
        self.processes[which % 2].dead = True

    async def do_wait(self, which: int) -> None:
        """Time passes; by the longer ones leases end, hand-offs lapse, and replies and answers come too late."""
        self.clock.move((0.02, 5, 29.9, 30.2, 61, 121, 601)[which % 7])

    async def do_fire(self, which: int) -> None:
        """A process fires the timers that are due."""
        process = self.processes[which % 2]
        await process.guarded(Timers(process.runtime.installation).fire())

    async def do_fire_together(self) -> None:
        """Both processes fire them."""
        fires = [item.guarded(Timers(item.runtime.installation).fire()) for item in self.processes]
        await asyncio.gather(*fires)

    async def do_cancel(self, which: int, number: int) -> None:
        """A person cancels a run."""
        process = self.processes[which % 2]
        rows = await self.ledger.query("runs_before", "run_~", 1000)
        if rows:
            run = rows[number % len(rows)][0]
            await process.guarded(_excused(process.runtime.cancel(run, "maria")))

    async def do_decide(self, which: int, number: int, how: int) -> None:
        """A person decides about something in the human queue."""
        process = self.processes[which % 2]
        items = await process.guarded(HumanQueue(process.runtime.installation).items())
        items = [item for item in items or () if item.kind != "dead_letter"]
        if items:
            item = items[number % len(items)]
            await process.guarded(_excused(self._decided(process, item, how, "maria")))

    async def do_decide_together(self, number: int, how: int, other: int) -> None:
        """Two people decide about the same thing at the same time."""
        items = await HumanQueue(self.processes[0].runtime.installation).items()
        items = [item for item in items if item.kind != "dead_letter"]
        if items:
            item = items[number % len(items)]
            await asyncio.gather(
                *(
                    process.guarded(_excused(self._decided(process, item, choice, name)))
                    for process, choice, name in zip(
                        self.processes, (how, other), ("maria", "joana"), strict=True
                    )
                )
            )

    async def _decided(self, process: Process, item: Item, how: int, by: str) -> None:
        queue = HumanQueue(process.runtime.installation)
        match item.kind:
            case "approval":
                await (queue.approve(item.id, by) if how % 3 else queue.refuse(item.id, by, "not now"))
            case "question":
                await queue.answer(item.id, by, "it is well")
            case "conflict":
                await queue.close(item.id, by, "seen")
            case "action":
                await self._settled(queue, item, by)
            case "task":
                await self._with_task(queue, item.id, how, by)

    async def _settled(self, queue: HumanQueue, item: Item, by: str) -> None:
        """A person says the truth about an action in doubt, and waits as long as a call is still under way."""
        if any(process.held for process in self.processes):
            return
        happened = self.outside.effects[item.form["key"]] > 0
        await queue.answer(item.id, by, "done" if happened else "not_done")

    async def _with_task(self, queue: HumanQueue, task: str, how: int, by: str) -> None:
        match how % 5:
            case 0:
                await queue.take(task, by)
            case 1 | 2:
                await queue.give(task, by, to(AGENTS[how % 3])[0], "please")
            case 3:
                await queue.close(task, by, "that is all")
            case 4:
                await queue.answer(task, by, "this is the answer")

    async def do_take(self, which: int, number: int) -> None:
        """A person takes any open task, also one that an agent works on."""
        process = self.processes[which % 2]
        rows = await self.ledger.query("tasks_starting_with", "task_", "task_~")
        if rows:
            queue = HumanQueue(process.runtime.installation)
            await process.guarded(_excused(queue.take(rows[number % len(rows)][0], "joana")))

    async def do_take_at_work(self, which: int, number: int, most: int) -> None:
        """A person takes a task while the other process works."""
        process = self.processes[which % 2]
        await asyncio.gather(
            self.do_work(which + 1, most), self._shortly(number % 20, self.do_take(which, number))
        )
        await process.guarded(process.settle())

    async def do_decide_at_work(self, number: int, how: int, most: int) -> None:
        """A person decides about something while the other process works."""
        await asyncio.gather(self.do_work(1, most), self._shortly(how % 20, self.do_decide(0, number, how)))

    async def do_cancel_at_work(self, number: int, most: int) -> None:
        """A person cancels a run while the other process works."""
        await asyncio.gather(self.do_work(1, most), self._shortly(number % 20, self.do_cancel(0, number)))

    async def _shortly(self, turns: int, work: Coroutine[Any, Any, Any]) -> None:
        """Do something when others have had some turns."""
        for _ in range(turns):
            await asyncio.sleep(0)
        await work

    async def come_to_rest(self) -> None:
        """Let all that is under way end, and all that waits come to the end of its time."""
        self.outside.modes.clear()
        for said in self._said.values():
            said.clear()
        for process in self.processes:
            process.left = 0
        for _ in range(40):
            for which in (0, 1):
                await self.do_let_go(which)
            await self.do_work_together(0)
            await self.do_fire_together()
            if not await self._is_at_work():
                for process in self.processes:
                    await process.runtime.installation.ledger.flush()
                return
            self.clock.move(601)
        raise AssertionError("it does not come to rest")

    async def _is_at_work(self) -> bool:
        timers = await self.ledger.query("timers_due", 1 << 62, 1)
        leases = await self.ledger.query("free_leases", 1 << 61, 1)
        return bool(timers or leases or any(process.worker._tasks for process in self.processes))


async def _excused(work: Coroutine[Any, Any, Any]) -> None:
    """What a person is told in the ordinary way, such as that somebody else was first, is no fault."""
    try:
        await work
    except InterlockError as error:
        if not error.code.startswith(("queue.", "run.")):
            raise


DEEDS = {
    name.removeprefix("do_"): getattr(Turmoil, name).__code__.co_argcount - 1
    for name in dir(Turmoil)
    if name.startswith("do_")
}
"""Each deed with how many numbers it takes."""
