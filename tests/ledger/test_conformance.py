"""What every store of the ledger does, and what it refuses, whichever database it is."""

import asyncio
import json

import pytest

from interlock.clock import new_id
from interlock.errors import InterlockError
from interlock.ledger.ledger import Appended, Claimed, Conflict, ContentRow, Fenced, Refused, Row, Write
from interlock.ledger.step import BEGINNING, Draft, Head
from tests.ledger.world import LEASE, SqliteStore, found, in_loop, note, opening, queue, whole_run, write

POOL = Row("insert_budget", ("task_1", 5, None, None, None))


def draw(calls: int) -> Row:
    return Row("draw_budget", (calls, 0, 0, 0, "task_1"))


@pytest.mark.rule("RN-1", "RN-2")
@in_loop
async def test_steps_come_back_as_they_were_written_each_linked_to_the_one_before(store: SqliteStore) -> None:
    async with store.open() as ledger:
        at = store.clock.now()
        first = await write(
            ledger, "task_1", note(1), Draft("noted", {"b": 1, "a": [None, True, 1.5]}, at - 7)
        )
        store.clock.move(2)
        await write(ledger, "task_1", note(3), after=first)
        steps = await ledger.read("task_1")
    assert [(step.seq, step.kind, step.at) for step in steps] == [
        (1, "noted", at),
        (2, "noted", at - 7),
        (3, "noted", at + 2000),
    ]
    assert [step.body for step in steps] == [{"n": 1}, {"a": [None, True, 1.5], "b": 1}, {"n": 3}]
    assert [step.previous for step in steps] == [BEGINNING, steps[0].digest, steps[1].digest]
    assert all(step.fits for step in steps)
    assert first == steps[1].head


@in_loop
async def test_reading_begins_after_a_number_and_stops_at_a_limit(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await write(ledger, "task_1", *(note(number) for number in range(1, 8)))
        assert [step.seq for step in await ledger.read("task_1", 2, 3)] == [3, 4, 5]
        assert await ledger.read("task_1", 7) == []
        assert await ledger.read("task_2") == []


@pytest.mark.rule("RN-1")
@in_loop
async def test_several_streams_are_written_together_or_not_at_all(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await write(ledger, "task_2", note(1))
        stale = Head()
        content = ContentRow(b"c" * 32, "acme", 1, 0, b"x")
        outcome = await ledger.append(
            (Write("task_1", None, (note(1),)), Write("task_2", stale, (note(2),))),
            guards=(POOL,),
            contents=(content,),
            rows=(Row("insert_signal", ("run_1", "s", "cancel", "")),),
        )
        assert outcome == Conflict()
        assert await ledger.read("task_1") == []
        assert len(await ledger.read("task_2")) == 1
        for query, key in (
            ("budget_of", "task_1"),
            ("content_by_digest", b"c" * 32),
            ("signals_of_run", "run_1"),
            ("stream_by_id", "task_1"),
        ):
            assert await ledger.query(query, key) == []
        outcome = await ledger.append(
            (Write("task_1", None, (note(1),)), Write("task_2", None, (note(2),)), Write("task_3", None, ()))
        )
        assert isinstance(outcome, Appended)
        assert [head.seq for head in outcome.heads] == [1, 2, 0]
        assert await ledger.query("stream_by_id", "task_3") == [], "no step, no stream"
        assert await found(ledger) == []


@pytest.mark.rule("RN-2")
@pytest.mark.parametrize("seq", [0, 1, 3, 4, 9])
@in_loop
async def test_a_step_that_does_not_continue_its_stream_conflicts(store: SqliteStore, seq: int) -> None:
    async with store.open() as ledger:
        await write(ledger, "task_1", note(1), note(2), note(3))
        digests = [BEGINNING, *(step.digest for step in await ledger.read("task_1"))]
        digest = b"x" * 32 if seq == 3 else digests[min(seq, 3)]
        assert await ledger.append((Write("task_1", Head(seq, digest), (note(4),)),)) == Conflict()
        assert len(await ledger.read("task_1")) == 3
        assert await found(ledger) == []


@in_loop
async def test_a_stream_that_many_write_is_continued_wherever_it_ends(store: SqliteStore) -> None:
    async with store.open() as ledger:
        heads = await asyncio.gather(*(write(ledger, "acme", note(number)) for number in range(20)))
        assert sorted(head.seq for head in heads) == list(range(1, 21))
        assert await found(ledger) == []


@in_loop
async def test_a_guard_that_changes_nothing_refuses_by_its_name(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await ledger.append((), rows=(Row("insert_owed", ("run_1", None)),))
        guard = Row("list_owed", ("ab", "run_1"), "already_listed")
        assert isinstance(
            await ledger.append((Write("task_1", None, (note(1),)),), guards=(guard,)), Appended
        )
        again = await ledger.append((Write("task_1", None, (note(2),)),), guards=(guard,))
        assert again == Refused("already_listed")
        assert len(await ledger.read("task_1")) == 1


@pytest.mark.rule("EV-5")
@in_loop
async def test_a_cause_opens_one_run_however_many_try_at_once(store: SqliteStore) -> None:
    async with store.open() as ledger:
        outcomes = await asyncio.gather(
            *(
                ledger.append((Write(f"run_{number}", Head(), (opening(f"run_{number}", "event:run_0:x"),)),))
                for number in range(10)
            )
        )
        assert sum(isinstance(outcome, Appended) for outcome in outcomes) == 1
        assert outcomes.count(Refused("already_opened")) == 9
        assert len(await ledger.query("run_by_cause", "event:run_0:x")) == 1


@pytest.mark.rule("GT-5")
@in_loop
async def test_a_shared_budget_is_never_drawn_below_nought(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await ledger.append((), rows=(POOL,))
        outcomes = await asyncio.gather(*(ledger.append((), guards=(draw(2),)) for _ in range(4)))
        assert outcomes.count(Refused("over_budget")) == 2
        assert await ledger.query("budget_of", "task_1") == [(1, None, None, None)]


@pytest.mark.rule("AG-2")
@in_loop
async def test_a_version_number_is_given_once(store: SqliteStore) -> None:
    body = {
        "agent": "triage@acme",
        "scope": "acme",
        "number": 1,
        "version_digest": "d",
        "spec": "ab" * 32,
        "author": "ana",
        "wiring": {"starts_on": [{"event": "opened"}], "emits": [{"event": "triaged"}]},
    }
    async with store.open() as ledger:
        write_it = (Write("triage@acme", None, (Draft("version.published", body),)),)
        assert isinstance(await ledger.append(write_it), Appended)
        assert await ledger.append(write_it) == Conflict()
        assert len(await ledger.query("listeners_of_event", "opened")) == 1
        assert await found(ledger) == []


@in_loop
async def test_what_may_wait_is_seen_at_once_and_is_on_disk_after_a_flush(store: SqliteStore) -> None:
    async with store.open() as ledger:
        outcome = await ledger.append((Write("task_1", None, (note(1),)),), durable=False)
        assert isinstance(outcome, Appended)
        assert len(await ledger.read("task_1")) == 1
        assert store.outside().execute("SELECT count(*) FROM step").fetchall() == [(0,)]
        await ledger.append(())
        assert store.outside().execute("SELECT count(*) FROM step").fetchall() == [(1,)]


@in_loop
async def test_what_may_wait_reaches_the_disk_though_nobody_flushes(store: SqliteStore) -> None:
    committed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def reach(point: str) -> None:
        if point == "append.after_commit":
            loop.call_soon_threadsafe(committed.set)

    async with store.open(reach) as ledger:
        await ledger.append((Write("task_1", None, (note(1),)),), durable=False)
        await committed.wait()
        assert store.outside().execute("SELECT count(*) FROM step").fetchall() == [(1,)]


@in_loop
async def test_what_may_wait_reaches_the_disk_with_the_next_that_may_not(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await ledger.append((Write("task_1", None, (note(1),)),), durable=False)
        await write(ledger, "task_2", note(1))
        assert store.outside().execute("SELECT count(*) FROM step").fetchall() == [(2,)]


@in_loop
async def test_following_gives_steps_as_they_come_and_ends_with_the_closing(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await whole_run(ledger, "run_1")
        assert [step.kind async for step in ledger.follow("run_1")] == [
            "run.opened",
            "run.claimed",
            "noted",
            "run.closed",
        ]
        seen: asyncio.Queue[int] = asyncio.Queue()

        async def follow() -> None:
            async for step in ledger.follow("task_9", after=1):
                seen.put_nowait(step.seq)

        following = asyncio.create_task(follow())
        for last, drafts in ((2, (note(1), note(2))), (3, (note(3),))):
            await store.clock.someone_sleeps()
            await write(ledger, "task_9", *drafts)
            store.clock.move(1)
            assert await seen.get() == last
        following.cancel()


@in_loop
async def test_a_query_only_reads(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await queue(ledger, "run_1")
        for name, values in (
            ("end_lease", ("run_1", 0)),
            ("insert_owed", ("r", None)),
            ("no_such_query", ()),
        ):
            with pytest.raises(InterlockError) as caught:
                await ledger.query(name, *values)
            assert caught.value.code == "ledger.query_writes"
        assert len(await ledger.query("lease_of_run", "run_1")) == 1


@pytest.mark.rule("RN-5")
@in_loop
async def test_a_claim_is_a_step_whose_number_is_the_fence(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await queue(ledger, "run_1", "run_2", "run_3")
        assert await ledger.claim("w1", 2, LEASE) == [Claimed("run_1", 2), Claimed("run_2", 2)]
        assert await ledger.claim("w2", 2, LEASE) == [Claimed("run_3", 2)]
        assert await ledger.claim("w2", 2, LEASE) == []
        step = (await ledger.read("run_1"))[-1]
        assert (step.kind, step.fence, step.body) == ("run.claimed", 2, {"worker": "w1"})
        store.clock.move(LEASE / 1000)
        assert [item.fence for item in await ledger.claim("w2", 5, LEASE)] == [3, 3, 3]
        assert (await ledger.read("run_1"))[-1].body["after"] == {"worker": "w1", "fence": 2}
        assert await found(ledger) == []


@pytest.mark.rule("RN-5")
@in_loop
async def test_a_renewed_lease_is_not_claimed_and_a_released_one_is(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await queue(ledger, "run_1")
        ((_, fence),) = [(item.run, item.fence) for item in await ledger.claim("w1", 1, LEASE)]
        store.clock.move(20)
        await ledger.renew("w1", LEASE)
        store.clock.move(20)
        assert await ledger.claim("w2", 1, LEASE) == []
        await ledger.release("run_1", fence + 1)
        assert await ledger.claim("w2", 1, LEASE) == []
        await ledger.release("run_1", fence)
        assert await ledger.claim("w2", 1, LEASE) == [Claimed("run_1", 3)]
        await ledger.release("run_1", fence)
        assert (await ledger.query("lease_of_run", "run_1"))[0][0] == "w2"


@pytest.mark.rule("RN-5")
@in_loop
async def test_only_the_holder_of_the_lease_writes_a_trail(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await queue(ledger, "run_1")
        opened = (await ledger.read("run_1"))[-1].head

        async def attempt(fence: int, head: Head) -> object:
            return await ledger.append(
                (Write("run_1", head, (note(1),), fence), Write("task_1", None, (note(1),)))
            )

        for fence in (0, 1, 2):
            assert await attempt(fence, opened) == Fenced(), "nobody has claimed it yet"
        (mine,) = await ledger.claim("w1", 1, LEASE)
        claimed = (await ledger.read("run_1"))[-1].head
        assert isinstance(await attempt(mine.fence, claimed), Appended)
        store.clock.move(LEASE)
        (theirs,) = await ledger.claim("w2", 1, LEASE)
        taken = (await ledger.read("run_1"))[-1].head
        assert await attempt(mine.fence, taken) == Fenced()
        assert isinstance(await attempt(theirs.fence, taken), Appended)
        head = (await ledger.read("run_1"))[-1].head
        await ledger.release("run_1", theirs.fence)
        assert await attempt(theirs.fence, head) == Fenced(), "given back, and nobody's since"
        assert len(await ledger.read("task_1")) == 2


@pytest.mark.rule("RN-5")
@in_loop
async def test_nothing_is_written_after_the_closing(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await whole_run(ledger, "run_1")
        last = (await ledger.read("run_1"))[-1]
        for fence in (0, last.fence, last.seq, last.seq + 1):
            assert await ledger.append((Write("run_1", last.head, (note(9),), fence),)) == Fenced()
        store.clock.move(10 * LEASE)
        assert await ledger.claim("w2", 9, LEASE) == []


@in_loop
async def test_projections_are_written_with_their_steps(store: SqliteStore) -> None:
    async with store.open() as ledger:
        await whole_run(ledger, "run_1")
        for kind, body, stream in (
            ("scope.stopped", {"scope": "acme"}, "acme"),
            ("scope.stopped", {"scope": "globex"}, "globex"),
            ("scope.resumed", {"scope": "globex"}, "globex"),
        ):
            await write(ledger, stream, Draft(kind, body))
        run = (await ledger.query("run_by_id", "run_1"))[0]
        assert (run[1], run[6], run[7], run[-1]) == ("triage@acme/platform", "run_1", 0, "finished")
        assert await ledger.query("artifacts_of_run", "run_1") == [
            ("cause", "ab" * 32, 3, "text/plain", "pii")
        ]
        assert await ledger.query("stopped_scopes") == [("acme",)]
        assert await found(ledger) == []


@pytest.mark.rule("RN-2")
@pytest.mark.fault("F33")
@in_loop
async def test_a_clock_that_stands_still_or_goes_back_changes_no_order(store: SqliteStore) -> None:
    ids = []
    async with store.open() as ledger:
        for number in range(100):
            ids.append(new_id("run", store.clock))
            await write(ledger, "task_1", note(number, id=ids[-1]))
            if number == 49:
                store.clock.move(-3600)
        orders = {tuple(step.body["n"] for step in await ledger.read("task_1")) for _ in range(100)}
        assert await found(ledger) == []
    assert orders == {tuple(range(100))}
    assert ids == sorted(set(ids))


STRANGE = ["a\0b", "\ud83d", "😀", "שלום \u202eعكس", "x" * 2_000_000, "\n\r\u2028", ""]


@pytest.mark.rule("BI-1")
@pytest.mark.fault("F42")
@pytest.mark.parametrize("text", STRANGE, ids=["nul", "surrogate", "emoji", "rtl", "2MB", "lines", "empty"])
@in_loop
async def test_any_text_is_kept_as_value_and_as_key(store: SqliteStore, text: str) -> None:
    async with store.open() as ledger:
        body = {"value": text, text: [text], "inner": {text: text}}
        one = await write(ledger, "task_1", Draft("noted", body))
        two = await write(ledger, "task_1", Draft("noted", dict(reversed(body.items()))), after=None)
        steps = await ledger.read("task_1")
        assert [step.body for step in steps] == [body, body]
        assert steps[0].text == steps[1].text
        assert json.loads(steps[0].text) == body
        assert (one, two) == (steps[0].head, steps[1].head)
        assert await found(ledger) == []


@pytest.mark.fault("F42")
@in_loop
async def test_a_name_that_is_no_text_is_refused_by_name(store: SqliteStore) -> None:
    saved = {"name": "\ud83d", "digest": "ab" * 32, "size": 1, "media": "text/plain", "labels": []}
    async with store.open() as ledger:
        for stream, draft in (("task_1", Draft("artifact.saved", saved)), ("\ud83d", note(1))):
            with pytest.raises(InterlockError) as caught:
                await write(ledger, stream, draft)
            assert caught.value.code == "ledger.not_text"
            assert "\\ud83d" in caught.value.what()
        with pytest.raises(InterlockError) as caught:
            await ledger.query("artifact_of_run", "run_1", "\ud83d")
        assert caught.value.code == "ledger.not_text"
        await write(ledger, "task_1", Draft("artifact.saved", saved | {"name": "a\0😀"}))
        assert (await ledger.query("artifacts_of_run", "task_1"))[0][0] == "a\0😀"
        assert await found(ledger) == []


@in_loop
async def test_an_unfit_body_fails_its_own_append_alone(store: SqliteStore) -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    bodies = [{"n": 1}, {"n": float("nan")}, {"n": object()}, {"n": deep}, {"n": 2}]
    async with store.open() as ledger:
        outcomes = await asyncio.gather(
            *(ledger.append((Write("task_1", None, (Draft("noted", body),)),)) for body in bodies),
            return_exceptions=True,
        )
        assert [type(outcome) for outcome in outcomes[1:4]] == [ValueError, TypeError, RecursionError]
        assert [step.body["n"] for step in await ledger.read("task_1")] == [1, 2]
        assert await found(ledger) == []
