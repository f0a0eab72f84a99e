"""A kind: what a step says. This is the closed set of them, each with what it records and in whose stream."""

from collections.abc import Mapping

__all__ = ["KINDS"]

KINDS: Mapping[str, tuple[str, str]] = {
    "run.opened": (
        "run",
        "The opening: agent, version, scope, who or what opened it, labels, task, place, budget.",
    ),
    "run.claimed": ("run", "A worker took the run; the step's number is the fence of all that it writes."),
    "signal.taken": ("run", "The run took in what somebody had to say to it, such as a cancellation."),
    "model.asked": ("run", "A request is about to leave: its snapshot, its size, the model's role."),
    "model.failed": ("run", "No answer came: why, and how long the run waits before it asks again."),
    "model.answered": ("run", "The answer, the calls that it proposes, and what it used."),
    "model.noted": ("run", "The model was told what was wrong with an answer that proposes no call."),
    "tool.judged": ("run", "The Gate's verdict on a proposed call, with the rule and the reason."),
    "tool.answered": ("run", "What came of an allowed call: a result with its labels, or an error."),
    "tool.waiting": ("run", "The call waits: for a person's answer, or for the reply to a message."),
    "context.compacted": (
        "run",
        "A summary stands for older entries in the prompts from now on: which, made of what, with which labels.",
    ),
    "work.admitted": ("run", "A revision of the run's work graph was admitted: its digest, nodes and edges."),
    "work.started": (
        "run",
        "An attempt at a node began: what its edges let in, by name and digest; its child run, or its call.",
    ),
    "work.ended": ("run", "What came of an attempt: the artifacts with their labels, or why nothing did."),
    "work.kept": ("run", "A node was done in an earlier revision, and what that made still fits."),
    "work.skipped": ("run", "A node is not done, and because of which other one."),
    "artifact.saved": ("run", "The run stored something under a handle."),
    "budget.drawn": ("run", "The run drew an allowance from the budget of a scope."),
    "run.closed": (
        "run",
        "The end: status, reason, artifacts, what is not done, events with what came of each.",
    ),
    "event.listed": ("task", "The listeners of an event, listed before the first of them is opened."),
    "event.withheld": ("task", "An event that was owed does not go out, and why."),
    "event.not_started": ("task", "A listener was not started when its turn came, and why."),
    "task.opened": (
        "task",
        "A task with its first owner, the run that works on it, and who or what opened it.",
    ),
    "task.handed_over": ("task", "A new owner by a hand-off, with the package; not yet acknowledged."),
    "task.acknowledged": ("task", "The receiver's run took the package."),
    "task.queued": ("task", "The human queue owns the task now, and why."),
    "task.taken": ("task", "A person took the task."),
    "task.closed": ("task", "The task ended: how, by which run or person."),
    "message.sent": ("task", "A message: type, sender, recipient, attachments, labels, what it replies to."),
    "message.rejected": ("task", "A malformed message that was not delivered, and what was wrong with it."),
    "message.undelivered": ("task", "A dead letter: a message that nobody accepts, and why."),
    "message.taken": ("task", "A run took a message in; no other one gets it."),
    "task.acted": ("task", "What came of an action: done, failed, in doubt, repeated, or in conflict."),
    "decision.recorded": (
        "task",
        "A decision of the root task, with its revision; the first one of a topic wins.",
    ),
    "question.asked": ("task", "A question to a person: of which kind, about which call, until when."),
    "question.answered": (
        "task",
        "What became of a question: the person's answer, or that its time was over.",
    ),
    "action.claimed": ("action", "A run claimed an action under its key, before it acts."),
    "action.done": ("action", "The action is done, with its result."),
    "action.failed": ("action", "Surely nothing was done; the action may be claimed anew."),
    "action.in_doubt": ("action", "Nobody knows whether the action was done."),
    "actor.met": ("agent", "The agent met somebody at a connector: who, and as what; a name is content."),
    "identity.linked": (
        "agent",
        "Two actors are one person, in this perspective: on what evidence, says who.",
    ),
    "identity.unlinked": ("agent", "Two actors are not one person after all: why, says who."),
    "conversation.opened": ("conversation", "A thread at a connector, as one agent sees it."),
    "message.observed": (
        "conversation",
        "A message as one agent observed it, or sent it: by whom, in which way, its labels, who came and went.",
    ),
    "message.delivered": (
        "conversation",
        "The outside took a message that the agent sent, would not, or nobody knows.",
    ),
    "message.withheld": ("conversation", "An answer was not sent, and why."),
    "turn.opened": ("conversation", "A run takes in what was said up to a place."),
    "memory.written": ("memory", "A revision of a memory: subject, source, labels, content."),
    "audience.named": ("audience", "Who an audience is: identities by connector and keyed digest."),
    "version.published": ("agent", "A version: number, author, digest, and the wiring it brings."),
    "agent.paused": ("agent", "The agent starts no run until it is resumed."),
    "agent.resumed": ("agent", "The agent starts runs again."),
    "agent.retired": ("agent", "The agent is out of service."),
    "agent.not_started": ("agent", "A person wanted a run while the agent was paused, retired or stopped."),
    "replay.asked": (
        "replay",
        "A stored request is about to leave again: its snapshot, the run and call it was made for, for which person.",
    ),
    "replay.answered": (
        "replay",
        "What the model answered this time, with the labels of the run, whether it is the same, and what it used.",
    ),
    "replay.failed": ("replay", "No answer came this time: why."),
    "scope.stopped": ("scope", "All agents of the scope, and of what lies below it, are stopped."),
    "scope.resumed": ("scope", "The agents of the scope go on."),
}
"""By kind: whose stream it stands in, and what it records. The body of a step holds no free text."""
