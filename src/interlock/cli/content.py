"""Content: what the steps of a run name in the content store, as a person reads it.

Whoever may open the ledger's folder may read it, as with `interlock artifact`. What is gone, damaged or no
text is said in its place: an auditor's reading must not end there.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

from interlock.catalogue import Text, say
from interlock.cli.layout import barred, laid_out, one_line
from interlock.errors import InterlockError
from interlock.ledger.step import Step
from interlock.message.entry import name_of
from interlock.perspective.answer import load_answer
from interlock.run.installation import Installation

__all__ = ["NOTHING", "ContentReader", "Piece"]

NOTHING: Any = object()
"""In place of a value that is not there; None is a value."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of content under a step. what: which, by the message `cli.content.<what>`, with the values `about`.
    value: the text or JSON value, uncut; `NOTHING` where that message is all. problem: why it cannot be read."""

    what: str
    value: Any = NOTHING
    about: dict[str, Any] = field(default_factory=dict)
    problem: InterlockError | None = None

    def as_dict(self, language: str) -> dict[str, Any]:
        """Give it for `--json`."""
        form: dict[str, Any] = {
            "what": self.what,
            "label": say(f"cli.content.{self.what}", language, **self.about),
        }
        if self.value is not NOTHING:
            form["value"] = self.value
        return form if self.problem is None else {**form, "problem": self.problem.as_dict(language)}

    @property
    def text(self) -> str:
        """The value in the lines in which a person reads it."""
        if self.value is NOTHING:
            return ""
        return "\n".join(barred(self.value) if isinstance(self.value, str) else laid_out(self.value))


class ContentReader:
    """Reads the content of one run's steps, in their order."""

    def __init__(self, installation: Installation, run: str) -> None:
        self._contents, self._language, self._run = installation.contents, installation.settings.language, run
        self._ledger = installation.ledger
        self._named: dict[str, str] = {}

    async def of(self, step: Step) -> list[Piece]:
        """Give what a step names, in the order in which it is read."""
        reader = _READERS.get(step.kind)
        return [] if reader is None else [piece async for piece in reader(self, step.body)]

    async def _json(self, what: str, digest: str, **about: Any) -> Piece:
        """Give a piece that is kept as JSON."""
        try:
            data = await self._contents.read(digest)
            return Piece(what, json.loads(data), about)
        except (ValueError, RecursionError):
            return _text(what, data, about)
        except InterlockError as error:
            return Piece(what, NOTHING, about, error)

    async def _words(self, what: str, digest: str, **about: Any) -> Piece:
        """Give a piece that is kept as text."""
        try:
            return _text(what, await self._contents.read(digest), about)
        except InterlockError as error:
            return Piece(what, NOTHING, about, error)

    async def _opened(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        if "input" in body:
            yield await self._json("brief", body["input"])
        if "given" in body:
            given = body["given"]
            what = "package" if given["type"] == "hand_off" else "message"
            yield await self._json(what, given["body"], sender=name_of(given["from"]))
        for item in body.get("decisions", ()):
            yield await self._words("decision", item["content"])

    async def _waits(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        """What people were shown, or what was sent."""
        if "message" in body:
            yield await self._sent(body["message"])
        for row in await self._ledger.query("question_by_id", body.get("question", "")):
            piece = await self._json("shown", row[7])
            yield replace(piece, value=self._shown(piece.value)) if isinstance(piece.value, dict) else piece

    def _shown(self, form: dict[str, Any]) -> dict[str, Any]:
        """Put the platform's own sentences in a form into words."""
        shown = {key: value for key, value in form.items() if key != "digest"}
        for key in {"objections", "reason"} & shown.keys():
            shown[key] = self._said(shown[key])
        return shown

    def _said(self, value: Any) -> Any:
        match value:
            case [*items]:
                return [self._said(item) for item in items]
            case {"rule": str(rule), "reason": dict(reason)}:
                return f"{rule}: {say(reason, self._language)}"
            case {"id": str(), **more} if more.keys() <= {"with"}:
                return say(value, self._language)
        return value

    async def _sent(self, message: str) -> Piece:
        """Give what a message says, as the exchange has it."""
        for row in await self._ledger.query("message_by_id", message):
            for step in await self._ledger.read(row[1], row[3] - 1, 1):
                return await self._json("message", step.body["body"], sender=name_of(step.body["from"]))
        return Piece("message", NOTHING, {"sender": "?"})

    async def _signalled(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        """What the run took in: a message, a decision, or what a person decided."""
        match body["signal"]:
            case "message" | "reply":
                yield await self._sent(body["id"])
            case "decision" if "content" in body:
                yield await self._words("decision", body["content"])
            case "answer":
                for row in await self._ledger.query("question_by_id", body["id"]):
                    about = {"outcome": Text(f"queue.outcome_{row[9]}"), "by": row[10] or "–"}
                    said = row[11]
                    yield (
                        await self._words("decided", said, **about) if said else Piece("decided", about=about)
                    )

    async def _asked(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        if "compacting" in body:
            yield Piece("sent_to_summarise", NOTHING, {"run": self._run, "n": body["compacting"]})
        elif "writing" not in body:
            yield Piece("sent", NOTHING, {"run": self._run, "n": body["n"]})

    async def _compacted(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        record = await self._json("summary", body["compacted"])
        yield Piece("summary", record.value["text"]) if isinstance(record.value, dict) else record

    async def _failed(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        yield await self._words("said", body["detail"])

    async def _answered(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        try:
            answer = await load_answer(self._contents, body["answer"])
        except InterlockError as error:
            yield Piece("answer", NOTHING, {}, error)
            return
        if answer.text or not answer.proposed:
            yield Piece("answer", answer.text)
        for call, (name, arguments) in answer.proposed.items():
            self._named[call] = name
            yield Piece("call", arguments, {"tool": one_line(name)})

    async def _noted(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        yield Piece("told", say(body["text"], self._language))
        if "detail" in body:
            yield await self._json("refused", body["detail"])

    async def _judged(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        if not body["tool"] and body["call"] in self._named:
            yield Piece("unknown_tool", NOTHING, {"tool": one_line(self._named[body["call"]])})
        if "arguments_content" in body:
            yield await self._json("arguments", body["arguments_content"])
        if "detail" in body:
            yield await self._words("told", body["detail"])

    async def _tool_answered(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        if "error" in body:
            yield await self._words("told", body["detail"])
        elif "slice" in body:
            yield await self._slice(body["result"], body["slice"])
        else:
            yield await self._json("result", body["result"])

    async def _slice(self, digest: str, cut: dict[str, int]) -> Piece:
        try:
            text = (await self._contents.read(digest)).decode()[cut["start"] : cut["end"]]
        except InterlockError as error:
            return Piece("slice", NOTHING, cut, error)
        except ValueError:
            return await self._words("slice", digest, **cut)
        return Piece("slice", text, cut)

    async def _saved(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        yield await self._words("artifact", body["digest"], name=body["name"])

    async def _closed(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        if "detail" in body:
            yield await self._words("said", body["detail"])
        for item in body.get("artifacts", ()):
            yield await self._words("artifact", item["digest"], name=item["name"])
        if "not_done_said" in body:
            yield await self._json("not_done", body["not_done_said"])


def _text(what: str, data: bytes, about: dict[str, Any]) -> Piece:
    try:
        return Piece(what, data.decode(), about)
    except UnicodeDecodeError:
        return Piece(what, NOTHING, about, InterlockError("cli.content.binary", size=len(data)))


_READERS = {
    "run.opened": ContentReader._opened,
    "model.asked": ContentReader._asked,
    "model.failed": ContentReader._failed,
    "model.answered": ContentReader._answered,
    "model.noted": ContentReader._noted,
    "tool.judged": ContentReader._judged,
    "tool.waiting": ContentReader._waits,
    "tool.answered": ContentReader._tool_answered,
    "signal.taken": ContentReader._signalled,
    "artifact.saved": ContentReader._saved,
    "context.compacted": ContentReader._compacted,
    "run.closed": ContentReader._closed,
}
