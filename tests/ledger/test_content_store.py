"""Content: kept once under a keyed digest, whole or not at all, and never served when it does not fit."""

import asyncio
import os
import random
import stat
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock import canonical
from interlock.errors import InterlockError
from interlock.ledger import content_store
from interlock.ledger.content_check import CONTENT_KEYS, ContentCheck, content_named
from interlock.ledger.content_store import ContentStore, Recent
from interlock.ledger.key import Keys
from interlock.ledger.ledger import Appended, Finding, Write
from interlock.ledger.object_folder import ObjectFolder
from interlock.ledger.sqlite import SqliteLedger
from interlock.ledger.step import Draft
from tests.ledger.world import STORES, SqliteStore, in_loop, sayable

INLINE = 4096
PROSE = b"the same words again and again, " * 100
NOISE = random.Random(1).randbytes(900)
LARGE = bytes(range(256)) * 100
FORMS = {"plain": NOISE, "compressed": PROSE, "object": LARGE}


@asynccontextmanager
async def opened(store: SqliteStore) -> AsyncIterator[tuple[SqliteLedger, ContentStore]]:
    async with store.open() as ledger:
        keys = Keys.of_file(store.folder / "key")
        yield ledger, ContentStore(ledger, keys, ObjectFolder(store.folder / "objects"), INLINE)


async def keep(ledger: SqliteLedger, contents: ContentStore, data: bytes, company: str = "acme") -> str:
    """Store content with a step that names it, and give its digest."""
    kept = await contents.keep_any(company, data)
    step = Draft("noted", {"result": kept.digest})
    outcome = await ledger.append((Write("task_1", None, (step,)),), contents=(kept.row,))
    assert isinstance(outcome, Appended)
    assert kept.size == len(data)
    return kept.digest


async def check(ledger: SqliteLedger, contents: ContentStore, stream: str | None = None) -> list[Finding]:
    checking = ContentCheck(ledger, contents, {})
    going = checking.of_everything() if stream is None else checking.of_stream(stream)
    return [finding async for finding in going]


# Keys and digests


@pytest.mark.rule("CS-1")
@in_loop
async def test_a_guess_cannot_be_checked_without_the_key(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with opened(store) as (ledger, contents), opened(SqliteStore(tmp_path / "other")) as (_, others):
        guess = b"yes"
        digests = {
            contents.digest("acme", guess),
            contents.digest("globex", guess),
            others.digest("acme", guess),
        }
        assert len(digests) == 3, "neither another company nor another installation makes the same digest"
        assert canonical.digest_of("yes") not in digests
        assert await keep(ledger, contents, guess) == contents.digest("acme", guess)
    async with opened(store) as (_, contents):
        assert contents.digest("acme", guess) in digests, "the key is kept"


@pytest.mark.rule("CS-1")
@in_loop
async def test_content_is_stored_once_for_a_company(store: SqliteStore) -> None:
    async with opened(store) as (ledger, contents):
        for data in FORMS.values():
            assert await keep(ledger, contents, data) == await keep(ledger, contents, data)
            await keep(ledger, contents, data, "globex")
        assert store.outside().execute("SELECT company, count(*) FROM content GROUP BY 1").fetchall() == [
            ("acme", 3),
            ("globex", 3),
        ]
        assert len(list((store.folder / "objects").glob("*/*"))) == 2


@pytest.mark.rule("CS-1")
def test_the_key_is_readable_by_its_owner_alone_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "home" / "key"
    digest = Keys.of_file(path).digest("acme", b"x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Keys.of_file(path).digest("acme", b"x") == digest
    path.write_text(path.read_text() + "\n")
    assert Keys.of_file(path).digest("acme", b"x") == digest, "an editor's last newline is no harm"


@pytest.mark.rule("CS-1", "BI-1")
@pytest.mark.parametrize(
    "content", [b"", b"00" * 31, b"00" * 33, b"zz" * 32, b"\xff" * 64, "é".encode() * 32]
)
def test_a_malformed_key_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    with pytest.raises(InterlockError) as caught:
        Keys.of_file(path)
    assert caught.value.code == "content.bad_key"
    assert str(path) in sayable(caught.value)
    assert path.read_bytes() == content


def test_a_key_that_cannot_be_read_or_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir()
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "key", tmp_path / "file" / "key"):
        with pytest.raises(InterlockError) as caught:
            Keys.of_file(path)
        assert caught.value.code == "content.no_key"
        sayable(caught.value)


# Reading back

ANY = st.binary(max_size=3 * INLINE) | st.builds(
    lambda text, times: text.encode() * times, st.text(), st.integers(0, 400)
)


@pytest.mark.rule("CS-2", "CS-8")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(ANY, min_size=1, max_size=4))
def test_any_bytes_come_back(tmp_path: Path, pieces: list[bytes]) -> None:
    async def there_and_back() -> None:
        store = STORES["sqlite"](tmp_path)
        async with opened(store) as (ledger, contents):
            digests = [await keep(ledger, contents, data) for data in pieces]
            assert [await contents.read(digest) for digest in digests] == pieces
            assert [await contents.read_afresh(digest) for digest in digests] == pieces
        async with opened(store) as (_, contents):
            assert [await contents.read(digest) for digest in digests] == pieces

    asyncio.run(there_and_back())


@pytest.mark.rule("CS-2")
@in_loop
async def test_what_shrinks_is_compressed_and_what_is_large_lies_in_the_folder(store: SqliteStore) -> None:
    async with opened(store) as (ledger, contents):
        digests = {name: await keep(ledger, contents, data) for name, data in FORMS.items()}
        rows = {
            row[0].hex(): row[1:] for row in store.outside().execute("SELECT digest, form, body FROM content")
        }
        assert rows[digests["plain"]] == (content_store.PLAIN, NOISE)
        assert rows[digests["compressed"]][0] == content_store.COMPRESSED
        assert len(rows[digests["compressed"]][1]) < len(PROSE) / 5
        assert rows[digests["object"]] == (content_store.OBJECT, b"")


@pytest.mark.rule("CS-2", "BI-2")
@pytest.mark.fault("F44")
@in_loop
async def test_fifty_megabytes_go_through_by_reference(store: SqliteStore) -> None:
    data = b"0123456789abcdef" * (50 * 1024 * 1024 // 16)
    async with opened(store) as (ledger, contents):
        digest = await keep(ledger, contents, data)
        assert store.path.stat().st_size < 1 << 20
        assert await contents.read(digest) == data
        assert await check(ledger, contents) == []


@pytest.mark.rule("CS-8")
@in_loop
async def test_large_content_is_on_disk_before_its_step(store: SqliteStore) -> None:
    reached: list[str] = []
    async with store.open(reached.append) as ledger:
        objects = ObjectFolder(store.folder / "objects", reached.append)
        contents = ContentStore(ledger, Keys(bytes(32)), objects, INLINE)
        await keep(ledger, contents, LARGE)
    assert reached == [
        "object.before_rename",
        "object.after_rename",
        "append.before_commit",
        "append.after_commit",
    ]


@in_loop
async def test_many_threads_store_the_same_large_content(store: SqliteStore) -> None:
    objects, together = ObjectFolder(store.folder / "objects"), threading.Barrier(4)

    def write() -> None:
        together.wait(10)
        objects.write("ab" * 32, LARGE * 10)

    await asyncio.gather(*(asyncio.to_thread(write) for _ in range(4)))
    assert objects.read("ab" * 32) == LARGE * 10
    assert [file.name for file in (store.folder / "objects").glob("*/*")] == ["ab" * 32]


@pytest.mark.rule("BI-1")
def test_a_disk_without_room_is_named_and_nothing_half_is_left(tiny_disk: Path) -> None:
    objects = ObjectFolder(tiny_disk / "objects")
    with pytest.raises(InterlockError) as caught:
        objects.write("ab" * 32, bytes(3 << 20))
    assert caught.value.code == "content.unwritable"
    sayable(caught.value)
    assert list((tiny_disk / "objects").glob("*/*")) == []
    objects.write("ab" * 32, bytes(1000))
    assert objects.read("ab" * 32) == bytes(1000)


# Damage


def damage(store: SqliteStore, form: str, digest: str, how: str, other: str) -> None:
    path = store.folder / "objects" / digest[:2] / digest
    where = f"WHERE digest = x'{digest}'"
    if how == "missing":
        path.unlink() if form == "object" else store.meddle(f"DELETE FROM content {where}")
    elif how == "row missing":
        store.meddle(f"DELETE FROM content {where}")
    elif how == "company":
        store.meddle(f"UPDATE content SET company = 'globex' {where}")
    elif how == "company not text":
        store.meddle(f"UPDATE content SET company = CAST(x'ff' AS TEXT) {where}")
    elif how in {"size", "size huge"}:
        store.meddle(
            f"UPDATE content SET size = {(1 << 63) - 1 if how == 'size huge' else 'size + 1'} {where}"
        )
    elif how == "form":
        store.meddle(f"UPDATE content SET form = (form + 1) % 2 {where}")
    elif form == "object":
        body = path.read_bytes()
        theirs = path.parents[1] / other[:2] / other
        path.write_bytes(
            {"flipped": bytes([body[0] ^ 1]) + body[1:], "truncated": body[:-1], "longer": body + b"x"}.get(
                how
            )
            or theirs.read_bytes()
        )
    else:
        changed = {
            "flipped": "CAST(substr(body, 1, 20) || x'01' || substr(body, 22) AS BLOB)",
            "truncated": "substr(body, 1, length(body) - 1)",
            "longer": "CAST(body || x'00' AS BLOB)",
            "swapped": f"(SELECT body FROM content WHERE digest = x'{other}')",
        }[how]
        store.meddle(f"UPDATE content SET body = {changed} {where}")


HOW = [
    "missing",
    "row missing",
    "company",
    "company not text",
    "size",
    "size huge",
    "form",
    "flipped",
    "truncated",
    "longer",
    "swapped",
]


@pytest.mark.rule("CS-8", "RN-2")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("how", HOW)
@in_loop
async def test_damaged_content_is_never_served_and_is_named(store: SqliteStore, form: str, how: str) -> None:
    async with opened(store) as (ledger, contents):
        await keep(ledger, contents, b"sound")
        digest = await keep(ledger, contents, FORMS[form])
        other = await keep(ledger, contents, FORMS[form][::-1])
        assert await check(ledger, contents) == []
    damage(store, form, digest, how, other)
    async with opened(store) as (ledger, contents):
        with pytest.raises(InterlockError) as caught:
            await contents.read(digest)
        expected = "content.missing" if "missing" in how else "content.corrupt"
        if how == "company not text":
            expected = "ledger.unreadable"
        assert caught.value.code == expected
        sayable(caught.value)
        for stream in (None, "task_1"):
            assert Finding(expected, "task_1", 2, digest) in await check(ledger, contents, stream)
        assert await contents.read(other) == FORMS[form][::-1]


@pytest.mark.rule("CS-8")
@in_loop
async def test_a_check_reads_the_disk_and_not_what_was_read_before(store: SqliteStore) -> None:
    async with opened(store) as (ledger, contents):
        digest = await keep(ledger, contents, NOISE)
        assert await contents.read(digest) == NOISE
        store.meddle("UPDATE content SET body = x'00'")
        assert await check(ledger, contents) == [Finding("content.corrupt", "task_1", 1, digest)]


@pytest.mark.rule("CS-8")
@in_loop
async def test_content_that_no_step_names_is_checked_too(store: SqliteStore) -> None:
    async with opened(store) as (ledger, contents):
        kept = contents.keep("acme", NOISE)
        await ledger.append((), contents=(kept.row,))
        assert await check(ledger, contents) == []
        store.meddle("UPDATE content SET body = x'00'")
        assert await check(ledger, contents) == [Finding("content.corrupt", "*", 0, kept.digest)]


@pytest.mark.rule("CS-8", "PS-1")
@in_loop
async def test_what_content_names_in_turn_is_checked_with_it(store: SqliteStore) -> None:
    async with opened(store) as (ledger, contents):
        part = contents.keep("acme", b"part")
        whole = contents.keep("acme", part.digest.encode())
        step = Draft("noted", {"inner": [{"snapshot": whole.digest}]})
        await ledger.append((Write("task_1", None, (step,)),), contents=(whole.row,))
        checking = ContentCheck(ledger, contents, {"snapshot": lambda data: [("part", data.decode())]})
        assert [item async for item in checking.of_stream("task_1")] == [
            Finding("content.missing", "task_1", 1, part.digest)
        ]
        checking = ContentCheck(ledger, contents, {"snapshot": lambda data: [("part", {}[data])]})
        assert [item.problem async for item in checking.of_stream("task_1")] == ["content.corrupt"]


@pytest.mark.rule("CS-8")
@in_loop
async def test_damaged_large_content_is_made_good_by_storing_it_again(store: SqliteStore) -> None:
    async with opened(store) as (ledger, contents):
        digest = await keep(ledger, contents, LARGE)
        path = store.folder / "objects" / digest[:2] / digest
        path.write_bytes(bytes(len(LARGE)))
        await keep(ledger, contents, LARGE)
        assert await contents.read(digest) == LARGE


@pytest.mark.rule("CS-5")
@pytest.mark.parametrize("digest", ["", "zz", "ab", "ab" * 32, "../../key", "é", "\ud83d"])
@in_loop
async def test_a_digest_that_names_nothing_is_missing(store: SqliteStore, digest: str) -> None:
    async with opened(store) as (_, contents):
        with pytest.raises(InterlockError) as caught:
            await contents.read(digest)
        assert caught.value.code == "content.missing"
        sayable(caught.value)


# What is remembered


@pytest.mark.rule("CS-8")
@in_loop
async def test_what_is_remembered_stays_within_its_bound(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_store, "CACHE_BYTES", 50_000)
    monkeypatch.setattr(content_store, "PREPARED_BYTES", 20_000)
    async with opened(store) as (ledger, contents):
        pieces = [number.to_bytes(2) * 500 for number in range(300)]
        digests = [await keep(ledger, contents, data) for data in pieces]
        assert 0 < contents._cache.bytes <= 50_000
        assert 0 < contents._prepared.bytes <= 20_000
        assert [await contents.read(digest) for digest in digests] == pieces


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 600)), max_size=60))
def test_recent_never_holds_more_than_its_limit_nor_anything_else(uses: list[tuple[int, int]]) -> None:
    recent: Recent[bytes] = Recent(2000, len)
    first: dict[bytes, bytes] = {}
    for number, size in uses:
        digest = bytes([number])
        thing = recent.get(digest)
        assert thing is None or thing == first[digest]
        if thing is None:
            first[digest] = bytes(size)
        recent.put(digest, bytes(size))
        held = [recent.get(bytes([key])) for key in range(10)]
        assert (
            recent.bytes
            == sum(len(item) + content_store.OVERHEAD for item in held if item is not None)
            <= 2000
        )


def test_digests_are_found_at_whatever_depth() -> None:
    body = {
        "input": "a",
        "n": 1,
        "reason": {"id": "x"},
        "artifacts": [
            {"digest": "b", "name": "digest"},
            "digest",
            [{"digest": "no step has lists of lists"}],
        ],
        "inner": {"events": [{"list": "c", "not_done_said": None}]},
    }
    assert list(content_named(body)) == [("input", "a"), ("digest", "b"), ("list", "c")]
    assert {"input", "digest", "list"} <= CONTENT_KEYS


@pytest.mark.rule("CS-1")
def test_large_content_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ObjectFolder(tmp_path / "objects").write("ab" * 32, LARGE)
    finally:
        os.umask(before)
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert found == {"objects": 0o700, "ab": 0o700, "ab" * 32: 0o600}
