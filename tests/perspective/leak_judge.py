"""The judge of the leak hunt: reads what was shown to agents, byte for byte, and finds what should not stand there."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.run.run import Run
from interlock.runtime import Runtime
from tests.perspective.canary import Audience, Canaries, Canary, Person

__all__ = ["Judge", "Rooms"]

ID = re.compile(
    r"\b(?:run|task|actor|event|conversation|memory|message|handoff|question|decision|action|w)_[0-9a-f]{12,32}"
)
STRICT = frozenset({"event", "memory"})
"""The kinds that no prompt of a conversation may hold unless everybody there could have observed it. What somebody else
sends is heard all the same; then nothing is said of it (ME-2)."""
SHOWN_TO_ONE = frozenset({"result", "objective", "brief"})
"""The kinds that one run alone may be shown."""


@dataclass(slots=True)
class Rooms:
    """Who is where, and who is whom for each agent, as the hunt itself has it. Who says something is
    not in the room of its own conversation."""

    here: dict[tuple[str, str, str], frozenset[Person]] = field(default_factory=dict)
    links: dict[str, set[frozenset[Person]]] = field(default_factory=dict)

    def same(self, agent: str, person: Person) -> Audience:
        """Give all under whom an agent knows somebody."""
        found, left = {person}, [person]
        while left:
            one = left.pop()
            for pair in self.links.get(agent, ()):
                if one in pair:
                    new = pair - found
                    found |= new
                    left += new
        return frozenset(found)


class Judge:
    """Judges one hunt. `counts` says what was looked at."""

    def __init__(
        self, runtime: Runtime, canaries: Canaries, rooms: Rooms, guessed: Mapping[str, set[str]]
    ) -> None:
        self.runtime, self.canaries, self.rooms, self.guessed = runtime, canaries, rooms, guessed
        self.counts: Counter[str] = Counter()
        self._after = 0
        self._owners: dict[str, str] = {}
        self._runs: dict[str, tuple[str, frozenset[Person] | None]] = {}
        self._known_as: dict[tuple[str, Person], Audience] = {}
        """By run, who somebody in its room was taken for when it was opened: it may wait while that is put right."""
        self._openings: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, set[str]] = {}
        self._threads: dict[str, tuple[str, str]] = {}
        self._names: dict[str, str] = {}

    def owner(self, name: str) -> str | None:
        """Give whose an id is."""
        return self._owners.get(name)

    def foreign(self, agent: str) -> list[str]:
        """Give ids that are somebody else's."""
        return [name for name, owner in self._owners.items() if owner != agent]

    def thread(self, name: str, digest: str) -> None:
        """Say which thread a keyed digest stands for."""
        self._names[digest] = name

    async def look(self) -> None:
        """Look at all that was written since the last look."""
        rows = self.runtime.installation.ledger._db.execute(  # type: ignore[attr-defined]
            "SELECT rowid, stream, kind, body FROM step WHERE rowid > ? ORDER BY rowid", (self._after,)
        ).fetchall()
        if rows:
            self._after = rows[-1][0]
        steps = [(stream, kind, json.loads(body)) for _, stream, kind, body in rows]
        for stream, kind, body in steps:
            self._note(stream, kind, body)
        for stream, kind, body in steps:
            if kind == "model.asked":
                await self._prompt(stream, body)
            elif kind == "message.observed":
                await self._event(stream, body)

    def _note(self, stream: str, kind: str, body: Mapping[str, Any]) -> None:
        self.counts[kind] += 1
        if kind == "conversation.opened":
            self._threads[stream] = body["connector"], self._names[body["thread"]]
        for key, of in (
            ("message.observed", "event"),
            ("actor.met", "actor"),
            ("decision.recorded", "decision"),
        ):
            if kind == key:
                self._owners[body[of]] = body.get("perspective") or body["from"]
        if kind in {"conversation.opened", "memory.written"}:
            self._owners[stream] = body["perspective"]
        if kind == "message.sent":
            self._owners[body["message"]] = body["from"]
        if kind == "run.opened":
            self._opened(stream, body)

    def _opened(self, run: str, body: Mapping[str, Any]) -> None:
        self._owners[run] = body["agent"]
        self._owners.setdefault(body["task"]["id"], body["agent"])
        self._openings[run] = dict(body)
        room: frozenset[Person] | None = None
        if "turn" in body:
            room = self.rooms.here[body["agent"], *self._threads[body["turn"]["conversation"]]]
        elif "work" in body:
            room = self._runs[body["work"]["place"]["root_run"]][1]
        self._runs[run] = body["agent"], room
        self._known_as |= {(run, one): self.rooms.same(body["agent"], one) for one in room or ()}

    # Prompts

    async def _prompt(self, run: str, body: Mapping[str, Any]) -> None:
        agent, room = self._runs[run]
        if "writing" in body:
            return
        snapshot, _ = await self.runtime.prompt(run, body["n"])
        text = snapshot.request.decode()
        self.counts["prompt"] += 1
        state = await self.runtime.run(run)
        seen = self.canaries.seen_in(text)
        answers = [message.get("calls", ()) for message in json.loads(text)["messages"]]
        wrote = {canary.word for canary in self.canaries.seen_in(json.dumps(answers))}
        self._seen.setdefault(run, set()).update(item.word for item in seen)
        for canary in seen:
            self._may_see(canary, agent, f"a prompt of {run} of {agent}")
            assert self._is_here(canary, run, state), f"{canary} in a prompt of {run}, which is another's"
            if room is not None and canary.kind in STRICT and canary.word not in wrote:
                out = canary.outsider(room, lambda one: self._taken_for(run, agent, one))
                assert out is None, f"{canary} in a prompt of {run} of {agent} before {out} in {sorted(room)}"
        self._ids(text, run, agent, state)

    def _taken_for(self, run: str, agent: str, person: Person) -> Audience:
        return self.rooms.same(agent, person) | self._known_as.get((run, person), frozenset())

    def _may_see(self, canary: Canary, agent: str, where: str) -> None:
        assert canary.known_to(agent), f"{canary} in {where}"

    def _is_here(self, canary: Canary, run: str, state: Run) -> bool:
        """Whether what one run alone may be shown is shown to that one."""
        if canary.kind not in SHOWN_TO_ONE:
            return True
        if canary.place.startswith("node "):
            return not state.part or state.part["place"]["node"] == canary.place.removeprefix("node ")
        return canary.place in {"", run}

    def _ids(self, text: str, run: str, agent: str, state: Run) -> None:
        """No id of somebody else's, no address of somebody who is hidden, but what came by an event or an envelope."""
        opening = self._openings[run]
        given = json.dumps([opening.get("event"), opening.get("given"), list(state.given.values())])
        for name in dict.fromkeys(ID.findall(text)):
            if self._owners.get(name) == agent or any(name in guess for guess in self.guessed[agent]):
                continue
            is_ref = name.startswith("run_") and name in given
            assert is_ref, f"{name} of {self._owners.get(name)} in a prompt of {run} of {agent}"
        hidden = "gamma@"
        if hidden in text and not agent.startswith(hidden):
            assert hidden in given, f"{hidden} in a prompt of {run} of {agent}"

    # What is said

    async def _event(self, stream: str, body: Mapping[str, Any]) -> None:
        """What an agent says before others holds nothing that one of them could not have observed, nor does it come
        from a prompt that did."""
        if body["way"] != "own":
            return
        agent, thread = body["perspective"], self._threads[stream]
        room = self.rooms.here[agent, *thread]
        text = (await self.runtime.installation.contents.read(body["content"])).decode()
        self.counts["said"] += 1
        said = self.canaries.seen_in(text)
        for canary in [*said, *(self.canaries.by_word[word] for word in self._seen.get(body["run"], ()))]:
            out = canary.outsider(room, lambda one: self.rooms.same(agent, one))
            assert out is None, f"{canary} behind what {agent} said before {out} in {sorted(room)}"
        for canary in said:
            canary.kind = "event"
            canary.audiences |= {room}

    # Anything else

    def text(self, text: str, agent: str, where: str, beside: Iterable[str] = ()) -> None:
        """What is meant for one agent's eyes holds nothing of others."""
        self.counts["text"] += 1
        for canary in self.canaries.seen_in(text):
            if canary.kind not in set(beside):
                self._may_see(canary, agent, where)
