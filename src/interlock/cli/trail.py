"""`interlock trail`: what happened in a run, told step by step, and with `--content` what was said and read."""

import sys
from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from interlock.cli.content import NOTHING, ContentReader, Piece
from interlock.cli.moment import after, moment
from interlock.cli.terminal import DONE, Options, Terminal, perform
from interlock.errors import InterlockError
from interlock.ledger.step import Step
from interlock.run.run import TRAIL, fold
from interlock.run.story import Line, story_of
from interlock.runtime import Runtime
from interlock.scope.scope import Address

__all__ = ["last_words", "show_trail", "trail"]

RECENT = 20
LATEST = "run_~"
"""What stands behind the ids of all runs."""
SHOWN = 500
PIECE = 2000
"""How many characters of a piece of content are shown, unless all of it is asked for."""
GOING_WELL = frozenset({"model.asked", "model.answered", "tool.judged", "tool.answered"})
"""The steps before which nothing that was said tells why the run ended."""
BESIDE = " " * 19
UNDER = BESIDE + " " * 4


def trail(
    run: Annotated[str | None, Parameter(help="cli.trail.run")] = None,
    /,
    *,
    follow: Annotated[bool, Parameter(help="cli.trail.follow", negative="")] = False,
    content: Annotated[bool, Parameter(help="cli.trail.content", negative="")] = False,
    whole: Annotated[bool, Parameter(help="cli.trail.whole", negative="")] = False,
    limit: Annotated[PositiveInt | None, Parameter(help="cli.trail.limit")] = None,
    agent: Annotated[str | None, Parameter(help="cli.trail.agent")] = None,
    before: Annotated[str | None, Parameter(help="cli.trail.before")] = None,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Tell what happened in a run; without one, list the latest runs."""
    of_list = {"--limit": limit, "--agent": agent, "--before": before}
    of_run = {"--follow": follow, "--content": content, "--whole": whole}
    for name, value in of_run.items() if run is None else of_list.items():
        if value not in {None, False}:
            raise InterlockError(
                "cli.trail.without_run" if run is None else "cli.trail.with_run", option=name
            )
    if run is not None:
        return perform(_trail(run, follow, content or whole, whole, options))
    return perform(_list(limit or RECENT, None if agent is None else Address(agent), before, options))


async def _trail(run: str, follow: bool, content: bool, whole: bool, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        name = await runtime.find_run(run)
        telling = Telling(runtime, terminal, name, content, None if whole else PIECE)
        steps = await show_trail(runtime, name, terminal, telling)
        while follow and not (steps and steps[-1].kind == "run.closed"):
            sys.stdout.flush()
            async for step in runtime.installation.ledger.follow(name, steps[-1].seq):
                steps.append(step)
                await telling.tell(steps, step.seq)
                sys.stdout.flush()
        if not content:
            terminal.tell("cli.trail.hint", run=name)
        terminal.data([{**_form(step), **telling.contents(step)} for step in steps])
    return DONE


# The list of runs


async def _list(limit: int, agent: Address | None, before: str | None, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        place = LATEST if before is None else await runtime.find_run(before)
        rows = await _rows(runtime, agent, place, limit + 1)
        if not rows:
            await _none(runtime, agent, before, terminal)
        found = [await _listed(runtime, row, terminal) for row in rows[:limit]]
        if len(rows) > limit:
            only = "" if agent is None else f" --agent {agent}"
            only += "" if limit == RECENT else f" --limit {limit}"
            terminal.tell("cli.trail.older", run=found[-1]["run"], only=only)
        terminal.data(found)
    return DONE


async def _rows(runtime: Runtime, agent: Address | None, place: str, limit: int) -> list[tuple[Any, ...]]:
    ledger = runtime.installation.ledger
    if agent is None:
        return await ledger.query("runs_before", place, limit)
    return await ledger.query("runs_of_agent_before", agent, place, limit)


async def _none(runtime: Runtime, agent: Address | None, before: str | None, terminal: Terminal) -> None:
    if agent is not None:
        await runtime.installation.current(agent)
    terminal.tell("cli.trail.none" if agent is None and before is None else "cli.trail.none_such")


async def _listed(runtime: Runtime, row: tuple[Any, ...], terminal: Terminal) -> dict[str, Any]:
    """Write the line of a run and give its form. When it was opened, its first step says."""
    run, agent, version, *_, status = row
    opening = await runtime.installation.ledger.read(run, 0, 1)
    at = opening[0].at if opening else None
    when = "–" if at is None else moment(terminal, at)
    terminal.line(f"{run}  {when}  {agent}  {terminal.say(f'cli.status.{status}')}")
    return {"run": run, "agent": agent, "version": version, "status": status, "opened_at": at}


# The trail of one run


async def show_trail(
    runtime: Runtime, run: str, terminal: Terminal, telling: "Telling | None" = None
) -> list[Step]:
    """Write the story of a run and give its steps. Raises InterlockError `ledger.damaged`."""
    steps = await runtime.installation.ledger.read(run, 0, TRAIL)
    opening = fold(steps, run).opening
    terminal.tell("cli.trail.title", run=run, agent=opening["agent"], version=opening["version"])
    terminal.tell("cli.trail.task", task=opening["task"]["id"], root=opening["task"]["root"])
    terminal.tell("cli.trail.opened", when=moment(terminal, steps[0].at))
    await (telling or Telling(runtime, terminal, run)).tell(steps, 1)
    return steps


class Telling:
    """The telling of one run. `content`: with what the steps name, each piece up to `shown` characters."""

    def __init__(
        self,
        runtime: Runtime,
        terminal: Terminal,
        run: str,
        content: bool = False,
        shown: int | None = PIECE,
    ) -> None:
        self._runtime, self._terminal, self._run, self._shown = runtime, terminal, run, shown
        self._reader = ContentReader(runtime.installation, run) if content else None
        self._pieces: dict[int, list[Piece]] = {}

    def contents(self, step: Step) -> dict[str, Any]:
        """Give the content of a step that was told, for `--json`."""
        if self._reader is None:
            return {}
        language = self._terminal.language
        return {"contents": [piece.as_dict(language) for piece in self._pieces.get(step.seq, ())]}

    async def tell(self, steps: list[Step], since: int) -> None:
        """Write what the steps from number `since` on say; `steps` begin with the opening."""
        told = groupby(story_of(steps), key=lambda line: line.seq)
        for (seq, lines), step in zip(told, steps, strict=True):
            if seq < since:
                continue
            self._lines(list(lines))
            if self._reader is not None:
                self._pieces[seq] = await self._reader.of(step)
                for piece in self._pieces[seq]:
                    self._piece(piece)
            elif said := await _said(self._runtime, step, self._terminal):
                self._terminal.line(f"{UNDER}“{said}”")

    def _lines(self, lines: Sequence[Line]) -> None:
        start = f"{lines[0].seq:>4}  +{after(self._terminal, lines[0].after_ms)} s  "
        for line in lines:
            mark = ("", "  · ", "      → ")[line.depth]
            self._terminal.line(f"{start}{mark}{self._terminal.say(line.text)}")
            start = BESIDE

    def _piece(self, piece: Piece) -> None:
        terminal = self._terminal
        terminal.line(f"{UNDER}{terminal.say(f'cli.content.{piece.what}', **piece.about)}")
        if piece.problem is not None:
            terminal.line(f"{UNDER}  ({piece.problem.what(terminal.language)})")
        if piece.value is NOTHING or terminal.as_json:
            return
        text = piece.text
        for line in text[: self._shown].split("\n"):
            terminal.line(f"{UNDER}  {line}")
        if self._shown is not None and (rest := len(text) - self._shown) > 0:
            terminal.line(f"{UNDER}  {terminal.say('cli.content.more', count=rest, run=self._run)}")


async def _said(runtime: Runtime, step: Step, terminal: Terminal) -> str:
    """Give the end of what a tool, a provider or the platform said when something failed."""
    if step.kind == "tool.judged" or "detail" not in step.body:
        return ""
    try:
        data = await runtime.installation.contents.read(step.body["detail"])
    except InterlockError as error:
        return error.what(terminal.language)
    said = data.decode(errors="backslashreplace").rstrip()
    return said[-SHOWN:].splitlines()[-1].strip() if said else ""


async def last_words(runtime: Runtime, steps: list[Step], terminal: Terminal) -> str:
    """Give the last thing that was said in a run that failed or was refused: by the platform, a tool, a provider
    or the Gate; nothing where the reason of the closing step says it."""
    closing = steps[-1].body
    if closing.get("status") not in {"failed", "refused"}:
        return ""
    for step in reversed(steps):
        denied = step.kind == "tool.judged" and step.body["verdict"] != "allow"
        said = terminal.say(step.body["reason"]) if denied else await _said(runtime, step, terminal)
        if said:
            return "" if said == terminal.say(closing.get("reason", "")) else said
        if step.kind in GOING_WELL:
            break
    return ""


def _form(step: Step) -> dict[str, Any]:
    return {"seq": step.seq, "kind": step.kind, "at": step.at, "digest": step.digest.hex(), "body": step.body}
