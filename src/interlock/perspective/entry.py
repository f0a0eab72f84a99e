"""An entry: something that an agent said or was told in a run, by reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from interlock.scope.label import NO_LABELS, Labels

__all__ = ["Entry"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Something the agent said or was told, by reference.

    kind: `heard` (a message or a decision that came unasked), `answer` (a model's), `result` (a tool's), `artifact`
    (the text of one, or a slice of it from
    character `start` to `end` of `total`), `told` (words about a call that was not made), `note` (words
    about an answer without a call). `content` is a digest; `text` a `Text` of the catalogue; `handle` that of a
    result too large to be shown; `labels` are those of the content, `name` that of the artifact; `foreign` says of
    what was `told` that a tool said it; `recalled` names the memories in it with their revisions, and message events
    with 0.
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
    labels: Labels = NO_LABELS
    name: str = ""
    foreign: bool = False
    recalled: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of_result(cls, body: Mapping[str, Any], call: str, tool: str) -> Self:
        """Read what a call gave from the body of its step `tool.answered`."""
        about: dict[str, Any] = {
            "content": body["result"],
            "call": call,
            "tool": tool,
            "labels": frozenset(body.get("labels", ())),
            "recalled": tuple((name, revision) for name, revision in body.get("recalled", ())),
        }
        if "slice" in body:
            return cls("artifact", **about, **body["slice"], name=body.get("artifact", ""))
        return cls("result", **about, handle=body.get("handle", ""))
