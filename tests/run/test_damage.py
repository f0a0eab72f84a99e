"""Damage and mishaps around one run: it never stops a worker, nor stays under a lease that nobody works on."""

import asyncio
import logging

import apsw
import pytest

from interlock.agent.spec import Emission
from interlock.connector.tool import tool
from interlock.errors import InterlockError
from interlock.ledger.ledger import Write
from interlock.ledger.step import Draft, Step
from interlock.run.dispatcher import Dispatcher
from interlock.run.installation import Installation
from interlock.run.run import fold
from tests.run.scene import at, drain, go_through, play, runs_of, spec_of
from tests.world import sound, steps_of, world

SCRIPT = {"*": [{"finish": {"summary": "s", "artifacts": {"report": "r"}}}]}
DAMAGE = {
    "no JSON": "UPDATE step SET body = substr(body, 2) WHERE stream = ?",
    "no text": "UPDATE step SET body = CAST(x'ff' AS TEXT) WHERE stream = ?",
    "no object": "UPDATE step SET body = '[]' WHERE stream = ?",
    "empty": "UPDATE step SET body = '{}' WHERE stream = ?",
    "other types": "UPDATE step SET body = json_set(body, '$.agent', 7) WHERE stream = ?",
    "no steps": "DELETE FROM step WHERE stream = ?",
}
damages = pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)


class Panic(BaseException):
    """What no handler of ordinary exceptions catches."""


def meddle(runtime, statement, *values):
    """Change the ledger behind its back."""
    db = apsw.Connection(str(runtime.home / "ledger.db"))
    for name in ("step_is_never_changed", "step_is_never_removed"):
        db.execute(f"DROP TRIGGER {name}")
    db.execute(statement, values)
    db.close()


async def lease(runtime, run):
    """Give who holds a run that is not closed."""
    found = await runtime.installation.ledger.query("lease_of_run", run)
    return found[0][0]


@pytest.mark.rule("WK-4", "RN-2", "RN-5")
@damages
def test_a_damaged_run_is_set_aside_and_the_others_go_on(tmp_path, damage, caplog):
    async def story():
        async with world(tmp_path, SCRIPT, [spec_of("a")]) as runtime:
            before, bad, behind = [await runtime.open_run(at("a"), "maria", "secret") for _ in range(3)]
            meddle(runtime, damage, bad)
            for _ in range(2):
                caplog.clear()
                async with runtime.worker() as worker:
                    await worker.drain()
                    await worker.drain()
                    assert list(worker.damaged) == [bad]
                    assert worker.damaged[bad] in {"ledger.damaged", "ledger.unreadable"}
                    assert await lease(runtime, bad) == worker.name
                told = [record for record in caplog.records if record.name == "interlock"]
                assert [record.levelno for record in told] == [logging.ERROR]
                assert bad in told[0].getMessage() and "secret" not in told[0].getMessage()
                assert await lease(runtime, bad) is None
            assert [(await runtime.run(run)).status for run in (before, behind)] == ["finished"] * 2

    play(story())


@pytest.mark.rule("WK-4")
def test_more_damaged_runs_than_a_worker_has_places_do_not_hide_the_others(tmp_path):
    async def story():
        async with world(tmp_path, SCRIPT, [spec_of("a")]) as runtime:
            bad = [await runtime.open_run(at("a"), "maria") for _ in range(3)]
            good = await runtime.open_run(at("a"), "maria")
            meddle(runtime, "UPDATE step SET body = '{}' WHERE stream LIKE 'run_%' AND stream <> ?", good)
            async with runtime.worker(concurrency=2) as worker:
                await worker.drain()
                assert sorted(worker.damaged) == sorted(bad)
            assert (await runtime.run(good)).status == "finished"

    play(story())


@pytest.mark.rule("RN-2", "RN-4")
def test_what_does_not_fit_is_named_by_its_stream_and_step(tmp_path):
    async def story():
        async with world(tmp_path, SCRIPT, [spec_of("a")]) as runtime:
            state = await go_through(runtime, at("a"))
            steps = await steps_of(runtime, state.id)
        with pytest.raises(InterlockError) as none:
            fold([], "run_1")
        assert (none.value.code, none.value.params) == ("ledger.damaged", {"stream": "run_1", "seq": 1})
        for place, step in enumerate(steps):
            for text in ("{", "7", "[]"):
                other = Step(
                    step.stream, step.seq, step.kind, step.at, step.fence, text, step.previous, step.digest
                )
                with pytest.raises(InterlockError) as damaged:
                    fold([*steps[:place], other, *steps[place + 1 :]])
                assert damaged.value.code == "ledger.damaged"
                assert damaged.value.params == {"stream": state.id, "seq": step.seq}

    play(story())


@pytest.mark.rule("EV-10", "RN-2")
@damages
@pytest.mark.parametrize("stream", ["run", "task"])
def test_a_damaged_run_holds_up_its_own_events_alone(tmp_path, damage, stream):
    async def story():
        specs = [
            spec_of("a", emits=[Emission("done", "work", ("report",))]),
            spec_of("b", starts_on=["done"]),
        ]
        async with world(tmp_path, SCRIPT, specs, listeners_at_once=0) as runtime:
            bad, good = [await go_through(runtime, at("a"), until_idle=False) for _ in range(2)]
            if stream == "task":
                ledger = runtime.installation.ledger
                note = Draft("event.not_started", {"run": bad.id, "cause": "another"})
                await ledger.append((Write(bad.task, None, (note,)),))
            meddle(runtime, damage, bad.id if stream == "run" else bad.task)
            dispatcher = Dispatcher(runtime.installation)
            await dispatcher.sweep()
            opened = [
                (await runtime.run(run)).opening["opened_by"]["run"]
                for run in await runs_of(runtime, at("b"))
            ]
            assert good.id in opened
            assert set(dispatcher.held_up) <= {bad.id}
            if stream == "run":
                assert opened == [good.id] and bad.id in dispatcher.held_up

    play(story())


@pytest.mark.rule("RN-5", "WK-4")
def test_a_run_that_lost_its_place_under_its_own_lease_is_given_back(tmp_path):
    """Somebody wrote to the trail under the very same claim: what the worker knows of the run is out of date."""

    async def story():
        calls = []

        async def meddling():
            calls.append(1)
            if len(calls) == 1:
                ledger = runtime.installation.ledger
                fence = (await ledger.query("lease_of_run", name))[0][1]
                await ledger.append((Write(name, None, (Draft("noted", {}),), fence),))
            return 1

        nothing = {"type": "object", "properties": {}}
        tools = [tool(name="look", effect="read", labels=(), parameters=nothing)(meddling)]
        script = {"*": [{"call": "look", "with": {}}, {"finish": {"summary": "s"}}]}
        async with world(tmp_path, script, [spec_of("a", tools=("look",))], tools=tools) as runtime:
            async with runtime.worker() as worker:
                name = await runtime.open_run(at("a"), "maria", worker=worker)
                await worker.finished(name)
                assert (await runtime.run(name)).status == "open"
                assert await lease(runtime, name) is None
                await worker.drain()
            assert (await runtime.run(name)).status == "finished"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("WK-4")
@pytest.mark.parametrize(
    "error", [Panic("index out of bounds"), SystemExit(3), RuntimeError("odd")], ids=repr
)
def test_whatever_a_runs_task_meets_the_run_is_given_back_and_nobody_who_waits_meets_it(
    tmp_path, monkeypatch, error
):
    raised, spec = [], Installation.spec

    async def panicking(*given):
        if raised:
            return await spec(*given)
        raised.append(error)
        raise error

    async def story():
        async with world(tmp_path, SCRIPT, [spec_of("a")]) as runtime:
            async with runtime.worker() as worker:
                name = await runtime.open_run(at("a"), "maria", worker=worker)
                monkeypatch.setattr(Installation, "spec", panicking)
                await worker.finished(name)
                assert raised
                assert (await runtime.run(name)).status == "open"
                await worker.drain()
            assert (await runtime.run(name)).status == "finished"

    play(story())


@pytest.mark.rule("WK-4")
def test_a_worker_that_ends_holds_no_run_even_one_that_it_never_began(tmp_path):
    async def story():
        async with world(tmp_path, SCRIPT, [spec_of("a")]) as runtime:
            async with runtime.worker() as worker:
                name = await runtime.open_run(at("a"), "maria", worker=worker)
            assert await lease(runtime, name) is None
            await drain(runtime)
            assert (await runtime.run(name)).status == "finished"

    play(story())


@pytest.mark.rule("WK-4")
@pytest.mark.parametrize("code", ["ledger.unwritable", "ledger.busy"])
@pytest.mark.parametrize("failing", ["claim", "query", "read"])
@pytest.mark.parametrize("how", ["work", "drain"])
def test_a_ledger_that_cannot_be_used_for_a_while_does_not_end_a_worker(
    tmp_path, monkeypatch, code, failing, how
):
    monkeypatch.setattr("interlock.run.worker.POLL", 0)

    async def story():
        async with world(tmp_path, SCRIPT, [spec_of("a")]) as runtime:
            name = await runtime.open_run(at("a"), "maria")
            ledger, left = runtime.installation.ledger, [1, 2, 3]
            working = getattr(ledger, failing)

            async def full(*given, **more):
                if left:
                    left.pop()
                    raise InterlockError(code, file="ledger.db", why="full", seconds=60)
                return await working(*given, **more)

            setattr(ledger, failing, full)
            async with runtime.worker() as worker:
                if how == "drain":
                    await worker.drain()
                else:
                    stop = asyncio.Event()
                    at_work = asyncio.create_task(worker.work(stop))
                    while not worker.ended and not at_work.done():
                        await asyncio.sleep(0)
                    stop.set()
                    await at_work
            assert not left
            assert (await runtime.run(name)).status == "finished"
            assert await sound(runtime)

    play(story())
