"""`interlock graph`: draws the agents, who starts whom, with loops and refused edges marked."""

from typing import Annotated

from cyclopts import Parameter

from interlock.agent.graph import Picture, as_mermaid, as_text, draw
from interlock.agent.spec import Spec
from interlock.cli.terminal import DONE, Options, Terminal, perform
from interlock.runtime import Runtime

__all__ = ["drawing_of", "graph"]

PAGE = 1000


def graph(
    *,
    mermaid: Annotated[bool, Parameter(help="cli.graph.mermaid", negative="")] = False,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Draw the agents."""
    return perform(_graph(mermaid, options))


async def _graph(mermaid: bool, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        picture = await picture_of(runtime)
    drawn = as_mermaid if mermaid else as_text
    terminal.line(drawn(picture, terminal.language))
    terminal.data(picture.as_dict())
    return DONE


async def picture_of(runtime: Runtime) -> Picture:
    """Give the picture of all agents that are not retired."""
    specs: list[Spec] = []
    after = ""
    while rows := await runtime.installation.ledger.query("agents_after", after, PAGE):
        after = rows[-1][0]
        for address, _, version, state, _ in rows:
            if state != "retired":
                specs.append(await runtime.installation.spec(address, version))
    return draw(specs, runtime.installation.settings.vocabulary)


async def drawing_of(runtime: Runtime, terminal: Terminal) -> str:
    """Give the drawing of all agents in words."""
    return as_text(await picture_of(runtime), terminal.language)
