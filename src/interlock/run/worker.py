"""A worker: claims runs, runs many at once on one event loop, and keeps its leases alive.

Leases are renewed from a thread of its own, so that a body which blocks the loop does not lose its runs. A
lock on a file tells others on the same machine at once that a worker is dead: the system lets go of it with
the process, however that ends.
"""

import asyncio
import fcntl
import logging
import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from interlock.agent.spec import Spec
from interlock.errors import InterlockError
from interlock.ledger.ledger import Claimed, Row
from interlock.ledger.sql import queries
from interlock.ledger.sqlite import SqliteLedger, connect
from interlock.run.dispatcher import Dispatcher
from interlock.run.installation import Installation
from interlock.run.opening import Taker
from interlock.run.outgoing import Outgoing
from interlock.run.part import spec_of_run
from interlock.run.recorder import Lost
from interlock.run.run import OPEN, TRAIL, Run, fold
from interlock.run.runner import Runner
from interlock.run.timer import Timers

__all__ = ["Liveness", "Worker"]

POLL = 0.25
LOG = logging.getLogger("interlock")
UNWRITTEN = frozenset({"ledger.unwritable", "ledger.busy", "content.unwritable"})
"""What passes, such as a full disk: a run that met it is given back and goes on from its last step."""


class Liveness:
    """The proof that a worker lives: a locked file named after it, in a folder that all workers share."""

    def __init__(self, folder: Path, worker: str) -> None:
        self._folder, self._worker = folder, worker
        self._descriptor: int | None = None

    def __enter__(self) -> "Liveness":
        self._folder.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self._folder / self._worker, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            (self._folder / self._worker).unlink(missing_ok=True)
            os.close(self._descriptor)

    def is_dead(self, worker: str) -> bool:
        """Tell whether a worker of this machine is surely gone. False when that cannot be told."""
        if worker == self._worker:
            return False
        try:
            descriptor = os.open(self._folder / worker, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True


@dataclass(slots=True)
class Heartbeat:
    """Renews the leases of a worker from a thread and a connection of its own."""

    path: Path
    worker: str
    lease_ms: int
    now: Callable[[], int]

    def beat(self, stop: threading.Event) -> None:
        """Renew at each third of the lease until `stop` is set. A missed beat is made up at the next, also when
        the ledger could not be opened for it."""
        db: apsw.Connection | None = None
        renew = queries("queries.sql")["renew_leases"]
        while not stop.wait(self.lease_ms / 3000):
            try:
                db = db or self._connected()
                db.execute(renew, (self.now() + self.lease_ms, self.worker))
            except (apsw.Error, InterlockError):
                continue
        if db is not None:
            db.close()

    def _connected(self) -> apsw.Connection:
        db = connect(self.path)
        db.set_busy_timeout(self.lease_ms // 3)
        return db


class Worker:
    """Runs runs. Use as an async context manager, from within the loop that the installation lives in.

    name: unique among all workers. folder: where workers prove that they live. concurrency: runs at once.
    """

    def __init__(self, installation: Installation, name: str, folder: Path, concurrency: int = 64) -> None:
        self._installation, self.name = installation, name
        self._liveness = Liveness(folder, name)
        self._folder = folder
        self._slots = asyncio.Semaphore(concurrency)
        self._concurrency = concurrency
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._running = 0
        self._stop_heartbeat = threading.Event()
        self._heartbeat: threading.Thread | None = None
        self._stopping = False
        self._stranded: list[tuple[str, int]] = []
        self._unbegun: dict[str, int] = {}
        self._hindered = False
        self.damaged: dict[str, str] = {}
        """The runs that were set aside because their trails cannot be read, with the code of what was found."""
        self.ended = 0
        """How many runs this worker brought to their end."""
        self.dispatcher = Dispatcher(installation)
        self._timers = Timers(installation)
        self._outgoing = Outgoing(installation)

    async def __aenter__(self) -> "Worker":
        self._liveness.__enter__()
        ledger = self._installation.ledger
        if isinstance(ledger, SqliteLedger):
            beat = Heartbeat(
                ledger.path, self.name, self._installation.settings.lease_ms, self._installation.clock.now
            )
            self._heartbeat = threading.Thread(
                target=beat.beat, args=(self._stop_heartbeat,), name="interlock-heartbeat", daemon=True
            )
            self._heartbeat.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._outgoing.close()
        with suppress(InterlockError):  # if the ledger still cannot be written, the leases end by themselves
            self._stranded += self._unbegun.items()
            await self._give_back()
        self._stop_heartbeat.set()
        if self._heartbeat is not None:
            await asyncio.to_thread(self._heartbeat.join)
        self._liveness.__exit__()

    def taker(self) -> Taker:
        """Give who takes a run that is opened now: this worker, unless it is stopping."""
        if self._stopping:
            return Taker()
        return Taker(self.name, self._installation.clock.now() + self._installation.settings.lease_ms)

    @property
    def has_room(self) -> bool:
        """Whether a run that is taken now begins at once."""
        return self._running < self._concurrency

    @property
    def _under_way(self) -> list[asyncio.Task[None]]:
        return [*self._tasks.values(), *self._outgoing.tasks]

    # Taking runs

    def take(self, run: Run) -> asyncio.Task[None]:
        """Run a run that this worker holds, beside the others. The task ends when the run and all that it
        opened in this process are closed."""
        self._unbegun[run.id] = run.fence
        task = asyncio.get_running_loop().create_task(self._keep_at(run))
        self._tasks[run.id] = task
        self._running += 1
        task.add_done_callback(lambda _: self._tasks.pop(run.id, None))
        return task

    async def finished(self, run: str) -> None:
        """Wait until a run that this worker took, and all that it opened in this process, are closed and on
        disk; returns at once for a run that this worker does not have."""
        task = self._tasks.get(run)
        if task is not None:
            await asyncio.shield(task)

    async def claim(self) -> int:
        """Take what nobody holds, up to the free places. Gives how many runs were taken, with those that were set
        aside: a run whose trail is damaged stays under this worker's lease, so that it is not tried in a circle.
        """
        await self._free_the_dead()
        await self._give_back()
        free = self._concurrency - self._running
        if free <= 0:
            return 0
        ledger = self._installation.ledger
        claimed = await ledger.claim(self.name, free, self._installation.settings.lease_ms)
        for item in claimed:
            run = await self._state_of(item)
            if run is not None:
                self.take(run)
        return len(claimed)

    async def _state_of(self, claimed: Claimed) -> Run | None:
        """Give the state of a run that was claimed; None for one that cannot be read, now or at all."""
        try:
            return fold(await self._installation.ledger.read(claimed.run, 0, TRAIL), claimed.run)
        except InterlockError as error:
            if error.code in UNWRITTEN:
                self._stranded.append((claimed.run, claimed.fence))
                return None
            if claimed.run not in self.damaged:
                LOG.error("run %s was set aside: %s", claimed.run, error.code)
            self.damaged[claimed.run] = error.code
            self._unbegun[claimed.run] = claimed.fence
            return None

    async def _give_back(self) -> None:
        """Let go of the runs that nobody keeps at; the heartbeat would otherwise keep them for good."""
        while self._stranded:
            run, fence = self._stranded.pop()
            try:
                await self._installation.ledger.release(run, fence)
            except BaseException:
                self._stranded.append((run, fence))
                raise

    async def _free_the_dead(self) -> None:
        ledger = self._installation.ledger
        for (worker,) in await ledger.query("working_workers"):
            if self._liveness.is_dead(worker):
                await ledger.append((), rows=_free_rows(worker))
                (self._folder / worker).unlink(missing_ok=True)

    async def idle(self) -> None:
        """Wait until nothing is left to do now: runs, what they opened, what is owed, and timers that are due. What
        waits for people is left to them."""
        while True:
            while self._under_way:
                await asyncio.wait(self._under_way)
            # What could not go on for now would be met again at once.
            if self._stranded or not await self._look_over():
                break
        await self._installation.ledger.append(())

    async def drain(self) -> None:
        """Work until nothing is left to claim or owed; as long as the ledger cannot be written, wait."""
        while (found := await self._look_round()) != 0 or self._under_way:
            if self._under_way:
                await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED, timeout=POLL)
            elif found is None:
                await asyncio.sleep(POLL)

    async def _look_over(self) -> int:
        found = await self._timers.fire() + await self.dispatcher.sweep() + await self.claim()
        return found + await self._outgoing.sweep()

    async def _look_round(self) -> int | None:
        """Settle what is owed and claim what is free. Gives how much that was; None when the ledger cannot be
        written now, which is logged once and tried again by whoever asks."""
        try:
            found = await self._look_over()
        except InterlockError as error:
            if error.code not in UNWRITTEN:
                raise
            if not self._hindered:
                LOG.warning("worker %s waits: %s", self.name, error.code)
            self._hindered = True
            return None
        self._hindered = False
        return found

    async def work(
        self, stop: asyncio.Event, hurry: asyncio.Event | None = None, grace: float = 30.0
    ) -> None:
        """Work until `stop` is set; then finish what runs, within `grace` seconds and until `hurry` is set, and
        give the rest back."""
        while not stop.is_set():
            await self._look_round()
            await _first_of(stop, self._under_way, POLL)
        self._stopping = True
        hurry, time = hurry or asyncio.Event(), asyncio.get_running_loop().time
        end = time() + grace
        while self._under_way and not hurry.is_set() and time() < end:
            await _first_of(hurry, self._under_way, end - time())

    # One run

    async def _keep_at(self, run: Run) -> None:
        del self._unbegun[run.id]
        try:
            try:
                async with self._slots:
                    opened = await self._run(run)
            finally:
                self._running -= 1
            if opened:
                await asyncio.wait([self.take(listener) for listener in opened])
            else:
                await self._installation.ledger.append(())
        except asyncio.CancelledError:
            await self._let_go(run)
            raise
        except Lost:
            await self._let_go(run)
        except InterlockError:
            self._stranded.append((run.id, run.fence))
        except (GeneratorExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001  whoever waits for the run must not meet what came of it
            LOG.error("run %s was given back: %s", run.id, type(error).__name__)
            self._stranded.append((run.id, run.fence))

    async def _let_go(self, run: Run) -> None:
        """Give a run back, unless somebody else has it; later, if the ledger cannot be written now."""
        self._stranded.append((run.id, run.fence))
        with suppress(InterlockError):
            await self._give_back()

    async def _run(self, run: Run) -> list[Run]:
        try:
            spec = await spec_of_run(self._installation, run)
        except InterlockError as error:
            if error.code in UNWRITTEN:
                raise
            # A run whose spec is damaged ends, saying so; it must not stay open under a lease that goes on.
            nothing_granted = Spec(run.agent.name, run.scope)
            await Runner(self._installation, run, nothing_granted, self.taker).ending.broke(error.code, error)
            self.ended += 1
            return []
        runner = Runner(self._installation, run, spec, self.taker)
        try:
            await runner.go()
        except (Lost, asyncio.CancelledError):
            raise
        except InterlockError as error:
            if error.code in UNWRITTEN:
                raise
            await runner.ending.broke(error.code, error)
        except Exception as error:  # noqa: BLE001  one run must never take the others with it
            await runner.ending.broke(type(error).__name__, error)
        self.ended += run.status != OPEN
        now = self._installation.clock.now()
        return [
            Run.of_opening(opening.run, opening.body, head, opening.fence, now)
            for opening, head in runner.ending.opened
            if opening.fence
        ]


def _free_rows(worker: str) -> tuple[Row, ...]:
    return (Row("free_leases_of_worker", (worker,)),)


async def _first_of(event: asyncio.Event, others: Iterable[asyncio.Future[Any]], seconds: float) -> None:
    """Wait until the event is set or one of the others is done, but no longer than some seconds."""
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait({waiting, *others}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
