"""What came of a replay: the recorded answer and the new one, as a person reads them side by side."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from interlock.cli.layout import barred, laid_out, one_line
from interlock.cli.terminal import Terminal
from interlock.perspective.answer import StoredAnswer
from interlock.run.replaying import Replayed

__all__ = ["as_form", "show_replayed"]

SAME, NOW, RECORDED = "=", "+", "-"
"""The marks of what both answers have, of what came now, and of what was recorded."""
Part = tuple[str, tuple[str, ...]]
"""A part of an answer: its heading, and the lines under it."""


def show_replayed(found: Replayed, terminal: Terminal) -> None:
    """Write what a replay used, whether its answer is the same, and both answers part by part."""
    usage = found.usage
    terminal.tell("cli.prompt.replay.used", tokens=usage.tokens, money=usage.money, wall_ms=usage.wall_ms)
    terminal.tell(f"cli.prompt.replay.{_outcome(found)}")
    old, new = list(_recorded(found, terminal)), list(_now(found, terminal))
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            _parts(SAME, old[i:j], terminal)
        else:
            _parts(RECORDED, old[i:j], terminal)
            _parts(NOW, new[k:m], terminal)


def as_form(found: Replayed) -> dict[str, Any]:
    """Give what came of a replay for `--json`; an answer that there is not is null."""
    failure = found.failure
    return {
        "same": found.same,
        "usage": found.usage.as_dict(),
        "recorded": _form(found.recorded),
        "recorded_failure": found.recorded_code or None,
        "answer": _form(found.answer),
        "failure": None
        if failure is None
        else {"code": failure.code, "status": failure.status, "detail": failure.detail},
    }


def _form(answer: StoredAnswer | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    calls = [{"tool": name, "arguments": value} for name, value in answer.proposed.values()]
    return {"text": answer.text, "calls": calls}


def _outcome(found: Replayed) -> str:
    if found.failure is not None:
        return "failed"
    return {None: "nothing_recorded", True: "same", False: "different"}[found.same]


def _recorded(found: Replayed, terminal: Terminal) -> Iterator[Part]:
    if found.recorded is not None:
        yield from _of_answer(found.recorded, terminal)
    elif found.recorded_code:
        yield terminal.say("cli.prompt.replay.code", code=found.recorded_code), ()


def _now(found: Replayed, terminal: Terminal) -> Iterator[Part]:
    if found.answer is not None:
        yield from _of_answer(found.answer, terminal)
    elif (failure := found.failure) is not None:
        message = "cli.prompt.replay.code" if failure.status is None else "cli.prompt.replay.code_status"
        heading = terminal.say(message, code=failure.code, status=failure.status)
        yield heading, tuple(barred(failure.detail)) if failure.detail else ()


def _of_answer(answer: StoredAnswer, terminal: Terminal) -> Iterator[Part]:
    if answer.text or not answer.proposed:
        yield terminal.say("cli.prompt.replay.text"), tuple(barred(answer.text))
    for name, value in answer.proposed.values():
        lines = barred(value) if isinstance(value, str) else laid_out(value)
        yield terminal.say("cli.content.call", tool=one_line(name)), tuple(lines)


def _parts(mark: str, parts: list[Part], terminal: Terminal) -> None:
    for heading, lines in parts:
        terminal.line(f"{mark} {heading}")
        for line in lines:
            terminal.line(f"    {line}")
