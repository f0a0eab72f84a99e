"""A group commit: pieces of work that wait at the same moment share one transaction, and each stands alone.

Statements run on the event loop's thread and only COMMIT, which waits for the disk, runs in a helper thread;
while it is under way, work gathers, and the next transaction carries it all. Each piece is a savepoint of its
own, so that one refusal leaves the others as they are. When the transaction itself fails, its members go
again, each in a transaction of its own, and each learns its own outcome.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw

from interlock.clock import Clock
from interlock.errors import InterlockError
from interlock.fault import Reach

__all__ = ["BUSY_SECONDS", "GroupCommit", "RefusalError"]

BUSY_SECONDS = 60.0
"""How long work waits for its turn while another process writes."""
LINGER = 0.005
"""How long, in seconds, work that nobody waits for may stay uncommitted."""

Work = Callable[[], Any]


class RefusalError(Exception):
    """Raised by a piece of work that is to leave no trace; `outcome` is what its waiter is given."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome


class _Member:
    """One piece of work of a shared transaction, who waits for it, and what came of it."""

    __slots__ = ("alone", "durable", "outcome", "waiting", "work")

    def __init__(self, work: Work | None, durable: bool, waiting: "asyncio.Future[Any]") -> None:
        self.work, self.durable, self.waiting = work, durable, waiting
        self.alone = False
        self.outcome: Any = None

    def answer(self) -> None:
        if not self.waiting.done():
            self.waiting.set_result(self.outcome)

    def fail(self, error: Exception) -> None:
        if not self.waiting.done():
            self.waiting.set_exception(error)

    @property
    def answered(self) -> bool:
        """Whether the waiter has its answer already: such work may still have to be done again."""
        return self.waiting.done() and not self.waiting.cancelled()


class GroupCommit:
    """The one writer of a connection. Made and used within one event loop."""

    def __init__(self, db: apsw.Connection, path: Path, clock: Clock, reach: Reach) -> None:
        self._db, self._path, self._clock, self._reach = db, path, clock, reach
        self._loop = asyncio.get_running_loop()
        self._helper = ThreadPoolExecutor(1, "interlock-commit")
        self._waiting: deque[_Member] = deque()
        self._executed: list[_Member] = []
        self._committing = self._commit_due = False
        self._linger: asyncio.TimerHandle | None = None
        self._turn: asyncio.TimerHandle | None = None
        self._busy_since: float | None = None
        self._lost: Exception | None = None
        self._settled = asyncio.Event()
        self._settled.set()

    async def submit(self, work: Work, durable: bool = True) -> Any:
        """Do `work` in the next transaction and give what it returns, or the outcome of its `RefusalError`.

        With `durable` the answer comes after COMMIT; without, as soon as the work is done. Raises InterlockError
        `ledger.unwritable` or `ledger.busy`, and whatever the work raised; nothing of it is written then.
        """
        return await self._join(_Member(work, durable, self._loop.create_future()))

    async def flush(self) -> None:
        """Wait until all that was accepted so far is on disk.

        Raises what kept it from the disk when something that was accepted could not be written after all.
        """
        if self._executed or self._waiting or self._committing or self._lost:
            await self._join(_Member(None, True, self._loop.create_future()))

    async def settled(self) -> None:
        """Wait until no COMMIT is under way: the connection may be used only then."""
        while self._committing:
            await self._settled.wait()

    async def close(self) -> None:
        """Commit what waits, and let go of the helper thread."""
        try:
            await self.flush()
        finally:
            for timer in (self._linger, self._turn):
                if timer is not None:
                    timer.cancel()
            self._helper.shutdown()

    async def _join(self, member: _Member) -> Any:
        self._waiting.append(member)
        if not self._committing and self._turn is None:
            self._execute_waiting()
        return await member.waiting

    # Executing

    def _execute_waiting(self) -> None:
        while self._waiting and self._begin():
            member = self._waiting.popleft()
            if self._execute(member):
                self._executed.append(member)
                if not (member.durable or member.alone):
                    member.answer()
                elif not self._commit_due:
                    self._commit_due = True
                    self._loop.call_soon(self._commit)
        if not self._executed:
            self._roll_back()
        elif not self._commit_due and self._linger is None:
            self._linger = self._loop.call_later(LINGER, self._commit)

    def _begin(self) -> bool:
        """Be in a transaction that is open to the next member. False when that has to wait, or cannot be."""
        if self._executed:
            return not self._executed[-1].alone
        try:
            if not self._db.in_transaction:
                self._db.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            self._wait_for_turn()
            return False
        except apsw.Error as error:
            self._fail_waiting(self._unwritable(error))
            return False
        self._busy_since = None
        return True

    def _execute(self, member: _Member) -> bool:
        """Do one member's work in its savepoint. False when it failed; its waiter knows, or it goes again."""
        alone = member.alone
        try:
            self._db.execute("SAVEPOINT member")
            if member.work is not None:
                member.outcome = member.work()
            elif self._lost is not None:
                raise self._lost
            self._db.execute("RELEASE member")
        except RefusalError as refusal:
            if member.answered and type(member.outcome) is not type(refusal.outcome):
                self._lost = self._unwritable(refusal)
            member.outcome = refusal.outcome
            undone = self._undo(member)
            if alone and not undone:
                member.answer()
            return undone
        except Exception as error:  # noqa: BLE001  one member's mistake is told to its waiter and to nobody else
            if self._undo(member) or alone:
                self._fail(member, self._unwritable(error) if isinstance(error, apsw.Error) else error)
            return False
        return True

    def _undo(self, member: _Member) -> bool:
        """Take back one member's work. False when that took the whole group with it (SQLite does so when the
        disk is full): all of it goes again then, one by one, this member too unless it was alone."""
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK TO member")
                self._db.execute("RELEASE member")
                return True
        except apsw.Error:
            self._roll_back()
        members, self._executed = self._executed, []
        self._go_alone(members if member.alone else [*members, member])
        return False

    def _go_alone(self, members: Iterable[_Member]) -> None:
        for member in reversed(list(members)):
            member.alone = True
            self._waiting.appendleft(member)

    def _fail(self, member: _Member, error: Exception) -> None:
        """Tell a member that it failed. What nobody is waiting for any more is told to whoever flushes next."""
        if member.answered:
            self._lost = error
        elif error is self._lost:
            self._lost = None
        member.fail(error)

    def _fail_waiting(self, error: Exception) -> None:
        members = list(self._waiting)
        self._waiting.clear()
        for member in members:
            self._fail(member, error)

    def _roll_back(self) -> None:
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except apsw.Error:
            return  # SQLite has done it already, or the connection is closed

    # Waiting for other processes

    def _wait_for_turn(self) -> None:
        """Another process is writing: try again shortly, without blocking the loop; give up after a minute."""
        now = self._loop.time()
        self._busy_since = now if self._busy_since is None else self._busy_since
        waited = now - self._busy_since
        if waited > BUSY_SECONDS:
            self._busy_since = None
            self._fail_waiting(InterlockError("ledger.busy", file=str(self._path), seconds=int(BUSY_SECONDS)))
            return
        pause = 0.0005 + self._clock.random_bytes(1)[0] / 255 * min(0.02, 0.001 + waited / 4)
        self._turn = self._loop.call_later(pause, self._take_turn)

    def _take_turn(self) -> None:
        self._turn = None
        if not self._committing:
            self._execute_waiting()

    # Committing

    def _commit(self) -> None:
        self._commit_due = False
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
        if self._committing or not self._executed:
            return
        self._committing = True
        self._settled.clear()
        members, self._executed = self._executed, []
        done = self._helper.submit(self._commit_now)
        done.add_done_callback(lambda done: self._loop.call_soon_threadsafe(self._committed, members, done))

    def _commit_now(self) -> None:
        self._reach("append.before_commit")
        self._db.execute("COMMIT")

    def _committed(self, members: list[_Member], done: "Future[None]") -> None:
        self._committing = False
        error = done.exception()
        if error is None:
            self._reach("append.after_commit")
            for member in members:
                member.answer()
        else:
            self._roll_back()
            self._go_again(members, self._unwritable(error))
        self._settled.set()
        self._execute_waiting()

    def _go_again(self, members: list[_Member], error: InterlockError) -> None:
        if len(members) == 1:
            self._fail(members[0], error)
        else:
            self._go_alone(members)

    def _unwritable(self, error: BaseException) -> InterlockError:
        why = str(error) or type(error).__name__
        return InterlockError("ledger.unwritable", file=str(self._path), why=why)
