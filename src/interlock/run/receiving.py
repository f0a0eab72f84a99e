"""Receiving: a signed message at the door of a connector: checked, read, and brought in once (UI-5, BI-1).

All that can be told by the headers is told before the body is read, and nothing of a body is kept, logged or looked at
before its signature fits. The same message under the same id changes nothing; another one under that id is refused.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from interlock.connector.mapping import mapped
from interlock.connector.observation import Observation
from interlock.connector.signature import Signed, keys_of, signed_by
from interlock.errors import InterlockError
from interlock.ledger.ledger import Appended, Row
from interlock.run.installation import Installation
from interlock.run.observing import Observed, checked
from interlock.settings import ConnectorChoice

__all__ = ["Incoming", "Received", "incoming"]

KEPT_MS = 7 * 24 * 3_600_000
"""How long an id is known. A time stamp is refused much earlier, and a message is known by its own id for good."""
Received = Literal["taken", "known", "unheard"]
"""What came of a message: an agent took it; it had been brought before, or was an agent's own; no agent attends."""
TOOK = frozenset({"engaged", "waiting", "observed", "not_started"})


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message of which the headers are known."""

    installation: Installation
    connector: str
    choice: ConnectorChoice
    keys: tuple[bytes, ...]
    signed: Signed

    async def take(
        self, body: bytes, bring: Callable[[Observation], Awaitable[list[Observed]]]
    ) -> tuple[Received, list[Observed]]:
        """Take the body in; `bring` brings an observation to whom it is for. Gives what came of it, in all and for each
        agent.

        Raises InterlockError `connector.bad_signature`, `connector.replayed`, `json.malformed`, `connector.not_mapped`,
        and what `interlock.run.observing.observe` says.
        """
        if not self.signed.fits(self.keys, body):
            raise InterlockError("connector.bad_signature")
        limit = self.installation.settings.sizes.message
        observation = checked(mapped(body, self.choice.mapping, limit, self.signed.at * 1000))
        contents, company = self.installation.contents, self.choice.scope.company
        name = contents.digest(company, self.signed.id.encode())
        if await self._is_known(name, contents.digest(company, body)):
            return "known", []
        found = await bring(observation)
        done = Row("settle_received", (self.connector, name))
        await self.installation.ledger.append((), rows=(done,))
        return _summed(found), found

    async def _is_known(self, name: str, content: str) -> bool:
        """Note that a message is being taken, and tell whether it was taken before; one that a crash cut short was
        not."""
        ledger, now = self.installation.ledger, self.installation.clock.now()
        insert = Row("insert_received", (self.connector, name, content, now), "known")
        forget = Row("forget_received", (now - KEPT_MS,))
        if isinstance(await ledger.append((), guards=(insert,), rows=(forget,)), Appended):
            return False
        rows = await ledger.query("received_by_id", self.connector, name)
        if rows and rows[0][0] != content:
            raise InterlockError("connector.replayed")
        return bool(rows and rows[0][1])


def incoming(installation: Installation, connector: str, headers: Mapping[str, str]) -> Incoming:
    """Give a message by what its headers say.

    Raises InterlockError `connector.not_here`, `connector.unsigned`, `connector.bad_time`, `connector.no_key` or
    `connector.bad_key`.
    """
    choice = installation.settings.connectors.get(connector)
    if choice is None:
        raise InterlockError("connector.not_here", value=connector)
    keys = keys_of(connector, choice, installation.environment)
    signed = signed_by(headers, installation.clock.now(), choice.tolerance_ms)
    return Incoming(installation, connector, choice, keys, signed)


def _summed(found: list[Observed]) -> Received:
    outcomes = {item.outcome for item in found}
    if outcomes & TOOK:
        return "taken"
    return "known" if "known" in outcomes else "unheard"
