"""A signal: what others have to say to a run, taken in by a step of the run, in a recorded order (RN-5).

A signal waits beside the run until the run turns to it. What it refers to, a message or a decision, is read from the
exchange of the root task, so that a message which nobody took is still unread (MS-3).
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from interlock import canonical
from interlock.catalogue import Text
from interlock.event.event import Exposed
from interlock.ledger.content_store import Kept
from interlock.ledger.ledger import Refused, Row, Write
from interlock.ledger.step import Draft
from interlock.message.envelope import Envelope
from interlock.run.installation import Installation
from interlock.run.recorder import Recorder
from interlock.run.run import Run
from interlock.scope.barrier import barrier
from interlock.scope.label import Labels, listed

__all__ = ["Signals", "named_apart"]


def named_apart(
    run: Run,
    sender: str,
    items: tuple[Exposed, ...],
    more: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Give attachments under names that mean nothing else in the run, nor in `more`: what collides is qualified by its
    source (CS-5)."""
    found = []
    taken = {name: item.get("digest") for name, item in {**run.given, **run.artifacts, **more}.items()}
    source = sender.partition("@")[0]
    for item in items:
        name, copy = item.name, 1
        while taken.get(name, item.digest) != item.digest:
            name = f"{source}.{item.name}" + (f"-{copy}" if copy > 1 else "")
            copy += 1
        taken[name] = item.digest
        found.append({**item.as_dict(), "name": name})
    return found


class Signals:
    """Takes in the signals of one run under one claim."""

    def __init__(self, installation: Installation, recorder: Recorder) -> None:
        self._installation, self._recorder = installation, recorder
        self.run = recorder.run

    async def take(self) -> bool:
        """Take in all that waits, and tell whether anything did."""
        signals = await self._installation.ledger.query("signals_of_run", self.run.id)
        for name, kind, text in signals:
            await self._take(name, kind, text)
        return bool(signals)

    async def _take(self, name: str, kind: str, text: str) -> None:
        body: dict[str, Any] = {"id": name, "signal": kind}
        match kind:
            case "cancel":
                await self._write({**body, "by": text}, name)
            case "disowned":
                await self._write({**body, "reason": json.loads(text)}, name)
            case "answer" | "work":
                await self._write(body, name)
            case "reply":
                await self._write({**body, "to": text}, name, message=name)
            case "message":
                await self._message(body, name)
            case "decision":
                await self._decision(body, name)
            case _:
                await self._drop(name)

    async def _write(
        self, body: dict[str, Any], name: str, message: str | None = None, rows: Any = ()
    ) -> None:
        taken = Row("take_signal", (self.run.id, name))
        guards: tuple[Row, ...] = ()
        writes: tuple[Write, ...] = ()
        if message is not None:
            guards = (Row("message_is_unread", (message,), "taken"),)
            draft = Draft("message.taken", {"message": message, "run": self.run.id})
            writes = (Write(self.run.root_task, None, (draft,)),)
        outcome = await self._recorder.flush(
            then=(Draft("signal.taken", body),), writes=writes, guards=guards, rows=(taken,), contents=rows
        )
        if isinstance(outcome, Refused):
            await self._drop(name)

    async def _drop(self, name: str) -> None:
        """Another run of the same agent took it, or it is nothing that this format knows."""
        await self._recorder.flush(rows=(Row("take_signal", (self.run.id, name)),))

    async def envelope(self, message: str) -> Envelope:
        """Give a message as the exchange has it."""
        place = (await self._installation.ledger.query("message_by_id", message))[0][3]
        step = (await self._installation.ledger.read(self.run.root_task, place - 1, 1))[0]
        return Envelope.from_dict(step.body)

    async def shown(
        self, envelope: Envelope, more: Mapping[str, Any] = MappingProxyType({})
    ) -> tuple[Kept, list[dict[str, Any]]]:
        """Give the content that a prompt shows of a message, with `more`, and its attachments as the run knows them."""
        given = named_apart(self.run, envelope.sender, envelope.attachments)
        said = json.loads(await self._installation.contents.read(envelope.body))
        form: dict[str, Any] = {"type": envelope.type, "from": envelope.sender, **said, **more}
        if given:
            form["attachments"] = [Exposed.from_dict(item).shown() for item in given]
        return await self._installation.contents.keep_any(self.run.company, canonical.encode(form)), given

    async def _message(self, body: dict[str, Any], message: str) -> None:
        envelope = await self.envelope(message)
        kept, given = await self.shown(envelope)
        body |= {
            "content": kept.digest,
            "text": Text("prompt.message", sender=envelope.sender),
            "labels": listed(envelope.labels),
        }
        if given:
            body["given"] = given
        await self._write(body, message, message, (kept.row,))

    async def _decision(self, body: dict[str, Any], decision: str) -> None:
        settled = await decisions_of(self._installation, self.run.root_task)
        found = next((item for item in settled if item["decision"] == decision), None)
        if found is None or not self._may_hear(frozenset(found["labels"])):
            await self._write(body, decision)
            return
        body |= {
            "content": found["content"],
            "text": Text("prompt.decided", revision=found["revision"]),
            "labels": found["labels"],
        }
        await self._write(body, decision)

    def _may_hear(self, labels: Labels) -> bool:
        return barrier(labels, self.run.scope, self._installation.settings.vocabulary) is None


async def decisions_of(installation: Installation, root: str) -> list[dict[str, Any]]:
    """Give the decisions of a root task in their order, each as an opening step keeps it (MS-11)."""
    return [
        {
            "decision": name,
            "revision": revision,
            "content": content,
            "labels": labels.split(",") if labels else [],
        }
        for _, name, revision, content, _, labels in await installation.ledger.query(
            "decisions_of_root", root
        )
    ]
