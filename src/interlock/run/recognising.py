"""Recognising: a message that comes in may be what an agent said itself, coming back (EV-7, UI-5).

It is known by the id of its message event, or by the id under which the outside keeps it. Until the outside has said
that one, a message of the same text in the same thread cannot be told from it, and is to be brought again.
"""

from dataclasses import dataclass

from interlock.catalogue import Text
from interlock.connector.observation import Observation
from interlock.errors import InterlockError
from interlock.event.chain import Place, going_on
from interlock.perspective.perspective import Perspective
from interlock.run.installation import Installation
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
    external = external_digest(installation, choice, observation.external)
    rows = await ledger.query("said_by_id", observation.own) if observation.own is not None else []
    rows = rows or await ledger.query("said_as", external)
    for row in rows:
        said = Said(*row)
        conversation = await Perspective(ledger, said.agent).conversation(said.conversation)
        if conversation is not None and conversation.connector == connector:
            return said
    thread = external_digest(installation, choice, observation.thread)
    for _, where, content in await ledger.query("outgoing_in_thread", thread):
        if where == connector and await installation.contents.read(content) == observation.text.encode():
            raise InterlockError("connector.being_sent", connector=connector)
    return None


async def going_on_from(installation: Installation, said: Said | None) -> tuple[Place | None, Text | None]:
    """Give where on its chain a run stands that a message starts, and why it starts none: a message of another agent
    that came by the outside does not begin a new chain (EV-7)."""
    if said is None:
        return None, None
    opening = (await installation.ledger.read(said.run, 0, 1))[0].body
    before = Place.from_dict(opening.get("chain"))
    reason = going_on(before, installation.settings.chain_limit, "turn", (said.agent,))
    return (before.next() if before else None), reason
