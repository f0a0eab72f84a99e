"""Content: what the steps of a run name in the content store, as a person reads it.

Whoever may open the ledger's folder may read it, as with `interlock artifact`. What is gone, damaged or no
text is said in its place: an auditor's reading must not end there.
"""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from interlock.catalogue import say
from interlock.cli.layout import barred, laid_out
from interlock.errors import InterlockError
from interlock.ledger.step import Step
from interlock.perspective.answer import load_answer
from interlock.run.installation import Installation

__all__ = ["ContentReader", "Piece"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of content under a step. what: which, by the message `cli.content.<what>`, with the values `about`.
    text: the whole of it; None where there is nothing but that message. problem: why it cannot be read."""

    what: str
    text: str | None = None
    about: dict[str, Any] = field(default_factory=dict)
    problem: InterlockError | None = None

    def as_dict(self, language: str) -> dict[str, Any]:
        """Give it for `--json`, uncut."""
        label = say(f"cli.content.{self.what}", language, **self.about)
        form = {"what": self.what, "label": label, "text": self.text}
        return form if self.problem is None else {**form, "problem": self.problem.as_dict(language)}


class ContentReader:
    """Reads the content of one run's steps, in their order."""

    def __init__(self, installation: Installation, run: str) -> None:
        self._contents, self._language, self._run = installation.contents, installation.settings.language, run
        self._named: dict[str, str] = {}

    async def of(self, step: Step) -> list[Piece]:
        """Give what a step names, in the order in which it is read."""
        reader = _READERS.get(step.kind)
        return [] if reader is None else [piece async for piece in reader(self, step.body)]

    async def _json(self, what: str, digest: str, **about: Any) -> Piece:
        """Give a piece that is kept as JSON."""
        try:
            data = await self._contents.read(digest)
            return Piece(what, "\n".join(_lines(json.loads(data))), about)
        except (ValueError, RecursionError):
            return _text(what, data, about)
        except InterlockError as error:
            return Piece(what, None, about, error)

    async def _words(self, what: str, digest: str, **about: Any) -> Piece:
        """Give a piece that is kept as text."""
        try:
            return _text(what, await self._contents.read(digest), about)
        except InterlockError as error:
            return Piece(what, None, about, error)

    async def _opened(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        if "input" in body:
            yield await self._json("brief", body["input"])

    async def _asked(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        yield Piece("sent", None, {"run": self._run, "n": body["n"]})

    async def _failed(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        yield await self._words("said", body["detail"])

    async def _answered(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        try:
            answer = await load_answer(self._contents, body["answer"])
        except InterlockError as error:
            yield Piece("answer", None, {}, error)
            return
        if answer.text or not answer.proposed:
            yield Piece("answer", "\n".join(barred(answer.text)))
        for call, (name, arguments) in answer.proposed.items():
            self._named[call] = name
            yield Piece("call", "\n".join(_lines(arguments)), {"tool": name})

    async def _noted(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        yield Piece("told", "\n".join(barred(say(body["text"], self._language))))
        if "detail" in body:
            yield await self._json("refused", body["detail"])

    async def _judged(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        if not body["tool"] and body["call"] in self._named:
            yield Piece("unknown_tool", None, {"tool": self._named[body["call"]]})
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
            return Piece("slice", None, cut, error)
        except ValueError:
            return await self._words("slice", digest, **cut)
        return Piece("slice", "\n".join(barred(text)), cut)

    async def _saved(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        yield await self._words("artifact", body["digest"], name=body["name"])

    async def _closed(self, body: dict[str, Any]) -> AsyncIterator[Piece]:
        if "detail" in body:
            yield await self._words("said", body["detail"])
        for item in body.get("artifacts", ()):
            yield await self._words("artifact", item["digest"], name=item["name"])
        if "not_done_said" in body:
            yield await self._json("not_done", body["not_done_said"])


def _lines(value: Any) -> Iterator[str]:
    return barred(value) if isinstance(value, str) else laid_out(value)


def _text(what: str, data: bytes, about: dict[str, Any]) -> Piece:
    try:
        return Piece(what, "\n".join(barred(data.decode())), about)
    except UnicodeDecodeError:
        return Piece(what, None, about, InterlockError("cli.content.binary", size=len(data)))


_READERS = {
    "run.opened": ContentReader._opened,
    "model.asked": ContentReader._asked,
    "model.failed": ContentReader._failed,
    "model.answered": ContentReader._answered,
    "model.noted": ContentReader._noted,
    "tool.judged": ContentReader._judged,
    "tool.answered": ContentReader._tool_answered,
    "artifact.saved": ContentReader._saved,
    "run.closed": ContentReader._closed,
}
