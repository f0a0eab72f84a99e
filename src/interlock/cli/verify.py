"""`interlock verify`: checks that nothing in the ledger was changed, removed or lost."""

from typing import Annotated, Any

from cyclopts import Parameter

from interlock.cli.terminal import DONE, FOUND, Options, Terminal, perform
from interlock.ledger.ledger import Finding
from interlock.runtime import Runtime

__all__ = ["show_findings", "verify"]


def verify(
    run: Annotated[str | None, Parameter(help="cli.verify.run")] = None,
    /,
    *,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Check a run, or everything."""
    return perform(_verify(run, options))


async def _verify(run: str | None, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        stream = await _stream(runtime, run)
        found = await show_findings(runtime, stream, terminal)
    terminal.data({"checked": stream or "*", "findings": found})
    return FOUND if found else DONE


async def _stream(runtime: Runtime, name: str | None) -> str | None:
    """A run may be named by the beginning of its id; other streams are named in full."""
    if name is None or (name.isprintable() and ("@" in name or name.startswith("task_"))):
        return name
    if name.isprintable() and await runtime.installation.ledger.query("stream_by_id", name):
        return name
    return await runtime.find_run(name)


async def show_findings(runtime: Runtime, stream: str | None, terminal: Terminal) -> list[dict[str, Any]]:
    """Write what does not fit, and give it."""
    found: list[Finding] = []
    async for finding in runtime.verify(stream):
        found.append(finding)
        terminal.line(f"  ✗ {said(finding, terminal)}")
    terminal.tell("cli.verify.damaged" if found else "cli.verify.sound", count=len(found))
    return [
        {
            "problem": item.problem,
            "stream": item.stream,
            "seq": item.seq,
            "detail": item.detail,
            "text": said(item, terminal),
        }
        for item in found
    ]


def said(finding: Finding, terminal: Terminal) -> str:
    """Put a finding into words. Content that no step names has no stream to be named by."""
    problem = finding.problem.replace(".", "_")
    if problem.startswith("content_") and finding.stream == "*":
        problem = f"kept_{problem}"
    return terminal.say(
        f"cli.finding.{problem}", stream=finding.stream, seq=finding.seq, detail=finding.detail
    )
