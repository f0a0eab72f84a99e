"""A finish: what a body says it made, checked, and turned into artifacts (CS-2, CS-3)."""

import re
from collections.abc import Mapping
from typing import Any

from interlock import canonical
from interlock.agent.spec import FINAL_ANSWER
from interlock.errors import InterlockError
from interlock.ledger.content_store import ContentStore
from interlock.ledger.ledger import ContentRow
from interlock.run.outcome import artifact_body
from interlock.run.run import Run
from interlock.settings import Sizes

__all__ = ["Finished", "take_finish", "text_bytes"]

NAME = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,63}\Z", re.ASCII)
"""What an artifact may be called; the same that a spec may declare."""


class Finished:
    """The artifacts of a finish as steps keep them, by name, with the content to write beside."""

    __slots__ = ("artifacts", "contents", "not_done")

    def __init__(self) -> None:
        self.artifacts: dict[str, dict[str, Any]] = {}
        self.contents: list[ContentRow] = []
        self.not_done: str | None = None


async def take_finish(
    contents: ContentStore, run: Run, sizes: Sizes, arguments: Mapping[str, Any]
) -> Finished:
    """Check a finish and prepare its artifacts; `final_answer` is the summary.

    `arguments` are those of the platform tool `finish`; an artifact may also be bytes, from a function.
    Raises InterlockError `finish.*` or `artifact.*`, naming the artifact and what would be accepted.
    """
    named: dict[str, str | bytes] = dict(arguments.get("artifacts", {}))
    summary = arguments["summary"]
    if FINAL_ANSWER in named and named.pop(FINAL_ANSWER) != summary:
        raise InterlockError("finish.final_answer", value=FINAL_ANSWER)
    if len(named) > sizes.artifacts_per_run:
        raise InterlockError("finish.too_many", count=len(named), limit=sizes.artifacts_per_run)
    size = len(text_bytes(summary, FINAL_ANSWER))
    if size > sizes.summary:
        raise InterlockError("finish.long_summary", size=size, limit=sizes.summary)
    finished = Finished()
    for name, content in {**named, FINAL_ANSWER: summary}.items():
        await _publish(finished, contents, run, sizes, name, content)
    if arguments.get("not_done"):
        for text in (text for item in arguments["not_done"] for text in item.values()):
            if (size := len(text_bytes(text, "not_done"))) > sizes.text:
                raise InterlockError("finish.long_not_done", size=size, limit=sizes.text)
        kept = await contents.keep_any(run.company, canonical.encode(arguments["not_done"]))
        finished.contents.append(kept.row)
        finished.not_done = kept.digest
    return finished


async def _publish(
    finished: Finished, contents: ContentStore, run: Run, sizes: Sizes, name: str, content: str | bytes
) -> None:
    if not NAME.match(name):
        raise InterlockError("finish.bad_name", value=name)
    if name in run.artifacts:
        raise InterlockError("finish.doubled_name", value=name)
    data = content if isinstance(content, bytes) else text_bytes(content, name)
    if len(data) > sizes.artifact:
        raise InterlockError("artifact.too_large", value=name, size=len(data), limit=sizes.artifact)
    kept = await contents.keep_any(run.company, data)
    media = "application/octet-stream" if isinstance(content, bytes) else "text/plain"
    finished.artifacts[name] = artifact_body(run, name, kept, media, run.labels)
    finished.contents.append(kept.row)


def text_bytes(text: str, name: str) -> bytes:
    """Give the UTF-8 of a text. Raises InterlockError `artifact.not_unicode` for a lone surrogate, with where."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        raise InterlockError("artifact.not_unicode", value=name, code=code, place=error.start) from None
