"""An acknowledgement: the receiver's run takes the package of a hand-off before it does anything else (MS-7)."""

from interlock.catalogue import Text
from interlock.ledger.ledger import Refused, Row, Write
from interlock.ledger.step import Draft
from interlock.message.task import Task
from interlock.run.installation import Installation
from interlock.run.run import Run

__all__ = ["acknowledged", "adopt"]


async def acknowledged(installation: Installation, run: Run) -> Text | None:
    """Acknowledge the hand-off that opened `run`, if one did and nobody has yet. On disk when this returns.

    Gives why the run must not begin, or None: it may. The database decides between this and the time limit.
    """
    message = run.message
    if message.get("type") != "hand_off" or run.begun:
        return None
    task = await _task(installation, run)
    if task.pending == message["id"]:
        installation.reach("hand_off.before_acknowledge")
        body = {"task": run.task, "hand_off": message["id"], "epoch": run.epoch, "run": run.id}
        outcome = await installation.ledger.append(
            (Write(run.root_task, None, (Draft("task.acknowledged", body),)),),
            guards=(Row("hand_off_is_pending", (run.task, message["id"]), "overdue"),),
            rows=(Row("end_timer", (message["id"],)),),
        )
        installation.reach("hand_off.after_acknowledge")
        if isinstance(outcome, Refused):
            task = await _task(installation, run)
    return None if task.epoch == run.epoch else Text("run.late_acknowledgement")


async def adopt(installation: Installation, run: Run) -> None:
    """Record the task of a run that an earlier format opened, which did not; who comes second finds it there."""
    task = Task(run.task, run.root_task, run.opening["task"].get("parent"), run.id, run.agent, 1)
    opener = run.opening["opened_by"]
    by = {"kind": opener["kind"]} | {key: opener[key] for key in ("name", "event", "run") if key in opener}
    draft = Draft("task.opened", task.opened_body(run.scope, by))
    await installation.ledger.append((Write(run.root_task, None, (draft,)),), durable=False)


async def _task(installation: Installation, run: Run) -> Task:
    return Task.of_row((await installation.ledger.query("task_by_id", run.task))[0])
