"""Conversing: how a turn ends: the closing answer is said in the conversation, if it may be, and the next turn
opens."""

from interlock.agent.spec import FINAL_ANSWER
from interlock.catalogue import Text
from interlock.clock import new_id
from interlock.ledger.ledger import Row, Write
from interlock.ledger.step import Draft
from interlock.perspective.perspective import MessageEvent, Perspective
from interlock.run.finish import Finished
from interlock.run.following import Following
from interlock.run.installation import Installation
from interlock.run.observing import room_label
from interlock.run.opening import Taker
from interlock.run.remembering import event_rows
from interlock.run.run import Run
from interlock.run.turn import next_turn, stands
from interlock.scope.barrier import barrier
from interlock.scope.label import Labels, join, listed

__all__ = ["follow_turn", "withheld"]


async def withheld(installation: Installation, run: Run) -> Text | None:
    """Give why what a turn's run would say may not be said in its conversation; None when it may.

    The barrier decides for the place, and the audience for the people: what somebody there could not have observed is
    not said before them (ME-2).
    """
    turn = run.opening["turn"]
    connector = turn["connector"]
    choice = installation.settings.connectors.get(connector)
    if choice is None:
        return Text("connector.unknown", value=connector, known=sorted(installation.settings.connectors))
    released = frozenset((label, to) for label, to in run.opening.get("released", ()))
    refusal = barrier(
        run.labels, choice.scope, installation.settings.vocabulary, {f"connector:{connector}"}, released
    )
    if refusal is not None:
        return refusal.text
    view = Perspective(installation.ledger, run.agent)
    if await view.outsider(run.labels, await view.room(turn["conversation"])) is not None:
        return Text("run.wider_room")
    return None


async def follow_turn(
    installation: Installation, run: Run, status: str, finished: Finished, found: Following
) -> None:
    """Add to what follows a closing what follows in the conversation of its turn. All of it holds for the conversation
    as it is looked at first: whoever comes in meanwhile is not spoken to unasked."""
    turn = run.opening["turn"]
    view = Perspective(installation.ledger, run.agent)
    before = await view.conversation(turn["conversation"])
    if before is not None:
        found.guards.append(stands(run.agent, before))
    own: tuple[tuple[str, Labels], ...] = ()
    drafts: list[Draft] = []
    if status == "finished" and FINAL_ANSWER in finished.artifacts:
        reason = await withheld(installation, run)
        if reason is not None:
            drafts.append(
                Draft("message.withheld", {"perspective": run.agent, "run": run.id, "reason": reason})
            )
        else:
            name = new_id("event", installation.clock)
            drafts.append(await _said(installation, view, run, name, finished, found))
            own = ((name, run.labels),)
    following = await next_turn(installation, run.agent, turn["conversation"], own, Taker())
    if following is not None:
        found.guards.append(following.guard)
        drafts += following.drafts
        if following.opening is not None:
            found.openings.append(following.opening)
    if drafts:
        found.writes.append(Write(turn["conversation"], None, tuple(drafts)))


async def _answered(installation: Installation, run: Run) -> str | None:
    """Give the keyed digest of what the outside calls the message that a turn's answer is to: the last one."""
    heard = run.opening["turn"]["events"]
    rows = await installation.ledger.within(run.agent, "external_of_event", heard[-1]) if heard else []
    return str(rows[0][0]) if rows else None


async def _said(
    installation: Installation, view: Perspective, run: Run, name: str, finished: Finished, found: Following
) -> Draft:
    """Give the message event of what the agent says, which is also to go out."""
    turn = run.opening["turn"]
    label, members = room_label(await view.observers(turn["conversation"]))
    if not await installation.ledger.query("members_of_audience", label):
        named = Draft("audience.named", {"members": members, "audience": label})
        found.writes.append(Write(label, None, (named,)))
    answer = finished.artifacts[FINAL_ANSWER]
    connector = turn["connector"]
    if installation.settings.connectors[connector].reply_to is not None:
        now = installation.clock.now()
        conversation = await view.conversation(turn["conversation"])
        thread = conversation.thread if conversation is not None else ""
        row = (name, run.agent, turn["conversation"], connector, answer["digest"], thread)
        found.rows.append(Row("insert_outgoing", (*row, await _answered(installation, run), now, 0)))
    at = installation.clock.now()
    event = MessageEvent(0, name, run.agent, "own", answer["digest"], join(run.labels, (label,)), at, run.id)
    text = (await installation.contents.read(event.content)).decode()
    found.rows += event_rows(run.agent, event, members, text, "", turn["conversation"])
    body = {
        "perspective": run.agent,
        "event": name,
        "actor": run.agent,
        "way": "own",
        "external": installation.contents.digest(run.company, name.encode()),
        "content": answer["digest"],
        "labels": listed(event.labels),
        "at": at,
        "run": run.id,
    }
    return Draft("message.observed", body)
