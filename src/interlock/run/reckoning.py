"""A reckoning: what the work of a graph came to, as the call that planned it is told (WG-3)."""

from typing import Any

from interlock import canonical
from interlock.catalogue import Text, say
from interlock.event.event import Exposed
from interlock.run.call import CallState
from interlock.run.installation import Installation
from interlock.run.outcome import Outcomes
from interlock.run.run import Run
from interlock.run.signal import named_apart
from interlock.scope.label import join
from interlock.work_graph.progress import Progress

__all__ = ["reckon", "why_not"]


async def reckon(
    installation: Installation, run: Run, outcomes: Outcomes, call: CallState, progress: Progress
) -> None:
    """Give a call its result: how its graph stands, what can be read of it, what is not done, and why. What can be read
    is what its ends made, and the verdicts that let nothing pass; all labels of the work come with it."""
    language = installation.settings.language
    readable = [*progress.graph.ends, *(name for name in progress.states if _is_rejected(progress, name))]
    given: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(readable):
        tried = progress.attempts[name]
        for item in tried[-1].artifacts.values() if tried else ():
            [known] = named_apart(run, name, (Exposed.from_dict(item),), given)
            given[known["name"]] = known
    undone = [name for name, found in progress.states.items() if found != "done"]
    form = {
        "status": progress.status,
        "revision": call.work,
        "done": len(progress.states) - len(undone),
        "artifacts": list(given),
        "not_done": [{"what": name, "why": say(why_not(progress, name), language)} for name in undone],
    }
    kept = await installation.contents.keep_any(run.company, canonical.encode(form))
    labels = join(*(attempt.labels for tried in progress.attempts.values() for attempt in tried))
    outcomes.answer(call, kept, labels, given=list(given.values()))


def _is_rejected(progress: Progress, name: str) -> bool:
    tried = progress.attempts[name]
    return bool(tried) and tried[-1].outcome == "rejected"


def why_not(progress: Progress, name: str) -> Text:
    """Give why a node is not done."""
    if progress.states[name] in {"waiting", "running"}:
        return Text("work.not_in_time")
    tried = progress.attempts[name]
    if tried and tried[-1].reason is not None:
        return Text(tried[-1].reason["id"], **tried[-1].reason.get("with", {}))
    because = progress.because.get(name)
    return Text("work.skipped", because=because) if because else Text("work.not_needed")
