"""Openings: a task for every run, one root that ties them together, and all that the first step says."""

import pytest

from interlock.agent.spec import Emission
from interlock.errors import InterlockError
from interlock.ledger.step import FORMAT
from interlock.settings import Policy
from tests.run.scene import all_steps, at, go_through, play, runs_of, spec_of, trail
from tests.world import sound, world

EMITS = Emission("one", "c", ("report",))


@pytest.mark.rule("RN-7", "RN-8", "RN-1")
def test_each_run_has_a_task_under_one_root_and_says_all_of_its_opening(tmp_path):
    async def story():
        script = {"*": [{"finish": {"summary": "s", "artifacts": {"report": "r"}}}]}
        specs = [
            spec_of("a", emits=[EMITS]),
            spec_of("b", starts_on=["one"], emits=[Emission("two", "c", ("report",))]),
            spec_of("c", starts_on=["two"]),
        ]
        async with world(tmp_path, script, specs) as runtime:
            first = await go_through(runtime, at("a"), {"order": 7}, tools=[], effects=["read"])
            states = [first]
            for name in ("b", "c"):
                (run,) = await runs_of(runtime, at(name))
                states.append(await runtime.run(run))
            root = first.opening["task"]["id"]
            assert root.startswith("task_")
            for hop, (state, agent) in enumerate(zip(states, "abc", strict=True)):
                opening = state.opening
                assert opening["format"] == FORMAT
                assert (opening["agent"], opening["version"], opening["scope"]) == (
                    at(agent),
                    1,
                    "acme/platform",
                )
                assert opening["chain"] == {"root_run": first.id, "hop": hop}
                assert opening["task"]["root"] == root
                assert opening["behalf"] == "maria"
                assert opening["labels"] == ["area:acme/platform"]
                assert set(opening["budget"]) == {"tool_calls", "tokens", "wall_ms"}
            tasks = [state.opening["task"] for state in states]
            assert len({task["id"] for task in tasks}) == 3
            assert tasks[0] == {"id": root, "root": root}
            assert [task["parent"] for task in tasks[1:]] == [root, tasks[1]["id"]]
            assert first.opening["opened_by"] == {"kind": "person", "name": "maria"}
            assert first.opening["contract"] == {"tools": [], "effects": ["read"]}
            by = states[1].opening["opened_by"]
            assert (by["kind"], by["event"], by["run"]) == ("event", "one", first.id)
            rows = await runtime.installation.ledger.query("runs_before", "run_~", 9)
            assert {row[5] for row in rows} == {root}
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("RN-1", "GT-7", "BI-1")
def test_an_opening_that_does_not_fit_leaves_nothing_behind(tmp_path):
    async def story():
        async with world(tmp_path, {}, [spec_of("a")], policies=(Policy("p", "deny"),)) as runtime:
            before = len(await all_steps(runtime))
            wrong = [
                ({"agent": at("nobody")}, "agent.unknown"),
                ({"person": ""}, "run.bad_person"),
                ({"brief": float("nan")}, "brief.not_json"),
                ({"brief": "x" * 2_000_000}, "brief.too_large"),
                ({"labels": ["Made Up"]}, "label.undeclared"),
            ]
            for given, code in wrong:
                given = {"agent": at("a"), "person": "maria", "brief": None, **given}
                with pytest.raises(InterlockError) as caught:
                    await runtime.open_run(
                        given["agent"], given["person"], given["brief"], labels=given.get("labels", ())
                    )
                assert caught.value.code == code
                assert caught.value.remedy("pt_BR")
            assert len(await all_steps(runtime)) == before
            assert await runs_of(runtime, at("a")) == []
            name = await runtime.open_run(at("a"), "maria", {"any": [1, "é"]})
            digest = (await trail(runtime, name))[0]["input"]
            assert await runtime.installation.contents.read(digest) == '{"any":[1,"é"]}'.encode()

    play(story())
