"""A request as a person reads it: instructions, tools and messages, read out of the exact bytes that were sent.

Three forms are known: the neutral one of a scripted model, OpenAI's chat completions and Anthropic's messages.
Of a request in another form, or with anything in it that is not known here, nothing is given: half of a request
that passes for all of it would mislead.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ReadRequest", "Said", "read_request"]

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


@dataclass(frozen=True, slots=True)
class Said:
    """A message: who says it, the text, the calls in it as tool and arguments, and whose result it is."""

    role: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()
    tool: str = ""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request: the instructions, each tool's name and description, and the messages."""

    instructions: str
    tools: tuple[tuple[str, str], ...]
    messages: tuple[Said, ...]


def read_request(data: bytes) -> ReadRequest | None:
    """Read a request from the exact bytes; None for a form that is not known."""
    try:
        form = json.loads(data)
        if "head" in form:
            return _neutral(form)
        if "system" in form or any("input_schema" in tool for tool in form.get("tools", ())):
            return _anthropic(form)
        blocks = [block for item in form["messages"] for block in _blocks(item.get("content"))]
        if any(block["type"] in {"tool_use", "tool_result"} for block in blocks):
            return _anthropic(form)
        return _openai(form)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None


def _neutral(form: Mapping[str, Any]) -> ReadRequest:
    head = form["head"]
    named = {call["id"]: call["name"] for item in form["messages"] for call in item.get("calls", ())}
    tools = tuple((tool["name"], tool["description"]) for tool in head["tools"])
    messages = tuple(
        Said(
            _role(item["role"]),
            item["text"],
            tuple((call["name"], call["arguments"]) for call in item.get("calls", ())),
            named.get(item["call_id"], "?") if item["role"] == "tool" else "",
        )
        for item in form["messages"]
    )
    return ReadRequest(head["instructions"], tools, messages)


def _openai(form: Mapping[str, Any]) -> ReadRequest:
    offers = [tool["function"] for tool in form.get("tools", ())]
    tools = tuple((offer["name"], offer.get("description", "")) for offer in offers)
    named: dict[str, str] = {}
    messages: list[Said] = []
    for item in form["messages"]:
        calls = item.get("tool_calls") or ()
        named |= {call["id"]: call["function"]["name"] for call in calls}
        asked = tuple((call["function"]["name"], call["function"]["arguments"]) for call in calls)
        tool = named.get(item["tool_call_id"], "?") if item["role"] == "tool" else ""
        messages.append(Said(_role(item["role"]), _text(item.get("content")), asked, tool))
    first = [] if not messages or messages[0].role not in {"system", "developer"} else [messages.pop(0).text]
    return ReadRequest("".join(first), tools, tuple(messages))


def _anthropic(form: Mapping[str, Any]) -> ReadRequest:
    tools = tuple((tool["name"], tool.get("description", "")) for tool in form.get("tools", ()))
    named: dict[str, str] = {}
    messages = [said for item in form["messages"] for said in _said(item, named)]
    return ReadRequest(_text(form.get("system")), tools, tuple(messages))


def _said(item: Mapping[str, Any], named: dict[str, str]) -> Iterator[Said]:
    """Give a message of Anthropic's: results stand in a user's message there, beside what the user says."""
    texts: list[str] = []
    calls: list[tuple[str, str]] = []
    for block in _blocks(item["content"]):
        if block["type"] == "tool_result":
            yield Said("tool", _text(block.get("content")), (), named.get(block["tool_use_id"], "?"))
        elif block["type"] == "tool_use":
            named[block["id"]] = block["name"]
            calls.append((block["name"], json.dumps(block["input"], ensure_ascii=False)))
        else:
            texts.append(_text([block]))
    if texts or calls:
        yield Said(_role(item["role"]), "\n".join(texts), tuple(calls))


def _blocks(content: Any) -> list[Any]:
    """Give a message's content as blocks: a mere text is one of them."""
    if content is None:
        return []
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _text(content: Any) -> str:
    blocks = _blocks(content)
    if any(block["type"] != "text" or not isinstance(block["text"], str) for block in blocks):
        raise ValueError("a block of another kind")
    return "\n".join(block["text"] for block in blocks)


def _role(role: str) -> str:
    if role not in ROLES:
        raise ValueError(role)
    return role
