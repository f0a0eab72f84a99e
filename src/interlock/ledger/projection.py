"""A projection: the rows that follow from a step, written with it and rebuilt from it alone.

`project` is the whole of it: a pure function from a step to named statements. `verify` applies it to every
step in an empty database and compares.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from interlock.ledger.ledger import Row

__all__ = ["PROJECTED", "PROJECTING", "project"]

PROJECTED = (
    *("run", "task", "artifact", "agent", "version", "listening", "stopped"),
    *("message", "question", "decision", "action"),
    *("actor", "identity", "identity_link", "conversation", "participant", "message_event", "memory"),
    *("foreign_artifact", "said", "audience"),
)
"""The tables that hold nothing but projections (`stream`, the heads, is checked step by step)."""

Body = dict[str, Any]


def _run_opened(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
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


def _run_closed(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield Row("close_run", (body["status"], stream))
    for item in body.get("artifacts", ()):
        yield _artifact(stream, item)


def _artifact_saved(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield _artifact(stream, body)


def _artifact(run: str, item: Body) -> Row:
    labels = ",".join(item["labels"])
    return Row("insert_artifact", (run, item["name"], item["digest"], item["size"], item["media"], labels))


def _work_ended(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    """What a node made within the run itself is an artifact of the run; a child run's is its own already."""
    for item in body.get("artifacts", ()):
        run, _, name = item["ref"].partition("/")
        if run == stream:
            yield _artifact(stream, {**item, "name": name})


def _version_published(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    agent, wiring = body["agent"], body["wiring"]
    number = body["number"]
    yield Row("insert_version", (agent, number, body["version_digest"], body["spec"], body["author"], at))
    yield Row("publish_agent", (agent, body["scope"], number, json.dumps(wiring, sort_keys=True)))
    yield Row("forget_listening", (agent,))
    for trigger in wiring["starts_on"]:
        yield Row("insert_listening", (trigger["event"], agent))
    for item in wiring.get("attends", ()):
        yield Row("insert_listening", (f"connector:{item['connector']}", agent))


def _agent_state(state: str) -> "Rule":
    def rows(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
        yield Row("set_agent_state", (state, body["agent"]))

    return rows


def _scope_stopped(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield Row("stop_scope", (body["scope"],))


def _scope_resumed(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield Row("resume_scope", (body["scope"],))


# The exchange of a root task; the stream's name is the root task's.


def _task_opened(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield Row("insert_task", (body["task"], stream, body.get("parent"), body["run"], body["owner"]))


def _task_handed_over(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield Row("move_owner", (body["to"], body["epoch"], body["hand_off"], body["task"]))


def _task_acknowledged(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield Row("acknowledge", (body["task"],))


def _task_moved(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield Row("move_owner", (body["owner"], body["epoch"], None, body["task"]))


def _task_closed(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield Row("close_task", (body["status"], body["task"]))


def _message_sent(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    sender, recipient, run = body["from"], body["to"], body.get("run")
    key = (body["message"], stream, body["task"], seq)
    yield Row(
        "insert_message",
        (*key, body["type"], sender, recipient, run, body.get("run_to"), body.get("reply_to")),
    )
    if "opens" in body:  # it is that run's input, and no other run is told it
        yield Row("take_message", (body["opens"], body["message"]))


def _message_taken(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield Row("take_message", (body["run"], body["message"]))


def _message_undelivered(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield Row("bury_message", (body["message"],))


def _question_asked(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    whose = (body["question"], stream, body["task"], body["run"], body.get("call", ""))
    yield Row("insert_question", (*whose, body["kind"], body["scope"], body["form"], body["due_at"]))


def _question_answered(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield Row("answer_question", (body["outcome"], body.get("by"), body.get("said"), body["question"]))


def _decision_recorded(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    labels = ",".join(body["labels"])
    whole = (body["decision"], body["revision"], body["content"], body["run"], labels)
    yield Row("insert_decision", (stream, body["topic"], *whole))


# The stream of an action.


def _action_claimed(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    holder = (body["task"], body["run"], body["call"], body["attempt"], body["deadline"])
    if body["attempt"] == 1:
        about = (stream, body["tool"], body["key"], body["identity"], body["arguments"])
        yield Row("claim_action", (*about, *holder))
    else:
        yield Row("claim_action_anew", (body["identity"], body["arguments"], *holder, stream))


def _action_settled(state: str) -> "Rule":
    def rows(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
        labels = ",".join(body.get("labels", ()))
        yield Row("settle_action", (state, body.get("result"), labels, stream))

    return rows


# What one perspective has seen and noted.


def _actor_met(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    perspective, actor = body["perspective"], body["actor"]
    yield Row("meet_actor", (perspective, actor, body["name"]))
    yield Row("insert_identity", (perspective, body["connector"], body["external"], actor))


def _identity_link(state: str) -> "Rule":
    def rows(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
        pair = (body["perspective"], body["one"], body["other"])
        yield Row("set_identity_link", (*pair, body["evidence"], body["by"], state))

    return rows


def _conversation_opened(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield Row("open_conversation", (body["perspective"], stream, body["connector"], body["thread"]))


def _message_observed(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    """The place of a message event in its conversation is the number of its step."""
    perspective = body["perspective"]
    for actor in body.get("joined", ()):
        yield Row("join_conversation", (perspective, stream, actor))
    for actor in body.get("left", ()):
        yield Row("leave_conversation", (perspective, stream, actor))
    said = (body["event"], body["actor"], body["way"], body["external"], body["content"])
    labels = ",".join(body["labels"])
    place = body.get("chain", {})
    caused = (body.get("run"), place.get("root_run"), place.get("hop"))
    yield Row("insert_message_event", (perspective, stream, seq, *said, labels, body["at"], *caused))
    yield Row("move_conversation", (seq, perspective, stream))
    if body["way"] == "own":
        yield Row("insert_said", (body["event"], body["run"], body["content"], perspective, stream))


SAID_STATES = {
    "delivered": "delivered",
    "came_back": "delivered",
    "given_up": "dead",
    "in_doubt": "in_doubt",
    "again": "waiting",
    "closed": "closed",
}
"""What a status of `message.delivered` makes of what was said; `failed` leaves it waiting."""


def _message_delivered(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    if "external" in body:
        yield Row("name_said", (body["external"], body["event"]))
    if body["status"] in SAID_STATES:
        yield Row("settle_said", (SAID_STATES[body["status"]], body["event"]))


def _turn_opened(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    yield Row("take_turn", (body["place"], body["run"], body["perspective"], stream))


def _memory_written(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    source = body["source"]
    come_from = (source["run"], source.get("message"), source.get("conversation"))
    about = (body["perspective"], stream, body["revision"], body.get("subject"), *come_from)
    yield Row("insert_memory", (*about, ",".join(body["labels"]), body["content"], at))


def _tool_answered(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    if "foreign" in body:
        item = body["foreign"]
        what = (item["ref"], body["result"], ",".join(body.get("labels", ())))
        yield Row("insert_foreign_artifact", (item["perspective"], stream, body["call"], *what))


def _audience_named(stream: str, seq: int, at: int, body: Body) -> Iterator[Row]:
    for member in body["members"]:
        yield Row("name_audience", (stream, member))


Rule = Callable[[str, int, int, Body], Iterator[Row]]

_RULES: dict[str, Rule] = {
    "run.opened": _run_opened,
    "run.closed": _run_closed,
    "artifact.saved": _artifact_saved,
    "work.ended": _work_ended,
    "version.published": _version_published,
    "agent.paused": _agent_state("paused"),
    "agent.resumed": _agent_state("active"),
    "agent.retired": _agent_state("retired"),
    "scope.stopped": _scope_stopped,
    "scope.resumed": _scope_resumed,
    "task.opened": _task_opened,
    "task.handed_over": _task_handed_over,
    "task.acknowledged": _task_acknowledged,
    "task.queued": _task_moved,
    "task.taken": _task_moved,
    "task.closed": _task_closed,
    "message.sent": _message_sent,
    "message.taken": _message_taken,
    "message.undelivered": _message_undelivered,
    "question.asked": _question_asked,
    "question.answered": _question_answered,
    "decision.recorded": _decision_recorded,
    "action.claimed": _action_claimed,
    "action.done": _action_settled("done"),
    "action.failed": _action_settled("failed"),
    "action.in_doubt": _action_settled("in_doubt"),
    "actor.met": _actor_met,
    "identity.linked": _identity_link("linked"),
    "identity.unlinked": _identity_link("undone"),
    "conversation.opened": _conversation_opened,
    "message.observed": _message_observed,
    "message.delivered": _message_delivered,
    "turn.opened": _turn_opened,
    "memory.written": _memory_written,
    "tool.answered": _tool_answered,
    "audience.named": _audience_named,
}

PROJECTING = frozenset(_RULES)
"""The kinds of steps that project anything."""


def project(stream: str, seq: int, kind: str, at: int, body: Body) -> Iterator[Row]:
    """Give the statements that follow from one step; none for a kind that projects nothing."""
    rule = _RULES.get(kind)
    return rule(stream, seq, at, body) if rule else iter(())
