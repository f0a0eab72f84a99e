"""`interlock publish`: checks specs and publishes each as a version, with its warnings."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from interlock.agent.reader import read_spec
from interlock.agent.spec import Spec
from interlock.catalogue import say
from interlock.cli.terminal import DONE, Options, Terminal, account, perform
from interlock.errors import InterlockError, SeveralError
from interlock.form.yaml_text import read
from interlock.run.publishing import NotPublishedError, Publication
from interlock.runtime import Runtime
from interlock.scope.scope import INSTALLATION, Scope

PLACES = {
    "flow.no_steering": "tools",
    "flow.unknown_tool": "tools",
    "flow.unknown_tool_near": "tools",
    "flow.untraceable": "tools",
    "function.unknown": "function",
    "label.undeclared": "adds_labels",
    "publish.unknown_model": "model",
}
"""Which key of an agent's file each mistake is about that is only seen when it is published."""

__all__ = ["publish", "publish_files", "show_publication"]


def publish(
    *files: Annotated[Path, Parameter(help="cli.publish.files")],
    author: Annotated[str | None, Parameter(help="cli.publish.author")] = None,
    reader: Annotated[list[Scope] | None, Parameter(help="cli.publish.reader", negative="")] = None,
    check: Annotated[bool, Parameter(help="cli.publish.check", negative="")] = False,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Publish specs; those of the folder `agents` when no file is named."""
    by = account() if author is None else author
    return perform(_publish(files, by, reader or [INSTALLATION], check, options))


async def _publish(
    files: tuple[Path, ...], author: str, readable: Collection[Scope], check: bool, options: Options
) -> int:
    terminal = options.terminal
    async with await options.runtime() as runtime:
        chosen = [found for file in files or [runtime.folder / "agents"] for found in _files_in(file)]
        if not chosen:
            raise InterlockError("cli.publish.nothing", folder=str(runtime.folder / "agents"))
        found = await publish_files(runtime, chosen, author, terminal, readable, check)
        terminal.data([_form(item, terminal) for item in found])
    return DONE


def _files_in(path: Path) -> list[Path]:
    """Give the YAML files of a folder; a path that is none stands for itself."""
    return sorted(path.glob("*.y*ml")) if path.is_dir() else [path]


async def publish_files(
    runtime: Runtime,
    files: list[Path],
    author: str,
    terminal: Terminal,
    readable: Collection[Scope] = (INSTALLATION,),
    check: bool = False,
) -> list[Publication]:
    """Read all files and publish them together; nothing is published when one of them cannot be, and the
    mistakes of all are told. With `check` nothing is published at all."""
    limit = runtime.installation.settings.sizes.spec
    sources: dict[Spec, _Source] = {}
    mistakes: list[InterlockError] = []
    for file in files:
        try:
            text = _text_of(file, limit)
            sources[read_spec(text, str(file), limit=limit)] = _Source(file, text)
        except InterlockError as error:
            mistakes.append(error)
    published: list[Publication] = []
    try:
        if not mistakes:
            published = await runtime.publish_together(
                list(sources), author, readable, terminal.language, check
            )
    except NotPublishedError as error:
        mistakes += [sources[spec].placed(mistake) for spec, mistake in error.mistakes]
    except InterlockError as error:
        mistakes.append(sources[next(iter(sources))].placed(error) if len(sources) == 1 else error)
    if mistakes:
        raise mistakes[0] if len(mistakes) == 1 else SeveralError("publish.several", mistakes)
    for item in published:
        show_publication(item, terminal, check)
    return published


def _text_of(file: Path, limit: int) -> bytes:
    try:
        with file.open("rb") as source:
            return source.read(limit + 1)
    except (OSError, ValueError) as error:
        why = error if isinstance(error, OSError) else str(error)
        raise InterlockError("runtime.unreadable", file=str(file), why=why) from None


@dataclass(frozen=True, slots=True)
class _Source:
    """A file that a spec was read from, to find the place of what cannot be published."""

    file: Path
    text: bytes

    def placed(self, error: InterlockError) -> InterlockError:
        """Give an error with the place in the file that it speaks of; as it is when that has none."""
        key = PLACES.get(error.code)
        if key is None:
            return error
        marked = read(self.text, str(self.file), len(self.text))
        written = marked.value.get(key)
        value = error.params.get("tool", error.params.get("value"))
        path = (key, written.index(value)) if isinstance(written, list) and value in written else (key,)
        line, column = marked.where(path)
        return PlacedError(error, f"{self.file}:{line}:{column}")


class PlacedError(InterlockError):
    """An error with its place in a file, told as one."""

    def __init__(self, error: InterlockError, where: str) -> None:
        super().__init__(error.code, **error.params)
        self.where = where

    def what(self, language: str = "en") -> str:
        """Say where, and what happened."""
        return f"{self.where}: {super().what(language)}"


def show_publication(item: Publication, terminal: Terminal, check: bool = False) -> None:
    """Write what publishing came to, or with `check` would come to, for a person."""
    new = "cli.publish.would" if check else "cli.publish.new"
    message = new if item.new else "cli.publish.same"
    terminal.tell(message, agent=item.agent, version=item.version)
    for warning in item.warnings:
        terminal.line(f"  ! {terminal.say(warning)}")
    for cost in item.cost:
        terminal.line(f"  = {terminal.say('cli.publish.cost')} {terminal.say(cost)}")
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
        "cost": [{**text, "text": say(text, terminal.language)} for text in item.cost],
    }
