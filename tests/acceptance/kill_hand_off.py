"""A hand-off and a write, whose sender, receiver and timer process are killed, at each fault point in turn.

`python -m tests.acceptance.kill_hand_off --rounds 100` makes so many rounds and prints each. A round kills up to three
processes in a row, each at a fault point that it reaches, and then lets workers go on to the end. Whatever happened:
the task has exactly one owner, nobody owns no task, and no write is done twice or lost without being in doubt.
"""

import argparse
import json
import random
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from interlock.fault import POINTS
from tests.acceptance.company import Company
from tests.processes import Processes, processes

__all__ = ["KINDS", "LATE", "hand_over_alone", "made", "one_round", "points_of"]

A, B = "a@acme/platform", "b@acme/platform"
KINDS = ("sender", "receiver", "timer")
PEOPLE = "people@acme/platform"
LATE = 1.1
"""Seconds after which a hand-off is overdue here."""
SCRIPT: dict[str, Any] = {
    A: [
        {"call": "book", "with": {"order": "o1"}},
        {"call": "hand_over", "with": {"to": B, "goal": "see it done", "facts": [], "remains": ["the rest"],
                                       "reason": "it is yours"}},
    ],
    B: [{"call": "book", "with": {"order": "o1"}}, {"call": "book", "with": {"order": "o2"}}, {"finish": "done"}],
}  # fmt: skip
DECLARED: dict[str, dict[str, Any]] = {"a": {"tools": ["book"], "hands_to": [B]}, "b": {"tools": ["book"]}}


def made(folder: Path, commands: Processes) -> Company:
    """Give a company in which a run waits whose agent books, hands over, and whose receiver books again."""
    company = Company.made(folder, ("a", "b"), script=SCRIPT, declared=DECLARED, acknowledge="1s", lease="1s")
    assert commands.run("publish", folder=folder).code == 0
    assert commands.run("run", A, "book o1 and o2", "--no-wait", folder=folder).code == 0
    return company


def points_of(kind: str) -> list[str]:
    """Give the fault points at which a process of a kind is killed."""
    mine = {
        "sender": ("hand_off.before_send", "hand_off.after_send"),
        "receiver": ("hand_off.",),
        "timer": ("timer.",),
    }
    shared = ("append.", "run.", "model.", "tool.")
    return [point for point in POINTS if point.startswith((*mine[kind], *shared)) and point != "run.opened"]


def one_round(
    company: Company, commands: Processes, kills: list[tuple[str, str, int]], *, overdue: bool = False
) -> str:
    """Kill processes as `kills` says (kind, point, which time), let workers go on, and check. Gives what came of it.

    `overdue` says that the hand-off has been made and its time is over, as a timer process finds it.
    """
    for kind, point, count in kills:
        if kind == "timer" and not overdue:
            hand_over_alone(company, commands)
            time.sleep(LATE)
        fault = {"INTERLOCK_FAULT": f"{point}:{count}"}
        done = commands.run("worker", "--drain", folder=company.folder, environment=fault)
        assert done.code in {0, -signal.SIGKILL}, (kills, done)
    _check(company, commands, kills)
    for _ in range(2):
        done = commands.run("worker", "--drain", folder=company.folder)
        assert done.code == 0, (kills, done)
        _check(company, commands, kills)
        time.sleep(LATE if _pending(company) else 0)
    verified = commands.run("verify", folder=company.folder)
    assert verified.code == 0, (kills, verified)
    return _outcome(company, kills)


def hand_over_alone(company: Company, commands: Processes) -> None:
    """Let the sender hand over, and die before anybody takes it."""
    fault = {"INTERLOCK_FAULT": "hand_off.after_send:1"}
    commands.run("worker", "--drain", folder=company.folder, environment=fault)


def _pending(company: Company) -> bool:
    return bool(company.rows("SELECT 1 FROM task WHERE pending IS NOT NULL"))


def _check(company: Company, commands: Processes, where: object) -> None:
    """The three sentences, after every process that ended, however it did."""
    tasks = company.rows("SELECT id, owner, state FROM task")
    assert len(tasks) == 1 and tasks[0][1] in {A, B, PEOPLE}, (where, tasks)
    _, owner, state = tasks[0]
    if state == "open" and owner != PEOPLE:
        at_work = company.rows("SELECT agent FROM run WHERE status = 'open'")
        assert (owner,) in at_work, (where, "owned by nobody who works", owner, at_work)
    moves = (
        "SELECT body FROM step WHERE kind IN ('task.handed_over', 'task.queued', 'task.taken') ORDER BY seq"
    )
    epochs = [json.loads(body)["epoch"] for (body,) in company.rows(moves)]
    assert epochs == list(range(2, 2 + len(epochs))), (where, epochs)
    effects = company.effects["book"]
    states = Counter(state for (state,) in company.rows("SELECT state FROM action"))
    assert effects <= sum(states.values()) <= 2, (where, effects, states)
    assert states["done"] <= effects <= states["done"] + states["in_doubt"] + states["claimed"], (
        where,
        effects,
        states,
    )


def _outcome(company: Company, where: object) -> str:
    """In the end nothing is claimed and nothing runs that could go on."""
    states = Counter(state for (state,) in company.rows("SELECT state FROM action"))
    assert not states["claimed"], (where, states)
    (owner, state, pending) = company.rows("SELECT owner, state, pending FROM task")[0]
    assert pending is None, where
    if states["in_doubt"]:
        waiting = company.rows("SELECT count(*) FROM question WHERE kind = 'action' AND outcome IS NULL")[0][
            0
        ]
        assert waiting == states["in_doubt"], (where, "in doubt, and nobody is asked")
        return "in doubt"
    if owner == PEOPLE:
        return "with people"
    assert (owner, state, states["done"], company.effects["book"]) == (B, "finished", 2, 2), (
        where,
        owner,
        state,
        states,
    )
    return "finished"


def main() -> None:
    """Make as many rounds as were asked for, of one to three kills each."""
    wanted = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    wanted.add_argument("--rounds", type=int, default=100)
    wanted.add_argument("--seed", type=int, default=1)
    asked = wanted.parse_args()
    told: Counter[str] = Counter()
    with processes() as commands, tempfile.TemporaryDirectory() as name:
        fresh = made(Path(name) / "fresh", commands)
        for number in range(asked.seed, asked.seed + asked.rounds):
            chance = random.Random(number)
            kinds = [chance.choice(KINDS) for _ in range(chance.randint(1, 3))]
            kills = [(kind, chance.choice(points_of(kind)), chance.randint(1, 6)) for kind in kinds]
            outcome = one_round(fresh.copy(Path(name) / str(number)), commands, kills)
            told[outcome] += 1
            print(number, kills, outcome, flush=True)
    print(dict(told))


if __name__ == "__main__":
    main()
