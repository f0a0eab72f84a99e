"""A telling: the steps of an exchange made by hand, with the content that they name."""

import json
from typing import Any

from interlock.ledger.step import BEGINNING, Step

__all__ = ["BILLING", "CLERK", "PEOPLE", "ROOT", "SUB", "SUPPORT", "Telling", "whole_story"]

ROOT, SUB = "task_1", "task_2"
SUPPORT, BILLING, CLERK = "support@acme/desk", "billing@acme/money", "clerk@acme/desk"
PEOPLE = "people@acme/desk"


class Telling:
    """Steps in the stream of one root task; `contents` has what they name, by digest."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.contents: dict[str, Any] = {}

    def keep(self, value: Any) -> str:
        """Keep a piece of content and give its digest."""
        digest = f"digest-{len(self.contents)}"
        self.contents[digest] = value
        return digest

    def add(self, kind: str, /, **body: Any) -> None:
        """Add a step; `from_` stands for `from`."""
        body = {key.rstrip("_"): value for key, value in body.items()}
        seq = len(self.steps) + 1
        self.steps.append(Step(ROOT, seq, kind, 1000 * seq, 0, json.dumps(body), BEGINNING, BEGINNING))

    def opened(
        self, task: str = ROOT, owner: str = SUPPORT, run: str = "run_1", by: Any = None, brief: Any = None
    ) -> None:
        """A task is opened, by Ana unless told otherwise."""
        by = by or {"kind": "person", "name": "Ana"}
        by |= {} if brief is None else {"brief": self.keep(brief)}
        self.add("task.opened", task=task, owner=owner, run=run, scope="acme/desk", by=by)

    def handed(self, to: str, said: Any, task: str = ROOT, by: str = SUPPORT, run: str = "run_9") -> None:
        """A task is handed over."""
        self.add(
            "task.handed_over", task=task, hand_off="handoff_1", epoch=2, from_=by, to=to, run=run,
            package=self.keep(said), labels=["area:acme/desk", "untrusted"],
        )  # fmt: skip

    def sent(self, name: str, kind: str, sender: str, to: str, said: Any, **more: Any) -> None:
        """A message is sent."""
        form = {"task": ROOT, "run": "run_1", **more}
        self.add("message.sent", message=name, type=kind, from_=sender, to=to, body=self.keep(said), **form)

    def acted(self, outcome: str, action: str = "action_1", agent: str = SUPPORT, **more: Any) -> None:
        """An action came to something."""
        said = {"arguments": self.keep({"order": "o7", "amount": 40})} if "arguments" not in more else {}
        form = {"task": ROOT, "tool": "refund", **said, **more}
        self.add("task.acted", action=action, agent=agent, outcome=outcome, **form)

    def asked(self, name: str, kind: str, form: Any, **more: Any) -> None:
        """A question is put to people."""
        about = {"task": ROOT, "agent": SUPPORT, "scope": "acme/desk", "tool": "refund", **more}
        self.add("question.asked", question=name, kind=kind, form=self.keep(form), due_at=0, **about)


def whole_story(said: str = "please refund the fee", tool: str = "refund") -> Telling:
    """Give an exchange with a step of every kind, in which somebody says `said` wherever somebody can."""
    told = Telling()
    told.opened(brief={"says": said, said: 1})
    told.opened(SUB, CLERK, "run_2", {"kind": "request", "message": "message_1"})
    told.sent("message_1", "request", SUPPORT, CLERK, {"goal": said, "scope": [said]}, opens="run_2")
    told.add("message.taken", message="message_1", run="run_2")
    found = [{"text": said, "sources": ["look"]}]
    gaps = [{"what": said, "why": said}]
    result = {"status": "partial", "summary": said, "findings": found, "not_done": gaps}
    told.sent("message_2", "result", CLERK, SUPPORT, result, reply_to="message_1", task=SUB, run="run_2")
    told.add(
        "task.closed", task=SUB, run="run_2", status="finished", summary=told.keep(said), events=["fee.found"]
    )
    told.opened("task_3", "auditor@acme", "run_3", {"kind": "event", "event": "fee.found", "run": "run_2"})
    reason = {"id": "task.not_acknowledged", "with": {"to": said}}
    told.add("message.rejected", task=ROOT, from_=SUPPORT, type="send", reason=reason, detail=told.keep(said))
    told.sent("message_3", "status", SUPPORT, "nobody@acme/desk", {"text": said})
    told.add("message.undelivered", message="message_3", reason=reason)
    told.add(
        "decision.recorded", decision="decision_1", revision=1, task=ROOT, run="run_1", from_=SUPPORT,
        content=told.keep({"topic": said, "decision": said, "by": SUPPORT}),
    )  # fmt: skip
    objections = [{"rule": "policy", "reason": reason}]
    told.asked(
        "question_1",
        "approval",
        {"tool": tool, "arguments": {"to": said}, "objections": objections},
        tool=tool,
    )
    told.add("question.answered", question="question_1", outcome="approve", by="João", said=told.keep(said))
    for outcome in ("done", "failed", "in_doubt", "repeated", "conflict"):
        told.acted(outcome, f"action_{outcome}", arguments=told.keep({"note": said, said: said}), tool=tool)
    told.asked(
        "question_2", "action", {"tool": tool, "deadline": 5000, "said": said}, action="action_in_doubt"
    )
    told.asked("question_3", "question", {"text": said})
    told.add("question.answered", question="question_3", outcome="withdrawn")
    package = {"goal": said, "facts": [{"id": said, "fact": said}], "remains": [said], "reason": said}
    told.handed(BILLING, package)
    told.add("task.acknowledged", task=ROOT, hand_off="handoff_1", epoch=2, run="run_9")
    told.add("task.queued", task=ROOT, owner=PEOPLE, from_=BILLING, reason=reason)
    told.add("task.taken", task=ROOT, epoch=4, owner="person:João", by="João")
    for kind, more in (
        ("event.listed", {"events": [{"event": "fee.found"}]}),
        ("event.withheld", {"reason": reason}),
        ("event.not_started", {"listener": "auditor@acme", "reason": reason}),
    ):
        told.add(kind, run="run_2", **more)
    told.add("task.closed", task=ROOT, by="João", status="closed", said=told.keep(said))
    return told
