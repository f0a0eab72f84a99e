"""`interlock prompt`: what a model was shown, as a person reads it or byte for byte."""

import json
import sys
from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.types import PositiveInt

from interlock.cli.layout import barred, laid_out, one_line
from interlock.cli.moment import moment
from interlock.cli.replayed import as_form, show_replayed
from interlock.cli.request import ReadRequest, Said, read_request
from interlock.cli.terminal import DONE, NOT_DONE, Options, Terminal, account, perform, printable
from interlock.errors import InterlockError
from interlock.ledger.step import Step
from interlock.perspective.snapshot import Snapshot
from interlock.run.replaying import replays_of
from interlock.runtime import Runtime

__all__ = ["app"]

OLD, NEW, GONE = "=", "+", "-"
"""The marks of what the call before had, too, of what it did not have, and of what it alone had."""

app = App(name="prompt", help_format="plaintext", result_action="return_value")


@app.command(help="cli.prompt.show.help")
def show(
    run: Annotated[str, Parameter(help="cli.trail.run")],
    call: Annotated[PositiveInt | None, Parameter(help="cli.prompt.call")] = None,
    /,
    *,
    compaction: Annotated[PositiveInt | None, Parameter(help="cli.prompt.compaction")] = None,
    parts: Annotated[bool, Parameter(help="cli.prompt.parts", negative="")] = False,
    raw: Annotated[bool, Parameter(help="cli.prompt.raw", negative="")] = False,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Show what a model was sent in a call of a run."""
    return perform(_show(run, (call, compaction), parts, raw, options))


@app.command(help="cli.prompt.diff.help")
def diff(
    run: Annotated[str, Parameter(help="cli.trail.run")],
    call: Annotated[PositiveInt | None, Parameter(help="cli.prompt.call")] = None,
    /,
    *,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Show how the request of a call differs from the one before it."""
    return perform(_diff(run, call, options))


@app.command(help="cli.prompt.replay.help")
def replay(
    run: Annotated[str, Parameter(help="cli.trail.run")],
    call: Annotated[PositiveInt | None, Parameter(help="cli.prompt.call")] = None,
    /,
    *,
    person: Annotated[str | None, Parameter(help="cli.run.person")] = None,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Send the request of a call again, and show the answer beside the one that was recorded."""
    return perform(_replay(run, call, account() if person is None else person, options))


async def _replay(run: str, call: int | None, by: str, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime() as runtime:
        name = await runtime.find_run(run)
        snapshot, asked, found = await runtime.replay(name, call, by)
    about = {"run": name, "n": asked["n"], "bytes": len(snapshot.request), "by": by}
    about |= {key: snapshot.about[key] for key in ("provider", "model")}
    terminal.tell("cli.prompt.replay.title", **about)
    show_replayed(found, terminal)
    terminal.data({**about, "role": asked["role"], "snapshot": asked["snapshot"], **as_form(found)})
    return NOT_DONE if found.answer is None else DONE


async def _diff(run: str, call: int | None, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        name = await runtime.find_run(run)
        snapshot, asked = await runtime.prompt(name, call)
        number = asked["n"]
        before = (await runtime.prompt(name, number - 1))[0] if number > 1 else None
    new, old = _messages(snapshot), _messages(before) if before else ()
    changes = [
        (mark, place, message)
        for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
        for mark, first, messages in ((GONE, i, old[i:j]), (NEW, k, new[k:m]))
        for place, message in enumerate(messages, first + 1)
    ]
    gone = sum(mark == GONE for mark, *_ in changes)
    kept, added = len(old) - gone, len(changes) - gone
    counts = {"kept": kept, "gone": gone, "new": added}
    terminal.tell("cli.prompt.diff.title", run=name, n=number, before=number - 1, **counts)
    for mark, place, message in changes:
        _message(place, mark, message, terminal)
    _left_out(snapshot, terminal)
    terminal.data(
        {
            "run": name,
            "call": number,
            **counts,
            "changes": [
                {"mark": mark, "place": place, "role": message.role, "text": message.text}
                for mark, place, message in changes
            ],
            "left_out": snapshot.about.get("left_out", []),
        }
    )
    return DONE


def _messages(snapshot: Snapshot) -> tuple[Said, ...]:
    """Give the messages of a request, its instructions as the first; of one in an unknown form, its parts."""
    request = read_request(snapshot.request)
    if request is None:
        return tuple(Said("user", part.decode(errors="backslashreplace")) for part in snapshot.parts)
    return (Said("system", request.instructions), *request.messages)


def _left_out(snapshot: Snapshot, terminal: Terminal) -> None:
    for item in snapshot.about.get("left_out", ()):
        why = terminal.say(f"cli.prompt.why_{item['why']}")
        terminal.tell("cli.prompt.left_out", kind=item["kind"], bytes=item["size"], why=why)


async def _show(
    run: str, which: tuple[int | None, int | None], parts: bool, raw: bool, options: Options
) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        name = await runtime.find_run(run)
        snapshot, asked = await runtime.prompt(name, *which)
        alone = parts or raw or which[1] is not None
        before = None if alone else await _before(runtime, name, asked["n"])
        replays = [] if alone else await replays_of(runtime.installation, name, asked["n"])
    if raw:
        sys.stdout.buffer.write(snapshot.request)
        sys.stdout.buffer.flush()
        return DONE
    terminal.tell("cli.prompt.title", **{**snapshot.about, "bytes": len(snapshot.request)})
    request = None if parts else read_request(snapshot.request)
    if request is None:
        _parts(snapshot, terminal)
    else:
        _request(request, before, terminal)
        _left_out(snapshot, terminal)
        if which[1] is None:
            terminal.tell("cli.prompt.exact", run=name, n=asked["n"])
    for step, after in replays:
        terminal.tell(
            "cli.prompt.replayed",
            when=moment(terminal, step.at),
            by=step.body["by"],
            outcome=_outcome(after, terminal),
        )
    about = {**snapshot.about, "snapshot": asked["snapshot"], "kept": snapshot.kept}
    terminal.data({**about, "parts": [part.decode(errors="backslashreplace") for part in snapshot.parts]})
    return DONE


def _outcome(step: Step | None, terminal: Terminal) -> str:
    """Say what came of a replay, by the step after it."""
    if step is None:
        return terminal.say("cli.prompt.replayed_open")
    if step.kind == "replay.failed":
        return terminal.say("cli.prompt.replayed_failed", code=step.body["code"])
    known = {None: "answered", True: "same", False: "different"}[step.body.get("same")]
    return terminal.say(f"cli.prompt.replayed_{known}")


async def _before(runtime: Runtime, run: str, number: int) -> ReadRequest | None:
    """Give the request of the call before. Where it is damaged, nothing can be known to stand in it."""
    if number == 1:
        return None
    try:
        snapshot, _ = await runtime.prompt(run, number - 1)
    except InterlockError:
        return None
    return read_request(snapshot.request)


def _parts(snapshot: Snapshot, terminal: Terminal) -> None:
    for number, part in enumerate(snapshot.parts, 1):
        mark = OLD if number <= snapshot.kept else NEW
        terminal.line(f"{mark} {number:>3}  {terminal.say('cli.prompt.part', bytes=len(part))}")
        terminal.line(printable(part.decode(errors="backslashreplace")))


def _request(request: ReadRequest, before: ReadRequest | None, terminal: Terminal) -> None:
    old = before or ReadRequest("", (), ())
    if request.instructions:
        mark = OLD if request.instructions == old.instructions else NEW
        terminal.line(f"{mark} {terminal.say('cli.prompt.instructions')}")
        _under(barred(request.instructions), terminal)
    if request.tools:
        mark = OLD if request.tools == old.tools else NEW
        terminal.line(f"{mark} {terminal.say('cli.prompt.tools')}")
        for name, description in request.tools:
            _under([f"{name}: {description}".replace("\n", "\n      | ")], terminal)
    pairs = zip(request.messages, old.messages, strict=False)
    kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    for number, message in enumerate(request.messages, 1):
        _message(number, OLD if number <= kept else NEW, message, terminal)


def _message(number: int, mark: str, message: Said, terminal: Terminal) -> None:
    role = terminal.say(f"cli.prompt.role_{message.role}", tool=one_line(message.tool))
    terminal.line(f"{mark} {number:>3}  {role}")
    if message.text or not message.calls:
        _under(barred(message.text), terminal)
    for tool, arguments in message.calls:
        _under([terminal.say("cli.content.call", tool=one_line(tool))], terminal)
        _under((f"  {line}" for line in _arguments(arguments)), terminal)


def _arguments(text: str) -> Iterable[str]:
    try:
        return list(laid_out(json.loads(text)))
    except (ValueError, RecursionError):
        return barred(text)


def _under(lines: Iterable[str], terminal: Terminal) -> None:
    for line in lines:
        terminal.line(f"    {line}")
