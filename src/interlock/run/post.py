"""A post: the rows that bring what is sent to whoever it is for, in the transaction that sends it."""

from typing import Any

from interlock.catalogue import Text
from interlock.ledger.ledger import Row
from interlock.ledger.step import Draft
from interlock.message.envelope import Envelope
from interlock.message.task import is_people, people_of
from interlock.run.run import Run
from interlock.scope.scope import Scope

__all__ = ["asked", "posted", "queued"]


def posted(envelope: Envelope, root: str) -> tuple[Row, ...]:
    """Give the working rows of a message: the run that waits for it is told and woken, or the open runs of the
    recipient are told; a message that opens a run of its own is that run's input."""
    if envelope.run_to is not None:
        return (
            Row("signal_run", (envelope.id, "reply", envelope.reply_to or "", envelope.run_to)),
            Row("wake_run", (envelope.run_to,)),
        )
    if envelope.opens is not None or is_people(envelope.recipient):
        return ()
    return (Row("signal_open_runs", (envelope.id, "message", "", root, envelope.recipient)),)


def queued(
    task: str,
    epoch: int,
    scope: Scope,
    before: str,
    reason: Text,
    hand_off: str | None = None,
    run: str | None = None,
) -> Draft:
    """Give the step by which the human queue of a scope comes to own a task."""
    body: dict[str, Any] = {
        "task": task,
        "epoch": epoch,
        "owner": str(people_of(scope)),
        "from": before,
        "reason": reason,
    }
    more = {"hand_off": hand_off, "run": run}
    return Draft("task.queued", body | {key: value for key, value in more.items() if value is not None})


def asked(
    name: str,
    kind: str,
    run: Run,
    form: str,
    due_at: int,
    labels: list[str],
    call: str,
    tool: str,
    scope: Scope | None = None,
) -> Draft:
    """Give the step by which a run puts a question to people, to those of its own scope unless told otherwise.
    `form` is the digest of what they are shown; `due_at` 0 is no limit."""
    return Draft(
        "question.asked",
        {
            "question": name,
            "kind": kind,
            "task": run.task,
            "run": run.id,
            "agent": run.agent,
            "call": call,
            "tool": tool,
            "form": form,
            "scope": str(scope or run.scope),
            "due_at": due_at,
            "labels": labels,
        },
    )
