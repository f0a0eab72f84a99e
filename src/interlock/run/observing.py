"""Observing: a message of the outside becomes a message event of each agent that sees it, and engages those it is for.

Each agent has actors and a conversation of its own (PX-2). What engages an agent opens a turn: a run that takes in all
that was said since the last one. While a turn's run is open, what is said waits for it to close.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.clock import new_id
from interlock.connector.observation import Observation, Person
from interlock.errors import InterlockError
from interlock.event.chain import Place
from interlock.ledger.ledger import Appended, Conflict, ContentRow, Refused, Row, Write
from interlock.ledger.step import Draft, Head
from interlock.perspective.perspective import Conversation, MessageEvent, Perspective, identity
from interlock.run.installation import Installation
from interlock.run.opening import Opening, Taker
from interlock.run.recognising import Said, external_digest, going_on_from, said_by_agent
from interlock.run.remembering import event_rows
from interlock.run.turn import open_turn, since_last_turn, turn_draft, turn_of
from interlock.scope.audience import audience_label
from interlock.scope.barrier import barrier
from interlock.scope.label import UNTRUSTED, Labels, area_label, join, listed
from interlock.scope.scope import Address, Scope
from interlock.settings import ConnectorChoice

__all__ = ["Observed", "checked", "observe", "room_label"]

TRIES = 20
LONGEST_TEXT, LONGEST_NAME, LONGEST_ID, LARGEST_ROOM = 64 * 1024, 256, 512, 1000


@dataclass(frozen=True, slots=True)
class Observed:
    """What became of a message for one agent.

    outcome: `engaged` (a run was opened), `waiting` (one is open; the next turn has it), `observed`, `known` (it was
    observed before, or is the agent's own), `refused` (the barrier), `not_started` (why is in `reason`). event: the id
    of the message event.
    """

    agent: Address
    outcome: str
    conversation: str = ""
    event: str = ""
    run: str = ""
    reason: dict[str, Any] | None = None
    opening: Opening | None = field(default=None, repr=False)
    head: Head | None = field(default=None, repr=False)


@dataclass(slots=True)
class _Adding:
    """What one observation adds to a perspective."""

    met: list[Draft] = field(default_factory=list)
    talk: list[Draft] = field(default_factory=list)
    contents: list[ContentRow] = field(default_factory=list)
    rows: tuple[Row, ...] = ()
    identities: dict[str, frozenset[str]] = field(default_factory=dict)


async def observe(
    installation: Installation, connector: str, observation: Observation, taker: Taker | None = None
) -> list[Observed]:
    """Bring a message in for every agent that attends the connector; gives what became of it for each.

    The same message brought again changes nothing. `taker` takes the runs that are opened; they are queued without one.
    Raises InterlockError `connector.unknown`, `connector.too_long`, `connector.malformed`, or `connector.being_sent`.
    """
    choice = installation.settings.connectors.get(connector)
    if choice is None:
        raise InterlockError(
            "connector.unknown", value=connector, known=sorted(installation.settings.connectors)
        )
    checked(observation)
    said = await said_by_agent(installation, connector, choice, observation)
    found = []
    for address, scope, version, state, _ in await installation.ledger.query(
        "listeners_of_event", f"connector:{connector}"
    ):
        stopped = installation.is_stopped(Scope(scope), await installation.stopped())
        observing = Observing(
            installation, connector, choice, await installation.spec(address, version), version
        )
        found.append(
            await observing.take(observation, said, "stopped" if stopped else state, taker or Taker())
        )
    return found


def room_label(identities: Iterable[frozenset[str]]) -> tuple[str, list[str]]:
    """Give the label of what these people observe, and its members."""
    members = sorted(frozenset[str]().union(*identities))
    return audience_label(members), members


def checked(observation: Observation) -> Observation:
    """Give an observation that is as it must be.

    Raises InterlockError `connector.too_long` or `connector.malformed`, with the field.
    """
    people = (observation.sender, *(observation.room or ()))
    if observation.room is not None and len(observation.room) > LARGEST_ROOM:
        raise InterlockError(
            "connector.too_long", field="room", size=len(observation.room), limit=LARGEST_ROOM
        )
    texts = [
        ("text", observation.text, LONGEST_TEXT),
        ("external", observation.external, LONGEST_ID),
        ("thread", observation.thread, LONGEST_ID),
        *(("sender", person.external, LONGEST_ID) for person in people),
        *(("name", person.name, LONGEST_NAME) for person in people),
    ]
    for name, text, limit in texts:
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise InterlockError("connector.malformed", field=name) from None
        if size > limit:
            raise InterlockError("connector.too_long", field=name, size=size, limit=limit)
        if name in {"external", "thread", "sender"} and not text:
            raise InterlockError("connector.malformed", field=name)
    return observation


class Observing:
    """Brings messages of one connector into one agent's perspective."""

    def __init__(
        self, installation: Installation, connector: str, choice: ConnectorChoice, spec: Spec, version: int
    ) -> None:
        self._installation, self._connector, self._choice = installation, connector, choice
        self._spec, self._version = spec, version
        self._view = Perspective(installation.ledger, spec.address)
        self._way = next(item.way for item in spec.attends if item.connector == connector)

    async def take(self, observation: Observation, said: Said | None, state: str, taker: Taker) -> Observed:
        """Take a message in."""
        agent = self._spec.address
        if said is not None and said.agent == agent:
            return Observed(agent, "known", said.conversation, said.event)
        labels = join((area_label(self._choice.scope), UNTRUSTED), self._choice.labels)
        refusal = barrier(
            labels, self._spec.scope, self._installation.settings.vocabulary, {f"connector:{self._connector}"}
        )
        if refusal is not None:
            await self._note_not_started("barrier", refusal.text)
            return Observed(agent, "refused", reason=refusal.text)
        place, stopping = await going_on_from(self._installation, said)
        if stopping is None and state != "active" and self._way == "engage":
            stopping = Text("run.not_started_for", state=Text(f"run.state_{state}"))
        for _ in range(TRIES):
            found = await self._once(observation, labels, place, stopping, taker)
            if found is not None:
                if stopping is not None and found.outcome == "not_started":
                    await self._note_not_started(state, stopping)
                return found
        raise InterlockError("connector.busy", connector=self._connector, agent=agent)

    async def _note_not_started(self, state: str, reason: Text) -> None:
        body = {"agent": self._spec.address, "state": state, "reason": reason}
        body["opened_by"] = {"kind": "turn", "connector": self._connector}
        await self._installation.ledger.append(
            (Write(self._spec.address, None, (Draft("agent.not_started", body),)),)
        )

    async def _once(
        self,
        observation: Observation,
        labels: Labels,
        place: Place | None,
        stopping: Text | None,
        taker: Taker,
    ) -> Observed | None:
        """Try once; None when somebody else was faster, and all is to be looked at again."""
        thread = external_digest(self._installation, self._choice, observation.thread)
        external = external_digest(self._installation, self._choice, observation.external)
        known = await self._view.conversation_in(self._connector, thread)
        if known is not None:
            seen = await self._installation.ledger.within(
                self._spec.address, "event_observed", known.id, external
            )
            if seen:
                return Observed(self._spec.address, "known", known.id, seen[0][0])
        head = await self._head(known)
        conversation = known or Conversation(
            new_id("conversation", self._installation.clock), self._connector, thread, 0, 0, None
        )
        adding = _Adding()
        if known is None:
            opened = {"perspective": self._spec.address, "connector": self._connector, "thread": thread}
            adding.talk.append(Draft("conversation.opened", opened))
        event = await self._add(observation, conversation, external, labels, stopping, place, adding, head)
        wants = self._way == "engage" and stopping is None
        busy = conversation.run if wants and await self._is_open(conversation.run) else None
        opening = None
        if wants and busy is None:
            opening = await self._turn(conversation, event, adding, taker)
        outcome = await self._append(conversation, head, adding, event, opening, busy)
        if not isinstance(outcome, Appended):
            return None
        name = (
            "waiting" if busy else "engaged" if opening else "observed" if stopping is None else "not_started"
        )
        run = opening.run if opening else busy or ""
        where = outcome.heads[1] if opening else None
        return Observed(self._spec.address, name, conversation.id, event.id, run, stopping, opening, where)

    async def _head(self, conversation: Conversation | None) -> Head:
        if conversation is None:
            return Head()
        return Head(*(await self._installation.ledger.query("head", conversation.id))[0])

    async def _is_open(self, run: str | None) -> bool:
        if run is None:
            return False
        return bool((await self._installation.ledger.query("run_by_id", run))[0][-1] == "open")

    async def _add(
        self,
        observation: Observation,
        conversation: Conversation,
        external: str,
        labels: Labels,
        stopping: Text | None,
        place: Place | None,
        adding: _Adding,
        head: Head,
    ) -> MessageEvent:
        """Give the message event, with who came and went, and whom the agent met by it."""
        before = set(await self._view.participants(conversation.id))
        sender = await self._actor(observation.sender, adding)
        if observation.room is None:
            present = before | {sender}
        else:
            present = {sender, *[await self._actor(person, adding) for person in observation.room]}
        identities = [
            adding.identities.get(one) or await self._view.own_identities(one) for one in sorted(present)
        ]
        label, members = room_label(identities)
        if not await self._installation.ledger.query("members_of_audience", label):
            adding.met.append(Draft("audience.named", {"members": members, "audience": label}))
        content = await self._keep(observation, adding)
        way = self._way if stopping is None else "observe"
        event = MessageEvent(
            head.seq + len(adding.talk) + 1,
            new_id("event", self._installation.clock),
            sender,
            way,
            content,
            join(labels, (label,)),
            observation.at,
            None,
            place,
        )
        body = {
            "perspective": self._spec.address,
            "event": event.id,
            "actor": sender,
            "way": way,
            "external": external,
            "content": content,
            "labels": listed(event.labels),
            "at": event.at,
        }
        if place is not None:
            body["chain"] = place.as_dict()
        if joined := sorted(present - before):
            body["joined"] = joined
        if left := sorted(before - present):
            body["left"] = left
        adding.talk.append(Draft("message.observed", body))
        name = observation.sender.name or observation.sender.external
        adding.rows = event_rows(self._spec.address, event, members, observation.text, name, conversation.id)
        return event

    async def _keep(self, observation: Observation, adding: _Adding) -> str:
        """Keep what was said, and what an answer names to the outside; give the digest of what was said."""
        contents, company = self._installation.contents, self._choice.scope.company
        kept = await contents.keep_any(self._spec.scope.company, observation.text.encode())
        named = (observation.thread, observation.external)
        adding.contents += [kept.row, *(contents.keep(company, name.encode()).row for name in named)]
        return kept.digest

    async def _actor(self, person: Person, adding: _Adding) -> str:
        """Give the actor that somebody is in this perspective, met now if never before."""
        external = external_digest(self._installation, self._choice, person.external)
        mine = identity(self._connector, external)
        for actor, known in adding.identities.items():
            if mine in known:
                return actor
        known_as = await self._view.actor(self._connector, external)
        if known_as is not None:
            return known_as
        actor = new_id("actor", self._installation.clock)
        name = await self._installation.contents.keep_any(
            self._spec.scope.company, (person.name or person.external).encode()
        )
        adding.contents.append(name.row)
        body = {
            "perspective": self._spec.address,
            "actor": actor,
            "name": name.digest,
            "connector": self._connector,
            "external": external,
        }
        adding.met.append(Draft("actor.met", body))
        adding.identities[actor] = frozenset((mine,))
        return actor

    async def _turn(
        self, conversation: Conversation, event: MessageEvent, adding: _Adding, taker: Taker
    ) -> Opening:
        after = await since_last_turn(self._view, conversation)
        room = {
            actor: adding.identities.get(actor) or await self._view.identities(actor)
            for actor in await self._present(conversation, adding)
        }
        fresh = [draft.body["audience"] for draft in adding.met if draft.kind == "audience.named"]
        turn = await turn_of(self._installation, self._view, conversation, [*after, event], (), room, fresh)
        return open_turn(self._installation, self._spec, self._version, turn, taker)

    async def _present(self, conversation: Conversation, adding: _Adding) -> set[str]:
        body = adding.talk[-1].body
        before = set(await self._view.participants(conversation.id))
        return (before | set(body.get("joined", ()))) - set(body.get("left", ()))

    async def _append(
        self,
        conversation: Conversation,
        head: Head,
        adding: _Adding,
        event: MessageEvent,
        opening: Opening | None,
        busy: str | None,
    ) -> Any:
        talk = list(adding.talk)
        writes: list[Write] = []
        if opening is not None:
            talk.append(turn_draft(self._spec.address, opening, event.place))
        writes.append(Write(conversation.id, head, tuple(talk)))
        if opening is not None:
            writes += opening.writes
        met = tuple(draft for draft in adding.met if draft.kind != "audience.named")
        if met:
            writes.append(Write(self._spec.address, None, met))
        writes += [
            Write(draft.body["audience"], None, (draft,))
            for draft in adding.met
            if draft.kind == "audience.named"
        ]
        guards = list(opening.guards) if opening else []
        if busy is not None:
            guards.append(Row("run_is_open", (busy,), "run_closed"))
        outcome = await self._installation.ledger.append(
            writes, guards=guards, rows=adding.rows, contents=adding.contents
        )
        if isinstance(outcome, Appended | Conflict | Refused):
            return outcome
        raise InterlockError("connector.busy", connector=self._connector, agent=self._spec.address)
