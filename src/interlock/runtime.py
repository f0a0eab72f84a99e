"""The runtime: the one place that names concrete classes and puts an installation together from its folder."""

import os
import re
import socket
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.clock import Clock, SystemClock, new_id
from interlock.connector.model.choice import Models
from interlock.connector.observation import Observation
from interlock.errors import InterlockError
from interlock.fault import from_environment
from interlock.ledger.content_check import ContentCheck
from interlock.ledger.content_store import ContentStore
from interlock.ledger.key import Keys
from interlock.ledger.ledger import Appended, Finding, Row, Write
from interlock.ledger.object_folder import ObjectFolder
from interlock.ledger.sqlite import SqliteLedger
from interlock.ledger.step import Draft
from interlock.modules import Loaded, load_modules
from interlock.perspective.answer import named_by_answer
from interlock.perspective.compaction import named_by_record
from interlock.perspective.snapshot import Snapshot, load, named_by_manifest
from interlock.run.asking import BESIDE
from interlock.run.brief import checked_brief, checked_person, encoded_brief
from interlock.run.human_queue import HumanQueue
from interlock.run.installation import Installation
from interlock.run.linking import link, unlink
from interlock.run.observing import Observed, observe
from interlock.run.opening import Taker, opened_by_person
from interlock.run.publishing import Publication, publish
from interlock.run.replaying import Replayed, replay
from interlock.run.run import TRAIL, Run, fold
from interlock.run.worker import Worker
from interlock.scope.barrier import barrier
from interlock.scope.scope import INSTALLATION, Address, Scope
from interlock.settings import Settings
from interlock.settings_reader import read_settings

__all__ = ["SETTINGS_FILE", "Runtime", "find_folder"]

SETTINGS_FILE = "interlock.yaml"
HOME = ".interlock"
RUN = re.compile(r"run_[0-9a-f]{0,32}\Z")
TASK = re.compile(r"task_[0-9a-f]{0,32}\Z")
PAGE = 500


def find_folder(start: Path) -> Path:
    """Give the nearest folder from `start` upwards that holds an `interlock.yaml`.

    Raises InterlockError `runtime.no_installation`.
    """
    for folder in (start, *start.parents):
        if (folder / SETTINGS_FILE).is_file():
            return folder
    raise InterlockError("runtime.no_installation", folder=str(start), file=SETTINGS_FILE)


class Runtime:
    """An installation, opened. Use as an async context manager.

    Everything a person or a program does to Interlock goes through here.
    """

    def __init__(
        self, folder: Path, home: Path, ledger: SqliteLedger, installation: Installation, models: Models
    ) -> None:
        self.folder, self.home = folder, home
        self.installation = installation
        self._ledger, self._models = ledger, models

    @classmethod
    async def open(
        cls,
        folder: Path,
        *,
        home: Path | None = None,
        settings: Settings | None = None,
        loaded: Loaded | None = None,
        models: Any = None,
        clock: Clock | None = None,
        environment: Mapping[str, str] | None = None,
        read_only: bool = False,
    ) -> "Runtime":
        """Open the installation in `folder`. Its ledger, key and large content lie in `home`
        (`.interlock` in the folder unless told otherwise).

        `settings` and `loaded` replace what the folder's files say, `models` what the settings say; tests and
        programs that have no files use them. With `read_only` the installation's own code is not loaded: what was
        recorded can be read whatever has become of it. Raises InterlockError for anything that does not fit.
        """
        environment = os.environ if environment is None else environment
        settings = settings or read_settings(_read(folder / SETTINGS_FILE), SETTINGS_FILE)
        loaded = loaded or (Loaded() if read_only else load_modules(folder, settings.modules))
        for tool in loaded.tools.declarations.values():
            settings.vocabulary.check(tool.labels.union(*tool.fields.values()))
        home = home or folder / HOME
        _make_home(home)
        clock, reach = clock or SystemClock(), from_environment(environment)
        ledger = await SqliteLedger.open(
            home / "ledger.db",
            clock=clock,
            reach=reach,
            synchronous=settings.synchronous,
            read_only=read_only and (home / "ledger.db").exists(),
        )
        try:
            keys = await _keys(ledger, home / "key")
        except InterlockError:
            await ledger.close()
            raise
        contents = ContentStore(ledger, keys, ObjectFolder(home / "objects", reach), settings.inline_bytes)
        models = models or Models(settings.models, folder, environment, settings.sizes.answer)
        installation = Installation(
            ledger, contents, settings, clock, loaded.tools, models, loaded.functions, environment, reach
        )
        return cls(folder, home, ledger, installation, models)

    async def __aenter__(self) -> "Runtime":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._models.close()
        await self._ledger.close()

    def worker(self, concurrency: int = 64) -> Worker:
        """Give a worker of this process, to be used as an async context manager."""
        clock = self.installation.clock
        name = f"{socket.gethostname()}-{os.getpid()}-{new_id('w', clock)[-12:]}"
        return Worker(self.installation, name, self.home / "workers", concurrency)

    # Publishing

    async def publish(
        self, spec: Spec, author: str, readable: Collection[Scope] = (INSTALLATION,), language: str = "en"
    ) -> Publication:
        """Publish a spec; see `interlock.run.publishing.publish`."""
        return (await self.publish_together([spec], author, readable, language))[0]

    async def publish_together(
        self,
        specs: Sequence[Spec],
        author: str,
        readable: Collection[Scope] = (INSTALLATION,),
        language: str = "en",
        check: bool = False,
    ) -> list[Publication]:
        """Publish specs that belong together, or only check them; see `interlock.run.publishing.publish`."""
        checked_person(author)
        return await publish(self.installation, specs, author, readable, language, check)

    # Runs

    async def open_run(
        self,
        agent: Address,
        person: str,
        brief: Any = None,
        *,
        labels: Collection[str] = (),
        tools: Collection[str] | None = None,
        effects: Collection[str] | None = None,
        released: Collection[tuple[str, str]] = (),
        worker: Worker | None = None,
    ) -> str:
        """Open a run of the agent's current version on behalf of `person`, and give its id.

        `brief` is a JSON value. With `worker` that worker runs it at once; else it is queued. Raises
        InterlockError `agent.unknown`, `run.not_started`, `barrier.brief`, and what `interlock.run.brief` says of
        the rest.
        """
        installation = self.installation
        checked_person(person)
        version, state = await installation.current(agent)
        if state != "active":
            await self._note_not_started(agent, person, state)
            raise InterlockError("run.not_started", agent=agent, state=Text(f"run.state_{state}"))
        spec = await installation.spec(agent, version)
        row, digest = None, None
        if brief is not None:
            data = encoded_brief(brief, installation.settings.sizes.brief)
            kept = await installation.contents.keep_any(spec.scope.company, data)
            row, digest = kept.row, kept.digest
        vocabulary = installation.settings.vocabulary
        given = checked_brief(
            person, digest, spec, installation.tools, vocabulary, labels, tools, effects, released
        )
        refusal = barrier(given.labels, spec.scope, vocabulary, frozenset(), frozenset(given.released))
        if refusal is not None:
            raise InterlockError("barrier.brief", agent=agent, why=refusal.text)
        opening = opened_by_person(
            new_id("run", installation.clock),
            new_id("task", installation.clock),
            spec,
            version,
            given,
            installation.settings.limits,
            installation.settings.task_budget,
            worker.taker() if worker else Taker(),
        )
        outcome = await installation.ledger.append(
            opening.writes, guards=opening.guards, contents=(row,) if row else (), durable=worker is None
        )
        if not isinstance(outcome, Appended):
            raise InterlockError("run.not_opened", agent=agent, why=type(outcome).__name__)
        installation.reach("run.opened")
        if worker is not None and opening.fence:
            now = installation.clock.now()
            worker.take(Run.of_opening(opening.run, opening.body, outcome.heads[0], opening.fence, now))
        return opening.run

    async def observe(
        self, connector: str, observation: Observation, worker: Worker | None = None
    ) -> list[Observed]:
        """Bring in a message of the outside; see `interlock.run.observing.observe`. With `worker` that worker runs at
        once what it opens; else it is queued."""
        found = await observe(self.installation, connector, observation, worker.taker() if worker else None)
        for item in found:
            if (
                worker is not None
                and item.opening is not None
                and item.opening.fence
                and item.head is not None
            ):
                opening, now = item.opening, self.installation.clock.now()
                worker.take(Run.of_opening(opening.run, opening.body, item.head, opening.fence, now))
        return found

    async def link(self, agent: Address, one: str, other: str, evidence: str, by: str) -> None:
        """Say that two actors of an agent's perspective are one person; see `interlock.run.linking.link`."""
        await link(self.installation, agent, one, other, evidence, by)

    async def unlink(self, agent: Address, one: str, other: str, evidence: str, by: str) -> None:
        """Say that they are not after all; see `interlock.run.linking.unlink`."""
        await unlink(self.installation, agent, one, other, evidence, by)

    async def _note_not_started(self, agent: Address, person: str, state: str) -> None:
        body = {"agent": agent, "state": state, "opened_by": {"kind": "person", "name": person}}
        await self._ledger.append((Write(agent, None, (Draft("agent.not_started", body),)),))

    async def cancel(self, run: str, by: str) -> None:
        """Tell a run that it is cancelled; it takes that in before its next move (RN-5, RN-6).

        Raises InterlockError `run.unknown`, `run.closed_already` or `run.bad_person`.
        """
        checked_person(by)
        name = await self.find_run(run)
        signal = new_id("signal", self.installation.clock)
        told = Row("signal_run", (signal, "cancel", by, name), "run_closed")
        outcome = await self._ledger.append((), guards=(told,), rows=(Row("wake_run", (name,)),))
        if not isinstance(outcome, Appended):
            status = (await self._ledger.query("run_by_id", name))[0][-1]
            raise InterlockError("run.closed_already", run=name, status=Text(f"trail.closed_{status}"))

    async def find_run(self, start: str) -> str:
        """Give the id of the one run whose id begins so; for the address of an agent, its latest run.

        Raises InterlockError `run.unknown`, `run.none_of_agent` or `run.ambiguous`.
        """
        if "@" in start:
            return await self._latest_run(Address(start))
        start = start if start.startswith("run_") else f"run_{start}"
        if not RUN.match(start):
            raise InterlockError("run.unknown", value=start)
        found = await self._ledger.query("runs_starting_with", start, start + "~")
        if not found:
            raise InterlockError("run.unknown", value=start)
        if len(found) > 1 and found[0][0] != start:
            raise InterlockError("run.ambiguous", value=start)
        return str(found[0][0])

    async def find_root(self, start: str) -> str:
        """Give the root task of the one task or run whose id begins so; for an agent's address, that of its latest run.

        Raises InterlockError `task.unknown`, `task.ambiguous`, or what `find_run` says.
        """
        if not start.startswith("task_"):
            return str((await self.run(await self.find_run(start))).root_task)
        if not TASK.match(start):
            raise InterlockError("task.unknown", value=start)
        found = await self._ledger.query("tasks_starting_with", start, start + "~")
        if not found:
            raise InterlockError("task.unknown", value=start)
        if len(found) > 1 and found[0][0] != start:
            raise InterlockError("task.ambiguous", value=start)
        return str(found[0][1])

    async def _latest_run(self, agent: Address) -> str:
        """A part of a run's work is not what is meant: it is found by its id."""
        before = "run_~"
        while rows := await self._ledger.query("runs_before", before, PAGE):
            for run, address, *_, cause, _ in rows:
                before = run
                if address == agent and not (cause or "").startswith("work:"):
                    return str(run)
        raise InterlockError("run.none_of_agent", agent=agent)

    @property
    def human_queue(self) -> HumanQueue:
        """What waits for people, and what they decide."""
        return HumanQueue(self.installation)

    async def run(self, run: str) -> Run:
        """Give the state of a run."""
        return fold(await self._ledger.read(run, 0, TRAIL), run)

    # Reading

    async def artifact(self, run: str, name: str) -> tuple[dict[str, Any], bytes]:
        """Give what the ledger says of an artifact, and its bytes.

        Raises InterlockError `artifact.unknown`, and `content.corrupt` when it does not fit its digest.
        """
        found = await self._ledger.query("artifact_of_run", run, name) if name.isprintable() else []
        if not found:
            known = [row[0] for row in await self._ledger.query("artifacts_of_run", run)]
            raise InterlockError("artifact.unknown", value=name, run=run, known=known)
        _, digest, size, media, labels = found[0]
        about = {"name": name, "run": run, "digest": digest, "size": size, "media": media}
        about["labels"] = labels.split(",") if labels else []
        return about, await self.installation.contents.read(digest)

    async def prompt(
        self, run: str, number: int | None = None, compaction: int | None = None
    ) -> tuple[Snapshot, dict[str, Any]]:
        """Give the snapshot of a run's `number`-th model call (the last one unless told), and its step's body;
        or of the one that summarised for a `compaction`.

        Raises InterlockError `prompt.none`.
        """
        asked = [step.body for step in await self._ledger.read(run, 0, TRAIL) if step.kind == "model.asked"]
        own = [body for body in asked if not body.keys() & BESIDE]
        wanted = [body for body in own if number is None or body["n"] == number]
        if compaction is not None:
            wanted = [body for body in asked if body.get("compacting") == compaction]
        if not wanted:
            known = len({body["n"] for body in own})
            raise InterlockError("prompt.none", run=run, number=compaction or number or 1, known=known)
        return await load(self.installation.contents, wanted[-1]["snapshot"]), wanted[-1]

    async def replay(
        self, run: str, number: int | None, by: str
    ) -> tuple[Snapshot, dict[str, Any], Replayed]:
        """Send a run's `number`-th request again, for the person `by`; see `interlock.run.replaying.replay`. Gives what
        `prompt` gives, and what came."""
        checked_person(by)
        snapshot, asked = await self.prompt(run, number)
        return snapshot, asked, await replay(self.installation, await self.run(run), snapshot, asked, by)

    async def verify(self, stream: str | None = None) -> AsyncIterator[Finding]:
        """Check a stream with all that it names, or everything; gives what does not fit."""
        async for finding in self._ledger.verify(stream):
            yield finding
        check = ContentCheck(
            self._ledger,
            self.installation.contents,
            {"snapshot": named_by_manifest, "answer": named_by_answer, "compacted": named_by_record},
        )
        async for finding in check.of_everything() if stream is None else check.of_stream(stream):
            yield finding


def _make_home(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise InterlockError("runtime.no_home", folder=str(home), why=error) from None


async def _keys(ledger: SqliteLedger, path: Path) -> Keys:
    """Read the key, or make one for a ledger that holds no content yet; a new one would fit no other.

    The key is looked for again after content was found, since another process may be starting this home.
    """
    if _is_missing(path) and await ledger.query("content_after", 0, 1) and _is_missing(path):
        raise InterlockError("content.key_lost", file=str(path))
    return Keys.of_file(path)


def _is_missing(path: Path) -> bool:
    return not path.exists()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InterlockError("runtime.unreadable", file=str(path), why=error) from None
