"""`interlock connector`: where conversations come in from and answers go out to, and the server that takes them in."""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from cyclopts.types import PositiveInt

from interlock.cli.terminal import DONE, Options, account, perform
from interlock.cli.worker import stopping
from interlock.connector.signature import fresh_key, keys_of
from interlock.errors import InterlockError

if TYPE_CHECKING:
    from interlock.runtime import Runtime

__all__ = ["app"]

app = App(name="connector", help_format="plaintext", result_action="return_value")


@app.command(name="list", help="cli.connector.list.help")
def list_connectors(*, options: Options = Options()) -> int:  # noqa: B008  frozen
    """List the connectors."""
    return perform(_list(options))


async def _list(options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        found = [await _about(runtime, name) for name in sorted(runtime.installation.settings.connectors)]
    for item in found:
        terminal.line(f"{item['connector']}  {item['scope']}")
        terminal.tell("cli.connector.in", path=item["path"], agents=item["agents"])
        terminal.tell("cli.connector.out", reply_to=item["reply_to"] or "–", waiting=item["waiting"])
        if not item["key"]:
            terminal.tell("cli.connector.closed", why=item["why"])
    if not found:
        terminal.tell("cli.connector.none")
    terminal.data([{key: value for key, value in item.items() if key != "why"} for item in found])
    return DONE


async def _about(runtime: "Runtime", name: str) -> dict[str, Any]:
    installation = runtime.installation
    choice, why = installation.settings.connectors[name], ""
    try:
        keys_of(name, choice, installation.environment)
    except InterlockError as error:
        why = error.what(installation.settings.language)
    attending = await installation.ledger.query("listeners_of_event", f"connector:{name}")
    return {
        "connector": name,
        "scope": str(choice.scope),
        "path": f"/connectors/{name}",
        "agents": [row[0] for row in attending],
        "reply_to": choice.reply_to,
        "waiting": (await installation.ledger.query("outgoing_waiting", name))[0][0],
        "key": not why,
        "why": why,
    }


@app.command(help="cli.connector.serve.help")
def serve(
    *,
    host: Annotated[str, Parameter(help="cli.connector.host")] = "127.0.0.1",
    port: Annotated[int, Parameter(help="cli.connector.port")] = 8321,
    concurrency: Annotated[PositiveInt, Parameter(help="cli.worker.concurrency")] = 64,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Take messages in, and run what they start."""
    return perform(_serve(host, port, concurrency, options))


async def _serve(host: str, port: int, concurrency: int, options: Options) -> int:
    from interlock.api.connector import application, listening
    from interlock.api.connector import serve as serve_at

    terminal = options.terminal
    async with await options.runtime() as runtime, runtime.worker(concurrency) as at_work:
        installation = runtime.installation
        if not installation.settings.connectors:
            raise InterlockError("connector.none")
        for name, choice in installation.settings.connectors.items():
            keys_of(name, choice, installation.environment)
        served = application(runtime, at_work)
        with listening(host, port) as door:
            stop, hurry = stopping()
            where = door.getsockname()[:2]
            terminal.tell("cli.connector.serving", host=where[0], port=str(where[1]), worker=at_work.name)
            sys.stdout.flush()  # whoever started it through a pipe is told now, not when it ends
            serving = asyncio.create_task(serve_at(served, door, stop))
            try:
                await at_work.work(stop, hurry)
            finally:
                stop.set()
                await serving
        terminal.tell("cli.worker.stopped", runs=at_work.ended)
        terminal.data({"worker": at_work.name, "runs": at_work.ended})
    return DONE


@app.command(help="cli.connector.key.help")
def key(*, options: Options = Options()) -> int:  # noqa: B008  frozen
    """Make a key."""
    made = fresh_key()
    options.terminal.line(made)
    options.terminal.data({"key": made})
    return DONE


@app.command(help="cli.connector.resend.help")
def resend(
    message: Annotated[str, Parameter(help="cli.connector.message")],
    /,
    *,
    person: Annotated[str | None, Parameter(help="cli.run.person")] = None,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Send once more what the outside would not take."""
    return perform(_resend(message, account() if person is None else person, options))


async def _resend(message: str, by: str, options: Options) -> int:
    from interlock.run.outgoing import send_again

    async with await options.runtime() as runtime:
        found = (await runtime.human_queue.find(message)).id
        await send_again(runtime.installation, found, by)
    options.terminal.tell("cli.connector.resent", id=found)
    options.terminal.data({"id": found, "by": by})
    return DONE
