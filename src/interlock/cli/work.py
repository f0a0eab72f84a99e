"""`interlock work`: the work graphs of a run, with which edge let which artifact into which prompt."""

from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import App, Parameter
from cyclopts.types import PositiveInt

from interlock.cli.terminal import DONE, Options, Terminal, perform
from interlock.errors import InterlockError
from interlock.event.event import shown_size
from interlock.run.work_picture import MARKS, Tried, WorkPicture, as_mermaid, pictures_of
from interlock.work_graph.node import Node

__all__ = ["app", "show_picture"]

WIDTH = 100
"""How many characters a line has at most, as far as names allow."""

app = App(name="work", help_format="plaintext", result_action="return_value")


@app.command(help="cli.work.show.help")
def show(
    run: Annotated[str, Parameter(help="cli.trail.run")],
    /,
    *,
    revision: Annotated[PositiveInt | None, Parameter(help="cli.work.revision")] = None,
    mermaid: Annotated[bool, Parameter(help="cli.work.mermaid", negative="")] = False,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Show the work graphs of a run."""
    return perform(_show(run, revision, mermaid, options))


async def _show(run: str, revision: int | None, mermaid: bool, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        name = await runtime.find_run(run)
        pictures = await pictures_of(runtime.installation, name)
    if not pictures:
        terminal.tell("cli.work.none", run=name)
    wanted = [item for item in pictures if revision is None or item.work.revision == revision]
    if pictures and not wanted:
        raise InterlockError("work.no_revision", value=revision, run=name, known=len(pictures))
    for picture in wanted:
        if mermaid:
            terminal.line(as_mermaid(picture, terminal.language))
        else:
            show_picture(picture, terminal)
    terminal.data([picture.as_dict(terminal.language) for picture in wanted])
    return DONE


def show_picture(picture: WorkPicture, terminal: Terminal) -> None:
    """Write what became of one revision of a run's work graph, node by node."""
    terminal.tell(
        "cli.work.title",
        run=picture.run,
        revision=picture.work.revision,
        status=terminal.say(f"work.status.{picture.status}"),
        nodes=len(picture.graph.nodes),
        edges=picture.graph.edges,
    )
    for node in picture.graph.nodes:
        _node(picture, node, terminal)


def _node(picture: WorkPicture, node: Node, terminal: Terminal) -> None:
    terminal.line(f"{MARKS[picture.states[node.name]]} {node.name}  ({node.kind})")
    tried = picture.tried[node.name]
    if not tried:
        for edge in node.needs:
            source = edge.source or terminal.say("work.root")
            terminal.line(f"    ⇠ {source}: {edge.artifact}, {edge.media}")
    for item in tried:
        _attempt(item, terminal)
    if node.name in picture.why and (not tried or tried[-1].reason is None):
        terminal.line(f"    {terminal.say(picture.why[node.name])}")


def _attempt(tried: Tried, terminal: Terminal) -> None:
    outcome = terminal.say(f"work.outcome.{tried.outcome or 'open'}")
    if tried.kept:
        terminal.line(f"    {terminal.say('cli.work.kept', revision=tried.kept)}")
    else:
        terminal.line(f"    {terminal.say('cli.work.attempt', n=tried.number, outcome=outcome)}")
    if tried.reason is not None:
        terminal.line(f"      {terminal.say(tried.reason)}")
    for item in tried.edges:
        source = item["from"] or terminal.say("work.root")
        _artifact(f"← {source}: {item['artifact']} → {item['name']}", item, terminal)
    if tried.missing:
        terminal.line(f"      {terminal.say('cli.work.missing', nodes=tried.missing)}")
    if tried.run:
        terminal.line(f"      {terminal.say('cli.work.child', run=tried.run)}")
    for prompt in tried.prompts:
        said = "cli.work.prompt_with" if prompt.content else "cli.work.prompt"
        terminal.line(
            f"        {terminal.say(said, n=prompt.n, named=list(prompt.named), content=list(prompt.content))}"
        )
    for item in tried.artifacts:
        _artifact(f"→ {item['name']}", item, terminal)


def _artifact(name: str, item: Mapping[str, Any], terminal: Terminal) -> None:
    """Write an artifact in one line, or in two where one would be too long to be read."""
    about = f"{item['media']}, {shown_size(item['size'])}, {item['digest'][:12]}"
    line = f"      {name}, {about}"
    for part in (line,) if len(line) <= WIDTH else (f"      {name},", f"          {about}"):
        terminal.line(part)
