"""A resolver: puts a prompt together from one run's own view, by reference, and from nothing else."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interlock import canonical
from interlock.agent.spec import FINAL_ANSWER, Spec
from interlock.catalogue import say
from interlock.connector.model.model import Message, Request, ToolOffer
from interlock.errors import InterlockError
from interlock.event.event import EventInput, Exposed, shown_size
from interlock.gate.tool import Tool
from interlock.ledger.content_store import ContentStore
from interlock.perspective.answer import load_answer
from interlock.perspective.perspective import Perspective

__all__ = ["Entry", "Resolver", "instructions_of", "offer_of", "shown_slice"]

BEGINNING = 2000
"""How many characters of a result too large for the prompt are shown with its handle."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something the agent said or was told, by reference.

    kind: `heard` (a message or a decision that came unasked), `answer` (a model's), `result` (a tool's), `artifact`
    (the text of one, or a slice of it from
    character `start` to `end` of `total`), `told` (words about a call that was not made), `note` (words
    about an answer without a call). `content` is a digest; `text` a `Text` of the catalogue; `handle` that of a
    result too large to be shown.
    """

    kind: str
    content: str | None = None
    call: str = ""
    tool: str = ""
    text: dict[str, Any] | None = None
    start: int = 0
    end: int = 0
    total: int = 0
    handle: str = ""


def instructions_of(spec: Spec, kind: str, words: int, language: str) -> str:
    """Give an agent's instructions with what the platform adds: how to finish, and what its input is. `kind` is what
    opened the run; `words` is how many a report may have (MS-12)."""
    parts = [spec.instructions.strip()] if spec.instructions.strip() else []
    if kind == "event":
        parts.append(say("prompt.input_names_artifacts", language))
    elif kind == "request":
        parts.append(say("prompt.report_terms", language, words=words))
    elif kind in {"hand_off", "question", "status", "turn", "work"}:
        parts.append(say(f"prompt.by_{kind}", language))
    exposed = sorted(spec.exposed - {FINAL_ANSWER})
    parts.append(
        say("prompt.finish_with", language, names=exposed) if exposed else say("prompt.finish", language)
    )
    return "\n\n".join(parts)


class Resolver:
    """Assembles the requests of one run; each call adds to the messages of the one before."""

    def __init__(
        self,
        view: Perspective,
        contents: ContentStore,
        agent: str,
        instructions: str,
        offers: tuple[ToolOffer, ...],
        shown: int,
        language: str,
    ) -> None:
        self._view, self._contents = view, contents
        self._agent, self._instructions = agent, instructions
        self._offers, self._shown, self._language = offers, shown, language
        self._messages: list[Message] = []

    async def resolve(
        self, number: int, opening: dict[str, Any], entries: Sequence[Entry], max_output_tokens: int
    ) -> Request:
        """Give the request of the `number`-th call of a run, from its opening step and all entries so far."""
        if not self._messages:
            self._messages.append(Message("user", await self._opening(opening)))
        for entry in entries[len(self._messages) - 1 :]:
            self._messages.append(await self._message(entry))
        return Request(
            self._agent, number, self._instructions, self._offers, tuple(self._messages), max_output_tokens
        )

    async def _opening(self, opening: dict[str, Any]) -> str:
        if "given" in opening:
            return await self._given(opening)
        if "turn" in opening:
            return await self._turn(opening["turn"])
        if "work" in opening:
            return await self._part(opening)
        if "event" in opening:
            return canonical.encode(EventInput.from_dict(opening["event"]).shown()).decode()
        if "input" not in opening:
            return say("prompt.no_brief", self._language)
        data = await self._contents.read(opening["input"])
        brief = json.loads(data)
        return brief if isinstance(brief, str) else data.decode()

    async def _given(self, opening: dict[str, Any]) -> str:
        """What another agent or a person sent, and what is settled for the task already."""
        given = opening["given"]
        said = json.loads(await self._contents.read(given["body"]))
        form: dict[str, Any] = {"type": given["type"], "from": given["from"], **said}
        if given.get("attachments"):
            form["attachments"] = [Exposed.from_dict(item).shown() for item in given["attachments"]]
        return await self._with_decisions(form, opening)

    async def _part(self, opening: dict[str, Any]) -> str:
        """What a part of a run's work is to achieve, and what it takes in: nothing else of that run (WG-2). Where an
        artifact comes from is said by the node's name alone."""
        work = opening["work"]
        node = json.loads(await self._contents.read(work["brief"]))
        form = {key: node[key] for key in ("objective", "rubric", "output", "publishes") if key in node}
        keys = ("name", "from", "media", "labels")  # no reference, which would name another run
        taken_in = [
            {key: item[key] for key in keys if item[key]} | {"size": shown_size(item["size"])}
            for item in work["artifacts"]
        ]
        return await self._with_decisions({"type": node["kind"], **form, "artifacts": taken_in}, opening)

    async def _with_decisions(self, form: dict[str, Any], opening: dict[str, Any]) -> str:
        parts = [canonical.encode(form).decode()]
        for item in opening.get("decisions", ()):
            header = say("prompt.decided", self._language, revision=item["revision"])
            parts.append(f"{header}\n{(await self._contents.read(item['content'])).decode()}")
        return "\n\n".join(parts)

    async def _turn(self, turn: dict[str, Any]) -> str:
        """What was said in the conversation, as this agent observed it: what is new, and before it what was said
        earlier."""
        form = {
            "type": "turn",
            "present": [{"actor": actor, "name": await self._name(actor)} for actor in turn["present"]],
            "earlier": [await self._said(event) for event in turn["history"]],
            "messages": [await self._said(event) for event in turn["events"]],
        }
        return canonical.encode(form).decode()

    async def _said(self, name: str) -> dict[str, Any]:
        event = await self._view.event(name)
        if event is None:
            raise InterlockError("content.missing", digest=name)
        text = (await self._contents.read(event.content)).decode()
        if event.way == "own":
            return {"from": "you", "text": text}
        return {"from": await self._name(event.actor), "actor": event.actor, "text": text}

    async def _name(self, actor: str) -> str:
        digest = await self._view.name_of(actor)
        return "" if digest is None else (await self._contents.read(digest)).decode()

    async def _message(self, entry: Entry) -> Message:
        if entry.kind == "answer":
            answer = await load_answer(self._contents, entry.content or "")
            return Message("assistant", answer.text, answer.calls())
        if entry.kind == "note":
            return Message("user", say(entry.text or {}, self._language))
        data = await self._contents.read(entry.content or "")
        if entry.kind == "heard":
            return Message("user", f"{say(entry.text or {}, self._language)}\n{data.decode()}")
        if entry.kind == "artifact":
            text = self._artifact(entry, data)
        elif len(data) > self._shown:
            text = self._beginning(entry.handle, data)
        else:
            text = data.decode()
        return Message("tool", text, call_id=entry.call, name=entry.tool)

    def _artifact(self, entry: Entry, data: bytes) -> str:
        text = data.decode()[entry.start : entry.end]
        if entry.end < entry.total:
            rest = say("prompt.more", self._language, end=entry.end, total=entry.total)
            return f"{text}\n\n{rest}"
        return text

    def _beginning(self, handle: str, data: bytes) -> str:
        text = data[: BEGINNING * 4].decode(errors="ignore")[:BEGINNING]
        return say(
            "prompt.result_saved",
            self._language,
            handle=handle,
            size=len(data),
            beginning=text,
        )


def shown_slice(text: str, start: int, shown: int) -> tuple[int, int]:
    """Give from and to which character an artifact is shown, so that the piece takes at most `shown` bytes."""
    piece = text[start : start + shown]
    end = start + len(piece.encode()[:shown].decode(errors="ignore"))
    return start, max(end, min(start + 1, len(text)))


def offer_of(tool: Tool) -> ToolOffer:
    """Give a tool as a model is told of it."""
    return ToolOffer(tool.name, tool.description, tool.parameters)
