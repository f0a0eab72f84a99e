"""`interlock exchange`: what the agents and people of a task said and did, in order, and how it stands now."""

import json
import os
import sys
import textwrap
from collections.abc import Iterator
from typing import Annotated, Any

from cyclopts import Parameter

from interlock.catalogue import Text
from interlock.cli.layout import barred, one_line
from interlock.cli.moment import after, moment
from interlock.cli.terminal import DONE, Options, Terminal, perform
from interlock.ledger.step import Step
from interlock.message.entry import Entry, Gone, Part, name_of
from interlock.message.exchange import entries_of
from interlock.message.sequence import sequence_of
from interlock.message.standing import Standing, standings_of
from interlock.run.exchange import read_exchange
from interlock.runtime import Runtime

__all__ = ["exchange", "show_exchange"]

UNDER = " " * 19
NARROW = 40
"""A narrower terminal than this is written past its edge."""
FIRST = frozenset({"fact", "text", "what", "tool"})
"""The members of a value that are told first, without their name."""
PLATFORM_SAYS = frozenset({"objections", "reason"})
"""The parts in which a message of the catalogue may stand; elsewhere what looks like one is somebody's value."""
LONG = 600
"""How many characters of a text are shown, unless all of it is asked for."""


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
            terminal.line(sequence_of(entries_of(steps, contents), terminal.say).rstrip("\n"))
            return DONE
        terminal.data(await show_exchange(runtime, root, terminal, whole))
    return DONE


async def show_exchange(
    runtime: Runtime, root: str, terminal: Terminal, whole: bool = False
) -> dict[str, Any]:
    """Write an exchange with how it stands, and give it as it goes to programs. Raises InterlockError
    `exchange.none`."""
    steps, contents = await read_exchange(runtime.installation, root)
    entries, standings = entries_of(steps, contents), standings_of(steps, contents)
    telling = _Telling(terminal, steps[0], whole)
    terminal.line(f"{terminal.say('exchange.title', task=root)}  {moment(terminal, steps[0].at)}")
    shown = [entry for entry in entries if whole or not entry.aside]
    for entry in shown:
        telling.entry(entry, alone=len(standings) == 1)
    if len(shown) < len(entries):
        terminal.line(f"({terminal.say('exchange.aside', count=len(entries) - len(shown))})")
    for standing in standings:
        telling.standing(standing, alone=len(standings) == 1)
    if telling.cut:
        terminal.line(f"({terminal.say('exchange.cut', task=root)})")
    return {
        "task": root,
        "entries": [entry.as_dict(terminal.say) for entry in entries],
        "tasks": [standing.as_dict(terminal.say) for standing in standings],
        "mermaid": sequence_of(entries, terminal.say),
    }


class _Telling:
    """The telling of one exchange. `whole`: with long texts uncut; `cut` says whether one was cut."""

    def __init__(self, terminal: Terminal, first: Step, whole: bool) -> None:
        self._terminal, self._first, self._whole = terminal, first, whole
        self._width = _width()
        self.cut = False

    # Entries

    def entry(self, entry: Entry, alone: bool) -> None:
        """Write one entry, of a task that is not alone with the task's number, and below it what was said."""
        when = after(self._terminal, entry.at - self._first.at)
        task = "" if alone else f"{self._terminal.say('exchange.task', number=entry.task)}: "
        self._line(f"{entry.seq:>3}  +{when} s  {task}{self._terminal.say(entry.text)}", UNDER)
        for part in (*entry.parts, *_foreign(entry)):
            for line in self._part(part):
                self._line(f"{UNDER}{line}", f"{UNDER}    ")

    def _line(self, line: str, under: str) -> None:
        """Write a line, on a terminal wrapped at its edge; what is wrapped is set in, and passes for no new line."""
        self._terminal.line(line if self._width is None else _wrapped(line, under, self._width))

    def _part(self, part: Part) -> Iterator[str]:
        name, value = self._named(part.name), part.value
        if isinstance(value, Gone):
            yield f"{name}: ({self._terminal.say(value.why)})"
        elif part.name == "deadline" and isinstance(value, int):
            yield f"{name}: {moment(self._terminal, value)}"
        elif isinstance(value, str) and "\n" in value:
            yield f"{name}:"
            yield from (f"  {line}" for line in barred(self._shortened(value)))
        elif isinstance(value, list) and part.name != "labels":
            yield f"{name}:"
            yield from (f"  - {self._flat(item, part.name)}" for item in value)
        else:
            yield f"{name}: {self._flat(value, part.name)}"

    def _named(self, name: str) -> str:
        said = self._terminal.say(f"exchange.part_{name}")
        return one_line(name) if said.startswith("exchange.part_") else said

    def _flat(self, value: Any, part: str) -> str:
        """Give a value in one line; what somebody wrote stands in quotation marks."""
        if isinstance(value, dict):
            if part in PLATFORM_SAYS and value.keys() <= {"id", "with"} and isinstance(value.get("id"), str):
                return self._terminal.say(value)
            return self._members(value, part)
        if isinstance(value, list):
            return ", ".join(self._flat(item, part) for item in value)
        if isinstance(value, str):
            return f"“{' '.join(self._shortened(value).split())}”"
        return json.dumps(value)

    def _members(self, value: dict[str, Any], part: str) -> str:
        """Give the members of an object; a fact stands behind its id, by which others name it."""
        if value.keys() == {"id", "fact"}:
            return f"{one_line(str(value['id']))}: {self._flat(value['fact'], part)}"
        members = sorted(value.items(), key=lambda item: item[0] not in FIRST)
        return ", ".join(
            f"{'' if key in FIRST else f'{self._named(key)} '}{self._flat(inner, part)}"
            for key, inner in members
        )

    def _shortened(self, text: str) -> str:
        if self._whole or len(text) <= LONG:
            return text
        self.cut = True
        return f"{text[:LONG]}…"

    # How it stands

    def standing(self, standing: Standing, alone: bool) -> None:
        """Write how a task stands; of one that is not alone, with its number."""
        terminal, state = self._terminal, Text(f"exchange.status_{standing.state}")
        terminal.line()
        if not alone:
            terminal.tell("exchange.task", number=standing.number)
        owner = terminal.say("exchange.owner_line", owner=name_of(standing.owner), state=state)
        self._fact("asked", self._asked(standing.asked))
        self._fact("owner", owner)
        self._facts("done", standing.done)
        if standing.answer is not None:
            self._fact("said", self._asked(standing.answer))
        self._facts("open", standing.open)

    def _asked(self, asked: Any) -> str:
        if asked is None:
            return f"({self._terminal.say('exchange.no_brief')})"
        if isinstance(asked, Gone):
            return f"({self._terminal.say(asked.why)})"
        return self._terminal.say(asked) if isinstance(asked, Text) else self._flat(asked, "brief")

    def _fact(self, name: str, said: str) -> None:
        self._line(f"{self._terminal.say(f'exchange.{name}')}: {said}", "    ")

    def _facts(self, name: str, items: tuple[Text, ...]) -> None:
        if not items:
            self._fact(name, self._terminal.say("exchange.nothing"))
            return
        self._terminal.line(f"{self._terminal.say(f'exchange.{name}')}:")
        for item in items:
            self._line(f"  - {self._terminal.say(item)}", "    ")


def _foreign(entry: Entry) -> tuple[Part, ...]:
    """Give the labels that are worth a line: all but that of the sender's own scope."""
    own = f"area:{entry.who.partition('@')[2]}"
    labels = [label for label in entry.labels if label != own]
    return (Part("labels", labels),) if labels else ()


def _width() -> int | None:
    """Give where lines are wrapped: at a terminal's edge, where it has one. What goes to a file or a pipe keeps its
    lines whole."""
    if not sys.stdout.isatty():
        return None
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        return None
    return max(NARROW, columns) if columns else None


def _wrapped(line: str, under: str, width: int) -> str:
    return textwrap.fill(
        line,
        width,
        subsequent_indent=under,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
        tabsize=4,
    )
