"""`interlock prompt`: what a model was shown, byte for byte."""

import sys
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.types import PositiveInt

from interlock.cli.terminal import DONE, Options, perform, printable

__all__ = ["app"]

app = App(name="prompt", help_format="plaintext", result_action="return_value")


@app.command(help="cli.prompt.show.help")
def show(
    run: Annotated[str, Parameter(help="cli.trail.run")],
    call: Annotated[PositiveInt | None, Parameter(help="cli.prompt.call")] = None,
    /,
    *,
    raw: Annotated[bool, Parameter(help="cli.prompt.raw", negative="")] = False,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Show what a model was sent in a call of a run."""
    return perform(_show(run, call, raw, options))


async def _show(run: str, call: int | None, raw: bool, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        snapshot, asked = await runtime.prompt(await runtime.find_run(run), call)
    if raw:
        sys.stdout.buffer.write(snapshot.request)
        sys.stdout.buffer.flush()
        return DONE
    terminal.tell("cli.prompt.title", **{**snapshot.about, "bytes": len(snapshot.request)})
    for number, part in enumerate(snapshot.parts, 1):
        mark = "=" if number <= snapshot.kept else "+"
        terminal.line(f"{mark} {number:>3}  {terminal.say('cli.prompt.part', bytes=len(part))}")
        terminal.line(printable(part.decode(errors="backslashreplace")))
    about = {**snapshot.about, "snapshot": asked["snapshot"], "kept": snapshot.kept}
    terminal.data({**about, "parts": [part.decode(errors="backslashreplace") for part in snapshot.parts]})
    return DONE
