"""The invariants of tasks, hand-offs, messages and actions, read from the ledger alone and held against it."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from interlock.ledger.sqlite import connect
from interlock.message.task import is_people, owner_person
from tests.message.turmoil import Turmoil

__all__ = ["Invariants"]

NEW_STEPS = "SELECT rowid, stream, seq, kind, body FROM step WHERE rowid > ? ORDER BY rowid"
OPEN_RUNS = """SELECT run.id, run.task, step.body FROM run JOIN step ON step.stream = run.id AND step.seq = 1
WHERE run.status = 'open'"""
DISOWNED = """SELECT 1 FROM signal WHERE run = ? AND kind = 'disowned' UNION ALL
SELECT 1 FROM step WHERE stream = ? AND kind = 'signal.taken' AND json_extract(body, '$.signal') = 'disowned'"""
TASKS = "SELECT id, owner, epoch, pending, state FROM task"
ACTIONS = "SELECT id, tool, state, run, call, attempt FROM action"


@dataclass(slots=True)
class Owned:
    """A task as the steps of the exchange tell it."""

    owner: str
    epoch: int = 1
    pending: str | None = None
    state: str = "open"


@dataclass(slots=True)
class Seen:
    """What the steps so far came to."""

    tasks: dict[str, Owned] = field(default_factory=dict)
    epochs: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By run: the task it works on, and by which change of owner."""
    keys: dict[str, str] = field(default_factory=dict)
    """By action: its key."""
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a call was answered, by run and call."""
    parted: set[str] = field(default_factory=set)
    """The runs that handed their task over."""
    taken: Counter[str] = field(default_factory=Counter)
    replied: Counter[str] = field(default_factory=Counter)
    acts: Counter[tuple[str, str]] = field(default_factory=Counter)


class Invariants:
    """Reads what is new in the ledger after each deed, and fails when something is not as it must be."""

    def __init__(self, turmoil: Turmoil) -> None:
        self._turmoil, self._seen, self._after = turmoil, Seen(), 0
        self._db = connect(turmoil.folder / ".interlock" / "ledger.db", read_only=True)
        self.kinds: Counter[str] = Counter()

    async def hold(self) -> None:
        """Check what came since the last time, in one snapshot of what is committed."""
        self._db.execute("BEGIN")
        try:
            await self._hold()
        finally:
            self._db.execute("COMMIT")

    def close(self) -> None:
        """Let go of the ledger."""
        self._db.close()

    async def _hold(self) -> None:
        before = {name: (task.epoch, task.state) for name, task in self._seen.tasks.items()}
        for rowid, stream, seq, kind, text in self._rows(NEW_STEPS, self._after):
            self._after = rowid
            self._take(stream, seq, kind, json.loads(text), before)
        self._check_tasks()
        self._check_disowned()
        await self._check_actions()

    async def hold_at_rest(self) -> None:
        """Check that nothing is left undone, lost or owned by nobody when all that waited has come to its end."""
        await self.hold()
        runs = {(task, json.loads(body)["task"].get("epoch", 1)) for _, task, body in self._rows(OPEN_RUNS)}
        for name, task in self._seen.tasks.items():
            if task.state == "open" and not _is_of_people(task.owner):
                assert (name, task.epoch) in runs, f"{name} is owned by {task.owner}, and no run works on it"
        assert not runs, runs
        assert not self._rows("SELECT * FROM signal")
        assert not self._rows("SELECT * FROM lease")
        states = {state for _, _, state, *_ in self._rows(ACTIONS)}
        assert "claimed" not in states
        waiting = self._rows(
            "SELECT id FROM message WHERE state = 'unread' AND run_to IS NULL AND recipient NOT GLOB 'pe*'"
            " AND root NOT IN (SELECT root FROM task WHERE state = 'open')"
        )
        assert not waiting, f"nobody will read {waiting}"
        findings = [finding async for finding in self._turmoil.processes[0].runtime.verify()]
        assert not findings, findings[:5]

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._db.execute(sql, values).fetchall()

    # Steps

    def _take(self, stream: str, seq: int, kind: str, body: dict[str, Any], before: dict[str, Any]) -> None:
        self.kinds[kind] += 1
        family, _, what = kind.partition(".")
        if kind == "task.acted":
            self.kinds[f"{kind} {body['outcome']}"] += 1
        elif family == "task":
            self._take_owner(what, body)
        elif family == "action":
            self._take_action(stream, seq, what, body, before)
        elif family == "message":
            self._take_message(what, body)
        elif kind == "run.opened":
            self._seen.epochs[stream] = body["task"]["id"], body["task"].get("epoch", 1)
        elif kind == "tool.answered":
            self._seen.calls[stream, body["call"]] += 1
            assert self._seen.calls[stream, body["call"]] == 1, "the result of a call is taken once"
            self.kinds[body.get("error", {}).get("id", "-")] += 1
            if "handed_over" in body:
                self._seen.parted.add(stream)
        elif kind == "run.closed":
            self._take_closing(stream, body)

    def _take_owner(self, what: str, body: dict[str, Any]) -> None:
        name = body["task"]
        if what == "opened":
            assert name not in self._seen.tasks and body["owner"]
            self._seen.tasks[name] = Owned(body["owner"])
            return
        task = self._seen.tasks[name]
        assert task.state == "open", f"{what} after it was closed"
        if what == "closed":
            assert body["epoch"] == task.epoch, "only its owner closes a task"
            assert body.get("run") is None or self._seen.epochs[body["run"]] == (name, task.epoch)
            task.state, task.pending = body["status"], None
        elif what == "acknowledged":
            assert (body["epoch"], body["hand_off"]) == (task.epoch, task.pending)
            task.pending = None
        else:
            assert body["epoch"] == task.epoch + 1, "the epoch rises by one with each change of owner"
            if "from" in body:
                assert body["from"] == task.owner
            if body.get("by_run"):
                assert self._seen.epochs[body["by_run"]] == (name, task.epoch), "only its owner hands over"
            task.owner = body["owner"] if "owner" in body else body["to"]
            task.epoch, task.pending = body["epoch"], body["hand_off"] if what == "handed_over" else None
            assert task.owner

    def _take_action(
        self, stream: str, seq: int, what: str, body: dict[str, Any], before: dict[str, Any]
    ) -> None:
        if what != "claimed":
            return
        name, epoch = self._seen.epochs[body["run"]]
        epoch_before, state = before.get(name, (0, "open"))
        owned = epoch_before < epoch or (epoch_before == epoch and state == "open")
        assert owned, "who no longer owns it does not act"
        self._seen.acts[body["run"], body["call"]] += 1

    def _take_message(self, what: str, body: dict[str, Any]) -> None:
        if what == "taken":
            self._seen.taken[body["message"]] += 1
            assert self._seen.taken[body["message"]] == 1, "a message is handed to a run once"
        elif what == "sent":
            if "reply_to" in body:
                self._seen.replied[body["reply_to"]] += 1
                assert self._seen.replied[body["reply_to"]] == 1, "a request has one reply"
            if body.get("run"):
                name, epoch = self._seen.epochs[body["run"]]
                task = self._seen.tasks[name]
                assert (body["task"], task.epoch, task.state) == (name, epoch, "open"), (
                    "only its owner sends for it"
                )

    def _take_closing(self, stream: str, body: dict[str, Any]) -> None:
        reason = body.get("reason", {}).get("id", "")
        self.kinds[f"{body['status']} {reason}"] += 1
        assert reason != "run.broke", body
        if reason == "run.late_acknowledgement":
            assert not any(run == stream for run, _ in self._seen.calls), "who began was not late"

    # Tables

    def _check_tasks(self) -> None:
        for name, *row in self._rows(TASKS):
            task = self._seen.tasks[name]
            assert row == [task.owner, task.epoch, task.pending, task.state]

    def _check_disowned(self) -> None:
        """A run whose agent owns the task no longer handed it over, or is told so."""
        for run, name, body in self._rows(OPEN_RUNS):
            if json.loads(body)["task"].get("epoch", 1) < self._seen.tasks[name].epoch:
                knows = run in self._seen.parted or self._rows(DISOWNED, run, run)
                begun = any(other == run for other, _ in self._seen.calls)
                assert knows or not begun, f"{run} works on, and nobody told it that it owns nothing"

    async def _check_actions(self) -> None:
        outside = self._turmoil.outside
        rows = self._rows(
            "SELECT action.id, action.state, run.status, step.body FROM action"
            " JOIN step ON step.stream = action.id AND step.seq = 1 LEFT JOIN run ON run.id = action.run"
        )
        states = {}
        for name, state, status, text in rows:
            key = await self._key(name, json.loads(text)["key"])
            states[key] = state
            count = outside.effects[key]
            assert count <= 1, f"{key} was done {count} times"
            assert state != "claimed" or status == "open", (
                f"{key} is claimed, and nobody is about to settle it"
            )
            if count:
                assert state != "failed", f"{key} was done, and the ledger says that it was not"
            elif state == "done":
                raise AssertionError(f"{key} is done in the ledger alone")
        assert set(outside.effects) <= set(states), "whatever was done was claimed before"

    async def _key(self, action: str, digest: str) -> str:
        if action not in self._seen.keys:
            contents = self._turmoil.processes[0].runtime.installation.contents
            self._seen.keys[action] = (await contents.read(digest)).decode()
        return self._seen.keys[action]


def _is_of_people(owner: str) -> bool:
    return is_people(owner) or owner_person(owner) is not None
