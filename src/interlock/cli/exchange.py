"""`interlock exchange`: what the agents and people of a task said and did, in order, and how it stands now."""

from collections.abc import Iterator
from typing import Annotated, Any

from cyclopts import Parameter

from interlock.catalogue import Text
from interlock.cli.layout import barred
from interlock.cli.moment import after, moment
from interlock.cli.terminal import DONE, Options, Terminal, perform
from interlock.errors import InterlockError
from interlock.ledger.step import Step
from interlock.message.exchange import GONE, Entry, Part, entries_of, name_of
from interlock.message.sequence import sequence_of
from interlock.message.standing import Standing, standing_of
from interlock.run.exchange import read_exchange
from interlock.runtime import Runtime

__all__ = ["exchange", "show_exchange"]

UNDER = " " * 15
FIRST = frozenset({"fact", "text", "what", "tool"})
"""The members of a value that are told first, without their name."""
LONG = 300
"""How many characters of a text are shown in one line."""


def exchange(
    task: Annotated[str, Parameter(help="cli.exchange.task")],
    /,
    *,
    mermaid: Annotated[bool, Parameter(help="cli.graph.mermaid", negative="")] = False,
    whole: Annotated[bool, Parameter(help="cli.exchange.whole", negative="")] = False,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Show the exchange of a task."""
    return perform(_exchange(task, mermaid, whole, options))


async def _exchange(task: str, mermaid: bool, whole: bool, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        root = await runtime.find_root(task)
        if mermaid and not terminal.as_json:
            steps, contents = await read_exchange(runtime.installation, root)
            terminal.line(sequence_of(entries_of(steps, contents), terminal.say))
            return DONE
        await show_exchange(runtime, root, terminal, whole)
    return DONE


async def show_exchange(
    runtime: Runtime, root: str, terminal: Terminal, whole: bool = False
) -> dict[str, Any]:
    """Write an exchange with how it stands, and give it as it goes to programs."""
    steps, contents = await read_exchange(runtime.installation, root)
    if not steps:
        raise InterlockError("exchange.none", task=root)
    entries, standing = entries_of(steps, contents), standing_of(steps, contents)
    terminal.line(f"{terminal.say('exchange.title', task=root)}  {moment(terminal, steps[0].at)}")
    for entry in entries:
        if whole or not entry.aside:
            _show(entry, steps[0], terminal)
    terminal.line()
    _show_standing(standing, terminal)
    form = {
        "task": root,
        "entries": [entry.as_dict(terminal.say) for entry in entries],
        "standing": _standing_form(standing, terminal),
        "mermaid": sequence_of(entries, terminal.say),
    }
    terminal.data(form)
    return form


def _show(entry: Entry, first: Step, terminal: Terminal) -> None:
    terminal.line(
        f"{entry.seq:>3}  +{after(terminal, entry.at - first.at)} {_sub(entry)}{terminal.say(entry.text)}"
    )
    for part in entry.parts:
        for line in _lines(part, terminal):
            terminal.line(f"{UNDER}  {line}")


def _sub(entry: Entry) -> str:
    return "" if entry.task == 1 else f"[{entry.task}] "


def _lines(part: Part, terminal: Terminal) -> Iterator[str]:
    name, value = terminal.say(f"exchange.part_{part.name}"), part.value
    if name.startswith("exchange.part_"):
        name = part.name
    if value is GONE:
        yield f"{name}: {terminal.say('exchange.gone')}"
    elif isinstance(value, str) and "\n" in value:
        yield f"{name}:"
        yield from (f"  {line}" for line in barred(value))
    elif isinstance(value, list):
        yield f"{name}:"
        yield from (f"  - {_flat(item, terminal)}" for item in value)
    else:
        yield f"{name}: {_flat(value, terminal)}"


def _flat(value: Any, terminal: Terminal) -> str:
    """Give a value in one line; what somebody wrote stands in quotation marks."""
    if (
        isinstance(value, dict)
        and "id" in value
        and value.keys() <= {"id", "with"}
        and "." in str(value["id"])
    ):
        return terminal.say(value)
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda item: item[0] not in FIRST)
        return ", ".join(
            f"{_called(key, terminal)}{_flat(inner, terminal)}" for key, inner in members if key != "id"
        )
    if isinstance(value, list):
        return ", ".join(_flat(item, terminal) for item in value)
    if isinstance(value, str):
        text = " ".join(value.split())
        return f"“{text[:LONG]}…”" if len(text) > LONG else f"“{text}”"
    return str(value)


def _called(key: str, terminal: Terminal) -> str:
    """Give the name of a member in the reader's words; what speaks for itself has none."""
    if key in FIRST:
        return ""
    name = terminal.say(f"exchange.part_{key}")
    return f"{key} " if name.startswith("exchange.part_") else f"{name} "


def _show_standing(standing: Standing, terminal: Terminal) -> None:
    asked = terminal.say("exchange.no_brief") if standing.asked is None else _flat(standing.asked, terminal)
    terminal.line(f"{terminal.say('exchange.asked')}: {asked}")
    state = Text(f"exchange.status_{standing.state}")
    owner = terminal.say("exchange.owner_line", owner=name_of(standing.owner), state=state)
    terminal.line(f"{terminal.say('exchange.owner')}: {owner}")
    for name, items in (("done", standing.done), ("open", standing.open)):
        title = terminal.say(f"exchange.{name}")
        if not items:
            terminal.line(f"{title}: {terminal.say('exchange.nothing')}")
            continue
        terminal.line(f"{title}:")
        for item in items:
            terminal.line(f"  - {terminal.say(item)}")


def _standing_form(standing: Standing, terminal: Terminal) -> dict[str, Any]:
    return {
        "asked": standing.asked,
        "owner": standing.owner,
        "state": standing.state,
        "done": [terminal.say(item) for item in standing.done],
        "open": [terminal.say(item) for item in standing.open],
    }
