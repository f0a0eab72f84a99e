"""What a hand-off costs: flushes of the disk, counted from outside, and bytes of the receiver's prompt."""

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.company import Company
from tests.acceptance.traced import traced
from tests.processes import Processes

MOST = 4
"""Flushes for each hand-off, when nothing else goes on."""


def relays(folder: Path, count: int, commands: Processes) -> Company:
    """Give a company in which `count` agents hand an artifact on, one to the next, by events."""
    names = [f"relay{number}" for number in range(count)]
    declared: dict[str, dict[str, Any]] = {}
    script: dict[str, list[dict[str, Any]]] = {}
    for number, name in enumerate(names):
        declared[name] = {
            "emits": [{"event": f"step{number + 1}", "context": "step", "artifacts": ["findings"]}],
            "starts_on": [{"event": f"step{number}"}] if number else [],
        }
        read = [{"call": "read_artifact", "with": {"name": "findings"}}] if number else []
        finish = {"finish": {"summary": "Done.", "artifacts": {"findings": f"{number} " * 2000}}}
        script[f"{name}@acme/platform"] = [*read, finish]
    company = Company.made(folder, names, script=script, declared=declared)
    assert commands.run("publish", folder=folder).code == 0
    return company


def flushes(company: Company) -> int:
    """Count the flushes of a whole `interlock run`, opening the ledger and closing it included."""
    code, trace = traced(
        "-e",
        "trace=fsync,fdatasync,sync_file_range,msync",
        folder=company.folder,
        arguments=("run", "relay0@acme/platform"),
    )
    assert code == 0
    return sum("sync" in line for line in trace)


@pytest.mark.rule("EV-2", "WK-1")
def test_a_hand_off_costs_at_most_four_flushes(commands: Processes, tmp_path: Path) -> None:
    counts = {length: flushes(relays(tmp_path / str(length), length, commands)) for length in (1, 2, 6)}
    print(counts)
    assert counts[2] - counts[1] <= MOST
    assert (counts[6] - counts[2]) / 4 <= MOST
    assert counts[1] > 0


@pytest.mark.rule("EV-2", "CS-2", "PX-4")
def test_the_receivers_prompt_is_as_long_for_two_megabytes_as_for_twenty_kilobytes(
    commands: Processes, tmp_path: Path
) -> None:
    lengths = {}
    for size in (20_000, 2_000_000):
        script = {
            "triage@acme/platform": [
                {"finish": {"summary": "Triaged.", "artifacts": {"findings": "f" * size}}}
            ],
            "listener@acme/platform": [{"finish": "Planned."}],
        }
        company = Company.made(
            tmp_path / str(size), ("triage", "listener"), script=script, limits={"tokens": 2_000_000}
        )
        assert commands.run("publish", folder=company.folder).code == 0
        runs = commands.run("run", "triage@acme/platform", "--json", folder=company.folder).json()
        assert [item["status"] for item in runs] == ["finished", "finished"]
        assert runs[0]["artifacts"]["findings"] == size
        shown = commands.run("prompt", "show", runs[1]["run"], "--raw", folder=company.folder)
        assert shown.code == 0 and b"findings" in shown.out and b"fffff" not in shown.out
        lengths[size] = len(shown.out)
    assert lengths[20_000] == lengths[2_000_000]
