"""What is shown: an entry, the opening or a memory as a prompt holds it, its contents fenced."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from interlock import canonical
from interlock.catalogue import say
from interlock.connector.model.model import Call, Message
from interlock.event.event import EventInput, Exposed
from interlock.ledger.content_store import ContentStore
from interlock.perspective.answer import load_answer
from interlock.perspective.entry import Entry
from interlock.perspective.fence import Fenced, escaped, shown_fenced
from interlock.perspective.fitting import Piece
from interlock.scope.label import NO_LABELS, Labels, area_label, listed
from interlock.scope.scope import Address

__all__ = ["OVERHEAD", "Recalled", "Shower", "Shown", "groups_of_entries", "shown_slice"]

BEGINNING = 2000
"""How many characters of a result too large for the prompt are shown with its handle."""
OVERHEAD = 32
"""How many bytes a message or a call takes besides its texts."""

Part = str | Fenced


@dataclass(frozen=True, slots=True)
class Shown:
    """Something as a prompt shows it: fences, and words of the platform between them.

    kind: `opening`, `summary`, `memory`, or the kind of an entry. labels: all that its contents carry. digest: that of
    its content. call: whose result it is; calls: those of an answer.
    """

    kind: str
    role: Literal["user", "assistant", "tool"]
    parts: tuple[Part, ...]
    labels: Labels = NO_LABELS
    digest: str | None = None
    calls: tuple[Call, ...] = ()
    call: str = ""
    tool: str = ""

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
        return replace(self, parts=(say("prompt.result_left_out", language, size=self.size),))

    def piece(self, group: int | None, language: str) -> Piece:
        """Give it as the fitting weighs it."""
        short = self.shortened(language)
        return Piece(self.kind, self.size, self.digest, None if short is self else short.size, group)


@dataclass(frozen=True, slots=True)
class Recalled:
    """Something that a perspective adds to a prompt: a `memory` or a `message_event`, by id, revision and digest of its
    content. origin: whose words it holds, as the prompt may say it."""

    kind: Literal["memory", "message_event"]
    id: str
    content: str
    revision: int = 1
    origin: str = ""
    labels: Labels = NO_LABELS


class Shower:
    """Shows entries to one agent: reads their contents, and fences them with the labels beyond its own area's."""

    def __init__(self, contents: ContentStore, agent: str, shown: int, language: str) -> None:
        self._contents, self._limit, self.language = contents, shown, language
        self._own = {area_label(Address(agent).scope)}

    async def opening(self, opening: dict[str, Any]) -> Shown:
        """Give what opened a run: a brief, an event, or what another agent or a person sent, and what is settled."""
        labels: Labels = frozenset(opening.get("labels", ()))
        parts: list[Part] = []
        digest: str | None = None
        if "given" in opening:
            digest = opening["given"]["body"]
            parts.append(await self._given(opening["given"], labels))
            for item in opening.get("decisions", ()):
                parts += await self._decision(
                    item["revision"], item["content"], frozenset(item.get("labels", ()))
                )
        elif "event" in opening:
            event = EventInput.from_dict(opening["event"])
            parts.append(self._fenced("event", canonical.encode(event.shown()).decode(), event.event, labels))
        elif "input" in opening:
            digest = opening["input"]
            data = await self._contents.read(opening["input"])
            brief = json.loads(data)
            text = brief if isinstance(brief, str) else data.decode()
            parts.append(self._fenced("brief", text, "", labels))
        else:
            parts.append(say("prompt.no_brief", self.language))
        return Shown("opening", "user", tuple(parts), labels, digest)

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

    async def recalled(self, item: Recalled) -> Shown:
        """Give a memory or a message event of the perspective."""
        text = (await self._contents.read(item.content)).decode()
        fenced = self._fenced(item.kind, text, item.origin, item.labels)
        return Shown(item.kind, "user", (fenced,), item.labels, item.content)

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
        return Shown(entry.kind, "tool", told, entry.labels, entry.content, call=entry.call, tool=entry.tool)

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
        return Fenced(kind, content, name, tuple(listed(labels - self._own)))


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
