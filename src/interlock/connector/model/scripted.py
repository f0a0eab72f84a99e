"""A scripted model: answers written beforehand, the n-th for the n-th request of a run.

A resumed run asks with the number it had reached, so it goes on where it was. The request it shows before
sending is the canonical JSON of the neutral request, cut so that all that is old is the same part again.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from interlock import canonical
from interlock.connector.model.model import (
    Answer,
    BeforeSend,
    Call,
    Message,
    ModelFailure,
    Request,
    ToolOffer,
)
from interlock.connector.model.script import ANYONE, Script, ScriptEntry, compiled, entry_of, read_script
from interlock.errors import InterlockError
from interlock.gate.budget import Usage

__all__ = ["ScriptedModel"]

HELD = 16 * 1024 * 1024
"""How many bytes of encoded messages, and of heads, are kept for the next request."""


class ScriptedModel:
    """A model that answers from a script; the same request gets the same answer.

    script: for each agent's address (or `"*"` for the others) a sequence whose n-th entry answers the n-th
    request of each run of that agent, or one callable for all of them. An entry is an `Answer`, a dict in
    the form of a script file, or a callable that takes the `Request` and gives either.
    price_in, price_out: micro-units of money per million tokens; a token is four bytes, begun ones counted.

    A dict may have `fails`, a list of failures that the first attempts at that request meet within this
    object's life; the attempt after them is answered. Two runs of one agent share them. Raises
    InterlockError `model.script_malformed`.
    """

    provider = "scripted"

    def __init__(self, script: Script, *, model: str = "", price_in: int = 0, price_out: int = 0) -> None:
        self.model = model or "scripted"
        self._prices = price_in, price_out
        self._script = compiled(script)
        self._attempts: dict[tuple[str, int], int] = {}
        self._request = _Encoding()

    @classmethod
    def from_file(cls, path: Path, *, model: str = "", price_in: int = 0, price_out: int = 0) -> Self:
        """Read a script from a YAML file.

        Raises InterlockError `model.script_unreadable`, or `model.script_malformed` with file and line.
        """
        return cls(read_script(path), model=model or path.stem, price_in=price_in, price_out=price_out)

    async def ask(self, request: Request, before_send: BeforeSend) -> Answer:
        """Give the answer the script has for this request. Raises ModelFailure where the script says so, and
        `rejected` when it has no answer left."""
        return await self._answered(request, self._request.parts(request), before_send)

    async def replay(self, data: bytes, before_send: BeforeSend) -> Answer:
        """Give the answer the script has now for a request that it was shown before.

        Raises as `ask` does, and InterlockError `model.not_replayed` for bytes that no scripted model was shown.
        """
        return await self._answered(request_of(data), [data], before_send)

    async def _answered(self, request: Request, parts: Sequence[bytes], before_send: BeforeSend) -> Answer:
        await before_send(parts)
        entry = self._entry(request)
        if entry.fails:
            self._fail(entry, request)
        answer = entry.answer
        if isinstance(answer, Answer) and answer.usage != NOTHING:
            return answer
        taken = (sum(map(len, parts)) + 3) >> 2
        return Answer(answer.text, answer.calls, self._usage(taken, entry.tokens))

    async def close(self) -> None:
        """Do nothing: a script holds no connection."""

    def _entry(self, request: Request) -> ScriptEntry:
        script = self._script.get(request.agent) or self._script.get(ANYONE)
        if callable(script):
            return entry_of(script, request)
        if script is None or not 0 < request.number <= len(script):
            raise ModelFailure(
                "rejected",
                False,
                detail=f"the script has no answer for request {request.number} of {request.agent}",
            )
        entry = script[request.number - 1]
        return entry if isinstance(entry, ScriptEntry) else entry_of(entry, request)

    def _fail(self, entry: ScriptEntry, request: Request) -> None:
        place = request.agent, request.number
        attempt = self._attempts.get(place, 0)
        if entry.always or attempt < len(entry.fails):
            self._attempts[place] = attempt + 1
            failure = entry.fails[min(attempt, len(entry.fails) - 1)]
            raise ModelFailure(
                failure.code, failure.retryable, failure.wait_ms, failure.status, failure.detail
            )

    def _usage(self, taken: int, given: int) -> Usage:
        price_in, price_out = self._prices
        return Usage(tokens=taken + given, money=-(-(taken * price_in + given * price_out) // 1_000_000))


NOTHING = Usage()


class _Encoding:
    """The canonical bytes of requests, in parts; what was encoded before is taken from a bounded store."""

    def __init__(self) -> None:
        self._messages: dict[Message, bytes] = {}
        self._heads: dict[str, tuple[str, Sequence[ToolOffer], bytes, bytes]] = {}
        self._held = 0

    def parts(self, request: Request) -> list[bytes]:
        """Give head (instructions and tools), a part for each message, and a short tail."""
        head, tail = self._frame(request)
        parts = [head]
        known = self._messages
        for message in request.messages:
            part = known.get(message)
            parts.append(self._encode(message) if part is None else part)
        if len(parts) > 1:
            parts[1] = parts[1][1:]
        parts.append(
            b'%b,"max_output_tokens":%d,"number":%d}}' % (tail, request.max_output_tokens, request.number)
        )
        return parts

    def _frame(self, request: Request) -> tuple[bytes, bytes]:
        held = self._heads.get(request.agent)
        if held is not None and held[0] == request.instructions and held[1] == request.tools:
            return held[2], held[3]
        tools = [
            {"description": offer.description, "name": offer.name, "parameters": _plain(offer.parameters)}
            for offer in request.tools
        ]
        # The keys are such that their sorted order is the order of the parts: head, messages, tail.
        opening = canonical.encode({"head": {"instructions": request.instructions, "tools": tools}})
        head = opening[:-1] + b',"messages":['
        tail = b'],"tail":{"agent":' + canonical.encode(request.agent)
        self._make_room(len(head))
        self._heads[request.agent] = (request.instructions, request.tools, head, tail)
        return head, tail

    def _encode(self, message: Message) -> bytes:
        form: dict[str, object] = {"role": message.role, "text": message.text}
        if message.calls:
            form["calls"] = [
                {"arguments": call.arguments, "id": call.id, "name": call.name} for call in message.calls
            ]
        if message.role == "tool":
            form |= {"call_id": message.call_id, "name": message.name}
        part = b"," + canonical.encode(form)
        self._make_room(len(part))
        self._messages[message] = part
        return part

    def _make_room(self, size: int) -> None:
        self._held += size
        if self._held > HELD:
            self._messages.clear()
            self._heads.clear()
            self._held = size


def request_of(data: bytes) -> Request:
    """Give the request whose canonical bytes these are. Raises InterlockError `model.not_replayed`."""
    try:
        form = json.loads(data)
        head, tail = form["head"], form["tail"]
        request = Request(
            tail["agent"],
            tail["number"],
            head["instructions"],
            tuple(ToolOffer(**tool) for tool in head["tools"]),
            tuple(_message_of(item) for item in form["messages"]),
            tail["max_output_tokens"],
        )
        if b"".join(_Encoding().parts(request)) == data:
            return request
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        pass
    raise InterlockError("model.not_replayed", provider="scripted", bytes=len(data))


def _message_of(form: Mapping[str, Any]) -> Message:
    calls = tuple(Call(**call) for call in form.get("calls", ()))
    return Message(form["role"], form["text"], calls, form.get("call_id", ""), form.get("name", ""))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
