"""What waits for people, told in a line, with the command that answers it."""

from typing import Any

from interlock.cli.moment import moment
from interlock.cli.terminal import Terminal
from interlock.message.entry import name_of
from interlock.run.waiting import Item
from interlock.runtime import Runtime

__all__ = ["line_of", "show_waiting"]

LONG = 200
"""How many characters of a text are shown in a line."""


def line_of(item: Item, terminal: Terminal) -> str:
    """Give the one line that says what an item is about."""
    form = item.form
    about = {
        "tool": form.get("tool", "?"),
        "arguments": _short(form.get("arguments", form.get("wanted", {}).get("arguments", {}))),
        "text": _short(form.get("text", "")),
        "goal": _short(form.get("goal", "")),
        "owner": name_of(item.owner) if item.owner else "",
        "reason": item.reason or "",
        "sender": form.get("from", "?"),
        "recipient": form.get("to", "?"),
        "agent": item.agent,
        "connector": form.get("connector", "?"),
        "deadline": moment(terminal, form["deadline"]) if "deadline" in form else "?",
    }
    return terminal.say(f"queue.line_{item.kind}", **about)


def _short(value: Any) -> str:
    if isinstance(value, dict):
        value = ", ".join(f"{key} {inner}" for key, inner in value.items())
    text = " ".join(str(value).split())
    return text if len(text) <= LONG else f"{text[:LONG]}…"


async def show_waiting(runtime: Runtime, root: str, terminal: Terminal) -> list[Item]:
    """Say what a task waits for, with the command that answers it."""
    items = [item for item in await runtime.human_queue.items() if item.root == root]
    for item in items:
        terminal.line(f"{terminal.say('queue.waits')} {line_of(item, terminal)}")
        terminal.line(f"  {terminal.say(f'queue.how_{item.kind}', id=item.id)}")
    return items
