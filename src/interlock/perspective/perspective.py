"""A perspective: what one agent has seen of the outside: whom it met, its conversations, what was said there (PX-1,
PX-2).

All that is here reads through the wall, with the perspective before every key. Two agents that know the same person
hold an actor each, and each its own conversation of the same thread.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from interlock.event.chain import Place
from interlock.ledger.ledger import Ledger
from interlock.scope.audience import Room, audiences_in, outsider
from interlock.scope.label import Labels

__all__ = ["Conversation", "MessageEvent", "Perspective", "identity"]

LINKED = 100
"""How many identities of one person are looked through at most."""


def identity(connector: str, external: str) -> str:
    """Give an identity as an audience names it; `external` is the keyed digest of what the connector calls somebody."""
    return f"{connector}:{external}"


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread as one agent sees it. place: of the last message event; turned: of the last one that a turn took in,
    which `run` worked on."""

    id: str
    connector: str
    thread: str
    place: int
    turned: int
    run: str | None

    @classmethod
    def of_row(cls, row: tuple[Any, ...]) -> Self:
        """Read a row of the query `conversation_by_id`."""
        return cls(*row)


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """A message as the agent observed it or sent it. `content` is the digest of its text, `at` milliseconds since the
    Unix epoch, `run` the run that said it where the agent did, `chain` the place of a run that it starts, where another
    agent said it."""

    place: int
    id: str
    actor: str
    way: str
    content: str
    labels: Labels
    at: int
    run: str | None
    chain: Place | None = None

    @classmethod
    def of_row(cls, row: tuple[Any, ...]) -> Self:
        """Read a row of the query `events_after`."""
        place, name, actor, way, content, named, at, run, root_run, hop = row
        labels = frozenset(named.split(",") if named else ())
        chain = None if root_run is None else Place(root_run, hop)
        return cls(place, name, actor, way, content, labels, at, run, chain)


class Perspective:
    """One agent's view, for reading. `address` is the agent's."""

    def __init__(self, ledger: Ledger, address: str) -> None:
        self._ledger, self.address = ledger, address

    async def conversation(self, name: str) -> Conversation | None:
        """Give a conversation by its id."""
        found = await self._ledger.within(self.address, "conversation_by_id", name)
        return Conversation.of_row(found[0]) if found else None

    async def conversation_in(self, connector: str, thread: str) -> Conversation | None:
        """Give the conversation of a thread; `thread` is a keyed digest."""
        found = await self._ledger.within(self.address, "conversation_of_thread", connector, thread)
        if not found:
            return None
        name, place, turned, run = found[0]
        return Conversation(name, connector, thread, place, turned, run)

    async def actor(self, connector: str, external: str) -> str | None:
        """Give whom the agent knows by an identity."""
        found = await self._ledger.within(self.address, "actor_of_identity", connector, external)
        return str(found[0][0]) if found else None

    async def name_of(self, actor: str) -> str | None:
        """Give the digest of an actor's name."""
        found = await self._ledger.within(self.address, "actor_by_id", actor)
        return str(found[0][1]) if found else None

    async def linked(self, actor: str) -> list[str]:
        """Give the actors that are linked to an actor itself."""
        rows = await self._ledger.within(self.address, "linked_to", actor, actor)
        return [row[0] for row in rows]

    async def same(self, actor: str) -> list[str]:
        """Give an actor with all that are linked to it: one person, as this perspective has it."""
        found, left = [actor], [actor]
        while left and len(found) < LINKED:
            for other in await self.linked(left.pop()):
                if other not in found:
                    found.append(other)
                    left.append(other)
        return found

    async def own_identities(self, actor: str) -> frozenset[str]:
        """Give the identities of an actor itself: under which it is there, and can observe something."""
        rows = await self._ledger.within(self.address, "identities_of_actor", actor)
        return frozenset(identity(connector, external) for connector, external in rows)

    async def identities(self, actor: str) -> frozenset[str]:
        """Give the identities under which this perspective knows a person."""
        found: set[str] = set()
        for one in await self.same(actor):
            found |= await self.own_identities(one)
        return frozenset(found)

    async def participants(self, conversation: str) -> list[str]:
        """Give the actors who are in a conversation now."""
        return [row[0] for row in await self._ledger.within(self.address, "participants_of", conversation)]

    async def observers(self, conversation: str) -> Room:
        """Give who is in a conversation now, as an audience is made of it. A link is no part of that: it may be undone,
        and what was observed stays observed by those who were there."""
        return [await self.own_identities(actor) for actor in await self.participants(conversation)]

    async def room(self, conversation: str) -> Room:
        """Give who is in a conversation now, as an audience is held against it."""
        return [await self.identities(actor) for actor in await self.participants(conversation)]

    async def has_spoken(self, conversation: str, actor: str) -> bool:
        """Tell whether somebody said something in a conversation that no agent is known to have said."""
        return bool(await self._ledger.within(self.address, "has_spoken", conversation, actor))

    async def event(self, name: str) -> MessageEvent | None:
        """Give a message event by its id."""
        found = await self._ledger.within(self.address, "event_by_id", name)
        return MessageEvent.of_row(found[0]) if found else None

    async def events_after(self, conversation: str, place: int, limit: int) -> list[MessageEvent]:
        """Give what was said after a place, the first first."""
        rows = await self._ledger.within(self.address, "events_after", conversation, place, limit)
        return [MessageEvent.of_row(row) for row in rows]

    async def events_before(self, conversation: str, place: int, limit: int) -> list[MessageEvent]:
        """Give the last messages up to a place, in their order."""
        rows = await self._ledger.within(self.address, "events_before", conversation, place, limit)
        return [MessageEvent.of_row(row) for row in rows][::-1]

    async def outsider(self, labels: Iterable[str], room: Room) -> frozenset[str] | None:
        """Give somebody in a room who could not have observed what has these labels; None when everybody could
        (ME-2)."""
        named = audiences_in(labels)
        members = {
            label: [row[0] for row in await self._ledger.query("members_of_audience", label)]
            for label in named
        }
        return outsider(named, room, members)
