"""Measure the loop search on graphs of 100,000 agents, and print a table.

    python bench/loop.py [--agents 100000] [--publish 50] [--json FILE]

Each row publishes some agents of one graph with the default bounds and gives the most edges that a search
examined, the median and the worst time of one search, its worst processor time (which other work on the
machine disturbs less), and the time to build the wiring.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interlock.agent.loop import find_loops
from interlock.agent.spec import Emission, Spec, Trigger
from interlock.agent.wiring import Wiring
from interlock.scope.scope import Scope


def _agent(name: str, scope: str, heard: list[str], emitted: list[str], heard_from: str = "") -> Spec:
    places = (Scope(heard_from),) if heard_from else ()
    return Spec(
        name=name,
        scope=Scope(scope),
        starts_on=tuple(Trigger(event, places) for event in heard),
        emits=tuple(Emission(event, "context") for event in emitted),
    )


def at_random(count: int, chance: random.Random) -> list[Spec]:
    """Three edges an agent, between agents drawn at random."""
    return [
        _agent(f"n{i}", "acme", [f"e{chance.randrange(count)}" for _ in range(3)], [f"e{i}"])
        for i in range(count)
    ]


def dense_hub(count: int, chance: random.Random) -> list[Spec]:
    """One event that everyone emits and everyone hears: 10^10 edges, were they written out."""
    return [_agent(f"n{i}", "acme", ["tick"], ["tick"]) for i in range(count)]


def hub_and_random(count: int, chance: random.Random) -> list[Spec]:
    """One event that everyone hears and one agent in a thousand emits, and random edges besides."""
    return [
        _agent(
            f"n{i}",
            "acme",
            ["tick", f"e{chance.randrange(count)}"],
            [f"e{i}", *(["tick"] if i % 1000 == 0 else [])],
        )
        for i in range(count)
    ]


def long_ring(count: int, chance: random.Random) -> list[Spec]:
    """One loop through all agents."""
    return [_agent(f"n{i}", "acme", [f"e{(i - 1) % count}"], [f"e{i}"]) for i in range(count)]


def ladder(count: int, chance: random.Random) -> list[Spec]:
    """A ring of pairs: loops beyond number, all of one length, some hundred events long."""
    half = min(count // 2, 200)
    return [
        _agent(f"n{i}", f"company-{i // (2 * half)}", [f"e{(i // 2 - 1) % half}"], [f"e{i // 2 % half}"])
        for i in range(count)
    ]


def many_companies(count: int, chance: random.Random) -> list[Spec]:
    """A thousand companies that all call their events alike."""
    return [
        _agent(
            f"n{i}",
            f"company-{i % 1000}",
            [f"e{chance.randrange(60)}" for _ in range(3)],
            [f"e{chance.randrange(60)}"],
        )
        for i in range(count)
    ]


def open_companies(count: int, chance: random.Random) -> list[Spec]:
    """A thousand companies whose agents hear each other's events by `from:`."""
    return [
        _agent(f"n{i}", f"company-{i % 1000}", [f"e{chance.randrange(count // 3)}"], [f"e{i // 3}"], "*")
        for i in range(count)
    ]


GRAPHS: tuple[Callable[[int, random.Random], list[Spec]], ...] = (
    at_random,
    dense_hub,
    hub_and_random,
    long_ring,
    ladder,
    many_companies,
    open_companies,
)


def measure(build: Callable[[int, random.Random], list[Spec]], count: int, published: int) -> dict[str, Any]:
    """Build one graph, publish some of its agents, and give one row of the table."""
    chance = random.Random(7)
    agents = build(count, chance)
    start = time.perf_counter()
    wiring = Wiring(agents)
    built = time.perf_counter() - start
    seconds, processor, reports = [], [], []
    for agent in chance.sample(agents, min(published, len(agents))):
        start, used = time.perf_counter(), time.process_time()
        reports.append(find_loops(wiring, agent))
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    return {
        "graph": build.__name__,
        "agents": len(agents),
        "wiring_s": round(built, 3),
        "edges_max": max(report.edges_examined for report in reports),
        "median_s": round(statistics.median(seconds), 4),
        "worst_s": round(max(seconds), 4),
        "worst_cpu_s": round(max(processor), 4),
        "with_loop": sum(bool(report.loops) for report in reports),
        "may_be_more": sum(report.may_be_more for report in reports),
        "not_checked": sum(not report.checked_in_full for report in reports),
    }


def main() -> None:
    """Read the arguments, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--agents", type=int, default=100_000, help="agents in each graph")
    parser.add_argument("--publish", type=int, default=50, help="agents published in each graph")
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    given = parser.parse_args()
    rows = []
    for build in GRAPHS:
        rows.append(measure(build, given.agents, given.publish))
        if len(rows) == 1:
            print("  ".join(f"{name:>14}" for name in rows[0]))
        print("  ".join(f"{value!s:>14}" for value in rows[-1].values()), flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
