"""A machine of tasks: agents that do as chance has it, people who decide, clocks that move and processes that die.

Hypothesis chooses the steps and shrinks a failing story to its shortest form. After every step the ledger is held
against what must always be so. `python -m tests.message.machine --examples 1000` makes it run longer.
"""

import argparse
import asyncio
import random
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from interlock.connector.model.scripted import ScriptedModel
from interlock.connector.tool import NotDone, Toolbox, ToolCall, tool
from interlock.errors import InterlockError
from interlock.modules import Loaded
from interlock.run.timer import Timers
from interlock.runtime import Runtime
from interlock.scope.scope import Address
from interlock.settings import ModelChoice, Settings
from tests.message.scene import agent, report
from tests.run.scene import (
    JumpingClock,
    at,
    killing,
    killing_at_append,
    work_until_killed,
)
from tests.world import OneModel, sound, steps_of

NAMES = ("a", "b", "c")
PEOPLE = "people@acme/platform"
POINTS = (
    "tool.before_call",
    "tool.after_call",
    "hand_off.before_send",
    "hand_off.after_send",
    "hand_off.before_acknowledge",
    "hand_off.after_acknowledge",
    "timer.before_fire",
    "timer.after_fire",
    "run.parked",
    "run.before_close",
    "run.after_close",
    "model.after_answer",
)
SCHEMA = {
    "type": "object",
    "properties": {"order": {"type": "integer"}, "amount": {"type": "integer"}},
    "required": ["order", "amount"],
}
MOST_ANSWERS = 4
MOST_OPEN = 6


class TaskMachine(RuleBasedStateMachine):
    """The machine. `bank` counts what happened outside, where no crash undoes it."""

    steps_made = 0

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp(prefix="machine-"))
        self.clock = JumpingClock()
        self.bank: Counter[str] = Counter()
        self.runtime: Runtime | None = None
        self.mode = "well"
        self.roots: list[str] = []

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        """Open the installation and publish its agents."""
        self.chance = random.Random(seed)
        self._do(self._reopen())
        for name in NAMES:
            others = [other for other in NAMES if other != name]
            spec = agent(name, sends=[*others, "people"], hands=[*others, "people"], tools=("pay",))
            self._do(self.runtime.publish(spec, "maria"))

    def _do(self, work: Any) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(work, 60))

    async def _reopen(self) -> None:
        if self.runtime is not None:
            await self.runtime.__aexit__()
        self.runtime = await Runtime.open(
            self.folder,
            settings=Settings(
                models={"default": ModelChoice("scripted")},
                synchronous="NORMAL",
                chain_limit=5,
                action_wait_ms=200,
                answer_ms=600_000,
                reply_ms=120_000,
            ),
            loaded=Loaded(Toolbox([self._tool()]), {}),
            models=OneModel(ScriptedModel({at(name): self._answer for name in NAMES})),
            clock=self.clock,
            environment={},
        )

    # What agents and tools do

    def _answer(self, request: Any) -> Any:
        name = request.agent.partition("@")[0]
        other = self.chance.choice([item for item in NAMES if item != name])
        if request.number > MOST_ANSWERS:
            return {"calls": [report(), {"finish": "enough"}]} if request.number % 2 else {"finish": "enough"}
        hand = {"call": "hand_over", "with": {
            "to": self.chance.choice([at(other), at(other), PEOPLE]), "goal": "g", "facts": [], "remains": [],
            "reason": f"by {name}"}}  # fmt: skip
        pay = {
            "call": "pay",
            "with": {"order": self.chance.randint(1, 2), "amount": self.chance.choice([5, 5, 5, 6])},
        }
        return self.chance.choice(
            [
                pay,
                pay,
                {"calls": [pay, pay]},
                hand,
                {"calls": [hand, hand]},
                {"calls": [pay, hand]},
                {"call": "delegate", "with": {"to": at(other), "goal": "g", "within": 60}},
                {"calls": [{"call": "ask", "with": {"to": at(other), "text": "?"}}, pay]},
                {"call": "ask", "with": {"to": PEOPLE, "text": "?"}},
                {"call": "send", "with": {"to": at(other), "text": "!"}},
                {"finish": "done"},
                {"fail": {"code": "rejected"}},
            ]
        )

    def _tool(self) -> Any:
        @tool(
            name="pay",
            effect="write",
            parameters=SCHEMA,
            steers=["order", "amount"],
            labels=(),
            key="{task_id}:pay:{order}",
        )
        async def pay(call: ToolCall, order: int, amount: int) -> dict[str, Any]:
            mode = self.mode
            if mode == "mixed":
                mode = self.chance.choice(["well", "raise", "raise after", "not done"])
            if mode == "raise":
                raise OSError("nothing went out")
            if mode == "not done":
                raise NotDone("no such order")
            self.bank[f"{call.task}:{order}"] += 1
            if mode == "raise after":
                raise OSError("it went out, and the line broke")
            return {"paid": order}

        return pay

    # Steps

    def _made(self) -> None:
        TaskMachine.steps_made += 1

    @precondition(lambda self: self.runtime is not None)
    @rule(name=st.sampled_from(NAMES))
    def open_task(self, name: str) -> None:
        """A person opens a run; nobody works on it yet."""
        self._made()
        if len(self._open_runs()) < MOST_OPEN:
            run = self._do(self.runtime.open_run(Address(at(name)), "maria", "go"))
            self.roots.append(self._do(self.runtime.run(run)).root_task)

    @rule(mode=st.sampled_from(["well", "well", "mixed"]))
    def work(self, mode: str) -> None:
        """Workers work until nothing is left to do now."""
        self._made()
        self.mode = mode
        self._do(self._work(2 if mode == "mixed" else 1))

    async def _work(self, workers: int) -> None:
        async def one() -> None:
            async with self.runtime.worker() as worker:
                await worker.drain()

        await asyncio.gather(*(one() for _ in range(workers)))

    @rule(number=st.integers(1, 25), written=st.booleans())
    def die_at_append(self, number: int, written: bool) -> None:
        """The process dies at an append, before or after it is written."""
        self._made()
        killing_at_append(self.runtime, number, written=written)
        self._die()

    @rule(point=st.sampled_from(POINTS), number=st.integers(1, 3))
    def die_at_point(self, point: str, number: int) -> None:
        """The process dies at a fault point."""
        self._made()
        killing(self.runtime, lambda reached: reached == point, number)
        self._die()

    def _die(self) -> None:
        self.mode = "well"
        self._do(work_until_killed(self.runtime))
        self.runtime._ledger.append = type(self.runtime._ledger).append.__get__(self.runtime._ledger)
        self._do(self._reopen())
        self.clock.move(31)

    @rule(seconds=st.sampled_from([1, 20, 31, 70, 700]))
    def let_time_pass(self, seconds: int) -> None:
        """Time passes, and what is due fires, once though several look."""
        self._made()
        self.clock.move(seconds)
        if self.chance.random() < 0.5:
            self._do(asyncio.wait_for(self._fire(), 30))

    async def _fire(self) -> None:
        await asyncio.gather(
            Timers(self.runtime.installation).fire(), Timers(self.runtime.installation).fire()
        )

    @rule(choice=st.integers(0, 50), what=st.integers(0, 3))
    def people_decide(self, choice: int, what: int) -> None:
        """A person does what can be done about something that waits; an action in doubt is looked up outside."""
        self._made()
        items = [item for item in self._do(self.runtime.human_queue.items()) if item.kind != "dead_letter"]
        if not items:
            return
        item = items[choice % len(items)]
        try:
            self._do(self._decide(item, what))
        except InterlockError as error:
            assert error.code.startswith(("queue.", "run.not_started")), error

    async def _decide(self, item: Any, what: int) -> None:
        queue = self.runtime.human_queue
        match item.kind:
            case "question":
                await queue.answer(item.id, "joana", "yes")
            case "action":
                went_out = self.bank[f"{item.root}:{item.form['arguments']['order']}"]
                await queue.answer(item.id, "joana", "done" if went_out else "not_done")
            case "conflict":
                await queue.close(item.id, "joana", "seen")
            case _ if what == 0:
                await queue.take(item.id, "joana")
            case _ if what == 1:
                await queue.close(item.id, "joana", "over")
            case _:
                await queue.give(item.id, "joana", Address(at(self.chance.choice(NAMES))))

    # What must always be so

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.runtime._ledger._db.execute(sql, values).fetchall()

    def _open_runs(self) -> list[tuple[Any, ...]]:
        return self._rows("SELECT id, agent, task FROM run WHERE status = 'open'")

    @invariant()
    def one_owner_at_all_times(self) -> None:
        """Exactly one owner, never nobody: an agent that owns an open task has an open run on it."""
        if self.runtime is None:
            return
        self._do(self.runtime._ledger.flush())
        at_work = {(task, agent) for _, agent, task in self._open_runs()}
        for task, owner, pending in self._rows("SELECT id, owner, pending FROM task WHERE state = 'open'"):
            assert owner.startswith(("people@", "person:")) or (task, owner) in at_work, (task, owner)
            if pending is not None:
                assert self._rows("SELECT 1 FROM timer WHERE id = ?", pending), "a hand-off without a limit"
        for root in self.roots[-3:]:
            self._check_epochs(root)

    def _check_epochs(self, root: str) -> None:
        epochs: dict[str, int] = {}
        taken: set[str] = set()
        for step in self._do(steps_of(self.runtime, root)):
            body = step.body
            if step.kind in {"task.handed_over", "task.queued", "task.taken"}:
                assert body["epoch"] == epochs[body["task"]] + 1, "one change of owner after the other"
            if step.kind in {"task.opened", "task.handed_over", "task.queued", "task.taken"}:
                epochs[body["task"]] = body.get("epoch", 1)
            if step.kind in {"task.acknowledged", "task.closed"}:
                assert body["epoch"] == epochs[body["task"]], "only the owner acknowledges and closes"
            if step.kind == "message.taken":
                assert body["message"] not in taken, "a message is read once"
                taken.add(body["message"])

    @invariant()
    def no_action_twice_and_none_lost(self) -> None:
        """No effect outside happens twice; one that happened is done, in doubt, or being done."""
        if self.runtime is None:
            return
        assert all(count == 1 for count in self.bank.values()), self.bank
        states = dict(self._rows("SELECT key || '', state FROM action"))
        known = {}
        for key, state in states.items():
            known[self._do(self.runtime.installation.contents.read(key)).decode()] = state
        for name in self.bank:
            root, _, order = name.rpartition(":")
            assert known[f"{root}:pay:{order}"] in {"done", "in_doubt", "claimed"}, (name, known)
        for name, state in known.items():
            root, _, order = name.split(":")
            assert state != "done" or self.bank[f"{root}:{order}"] == 1, (name, state)

    def teardown(self) -> None:
        """In the end nothing is left that nobody can bring on, and the whole ledger fits."""
        if self.runtime is not None:
            self.mode = "well"
            self._do(self._work(1))
            assert self._do(sound(self.runtime))
            self._do(self.runtime.__aexit__())
        self.loop.close()
        shutil.rmtree(self.folder)


def run_machine(
    examples: int, steps: int, *, part: int = 0, derandomize: bool = True, shrink: bool = False
) -> int:
    """Run the machine, and give how many steps it made. Each `part` has stories of its own, the same each time."""
    TaskMachine.steps_made = 0
    run_state_machine_as_test(
        seed(part)(type("TaskMachine", (TaskMachine,), {})) if derandomize else TaskMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=derandomize,
            database=None,
            phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if shrink else [])],
            suppress_health_check=list(HealthCheck),
        ),
    )
    return TaskMachine.steps_made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--random", action="store_true", help="another story each time")
    parser.add_argument("--shrink", action="store_true", help="look for the shortest failing story")
    given = parser.parse_args()
    print(
        run_machine(given.examples, given.steps, derandomize=not given.random, shrink=given.shrink), "steps"
    )
