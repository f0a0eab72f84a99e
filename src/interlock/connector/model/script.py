"""A script: the answers of a scripted model as people write them, checked and made ready."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock import canonical
from interlock.connector.model.model import Answer, Call, ModelFailure, Request
from interlock.errors import InterlockError
from interlock.form import yaml_text
from interlock.form.yaml_text import Marked

__all__ = ["ANYONE", "Script", "ScriptEntry", "compiled", "entry_of", "read_script"]

ANYONE = "*"
LARGEST = 4 * 1024 * 1024
KEYS = ("text", "call", "with", "calls", "raw", "finish", "fail", "fails")
CODES = ("rate_limited", "unavailable", "timed_out", "rejected", "unauthorized", "malformed")

Written = Answer | Mapping[str, Any]
Answering = Callable[[Request], Written]
Script = Mapping[str, Sequence[Written | Answering] | Answering]


@dataclass(frozen=True, slots=True)
class ScriptEntry:
    """One answer of a script, ready to give.

    tokens: the answer's length, four bytes a token. fails: the failures that come before it; with `always`,
    instead of it.
    """

    answer: Answer
    tokens: int = 0
    fails: tuple[ModelFailure, ...] = ()
    always: bool = False


class _Mistake(Exception):  # noqa: N818  it never leaves this module
    """What is wrong in an entry, where below it, and what would be accepted."""

    def __init__(self, value: object, expected: str, *path: str | int) -> None:
        self.value, self.expected, self.path = value, expected, path
        super().__init__(expected)


class _Source(dict[str, Any]):
    """A script read from a file, which knows the place of each entry."""

    def __init__(self, marked: Marked) -> None:
        super().__init__(marked.value)
        self.marked = marked


def read_script(path: Path) -> Script:
    """Read a script file, at most 4 MiB of YAML in UTF-8.

    Raises InterlockError `model.script_unreadable`, `model.script_malformed` or one of the domain `yaml`;
    those name file and line.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InterlockError("model.script_unreadable", file=str(path), why=error) from None
    marked = yaml_text.read(content, path.name, LARGEST)
    if not isinstance(marked.value, Mapping):
        raise _error(f"{path.name}:1:1", marked.value, "agent: [answers]")
    return _Source(marked)


def compiled(script: Script) -> dict[str, list[ScriptEntry | Answering] | Answering]:
    """Check a script and make its answers ready. Raises InterlockError `model.script_malformed`."""
    ready: dict[str, list[ScriptEntry | Answering] | Answering] = {}
    for agent, answers in script.items():
        if callable(answers):
            ready[agent] = answers
        elif isinstance(answers, Sequence) and not isinstance(answers, str | bytes):
            ready[agent] = [_ready(script, agent, index, item) for index, item in enumerate(answers)]
        else:
            raise _located(script, (agent,), _Mistake(answers, "[answers]"))
    return ready


def _ready(script: Script, agent: str, index: int, item: Any) -> ScriptEntry | Answering:
    if callable(item):
        answering: Answering = item
        return answering
    try:
        return _entry(item, index + 1)
    except _Mistake as mistake:
        raise _located(script, (agent, index), mistake) from None


def entry_of(answering: Answering, request: Request) -> ScriptEntry:
    """Ask a callable for the answer to a request. Raises InterlockError `model.script_malformed`."""
    try:
        return _entry(answering(request), request.number)
    except _Mistake as mistake:
        raise _located({}, (request.agent, request.number - 1), mistake) from None


def _located(script: Script, path: tuple[str | int, ...], mistake: _Mistake) -> InterlockError:
    path += mistake.path
    if isinstance(script, _Source):
        line, column = script.marked.where_key(path)
        return _error(f"{script.marked.file}:{line}:{column}", mistake.value, mistake.expected)
    return _error("".join(f"[{key!r}]" for key in path), mistake.value, mistake.expected)


def _error(where: str, value: object, expected: str) -> InterlockError:
    return InterlockError("model.script_malformed", where=where, value=str(value), expected=expected)


def _entry(written: Any, number: int) -> ScriptEntry:
    if isinstance(written, Answer):
        return _counted(written)
    if not isinstance(written, Mapping) or not written:
        raise _Mistake(written, f"{{{', '.join(KEYS)}}}")
    for key in written:
        if key not in KEYS:
            raise _Mistake(key, ", ".join(KEYS), key)
    text = _text(written.get("text", ""), "text")
    calls = tuple(Call(f"call_{number}_{index}", *call) for index, call in enumerate(_calls(written), 1))
    if "fail" in written:
        return ScriptEntry(Answer(), fails=(_failure(written["fail"], "fail"),), always=True)
    fails = written.get("fails", [])
    if not isinstance(fails, list | tuple):
        raise _Mistake(fails, "[{code, retryable, wait_ms}]", "fails")
    failures = tuple(_failure(item, "fails", index) for index, item in enumerate(fails))
    return _counted(Answer(text, calls), failures)


def _counted(answer: Answer, fails: tuple[ModelFailure, ...] = ()) -> ScriptEntry:
    texts = [answer.text, *(part for call in answer.calls for part in (call.name, call.arguments))]
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return ScriptEntry(answer, (size + 3) // 4, fails)


def _calls(written: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Give name and raw arguments of each call, in the order `call`, `calls`, `raw`, `finish`."""
    found = [_named(written, ())] if "call" in written else []
    if "with" in written and "call" not in written:
        raise _Mistake("with", "call, with", "with")
    several = written.get("calls", [])
    if not isinstance(several, list | tuple):
        raise _Mistake(several, "[{call, with}]", "calls")
    for index, item in enumerate(several):
        if not isinstance(item, Mapping) or not (
            {"call"} <= item.keys() <= {"call", "with"} or item.keys() == {"raw"}
        ):
            raise _Mistake(item, "{call, with} | {raw}", "calls", index)
        found.append(_raw(item["raw"], ("calls", index)) if "raw" in item else _named(item, ("calls", index)))
    if "raw" in written:
        found.append(_raw(written["raw"], ()))
    if "finish" in written:
        closing = written["finish"]
        found.append(
            ("finish", _arguments({"summary": closing} if isinstance(closing, str) else closing, "finish"))
        )
    return found


def _named(item: Mapping[str, Any], path: tuple[str | int, ...]) -> tuple[str, str]:
    return _text(item["call"], *path, "call"), _arguments(item.get("with", {}), *path, "with")


def _raw(raw: Any, path: tuple[str | int, ...]) -> tuple[str, str]:
    if not isinstance(raw, Mapping) or raw.keys() != {"name", "arguments"}:
        raise _Mistake(raw, "{name, arguments}", *path, "raw")
    return _text(raw["name"], *path, "raw", "name"), _text(raw["arguments"], *path, "raw", "arguments")


def _text(value: Any, *path: str | int) -> str:
    if not isinstance(value, str):
        raise _Mistake(value, '"text"', *path)
    return str(value)


def _arguments(value: Any, *path: str | int) -> str:
    if not isinstance(value, Mapping):
        raise _Mistake(value, "{argument: value}", *path)
    try:
        return canonical.encode(value).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _Mistake(error, "JSON", *path) from None


def _failure(value: Any, *path: str | int) -> ModelFailure:
    expected = "{code, retryable, wait_ms, status, detail}"
    if not isinstance(value, Mapping) or value.get("code") not in CODES:
        raise _Mistake(value, f"{expected}; code: {', '.join(CODES)}", *path)
    kinds = {"code": str, "retryable": bool, "wait_ms": int, "status": int, "detail": str}
    for key, inner in value.items():
        if key not in kinds or type(inner) is not kinds[key]:
            raise _Mistake(f"{key}: {inner}", expected, *path, key)
    return ModelFailure(
        value["code"],
        value.get("retryable", value["code"] in {"rate_limited", "unavailable", "timed_out"}),
        value.get("wait_ms"),
        value.get("status"),
        value.get("detail", ""),
    )
