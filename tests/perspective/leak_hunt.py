"""The leak hunt: chance writes deeds of agents that share people, threads and a host; nothing of one reaches the other.

`python -m tests.perspective.leak_hunt --seeds 100 --steps 100` hunts that often, from `--first`.
"""

import argparse
import asyncio
import contextlib
import io
import random
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from interlock.cli import exchange, memory, trail, work
from interlock.cli import prompt as prompts
from interlock.cli.terminal import Options
from interlock.connector.model.model import Request
from interlock.connector.observation import Observation
from interlock.connector.observation import Person as Somebody
from interlock.errors import InterlockError
from interlock.ledger.sql import queries
from interlock.perspective.perspective import Perspective, identity
from interlock.perspective.recall import recall
from interlock.runtime import Runtime
from interlock.scope.audience import audience_label
from interlock.scope.scope import Address
from tests.perspective.canary import Canaries, Person
from tests.perspective.leak_judge import Judge, Rooms
from tests.perspective.leak_scene import ALL, COMMON, CONNECTORS, SEES, Cast
from tests.run.scene import JumpingClock, drain, runs_of
from tests.world import sound, world

__all__ = ["DEEDS", "hunt", "written"]

PEOPLE = 5
THREADS = {"chat": 3, "mail": 2, "sms": 2}
OFTEN = {"say": 12, "work": 6, "echo": 3, "open": 3, "read": 4, "link": 4, "unlink": 2}
"""How often a deed is chosen for each time that one of the others is."""
LONGEST = 120
"""Seconds of real time after which a deed that does not end is given up."""
KINDS_OF_TASK = (
    "message",
    "report",
    "decision",
    "summary",
    "action",
    "brief",
    "published",
    "unexposed",
    "part",
)
"""What an exchange is made of, and what it therefore may show."""

Deed = tuple[str, int, int, int]


class Hunt:
    """One hunt. Each deed takes three numbers, which say how it is done."""

    def __init__(self, seed: int) -> None:
        self.canaries, self.rooms = Canaries(seed), Rooms()
        self.cast = Cast(seed, self.canaries)
        self.number = 0
        self.echoed = 0
        self.shown: Counter[str] = Counter()

    def begin(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.judge = Judge(runtime, self.canaries, self.rooms, self.cast.guessed)
        digest = runtime.installation.contents.digest
        self.cast.digest_of = lambda text: digest("acme", text.encode())
        for name in (f"t{number}" for number in range(max(THREADS.values()))):
            self.judge.thread(name, digest("acme", name.encode()))

    def answer(self, request: Request) -> Any:
        """Answer for whoever is asked; what the model sees is judged before it answers."""
        agent = request.agent.partition("#")[0]
        seen = [request.instructions, *(f"{offer.name} {offer.description}" for offer in request.tools)]
        seen += [f"{message.text} {message.calls}" for message in request.messages]
        self.judge.text("\n".join(seen), agent, f"what the model of {request.agent} saw")
        return self.cast.answer(request)

    async def do(self, deed: Deed) -> None:
        """Do one deed, and look at all that came of it."""
        name, *numbers = deed
        await getattr(self, f"_{name}")(*numbers)
        await self.judge.look()
        for agent in ALL:
            self.cast.guesses[agent] = self.judge.foreign(agent)[-40:]

    # Deeds

    async def _say(self, one: int, two: int, three: int) -> None:
        connector = ("chat", "chat", "mail", "sms")[one % 4]
        chance = random.Random(f"{one} {two} {three}")
        thread = f"t{two % THREADS[connector]}"
        room = chance.sample(range(PEOPLE), chance.randint(1, 3))
        await self._bring(connector, thread, room[0], room, chance)

    async def _bring(
        self, connector: str, thread: str, sender: int, room: Sequence[int], chance: random.Random
    ) -> None:
        people = [Somebody(f"{connector[0]}{number}", f"Person {number}") for number in room]
        here = frozenset(self._person(connector, number) for number in room)
        seeing = [name for name in ALL if connector in SEES[name]]
        self._label(here)
        canary = self.canaries.plant("event", seeing[0], (here,))
        canary.told.update(seeing)
        self.rooms.here |= {(name, connector, thread): here for name in seeing}
        self.number += 1
        sent = people[list(room).index(sender)]
        text = f"{COMMON} {canary.word}"
        at = self.runtime.installation.clock.now()
        said = Observation(f"m{self.number}", thread, sent, text, at, tuple(people))
        await self.runtime.observe(connector, said)

    def _person(self, connector: str, number: int) -> Person:
        return f"{connector}:{connector[0]}{number}"

    def _label(self, here: frozenset[Person]) -> None:
        members = []
        for person in here:
            connector, _, external = person.partition(":")
            digest = self.runtime.installation.contents.digest("acme", external.encode())
            members.append(identity(connector, digest))
        self.cast.labels[audience_label(members)] = here

    async def _echo(self, one: int, two: int, three: int) -> None:
        """What agents said comes back, and the others observe it as somebody's."""
        with contextlib.closing(apsw.Connection(str(self.runtime.installation.ledger.path))) as db:
            rows = list(db.execute("SELECT id, agent, conversation, connector FROM outgoing ORDER BY id"))
        fresh = rows[self.echoed :][:3]
        self.echoed += len(fresh)
        for row in fresh:
            await self._come_back(row)

    async def _come_back(self, row: Sequence[Any]) -> None:
        name, agent, conversation, connector = row
        thread = self.judge._threads[conversation][1]
        here = self.rooms.here[agent, connector, thread]
        seeing = [other for other in ALL if connector in SEES[other] and other != agent]
        if not seeing:
            return
        robot = Somebody(f"{connector[0]}-robot-{ALL.index(agent)}", "Robot")
        mine = f"{connector}:{robot.external}"
        self.rooms.here |= {(other, connector, thread): here | {mine} for other in seeing}
        self._label(here | {mine})
        canary = self.canaries.plant("event", seeing[0], (here | {mine},))
        canary.told.update(seeing)
        people = [Somebody(one.partition(":")[2], "") for one in sorted(here)]
        self.number += 1
        at = self.runtime.installation.clock.now()
        text = f"{COMMON} {canary.word}"
        said = Observation(f"m{self.number}", thread, robot, text, at, (robot, *people), own=name)
        await self.runtime.observe(connector, said)
        await self.judge.look()

    async def _open(self, one: int, two: int, three: int) -> None:
        agent = ALL[one % len(ALL)]
        brief = self.canaries.plant("brief", agent)
        brief.place = await self.runtime.open_run(Address(agent), "maria", {"task": f"{COMMON} {brief.word}"})

    async def _work(self, one: int, two: int, three: int) -> None:
        await drain(self.runtime)

    async def _wait(self, one: int, two: int, three: int) -> None:
        self.runtime.installation.clock.move(one * 30)  # type: ignore[attr-defined]
        await drain(self.runtime)

    async def _publish(self, one: int, two: int, three: int) -> None:
        await self.runtime.publish(self.cast.spec(ALL[one % len(ALL)]), "maria")

    async def _link(self, one: int, two: int, three: int) -> None:
        """Somebody says that two are one person, rightly or not."""
        await self._change(self.runtime.link, one, two, three)

    async def _unlink(self, one: int, two: int, three: int) -> None:
        await self._change(self.runtime.unlink, one, two, three)

    async def _mistake(self, one: int, two: int, three: int) -> None:
        """Two are taken for one; meanwhile the one says something; then they are told apart, and the other is there."""
        chance, agent = random.Random(f"{one} {two} {three}"), ALL[one % len(ALL)]
        connector, other = SEES[agent][0], SEES[agent][-1]
        left, right = chance.sample(range(PEOPLE), 2)
        await self._bring(connector, "t0", left, [left], chance)
        await self._bring(other, "t1", right, [right], chance)
        pair = frozenset((self._person(connector, left), self._person(other, right)))
        known = await self._known(agent)
        await self._linked(self.runtime.link, agent, pair, known)
        for number in range(3):
            await self._bring(connector, f"t{number % THREADS[connector]}", left, [left], chance)
            await self._work(0, 0, 0)
            await self.judge.look()
        await self._linked(self.runtime.unlink, agent, pair, known)
        for number in range(3):
            await self._bring(other, f"t{number % THREADS[other]}", right, [right], chance)
            await self._work(0, 0, 0)
            await self.judge.look()

    async def _change(self, change: Callable[..., Any], one: int, two: int, three: int) -> None:
        await drain(self.runtime)  # whoever is being answered is who they were when it began
        await self.judge.look()
        agent = ALL[one % len(ALL)]
        links = self.rooms.links.setdefault(agent, set())
        chance = random.Random(f"{one} {two} {three}")
        known = await self._known(agent)
        if change == self.runtime.unlink and links:
            pair = chance.choice(sorted(map(sorted, links)))
        elif len(known) < 2:
            return
        else:
            pair = chance.sample(sorted(known), 2)
        await self._linked(change, agent, frozenset(pair), known)

    async def _linked(
        self, change: Callable[..., Any], agent: str, pair: frozenset[Person], known: Mapping[Person, str]
    ) -> None:
        await drain(self.runtime)
        await self.judge.look()
        links = self.rooms.links.setdefault(agent, set())
        evidence = self.canaries.plant("evidence", agent)
        try:
            found = [known[person] for person in sorted(pair)]
            await change(Address(agent), *found, f"{COMMON} {evidence.word}", "maria")
        except InterlockError as error:
            self.judge.text(str(error), agent, "an error")
            return
        if change == self.runtime.link:
            links.add(pair)
        else:
            links.discard(pair)

    async def _known(self, agent: str) -> dict[Person, str]:
        """Give the actors that an agent knows."""
        view, found = Perspective(self.runtime.installation.ledger, agent), {}
        for connector in SEES[agent]:
            for number in range(PEOPLE):
                person = self._person(connector, number)
                digest = self.runtime.installation.contents.digest("acme", person.partition(":")[2].encode())
                if (actor := await view.actor(connector, digest)) is not None:
                    found[person] = actor
        return found

    async def _read(self, one: int, two: int, three: int) -> None:
        """Reads of one perspective with the ids of another, and statements that try to get round the wall."""
        agent, ledger = ALL[one % len(ALL)], self.runtime.installation.ledger
        chance = random.Random(f"{one} {two} {three}")
        foreign = self.judge.foreign(agent) or ["x"]
        for name, sql in queries("perspective.sql").items():
            values = [
                chance.choice([*chance.sample(foreign, min(3, len(foreign))), "", 0, 9])
                for _ in range(sql.count("?"))
            ]
            try:
                rows = await ledger.within(agent, name, *values)
            except InterlockError as error:
                self.judge.text(str(error), agent, "an error")
                continue
            self._mine(rows, agent, name)
        for found in await recall(ledger, agent, COMMON, frozenset(), now=0, limit=1000):
            self._mine([(found.id,)], agent, "recall")

    def _mine(self, rows: Sequence[Sequence[Any]], agent: str, name: str) -> None:
        self.shown["rows"] += len(rows)
        for row in rows:
            for value in row:
                if isinstance(value, str) and not value.startswith("run_"):
                    owner = self.judge.owner(value)
                    assert owner in {None, agent}, f"{name} shows {agent} {value} of {owner}"

    async def _export(self, one: int, two: int, three: int) -> None:
        """Whatever prints what one agent sees, or did, prints nothing of another."""
        agent = ALL[one % len(ALL)]
        options = Options(folder=self.runtime.folder, as_json=bool(two % 2))
        await self.judge.look()
        self._printed(await _printed(memory._show(Address(agent), options)), agent, "memory show")
        runs = await runs_of(self.runtime, agent)
        if not runs:
            return
        run = runs[three % len(runs)]
        self._printed(await _printed(prompts._show(run, None, False, False, options)), agent, "prompt show")
        self._printed(
            await _printed(prompts._show(run, None, False, True, Options(self.runtime.folder))), agent, "raw"
        )
        self._printed(await _printed(work._show(run, None, False, options)), agent, "work show")
        for whole in (False, True):
            self._printed(await _printed(trail._trail(run, False, whole, whole, options)), agent, "trail")
        told = await _printed(exchange._exchange(run, False, True, options))
        for canary in self.canaries.seen_in(told):
            assert canary.kind in KINDS_OF_TASK or canary.told, f"{canary} in an exchange"

    def _printed(self, text: str, agent: str, where: str) -> None:
        self.shown[where] += 1
        self.judge.text(text, agent, where)


async def _printed(command: Any) -> str:
    """Carry a command out, and give what it prints, errors too."""
    written = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        try:
            await command
        except InterlockError as error:
            print(error)
    return written.buffer.getvalue().decode()  # type: ignore[attr-defined]


DEEDS = ("say", "work", "echo", "mistake", "open", "wait", "publish", "link", "unlink", "read", "export")


def written(seed: int, steps: int) -> list[Deed]:
    """Write a course of deeds."""
    chance = random.Random(seed)
    names = chance.choices(DEEDS, [OFTEN.get(name, 1) for name in DEEDS], k=steps)
    return [(name, *(chance.randrange(60) for _ in range(3))) for name in names]  # type: ignore[misc]


def hunt(seed: int, steps: int, deeds: Sequence[Deed] | None = None) -> Counter[str]:
    """Hunt once, and give what happened how often. Raises AssertionError with what leaked."""
    with tempfile.TemporaryDirectory(prefix="hunt-") as folder:
        return asyncio.run(_hunt(Path(folder), seed, written(seed, steps) if deeds is None else deeds))


async def _hunt(folder: Path, seed: int, deeds: Sequence[Deed]) -> Counter[str]:
    one = Hunt(seed)
    specs = [one.cast.spec(name) for name in ALL]
    (folder / "interlock.yaml").write_text("models: {default: {provider: scripted}}\n")
    more = {"clock": JumpingClock(), "chain_limit": 2, "synchronous": "NORMAL", "connectors": CONNECTORS}
    async with world(folder, {"*": one.answer}, specs, tools=one.cast.tools(), **more) as runtime:
        one.begin(runtime)
        await one.judge.look()
        for deed in deeds:
            await asyncio.wait_for(one.do(deed), LONGEST)
        await asyncio.wait_for(one.do(("work", 0, 0, 0)), LONGEST)
        for number in range(len(ALL) * 2):
            await one.do(("export", number, number // len(ALL), number * 7))
        assert await sound(runtime)
    return one.judge.counts + one.shown + Counter(deed[0] for deed in deeds)


def main() -> None:
    """Hunt as often as was asked for, and tell what happened in all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args()
    happened: Counter[str] = Counter()
    failed = []
    for seed in range(given.first, given.first + given.seeds):
        try:
            happened += hunt(seed, given.steps)
        except AssertionError:
            failed.append(seed)
            print(f"seed {seed}:", traceback.format_exc(limit=-2), flush=True)
    for name, count in happened.most_common():
        print(f"{count:8} {name}")
    print(f"{given.seeds * given.steps} deeds; failed: {failed or 'none'}")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
