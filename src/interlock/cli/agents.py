"""`interlock agents`: the published agents, and pausing, resuming, retiring and stopping them."""

from typing import Annotated, Any

from cyclopts import App, Parameter

from interlock.cli.terminal import DONE, Options, account, perform
from interlock.errors import InterlockError
from interlock.run.installation import Installation
from interlock.run.publishing import change_agent, change_scope
from interlock.scope.scope import INSTALLATION, Address, Scope

__all__ = ["app"]

PAGE = 1000
ALL = 1_000_000

app = App(name="agents", help_format="plaintext", result_action="return_value")


@app.default
def agents(*, options: Options = Options()) -> int:  # noqa: B008  frozen
    """List the published agents with their version and state."""
    return perform(_list(options))


async def _list(options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        stopped = await runtime.installation.stopped()
        found: list[dict[str, Any]] = []
        after = ""
        while rows := await runtime.installation.ledger.query("agents_after", after, PAGE):
            after = rows[-1][0]
            for address, scope, version, state, _ in rows:
                if runtime.installation.is_stopped(Scope(scope), stopped):
                    state = "stopped"
                found.append({"agent": address, "version": version, "state": state})
    if not found:
        terminal.tell("cli.agents.none")
    width = max((len(item["agent"]) for item in found), default=0)
    for item in found:
        state = terminal.say(f"cli.agents.state_{item['state']}")
        terminal.line(
            f"{item['agent']:<{width}}  {terminal.say('cli.agents.version', n=item['version'])}  {state}"
        )
    for scope in stopped:
        terminal.tell("cli.agents.stopped", scope=scope)
    terminal.data(found)
    return DONE


async def _change(who: str, change: str, options: Options) -> int:
    terminal, by = options.terminal, account()
    async with await options.runtime() as runtime:
        installation = runtime.installation
        if "@" in who:
            await change_agent(installation, Address(who), change, by)
        else:
            scope = Scope(who)
            if change == "resume" and scope not in await installation.stopped():
                raise InterlockError("cli.agents.not_stopped", who=who)
            if change == "stop":
                await _check_somebody_is_in(installation, scope)
            await change_scope(installation, scope, change == "stop", by)
        count = 1 if "@" in who else await _count_in(installation, Scope(who))
    terminal.tell(f"cli.agents.done_{change}", who=who)
    if "@" not in who:
        terminal.tell("cli.agents.count", count=count)
    terminal.data({"changed": who, "change": change, "agents": count})
    return DONE


async def _check_somebody_is_in(installation: Installation, scope: Scope) -> None:
    """Refuse to stop a scope in which no agent lives: whoever pulls the brake must not have mistyped it."""
    rows = await installation.ledger.query("agents_after", "", ALL)
    known = sorted({str(place) for row in rows for place in (Scope(row[1]), Scope(row[1]).company)})
    if scope != INSTALLATION and not any(scope.reaches(Scope(row[1])) for row in rows):
        raise InterlockError("cli.agents.nobody_there", value=str(scope), known=known)


async def _count_in(installation: Installation, scope: Scope) -> int:
    rows = await installation.ledger.query("agents_after", "", ALL)
    return sum(scope.reaches(Scope(row[1])) for row in rows)


@app.command(help="cli.agents.pause.help")
def pause(
    agent: Annotated[Address, Parameter(help="cli.agents.address")],
    /,
    *,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Let an agent start no run until it is resumed."""
    return perform(_change(agent, "pause", options))


@app.command(help="cli.agents.resume.help")
def resume(
    agent_or_scope: Annotated[str, Parameter(help="cli.agents.who")],
    /,
    *,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Let a paused or retired agent, or a stopped scope, start runs again."""
    return perform(_change(agent_or_scope, "resume", options))


@app.command(help="cli.agents.retire.help")
def retire(
    agent: Annotated[Address, Parameter(help="cli.agents.address")],
    /,
    *,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Take an agent out of service."""
    return perform(_change(agent, "retire", options))


@app.command(help="cli.agents.stop.help")
def stop(
    scope: Annotated[Scope, Parameter(help="cli.agents.scope")],
    /,
    *,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Stop all agents of a company, an area, or the whole installation (`*`)."""
    return perform(_change(scope, "stop", options))
