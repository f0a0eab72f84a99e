"""A turn: what was said in a conversation since the last one, and the run that takes it in (PX-5).

While a turn's run is open, what is said waits for the next turn. What was said earlier is shown as far as everybody who
is in the conversation now could observe it (ME-2).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from interlock.agent.spec import Spec
from interlock.clock import new_id
from interlock.event.chain import Place
from interlock.ledger.ledger import Row
from interlock.ledger.step import Draft
from interlock.perspective.perspective import Conversation, MessageEvent, Perspective
from interlock.run.installation import Installation
from interlock.run.opening import Opening, Taker, Turn, opened_by_turn
from interlock.scope.audience import Room
from interlock.scope.label import Labels, join
from interlock.scope.scope import Address

__all__ = ["NextTurn", "next_turn", "open_turn", "since_last_turn", "stands", "turn_draft", "turn_of"]

BATCH = 1000
"""How many messages one turn takes in at most; more are the next one's."""


async def turn_of(
    installation: Installation,
    view: Perspective,
    conversation: Conversation,
    said: list[MessageEvent],
    own: tuple[tuple[str, Labels], ...],
    room: Mapping[str, frozenset[str]],
    fresh: Collection[str] = (),
) -> Turn:
    """Give the turn that takes in what was said since the last one, with what was said before as far as everybody who
    is there now could observe it (ME-2). `own` is what the agent says at this moment, with its labels, and `fresh` the
    audiences that are named at this moment: those of who is there now. Where agents said some of it, the one furthest
    on its chain tells the turn's place, so that no chain is lost among what waited (EV-7)."""
    batch = [item for item in said if item.way != "own"]
    earlier = await view.events_before(conversation.id, said[0].place - 1, installation.settings.history)
    shown = [item for item in (*earlier, *said) if item.way == "own" or item not in batch]
    people = list(room.values())
    eligible = [item for item in shown if await _may_see(view, item, people)]
    heard = [
        item for item in batch if not item.labels.isdisjoint(fresh) or await _may_see(view, item, people)
    ]
    labels = join(*(item.labels for item in (*eligible, *heard)), *(labels for _, labels in own))
    return Turn(
        conversation.id,
        conversation.connector,
        batch[0].place,
        said[-1].place,
        tuple(item.id for item in heard),
        (*(item.id for item in eligible), *(name for name, _ in own)),
        tuple(sorted(room)),
        batch[-1].actor,
        labels,
        _furthest(item.chain for item in batch if item.way == "engage"),
    )


def _furthest(places: Iterable[Place | None]) -> Place | None:
    return max((place for place in places if place is not None), key=lambda place: place.hop, default=None)


async def _may_see(view: Perspective, event: MessageEvent, room: Room) -> bool:
    return await view.outsider(event.labels, room) is None


async def since_last_turn(view: Perspective, conversation: Conversation) -> list[MessageEvent]:
    """Give what was said since the last turn, to be taken in with the message that now engages; of more than a batch,
    what was said last."""
    said = await view.events_after(conversation.id, conversation.turned, BATCH)
    if len(said) < BATCH:
        return said
    return await view.events_before(conversation.id, conversation.place, BATCH - 1)


async def _waiting(view: Perspective, conversation: Conversation) -> list[MessageEvent]:
    """Give the first batch since the last turn in which something engages the agent, so that nothing that does is
    passed over; what stands before that batch was observed only."""
    place = conversation.turned
    while said := await view.events_after(conversation.id, place, BATCH):
        if any(item.way == "engage" for item in said):
            return said
        place = said[-1].place
    return []


def open_turn(installation: Installation, spec: Spec, version: int, turn: Turn, taker: Taker) -> Opening:
    """Give the opening of a turn's run."""
    clock, settings = installation.clock, installation.settings
    names = new_id("run", clock), new_id("task", clock)
    return opened_by_turn(*names, spec, version, turn, settings.limits, settings.task_budget, taker)


def turn_draft(perspective: str, opening: Opening, place: int) -> Draft:
    """Give the step of a conversation that says which run takes in what was said up to a place."""
    return Draft("turn.opened", {"perspective": perspective, "run": opening.run, "place": place})


@dataclass(slots=True)
class NextTurn:
    """What closes a turn and opens the next: steps of the conversation, what must hold, and the run, if any is due."""

    drafts: list[Draft]
    guard: Row
    opening: Opening | None


def stands(perspective: str, conversation: Conversation) -> Row:
    """Give the guard that nothing was observed in a conversation since it was looked at, and no turn taken."""
    where = (perspective, conversation.id, conversation.place, conversation.turned)
    return Row("conversation_stands", where, "more_was_said")


async def next_turn(
    installation: Installation,
    agent: Address,
    conversation: str,
    own: tuple[tuple[str, Labels], ...],
    taker: Taker,
) -> NextTurn | None:
    """Give the turn that is due in a conversation when the run of the one before closes; None where there is no such
    conversation. What an agent that was paused meanwhile missed stays observed, and starts nothing (AG-5)."""
    view = Perspective(installation.ledger, agent)
    found = await view.conversation(conversation)
    if found is None:
        return None
    guard = stands(agent, found)
    said = await _waiting(view, found)
    version, state = await installation.current(agent)
    if not said or state != "active":
        return NextTurn([], guard, None)
    turn = await turn_of(
        installation,
        view,
        found,
        said,
        own,
        {one: await view.identities(one) for one in await view.participants(found.id)},
    )
    opening = open_turn(installation, await installation.spec(agent, version), version, turn, taker)
    return NextTurn([turn_draft(agent, opening, turn.last)], guard, opening)
