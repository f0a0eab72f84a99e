"""An action as the ledger has it, and what people and packages are told of it (AC-2, MS-5)."""

import json
from dataclasses import dataclass
from typing import Any, Self

from interlock import canonical
from interlock.clock import new_id
from interlock.ledger.content_store import Kept
from interlock.ledger.step import Draft
from interlock.run.foreign import UnansweredError
from interlock.run.installation import Installation
from interlock.run.post import asked
from interlock.run.run import Run
from interlock.scope.barrier import barrier
from interlock.scope.label import NO_LABELS, Labels, join, listed
from interlock.scope.scope import Scope

__all__ = ["Action", "actions_of", "doubted"]

ATTEMPTS = 1000
"""More steps than an action has."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action as the ledger has it. `identity` is the keyed digest of what makes a call the same action."""

    id: str
    tool: str
    state: str
    key: str
    identity: str
    arguments: str
    task: str
    run: str
    call: str
    attempt: int
    deadline: int
    result: str | None = None
    labels: str = ""

    @classmethod
    def of_row(cls, row: tuple[Any, ...]) -> Self:
        """Read a row of the query `action_by_id`."""
        return cls(*row)

    @property
    def label_set(self) -> Labels:
        """The labels of its result."""
        return frozenset(self.labels.split(",")) if self.labels else frozenset()


async def doubted(
    installation: Installation, run: Run, action: Action, due_at: int, error: UnansweredError | None = None
) -> tuple[Draft, Kept, Draft]:
    """Give the question to people about an action of which nobody knows whether it was done, its form, and what the
    exchange tells of it. The form has both facts: what was to be done, and until when it may still take effect."""
    form = {
        "tool": action.tool,
        "key": (await installation.contents.read(action.key)).decode(),
        "arguments": await _json(installation, action.arguments),
        "deadline": action.deadline,
        "attempt": action.attempt,
    }
    if error is not None:
        form |= {"reason": error.reason, "said": error.said}
    kept = await installation.contents.keep_any(run.company, canonical.encode(form))
    name, labels = new_id("question", installation.clock), listed(run.labels)
    draft = asked(name, "action", run, kept.digest, due_at, labels, action.call, action.tool)
    draft.body["action"] = action.id
    told = {
        "task": run.task,
        "action": action.id,
        "tool": action.tool,
        "agent": run.agent,
        "run": run.id,
        "call": action.call,
        "outcome": "in_doubt",
        "arguments": action.arguments,
    }
    return draft, kept, Draft("task.acted", told)


async def actions_of(
    installation: Installation, root: str, scope: Scope | None = None
) -> tuple[list[dict[str, Any]], Labels]:
    """Give the actions of a root task as a package tells them: tool, arguments, outcome, and the result where there is
    one; and the labels of all that. Of an action whose data may not enter `scope`, tool and outcome alone are told;
    people, who have no scope, are told all (SC-6)."""
    found, labels = [], NO_LABELS
    for row in await installation.ledger.query("actions_of_task", root):
        action = Action.of_row(row)
        item: dict[str, Any] = {"tool": action.tool, "outcome": action.state}
        found.append(item)
        carried = await _carried(installation, action)
        if scope is not None and barrier(carried, scope, installation.settings.vocabulary) is not None:
            continue
        labels = join(labels, carried)
        item["arguments"] = await _json(installation, action.arguments)
        if action.result is not None:
            item["result"] = await _json(installation, action.result)
    return found, labels


async def _carried(installation: Installation, action: Action) -> Labels:
    """Give the labels of an action: those of its result, and those that the run carried that wrote its arguments."""
    steps = await installation.ledger.read(action.id, 0, ATTEMPTS)
    claimed = (step.body.get("labels", ()) for step in steps if step.kind == "action.claimed")
    return join(action.label_set, *claimed)


async def _json(installation: Installation, digest: str) -> Any:
    return json.loads(await installation.contents.read(digest))
