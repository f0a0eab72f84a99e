"""Chains in runs: counted from the run that no other caused, stopped at the limit, and said so."""

import asyncio

import pytest

from interlock.agent.spec import Emission
from interlock.catalogue import say
from interlock.run.dispatcher import Dispatcher
from tests.format_zero import OlderWorker
from tests.run.scene import at, drain, go_through, play, runs_of, spec_of, trail
from tests.world import sound, world

DONE = {"finish": {"summary": "s", "artifacts": {"report": "r"}}}
SCRIPT = {"*": [DONE]}


def emission(number):
    """The event of the agent with that number."""
    return Emission(f"e{number}", "work", ("report",))


def line(length):
    """Agents a0, a1… of which each starts the next."""
    return [
        spec_of(f"a{number}", emits=[emission(number)], starts_on=[f"e{number - 1}"] if number else [])
        for number in range(length)
    ]


@pytest.mark.rule("EV-6", "EV-7")
@pytest.mark.parametrize("at_once", [16, 0], ids=["at-once", "owed"])
@pytest.mark.parametrize("limit", [None, 3, 0])
def test_a_chain_goes_to_the_limit_and_the_last_run_says_why_it_ends(tmp_path, limit, at_once):
    async def story():
        settings = {"listeners_at_once": at_once, **({} if limit is None else {"chain_limit": limit})}
        last = 8 if limit is None else limit
        async with world(tmp_path, SCRIPT, line(11), **settings) as runtime:
            first = await go_through(runtime, at("a0"))
            for hop in range(last + 1):
                (run,) = await runs_of(runtime, at(f"a{hop}"))
                state = await runtime.run(run)
                assert state.status == "finished"
                assert state.opening["chain"] == {"root_run": first.id, "hop": hop}
                closed = (await trail(runtime, run, "run.closed"))[0]
                assert ("chain" in closed) == (hop == last)
                assert ("events" in closed) == (hop < last)
            assert await runs_of(runtime, at(f"a{last + 1}")) == []
            assert await runtime.installation.ledger.query("owed_runs", "", 9) == []
            text = closed["chain"]
            assert text["id"] == "chain.limit"
            assert text["with"]["root_run"] == first.id
            assert text["with"]["limit"] == last
            assert text["with"]["agents"] == [at(f"a{hop}") for hop in range(last + 1)]
            for language in ("en", "pt_BR"):
                words = say(text, language)
                assert first.id in words
                assert str(last) in words
                assert all(at(f"a{hop}") in words for hop in range(last + 1))
            assert "raising the limit" in say(text)
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("EV-5", "EV-6")
def test_a_second_delivery_does_not_count_twice(tmp_path):
    async def story():
        async with world(tmp_path, SCRIPT, line(4), listeners_at_once=0, chain_limit=2) as runtime:
            state = await go_through(runtime, at("a0"), until_idle=False)
            dispatcher = Dispatcher(runtime.installation)
            rows = await runtime.installation.ledger.query("owed_runs", "", 9)
            for _ in range(3):
                for run, listed in rows:
                    await dispatcher._settle(run, listed)
            await drain(runtime)
            for run, listed in rows:
                await dispatcher._settle(run, listed)
            await drain(runtime)
            for hop in range(3):
                (run,) = await runs_of(runtime, at(f"a{hop}"))
                assert (await trail(runtime, run))[0]["chain"] == {"root_run": state.id, "hop": hop}
            assert await runs_of(runtime, at("a3")) == []

    play(story())


@pytest.mark.rule("EV-6", "EV-8")
def test_two_agents_that_start_each_other_stop_at_the_limit(tmp_path):
    async def story():
        specs = [
            spec_of("ping", emits=[emission(1)], starts_on=["e2"]),
            spec_of("pong", emits=[emission(2)], starts_on=["e1"]),
        ]
        async with world(tmp_path, SCRIPT, specs) as runtime:
            for times in (1, 2):
                await go_through(runtime, at("ping"))
                pings, pongs = await runs_of(runtime, at("ping")), await runs_of(runtime, at("pong"))
                assert (len(pings), len(pongs)) == (5 * times, 4 * times)
            closed = (await trail(runtime, pings[-1], "run.closed"))[0]
            assert closed["chain"]["with"]["agents"] == [at("ping"), at("pong")] * 4 + [at("ping")]

    play(story())


@pytest.mark.rule("EV-9", "WK-3")
def test_a_run_opened_by_an_older_worker_through_an_event_publishes_nothing_whoever_closes_it(tmp_path):
    async def story():
        async with world(tmp_path, SCRIPT, line(3)) as runtime:
            older = OlderWorker(runtime.installation)
            source = await runtime.run(await runtime.open_run(at("a0"), "maria"))
            ours = await older.open_by_event(at("a1"), source, "e0", [])
            await drain(runtime)
            state = await runtime.run(ours)
            assert state.status == "finished"
            assert "chain" not in state.opening
            closed = (await trail(runtime, ours, "run.closed"))[0]
            assert closed["chain"]["id"] == "chain.unknown"
            assert "events" not in closed
            other = await runtime.run(await runtime.open_run(at("a0"), "maria", 2))
            theirs = await older.open_by_event(at("a1"), other, "e0", [])
            await older.close(theirs)
            dispatchers = [Dispatcher(runtime.installation) for _ in range(2)]
            await asyncio.gather(*(item.sweep() for item in dispatchers))
            assert theirs not in dict(await runtime.installation.ledger.query("owed_runs", "", 9))
            task = (await trail(runtime, theirs))[0]["task"]["id"]
            withheld = await trail(runtime, task, "event.withheld")
            assert [(item["run"], item["reason"]["id"]) for item in withheld] == [(theirs, "chain.unknown")]
            causes = [
                (await trail(runtime, run))[0]["opened_by"]["run"] for run in await runs_of(runtime, at("a2"))
            ]
            assert not set(causes) & {ours, theirs}

    play(story())


@pytest.mark.rule("EV-9", "EV-6", "WK-3", "AG-4")
def test_a_run_opened_by_an_older_worker_for_a_person_publishes_and_is_hop_nought(tmp_path):
    async def story():
        async with world(tmp_path, SCRIPT, line(3)) as runtime:
            older = OlderWorker(runtime.installation)
            closed_by_us = await older.open_by_person(at("a0"))
            closed_by_them = await older.open_by_person(at("a0"))
            failed = await older.open_by_person(at("a0"))
            await older.close(closed_by_them)
            await older.close(failed, status="failed")
            await drain(runtime)
            chains = {}
            for name in ("a1", "a2"):
                for run in await runs_of(runtime, at(name)):
                    opening = (await trail(runtime, run))[0]
                    chains.setdefault(opening["chain"]["root_run"], []).append(
                        (name, opening["chain"]["hop"])
                    )
            assert chains == {root: [("a1", 1), ("a2", 2)] for root in (closed_by_us, closed_by_them)}
            task = (await trail(runtime, closed_by_them))[0]["task"]["id"]
            (listed,) = await trail(runtime, task, "event.listed")
            assert listed["run"] == closed_by_them
            assert await runtime.installation.ledger.query("owed_runs", "", 9) == []
            assert await sound(runtime)

    play(story())
