"""`interlock demo`: a real log goes through two agents that share context by reference, before one's eyes."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

import interlock
from interlock import canonical
from interlock.cli.demo_refund import demo_refund
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
from interlock.settings import ModelChoice
from interlock.settings_reader import read_settings

__all__ = ["demo", "example_folder"]

TRIAGE = Address("triage@acme/platform")
PERSON = "demo"


def demo(
    which: Annotated[Literal["incident", "refund"], Parameter(help="cli.demo.which")] = "incident",
    /,
    *,
    log: Annotated[Path | None, Parameter(help="cli.demo.log")] = None,
    model: Annotated[str | None, Parameter(help="cli.demo.model")] = None,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Run an example."""
    folder = example_folder(which)
    if which == "refund":
        home = options.home or Path(tempfile.mkdtemp(prefix="interlock-demo-"))
        return perform(demo_refund(folder, home, options.terminal))
    chosen = log or folder / "postgres.log"
    if not chosen.is_file():
        raise InterlockError("cli.demo.no_log", value=str(chosen))
    home = options.home or Path(tempfile.mkdtemp(prefix="interlock-demo-"))
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
        _title(terminal, "cli.demo.publish")
        agents = sorted((folder / "agents").glob("*.yaml"), key=lambda path: path.stem != "triage")
        published = await publish_files(runtime, agents, PERSON, terminal)
        _title(terminal, "cli.demo.graph")
        terminal.line(await drawing_of(runtime, terminal))
        _title(terminal, "cli.demo.run")
        root = await _carry_out(runtime, log, terminal)
        runs = await chain_of(runtime, root)
        _title(terminal, "cli.demo.trail")
        for run in runs:
            await show_trail(runtime, run, terminal)
            terminal.line()
        refused = await _refused(runtime, root, terminal)
        artifacts = await _artifacts(runtime, runs, terminal)
        _title(terminal, "cli.demo.verify")
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


def model_of(text: str) -> ModelChoice:
    """Read `provider:name`, as in `openai:gpt-5`. Raises InterlockError `cli.demo.bad_model`."""
    provider, colon, name = text.partition(":")
    if not (provider and colon and name):
        raise InterlockError("cli.demo.bad_model", value=text)
    return ModelChoice(provider=provider, model=name)


def _title(terminal: Terminal, message: str) -> None:
    terminal.line()
    terminal.line(f"── {terminal.say(message)} ──")


async def _carry_out(runtime: Runtime, log: Path, terminal: Terminal) -> str:
    """Open the run, or go on with the one that an earlier, interrupted demo opened in the same home."""
    brief = {"log": str(log), "language": terminal.language}
    async with runtime.worker() as worker:
        begun = await _begun(runtime, brief)
        if begun is not None:
            await worker.drain()
            terminal.tell(f"cli.demo.{'resumed' if worker.ended else 'again'}", home=str(runtime.home))
            return begun
        root = await runtime.open_run(TRIAGE, PERSON, brief, worker=worker)
        terminal.progress("cli.run.working", run=root)
        await worker.finished(root)
        await worker.idle()
        terminal.progress_done()
        return root


async def _begun(runtime: Runtime, brief: dict[str, str]) -> str | None:
    """Give the run that was opened with the same brief before, if there is one."""
    wanted = runtime.installation.contents.digest(TRIAGE.scope.company, canonical.encode(brief))
    for run, _ in await runtime.installation.ledger.query("runs_of_agent", TRIAGE):
        if (await runtime.run(run)).opening.get("input") == wanted:
            return str(run)
    return None


async def _refused(runtime: Runtime, root: str, terminal: Terminal) -> list[dict[str, Any]]:
    _title(terminal, "cli.demo.refused")
    found = []
    for event in await events_of(runtime, root, terminal):
        for delivery in event.get("deliveries", ()):
            if delivery["outcome"] == "refused":
                found.append(delivery)
                terminal.line(f"{event['event']} → {delivery['listener']}  ({delivery['rule']})")
                terminal.line(f"  {delivery['text']}")
    return found


async def _artifacts(runtime: Runtime, runs: list[str], terminal: Terminal) -> list[dict[str, Any]]:
    _title(terminal, "cli.demo.summary")
    found = []
    for run in runs:
        for name, *_ in await runtime.installation.ledger.query("artifacts_of_run", run):
            about, data = await runtime.artifact(run, name)
            found.append(about)
            if name in {"triage_summary", "suspected_cause"}:
                terminal.line(f"{name}:")
                terminal.line(data.decode(errors="backslashreplace"))
    return found
