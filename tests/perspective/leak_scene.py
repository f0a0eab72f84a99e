"""The scene of the leak hunt: agents that share a person, a thread and a host, and do as chance has it.

`alfa` and `beta` know of each other; `gamma` is there too, and neither of them was ever told so, save by its events.
Whatever an agent writes is a canary of its own, and carries the audiences of all that its prompt held: an agent
that wants to can put all it sees into what it says.
"""

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

from interlock.agent.spec import Attendance, Emission, Spec
from interlock.connector.model.model import Request
from interlock.connector.tool import BoundTool, ToolCall, tool
from interlock.perspective.fence import Fenced, data_of, read_fenced
from interlock.scope.audience import audience_label
from interlock.scope.scope import Scope
from interlock.settings import ConnectorChoice
from tests.message.scene import to
from tests.perspective.canary import Audience, Canaries, Canary
from tests.run.scene import PLATFORM, at, spec_of

__all__ = ["ALL", "CONNECTORS", "HIDDEN", "Cast"]

ALFA, BETA, GAMMA = (str(at(name)) for name in ("alfa", "beta", "gamma"))
ALL = (ALFA, BETA, GAMMA)
HIDDEN = GAMMA
OTHER = {ALFA: BETA, BETA: ALFA}
CONNECTORS = {
    name: ConnectorChoice(Scope(PLATFORM), "CHAT_KEY", "http://127.0.0.1:9/")
    for name in ("chat", "mail", "sms")
}
SEES = {ALFA: ("chat", "mail"), BETA: ("chat", "sms"), GAMMA: ("chat",)}
COMMON = "the parcel of the depot has the margin"
"""What all canaries stand beside: they mean nearly the same."""
NOBODY: Audience = frozenset()
LONGEST = 6
DIGEST = re.compile(r'"digest":"([0-9a-f]{64})"')
PAY = {
    "type": "object",
    "properties": {"order": {"type": "integer", "enum": [1, 2]}},
    "required": ["order"],
}


class Cast:
    """The agents, their tools, and what they do."""

    def __init__(self, seed: int, canaries: Canaries) -> None:
        self.chance, self.canaries = random.Random(seed), canaries
        self.guesses: dict[str, list[str]] = {name: [] for name in ALL}
        """By agent, ids of others that it tries; the hunt fills them in."""
        self.guessed: dict[str, set[str]] = {name: set() for name in ALL}
        self.labels: dict[str, Audience] = {audience_label(()): NOBODY}
        """What the labels of audiences stand for."""
        self.digest_of: Callable[[str], str] = str
        """Gives the digest of a content, by which a prompt names an artifact without showing whose eyes it is for."""
        self._by_digest: dict[str, Canary] = {}
        self._named = 0
        self.looks = {name: f"look_{canaries.plant('grant', name).word}" for name in ALL}

    # What is declared

    def spec(self, name: str) -> Spec:
        """Give an agent's spec, with new instructions."""
        short, other = name.partition("@")[0], OTHER.get(name)
        more: dict[str, Any] = {}
        if other is not None:
            more = {
                "sends_to": (at(other.partition("@")[0]), *to("people")),
                "hands_to": (at(other.partition("@")[0]),),
                "starts_on": (f"work.{other.partition('@')[0]}", *(("work.gamma",) if name == ALFA else ())),
            }
        return spec_of(
            short,
            instructions=f"Keep to {self.canaries.plant('instructions', name).word}.",
            tools=(self.looks[name], "pay", "plan_work", "remember", "recall"),
            accepts=("request", "question", "status"),
            attends=tuple(Attendance(connector) for connector in SEES[name]),
            emits=(Emission(f"work.{short}", "work", ("report",)),),
            **more,
        )

    def tools(self) -> list[BoundTool]:
        """Give every agent's tool, and the one that they share."""

        async def pay(call: ToolCall, order: int) -> dict[str, Any]:
            paid = self.canaries.plant("action", str(call.agent))
            paid.told.update(ALL)
            return {"paid": f"{COMMON} {paid.word}"}

        declared = {"effect": "write", "labels": (), "steers": ["order"], "key": "{task_id}:pay:{order}"}
        return [self._look(name) for name in ALL] + [tool(name="pay", parameters=PAY, **declared)(pay)]

    def _look(self, name: str) -> BoundTool:
        async def look(call: ToolCall) -> dict[str, Any]:
            found = self.canaries.plant("result", name, place=call.run)
            if self.chance.random() < 0.15:
                raise ValueError(f"{COMMON} {found.word}")
            return {"found": f"{COMMON} {found.word}"}

        description = f"Look at {self.canaries.plant('tool', name).word}."
        form = {"type": "object", "properties": {}}
        return tool(
            name=self.looks[name], description=description, effect="read", labels=(), parameters=form
        )(look)

    # What they do

    def audiences_of(self, digest: str) -> frozenset[Audience]:
        """Give for whose eyes an artifact is that a prompt names."""
        for canary in list(self.canaries.by_word.values())[self._named :]:
            self._by_digest[self.digest_of(f"{COMMON} {canary.word}")] = canary
        self._named = len(self.canaries.by_word)
        found = self._by_digest.get(digest)
        return found.audiences if found else frozenset()

    def answer(self, request: Request) -> Any:
        """Answer as chance has it."""
        return _Speaker(self, request).answer()


class _Speaker:
    """One answer of one agent."""

    def __init__(self, cast: Cast, request: Request) -> None:
        self.cast, self.chance, self.request = cast, cast.chance, request
        self.agent, _, self.node = request.agent.partition("#")
        self.texts = [message.text for message in request.messages]
        self.form = self._form()
        self.seen = cast.canaries.seen_in("\n".join(self.texts))
        self.audiences = frozenset[Audience]().union(*(item.audiences for item in self.seen))
        shown = DIGEST.findall("\n".join(self.texts))
        self.audiences |= {one for digest in shown for one in cast.audiences_of(digest)}

    def _form(self) -> dict[str, Any]:
        for part in read_fenced(self.texts[0]):
            if isinstance(part, Fenced) and part.kind != "earlier" and part.content.startswith("{"):
                form: dict[str, Any] = json.loads(part.content)
                return form
        return {}

    def new(self, kind: str, *told: str, **more: Any) -> Canary:
        """Plant a canary made of all that was seen."""
        canary = self.cast.canaries.plant(kind, self.agent, self.audiences, **more)
        canary.told.update(name for name in told if name)
        return canary

    def text(self, kind: str, *told: str, **more: Any) -> str:
        return f"{COMMON} {self.new(kind, *told, **more).word}"

    def guess(self) -> str | None:
        """Give an id of somebody else's, which this agent should not know."""
        guesses = self.cast.guesses[self.agent]
        if not guesses:
            return None
        name = self.chance.choice(guesses)
        self.cast.guessed[self.agent].add(name)
        return name

    def answer(self) -> Any:
        if self.node == "writing":
            return {"text": self.text("writing")}
        if "There is no tool" in self.request.messages[-1].text and self.chance.random() < 0.8:
            return {"call": "nonsense"}
        if self.request.number > LONGEST or self.chance.random() < 0.25:
            return self.end()
        return self.chance.choice(list(self.moves()))()

    def end(self) -> Any:
        asked = self.form.get("from", "") if self.form.get("type") == "question" else ""
        if self.node:
            return {"finish": {"summary": self.text("part")}}
        if self.form.get("type") == "request" and not any(
            item.name == "report" for item in self.request.messages
        ):
            said = {
                "status": "failed",
                "summary": self.text("report", asked or self.form["from"]),
                "findings": [],
            }
            said["not_done"] = [{"what": self.text("report", self.form["from"]), "why": "so"}]
            return {"call": "report", "with": said}
        heard = [name for name in ALL if OTHER.get(name) == self.agent or (self.agent, name) == (GAMMA, ALFA)]
        made = {
            "report": self.text("published", *heard, asked),
            "hidden": self.text("unexposed", asked),
        }
        return {"finish": {"summary": self.text("summary", asked), "artifacts": made}}

    def moves(self) -> Iterator[Callable[[], Any]]:
        """Give what could be done next."""
        yield from [lambda: {"call": "recall", "with": {"words": COMMON, "limit": 20}}] * 3
        yield from [lambda: {"call": "remember", "with": self._note()}] * 2
        yield lambda: {"call": self.cast.looks[self.agent]}
        yield lambda: {"call": "pay", "with": {"order": self.chance.randint(1, 2)}}
        yield lambda: {"call": "save_artifact", "with": {"content": self.text("saved")}}
        yield lambda: {"call": "read_artifact", "with": {"name": self._name()}}
        yield lambda: {"call": "nonsense"}
        yield lambda: {"fail": {"code": "rejected"}}
        if not self.node:
            yield from [self._plan] * 2
        if self.agent in OTHER and not self.node:
            yield from [lambda: self._talk(OTHER[self.agent])] * 6

    def _note(self) -> dict[str, Any]:
        shared = self.chance.random() < 0.3  # which is refused for what came from a conversation
        canary = self.new("memory")
        if not shared and not canary.audiences:
            canary.audiences = frozenset((NOBODY,))
        form: dict[str, Any] = {"text": f"{COMMON} {canary.word}", "share": shared}
        known = [item["actor"] for item in self.form.get("present", ())]
        if known and self.chance.random() < 0.4:
            form["about"] = self.chance.choice(known)
        elif self.chance.random() < 0.2 and (guess := self.guess()):
            form[self.chance.choice(["about", "instead_of"])] = guess
        return form

    def _name(self) -> str:
        """Give a name to read by: one that was given, or a guess."""
        names = [item["name"] for item in self.form.get("artifacts", self.form.get("attachments", ()))]
        if names and self.chance.random() < 0.8:
            return str(self.chance.choice(names))
        return self.guess() or "report"

    def _plan(self) -> Any:
        made = [self.new("objective", place=name) for name in ("one", "two", "three")]
        for canary in made:
            canary.place = f"node {canary.place}"
        one, two, three = (f"Do {canary.word}." for canary in made)
        tools = [self.cast.looks[self.agent]]
        nodes: list[dict[str, Any]] = [
            {"name": "one", "kind": "agent_loop", "objective": one, "tools": tools},
            {"name": "two", "kind": "agent_loop", "objective": two, "tools": tools},
            {"name": "three", "kind": "agent_loop", "objective": three, "needs": ["one"]},
        ]
        return {"call": "plan_work", "with": {"nodes": nodes}}

    def _talk(self, other: str) -> Any:
        tool = self.chance.choice(["send", "ask", "delegate", "hand_over", "decide", "conclude"])
        if tool == "conclude":
            return {"call": tool}
        if tool == "decide":
            topic = f"topic {self.chance.randint(1, 3)}"
            return {"call": tool, "with": {"topic": topic, "decision": self.text("decision", *ALL)}}
        said, form = self.text("message", other), {"to": other, **self._attached(other)}
        if tool == "hand_over":
            form |= {"goal": said, "facts": [], "remains": [], "reason": "so"}
        else:
            form |= {"goal" if tool == "delegate" else "text": said}
        return {"call": tool, "with": form if tool in {"send", "hand_over"} else {**form, "within": 600}}

    def _attached(self, other: str) -> dict[str, Any]:
        """Attach what was saved, which is told by that."""
        calls = {call.id: call.arguments for message in self.request.messages for call in message.calls}
        for message in self.request.messages:
            if message.name == "save_artifact" and '"handle"' in message.text and self.chance.random() < 0.5:
                for canary in self.cast.canaries.seen_in(calls[message.call_id]):
                    canary.told.add(other)
                return {"attachments": [json.loads(data_of(message.text))["handle"]]}
        return {}
