"""Cases of the Gate: a run, a few tools, and a proposal that is allowed, to be varied by the tests."""

from typing import Any

from interlock.gate.budget import Budget
from interlock.gate.origin import Origins
from interlock.gate.proposal import Proposal, Response, RunFacts
from interlock.gate.tool import Tool
from interlock.gate.verdict import Ask
from interlock.scope.label import UNTRUSTED, DeclaredLabel, Vocabulary
from interlock.scope.scope import Address, Scope

TAINTED = frozenset({UNTRUSTED})
VOCABULARY = Vocabulary({"pii": DeclaredLabel("pii", frozenset({"acme/hr", "tool:crm_update"}))})


def schema(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """Give an object schema that is closed to other names."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


TEXT = {"type": "string"}
SEARCH = Tool("search", parameters=schema(("q",), q=TEXT, n={"type": "integer"}), effect="read")
REFUND = Tool(
    "refund",
    parameters=schema(("order", "amount"), order=TEXT, amount={"type": "number"}, note=TEXT),
    effect="write",
    steers=("order", "amount"),
)
NOTE = Tool("note", parameters=schema(("text",), text=TEXT), effect="write")
DELETE = Tool("delete_file", parameters=schema(("id",), id=TEXT), effect="destructive", steers=("id",))
WIPE = Tool("wipe", parameters=schema(), effect="destructive")
CRM = Tool("crm_update", parameters=schema(text=TEXT), effect="write")
PUSH = Tool("push", parameters=schema(text=TEXT), effect="write", destination=Scope("acme/finance"))
LOOKUP = Tool("web_lookup", parameters=schema(text=TEXT), effect="read", leaves=True)
RAW = Tool("raw", parameters=schema(text=TEXT))
READ_ARTIFACT = Tool("read_artifact", parameters=schema(("name",), name=TEXT), effect="read", platform=True)
FINISH = Tool("finish", parameters=schema(summary=TEXT), effect="write", platform=True)
INBOX = Tool(
    "read_inbox",
    effect="read",
    fields={
        "messages[].id": frozenset(),
        "messages[].date": frozenset(),
        "messages[].body": TAINTED,
        "messages[].subject": TAINTED,
    },
)
TOOLS = (SEARCH, REFUND, NOTE, DELETE, WIPE, CRM, PUSH, LOOKUP, RAW, INBOX)
GRANTED = frozenset(tool.name for tool in TOOLS)


def facts(**changes: Any) -> RunFacts:
    """Give the facts of a run in `acme/platform` that is granted every tool here."""
    given: dict[str, Any] = {
        "run": "run_1",
        "agent": Address("triage@acme/platform"),
        "scope": Scope("acme/platform"),
        "granted": GRANTED,
        "vocabulary": VOCABULARY,
        "budget": Budget(tool_calls=10, tokens=1000),
    }
    return RunFacts(**{**given, **changes})


def proposal(tool: Tool | None, arguments: Any = None, **changes: Any) -> Proposal:
    """Give a proposal of `tool` in the run of `facts`."""
    given: dict[str, Any] = {"run": "run_1", "call_id": "call_1", "name": tool.name if tool else "?"}
    return Proposal(**{**given, "arguments": {} if arguments is None else arguments, "tool": tool, **changes})


def refund(order: Any = "o-17", amount: Any = 50, **changes: Any) -> Proposal:
    """Give the proposal of a refund."""
    return proposal(REFUND, {"order": order, "amount": amount}, **changes)


def brief(value: Any) -> RunFacts:
    """Give the facts of a tainted run that a signed-in person opened with a brief."""
    return facts(labels=TAINTED, origins=Origins.of_brief(value))


def approval(asked: Ask, of: Proposal, run: RunFacts, outcome: Any = "approve") -> Response:
    """Give a person's answer to what the Gate asked."""
    return Response("answer_1", of.digest, outcome, asked.objections, run.labels | of.labels)
