"""`interlock init`: makes the folder of a first company, ready to run."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from interlock.cli.terminal import DONE, Options
from interlock.errors import InterlockError
from interlock.runtime import SETTINGS_FILE

__all__ = ["init"]

TEMPLATE = "first_company"


def init(
    where: Annotated[Path, Parameter(help="cli.init.where")] = Path(),
    /,
    *,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Write the files of a first company into a folder; nothing that is there is overwritten."""
    terminal = options.terminal
    if (where / SETTINGS_FILE).exists():
        raise InterlockError("cli.init.exists", value=str(where / SETTINGS_FILE))
    written = []
    source = files("interlock.cli").joinpath(TEMPLATE)
    for name in ("interlock.yaml", "tools.py", "answers.yaml", "agents/greeter.yaml", "agents/scribe.yaml"):
        target = where / name
        if target.exists():
            raise InterlockError("cli.init.exists", value=str(target))
        written.append((target, source.joinpath(name).read_bytes()))
    for target, content in written:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except OSError as error:
            raise InterlockError("cli.init.unwritable", value=str(target), why=error) from None
        terminal.tell("cli.init.wrote", file=str(target))
    terminal.line()
    terminal.tell("cli.init.next_here" if where == Path() else "cli.init.next", folder=str(where))
    terminal.data({"folder": str(where), "files": [str(target) for target, _ in written]})
    return DONE
