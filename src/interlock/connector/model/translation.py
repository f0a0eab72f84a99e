"""A translation between the neutral request and answer and the messages of the model library.

The module imports the model library and is itself imported with it, lazily.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from pydantic_ai import messages as library
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from interlock import canonical
from interlock.connector.model.model import Call, Message, Request, ToolOffer
from interlock.errors import InterlockError

__all__ = ["calls_of", "history_of", "parameters_of", "text_of"]

UNREADABLE = "INVALID_JSON"
"""The key under which the provider sees arguments again that are no JSON object; the library's own."""


def history_of(messages: Iterable[Message]) -> list[library.ModelMessage]:
    """Give the library's history. What stands between two assistant messages becomes one message of it, since
    providers want all results of one answer's calls together."""
    history: list[library.ModelMessage] = []
    for from_model, group in groupby(messages, lambda message: message.role == "assistant"):
        if from_model:
            history += [library.ModelResponse(parts=list(_response_parts(message))) for message in group]
        else:
            history.append(library.ModelRequest(parts=[_request_part(message) for message in group]))
    return history


def _request_part(message: Message) -> library.ModelRequestPart:
    if message.role == "tool":
        return library.ToolReturnPart(
            tool_name=_well_formed(message.name),
            content=_well_formed(message.text),
            tool_call_id=_well_formed(message.call_id),
        )
    return library.UserPromptPart(content=_well_formed(message.text))


def _response_parts(message: Message) -> Iterable[library.ModelResponsePart]:
    if message.text:
        yield library.TextPart(content=_well_formed(message.text))
    for call in message.calls:
        yield library.ToolCallPart(
            tool_name=_well_formed(call.name),
            args=_arguments(_well_formed(call.arguments)),
            tool_call_id=_well_formed(call.id),
        )


def _arguments(text: str) -> str | dict[str, Any]:
    """Give arguments in a form that every provider's request can hold, also those that are no JSON object."""
    try:
        readable = isinstance(canonical.parse(text, "arguments", len(text)), dict)
    except InterlockError:
        readable = False
    return text if readable else {UNREADABLE: text}


def _well_formed(text: str) -> str:
    """Give the text with lone surrogates, which no UTF-8 body can hold, written as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def parameters_of(request: Request) -> ModelRequestParameters:
    """Give the tools, their schemas as they are, and the instructions in the library's form."""
    instructions = _well_formed(request.instructions)
    return ModelRequestParameters(
        function_tools=[_definition(offer) for offer in request.tools],
        instruction_parts=[library.InstructionPart(content=instructions)] if instructions else [],
    )


def _definition(offer: ToolOffer) -> ToolDefinition:
    return ToolDefinition(
        name=_well_formed(offer.name),
        description=_well_formed(offer.description),
        parameters_json_schema=_well_formed_value(offer.parameters),
    )


def _well_formed_value(value: Any) -> Any:
    if isinstance(value, str):
        return _well_formed(value)
    if isinstance(value, Mapping):
        return {_well_formed(str(key)): _well_formed_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_well_formed_value(inner) for inner in value]
    return value


def text_of(response: library.ModelResponse) -> str:
    """Give the text of an answer; a model's thinking is no part of it."""
    return "".join(part.content for part in response.parts if isinstance(part, library.TextPart))


def calls_of(response: library.ModelResponse, as_values: bool) -> tuple[Call, ...]:
    """Give the calls of an answer, arguments as the text the model wrote; where it wrote none at all, `{}`.

    `as_values` says that the provider sends arguments as JSON values, so that even a string among them is
    one. They then are that value's compact text.
    """
    return tuple(
        Call(part.tool_call_id, part.tool_name, _text_of_arguments(part.args, as_values))
        for part in response.parts
        if isinstance(part, library.ToolCallPart)
    )


def _text_of_arguments(arguments: Any, as_value: bool) -> str:
    if not as_value and (arguments is None or isinstance(arguments, str)):
        return arguments or "{}"
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
