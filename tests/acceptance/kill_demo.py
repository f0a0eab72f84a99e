"""The demo, killed at random points and run again on the same home until it ends: the same artifacts, each once.

`python -m tests.acceptance.kill_demo --seeds 100` tries that many seeds, from `--first`, and prints each.
"""

import argparse
import json
import random
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path

import apsw

from interlock.ledger.content_store import Keys
from tests.processes import Processes, processes

__all__ = ["Expected", "expected_of", "kill_and_resume"]

REACHED = 27
"""About how many fault points a demo reaches; a count beyond that kills nothing."""
LASTS = 0.35
"""About how many seconds a demo lasts."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What an undisturbed demo leaves: the content of each artifact, by agent and name."""

    contents: dict[tuple[str, str], bytes]


def expected_of(folder: Path, commands: Processes) -> Expected:
    """Give what a demo leaves that nobody disturbs."""
    home = folder / "undisturbed"
    done = commands.run("demo", "--home", str(home), "--json", folder=folder)
    assert done.code == 0, done
    told = done.json()
    contents = {}
    for agent, run, name in _artifacts(home, "run.agent, run.id, name"):
        found = commands.run(
            "artifact", run, name, "--folder", told["folder"], "--home", str(home), folder=folder
        )
        assert found.code == 0, found
        contents[agent, name] = found.out
    return Expected(contents)


def kill_and_resume(seed: int, folder: Path, commands: Processes, expected: Expected) -> list[str]:
    """Kill demos on one home, from one to three in a row, then let one end; gives where they were killed."""
    chance, home = random.Random(seed), folder / f"home-{seed}"
    killed = [_kill(chance, home, folder, commands) for _ in range(chance.randint(1, 3))]
    done = commands.run("demo", "--home", str(home), "--json", folder=folder)
    assert done.code == 0, (seed, killed, done)
    _check(home, done.json(), expected, (seed, killed))
    return killed


def _kill(chance: random.Random, home: Path, folder: Path, commands: Processes) -> str:
    if chance.random() < 0.5:
        fault = f"*:{chance.randint(1, REACHED)}"
        done = commands.run(
            "demo", "--home", str(home), folder=folder, environment={"INTERLOCK_FAULT": fault}
        )
        assert done.code in {0, -signal.SIGKILL}, (fault, done)
        return fault if done.code else f"{fault} (not reached)"
    seconds = chance.uniform(0, LASTS)
    process = commands.start("demo", "--home", str(home), folder=folder)
    process.ended(seconds)
    process.send(signal.SIGKILL)
    done = process.wait()
    assert done.code in {0, -signal.SIGKILL}, (seconds, done)
    return f"after {seconds:.3f} s" if done.code else f"after {seconds:.3f} s (ended before)"


def _check(home: Path, told: dict[str, list[dict[str, str]]], expected: Expected, where: object) -> None:
    agents = sorted(row[0] for row in _rows(home, "SELECT agent FROM run"))
    assert agents == ["responder@acme/platform", "triage@acme/platform"], where
    assert told["findings"] == [], where
    assert [item["status"] for item in told["runs"]] == ["finished", "finished"], where
    assert [item["rule"] for item in told["refused"]] == ["data_barrier"], where
    keys = Keys.of_file(home / "key")
    wanted = {place: keys.digest("acme", content).hex() for place, content in expected.contents.items()}
    assert {(a, n): d for a, n, d in _artifacts(home, "run.agent, name, digest")} == wanted, where
    versions = _rows(home, "SELECT agent, count(*) FROM version GROUP BY 1")
    assert [count for _, count in versions] == [1, 1, 1], where
    for (stream,) in _rows(home, "SELECT id FROM run"):
        steps = _rows(home, f"SELECT kind, body FROM step WHERE stream = '{stream}' ORDER BY seq")
        answered = [
            (kind, json.loads(body).get("call") or json.loads(body)["n"])
            for kind, body in steps
            if kind in {"tool.answered", "model.answered"}
        ]
        assert len(answered) == len(set(answered)), where


def _artifacts(home: Path, columns: str) -> list[tuple[str, ...]]:
    return _rows(home, f"SELECT {columns} FROM artifact JOIN run ON run.id = artifact.run ORDER BY 1, 2, 3")


def _rows(home: Path, sql: str) -> list[tuple[str, ...]]:
    db = apsw.Connection(str(home / "ledger.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [tuple(row) for row in db.execute(sql)]
    finally:
        db.close()


def main() -> None:
    """Try as many seeds as were asked for."""
    wanted = argparse.ArgumentParser(description=__doc__)
    wanted.add_argument("--seeds", type=int, default=100)
    wanted.add_argument("--first", type=int, default=1)
    asked = wanted.parse_args()
    with processes() as commands, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        expected = expected_of(folder, commands)
        for seed in range(asked.first, asked.first + asked.seeds):
            print(seed, *kill_and_resume(seed, folder, commands, expected), sep="; ", flush=True)


if __name__ == "__main__":
    main()
