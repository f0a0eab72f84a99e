"""Damage of every kind, and how a verification names it."""

import asyncio
import contextlib
import random
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.ledger.ledger import Appended, Finding, Write
from interlock.ledger.sqlite import SqliteLedger
from interlock.ledger.step import BEGINNING, Draft, link
from interlock.ledger.verify import differences, findings
from tests.ledger.world import SqliteStore, found, in_loop, note, queue, whole_run, write

TEXTS = ("stream", "kind", "body")
NUMBERS = ("seq", "at", "fence")
BLOBS = ("previous", "digest")
COLUMNS = ("stream", "seq", "kind", "at", "fence", "body", "previous", "digest")
Raw = dict[str, Any]
PUBLISHED = {
    "agent": "triage@acme",
    "scope": "acme",
    "number": 1,
    "version_digest": "d",
    "spec": "ab" * 32,
    "author": "ana",
    "wiring": {"starts_on": [{"event": "opened"}], "emits": [{"event": "triaged"}]},
}


async def history(store: SqliteStore) -> None:
    """A ledger with something in every projection."""
    async with store.open() as ledger:
        await whole_run(ledger, "run_1")
        await whole_run(ledger, "run_2")
        await write(ledger, "triage@acme", Draft("version.published", PUBLISHED))
        await write(ledger, "triage@acme", Draft("agent.paused", {"agent": "triage@acme"}), note(2))
        await write(ledger, "globex", Draft("scope.stopped", {"scope": "globex"}))
        assert await found(ledger) == []


async def verified(store: SqliteStore, stream: str | None = None) -> list[Finding]:
    """What is found, but for the triggers that the meddling itself dropped."""
    return [item async for item in findings(store.path, stream) if item.problem != "schema"]


class Meddler:
    """Somebody with the file in hand, who changes steps and puts them back."""

    def __init__(self, store: SqliteStore) -> None:
        store.meddle()
        self._db = store.outside()
        self._db.execute("PRAGMA ignore_check_constraints = ON")

    def steps(self) -> list[Raw]:
        raw = [f"CAST({name} AS BLOB)" if name in TEXTS else name for name in COLUMNS]
        rows = self._db.execute(f"SELECT {', '.join(raw)} FROM step ORDER BY stream, seq").fetchall()
        return [dict(zip(COLUMNS, row, strict=True)) for row in rows]

    def remove(self, step: Raw) -> None:
        self._db.execute(
            "DELETE FROM step WHERE stream = CAST(? AS TEXT) AND seq = ?", (step["stream"], step["seq"])
        )

    def put(self, step: Raw) -> None:
        marks = ", ".join("CAST(? AS TEXT)" if name in TEXTS else "?" for name in COLUMNS)
        self._db.execute(f"INSERT INTO step VALUES ({marks})", tuple(step[name] for name in COLUMNS))

    def swap(self, step: Raw, other: Raw) -> bool:
        """Put another step in a step's place. False when that place is taken."""
        self.remove(step)
        try:
            self.put(other)
        except apsw.ConstraintError:
            self.put(step)
            return False
        return True


def flips(step: Raw) -> list[tuple[str, Raw]]:
    """Give the step with each byte of each column flipped in turn."""
    changed: list[tuple[str, Raw]] = []
    for name in (*TEXTS, *BLOBS):
        value = step[name]
        for place in range(len(value)):
            mask = (0x01, 0x80, 0xFF)[place % 3]
            flipped = value[:place] + bytes([value[place] ^ mask]) + value[place + 1 :]
            changed.append((name, step | {name: flipped}))
    for name in NUMBERS:
        for place in range(8):
            number = (step[name] ^ (1 << (8 * place))) & ((1 << 64) - 1)
            changed.append((name, step | {name: number - (1 << 64) if number >> 63 else number}))
        changed.append((name, step | {name: step[name] ^ (-1 << 63)}))
    return changed


@pytest.mark.rule("RN-2")
@pytest.mark.parametrize("seq", [1, 3, 4])
@in_loop
async def test_a_flipped_byte_anywhere_in_a_step_is_found_and_named(store: SqliteStore, seq: int) -> None:
    await history(store)
    meddler = Meddler(store)
    (step,) = [item for item in meddler.steps() if (item["stream"], item["seq"]) == (b"run_1", seq)]
    tried = 0
    for column, other in flips(step):
        if not meddler.swap(step, other):
            continue
        tried += 1
        for stream in (None, "run_1") if tried % 8 == 0 else (None,):
            named = [item for item in await verified(store, stream) if item.stream == "run_1"]
            assert named, (column, other[column], stream)
            if column != "seq":
                assert named[0].seq == seq, (column, other[column], named)
        meddler.swap(other, step)
    assert tried > 90
    assert await verified(store) == []


@pytest.mark.rule("RN-2")
@in_loop
async def test_a_removed_step_is_named(store: SqliteStore) -> None:
    await history(store)
    meddler = Meddler(store)
    for step in meddler.steps():
        stream, seq = step["stream"].decode(), step["seq"]
        meddler.remove(step)
        for checked in (None, stream):
            assert Finding("missing", stream, seq) in await verified(store, checked)
        meddler.put(step)
    for stream in {step["stream"] for step in meddler.steps()}:
        gone = [step for step in meddler.steps() if step["stream"] == stream]
        for step in gone:
            meddler.remove(step)
        assert (await verified(store))[0] == Finding("missing", stream.decode(), 1)
        for step in gone:
            meddler.put(step)
    assert await verified(store) == []


@pytest.mark.rule("RN-2")
@in_loop
async def test_a_step_whose_digest_was_made_to_fit_does_not_continue_its_stream(store: SqliteStore) -> None:
    await history(store)
    meddler = Meddler(store)
    second, third = [item for item in meddler.steps() if item["stream"] == b"run_1"][1:3]
    body = b'{"worker":"somebody else"}'
    digest = link("run_1", 2, "run.claimed", second["at"], second["fence"], body, second["previous"])
    meddler.swap(second, second | {"body": body, "digest": digest})
    assert [(item.problem, item.seq) for item in await verified(store, "run_1")] == [("relinked", 3)]
    meddler.swap(third, third | {"previous": digest})
    assert [(item.problem, item.seq) for item in await verified(store, "run_1")] == [("changed", 3)]


@pytest.mark.rule("RN-2")
@in_loop
async def test_steps_that_fit_but_say_nothing_sensible_are_named(store: SqliteStore) -> None:
    await history(store)
    store.meddle()
    outside = store.outside()
    bodies = {"run.opened": b"{}", "run.closed": b"[]", "artifact.saved": b"{", "version.published": b"null"}
    for kind, body in bodies.items():
        digest = link(kind, 1, kind, 1, 0, body, BEGINNING)
        outside.execute(
            "INSERT INTO step VALUES (?, 1, ?, 1, 0, ?, ?, ?)", (kind, kind, body.decode(), BEGINNING, digest)
        )
        outside.execute("INSERT INTO stream VALUES (?, 1, ?)", (kind, digest))
    assert {(item.problem, item.stream, item.seq) for item in await verified(store)} == {
        ("malformed", kind, 1) for kind in bodies
    }


PROJECTIONS = [
    ("UPDATE stream SET seq = 3 WHERE id = 'run_1'", "head", "run_1"),
    ("UPDATE stream SET seq = 5 WHERE id = 'run_1'", "missing", "run_1"),
    ("UPDATE stream SET seq = -1 WHERE id = 'run_1'", "head", "run_1"),
    ("UPDATE stream SET digest = zeroblob(32) WHERE id = 'run_1'", "head", "run_1"),
    ("UPDATE stream SET digest = x'' WHERE id = 'run_1'", "head", "run_1"),
    ("DELETE FROM stream WHERE id = 'run_1'", "head", "run_1"),
    ("INSERT INTO stream VALUES ('run_9', 1, zeroblob(32))", "missing", "run_9"),
    ("INSERT INTO stream VALUES ('', 1, zeroblob(32))", "missing", ""),
    ("INSERT INTO stream VALUES (CAST(x'72ff' AS TEXT), 1, zeroblob(32))", "missing", "r\\xff"),
    ("UPDATE run SET status = 'failed' WHERE id = 'run_1'", "projection", "run_1"),
    ("UPDATE run SET status = CAST(x'ff' AS TEXT) WHERE id = 'run_1'", "projection", "run_1"),
    ("UPDATE run SET hop = 3 WHERE id = 'run_1'", "projection", "run_1"),
    ("UPDATE run SET id = CAST(x'72756eff' AS TEXT) WHERE id = 'run_1'", "projection", "run_1"),
    ("DELETE FROM run WHERE id = 'run_2'", "projection", "run_2"),
    ("INSERT INTO run SELECT 'run_0', agent, version, scope, task, root_task, NULL, NULL, NULL, 'c', status FROM run "
     "WHERE id = 'run_1'", "projection", "run_0"),
    ("UPDATE artifact SET digest = 'cd' WHERE run = 'run_1'", "projection", "run_1"),
    ("UPDATE artifact SET labels = '' WHERE run = 'run_1'", "projection", "run_1"),
    ("INSERT INTO artifact VALUES ('run_1', 'more', 'cd', 1, 'text/plain', '')", "projection", "run_1"),
    ("UPDATE task SET owner = 'mallory@acme' WHERE id = 'task_1'", "projection", "task_1"),
    ("UPDATE task SET epoch = 2 WHERE id = 'task_1'", "projection", "task_1"),
    ("UPDATE agent SET state = 'active'", "projection", "triage@acme"),
    ("UPDATE version SET spec = 'cd'", "projection", "triage@acme"),
    ("DELETE FROM version", "projection", "triage@acme"),
    ("UPDATE listening SET event = 'other'", "projection", "triage@acme"),
    ("DELETE FROM stopped", "projection", "globex"),
    ("INSERT INTO stopped VALUES ('acme')", "projection", "acme"),
]  # fmt: skip


@pytest.mark.rule("RN-2")
@pytest.mark.parametrize(("statement", "problem", "stream"), PROJECTIONS, ids=range(len(PROJECTIONS)))
@in_loop
async def test_a_changed_projection_or_head_is_named(
    store: SqliteStore, statement: str, problem: str, stream: str
) -> None:
    await history(store)
    store.meddle(statement)
    for checked in (None, stream) if stream in {"run_1", "run_2", "task_1", "triage@acme"} else (None,):
        named = [(item.problem, item.stream) for item in await verified(store, checked)]
        assert (problem, stream) in named, (checked, named)


SCHEMAS = {
    "DROP TRIGGER step_is_never_removed": "step_is_never_removed",
    "DROP TRIGGER step_is_never_changed; CREATE TRIGGER step_is_never_changed BEFORE UPDATE ON step "
    "BEGIN SELECT 1; END": "step_is_never_changed",
    "CREATE TRIGGER quiet AFTER INSERT ON step BEGIN DELETE FROM signal; END": "quiet",
    "DROP INDEX lease_by_end": "lease_by_end",
    "CREATE TABLE more (id TEXT)": "more",
    "ALTER TABLE owed ADD COLUMN more TEXT": "owed",
    "DROP TABLE signal": "signal",
}


@pytest.mark.rule("RN-2")
@pytest.mark.parametrize(("statement", "name"), SCHEMAS.items(), ids=SCHEMAS.values())
@in_loop
async def test_a_schema_that_is_not_the_shipped_one_is_named(
    store: SqliteStore, statement: str, name: str
) -> None:
    await history(store)
    store.outside().execute(statement)
    assert [item async for item in findings(store.path, None)] == [Finding("schema", "*", detail=name)]
    assert [item async for item in findings(store.path, "run_1")] == []


@pytest.mark.rule("RN-2")
@in_loop
async def test_the_statistics_of_the_database_are_no_finding(store: SqliteStore) -> None:
    await history(store)
    store.outside().execute("ANALYZE")
    assert [item async for item in findings(store.path, None)] == []


@pytest.mark.rule("RN-2", "WK-4")
@in_loop
async def test_an_open_run_that_nobody_can_claim_is_named(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await whole_run(ledger, "run_1")
        await queue(ledger, "run_2", "run_3")
        assert await found(ledger) == []
    store.outside().execute("DELETE FROM lease WHERE run = 'run_3'")
    for checked in (None, "run_3"):
        assert await verified(store, checked) == [Finding("no_lease", "run_3")]
    assert await verified(store, "run_2") == []


@in_loop
async def test_a_stream_that_does_not_exist_is_said_to_be_none(store: SqliteStore) -> None:
    await history(store)
    for name in ("run_9", "\ud83d", "", "*"):
        assert await verified(store, name) == [
            Finding("no_such_stream", name.encode(errors="surrogatepass").decode(errors="backslashreplace"))
        ]


@in_loop
async def test_a_file_that_is_gone_or_no_database_is_unreadable(store: SqliteStore) -> None:
    assert [item.problem for item in await verified(store)] == ["unreadable"]
    store.path.write_bytes(b"nonsense" * 1000)
    assert {item.problem for item in await verified(store)} <= {"unreadable", "damaged_file"}


def flip_file(path: Path, place: int, mask: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)
        file.seek(place)
        file.write(bytes([byte[0] ^ mask]))


@pytest.mark.rule("RN-2")
@in_loop
async def test_a_byte_flipped_in_the_file_where_a_step_lies_is_named(store: SqliteStore) -> None:
    await history(store)
    async with store.open() as ledger:
        marked = Draft("noted", {"n": 1, "mark": "0123456789abcdef" * 4})
        await write(ledger, "task_9", note(0), marked, note(2))
    start = store.path.read_bytes().index(b'{"mark":"0123')
    for place in range(start, start + 70, 3):
        flip_file(store.path, place, 0x20)
        assert Finding("changed", "task_9", 2) in await verified(store)
        flip_file(store.path, place, 0x20)
    sound = store.path.read_bytes()
    for start in (place for place in range(len(sound)) if sound.startswith(b"task_9", place)):
        for place in range(start, start + 6):
            flip_file(store.path, place, 0x02)
            named = await verified(store)
            assert named, place
            if b"noted" in sound[start + 6 : start + 12]:
                assert {"changed", "missing"} & {item.problem for item in named if item.stream == "task_9"}
            flip_file(store.path, place, 0x02)
    assert await verified(store) == []


@pytest.mark.rule("RN-2", "BI-1")
@in_loop
async def test_no_damage_to_the_file_is_a_crash(store: SqliteStore) -> None:
    await history(store)
    chance = random.Random(7)
    size = store.path.stat().st_size
    sound = store.path.read_bytes()
    named = 0
    for _ in range(150):
        store.path.write_bytes(sound)
        for _ in range(chance.choice((1, 1, 20))):
            flip_file(store.path, chance.randrange(size), 1 << chance.randrange(8))
        named += bool(await verified(store))
    assert named > 20
    for length in (0, 10, 100, 4096, 3 * 4096, size // 2):
        store.path.write_bytes(sound[:length])
        assert await verified(store, None) or length == 0


TEXT = st.text(max_size=12)
BODIES = st.dictionaries(
    TEXT,
    st.recursive(st.none() | st.booleans() | st.integers() | TEXT, lambda inner: st.lists(inner, max_size=3)),
    max_size=3,
)
DRAFTS = st.lists(
    st.builds(Draft, st.sampled_from(["noted", "task.noted"]), BODIES, st.none()), min_size=1, max_size=3
)
HISTORY = st.lists(
    st.tuples(st.sampled_from(["task_1", "task_2", "acme", "é"]), DRAFTS), min_size=1, max_size=8
)


async def written(folder: Path, steps: list[tuple[str, list[Draft]]]) -> SqliteStore:
    for file in folder.glob("ledger.db*"):
        file.unlink()
    store = SqliteStore(folder)
    ledger = await SqliteLedger.open(store.path, clock=store.clock)
    outcomes = await asyncio.gather(
        *(ledger.append((Write(stream, None, drafts),)) for stream, drafts in steps)
    )
    assert all(isinstance(outcome, Appended) for outcome in outcomes)
    await ledger.close()
    return store


SLOW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.rule("RN-2")
@SLOW
@given(steps=HISTORY)
def test_any_history_verifies(tmp_path: Path, steps: list[tuple[str, list[Draft]]]) -> None:
    async def check() -> None:
        assert await verified(await written(tmp_path, steps)) == []

    asyncio.run(check())


@pytest.mark.rule("RN-2")
@SLOW
@given(steps=HISTORY, data=st.data())
def test_any_one_change_to_the_steps_is_found(
    tmp_path: Path, steps: list[tuple[str, list[Draft]]], data: st.DataObject
) -> None:
    async def check() -> None:
        store = await written(tmp_path, steps)
        meddler = Meddler(store)
        step = data.draw(st.sampled_from(meddler.steps()))
        column = data.draw(st.sampled_from([None, *COLUMNS]))
        if column is None:
            meddler.remove(step)
        else:
            values = st.integers(-(1 << 63), (1 << 63) - 1) if column in NUMBERS else st.binary(max_size=40)
            value = data.draw(values.filter(lambda value: value != step[column]))
            if not meddler.swap(step, step | {column: value}):
                return
        named = [item for item in await verified(store) if item.stream == step["stream"].decode()]
        assert named
        assert column == "seq" or named[0].seq == step["seq"]

    asyncio.run(check())


@given(
    st.dictionaries(st.binary(max_size=2), st.integers(0, 2)),
    st.dictionaries(st.binary(max_size=2), st.integers(0, 2)),
)
def test_differences_are_what_only_one_side_has(real: dict[bytes, int], wanted: dict[bytes, int]) -> None:
    keys = {row[0] for row in differences(sorted(real.items()), sorted(wanted.items()), 1)}
    assert keys == {key for key, _ in real.items() ^ wanted.items()}


@in_loop
async def test_a_verification_may_be_left_early(store: SqliteStore) -> None:
    await history(store)
    store.meddle("DELETE FROM step")
    async with contextlib.aclosing(findings(store.path, None)) as going:  # type: ignore[type-var]
        async for _ in going:
            break
    store.path.unlink()
