"""A call that a run makes: how far it has come, as a fold over the run's trail gives it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from interlock.perspective.entry import Entry

__all__ = ["CallState"]


@dataclass(slots=True)
class CallState:
    """A call that a body proposed, and how far it has come.

    `answer` is the number of the model's answer it came from and `index` its place there; for a function
    body `answer` is the place of the call. `fence` is the claim under which it was judged. `question` is what a person
    was last asked about it, `message` the message whose reply it waits for, with `warnings` about it. `work` is the
    revision of the work graph that it waits for, and `resting` says that nothing is to be done about that now, which no
    step keeps. `node` is the node of a graph that the call is made for; `reason`, why such a call came to nothing.
    """

    id: str
    tool: str
    answer: int
    index: int
    verdict: str | None = None
    rule: str | None = None
    fence: int = 0
    arguments: str | None = None
    question: str | None = None
    message: str | None = None
    warnings: list[dict[str, Any]] = field(default_factory=list)
    done: Entry | None = None
    work: int = 0
    resting: bool = False
    node: str = ""
    reason: dict[str, Any] | None = None

    @classmethod
    def of_node(cls, body: Mapping[str, Any]) -> Self:
        """Give the call that a node of a work graph makes, from the step that started it."""
        arguments = body["arguments_content"]
        return cls(body["call"], body["tool"], 0, 0, arguments=arguments, node=body["node"])
