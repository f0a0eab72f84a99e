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
    "artifact.saved": ("run", "The run stored something under a handle."),
    "budget.drawn": ("run", "The run drew an allowance from the budget of a scope."),
    "run.closed": (
        "run",
        "The end: status, reason, artifacts, what is not done, events with what came of each.",
    ),
    "event.listed": ("task", "The listeners of an event, listed before the first of them is opened."),
    "event.withheld": ("task", "An event that was owed does not go out, and why."),
    "event.not_started": ("task", "A listener was not started when its turn came, and why."),
    "version.published": ("agent", "A version: number, author, digest, and the wiring it brings."),
    "agent.paused": ("agent", "The agent starts no run until it is resumed."),
    "agent.resumed": ("agent", "The agent starts runs again."),
    "agent.retired": ("agent", "The agent is out of service."),
    "agent.not_started": ("agent", "A person wanted a run while the agent was paused, retired or stopped."),
    "scope.stopped": ("scope", "All agents of the scope, and of what lies below it, are stopped."),
    "scope.resumed": ("scope", "The agents of the scope go on."),
}
"""By kind: whose stream it stands in, and what it records. The body of a step holds no free text."""
