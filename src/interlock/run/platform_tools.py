"""The platform's own tools: what every agent may do without a grant, though never without the Gate.

They are declared like any other tool, so that the Gate judges them, the budget counts them and the trail
shows them alike (CS-6).
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from interlock.agent.spec import Spec
from interlock.gate.tool import (
    ASK,
    CONCLUDE,
    DECIDE,
    DELEGATE,
    FINISH,
    HAND_OVER,
    PLAN_WORK,
    READ_ARTIFACT,
    RECALL,
    REMEMBER,
    REPORT,
    SAVE_ARTIFACT,
    SEND,
    Tool,
)
from interlock.message.envelope import LINE, TEXT, body_schema
from interlock.scope.label import NO_LABELS
from interlock.scope.scope import Address, Scope
from interlock.work_graph.node import KINDS

__all__ = [
    "ASK",
    "CONCLUDE",
    "DECIDE",
    "DELEGATE",
    "FINISH",
    "HAND_OVER",
    "PLAN_WORK",
    "PLATFORM_TOOLS",
    "READ_ARTIFACT",
    "RECALL",
    "REMEMBER",
    "REPORT",
    "SAVE_ARTIFACT",
    "SEND",
    "TALKING",
    "bound_for",
    "declared_for",
    "handles_of",
    "offered_to",
]

_TEXT = {"type": "string"}
_MEDIA = {**_TEXT, "pattern": r"^[a-z]+/[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}(; ?charset=[A-Za-z0-9-]{1,20})?$"}

_TO = {**_TEXT, "maxLength": LINE, "description": "The recipient's address, name@scope."}
_ATTACHMENTS = {
    "type": "array",
    "maxItems": 20,
    "description": "Names or handles of artifacts that go along by reference.",
    "items": {**_TEXT, "maxLength": LINE},
}
_WITHIN = {
    "type": "integer",
    "minimum": 1,
    "maximum": 604_800,
    "description": "After how many seconds you no longer wait.",
}
_BUDGET = {
    "type": "object",
    "description": "The most that the work may use.",
    "properties": {
        "tool_calls": {"type": "integer", "minimum": 0},
        "tokens": {"type": "integer", "minimum": 0},
    },
    "additionalProperties": False,
}


def _platform(name: str, description: str, parameters: dict[str, Any], effect: Any = "write") -> Tool:
    return Tool(
        name=name,
        description=description,
        parameters=parameters,
        effect=effect,
        labels=NO_LABELS,
        platform=True,
    )


_STATUS = body_schema("status", {"to": _TO, "attachments": _ATTACHMENTS}, ["to"])

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
    SEND: _platform(
        SEND,
        "Tell another agent something about the task; no answer comes.",
        _STATUS,
    ),
    ASK: _platform(
        ASK,
        "Ask another agent, or people, a question and wait for the answer.",
        body_schema("question", {"to": _TO, "attachments": _ATTACHMENTS, "within": _WITHIN}, ["to"]),
    ),
    DELEGATE: _platform(
        DELEGATE,
        "Give a part of the work to another agent, keep the task, and wait for the report.",
        body_schema(
            "request",
            {"to": _TO, "attachments": _ATTACHMENTS, "within": _WITHIN, "budget": _BUDGET},
            ["to"],
        ),
    ),
    REPORT: _platform(
        REPORT,
        "Report what you found to whoever gave you the work, each finding with its sources. Then finish.",
        body_schema("result", {"attachments": _ATTACHMENTS}, []),
    ),
    HAND_OVER: _platform(
        HAND_OVER,
        "Hand the whole task over to another agent, or to people; after that it is theirs alone.",
        body_schema("hand_off", {"to": _TO, "attachments": _ATTACHMENTS}, ["to"]),
    ),
    DECIDE: _platform(
        DECIDE,
        "Settle a question once for everybody who works on the task; the first decision on a topic stands.",
        {
            "type": "object",
            "properties": {
                "topic": {
                    **_TEXT,
                    "minLength": 1,
                    "maxLength": LINE,
                    "description": "What is decided, in few words.",
                },
                "decision": {**_TEXT, "minLength": 1, "maxLength": TEXT, "description": "The decision."},
            },
            "required": ["topic", "decision"],
            "additionalProperties": False,
        },
    ),
    CONCLUDE: _platform(
        CONCLUDE,
        "Merge the reports you received: findings joined, conflicts and gaps named, and the answer written "
        "from them alone.",
        {
            "type": "object",
            "properties": {
                "task": {**_TEXT, "maxLength": TEXT, "description": "What the answer is to be about."},
                "write": {
                    "type": "boolean",
                    "description": "Whether a text is to be written; true if you say nothing.",
                },
                "judge": {
                    **_TEXT,
                    "maxLength": LINE,
                    "description": "Whose decisions settle conflicts, by their keys as topics: an address.",
                },
            },
            "additionalProperties": False,
        },
    ),
    REMEMBER: _platform(
        REMEMBER,
        "Note something for yourself that will matter later, with whom it is about. Only in conversations whose people "
        "could all have observed it will you find it again, unless you share it.",
        {
            "type": "object",
            "properties": {
                "text": {**_TEXT, "minLength": 1, "maxLength": 4000, "description": "What to remember."},
                "about": {**_TEXT, "maxLength": LINE, "description": "The `actor` whom it is about."},
                "instead_of": {**_TEXT, "maxLength": LINE, "description": "The memory that this corrects."},
                "share": {
                    "type": "boolean",
                    "description": "Whether everybody may hear of it; not of what you heard in a conversation.",
                },
            },
            "required": ["text"],
            "additionalProperties": False,
        },
    ),
    RECALL: _platform(
        RECALL,
        "Look for what you remember, and for what was said to you, by words.",
        {
            "type": "object",
            "properties": {
                "words": {**_TEXT, "maxLength": TEXT, "description": "What it would be about."},
                "about": {**_TEXT, "maxLength": LINE, "description": "Only what is about this `actor`."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 20},
            },
            "required": ["words"],
            "additionalProperties": False,
        },
        "read",
    ),
    PLAN_WORK: _platform(
        PLAN_WORK,
        "Plan your own work as a graph of parts and have it done: parts that need nothing of each other at the same "
        "time, each in a fresh context that sees its objective and what it takes in alone. You are told what it came "
        "to, and read what it made with read_artifact. Planned again, what is done and still fits is kept.",
        {
            "type": "object",
            "properties": {
                "nodes": {
                    "type": "array",
                    "description": "The parts.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"description": "A name of its own, such as reader_a."},
                            "kind": {
                                "description": f"One of {', '.join(KINDS)}: work for you in a fresh context; a call of "
                                "a tool; a function that is loaded; judging by a rubric; bringing together.",
                            },
                            "objective": {
                                "description": "agent_loop: what it is to achieve, whole in itself."
                            },
                            "tools": {
                                "description": "agent_loop: the names of those of your tools that it may call."
                            },
                            "tool": {"description": "tool: the name of the tool."},
                            "arguments": {
                                "description": 'tool, function: arguments; {"$artifact": name} stands for the content '
                                "of what it takes in."
                            },
                            "function": {"description": "function: module:name."},
                            "rubric": {"description": "verify: by what it judges."},
                            "output": {
                                "description": "agent_loop: the JSON Schema of what it must publish as output."
                            },
                            "publishes": {
                                "description": "Names of artifacts that it publishes, or name: media type."
                            },
                            "needs": {
                                "description": "What it takes in: names of nodes, or {from, artifact, type}; without "
                                "from, an artifact of yours."
                            },
                            "attempts": {
                                "description": "How often it is tried in all; 1 if you say nothing."
                            },
                            "deadline": {
                                "description": "How long it may take, as 90s; a join: how long it waits."
                            },
                            "budget": {
                                "description": "The most it may use: {tool_calls, tokens, wall_time}."
                            },
                        },
                    },
                },
                "at_once": {"type": "integer", "minimum": 1, "description": "How many at a time."},
            },
            "required": ["nodes"],
        },
    ),
}

TALKING = frozenset({SEND, ASK, DELEGATE, REPORT, HAND_OVER})
"""The tools that send messages: what they are given that is malformed is recorded as a message that was rejected."""


def declared_for(name: str, tools: Mapping[str, Tool], spec: Spec) -> Tool | None:
    """Give the declaration of a tool as a run of a version meets it, or None when there is none.

    Reading an artifact moves its data into the run's scope, which the barrier therefore judges; whom messages may go to
    is what the version declares.
    """
    own = PLATFORM_TOOLS.get(name)
    if own is None:
        return tools.get(name)
    if name == READ_ARTIFACT:
        return replace(own, destination=spec.scope)
    if name == HAND_OVER:
        return replace(own, recipients=frozenset(map(str, spec.hands_to)))
    return (
        replace(own, recipients=frozenset(map(str, spec.sends_to))) if name in {SEND, ASK, DELEGATE} else own
    )


def bound_for(tool: Tool, arguments: Any, replies_to: Scope | None) -> Tool:
    """Give the declaration of a tool that sends, with the scope into which this call moves data."""
    if tool.name == REPORT:
        return replace(tool, destination=replies_to)
    to = arguments.get("to") if isinstance(arguments, dict) else None
    if tool.recipients is None or not isinstance(to, str) or to not in tool.recipients:
        return tool
    return replace(tool, destination=Address(to).scope)


def offered_to(spec: Spec, kind: str) -> Iterator[Tool]:
    """Give the platform's tools that a run's prompt offers: those that it has a use for. `kind` is what opened it."""
    unused = {
        *(() if spec.sends_to else (SEND, ASK, DELEGATE, CONCLUDE)),
        *(() if spec.hands_to else (HAND_OVER,)),
        *(() if PLAN_WORK in spec.tools else (PLAN_WORK,)),
        *(() if kind == "request" else (REPORT,)),
        *(name for name in (REMEMBER, RECALL) if not spec.attends and name not in spec.tools),
        *(() if spec.sends_to or spec.hands_to or kind in {"request", "hand_off"} else (DECIDE,)),
    }
    if kind == "work":
        unused |= {DECIDE, CONCLUDE}
    return (tool for name, tool in PLATFORM_TOOLS.items() if name not in unused)


def handles_of(digest: str) -> Iterator[str]:
    """Give the handles under which a run may save content, from its digest: `artifact-1a2b3c4d` (CS-4), then
    those for when that is taken, `artifact-1a2b3c4d-2` and so on."""
    first = f"artifact-{digest[:8]}"
    yield first
    for copy in itertools.count(2):
        yield f"{first}-{copy}"
