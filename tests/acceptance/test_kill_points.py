"""`kill -9` at every fault point that a chain of two agents reaches, each time it is reached, and a new process
that goes on: nothing recorded is done again, no effect is doubled, and what comes out is what would have."""

import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from interlock.fault import POINTS
from tests.acceptance.company import Company, Step
from tests.processes import Done, Processes

AGENTS = ("triage", "listener")
TRIAGE = "triage@acme/platform"
MOST = 60
"""More often than any point is reached."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to carry out the chain: what its bodies are, and whether listeners are opened with the closing."""

    functions: tuple[str, ...]
    listeners_at_once: int
    queued: bool

    def made(self, folder: Path, commands: Processes) -> Company:
        """Give a company whose agents are published."""
        company = Company.made(
            folder, AGENTS, self.functions, inline="1KiB", listeners_at_once=self.listeners_at_once
        )
        assert commands.run("publish", folder=folder).code == 0
        return company

    def carry_out(self, company: Company, commands: Processes, fault: str) -> Done:
        """Open the run and work on it, with a fault."""
        environment = {"INTERLOCK_FAULT": fault}
        if not self.queued:
            return commands.run(
                "run", TRIAGE, '{"order": "o7"}', folder=company.folder, environment=environment
            )
        queued = commands.run("run", TRIAGE, '{"order": "o7"}', "--no-wait", folder=company.folder)
        assert queued.code == 0
        return commands.run("worker", "--drain", folder=company.folder, environment=environment)


VARIANTS = {
    "models": Variant((), 16, queued=False),
    "functions, left to the dispatcher": Variant(AGENTS, 0, queued=True),
}


def killed(
    variant: Variant, made: Company, commands: Processes, folder: Path
) -> Iterator[tuple[str, int, Company]]:
    """Kill a process at each point, at each time that it is reached; give the company as it was left."""
    for point in POINTS:
        for count in range(1, MOST):
            company = made.copy(folder / f"{point}-{count}")
            done = variant.carry_out(company, commands, f"{point}:{count}")
            if done.code == 0:
                break
            assert done.code == -signal.SIGKILL, (point, count, done)
            yield point, count, company
        else:
            pytest.fail(f"{point} was reached more than {MOST} times")


def recorded(trails: dict[str, list[Step]]) -> Counter[tuple[str, str, str]]:
    """Count what trails say of answers: of the model by number, of tools by call."""
    return Counter(
        (run, step.kind, str(step.body.get("n", step.body.get("call"))))
        for run, steps in trails.items()
        for step in steps
        if step.kind in {"model.answered", "tool.answered"}
    )


def open_booking(company: Company) -> bool:
    """Tell whether a booking was claimed and nobody recorded what came of it."""
    return company.rows("SELECT state FROM action") == [("claimed",)]


def check_asked_once(steps: list[Step]) -> None:
    """Each request that was answered was not made again afterwards."""
    answered: set[int] = set()
    for step in steps:
        if step.kind == "model.asked":
            assert step.body["n"] not in answered
        elif step.kind == "model.answered":
            answered.add(step.body["n"])


def check_resumed(company: Company, before: dict[str, list[Step]], effects: Counter[str]) -> None:
    """What was recorded before the kill was not done again, and nothing was recorded twice."""
    after = company.trails()
    assert all(after[run][: len(steps)] == steps for run, steps in before.items())
    assert set(recorded(after).values()) <= {1}
    for steps in after.values():
        check_asked_once(steps)
        closed = [step.kind for step in steps].count("run.closed")
        assert (closed, steps[-1].kind) in {(1, "run.closed"), (0, "tool.waiting")}
    for name in ("look", "book"):
        if any(key[1] == "tool.answered" for key in recorded(before)) and effects[name]:
            answered = [step for steps in before.values() for step in steps if step.kind == "tool.answered"]
            if name in {step.body["tool"] for step in answered}:
                assert company.effects[name] == effects[name] == 1


@pytest.mark.rule("RN-4", "RN-5", "EV-5", "AG-6", "WK-2")
@pytest.mark.fault("F5")
@pytest.mark.parametrize("name", VARIANTS)
def test_a_chain_killed_anywhere_goes_on_in_a_new_process(
    name: str, commands: Processes, tmp_path: Path
) -> None:
    variant = VARIANTS[name]
    made = variant.made(tmp_path / "made", commands)
    undisturbed = made.copy(tmp_path / "undisturbed")
    assert variant.carry_out(undisturbed, commands, "").code == 0
    reached: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for point, _, company in killed(variant, made, commands, tmp_path):
        reached[point] += 1
        outcomes[_resume_and_check(company, commands)] += 1
        if company.artifacts():
            assert company.artifacts() == undisturbed.artifacts()
    assert undisturbed.effects == {"look": 1, "book": 1}
    assert outcomes["in doubt"] and outcomes["finished"]
    print(name, dict(reached), dict(outcomes))


def _resume_and_check(company: Company, commands: Processes) -> str:
    before, effects = company.trails(), company.effects
    doubtful = bool(before) and open_booking(company)
    resumed = commands.run("worker", "--drain", folder=company.folder)
    assert resumed.code == 0, resumed
    check_resumed(company, before, effects)
    verified = commands.run("verify", folder=company.folder)
    assert verified.code == 0, verified
    runs = company.rows("SELECT agent, status FROM run ORDER BY id")
    assert company.effects["book"] <= 1
    if not runs:
        assert not company.effects
        return "not opened"
    if doubtful:
        assert runs == [(TRIAGE, "open")]
        assert company.rows("SELECT kind, outcome FROM question") == [("action", None)]
        told = commands.run("trail", company.rows("SELECT id FROM run")[0][0], folder=company.folder)
        assert "book" in told.text
        return "in doubt"
    assert runs == [(TRIAGE, "finished"), ("listener@acme/platform", "finished")]
    assert company.effects["book"] == 1
    assert company.effects["look"] in {1, 2}
    return "finished"
