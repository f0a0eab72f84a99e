"""What is shown: an entry, the opening or something said earlier as a prompt holds it, its contents fenced."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from interlock import canonical
from interlock.catalogue import say
from interlock.connector.model.model import Call, Message
from interlock.errors import InterlockError
from interlock.event.event import EventInput, Exposed, shown_size
from interlock.ledger.content_store import ContentStore
from interlock.perspective.answer import load_answer
from interlock.perspective.entry import Entry
from interlock.perspective.fence import Fenced, escaped, shown_fenced
from interlock.perspective.fitting import Piece
from interlock.perspective.perspective import MessageEvent, Perspective
from interlock.scope.audience import shown_labels
from interlock.scope.label import NO_LABELS, Labels, area_label, join
from interlock.scope.scope import Address

__all__ = ["OVERHEAD", "Shower", "Shown", "groups_of_entries", "shown_slice", "together"]

BEGINNING = 2000
"""How many characters of a result too large for the prompt are shown with its handle."""
OVERHEAD = 32
"""How many bytes a message or a call takes besides its texts."""

Part = str | Fenced


@dataclass(frozen=True, slots=True)
class Shown:
    """Something as a prompt shows it: fences, and words of the platform between them.

    kind: `opening`, `earlier` (a message of a conversation before the turn's), `summary`, or the kind of an entry.
    labels: all that its contents carry. digest: that of its content. call: whose result it is; calls: those of an
    answer. recalled: which memories it holds, with their revisions, and which message events, with 0 for theirs.
    """

    kind: str
    role: Literal["user", "assistant", "tool"]
    parts: tuple[Part, ...]
    labels: Labels = NO_LABELS
    digest: str | None = None
    calls: tuple[Call, ...] = ()
    call: str = ""
    tool: str = ""
    recalled: tuple[tuple[str, int], ...] = ()

    @property
    def message(self) -> Message:
        """The message of a request that it makes."""
        return Message(self.role, shown_fenced(self.parts), self.calls, self.call, self.tool)

    @property
    def size(self) -> int:
        """How many bytes it takes in a prompt, nearly."""
        texts = [
            shown_fenced(self.parts),
            *(part for call in self.calls for part in (call.name, call.arguments)),
        ]
        return OVERHEAD * (1 + len(self.calls)) + sum(_length(text) for text in texts)

    def shortened(self, language: str) -> "Shown":
        """Give it with a word about its size in place of a result; other things as they are."""
        if self.kind not in {"result", "artifact"}:
            return self
        words = say("prompt.result_left_out", language, size=self.size)
        return replace(self, parts=(words,), recalled=())

    def piece(self, group: int | None, language: str) -> Piece:
        """Give it as the fitting weighs it."""
        short = self.shortened(language)
        return Piece(self.kind, self.size, self.digest, None if short is self else short.size, group)


class Shower:
    """Shows entries to one agent: reads their contents, and fences them with the labels beyond its own area's.
    `view` is the agent's perspective: what was said in conversations is read through it alone."""

    def __init__(self, view: Perspective, contents: ContentStore, shown: int, language: str) -> None:
        self._view, self._contents, self._limit, self.language = view, contents, shown, language
        self._own = {area_label(Address(view.address).scope)}

    async def opening(self, opening: Mapping[str, Any]) -> Shown:
        """Give what opened a run: a brief, an event, what was said in a conversation, what another agent or a person
        sent, or a part of a run's work; and what is settled for the task."""
        labels: Labels = frozenset(opening.get("labels", ()))
        digest: str | None = None
        recalled: tuple[tuple[str, int], ...] = ()
        part: Part
        if "given" in opening:
            digest = opening["given"]["body"]
            part = await self._given(opening["given"], labels)
        elif "turn" in opening:
            recalled = tuple((name, 0) for name in opening["turn"]["events"])
            part = await self._turn(opening["turn"], labels)
        elif "work" in opening:
            digest = opening["work"]["brief"]
            part = await self._part(opening["work"], labels)
        elif "event" in opening:
            event = EventInput.from_dict(opening["event"])
            form = event.shown()
            part = self._fenced("event", canonical.encode(form).decode(), event.event, labels)
        elif "input" in opening:
            digest = opening["input"]
            data = await self._contents.read(opening["input"])
            brief = json.loads(data)
            part = self._fenced("brief", brief if isinstance(brief, str) else data.decode(), "", labels)
        else:
            part = say("prompt.no_brief", self.language)
        parts = [part]
        for item in opening.get("decisions", ()):
            parts += await self._decision(
                item["revision"], item["content"], frozenset(item.get("labels", ()))
            )
        return Shown("opening", "user", tuple(parts), labels, digest, recalled=recalled)

    async def earlier(self, opening: Mapping[str, Any]) -> list[Shown]:
        """Give what was said in a turn's conversation before it, the oldest first; nothing for any other run."""
        found = []
        for name in opening.get("turn", {}).get("history", ()):
            event = await self._event(name)
            text = canonical.encode(await self._said(event)).decode()
            part = self._fenced("earlier", text, "", event.labels)
            found.append(
                Shown("earlier", "user", (part,), event.labels, event.content, recalled=((name, 0),))
            )
        return found

    async def _turn(self, turn: dict[str, Any], labels: Labels) -> Part:
        """What was said in the conversation, as this agent observed it, and who is there."""
        form = {
            "type": "turn",
            "present": [{"actor": actor, "name": await self._name(actor)} for actor in turn["present"]],
            "messages": [await self._said(await self._event(name)) for name in turn["events"]],
        }
        return self._fenced("turn", canonical.encode(form).decode(), "", labels)

    async def _event(self, name: str) -> MessageEvent:
        event = await self._view.event(name)
        if event is None:
            raise InterlockError("content.missing", digest=name)
        return event

    async def _said(self, event: MessageEvent) -> dict[str, Any]:
        text = (await self._contents.read(event.content)).decode()
        if event.way == "own":
            return {"from": "you", "text": text}
        return {"from": await self._name(event.actor), "actor": event.actor, "text": text}

    async def _name(self, actor: str) -> str:
        digest = await self._view.name_of(actor)
        return "" if digest is None else (await self._contents.read(digest)).decode()

    async def _part(self, work: dict[str, Any], labels: Labels) -> Part:
        """What a part of a run's work is to achieve, and what it takes in: nothing else of that run (WG-2). Where an
        artifact comes from is said by the node's name alone."""
        node = json.loads(await self._contents.read(work["brief"]))
        form = {key: node[key] for key in ("objective", "rubric", "output", "publishes") if key in node}
        keys = ("name", "from", "media")  # no reference, which would name another run
        taken_in = [
            {key: item[key] for key in keys if item[key]}
            | ({"labels": shown_labels(item["labels"])} if item["labels"] else {})
            | {"size": shown_size(item["size"])}
            for item in work["artifacts"]
        ]
        form |= {"type": node["kind"], "artifacts": taken_in}
        return self._fenced("work", canonical.encode(form).decode(), "", labels)

    def summary(self, record: Mapping[str, Any], revision: int, labels: Labels, digest: str) -> Shown:
        """Give a summary with what stood open when it was made."""
        parts: list[Part] = [
            say("prompt.summary", self.language),
            self._fenced("summary", record["text"], str(revision), labels),
        ]
        if record["standing"]:
            parts.append(say("prompt.standing", self.language))
            parts.append(self._fenced("standing", canonical.encode(record["standing"]).decode(), "", labels))
        return Shown("summary", "user", tuple(parts), labels, digest)

    async def entry(self, entry: Entry) -> Shown:
        """Give an entry of the run."""
        if entry.kind == "answer":
            answer = await load_answer(self._contents, entry.content or "")
            parts = (answer.text,) if answer.text else ()
            return Shown("answer", "assistant", parts, digest=entry.content, calls=answer.calls())
        if entry.kind == "note":
            return Shown("note", "user", (escaped(say(entry.text or {}, self.language)),))
        data = await self._contents.read(entry.content or "")
        if entry.kind == "heard":
            return Shown("heard", "user", await self._heard(entry, data), entry.labels, entry.content)
        told = self._result(entry, data)
        return Shown(
            entry.kind,
            "tool",
            told,
            entry.labels,
            entry.content,
            call=entry.call,
            tool=entry.tool,
            recalled=entry.recalled,
        )

    async def _given(self, given: dict[str, Any], labels: Labels) -> Part:
        said = json.loads(await self._contents.read(given["body"]))
        form: dict[str, Any] = {"type": given["type"], "from": given["from"], **said}
        if given.get("attachments"):
            form["attachments"] = [Exposed.from_dict(item).shown() for item in given["attachments"]]
        return self._fenced(given["type"], canonical.encode(form).decode(), given["from"], labels)

    async def _decision(self, revision: Any, content: str, labels: Labels) -> list[Part]:
        text = (await self._contents.read(content)).decode()
        header = say("prompt.decided", self.language, revision=revision)
        return [header, self._fenced("decision", text, "", labels)]

    async def _heard(self, entry: Entry, data: bytes) -> tuple[Part, ...]:
        text = entry.text or {}
        params = text.get("with", {})
        if "revision" in params:
            return tuple(await self._decision(params["revision"], entry.content or "", entry.labels))
        return (self._fenced("message", data.decode(), str(params.get("sender", "")), entry.labels),)

    def _result(self, entry: Entry, data: bytes) -> tuple[Part, ...]:
        if entry.kind == "artifact":
            return self._artifact(entry, data)
        if entry.kind == "told" and not entry.foreign:
            return (escaped(data.decode()),)
        if len(data) > self._limit and entry.kind == "result":
            text = data[: BEGINNING * 4].decode(errors="ignore")[:BEGINNING]
            saved = say("prompt.result_saved", self.language, handle=entry.handle, size=len(data))
            return (saved, self._fenced("tool", text, entry.tool, entry.labels))
        return (self._fenced("tool", data.decode(), entry.tool, entry.labels),)

    def _artifact(self, entry: Entry, data: bytes) -> tuple[Part, ...]:
        text = data.decode()[entry.start : entry.end]
        fenced = self._fenced("artifact", text, entry.name, entry.labels)
        if entry.end < entry.total:
            return (fenced, say("prompt.more", self.language, end=entry.end, total=entry.total))
        return (fenced,)

    def _fenced(self, kind: str, content: str, name: str, labels: Labels) -> Fenced:
        return Fenced(kind, content, name, tuple(shown_labels(labels - self._own)))


def together(items: Sequence[Shown]) -> Shown:
    """Give several things as one message, as the last of them."""
    return replace(
        items[-1],
        parts=tuple(part for item in items for part in item.parts),
        labels=join(*(item.labels for item in items)),
        recalled=tuple(recalled for item in items for recalled in item.recalled),
    )


def shown_slice(text: str, start: int, shown: int) -> tuple[int, int]:
    """Give from and to which character an artifact is shown, so that the piece takes at most `shown` bytes."""
    piece = text[start : start + shown]
    end = start + len(piece.encode()[:shown].decode(errors="ignore"))
    return start, max(end, min(start + 1, len(text)))


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def groups_of_entries(shown: Sequence[Shown]) -> list[int]:
    """Give the number of each entry's group: an answer and what came of its calls belong together."""
    found: list[int] = []
    group = -1
    for item in shown:
        if item.kind in {"answer", "heard"} or group < 0:
            group += 1
        found.append(group)
    return found
