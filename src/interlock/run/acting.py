"""Acting: a call with an effect, made once through the action ledger, whoever wrote its tool (AC-1, AC-2).

Before the call its action is claimed under its key, in the transaction that puts the verdict on disk and asks
whether the
agent still owns the task. What came of it is recorded with the call's answer. A claim that nobody settled is in doubt:
it is made again only where the tool takes the key; else a person says what is the case.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from interlock import canonical
from interlock.catalogue import Text, say
from interlock.clock import new_id
from interlock.gate.action_key import TASK, identity_of, key_of
from interlock.gate.proposal import ActionFacts
from interlock.gate.tool import Tool
from interlock.ledger.content_store import Kept
from interlock.ledger.ledger import Refused, Row, Write
from interlock.ledger.step import Draft
from interlock.run.action import Action, doubted
from interlock.run.foreign import UnansweredError
from interlock.run.installation import Installation
from interlock.run.outcome import Outcomes
from interlock.run.post import asked
from interlock.run.recorder import Lost, Recorder
from interlock.run.run import CallState
from interlock.run.timer import timer_row
from interlock.scope.label import Labels, listed

__all__ = ["Acting"]

POLL_MS = 50
LONGEST_KEY = 255
"""How many characters of an idempotency key outside services take."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The action that a call wants to do. `place` is the company of whose actions alone the key tells this one; empty
    where the key names the task, which tells it from all others."""

    id: str
    key: str
    place: str
    identity: str
    arguments: Kept

    @property
    def idempotency_key(self) -> str:
        """The key as the outside is handed it: no other company's is the same, whoever shares an account there. One
        too long for most services is handed as the action's id."""
        key = f"{self.place}:{self.key}" if self.place else self.key
        return key if len(key) <= LONGEST_KEY else self.id


Make = Callable[[str], Awaitable[Any]]
"""Makes the call; is handed the key."""


class Acting:
    """Acts for one run under one claim."""

    def __init__(self, installation: Installation, recorder: Recorder, outcomes: Outcomes) -> None:
        self._installation, self._recorder, self._outcomes = installation, recorder, outcomes
        self.run = recorder.run

    # What the Gate is told

    async def facts(self, call: CallState, tool: Tool, arguments: Mapping[str, Any]) -> ActionFacts | None:
        """Give how the action of a call stands, as the Gate weighs it; None where there is none yet."""
        wanted = await self._wanted(tool, arguments)
        action = await self._action(wanted.id)
        if action is None:
            return None
        same = action.identity == wanted.identity
        return ActionFacts(action.state, same, action.run, self._is_mine(action, call))  # type: ignore[arg-type]

    def _is_mine(self, action: Action, call: CallState) -> bool:
        return (action.run, action.call) == (self.run.id, call.id)

    async def _wanted(self, tool: Tool, arguments: Mapping[str, Any]) -> Wanted:
        contents, run = self._installation.contents, self.run
        key = key_of(tool, arguments, run.root_task)
        place = "" if f"{{{TASK}}}" in (tool.key or "") else run.company
        name = contents.digest("*", canonical.encode([place, key]))
        kept = await contents.keep_any(run.company, canonical.encode(dict(arguments)))
        identity = contents.digest("*", identity_of(tool, arguments))
        return Wanted(f"action_{name[:32]}", key, place, identity, kept)

    async def _action(self, name: str) -> Action | None:
        rows = await self._installation.ledger.query("action_by_id", name)
        return Action.of_row(rows[0]) if rows else None

    # Acting

    async def act(
        self, call: CallState, tool: Tool, arguments: Mapping[str, Any], make: Make, repeats: bool
    ) -> None:
        """Do an allowed action, or give what came of it when another did it.

        With `repeats` the Gate allowed no more than the latter: when the other one failed, the call is left as it
        is, to be judged anew.
        """
        wanted = await self._wanted(tool, arguments)
        end = self._installation.clock.now() + self._installation.settings.action_wait_ms
        while True:
            action = await self._action(wanted.id)
            if action is None or action.state == "failed":
                if repeats:
                    return
                settled = await self._claim_and_do(call, tool, wanted, action, make)
            elif action.identity != wanted.identity:
                await self.conflict(call, tool, wanted, action)
                return
            elif action.state == "done":
                await self._repeat(call, tool, wanted, action)
                return
            elif action.state == "in_doubt":
                settled = await self._doubtful(call, tool, wanted, action, make)
            else:
                settled = await self._claimed(call, tool, wanted, action, make, end)
            if settled:
                return

    async def _claimed(
        self, call: CallState, tool: Tool, wanted: Wanted, action: Action, make: Make, end: int
    ) -> bool:
        """Somebody is at it. A claim of this very call is one that nobody settled before a crash."""
        clock = self._installation.clock
        if self._is_mine(action, call):
            if not tool.takes_key:
                await self._in_doubt(call, action)
                return True
            return await self._claim_and_do(call, tool, wanted, action, make)
        if clock.now() >= end:
            self._outcomes.fail(call, Text("action.under_way", tool=tool.name))
            return True
        await self._recorder.flush(durable=False)
        await clock.sleep(POLL_MS / 1000)
        return False

    async def _doubtful(
        self, call: CallState, tool: Tool, wanted: Wanted, action: Action, make: Make
    ) -> bool:
        if tool.takes_key:
            return await self._claim_and_do(call, tool, wanted, action, make)
        self._outcomes.fail(call, Text("action.in_doubt", tool=tool.name))
        return True

    async def _claim_and_do(
        self, call: CallState, tool: Tool, wanted: Wanted, before: Action | None, make: Make
    ) -> bool:
        """Claim the action and do it. False when somebody else was there first: look again."""
        run, clock = self.run, self._installation.clock
        attempt = 1 if before is None else before.attempt + 1
        body = {
            "action": wanted.id,
            "tool": tool.name,
            "key": (key := self._outcomes.keep_text(wanted.key)).digest,
            "identity": wanted.identity,
            "arguments": wanted.arguments.digest,
            "task": run.root_task,
            "run": run.id,
            "call": call.id,
            "attempt": attempt,
            "deadline": clock.now() + run.time_left(tool.timeout_ms),
            "labels": listed(run.labels),
        }
        # The claim may stand alone: after a wait no step of the run goes along whose fence would refuse it.
        guards = [
            Row("lease_is_held", (run.id, run.fence), "lease_lost"),
            Row("owner_is", (run.task, run.epoch), "not_owner"),
        ]
        if before is not None:
            guards.append(Row("action_stands", (wanted.id, before.state, before.attempt), "duplicate_action"))
        outcome = await self._recorder.flush(
            writes=(Write(wanted.id, None, (Draft("action.claimed", body),)),),
            guards=guards,
            contents=(wanted.arguments.row, key.row),
        )
        if isinstance(outcome, Refused):
            if outcome.constraint == "lease_lost":
                raise Lost(run.id)
            if outcome.constraint == "not_owner":
                self._outcomes.fail(call, Text("message.not_owner"))
                return True
            return False
        unsettled = before is not None and before.state != "failed"
        await self._do(call, tool, wanted, make, unsettled)
        return True

    async def _do(self, call: CallState, tool: Tool, wanted: Wanted, make: Make, unsettled: bool) -> None:
        try:
            result = await make(wanted.idempotency_key if tool.takes_key else "")
        except UnansweredError as error:
            await self._unanswered(call, tool, wanted, error, unsettled)
            return
        kept = await self._outcomes.take(call, tool, result)
        labels = tool.labels_of(result) if kept is not None else frozenset()
        await self._settle(call, tool, wanted, "done", kept, labels)

    async def _unanswered(
        self, call: CallState, tool: Tool, wanted: Wanted, error: UnansweredError, unsettled: bool
    ) -> None:
        """The call ended without an answer: unless the tool says so, it is not known whether it had its effect.

        What a tool says of this call it does not say of an earlier attempt that nobody settled: that stays in doubt.
        """
        if error.undone or tool.takes_key:
            failed = error.undone and not unsettled
            self._outcomes.fail_saying(call, tool, error.reason, error.said)
            await self._settle(call, tool, wanted, "failed" if failed else "in_doubt")
            return
        action = await self._action(wanted.id)
        if action is not None:
            await self._in_doubt(call, action, error)

    async def _settle(
        self,
        call: CallState,
        tool: Tool,
        wanted: Wanted,
        state: str,
        kept: Kept | None = None,
        labels: Labels = frozenset(),
    ) -> None:
        """Record what came of an action with the answer of its call. Were it lost, it would be in doubt."""
        body: dict[str, Any] = {"action": wanted.id}
        if kept is not None:
            body["result"] = kept.digest
            if labels:
                body["labels"] = listed(labels)
        self._recorder.note_beside(wanted.id, f"action.{state}", body)
        self._tell(call, tool, wanted, state, kept)
        await self._recorder.flush(durable=False)

    def _tell(self, call: CallState, tool: Tool, wanted: Wanted, outcome: str, kept: Any = None) -> None:
        body = {
            "task": self.run.task,
            "action": wanted.id,
            "tool": tool.name,
            "agent": self.run.agent,
            "run": self.run.id,
            "call": call.id,
            "outcome": outcome,
            "arguments": wanted.arguments.digest,
        }
        if kept is not None:
            body["result"] = kept if isinstance(kept, str) else kept.digest
        self._recorder.note_beside(self.run.root_task, "task.acted", body, (wanted.arguments.row,))

    # What is not done again

    async def _repeat(self, call: CallState, tool: Tool, wanted: Wanted, action: Action) -> None:
        """Already done: the recorded result is given, unless it may not enter this run's scope."""
        if action.result is None or self._outcomes.refusal(action.label_set) is not None:
            reason = Text("action.done_already", tool=tool.name, run=action.run)
            told = say("action.done_already.told", self._installation.settings.language, tool=tool.name)
            self._outcomes.fail(call, reason, told)
        else:
            data = await self._installation.contents.read(action.result)
            kept = await self._installation.contents.keep_any(self.run.company, data)
            self._outcomes.answer(call, kept, action.label_set, repeats=action.id, by_run=action.run)
        self._tell(call, tool, wanted, "repeated", action.result)
        await self._recorder.flush(durable=False)

    async def _in_doubt(self, call: CallState, action: Action, error: UnansweredError | None = None) -> None:
        """Nobody knows whether it was done: people are shown what is known, and the call waits for what they say."""
        due_at = self._installation.clock.now() + self._installation.settings.answer_ms
        draft, kept, told = await doubted(self._installation, self.run, action, due_at, error)
        name = draft.body["question"]
        waiting = Draft(
            "tool.waiting", {"call": call.id, "tool": call.tool, "question": name, "due_at": due_at}
        )
        self._recorder.note_beside(action.id, "action.in_doubt", {"action": action.id})
        self._recorder.note_beside(self.run.root_task, told.kind, told.body)
        self._recorder.note_beside(self.run.root_task, draft.kind, draft.body, (kept.row,))
        await self._recorder.flush(
            then=(waiting,),
            rows=(timer_row(name, due_at, "question", self.run.root_task, {"run": self.run.id}),),
        )

    async def conflict(self, call: CallState, tool: Tool, wanted: Wanted, action: Action) -> None:
        """The same key with other arguments: no call is made, and people see both (AC-1)."""
        self._outcomes.fail(call, Text("action.conflict", tool=tool.name))
        await self.note_conflict(call, tool, wanted, action)

    async def denied(self, call: CallState, tool: Tool, arguments: Mapping[str, Any]) -> None:
        """Show people a conflict that the Gate found."""
        wanted = await self._wanted(tool, arguments)
        action = await self._action(wanted.id)
        if action is not None and action.identity != wanted.identity:
            await self.note_conflict(call, tool, wanted, action)

    async def note_conflict(self, call: CallState, tool: Tool, wanted: Wanted, action: Action) -> None:
        """Put a conflict into the human queue and into the exchange."""
        run, installation = self.run, self._installation
        done: dict[str, Any] = {"arguments": await self._json(action.arguments), "outcome": action.state}
        if action.result is not None:
            done["result"] = await self._json(action.result)
        wants = await self._json(wanted.arguments.digest)
        form = {"tool": tool.name, "key": wanted.key, "done": done, "wanted": {"arguments": wants}}
        kept = await installation.contents.keep_any(run.company, canonical.encode(form))
        name = new_id("question", installation.clock)
        draft = asked(name, "conflict", run, kept.digest, 0, listed(run.labels), call.id, tool.name)
        self._tell(call, tool, wanted, "conflict")
        self._recorder.note_beside(run.root_task, draft.kind, draft.body, (kept.row,))

    async def _json(self, digest: str) -> Any:
        return canonical.parse(await self._installation.contents.read(digest), "action")
