"""A function body: a Python function whose every call is journalled, and replayed on resume (AG-6)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["Finish", "FunctionRun", "NodeInput"]


@dataclass(frozen=True, slots=True)
class Finish:
    """How a function body finishes: a summary, artifacts by name, and what was not done, with the reason."""

    summary: str
    artifacts: Mapping[str, str | bytes] = field(default_factory=dict)
    not_done: tuple[tuple[str, str], ...] = ()


class FunctionRun(Protocol):
    """What a function body is given. Time, identifiers and chance come from the run, so that a replay
    takes the same path; so must everything else that steers it."""

    @property
    def input(self) -> Any:
        """What opened the run: the brief of a person, or the event with the artifacts it names."""
        ...

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """Call a tool and give its result. A call the Gate denies raises InterlockError `gate.denied`."""
        ...

    async def together(self, *calls: tuple[str, Mapping[str, Any]]) -> list[Any]:
        """Make several calls, each given as a tool's name with its arguments, and wait for all of them: so several
        agents
        work at the same time. Gives for each its result, or the InterlockError that a single call would raise."""
        ...

    async def read_artifact(self, name: str) -> str:
        """Read an artifact by the name it was given under."""
        ...

    async def save_artifact(self, content: str, media: str = "text/plain") -> str:
        """Store something large and give its handle."""
        ...

    def now(self) -> int:
        """Give the time of the last thing the run recorded, in milliseconds since the Unix epoch."""
        ...

    def new_id(self, kind: str) -> str:
        """Give an identifier that a replay gives again."""
        ...

    def chance(self) -> float:
        """Give a number in [0, 1) that a replay gives again."""
        ...


@dataclass(frozen=True, slots=True)
class NodeInput:
    """What a function that does a node of a work graph is given; what it gives back is what the node publishes.

    node: the node's name; attempt: the number of this try, from 1. inputs: what its edges let in, by name: JSON as its
    value, text as text, anything else as bytes. A node that names what it publishes gives a mapping with these names;
    any other one gives a JSON value.
    """

    node: str
    attempt: int
    objective: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
