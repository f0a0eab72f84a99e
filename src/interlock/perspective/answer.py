"""An answer as it is stored: what a model said, with long texts cut out into content of their own.

A model that finishes with an artifact of a megabyte writes that megabyte into its answer. Cut out, it is
stored once, as the artifact.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from interlock import canonical
from interlock.connector.model.model import Answer, Call
from interlock.errors import InterlockError
from interlock.ledger.content_store import ContentStore
from interlock.ledger.ledger import ContentRow

__all__ = ["StoredAnswer", "load_answer", "named_by_answer", "store_answer"]

LONG = 1024
"""A text of this many characters or more is cut out."""


class StoredAnswer:
    """An answer that is read back: its text, and by its id each call that it proposes, as the tool's name and the
    arguments: the parsed value, or the raw text where it was not JSON."""

    __slots__ = ("proposed", "text")

    def __init__(self, text: str, proposed: Mapping[str, tuple[str, Any]]) -> None:
        self.text, self.proposed = text, proposed

    def calls(self) -> tuple[Call, ...]:
        """Give the calls as later requests repeat them: the same text now and after a resume."""
        return tuple(
            Call(call, name, value if isinstance(value, str) else canonical.encode(value).decode())
            for call, (name, value) in self.proposed.items()
        )


def _parsed(call: Call, limit: int) -> Any:
    """Give the value of a call's arguments; the text as it was written where it is no JSON, or JSON of a mere
    text, which a reader of it could otherwise not tell from the former."""
    try:
        value = canonical.parse(call.arguments, call.name, limit)
    except InterlockError:
        return call.arguments
    return call.arguments if isinstance(value, str) else value


async def store_answer(
    contents: ContentStore, company: str, answer: Answer, limit: int
) -> tuple[str, StoredAnswer, list[ContentRow]]:
    """Prepare an answer for the append that names it: its digest, how it will be read back, and the content.

    `limit` is the largest size of a call's arguments that are read at all.
    """
    rows: list[ContentRow] = []
    forms: list[dict[str, Any]] = []
    proposed: dict[str, tuple[str, Any]] = {}
    for call in answer.calls:
        value = _parsed(call, limit)
        proposed[call.id] = call.name, value
        form: dict[str, Any] = {"id": call.id, "name": call.name}
        if isinstance(value, str):
            form["raw"] = value
        elif len(call.arguments) < LONG:
            form["value"] = value
        else:
            cuts: list[list[Any]] = []
            form["value"] = await _cut(contents, company, value, (), cuts, rows)
            if cuts:
                form["cut"] = cuts
        forms.append(form)
    kept = await contents.keep_any(company, canonical.encode({"text": answer.text, "calls": forms}))
    rows.append(kept.row)
    return kept.digest, StoredAnswer(answer.text, proposed), rows


async def load_answer(contents: ContentStore, digest: str) -> StoredAnswer:
    """Read an answer back. Raises InterlockError `content.missing` or `content.corrupt`."""
    form = json.loads(await contents.read(digest))
    proposed: dict[str, tuple[str, Any]] = {}
    for call in form["calls"]:
        value = call.get("raw") if "raw" in call else call["value"]
        for path, cut in call.get("cut", ()):
            value = _put(value, path, (await contents.read(cut)).decode())
        proposed[call["id"]] = call["name"], value
    return StoredAnswer(form["text"], proposed)


def named_by_answer(data: bytes) -> Iterator[tuple[str, str]]:
    """Give what a stored answer names, as `interlock.ledger.content_check` asks for it: what was cut out."""
    for call in json.loads(data)["calls"]:
        for _, digest in call.get("cut", ()):
            yield "cut", digest


async def _cut(
    contents: ContentStore,
    company: str,
    value: Any,
    path: tuple[Any, ...],
    cuts: list[list[Any]],
    rows: list[ContentRow],
) -> Any:
    if isinstance(value, dict):
        return {
            key: await _cut(contents, company, inner, (*path, key), cuts, rows)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [
            await _cut(contents, company, inner, (*path, place), cuts, rows)
            for place, inner in enumerate(value)
        ]
    if isinstance(value, str) and len(value) >= LONG:
        try:
            kept = await contents.keep_any(company, value.encode())
        except UnicodeEncodeError:
            return value
        cuts.append([list(path), kept.digest])
        rows.append(kept.row)
        return ""
    return value


def _put(value: Any, path: list[Any], text: str) -> Any:
    if not path:
        return text
    value[path[0]] = _put(value[path[0]], path[1:], text)
    return value
