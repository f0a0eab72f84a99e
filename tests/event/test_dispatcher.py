"""The dispatcher at length: thousands of finished runs between two sweeps, none skipped, and no history read."""

import asyncio

import pytest

from interlock.agent.spec import Emission
from interlock.run.dispatcher import Dispatcher
from tests.format_zero import OlderWorker
from tests.run.scene import at, go_through, play, runs_of, spec_of, trail
from tests.world import world

MANY = 5_000
SPECS = [
    spec_of("a", emits=[Emission("done", "work", ("report",))]),
    spec_of("b", starts_on=["done"]),
]
SCRIPT = {"*": [{"finish": {"summary": "s", "artifacts": {"report": "r"}}}]}


@pytest.mark.rule("EV-10", "EV-5", "EV-9")
def test_thousands_that_finish_between_two_sweeps_are_all_handled_exactly_once(tmp_path):
    """Two dispatchers at once. What they read grows with what is owed, and a later sweep reads nothing of it."""

    async def story():
        async with world(tmp_path, SCRIPT, SPECS, synchronous="NORMAL") as runtime:
            ledger = runtime.installation.ledger
            older = OlderWorker(runtime.installation)
            sources = []
            for number in range(MANY):
                sources.append(await older.open_by_person(at("a")))
                await older.close(sources[-1], report=b"%d" % number)
            dispatchers = [Dispatcher(runtime.installation) for _ in range(2)]
            settled = sum(await asyncio.gather(*(item.sweep() for item in dispatchers)))
            settled += await dispatchers[0].sweep()
            assert await ledger.query("owed_runs", "", 9) == []
            assert settled >= MANY
            opened = await runs_of(runtime, at("b"))
            assert len(opened) == MANY
            rows = await ledger.query("runs_before", "run_~", 3 * MANY)
            assert sorted(row[8] for row in rows if row[1] == at("b")) == sorted(sources)
            read = sum(item.rows_read for item in dispatchers)
            assert MANY <= read <= 3 * MANY
            # Now there is history; a sweep looks at what is new.
            for item in dispatchers:
                item.rows_read = 0
            assert await dispatchers[0].sweep() == 0
            assert dispatchers[0].rows_read == 0
            for _ in range(3):
                await older.close(await older.open_by_person(at("a")))
            assert await dispatchers[1].sweep() == 3
            assert dispatchers[1].rows_read == 3

    play(story())


@pytest.mark.rule("EV-10")
def test_what_becomes_owed_behind_the_place_of_a_sweep_is_handled_by_the_next(tmp_path):
    """A slow transaction that commits an earlier run late is not passed over."""

    async def story():
        async with world(tmp_path, SCRIPT, SPECS) as runtime:
            older = OlderWorker(runtime.installation)
            early = await older.open_by_person(at("a"))
            late = await older.open_by_person(at("a"))
            await older.close(late)
            dispatcher = Dispatcher(runtime.installation)
            assert await dispatcher.sweep() == 1
            await older.close(early)
            assert await dispatcher.sweep() == 1
            causes = [
                (await trail(runtime, run))[0]["opened_by"]["run"] for run in await runs_of(runtime, at("b"))
            ]
            assert causes == [late, early]

    play(story())


@pytest.mark.rule("EV-10", "GT-5")
def test_listeners_that_contend_for_one_budget_are_all_opened_in_the_end(tmp_path):
    async def story():
        listeners = [spec_of(f"l{index}", starts_on=["done"]) for index in range(12)]
        async with world(tmp_path, SCRIPT, [SPECS[0], *listeners], listeners_at_once=0) as runtime:
            state = await go_through(runtime, at("a"), until_idle=False)
            ledger = runtime.installation.ledger
            append, refused = ledger.append, []

            async def contended(writes, **more):
                if any(row.query == "draw_budget" for row in more.get("guards", ())) and len(refused) < 60:
                    refused.append(1)
                    await ledger.query("budget_of", state.root_task)
                    from interlock.ledger.ledger import Refused

                    return Refused("over_budget")
                return await append(writes, **more)

            ledger.append = contended
            dispatcher = Dispatcher(runtime.installation)
            assert await dispatcher.sweep() == 0
            assert await ledger.query("owed_runs", "", 9) != []
            assert await dispatcher.sweep() == 1
            for spec in listeners:
                assert len(await runs_of(runtime, spec.address)) == 1

    play(story())
