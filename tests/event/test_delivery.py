"""Delivery in runs: who is started by an event, exactly once, with what in hand, and what is recorded of the rest."""

import asyncio

import pytest

from interlock.agent.spec import FINAL_ANSWER, Emission, Trigger
from interlock.catalogue import say
from interlock.run.dispatcher import Dispatcher
from interlock.scope.scope import Scope
from tests.run.scene import (
    JumpingClock,
    Killed,
    all_steps,
    at,
    drain,
    go_through,
    killing,
    play,
    runs_of,
    spec_of,
    trail,
    work_until_killed,
)
from tests.world import sound, world

DONE = {"finish": {"summary": "s", "artifacts": {"report": "the secret findings"}}}
EMITS = Emission("done", "work", ("report", "absent"))


@pytest.mark.rule("EV-1", "EV-2", "EV-11")
def test_a_listener_is_started_with_names_and_never_with_content(tmp_path):
    async def story():
        seen = []

        def heard(request):
            seen.append(request)
            return {"finish": "ok"}

        specs = [spec_of("a", emits=[EMITS]), spec_of("b", starts_on=["done"])]
        async with world(tmp_path, {at("a"): [DONE], at("b"): heard}, specs) as runtime:
            state = await go_through(runtime, at("a"))
            (listener,) = await runs_of(runtime, at("b"))
            event = (await trail(runtime, listener))[0]["event"]
            assert (event["event"], event["context"]) == ("done", "work")
            assert (event["source_agent"], event["source_run"]) == (at("a"), state.id)
            present, absent = event["artifacts"]
            assert present == state.artifacts["report"]
            assert absent == {"name": "absent", "absent": True}
            prompt = seen[0].messages[0].text
            assert "the secret findings" not in repr(seen[0])
            for value in (
                "done",
                "work",
                state.id,
                at("a"),
                "report",
                present["digest"],
                present["ref"],
                "absent",
            ):
                assert value in prompt
            assert say("prompt.input_names_artifacts") in seen[0].instructions
            assert "read_artifact" in say("prompt.input_names_artifacts", "pt_BR")
            direct = await go_through(runtime, at("b"), "x")
            assert (
                say("prompt.input_names_artifacts")
                not in (await runtime.prompt(direct.id))[0].request.decode()
            )
            told = (await trail(runtime, state.id, "run.closed"))[0]["events"]
            assert told[0]["deliveries"] == [
                {"listener": at("b"), "version": 1, "outcome": "open", "run": listener}
            ]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("EV-11", "LP-7")
def test_publishing_a_listener_offers_wording_for_its_instructions(tmp_path):
    async def story():
        async with world(tmp_path, {}, [spec_of("a", emits=[EMITS])]) as runtime:
            published = await runtime.publish(spec_of("b", starts_on=["done"]), "maria")
            for language in ("en", "pt_BR"):
                words = " ".join(say(text, language) for text in published.wording)
                assert "read_artifact" in words
                assert words.index("report") < words.index("absent")
            assert (await runtime.publish(spec_of("c"), "maria")).wording == ()

    play(story())


@pytest.mark.rule("EV-3")
def test_the_model_can_neither_emit_nor_withhold(tmp_path):
    async def story():
        answers = [{"call": "emit", "with": {"event": "other"}}, {"text": "emit: other"}, DONE]
        specs = [
            spec_of("a", emits=[EMITS]),
            spec_of("b", starts_on=["done"]),
            spec_of("c", starts_on=["other"]),
        ]
        async with world(tmp_path, {at("a"): answers, "*": [{"text": "ok"}]}, specs) as runtime:
            await go_through(runtime, at("a"))
            assert len(await runs_of(runtime, at("b"))) == 1
            assert await runs_of(runtime, at("c")) == []

    play(story())


@pytest.mark.rule("EV-4")
@pytest.mark.parametrize("at_once", [16, 0], ids=["at-once", "owed"])
def test_an_event_is_heard_in_its_company_and_beyond_only_where_both_say_so(tmp_path, at_once):
    async def story():
        near, wide = Emission("near", "w", ()), Emission("narrow", "w", (), (Scope("globex"),))
        carried = Emission("carried", "w", (FINAL_ANSWER,))
        specs = [
            spec_of("a", "acme", emits=[near, wide, carried]),
            spec_of("same", "acme/platform", starts_on=["near", "narrow"]),
            spec_of("stranger", "globex", starts_on=["near"]),
            spec_of(
                "asks",
                "globex",
                starts_on=[Trigger("near", (Scope("acme"),)), Trigger("narrow", (Scope("acme"),))],
            ),
            spec_of("area", "acme", starts_on=["carried"]),
            spec_of("below", "acme/platform", starts_on=["carried"], adds_labels=()),
        ]
        script = {"*": [{"text": "ok"}]}
        async with world(tmp_path, script, specs, listeners_at_once=at_once) as runtime:
            await go_through(runtime, at("a", "acme"), "x", labels=["area:acme"])
            causes = {}
            for spec in specs[1:]:
                causes[spec.name] = sorted(
                    [
                        (await trail(runtime, run))[0]["event"]["event"]
                        for run in await runs_of(runtime, spec.address)
                    ]
                )
            assert causes == {
                "same": ["near"], "stranger": [], "asks": ["narrow", "near"], "area": ["carried"], "below": [],
            }  # fmt: skip
            if at_once:
                closed = [
                    step.body
                    for step in await all_steps(runtime)
                    if step.kind == "run.closed" and "events" in step.body
                ]
                deliveries = {item["listener"]: item for item in closed[0]["events"][2]["deliveries"]}
                refused = deliveries["below@acme/platform"]
                assert (refused["outcome"], refused["rule"]) == ("refused", "data_barrier")
                assert refused["reason"]["with"]["label"] == "area:acme"
                assert "run" not in refused

    play(story())


@pytest.mark.rule("EV-8")
def test_an_agent_never_starts_from_its_own_event_and_that_is_recorded(tmp_path):
    async def story():
        specs = [spec_of("a", emits=[EMITS], starts_on=["done"]), spec_of("b", starts_on=["done"])]
        async with world(tmp_path, {at("a"): [DONE], "*": [{"text": "ok"}]}, specs) as runtime:
            state = await go_through(runtime, at("a"))
            assert await runs_of(runtime, at("a")) == [state.id]
            told = (await trail(runtime, state.id, "run.closed"))[0]["events"][0]["deliveries"]
            assert {item["listener"]: item["outcome"] for item in told} == {
                at("a"): "own_event",
                at("b"): "open",
            }
            own = next(item for item in told if item["outcome"] == "own_event")
            assert own["reason"]["id"] == "event.own_event"

    play(story())


async def everything_once(runtime, source, listeners):
    """See that each listener has exactly one run from the source."""
    for agent in listeners:
        causes = [(await trail(runtime, run))[0]["opened_by"]["run"] for run in await runs_of(runtime, agent)]
        assert causes == [source], agent


LISTENERS = [f"l{index}" for index in range(6)]


@pytest.mark.rule("EV-5", "AG-4", "EV-10")
@pytest.mark.parametrize("point", ["dispatch.before_open", "dispatch.after_open"])
def test_a_dispatcher_that_dies_half_way_is_continued_with_the_same_list(tmp_path, point):
    async def story():
        for count in (1, 3, 6):
            folder = tmp_path / str(count)
            folder.mkdir()
            clock = JumpingClock()
            specs = [spec_of("a", emits=[EMITS]), *(spec_of(name, starts_on=["done"]) for name in LISTENERS)]
            script = {at("a"): [DONE], "*": [{"text": "ok"}]}
            settings = {"listeners_at_once": 0, "clock": clock}
            async with world(folder, script, specs, **settings) as runtime:
                state = await go_through(runtime, at("a"), until_idle=False)
                before = (await trail(runtime, state.id, "run.closed"))[0]["events"]
                killing(runtime, lambda reached: reached == point, count)
                with pytest.raises(Killed):
                    await Dispatcher(runtime.installation).sweep()
            async with world(folder, script, [], **settings) as runtime:
                # Who listens now is another matter: the list was made when the event went out.
                await runtime.publish(spec_of("late", starts_on=["done"]), "maria")
                await runtime.publish(spec_of("l0", instructions="Not any more."), "maria")
                await runtime.publish(spec_of("l1", starts_on=["done"], instructions="Other."), "maria")
                await drain(runtime)
                await everything_once(runtime, state.id, [at(name) for name in LISTENERS])
                assert await runs_of(runtime, at("late")) == []
                versions = [
                    (await trail(runtime, (await runs_of(runtime, at(name)))[0]))[0]["version"]
                    for name in LISTENERS
                ]
                assert versions == [1] * len(LISTENERS)
                assert (await trail(runtime, state.id, "run.closed"))[0]["events"] == before
                assert await runtime.installation.ledger.query("owed_runs", "", 9) == []
                assert await sound(runtime)

    play(story())


@pytest.mark.rule("AG-4", "EV-5", "RN-2")
@pytest.mark.parametrize("point", ["run.before_close", "run.after_close"])
def test_closing_and_starting_the_few_listeners_is_one_fact(tmp_path, point):
    async def story():
        clock = JumpingClock()
        specs = [spec_of("a", emits=[EMITS]), *(spec_of(name, starts_on=["done"]) for name in LISTENERS)]
        script = {at("a"): [DONE], "*": [{"text": "ok"}]}
        async with world(tmp_path, script, specs, clock=clock) as runtime:
            name = await runtime.open_run(at("a"), "maria")
            killing(runtime, lambda reached: reached == point, 1)
            assert await work_until_killed(runtime)
        clock.move(31)
        async with world(tmp_path, script, [], clock=clock) as runtime:
            if point == "run.before_close":
                await runtime.publish(spec_of("late", starts_on=["done"]), "maria")
            await drain(runtime)
            late = [at("late")] if point == "run.before_close" else []
            await everything_once(runtime, name, [*(at(item) for item in LISTENERS), *late])
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("EV-5", "EV-10")
def test_many_deliveries_by_many_dispatchers_start_each_listener_once(tmp_path):
    async def story():
        specs = [spec_of("a", emits=[EMITS]), *(spec_of(name, starts_on=["done"]) for name in LISTENERS)]
        script = {at("a"): [DONE], "*": [{"text": "ok"}]}
        async with world(tmp_path, script, specs, listeners_at_once=0) as runtime:
            sources = [await go_through(runtime, at("a"), until_idle=False) for _ in range(5)]
            owed = await runtime.installation.ledger.query("owed_runs", "", 99)
            dispatchers = [Dispatcher(runtime.installation) for _ in range(4)]
            await asyncio.gather(*(item.sweep() for item in dispatchers))
            # An old delivery that comes again, from a dispatcher that had read the row before.
            for run, listed in owed:
                await dispatchers[0]._settle(run, listed)
            for agent in (at(name) for name in LISTENERS):
                causes = [
                    (await trail(runtime, run))[0]["opened_by"]["run"]
                    for run in await runs_of(runtime, agent)
                ]
                assert sorted(causes) == sorted(source.id for source in sources)
            await drain(runtime)
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("CS-8", "EV-10", "BI-1")
def test_a_list_that_cannot_be_read_holds_up_nobody_else(tmp_path):
    async def story():
        specs = [spec_of("a", emits=[EMITS]), spec_of("b", starts_on=["done"])]
        script = {at("a"): [DONE], "*": [{"text": "ok"}]}
        async with world(tmp_path, script, specs, listeners_at_once=0) as runtime:
            damaged, whole = [await go_through(runtime, at("a"), until_idle=False) for _ in range(2)]
            contents = runtime.installation.contents
            listed = dict(await runtime.installation.ledger.query("owed_runs", "", 9))[damaged.id]
            read = contents.read
            contents.read = lambda digest: read("ab" * 32 if digest == listed else digest)
            async with runtime.worker() as worker:
                await worker.idle()
                assert worker.dispatcher.held_up == {damaged.id: "content.missing"}
            await everything_once(runtime, whole.id, [at("b")])
            contents.read = read
            await drain(runtime)
            assert len(await runs_of(runtime, at("b"))) == 2
            assert await runtime.installation.ledger.query("owed_runs", "", 9) == []

    play(story())
