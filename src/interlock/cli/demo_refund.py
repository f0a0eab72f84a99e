"""`interlock demo refund`: a fee that two agents would refund twice, and what keeps them from it, before one's eyes."""

import asyncio
import runpy
from pathlib import Path
from typing import Any

from interlock.cli.channels import show_channels
from interlock.cli.demo_part import Quiet, heading
from interlock.cli.exchange import show_exchange
from interlock.cli.publish import publish_files
from interlock.cli.terminal import DONE, FOUND, Terminal
from interlock.cli.verify import show_findings
from interlock.connector.tool import ToolCall
from interlock.message.channel import channels_used
from interlock.run.exchange import read_exchange
from interlock.run.worker import Worker
from interlock.runtime import Runtime
from interlock.scope.scope import Address

__all__ = ["demo_refund"]

SUPPORT = Address("support@acme/desk")
BILLING = "billing@acme/desk"
PERSON = "Ana"
ORDER = "o-1042"


async def demo_refund(folder: Path, home: Path, terminal: Terminal) -> int:
    """Tell the case, part by part, and give the exit code: whether each part came out as it must."""
    terminal.tell("demo.refund.start")
    told: dict[str, Any] = {"without": _without(folder, terminal)}
    async with await Runtime.open(folder, home=home) as runtime:
        await publish_files(
            runtime, sorted((folder / "agents").glob("*.yaml")), PERSON, Quiet(terminal.language, True)
        )
        demo = _Demo(runtime, terminal)
        told["package"] = await demo.refund("package", pass_to=BILLING)
        told["ledger"] = await demo.refund("ledger", pass_to="hasty-billing@acme/desk")
        told["malformed"] = await demo.refund("malformed", pass_to=BILLING, copy_conversation=True)
        told["queue"] = await demo.unacknowledged()
        told["channels"] = await demo.channels()
        heading(terminal, "demo.refund.verify")
        told["findings"] = await show_findings(runtime, None, terminal)
        terminal.tell("cli.demo.look", folder=str(folder), home=str(home))
    terminal.data(told)
    return DONE if _well(told) else FOUND


def _without(folder: Path, terminal: Terminal) -> int:
    """Part (a): two plain functions."""
    heading(terminal, "demo.refund.without")
    conversation, count = runpy.run_path(str(folder / "without.py"))["case"]()
    for line in conversation:
        terminal.line(f"  {line}")
    terminal.tell("demo.refund.count", count=count)
    return int(count)


class _Demo:
    """The parts with Interlock."""

    def __init__(self, runtime: Runtime, terminal: Terminal) -> None:
        self._runtime, self._terminal = runtime, terminal

    async def _paid(self) -> int:
        """How often the bank paid, as the bank counts it."""
        bank = self._runtime.installation.tools.get("paid_back")
        return int(await bank(ToolCall("", "", "", 0), {"order_id": ORDER})) if bank else 0

    async def _opened(self, worker: Worker, **more: Any) -> str:
        says = "please refund the late fee of order o-1042 and correct my invoice"
        brief = {"customer_says": says, "order_id": ORDER, **more}
        return await self._runtime.open_run(SUPPORT, PERSON, brief, worker=worker)

    async def refund(self, title: str, **more: Any) -> dict[str, Any]:
        """Parts (b) and (c): a case from beginning to end, with how often the bank paid for it."""
        heading(self._terminal, f"demo.refund.{title}")
        before = await self._paid()
        async with self._runtime.worker() as worker:
            run = await self._opened(worker, **more)
            await worker.idle()
        return await self._tell(run, before)

    async def _tell(self, run: str, before: int) -> dict[str, Any]:
        root = (await self._runtime.run(run)).root_task
        exchange = await show_exchange(self._runtime, root, self._terminal)
        count = await self._paid() - before
        self._terminal.tell("demo.refund.count", count=count)
        return {"refunds": count, "exchange": exchange}

    async def unacknowledged(self) -> dict[str, Any]:
        """Part (d): nobody works for billing until the time for the acknowledgement is over."""
        heading(self._terminal, "demo.refund.queue")
        before = await self._paid()
        runtime = self._runtime
        async with runtime.worker() as worker:
            run = await self._opened(worker, pass_to=BILLING)
            await worker.finished(run)
        self._terminal.progress("demo.refund.waiting")
        await asyncio.sleep(runtime.installation.settings.acknowledge_ms / 1000 + 0.1)
        self._terminal.progress_done()
        async with runtime.worker() as worker:
            await worker.idle()
        told = await self._tell(run, before)
        items = await runtime.human_queue.items()
        return {**told, "queue": [item.as_dict() for item in items]}

    async def channels(self) -> list[int]:
        """Part (f): a third agent joins, and then all talk goes through one."""
        counts = []
        for through in (False, True):
            heading(self._terminal, f"demo.refund.{'through_one' if through else 'third'}")
            async with self._runtime.worker() as worker:
                run = await self._opened(worker, ask_around="through support" if through else "directly")
                await worker.idle()
            steps, _ = await read_exchange(
                self._runtime.installation, (await self._runtime.run(run)).root_task
            )
            found = channels_used(steps)
            if not self._terminal.as_json:
                show_channels(found, SUPPORT, self._terminal)
            counts.append(len(found))
        return counts


def _well(told: dict[str, Any]) -> bool:
    once = all(told[part]["refunds"] == 1 for part in ("package", "ledger", "malformed", "queue"))
    queued = [item["kind"] for item in told["queue"]["queue"]] == ["task"]
    return bool(once and queued and told["channels"] == [3, 2] and not told["findings"])
