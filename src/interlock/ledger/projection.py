"""A projection: the rows that follow from a step, written with it and rebuilt from it alone.

`project` is the whole of it: a pure function from a step to named statements. `verify` applies it to every
step in an empty database and compares.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from interlock.ledger.ledger import Row

__all__ = ["PROJECTED", "PROJECTING", "project"]

PROJECTED = ("run", "task", "artifact", "agent", "version", "listening", "stopped")
"""The tables that hold nothing but projections (`stream`, the heads, is checked step by step)."""

Body = dict[str, Any]


def _run_opened(stream: str, at: int, body: Body) -> Iterator[Row]:
    task, place = body["task"], body.get("chain")
    opener = body["opened_by"]
    yield Row(
        "insert_run",
        (
            stream,
            body["agent"],
            body["version"],
            body["scope"],
            task["id"],
            task["root"],
            place["root_run"] if place else None,
            place["hop"] if place else None,
            opener.get("run"),
            opener.get("cause"),
        ),
    )
    yield Row("insert_task", (task["id"], task["root"], task.get("parent"), body["agent"], stream))


def _run_closed(stream: str, at: int, body: Body) -> Iterator[Row]:
    yield Row("close_run", (body["status"], stream))
    for item in body.get("artifacts", ()):
        yield _artifact(stream, item)


def _artifact_saved(stream: str, at: int, body: Body) -> Iterator[Row]:
    yield _artifact(stream, body)


def _artifact(run: str, item: Body) -> Row:
    labels = ",".join(item["labels"])
    return Row("insert_artifact", (run, item["name"], item["digest"], item["size"], item["media"], labels))


def _version_published(stream: str, at: int, body: Body) -> Iterator[Row]:
    agent, wiring = body["agent"], body["wiring"]
    number = body["number"]
    yield Row("insert_version", (agent, number, body["version_digest"], body["spec"], body["author"], at))
    yield Row("publish_agent", (agent, body["scope"], number, json.dumps(wiring, sort_keys=True)))
    yield Row("forget_listening", (agent,))
    for trigger in wiring["starts_on"]:
        yield Row("insert_listening", (trigger["event"], agent))


def _agent_state(state: str) -> Callable[[str, int, Body], Iterator[Row]]:
    def rows(stream: str, at: int, body: Body) -> Iterator[Row]:
        yield Row("set_agent_state", (state, body["agent"]))

    return rows


def _scope_stopped(stream: str, at: int, body: Body) -> Iterator[Row]:
    yield Row("stop_scope", (body["scope"],))


def _scope_resumed(stream: str, at: int, body: Body) -> Iterator[Row]:
    yield Row("resume_scope", (body["scope"],))


_RULES: dict[str, Callable[[str, int, Body], Iterator[Row]]] = {
    "run.opened": _run_opened,
    "run.closed": _run_closed,
    "artifact.saved": _artifact_saved,
    "version.published": _version_published,
    "agent.paused": _agent_state("paused"),
    "agent.resumed": _agent_state("active"),
    "agent.retired": _agent_state("retired"),
    "scope.stopped": _scope_stopped,
    "scope.resumed": _scope_resumed,
}

PROJECTING = frozenset(_RULES)
"""The kinds of steps that project anything."""


def project(stream: str, kind: str, at: int, body: Body) -> Iterator[Row]:
    """Give the statements that follow from one step; none for a kind that projects nothing."""
    rule = _RULES.get(kind)
    return rule(stream, at, body) if rule else iter(())
