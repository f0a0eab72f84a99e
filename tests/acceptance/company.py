"""A company for tests with real processes: agents, a script, and tools whose effects can be counted outside."""

import json
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

__all__ = ["Company", "Step"]

TOOLS = '''
"""Tools that write down each of their effects, beside the installation, where a kill does not undo it."""
import asyncio
import os
import time
from pathlib import Path

from interlock.connector.tool import ToolCall, tool
from interlock.run.function import Finish

ORDER = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
NOTHING = {"type": "object", "properties": {}}
EFFECTS = str(Path(os.environ.get("EFFECTS", Path(__file__).with_name("effects"))))


def effect(name, run):
    descriptor = os.open(EFFECTS, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{name} {run}\\n".encode())
    os.close(descriptor)


@tool(effect="read", labels=[], parameters=ORDER)
async def look(call: ToolCall, order: str) -> dict:
    """Look at an order."""
    effect("look", call.run)
    return {"order": order, "amount": 12}


@tool(effect="write", steers=["order"], labels=[], parameters=ORDER, key="{task_id}:book:{order}")
async def book(call: ToolCall, order: str) -> dict:
    """Book an order."""
    effect("book", call.run)
    return {"booked": order}


@tool(effect="write", steers=["order"], labels=[], parameters=ORDER, key="charge:{order}")
async def charge(call: ToolCall, order: str) -> dict:
    """Charge an order, whichever task it belongs to."""
    effect("charge", call.run)
    await asyncio.sleep(0.5)
    return {"receipt": call.run}


@tool(effect="write", steers=["order"], labels=[], parameters=ORDER, key="{task_id}:pay:{order}")
async def pay(call: ToolCall, order: str) -> dict:
    """Pay an order; the receipt comes when a file called `go` is there."""
    effect("pay", call.run)
    while not Path(EFFECTS).with_name("go").exists():
        await asyncio.sleep(0.02)
    return {"receipt": order}


@tool(effect="read", labels=[], parameters=NOTHING)
async def count(call: ToolCall) -> int:
    """Count one."""
    effect("count", call.run)
    return 1


@tool(effect="read", labels=[], parameters=NOTHING)
async def hold(call: ToolCall) -> str:
    """Wait until a file called `go` is there."""
    effect("hold", call.run)
    while not Path(EFFECTS).with_name("go").exists():
        await asyncio.sleep(0.02)
    return "went on"


@tool(effect="read", labels=[], parameters=NOTHING)
async def block(call: ToolCall) -> str:
    """Block the whole process until a file called `go` is there."""
    effect("block", call.run)
    while not Path(EFFECTS).with_name("go").exists():
        time.sleep(0.02)
    return "went on"


async def triage(run):
    """The function body that does what the scripted triage does."""
    found = await run.call("look", order="o7")
    booked = await run.call("book", order=found["order"])
    return Finish("Triaged.", {"findings": booked["booked"] + " " + "finding " * 400})


async def listener(run):
    """The function body that does what the scripted listener does."""
    text = await run.read_artifact("findings")
    return Finish(f"Read {len(text)} characters.", {"plan": text[:20]})
'''

SCRIPT = {
    "triage@acme/platform": [
        {"call": "look", "with": {"order": "o7"}},
        {"call": "book", "with": {"order": "o7"}},
        {"finish": {"summary": "Triaged.", "artifacts": {"findings": "o7 " + "finding " * 400}}},
    ],
    "listener@acme/platform": [
        {"call": "read_artifact", "with": {"name": "findings"}},
        {"finish": {"summary": "Planned.", "artifacts": {"plan": "o7: do it"}}},
    ],
    "counter@acme/platform": [{"call": "count"}, {"finish": "Counted."}],
    "holder@acme/platform": [
        {"call": "hold"},
        {"call": "book", "with": {"order": "o1"}},
        {"finish": "Held."},
    ],
    "blocker@acme/platform": [{"call": "block"}, {"finish": "Blocked."}],
    "payer@acme/platform": [{"call": "pay", "with": {"order": "o1"}}, {"finish": "Paid."}],
    "charger@acme/platform": [{"call": "charge", "with": {"order": "o1"}}, {"finish": "Charged."}],
}

AGENTS: dict[str, dict[str, Any]] = {
    "triage": {
        "tools": ["look", "book"],
        "emits": [{"event": "triaged", "context": "incident", "artifacts": ["findings"]}],
    },
    "listener": {"starts_on": [{"event": "triaged"}]},
    "counter": {"tools": ["count"]},
    "holder": {"tools": ["hold", "book"]},
    "blocker": {"tools": ["block"]},
    "charger": {"tools": ["charge"]},
    "payer": {"tools": ["pay"]},
}


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a trail, as the file has it."""

    kind: str
    body: dict[str, Any]
    fence: int


class Company:
    """The folder of a company. JSON is YAML: its files are written as such."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / ".interlock"

    @classmethod
    def made(
        cls,
        folder: Path,
        agents: Iterable[str],
        functions: Iterable[str] = (),
        script: dict[str, Any] | None = None,
        declared: dict[str, dict[str, Any]] | None = None,
        **settings: Any,
    ) -> "Company":
        """Write the files of a company with some of the agents; `functions` names those with a function body,
        `declared` gives further ones."""
        (folder / "agents").mkdir(parents=True)
        (folder / "tools.py").write_text(TOOLS)
        (folder / "answers.yaml").write_text(json.dumps(SCRIPT if script is None else script))
        (folder / "interlock.yaml").write_text(
            json.dumps(
                {
                    "modules": ["tools.py"],
                    "models": {"default": {"provider": "scripted", "script": "answers.yaml"}},
                    **settings,
                }
            )
        )
        known = AGENTS | (declared or {})
        for name in agents:
            body = (
                {"function": f"tools:{name}"}
                if name in functions
                else {"instructions": f"You are {name}. Write findings."}
            )
            spec = {"name": name, "scope": "acme/platform", **body, **known[name]}
            (folder / "agents" / f"{name}.yaml").write_text(json.dumps(spec))
        return cls(folder)

    def copy(self, folder: Path) -> "Company":
        """Give a copy of it all, ledger and key included."""
        shutil.copytree(self.folder, folder)
        return Company(folder)

    @property
    def effects(self) -> Counter[str]:
        """How often each tool had its effect."""
        return Counter(line.split()[0] for line in self._effect_lines())

    def effects_by_run(self, name: str) -> Counter[str]:
        """How often a tool had its effect, by run."""
        return Counter(line.split()[1] for line in self._effect_lines() if line.startswith(name + " "))

    def _effect_lines(self) -> list[str]:
        file = self.folder / "effects"
        return file.read_text().splitlines() if file.exists() else []

    def go(self) -> None:
        """Let the tools that wait go on."""
        (self.folder / "go").touch()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Read the ledger's file, from outside."""
        db = apsw.Connection(str(self.home / "ledger.db"), flags=apsw.SQLITE_OPEN_READONLY)
        db.set_busy_timeout(10_000)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def trails(self) -> dict[str, list[Step]]:
        """Give the steps of each run, by run."""
        found: dict[str, list[Step]] = {}
        for stream, kind, body, fence in self.rows(
            "SELECT stream, kind, body, fence FROM step WHERE stream GLOB 'run_*' ORDER BY stream, seq"
        ):
            found.setdefault(stream, []).append(Step(kind, json.loads(body), fence))
        return found

    def artifacts(self) -> list[tuple[Any, ...]]:
        """Give every artifact as agent, name, digest, size and media type."""
        return self.rows(
            "SELECT run.agent, name, digest, size, media FROM artifact JOIN run ON run.id = artifact.run ORDER BY 1, 2"
        )
