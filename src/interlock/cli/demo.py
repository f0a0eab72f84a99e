"""`interlock demo`: a real log goes through two agents that share context by reference, before one's eyes."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

import interlock
from interlock.cli.demo_part import carry_out, heading, model_of
from interlock.cli.demo_refund import demo_refund
from interlock.cli.demo_research import demo_research
from interlock.cli.event import events_of
from interlock.cli.graph import drawing_of
from interlock.cli.publish import publish_files
from interlock.cli.run import chain_of
from interlock.cli.terminal import DONE, FOUND, Options, Terminal, perform
from interlock.cli.trail import show_trail
from interlock.cli.verify import show_findings
from interlock.errors import InterlockError
from interlock.runtime import SETTINGS_FILE, Runtime
from interlock.scope.scope import Address
from interlock.settings_reader import read_settings

__all__ = ["demo", "example_folder"]

TRIAGE = Address("triage@acme/platform")
PERSON = "demo"


def demo(
    which: Annotated[
        Literal["incident", "refund", "research"], Parameter(help="cli.demo.which")
    ] = "incident",
    /,
    *,
    log: Annotated[Path | None, Parameter(help="cli.demo.log")] = None,
    model: Annotated[str | None, Parameter(help="cli.demo.model")] = None,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Run an example."""
    folder = example_folder(which)
    chosen = log or folder / "postgres.log"
    if which == "incident" and not chosen.is_file():
        raise InterlockError("cli.demo.no_log", value=str(chosen))
    home = options.home or Path(tempfile.mkdtemp(prefix="interlock-demo-"))
    if which == "refund":
        return perform(demo_refund(folder, home, options.terminal))
    if which == "research":
        return perform(demo_research(folder, home, model, options.terminal))
    return perform(_demo(folder, home, chosen.resolve(), model, options.terminal))


def example_folder(name: str) -> Path:
    """Give the folder of an example: of the installed package, or of the checkout it runs from.

    Raises InterlockError `cli.demo.missing`.
    """
    package = Path(interlock.__file__).parent
    for folder in (package / "examples" / name, package.parents[1] / "examples" / name):
        if (folder / SETTINGS_FILE).is_file():
            return folder
    raise InterlockError("cli.demo.missing", value=str(package / "examples" / name))


async def _demo(folder: Path, home: Path, log: Path, model: str | None, terminal: Terminal) -> int:
    settings = read_settings((folder / SETTINGS_FILE).read_bytes(), SETTINGS_FILE)
    if model is not None:
        settings = replace(settings, models={**settings.models, "default": model_of(model)})
    async with await Runtime.open(folder, home=home, settings=settings) as runtime:
        terminal.tell("cli.demo.start", log=str(log))
        heading(terminal, "cli.demo.publish")
        agents = sorted((folder / "agents").glob("*.yaml"), key=lambda path: path.stem != "triage")
        published = await publish_files(runtime, agents, PERSON, terminal)
        heading(terminal, "cli.demo.graph")
        terminal.line(await drawing_of(runtime, terminal))
        heading(terminal, "cli.demo.run")
        brief = {"log": str(log), "language": terminal.language}
        root = await carry_out(runtime, TRIAGE, PERSON, brief, terminal, "cli.demo.again")
        runs = await chain_of(runtime, root)
        heading(terminal, "cli.demo.trail")
        for run in runs:
            await show_trail(runtime, run, terminal)
            terminal.line()
        refused = await _refused(runtime, root, terminal)
        artifacts = await _artifacts(runtime, runs, terminal)
        heading(terminal, "cli.demo.verify")
        findings = await show_findings(runtime, None, terminal)
        terminal.line()
        terminal.tell("cli.demo.look", folder=str(folder), home=str(home))
        states = [{"run": run, "status": (await runtime.run(run)).status} for run in runs]
        terminal.data(
            {
                "folder": str(folder),
                "home": str(home),
                "agents": [{"agent": item.agent, "version": item.version} for item in published],
                "runs": states,
                "refused": refused,
                "artifacts": artifacts,
                "findings": findings,
            }
        )
        well = not findings and all(item["status"] == "finished" for item in states)
        return DONE if well else FOUND


async def _refused(runtime: Runtime, root: str, terminal: Terminal) -> list[dict[str, Any]]:
    heading(terminal, "cli.demo.refused")
    found = []
    for event in await events_of(runtime, root, terminal):
        for delivery in event.get("deliveries", ()):
            if delivery["outcome"] == "refused":
                found.append(delivery)
                terminal.line(f"{event['event']} → {delivery['listener']}  ({delivery['rule']})")
                terminal.line(f"  {delivery['text']}")
    return found


async def _artifacts(runtime: Runtime, runs: list[str], terminal: Terminal) -> list[dict[str, Any]]:
    heading(terminal, "cli.demo.summary")
    found = []
    for run in runs:
        for name, *_ in await runtime.installation.ledger.query("artifacts_of_run", run):
            about, data = await runtime.artifact(run, name)
            found.append(about)
            if name in {"triage_summary", "suspected_cause"}:
                terminal.line(f"{name}:")
                terminal.line(data.decode(errors="backslashreplace"))
    return found
