"""What follows from a closing, beside its events: for the task, for whoever waits, and for whoever was asked."""

from dataclasses import dataclass, field
from typing import Any

from interlock import canonical
from interlock.agent.spec import FINAL_ANSWER, Spec
from interlock.catalogue import Text, say
from interlock.clock import new_id
from interlock.event.event import Exposed
from interlock.gate.tool import PLATFORM_NAMES
from interlock.ledger.ledger import ContentRow, Row, Write
from interlock.ledger.step import Draft
from interlock.message.envelope import Envelope
from interlock.message.task import OPEN, Task, owner_person
from interlock.run.action import Action, doubted
from interlock.run.closing import Emitted, budget_left
from interlock.run.finish import Finished
from interlock.run.installation import Installation
from interlock.run.opening import Given, Opening, Taker, opened_by_message
from interlock.run.part import cancelling
from interlock.run.post import posted, queued
from interlock.run.run import Run
from interlock.scope.barrier import barrier
from interlock.scope.scope import Address

__all__ = ["Following", "followed"]

SAID = 2000
"""How many characters of a closing answer a reply repeats; the whole of it goes along as an artifact."""


@dataclass(slots=True)
class Following:
    """What is to be written with a closing step."""

    told: list[Draft] = field(default_factory=list)
    guards: list[Row] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    contents: list[ContentRow] = field(default_factory=list)
    openings: list[Opening] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)


async def followed(
    installation: Installation,
    run: Run,
    spec: Spec,
    status: str,
    finished: Finished,
    owns: bool,
    waited_for: bool,
    emitted: Emitted,
) -> Following:
    """Give what follows. `owns`: whether the run's agent owns the task still; `waited_for`: whether a reply is owed."""
    found = Following()
    await _withdraw(installation, run, found)
    await _doubt(installation, run, found)
    await _cancel_what_it_waits_for(installation, run, found)
    found.rows += [row for work in run.works for child in work.children for row in cancelling(run, child)]
    if run.part:
        parent = run.part["place"]["root_run"]
        told = Row("signal_run", (f"{run.id}-ended", "work", "", parent))
        found.rows += [told, Row("wake_run", (parent,)), Row("end_timer", (run.id,))]
        return found
    if not owns:
        return found
    found.guards.append(Row("owner_is", (run.task, run.epoch), "not_owner"))
    if status == "failed" and await _try_again(installation, run, spec, found):
        return found
    if run.owes_a_reply and waited_for:
        await _reply(installation, run, status, finished, found)
    elif status == "failed" and run.message.get("type") in {"hand_off", "status"}:
        found.told.append(
            queued(
                run.task,
                run.epoch + 1,
                run.scope,
                run.agent,
                Text("task.receiver_failed", to=run.agent),
                run=run.id,
            )
        )
        return found
    found.told.append(_closed(run, status, finished, emitted))
    if not (emitted.openings or emitted.owed):
        await _bury_unread(installation, run, found)
    return found


def _closed(run: Run, status: str, finished: Finished, emitted: Emitted) -> Draft:
    body: dict[str, Any] = {"task": run.task, "epoch": run.epoch, "run": run.id, "status": status}
    if FINAL_ANSWER in finished.artifacts:
        body["summary"] = finished.artifacts[FINAL_ANSWER]["digest"]
    if emitted.events:
        body["events"] = [item["event"] for item in emitted.events]
    return Draft("task.closed", body)


async def _bury_unread(installation: Installation, run: Run, found: Following) -> None:
    """What nobody has read when the last run of a root task closes, and all of its tasks with it, nobody will read: a
    dead letter, for people to see (F26)."""
    ledger, root = installation.ledger, run.root_task
    unread = await ledger.query("unread_of_root", root)
    if not unread or any(name != run.id for name, _ in await ledger.query("open_runs_of_root", root)):
        return
    tasks = map(Task.of_row, await ledger.query("tasks_of_root", root))
    if any(task.state == OPEN and task.id != run.task for task in tasks):
        return
    reason = Text("message.never_read")
    found.told += [Draft("message.undelivered", {"message": name, "reason": reason}) for (name,) in unread]


async def _withdraw(installation: Installation, run: Run, found: Following) -> None:
    """Nobody need answer what a closed run asked; a conflict of actions is for people to see all the same."""
    if not any(call.question for call in run.calls.values()):
        return
    for row in await installation.ledger.query("questions_of_run", run.id):
        name, kind = row[0], row[5]
        if kind in {"approval", "question"}:
            found.told.append(Draft("question.answered", {"question": name, "outcome": "withdrawn"}))
            found.guards.append(Row("question_waits", (name,), "already_answered"))
            found.rows.append(Row("end_timer", (name,)))


async def _doubt(installation: Installation, run: Run, found: Following) -> None:
    """An action that the run claimed and did not settle is in doubt, and for people to settle (AC-2).

    Its call may be over: who resumed it was told by the Gate, or by whoever owns the task now, not to make it again.
    """
    if all(call.tool in PLATFORM_NAMES for call in run.calls.values()):
        return
    rows = await installation.ledger.query("actions_under_way", run.root_task, run.id)
    for action in map(Action.of_row, rows):
        draft, kept, told = await doubted(installation, run, action, 0)
        found.writes.append(Write(action.id, None, (Draft("action.in_doubt", {"action": action.id}),)))
        found.guards.append(Row("action_stands", (action.id, "claimed", action.attempt), "duplicate_action"))
        found.told += [told, draft]
        found.contents.append(kept.row)


async def _cancel_what_it_waits_for(installation: Installation, run: Run, found: Following) -> None:
    """What the run opened and no longer waits for need not be done (RN-6)."""
    for call in run.waiting:
        if call.message is None or call.message in run.replies:
            continue
        found.rows.append(Row("end_timer", (call.message,)))
        for kind in ("question", "request"):
            rows = await installation.ledger.query("run_by_cause", f"{kind}:{call.message}:1")
            found.rows += [
                row
                for (opened,) in rows
                for row in (
                    Row("signal_run", (f"{call.message}-cancel", "cancel", run.agent, opened)),
                    Row("wake_run", (opened,)),
                )
            ]


async def _try_again(installation: Installation, run: Run, spec: Spec, found: Following) -> bool:
    """Open the same work once more, if it was sent by somebody and may be tried again (F26). The place stays."""
    if not run.message or run.place is None:
        return False
    given = Given.from_dict(run.message, run.opening)
    if given.attempt > installation.settings.retries:
        return False
    version, state = await installation.current(run.agent)
    if state != "active":
        return False
    pool = await budget_left(installation, run.root_task)
    again = opened_by_message(
        new_id("run", installation.clock),
        run.opening["task"],
        await installation.spec(run.agent, version),
        version,
        given.again(),
        run.opening,
        run.place,
        installation.settings.limits,
        pool.share(2),
        Taker(),
    )
    found.openings.append(again)
    return True


async def _reply(
    installation: Installation,
    run: Run,
    status: str,
    finished: Finished,
    found: Following,
) -> None:
    """Answer whoever waits: with the closing answer, or with an explicit failure (MS-4). Why the run failed is told in
    the trail: it may name the agent's tools, models and recipients, which are no other agent's to know (PX-4)."""
    message = run.message
    attachments = tuple(Exposed.from_dict(item) for item in finished.artifacts.values())
    labels = run.labels
    refusal = None
    if "@" in message["from"]:
        refusal = barrier(labels, Address(message["from"]).scope, installation.settings.vocabulary)
    body: dict[str, Any]
    if refusal is not None:
        kind, body, labels, attachments = "error", _failure(installation, refusal.text), frozenset(), ()
    elif status == "finished" and message["type"] == "question":
        answer = finished.artifacts[FINAL_ANSWER]
        text = (await installation.contents.read(answer["digest"])).decode()
        kind, body = "result", {"text": text[:SAID]}
    else:
        told = Text("run.no_report") if status == "finished" else Text(f"message.ended_{status}")
        kind, body, attachments = "error", _failure(installation, told), ()
    kept = installation.contents.keep(run.company, canonical.encode(body))
    envelope = Envelope(
        id=new_id("message", installation.clock),
        task=run.task,
        type=kind,  # type: ignore[arg-type]
        sender=run.agent,
        recipient=message["from"],
        body=kept.digest,
        size=kept.size,
        labels=labels,
        attachments=attachments,
        run=run.id,
        reply_to=message["id"],
        run_to=message.get("run"),
    )
    found.told.append(Draft("message.sent", envelope.as_dict()))
    found.contents.append(kept.row)
    found.rows += [*_rows_of(envelope, run.root_task), Row("end_timer", (message["id"],))]


def _rows_of(envelope: Envelope, root: str) -> tuple[Row, ...]:
    """A reply to a person is read in the exchange; nothing waits for it."""
    return () if owner_person(envelope.recipient) else posted(envelope, root)


def _failure(installation: Installation, reason: dict[str, Any]) -> dict[str, str]:
    language = installation.settings.language
    return {"what": say("message.not_answered", language), "why": say(reason, language)}
