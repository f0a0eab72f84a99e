"""Measure the making of a turn's prompt, and the taking in of a message, as what an agent has seen grows.

    python bench/resolve.py [--sizes 10000 1000000] [--rounds 60] [--bare] [--json FILE] [--where FOLDER]

For each size a real ledger on disk, in which one agent has observed so many messages: half of them in one conversation,
the hall, the others in conversations of 20. A hundredth as many people speak as there are messages. Two further agents
have a tenth as much each, in the same ledger. Messages are written by the same steps, projections and index rows as
`observe` writes, only many to a commit.

- observe: a message comes in and opens a run, until it is on disk. known: the same one once more. waiting: one that
  comes while that run is open.

- turn: what opens a turn reads: the conversation, what is new in it and what was said before, who is there and as whom
  they are known, and which of that everybody there may see.
- resolve: the prompt of that turn, by the run's resolver, from a content store that remembers nothing.
- cpu: the processor's time for turn and resolve together.

Ledgers take turns within each round, so that ratios share the machine's noise. Times are medians in milliseconds;
`ratio` is to the first size.
"""

import argparse
import asyncio
import itertools
import json
import random
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from interlock.agent.spec import Attendance, Spec
from interlock.clock import new_id
from interlock.connector.model.scripted import ScriptedModel
from interlock.connector.observation import Observation, Person
from interlock.ledger.content_store import ContentStore, Kept
from interlock.ledger.ledger import Appended, Row, Write
from interlock.ledger.step import Draft
from interlock.perspective.perspective import MessageEvent, Perspective, identity
from interlock.perspective.resolver import Sources, resolve
from interlock.run.observing import room_label
from interlock.run.opening import Opening, Taker
from interlock.run.remembering import event_rows
from interlock.run.turn import next_turn
from interlock.runtime import Runtime
from interlock.scope.label import UNTRUSTED, listed
from interlock.scope.scope import Scope
from interlock.settings import ConnectorChoice, ModelChoice, Settings

SCOPE = Scope("acme/desk")
LABELS = frozenset({"area:acme/desk", UNTRUSTED})
SIZES = (10_000, 1_000_000)
LONG, PRESENT, BATCH = 20, 4, 5000
BEGIN = 1_600_000_000_000
KINDS = ("hall", "small", "new")


class OneModel:
    """A model that ends every run at once."""

    def open(self, role: str) -> ScriptedModel:
        """Give the model."""
        return ScriptedModel({"*": lambda request: {"finish": "ok"}})

    async def close(self) -> None:
        """Nothing is held."""


class Known(NamedTuple):
    """Somebody as an agent knows them: an actor, what the outside calls them, their name, and their identity."""

    actor: str
    external: str
    name: str
    identity: str


@dataclass(slots=True)
class Talk:
    """A conversation that is being filled."""

    id: str
    thread: str
    room: list[Known]
    opened: bool = False


class Filling:
    """Writes messages into one agent's perspective, many to a commit."""

    def __init__(self, runtime: Runtime, spec: Spec, connector: str, run: str, bare: bool) -> None:
        self._installation, self._agent, self._connector, self._run = (
            runtime.installation,
            spec.address,
            connector,
            run,
        )
        self._bare = bare
        self._chance = random.Random(7)
        self._words = [
            f"{a}{b}{c}" for a, b, c in itertools.product("bdfgklmn", ("ar", "ol", "in", "et"), "aeiou" * 20)
        ]
        self._often = list(itertools.accumulate(1 / place for place in range(3, len(self._words) + 3)))
        self._drafts: defaultdict[str, list[Draft]] = defaultdict(list)
        self._rows: list[Row] = []
        self._contents: list[Any] = []
        self._named: set[str] = set()
        self.talks: list[Talk] = []

    def digest(self, text: str) -> str:
        """Give the keyed digest of what the outside calls something."""
        return self._installation.contents.digest(SCOPE.company, text.encode())

    def _kept(self, text: str) -> Kept:
        kept = self._installation.contents.keep(SCOPE.company, text.encode())
        self._contents.append(kept.row)
        return kept

    def _meets(self, number: int) -> Known:
        external, name = f"u{number}", f"Person {number}"
        actor, digest = new_id("actor", self._installation.clock), self.digest(external)
        self._drafts[self._agent].append(
            Draft("actor.met", {"perspective": self._agent, "actor": actor, "name": self._kept(name).digest,
                                "connector": self._connector, "external": digest})
        )  # fmt: skip
        return Known(actor, external, name, identity(self._connector, digest))

    async def fill(self, many: int) -> None:
        """Write so many messages."""
        people = [self._meets(number) for number in range(max(PRESENT, many // 100))]
        hall, small = self._opens("hall", people), None
        for number in range(many):
            if number % 2 or many < LONG:
                talk = hall
            else:
                if number // 2 % LONG == 0 or small is None:
                    small = self._opens(f"small{number // 2 // LONG}", people)
                talk = small
            self._says(talk, number)
            if number % BATCH == BATCH - 1:
                await self._write()
        await self._write()
        self._drafts |= {talk.id: [self._turn(talk, place)] for talk, place in await self._places()}
        await self._write()

    def _opens(self, thread: str, people: list[Known]) -> Talk:
        talk = Talk(
            new_id("conversation", self._installation.clock), thread, self._chance.sample(people, PRESENT)
        )
        self.talks.append(talk)
        return talk

    def _says(self, talk: Talk, number: int) -> None:
        drafts = self._drafts[talk.id]
        mine, who = {"perspective": self._agent}, self._chance.choice(talk.room)
        joined = {} if talk.opened else {"joined": sorted(one.actor for one in talk.room)}
        if not talk.opened:
            talk.opened = True
            drafts.append(
                Draft(
                    "conversation.opened",
                    {**mine, "connector": self._connector, "thread": self.digest(talk.thread)},
                )
            )
        label, members = room_label([frozenset({one.identity}) for one in talk.room])
        if label not in self._named:
            self._named.add(label)
            self._drafts[label].append(Draft("audience.named", {"members": members, "audience": label}))
        text = " ".join(self._chance.choices(self._words, cum_weights=self._often, k=12))
        event = MessageEvent(0, new_id("event", self._installation.clock), who.actor, "engage",
                             self._kept(text).digest, LABELS | {label}, BEGIN + number * 1000, None)  # fmt: skip
        body = {"event": event.id, "actor": event.actor, "way": event.way, "external": self.digest(f"m{number}"),
                "content": event.content, "labels": listed(event.labels), "at": event.at}  # fmt: skip
        drafts.append(Draft("message.observed", {**mine, **body, **joined}))
        if not self._bare:
            self._rows += event_rows(self._agent, event, members, text, who.name, talk.id)

    def _turn(self, talk: Talk, place: int) -> Draft:
        """A turn has taken in all that was said."""
        return Draft("turn.opened", {"perspective": self._agent, "run": self._run, "place": place})

    async def _places(self) -> list[tuple[Talk, int]]:
        view, found = Perspective(self._installation.ledger, self._agent), []
        for talk in self.talks:
            conversation = await view.conversation(talk.id)
            assert conversation is not None
            found.append((talk, conversation.place))
        return found

    async def _write(self) -> None:
        writes = [Write(stream, None, tuple(drafts)) for stream, drafts in self._drafts.items()]
        outcome = await self._installation.ledger.append(writes, rows=self._rows, contents=self._contents)
        assert isinstance(outcome, Appended), outcome
        self._drafts.clear()
        self._rows, self._contents = [], []


class Bench:
    """An installation to measure, in a folder of its own, in which one agent has observed `size` messages."""

    def __init__(self, folder: Path, size: int, bare: bool) -> None:
        self.folder, self.size, self._bare = folder, size, bare
        self._chance = random.Random(size)
        self._new = itertools.count()

    async def __aenter__(self) -> "Bench":
        choice = ConnectorChoice(SCOPE, "BENCH_KEY", None)
        settings = Settings(
            models={"default": ModelChoice("scripted")},
            connectors={"chat": choice, "mail": choice, "first": choice},
        )
        self.runtime = await Runtime.open(self.folder, settings=settings, models=OneModel(), environment={})
        specs = [
            Spec(name, SCOPE, "You answer.", attends=(Attendance(connector, "engage"),))
            for name, connector in (("desk", "chat"), ("one", "mail"), ("two", "mail"), ("first", "first"))
        ]
        for spec in specs:
            await self.runtime.publish(spec, "bench")
        self.spec = specs[0]
        (first,) = await self.runtime.observe("first", Observation("m", "t", Person("u"), "hello", BEGIN))
        async with self.runtime.worker() as worker:
            await worker.drain()
        database = self.runtime.installation.ledger._db  # filled with more room than anybody is served with
        database.execute("PRAGMA cache_size = -2000000; PRAGMA wal_autocheckpoint = 200000")
        self.filling = Filling(self.runtime, self.spec, "chat", first.run, self._bare)
        await self.filling.fill(self.size)
        for spec in specs[1:3]:
            await Filling(self.runtime, spec, "mail", first.run, self._bare).fill(self.size // 10)
        database.execute("PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4000")
        hall, *self._small = self.filling.talks
        self._chance.shuffle(self._small)
        self._hall = hall
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.runtime.__aexit__()

    def _next(self, kind: str) -> Talk:
        if kind == "hall":
            return self._hall
        if kind == "small":
            return self._small.pop()
        return Talk("", f"new{next(self._new)}", self._hall.room)

    async def measured(self, kind: str, number: int) -> Iterator[tuple[str, float]]:
        """Observe messages in a conversation of a kind, and make the prompt of a turn; give what took how long."""
        talk, took, runtime = self._next(kind), Watch(), self.runtime
        room = tuple(Person(one.external, one.name) for one in talk.room)
        said = Observation(f"later{kind}{number}", talk.thread, room[0], f"a word {number}", BEGIN * 2, room)
        more = replace(said, external=f"more{kind}{number}")
        for name, outcome, observation in (
            ("observe", "engaged", said),
            ("known", "known", said),
            ("waiting", "waiting", more),
        ):
            (found,) = await took(name, runtime.observe("chat", observation))
            assert found.outcome == outcome, found
        began = time.process_time()
        turn = await took(
            "turn", next_turn(runtime.installation, self.spec.address, found.conversation, (), Taker())
        )
        assert turn is not None and turn.opening is not None
        text = await took("resolve", self.prompt_of(turn.opening))
        took.times["cpu"] = (time.process_time() - began) * 1000
        assert text.count('"text"') >= (2 if kind == "new" else LONG), text
        async with runtime.worker() as worker:
            await worker.drain()
        return iter(took.times.items())

    async def prompt_of(self, opening: Opening) -> str:
        """Give the prompt of a turn's first call."""
        installation = self.runtime.installation
        old = installation.contents
        contents = ContentStore(
            installation.ledger, old._keys, old._objects, installation.settings.inline_bytes
        )
        head = installation.prompt_head(self.spec, 1, "turn")
        sizes = installation.settings.sizes
        resolver = resolve(
            self.spec.address, opening.body, Sources(installation.ledger, contents, *head, sizes.shown, "en")
        )
        await resolver.read(())
        found = resolver.resolve(1, 1000, sizes.prompt)
        assert found is not None
        return found.request.messages[0].text


class Watch:
    """Takes down how many milliseconds things took."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}

    async def __call__(self, name: str, thing: Awaitable[Any]) -> Any:
        began = time.perf_counter()
        found = await thing
        self.times[name] = (time.perf_counter() - began) * 1000
        return found


async def measured(sizes: list[int], rounds: int, where: Path, bare: bool) -> list[dict[str, Any]]:
    """Fill a ledger of each size, and measure them in turns."""
    benches = []
    for size in sizes:
        began = time.perf_counter()
        benches.append(await Bench(where / str(size), size, bare).__aenter__())
        disk = sum(path.stat().st_size for path in (where / str(size)).rglob("*") if path.is_file()) / 1e6
        print(f"filled {size:,}: {time.perf_counter() - began:.0f} s, {disk:,.0f} MB", flush=True)
    found: defaultdict[tuple[int, str, str], list[float]] = defaultdict(list)
    for number in range(rounds):
        for kind, bench in itertools.product(KINDS, benches):
            for name, took in await bench.measured(kind, number):
                found[bench.size, kind, name].append(took)
    for bench in benches:
        await bench.__aexit__()
    return list(rows_of(found, sizes))


def rows_of(found: dict[tuple[int, str, str], list[float]], sizes: list[int]) -> Iterator[dict[str, Any]]:
    """Give a row for each kind of conversation and each thing measured."""
    for kind, name in dict.fromkeys((kind, name) for _, kind, name in found):
        row: dict[str, Any] = {"conversation": kind, "what": name}
        for size in sizes:
            row[f"ms at {size:,}"] = statistics.median(found[size, kind, name])
        for size in sizes[1:]:
            row[f"ratio at {size:,}"] = row[f"ms at {size:,}"] / row[f"ms at {sizes[0]:,}"]
        yield row


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument(
        "--bare", action="store_true", help="fill without what recall finds messages by: twice as fast"
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    parser.add_argument("--where", type=Path, help="the folder to work in; a temporary one unless given")
    given = parser.parse_args()
    where = given.where or Path(tempfile.mkdtemp(prefix="interlock-bench-"))
    try:
        rows = asyncio.run(measured(given.sizes, given.rounds, where, given.bare))
    finally:
        if given.where is None:
            shutil.rmtree(where, ignore_errors=True)
    print("".join(f"{name:>18}" for name in rows[0]))
    for row in rows:
        print(
            "".join(
                f"{value:>18.2f}" if isinstance(value, float) else f"{value:>18}" for value in row.values()
            )
        )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
