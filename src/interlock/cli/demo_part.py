"""A part of a demo: what every demo does alike: its headings, and a run that an earlier demo in the same home may have
begun."""

from typing import Any

from interlock import canonical
from interlock.cli.terminal import Terminal
from interlock.errors import InterlockError
from interlock.runtime import Runtime
from interlock.scope.scope import Address
from interlock.settings import ModelChoice

__all__ = ["Quiet", "carry_out", "heading", "model_of"]


class Quiet(Terminal):
    """A terminal that nobody reads."""

    def data(self, value: Any) -> None:
        """Write nothing."""


def heading(terminal: Terminal, message: str) -> None:
    """Write the heading of a part."""
    terminal.line()
    terminal.line(f"── {terminal.say(message)} ──")


def model_of(text: str) -> ModelChoice:
    """Read `provider:name`, as in `openai:gpt-5`. Raises InterlockError `cli.demo.bad_model`."""
    provider, colon, name = text.partition(":")
    if not (provider and colon and name):
        raise InterlockError("cli.demo.bad_model", value=text)
    return ModelChoice(provider=provider, model=name)


async def carry_out(
    runtime: Runtime, agent: Address, person: str, brief: dict[str, Any], terminal: Terminal, again: str
) -> str:
    """Open the run, or go on with the one that an earlier, interrupted demo opened in the same home, and bring it to
    its end. `again` is what is said where it was at its end. Gives the run's id."""
    async with runtime.worker() as worker:
        begun = await _begun(runtime, agent, brief)
        if begun is not None:
            await worker.drain()
            terminal.tell("cli.demo.resumed" if worker.ended else again, home=str(runtime.home))
            return begun
        root = await runtime.open_run(agent, person, brief, worker=worker)
        terminal.progress("cli.run.working", run=root)
        await worker.finished(root)
        await worker.idle()
        terminal.progress_done()
        return root


async def _begun(runtime: Runtime, agent: Address, brief: dict[str, Any]) -> str | None:
    """Give the run that was opened with the same brief before, if there is one."""
    wanted = runtime.installation.contents.digest(agent.scope.company, canonical.encode(brief))
    for run, _ in await runtime.installation.ledger.query("runs_of_agent", agent):
        if (await runtime.run(run)).opening.get("input") == wanted:
            return str(run)
    return None
