"""An envelope: a message between agents, or between an agent and a person, with what the platform writes on it (MS-1).

Sender, task, id and labels are the platform's: no body of a message can say them. What a message says is checked
against the schema of its type, in which every text is bounded; what is longer goes as an artifact.
"""

from dataclasses import dataclass
from typing import Any, Literal, Self

from interlock.catalogue import Text
from interlock.event.event import Exposed
from interlock.gate.schema import judge_arguments
from interlock.gate.tool import Tool
from interlock.scope.label import Labels, listed

__all__ = ["BODIES", "LINE", "TEXT", "Envelope", "Type", "body_schema", "malformed"]

Type = Literal["request", "result", "question", "error", "status", "hand_off"]

LINE, TEXT = 200, 2000
"""How many characters a short text and a text may have."""
LARGEST = 256 * 1024
"""The most bytes that a body may have."""
ITEMS = 50


def _text(limit: int, description: str, least: int = 1) -> dict[str, Any]:
    return {"type": "string", "minLength": least, "maxLength": limit, "description": description}


def _texts(limit: int, description: str) -> dict[str, Any]:
    return {
        "type": "array",
        "maxItems": ITEMS,
        "description": description,
        "items": {"type": "string", "minLength": 1, "maxLength": limit},
    }


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_GAP = _object(
    ["what", "why"], what=_text(TEXT, "What was asked and not achieved."), why=_text(TEXT, "Why not.")
)
_FINDING = _object(
    ["text", "sources"],
    text=_text(TEXT, "What was found, in one or two sentences."),
    sources={
        "type": "array",
        "minItems": 1,
        "maxItems": ITEMS,
        "description": "What you read that says so: names of artifacts you read, or of tools that gave you a result.",
        "items": _text(LINE, "A name."),
    },
    subject=_text(LINE, "What the finding is about, if it can be named."),
    attribute=_text(LINE, "Which property of it."),
    value=_text(LINE, "The property's value, with its unit."),
    observed=_text(LINE, "As of when: a date or a moment, such as 2026-03-15."),
)
_FACT = _object(
    ["id", "fact"],
    id=_text(LINE, "A short id, by which others can name the fact."),
    fact=_text(TEXT, "The established fact."),
)

BODIES: dict[str, dict[str, Any]] = {
    "request": _object(
        ["goal"],
        goal=_text(TEXT, "What is to be achieved."),
        scope=_texts(LINE, "The items the work covers; no item may stand in two briefs."),
        not_to_cover=_texts(LINE, "What is not to be covered."),
        output=_text(TEXT, "What the report is to contain."),
    ),
    "question": _object(["text"], text=_text(TEXT, "The question.")),
    "status": _object(["text"], text=_text(TEXT, "What the recipient should know.")),
    "error": _object(["what", "why"], what=_text(TEXT, "What failed."), why=_text(TEXT, "Why.")),
    "result": _object(
        ["status", "summary", "findings"],
        status={"enum": ["complete", "partial", "failed"], "description": "How far the work came."},
        summary=_text(TEXT, "The answer, in a few sentences."),
        findings={
            "type": "array",
            "maxItems": 4 * ITEMS,
            "description": "What was found; each finding with its sources.",
            "items": _FINDING,
        },
        not_done={
            "type": "array",
            "maxItems": ITEMS,
            "description": "What was asked and not achieved, and why; required unless the status is complete.",
            "items": _GAP,
        },
    ),
    "hand_off": _object(
        ["goal", "facts", "remains", "reason"],
        goal=_text(TEXT, "The goal, in the words of whoever asked for it."),
        facts={"type": "array", "maxItems": ITEMS, "description": "What is established.", "items": _FACT},
        remains=_texts(TEXT, "What remains to be done."),
        constraints=_texts(TEXT, "What the receiver must keep to."),
        reason=_text(TEXT, "Why the task is handed over."),
    ),
}
"""The body that each type of message has, as JSON Schema."""


def body_schema(kind: str, more: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """Give the parameters of a tool that sends a message of type `kind`: the body's, and `more` of its own."""
    body = BODIES[kind]
    return {
        **body,
        "properties": {**more, **body["properties"]},
        "required": [*required, *body["required"]],
    }


def malformed(kind: str, said: Any) -> tuple[str, Text] | None:
    """Give where a body is not what its type requires, and what would be accepted there; None when it fits."""
    tool = Tool(name=kind, parameters=BODIES[kind], platform=True)
    denial = judge_arguments(tool, said, LARGEST)
    return None if denial is None else (kind, denial.text)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A message on its way.

    task: the task it belongs to. sender: an agent's address, or `person:<name>`. run: the sender's run.
    reply_to: the message it closes; run_to: the run that waits for it. body: the content's digest, `size` its bytes.
    labels: those of the sender's run and of all attachments.
    """

    id: str
    task: str
    type: Type
    sender: str
    recipient: str
    body: str
    size: int
    labels: Labels
    attachments: tuple[Exposed, ...] = ()
    run: str | None = None
    by: str | None = None
    reply_to: str | None = None
    run_to: str | None = None
    opens: str | None = None
    due_at: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Give the body of the step that sends it; what is not there is left out."""
        form: dict[str, Any] = {
            "message": self.id,
            "task": self.task,
            "type": self.type,
            "from": self.sender,
            "to": self.recipient,
            "run": self.run,
            "by": self.by,
            "reply_to": self.reply_to,
            "run_to": self.run_to,
            "opens": self.opens,
            "body": self.body,
            "size": self.size,
            "labels": listed(self.labels),
            "due_at": self.due_at,
        }
        form = {key: value for key, value in form.items() if value is not None}
        if self.attachments:
            form["attachments"] = [item.as_dict() for item in self.attachments]
        return form

    @classmethod
    def from_dict(cls, form: dict[str, Any]) -> Self:
        """Read back what `as_dict` gave."""
        return cls(
            id=form["message"],
            task=form["task"],
            type=form["type"],
            sender=form["from"],
            recipient=form["to"],
            body=form["body"],
            size=form["size"],
            labels=frozenset(form["labels"]),
            attachments=tuple(Exposed.from_dict(item) for item in form.get("attachments", ())),
            run=form.get("run"),
            by=form.get("by"),
            reply_to=form.get("reply_to"),
            run_to=form.get("run_to"),
            opens=form.get("opens"),
            due_at=form.get("due_at"),
        )
