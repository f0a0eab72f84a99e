"""`interlock publish`: checks specs and publishes each as a version, with its warnings."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from interlock.agent.reader import read_spec
from interlock.agent.spec import Spec
from interlock.catalogue import say
from interlock.cli.terminal import DONE, Options, Terminal, account, perform
from interlock.errors import InterlockError
from interlock.run.publishing import Publication
from interlock.runtime import Runtime
from interlock.scope.scope import INSTALLATION, Scope

__all__ = ["publish", "publish_files", "show_publication"]


def publish(
    *files: Annotated[Path, Parameter(help="cli.publish.files")],
    author: Annotated[str | None, Parameter(help="cli.publish.author")] = None,
    reader: Annotated[list[Scope] | None, Parameter(help="cli.publish.reader", negative="")] = None,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Publish specs; those of the folder `agents` when no file is named."""
    return perform(_publish(files, account() if author is None else author, reader or [INSTALLATION], options))


async def _publish(
    files: tuple[Path, ...], author: str, readable: Collection[Scope], options: Options
) -> int:
    terminal = options.terminal
    async with await options.runtime() as runtime:
        chosen = list(files) or sorted((runtime.folder / "agents").glob("*.y*ml"))
        if not chosen:
            raise InterlockError("cli.publish.nothing", folder=str(runtime.folder / "agents"))
        found = await publish_files(runtime, chosen, author, terminal, readable)
        terminal.data([_form(item, terminal) for item in found])
    return DONE


async def publish_files(
    runtime: Runtime,
    files: list[Path],
    author: str,
    terminal: Terminal,
    readable: Collection[Scope] = (INSTALLATION,),
) -> list[Publication]:
    """Read all files and publish them together; nothing is published when one of them cannot be."""
    limit = runtime.installation.settings.sizes.spec
    specs = [_spec_of(file, limit) for file in files]
    published = await runtime.publish_together(specs, author, readable, terminal.language)
    for item in published:
        show_publication(item, terminal)
    return published


def _spec_of(file: Path, limit: int) -> Spec:
    try:
        with file.open("rb") as source:
            text = source.read(limit + 1)
    except (OSError, ValueError) as error:
        why = error if isinstance(error, OSError) else str(error)
        raise InterlockError("runtime.unreadable", file=str(file), why=why) from None
    return read_spec(text, str(file), limit=limit)


def show_publication(item: Publication, terminal: Terminal) -> None:
    """Write what publishing came to, for a person."""
    message = "cli.publish.new" if item.new else "cli.publish.same"
    terminal.tell(message, agent=item.agent, version=item.version)
    for warning in item.warnings:
        terminal.line(f"  ! {terminal.say(warning)}")
    for wording in item.wording:
        terminal.line(f"  + {terminal.say('cli.publish.wording')} {terminal.say(wording)}")


def _form(item: Publication, terminal: Terminal) -> dict[str, Any]:
    return {
        "agent": item.agent,
        "version": item.version,
        "digest": item.digest,
        "new": item.new,
        "warnings": [{**text, "text": say(text, terminal.language)} for text in item.warnings],
        "wording": [say(text, terminal.language) for text in item.wording],
    }
