"""Outgoing: what agents said goes out to where its conversation is, as an action would (UI-5, AC-2).

A row stays until the outside took it or it is given up, so that nothing is lost with a process. Whoever sends it claims
it first, beyond the time that sending takes. The id under which it goes is the message event's at every attempt. An
outside that takes one id only once is sent it again until it answers; to any other one, what may have arrived is in
doubt and not sent again, and people see it. What was said earlier in a conversation goes first.
"""

import asyncio
import logging
from collections import Counter
from typing import Any, NamedTuple

from interlock import canonical
from interlock.catalogue import Text
from interlock.connector.http import Answer, post
from interlock.connector.mapping import answered_id
from interlock.connector.signature import keys_of, sign
from interlock.errors import InterlockError
from interlock.ledger.ledger import Appended, Row, Write
from interlock.ledger.step import Draft
from interlock.run.approval import APPROVER
from interlock.run.brief import checked_person
from interlock.run.installation import Installation
from interlock.run.recognising import external_digest
from interlock.settings import ConnectorChoice

__all__ = ["Outgoing", "send_again"]

AT_ONCE, AT_ONE_CONNECTOR = 32, 8
"""How many are sent at the same time, and how many of them by one connector, so that none holds up the others."""
MARGIN_MS = 1000
"""How long after its time limit a claim ends: the outcome is recorded by then, or the process is gone."""
FIRST_WAIT_MS, LONGEST_WAIT_MS = 1000, 3_600_000
TAKEN = range(200, 300)
FINAL = frozenset({400, 405, 410, 413, 414, 415, 422, 431})
"""The answers that say that the same message will never be taken."""
UNTAKEN = FINAL | frozenset(
    {401, 403, 404, 406, 407, 408, 409, 411, 412, 421, 423, 425, 426, 428, 429, 501, 503}
)
"""The answers that say that a message was not taken this time; after any other one nobody knows."""
UNKNOWN = frozenset({"connector.no_answer", "connector.broken_off"})
"""What ended an attempt of which nobody knows whether it arrived."""
LOG = logging.getLogger("interlock")


class Saying(NamedTuple):
    """What is to go out: a row of the query `outgoing_due`. thread, in_reply_to: keyed digests, and content.
    claimed: whether somebody who is gone was sending it. doubtful: whether an attempt before may have arrived."""

    id: str
    agent: str
    conversation: str
    content: str
    thread: str
    in_reply_to: str | None
    attempts: int
    claimed: int
    doubtful: int


class Outgoing:
    """Sends what is due, beside all else that a worker does. Any number may do so on one ledger."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._busy: Counter[str] = Counter()

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """What is being sent."""
        return list(self._sending.values())

    async def sweep(self) -> int:
        """Begin to send what is due now, and give how much that is."""
        ledger, now, begun = self._installation.ledger, self._installation.clock.now(), 0
        for (connector,) in await ledger.query("outgoing_connectors"):
            for row in await ledger.query("outgoing_due", connector, now, 2 * AT_ONE_CONNECTOR):
                saying = Saying(*row)
                if len(self._sending) >= AT_ONCE or self._busy[connector] >= AT_ONE_CONNECTOR:
                    break
                if saying.id not in self._sending:
                    self._begin(connector, saying)
                    begun += 1
        return begun

    async def close(self) -> None:
        """Stop sending. What was under way is sent again when its claim is over."""
        tasks = self.tasks
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, connector: str, saying: Saying) -> None:
        task = asyncio.get_running_loop().create_task(self._send(connector, saying))
        self._sending[saying.id] = task
        self._busy[connector] += 1

        def ended(_: asyncio.Task[None]) -> None:
            del self._sending[saying.id]
            self._busy[connector] -= 1

        task.add_done_callback(ended)

    async def _send(self, connector: str, saying: Saying) -> None:
        try:
            await _Sending(self._installation, connector, saying).carry_out()
        except InterlockError as error:  # the ledger cannot be written now; the claim ends by itself
            LOG.warning("a message of connector %s waits: %s", connector, error.code)
        except Exception as error:  # noqa: BLE001  one message must never take the others with it
            LOG.error("a message of connector %s waits: %s", connector, type(error).__name__)


class _Sending:
    """One attempt to send one message."""

    def __init__(self, installation: Installation, connector: str, saying: Saying) -> None:
        self._installation, self._connector, self._saying = installation, connector, saying
        self._choice = installation.settings.connectors.get(connector)
        self._attempt = saying.attempts + 1
        self._doubtful = bool(saying.doubtful or saying.claimed)
        self._until = 0

    async def carry_out(self) -> None:
        saying, installation = self._saying, self._installation
        wait = self._choice.timeout_ms if self._choice else 0
        self._until = installation.clock.now() + wait + MARGIN_MS
        claim = Row("claim_outgoing", (self._until, saying.id, saying.attempts), "claimed")
        if not isinstance(await installation.ledger.append((), guards=(claim,)), Appended):
            return
        if saying.claimed and not self._takes_key:
            await self._failed(Text("connector.cut_short"), unknown=True)
            return
        installation.reach("outgoing.before_send")
        try:
            answer = await self._sent()
        except InterlockError as error:
            await self._failed(Text(error.code, **error.params), unknown=error.code in UNKNOWN)
            return
        installation.reach("outgoing.after_send")
        if answer.status in TAKEN:
            await self._delivered(answer)
        else:
            reason = Text("connector.would_not", status=answer.status)
            await self._failed(
                reason,
                final=answer.status in FINAL,
                unknown=answer.status not in UNTAKEN and not 300 <= answer.status < 400,
                retry_after=answer.retry_after,
            )

    @property
    def _takes_key(self) -> bool:
        return self._choice is not None and self._choice.takes_key

    async def _sent(self) -> Answer:
        """Raises InterlockError for whatever is in the way; none holds a key or a text."""
        choice = self._where()
        keys = keys_of(self._connector, choice, self._installation.environment)
        body = await self._body()
        at = self._installation.clock.now() // 1000
        headers = {"content-type": "application/json", "user-agent": "interlock"}
        headers |= sign(keys, self._saying.id, at, body)
        return await post(choice.reply_to or "", headers, body, choice.timeout_ms)

    def _where(self) -> ConnectorChoice:
        if self._choice is None or self._choice.reply_to is None:
            raise InterlockError("connector.no_way_out", connector=self._connector)
        return self._choice

    async def _body(self) -> bytes:
        """The same bytes at every attempt."""
        saying = self._saying
        told = {
            "id": saying.id,
            "thread": await self._text(saying.thread),
            "text": await self._text(saying.content),
            "in_reply_to": None if saying.in_reply_to is None else await self._text(saying.in_reply_to),
        }
        return canonical.encode(told)

    async def _text(self, digest: str) -> str:
        return (await self._installation.contents.read(digest)).decode("utf-8", "replace")

    # What came of it

    async def _delivered(self, answer: Answer) -> None:
        body = self._outcome("delivered")
        choice = self._where()
        name = answered_id(answer.body, choice.mapping)
        if name is not None:
            body["external"] = external_digest(self._installation, choice, name)
        await self._record(body, Row("end_outgoing", (self._saying.id, self._attempt), "sent"))

    async def _failed(
        self, reason: Text, *, final: bool = False, unknown: bool = False, retry_after: int = 0
    ) -> None:
        most = self._choice.attempts if self._choice else 1
        doubtful = self._doubtful or unknown
        if final or self._attempt >= most or (unknown and not self._takes_key):
            end = Row("end_outgoing", (self._saying.id, self._attempt), "sent")
            ended = self._outcome("in_doubt" if doubtful else "given_up")
            late = {"deadline": self._until - MARGIN_MS} if doubtful else {}
            await self._record({**ended, **late, "reason": reason}, end)
            return
        due_at = self._installation.clock.now() + self._wait(retry_after)
        row = Row("postpone_outgoing", (due_at, int(doubtful), self._saying.id, self._attempt), "sent")
        await self._record({**self._outcome("failed"), "reason": reason, "due_at": due_at}, row)

    def _outcome(self, status: str) -> dict[str, Any]:
        return {
            "perspective": self._saying.agent,
            "event": self._saying.id,
            "status": status,
            "attempt": self._attempt,
        }

    def _wait(self, retry_after: int) -> int:
        """Give how long to wait, in milliseconds: twice as long each time, and by chance up to half less, so that what
        failed together does not come back together."""
        longest = min(FIRST_WAIT_MS << min(self._attempt - 1, 30), LONGEST_WAIT_MS)
        chance = int.from_bytes(self._installation.clock.random_bytes(4))
        return max(longest - (longest * chance >> 33), min(retry_after * 1000, LONGEST_WAIT_MS))

    async def _record(self, body: dict[str, Any], row: Row) -> None:
        """Nothing is written by whom another process has overtaken meanwhile."""
        write = Write(self._saying.conversation, None, (Draft("message.delivered", body),))
        await self._installation.ledger.append((write,), guards=(row,))


async def send_again(installation: Installation, name: str, by: str) -> None:
    """Send once more what did not arrive, or nobody knows, on a person's word; `name` is the id of the message event.

    Raises InterlockError `connector.not_dead`, `connector.no_way_out`, `run.bad_person` or `queue.no_role`.
    """
    checked_person(by)
    ledger = installation.ledger
    rows = await ledger.query("said_by_id", name)
    if not rows:
        raise InterlockError("connector.not_dead", value=name)
    _, agent, conversation, run, state = rows[0]
    event = (await ledger.within(agent, "event_by_id", name))[0]
    place = (await ledger.within(agent, "conversation_by_id", conversation))[0]
    heard = (await ledger.read(run, 0, 1))[0].body["turn"]["events"]
    answers = await ledger.within(agent, "external_of_event", heard[-1]) if heard else []
    connector, thread = place[1], place[2]
    choice = installation.settings.connectors.get(connector)
    if choice is None or choice.reply_to is None:
        raise InterlockError("connector.no_way_out", connector=connector)
    if not installation.settings.has_role(by, APPROVER, choice.scope):
        raise InterlockError("queue.no_role", person=by, role=APPROVER, scope=choice.scope)
    row = (name, agent, conversation, connector, event[4], thread, answers[0][0] if answers else None)
    draft = Draft("message.delivered", {"perspective": agent, "event": name, "status": "again", "by": by})
    outcome = await ledger.append(
        (Write(conversation, None, (draft,)),),
        guards=(Row("said_is_undelivered", (name,), "not_dead"),),
        rows=(Row("insert_outgoing", (*row, installation.clock.now(), int(state == "in_doubt"))),),
    )
    if not isinstance(outcome, Appended):
        raise InterlockError("connector.not_dead", value=name)
