"""The platform's own tools: what every agent may do without a grant, though never without the Gate.

They are declared like any other tool, so that the Gate judges them, the budget counts them and the trail
shows them alike (CS-6).
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

from interlock.gate.tool import FINISH, READ_ARTIFACT, SAVE_ARTIFACT, Tool
from interlock.scope.label import NO_LABELS
from interlock.scope.scope import Scope

__all__ = [
    "FINISH",
    "PLATFORM_TOOLS",
    "READ_ARTIFACT",
    "SAVE_ARTIFACT",
    "declared_for",
    "handles_of",
]

_TEXT = {"type": "string"}
_MEDIA = {**_TEXT, "pattern": r"^[a-z]+/[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}(; ?charset=[A-Za-z0-9-]{1,20})?$"}

PLATFORM_TOOLS: Mapping[str, Tool] = {
    READ_ARTIFACT: Tool(
        name=READ_ARTIFACT,
        description=(
            "Read an artifact by the name under which it was given to you, or by a handle of your own. A long "
            "one comes in pieces: give `start` to read on from a character."
        ),
        parameters={
            "type": "object",
            "properties": {
                "name": {**_TEXT, "description": "The artifact's name or handle."},
                "start": {"type": "integer", "minimum": 0, "description": "The first character to read."},
            },
            "required": ["name"],
            "additionalProperties": False,
        },
        effect="read",
        labels=NO_LABELS,
        platform=True,
    ),
    SAVE_ARTIFACT: Tool(
        name=SAVE_ARTIFACT,
        description="Store something long and get a short handle to give in its place.",
        parameters={
            "type": "object",
            "properties": {
                "content": {**_TEXT, "description": "What to store."},
                "media": {**_MEDIA, "description": "Its media type; text/plain if you say nothing."},
            },
            "required": ["content"],
            "additionalProperties": False,
        },
        effect="write",
        labels=NO_LABELS,
        platform=True,
    ),
    FINISH: Tool(
        name=FINISH,
        description="Finish your work: a summary, the artifacts you publish by name, and what you did not do.",
        parameters={
            "type": "object",
            "properties": {
                "summary": {**_TEXT, "description": "What was done and found, in a few sentences."},
                "artifacts": {
                    "type": "object",
                    "description": "What you publish, by name.",
                    "additionalProperties": _TEXT,
                },
                "not_done": {
                    "type": "array",
                    "description": "What was asked and not achieved, and why.",
                    "items": {
                        "type": "object",
                        "properties": {"what": _TEXT, "why": _TEXT},
                        "required": ["what", "why"],
                        "additionalProperties": False,
                    },
                },
            },
            "required": ["summary"],
            "additionalProperties": False,
        },
        effect="write",
        labels=NO_LABELS,
        platform=True,
    ),
}


def declared_for(name: str, tools: Mapping[str, Tool], scope: Scope) -> Tool | None:
    """Give the declaration of a tool as a run in `scope` meets it, or None when there is none.

    Reading an artifact moves its data into the run's scope, which the barrier therefore judges.
    """
    own = PLATFORM_TOOLS.get(name)
    if own is None:
        return tools.get(name)
    return replace(own, destination=scope) if name == READ_ARTIFACT else own


def handles_of(digest: str) -> Iterator[str]:
    """Give the handles under which a run may save content, from its digest: `artifact-1a2b3c4d` (CS-4), then
    those for when that is taken, `artifact-1a2b3c4d-2` and so on."""
    first = f"artifact-{digest[:8]}"
    yield first
    for copy in itertools.count(2):
        yield f"{first}-{copy}"
