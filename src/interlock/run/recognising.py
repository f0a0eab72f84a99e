"""Recognising: a message that comes in may be what an agent said itself, coming back (EV-7, UI-5).

It is known by the id of its message event, wherever it comes in, or by the id under which the outside keeps it. Where
the outside has not told that one, it is known by its thread and its very text, once, unless its sender has said
something there before, who is a person then. While it is being sent, such a message cannot be told from it yet, and is
to be brought again.
"""

from dataclasses import dataclass

from interlock.catalogue import Text
from interlock.connector.observation import Observation
from interlock.errors import InterlockError
from interlock.event.chain import Place, going_on
from interlock.ledger.ledger import Appended, Row, Write
from interlock.ledger.step import Draft
from interlock.perspective.perspective import Perspective
from interlock.run.installation import Installation
from interlock.scope.scope import Scope
from interlock.settings import ConnectorChoice

__all__ = ["Said", "external_digest", "going_on_from", "said_by_agent"]


@dataclass(frozen=True, slots=True)
class Said:
    """What an agent said: its message event, the agent, the conversation and the run that said it."""

    event: str
    agent: str
    conversation: str
    run: str


def external_digest(installation: Installation, choice: ConnectorChoice, text: str) -> str:
    """Give the keyed digest of what the outside calls something; the same for all who see it."""
    return installation.contents.digest(choice.scope.company, text.encode())


async def said_by_agent(
    installation: Installation, connector: str, choice: ConnectorChoice, observation: Observation
) -> Said | None:
    """Give what an agent said at this connector that a message is, coming back; None where it is none.

    Raises InterlockError `connector.being_sent` where that cannot be told yet.
    """
    ledger = installation.ledger
    if observation.own is not None:
        for row in await ledger.query("said_by_id", observation.own):
            return Said(*row[:4])
    external = external_digest(installation, choice, observation.external)
    for row in await ledger.query("said_as", external):
        said = Said(*row[:4])
        conversation = await Perspective(ledger, said.agent).conversation(said.conversation)
        if conversation is not None and conversation.connector == connector:
            return said
    return await _unnamed(installation, connector, choice, observation, external)


async def _unnamed(
    installation: Installation,
    connector: str,
    choice: ConnectorChoice,
    observation: Observation,
    external: str,
) -> Said | None:
    """Give what an agent said of which the outside has not told yet under which id it keeps it."""
    thread = external_digest(installation, choice, observation.thread)
    # Who may have this connector's data lives in its company, or in the installation.
    for company in sorted({choice.scope.company, Scope("*")}):
        content = installation.contents.digest(company, observation.text.encode())
        for *row, claimed in await installation.ledger.query("said_unnamed", thread, content):
            said = Said(*row)
            view = Perspective(installation.ledger, said.agent)
            conversation = await view.conversation(said.conversation)
            if conversation is None or conversation.connector != connector:
                continue
            sender = await view.actor(
                connector, external_digest(installation, choice, observation.sender.external)
            )
            if sender is not None and await view.has_spoken(said.conversation, sender):
                continue
            if claimed:
                raise InterlockError("connector.being_sent", connector=connector)
            if await _came_back(installation, said, external):
                return said
    return None


async def _came_back(installation: Installation, said: Said, external: str) -> bool:
    """Note under which id the outside has what an agent said, which also says that it arrived; False when somebody else
    was faster."""
    body = {"perspective": said.agent, "event": said.event, "status": "came_back", "external": external}
    outcome = await installation.ledger.append(
        (Write(said.conversation, None, (Draft("message.delivered", body),)),),
        guards=(Row("said_is_unnamed", (said.event,), "named"),),
        rows=(Row("drop_outgoing", (said.event,)),),
    )
    return isinstance(outcome, Appended)


async def going_on_from(installation: Installation, said: Said | None) -> tuple[Place | None, Text | None]:
    """Give where on its chain a run stands that a message starts, and why it starts none: a message of another agent
    that came by the outside does not begin a new chain (EV-7)."""
    if said is None:
        return None, None
    opening = (await installation.ledger.read(said.run, 0, 1))[0].body
    before = Place.from_dict(opening.get("chain"))
    reason = going_on(before, installation.settings.chain_limit, "turn", (said.agent,))
    return (before.next() if before else None), reason
