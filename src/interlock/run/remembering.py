"""Remembering: what an agent notes for itself, and what it finds again (ME-1, ME-2).

A memory keeps whom it is about, from where it is, and the labels of all that its run had seen, among them who could
observe that. What nobody outside observed is for nobody outside, unless the agent shares it on purpose, which it cannot
do with what it heard in a conversation. Recall finds memories and what was said in conversations, of this agent alone,
and only what everybody in the present conversation could have observed.
"""

from collections.abc import Iterable, Mapping
from itertools import islice, product
from typing import Any

from interlock import canonical
from interlock.catalogue import Text
from interlock.clock import new_id
from interlock.errors import InterlockError
from interlock.ledger.ledger import Refused, Row, Write
from interlock.ledger.step import Draft
from interlock.perspective.perspective import MessageEvent, Perspective
from interlock.perspective.recall import Memorable, forgotten, memorable_rows, recall
from interlock.run.installation import Installation
from interlock.run.outcome import Outcomes
from interlock.run.platform_tools import REMEMBER
from interlock.run.recorder import Recorder
from interlock.run.run import CallState
from interlock.scope.audience import Room, audience_label, audiences_in
from interlock.scope.label import NO_LABELS, Labels, join, listed

__all__ = ["Remembering", "event_rows"]

SHOWN = 2000
"""How many characters of something recalled are shown."""
FOUND = 10
COMBINATIONS = 16
"""In how many ways a room is asked for whose people are known by several identities."""
SPARE = 3
"""How many times more is looked for than shown, since some of it may not be shown after all."""


def event_rows(
    perspective: str, event: MessageEvent, members: Iterable[str], text: str, name: str, conversation: str
) -> tuple[Row, ...]:
    """Give the rows by which something said in a conversation can be recalled. `members` are who could observe it."""
    return memorable_rows(
        Memorable(perspective, event.id, frozenset(members), event.at, text, event.actor, name, conversation)
    )


class Remembering:
    """Remembers and recalls for one run, under one claim."""

    def __init__(self, installation: Installation, recorder: Recorder, outcomes: Outcomes) -> None:
        self._installation, self._recorder, self._outcomes = installation, recorder, outcomes
        self.run = recorder.run
        self._view = Perspective(installation.ledger, self.run.agent)

    async def act(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        """Do an allowed call of `remember` or `recall`. Raises InterlockError of the domain `memory`."""
        about = arguments.get("about")
        if about is not None and await self._view.name_of(about) is None:
            raise InterlockError("memory.unknown_actor", value=about)
        if call.tool == REMEMBER:
            await self._remember(call, arguments)
        else:
            await self._recall(call, arguments)

    # Remembering

    async def _remember(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        run, ledger = self.run, self._installation.ledger
        before = await self._before(arguments.get("instead_of"))
        labels = join(run.labels, before.labels if before else ())
        shared = bool(arguments.get("share", False))
        if shared and audiences_in(labels):
            self._outcomes.fail(call, Text("memory.not_to_share"))
            return
        if not shared and not audiences_in(labels):
            labels |= {audience_label(())}
        text, turn = arguments["text"], run.opening.get("turn", {})
        kept = self._outcomes.keep_text(text)
        name = before.id if before else new_id("memory", self._installation.clock)
        subject = arguments.get("about", before.subject if before else None)
        message = next(iter(turn.get("events", ())[-1:]), None)
        source = {"run": run.id, "conversation": turn.get("conversation"), "message": message}
        body: dict[str, Any] = {
            "perspective": run.agent,
            "revision": before.revision + 1 if before else 1,
            "labels": listed(labels),
            "content": kept.digest,
            "source": {key: value for key, value in source.items() if value is not None},
        }
        if subject is not None:
            body["subject"] = subject
        rows = await forgotten(ledger, run.agent, (name,)) if before else ()
        rows += memorable_rows(await self._memorable(name, text, subject, labels))
        answer = await self._installation.contents.keep_any(
            run.company, canonical.encode({"memory": name, "revision": body["revision"]})
        )
        answered = Draft("tool.answered", self._outcomes.answered(call, answer))
        outcome = await self._recorder.flush(
            then=(answered,),
            writes=(Write(name, None, (Draft("memory.written", body),)),),
            rows=rows,
            contents=(kept.row, answer.row),
            durable=False,
        )
        if isinstance(outcome, Refused):
            self._outcomes.fail(call, Text("memory.changed_meanwhile"))

    async def _before(self, name: str | None) -> "_Memory | None":
        if name is None:
            return None
        found = await self._installation.ledger.within(self.run.agent, "memory_by_id", name)
        if not found:
            raise InterlockError("memory.unknown", value=name)
        return _Memory(*found[0])

    async def _memorable(self, name: str, text: str, subject: str | None, labels: Labels) -> Memorable:
        named = "" if subject is None else await self._name(subject)
        now = self._installation.clock.now()
        members = await self._members(labels)
        return Memorable(self.run.agent, name, members, now, text, subject, named)

    async def _members(self, labels: Labels) -> frozenset[str] | None:
        """Give who could observe all of what has these labels; None for everybody."""
        named = audiences_in(labels)
        found: frozenset[str] | None = None
        for label in named:
            rows = await self._installation.ledger.query("members_of_audience", label)
            members = frozenset(row[0] for row in rows)
            found = members if found is None else found & members
        return found

    async def _name(self, actor: str) -> str:
        digest = await self._view.name_of(actor)
        return "" if digest is None else (await self._installation.contents.read(digest)).decode()

    # Recalling

    async def _recall(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        limit = int(arguments.get("limit", FOUND))
        room = await self._room()
        shown: list[dict[str, Any]] = []
        labels: Labels = NO_LABELS
        for name in await self._found(arguments["words"], room, arguments.get("about"), limit * SPARE):
            item = await self._shown(name)
            if item is None or len(shown) == limit:
                continue
            form, carried = item
            if self._outcomes.refusal(carried) is None and await self._view.outsider(carried, room) is None:
                shown.append(form)
                labels |= carried
        kept = await self._installation.contents.keep_any(
            self.run.company, canonical.encode({"found": shown})
        )
        self._outcomes.answer(
            call, kept, labels, recalled=[[form["id"], form.get("revision", 0)] for form in shown]
        )

    async def _room(self) -> Room:
        """Give who was there when the turn began, and who is there now; nobody outside of a conversation. A part
        of a turn's work is before the same people (WG-5)."""
        opening = self.run.opening
        where = opening.get("turn") or opening.get("room")
        if where is None:
            return []
        people = {*where["present"], *await self._view.participants(where["conversation"])}
        return [await self._view.identities(actor) for actor in sorted(people)]

    async def _found(self, words: str, room: Room, about: str | None, limit: int) -> list[str]:
        """Give the ids of what is found, the best first. Somebody known by several identities is in an audience by any
        of them, so that each is tried."""
        if any(not person for person in room):
            return []  # somebody whom nothing tells who it is
        ledger, now = self._installation.ledger, self._installation.clock.now()
        scores: dict[str, float] = {}
        subjects = [None] if about is None else await self._view.same(about)
        ways = islice(product(*(sorted(person) for person in room)), COMBINATIONS)
        for way in ways:
            for subject in subjects:
                for item in await recall(
                    ledger, self.run.agent, words, frozenset(way), now=now, subject=subject, limit=limit
                ):
                    scores[item.id] = max(item.score, scores.get(item.id, 0.0))
        return sorted(scores, key=lambda name: (-scores[name], name))[:limit]

    async def _shown(self, name: str) -> tuple[dict[str, Any], Labels] | None:
        """Give something recalled as a prompt shows it, with its labels."""
        contents = self._installation.contents
        if name.startswith("event_"):
            event = await self._view.event(name)
            if event is None:
                return None
            text = (await contents.read(event.content)).decode()
            who = "you" if event.way == "own" else await self._name(event.actor)
            return {"id": name, "said_by": who, "at": event.at, "text": text[:SHOWN]}, event.labels
        found = await self._installation.ledger.within(self.run.agent, "memory_by_id", name)
        if not found:
            return None
        memory = _Memory(*found[0])
        text = (await contents.read(memory.content)).decode()
        form: dict[str, Any] = {
            "id": name,
            "revision": memory.revision,
            "at": memory.at,
            "text": text[:SHOWN],
        }
        if memory.subject is not None:
            form |= {"about": await self._name(memory.subject), "actor": memory.subject}
        return form, memory.labels


class _Memory:
    """A memory's latest revision."""

    def __init__(
        self,
        name: str,
        revision: int,
        subject: str | None,
        run: str,
        message: str | None,
        conversation: str | None,
        labels: str,
        content: str,
        at: int,
    ) -> None:
        self.id, self.revision, self.subject, self.content, self.at = name, revision, subject, content, at
        self.labels: Labels = frozenset(labels.split(",") if labels else ())
