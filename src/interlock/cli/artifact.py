"""`interlock artifact`: the artifacts of a run, and the content of one."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from interlock.cli.terminal import DONE, Options, perform, printable
from interlock.errors import InterlockError

__all__ = ["artifact"]


def artifact(
    run: Annotated[str, Parameter(help="cli.trail.run")],
    name: Annotated[str | None, Parameter(help="cli.artifact.name")] = None,
    /,
    *,
    output: Annotated[Path | None, Parameter(help="cli.artifact.output")] = None,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Show the artifacts of a run, or the content of one."""
    return perform(_artifact(run, name, output, options))


async def _artifact(run: str, name: str | None, output: Path | None, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        found = await runtime.find_run(run)
        if name is None:
            rows = await runtime.installation.ledger.query("artifacts_of_run", found)
            for row in rows:
                labels, size = row[4].replace(",", ", "), terminal.say("cli.artifact.size", size=row[2])
                terminal.line(f"{row[0]:<24}  {size:>16}  {row[3]}  {labels}")
            if not rows:
                terminal.tell("cli.artifact.none")
            terminal.data(
                [dict(zip(("name", "digest", "size", "media", "labels"), row, strict=True)) for row in rows]
            )
            return DONE
        about, data = await runtime.artifact(found, name)
    if output is not None:
        try:
            output.write_bytes(data)
        except OSError as error:
            raise InterlockError("cli.unwritable", file=str(output), why=error) from None
        terminal.tell("cli.artifact.written", file=str(output), size=len(data))
    elif not options.as_json:
        _show(data)
    terminal.data({**about, "content": data.decode(errors="backslashreplace")})
    return DONE


def _show(data: bytes) -> None:
    """To a person's terminal nothing goes that could steer it, and what comes next stands on a line of its own; to a
    pipe go the exact bytes."""
    if sys.stdout.isatty():
        text = printable(data.decode(errors="backslashreplace"))
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
