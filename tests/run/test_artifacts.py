"""Artifacts: published by name, saved under a handle, read through the Gate, and nothing else is to be had."""

import pytest

from interlock.agent.spec import FINAL_ANSWER, Emission
from interlock.errors import InterlockError
from interlock.gate.budget import Budget
from interlock.run.function import Finish
from interlock.settings import Sizes
from tests.run.scene import Calls, at, go_through, kinds, play, runs_of, spec_of, tool_giving, trail
from tests.world import sound, world

MIB = 1024 * 1024


def finish(**artifacts):
    """An answer that publishes."""
    return {"finish": {"summary": "s", "artifacts": artifacts}}


def read(name, **more):
    """An answer that reads."""
    return {"call": "read_artifact", "with": {"name": name, **more}}


@pytest.mark.rule("CS-2", "CS-3")
def test_finishing_publishes_many_and_the_closing_answer_is_one_of_its_own(tmp_path):
    async def story():
        script = {"*": [{"finish": {"summary": "In short.", "artifacts": {"one": "1", "two": "é" * 10}}}]}
        specs = [
            spec_of("a", emits=[Emission("done", "c", ("one", "two"))]),
            spec_of("b", starts_on=["done"]),
        ]
        async with world(tmp_path, script, specs) as runtime:
            state = await go_through(runtime, at("a"))
            items = (await trail(runtime, state.id, "run.closed"))[0]["artifacts"]
            assert {item["name"]: (item["size"], item["media"]) for item in items} == {
                "one": (1, "text/plain"), "two": (20, "text/plain"), FINAL_ANSWER: (9, "text/plain"),
            }  # fmt: skip
            for item in items:
                assert set(item) == {"name", "ref", "digest", "size", "media", "labels"}
                assert item["ref"] == f"{state.id}/{item['name']}"
            assert (await runtime.artifact(state.id, FINAL_ANSWER))[1] == b"In short."
            assert (await runtime.artifact(state.id, "two"))[1] == ("é" * 10).encode()
            (listener,) = await runs_of(runtime, at("b"))
            names = [item["name"] for item in (await trail(runtime, listener))[0]["event"]["artifacts"]]
            assert names == ["one", "two"]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("CS-3", "EV-2")
def test_the_closing_answer_is_exposed_only_where_it_is_listed(tmp_path):
    async def story():
        emits = [Emission("with", "c", (FINAL_ANSWER,)), Emission("without", "c", ())]
        specs = [
            spec_of("a", emits=emits),
            spec_of("b", starts_on=["with"]),
            spec_of("c", starts_on=["without"]),
        ]
        script = {
            at("a"): [{"text": "The answer."}],
            at("b"): [read(FINAL_ANSWER), {"finish": "ok"}],
            at("c"): [read(FINAL_ANSWER), {"finish": "ok"}],
        }
        async with world(tmp_path, script, specs) as runtime:
            await go_through(runtime, at("a"))
            (reader,), (other,) = await runs_of(runtime, at("b")), await runs_of(runtime, at("c"))
            assert "result" in (await trail(runtime, reader, "tool.answered"))[0]
            assert (await trail(runtime, other, "tool.answered"))[0]["error"]["with"][
                "code"
            ] == "artifact.not_given"

    play(story())


@pytest.mark.rule("CS-5")
@pytest.mark.fault("F13")
def test_what_a_run_was_not_given_is_refused_as_if_it_did_not_exist(tmp_path):
    """Names, references, digests and handles of others, guessed right, get the very answer of an invented one."""

    async def story():
        specs = [spec_of("a"), spec_of("other"), spec_of("thief")]
        save = {"call": "save_artifact", "with": {"content": "the crown jewels"}}
        told = {}

        def stealing(names):
            return [*(read(name) for name in names), {"finish": "done"}]

        script = {at("a"): [save, finish(report="r")], at("other"): [save, finish(report="r")]}
        guesses = []
        script[at("thief")] = lambda request: (
            read(guesses[request.number - 1]) if request.number <= len(guesses) else {"finish": "done"}
        )
        async with world(tmp_path, script, specs, corrections=99) as runtime:
            state = await go_through(runtime, at("a"))
            own = await go_through(runtime, at("thief"))
            handle = next(name for name in state.artifacts if name.startswith("artifact-"))
            item = state.artifacts[handle]
            guesses += ["invented", handle, item["ref"], item["digest"], "report", f"{state.id}/report",
                        FINAL_ANSWER, state.artifacts["report"]["digest"], own.id, state.id, ""]  # fmt: skip
            thief = await go_through(runtime, at("thief"))
            assert thief.status == "finished"
            answered = await trail(runtime, thief.id, "tool.answered")
            assert len(answered) == len(guesses)
            for guess, answer in zip(guesses, answered, strict=True):
                detail = (await runtime.installation.contents.read(answer["detail"])).decode()
                told[guess] = detail.replace(f"“{guess}”", "“…”")
                assert (answer["error"]["id"], answer["error"]["with"]["code"]) == (
                    "tool.failed",
                    "artifact.not_given",
                )
                assert "labels" not in answer
            assert len(set(told.values())) == 1
            assert thief.labels == {"area:acme/platform"}
            judged = [
                (item["verdict"], item.get("rule")) for item in await trail(runtime, thief.id, "tool.judged")
            ]
            assert set(judged) == {("allow", None)}

    play(story())


@pytest.mark.rule("CS-4", "CS-5")
@pytest.mark.fault("F13")
def test_a_handle_is_good_in_the_run_that_saved_it_alone(tmp_path):
    """Two runs of one version at once: the second knows the first's handle, and reads nothing."""

    async def story():
        handles = []

        def second(request):
            handles.append(request.messages[-1].text.split('"')[3])
            return read(handles[-1])

        script = {
            at("a"): [{"call": "save_artifact", "with": {"content": "mine"}}, second, {"finish": "ok"}],
            at("thief"): [lambda request: read(handles[0]), {"finish": "ok"}],
        }
        async with world(tmp_path, script, [spec_of("a"), spec_of("thief")]) as runtime:
            first = await go_through(runtime, at("a"))
            assert (await trail(runtime, first.id, "tool.answered"))[1]["slice"]["total"] == 4
            assert handles[0] == next(name for name in first.artifacts if name.startswith("artifact-"))
            assert len(handles[0]) == len("artifact-1a2b3c4d")
            thief = await go_through(runtime, at("thief"))
            assert (await trail(runtime, thief.id, "tool.answered"))[0]["error"]["with"][
                "code"
            ] == "artifact.not_given"
            same = await go_through(runtime, at("a"))
            assert same.status == "finished"

    play(story())


@pytest.mark.rule("CS-5", "EV-2")
def test_an_absent_artifact_is_not_there_to_be_read(tmp_path):
    async def story():
        script = {
            at("a"): [finish(report="r")],
            at("b"): [read("missing"), read("report"), {"finish": "ok"}],
        }
        specs = [
            spec_of("a", emits=[Emission("done", "c", ("report", "missing"))]),
            spec_of("b", starts_on=["done"]),
        ]
        async with world(tmp_path, script, specs) as runtime:
            await go_through(runtime, at("a"))
            (listener,) = await runs_of(runtime, at("b"))
            first, second = await trail(runtime, listener, "tool.answered")
            assert first["error"]["with"]["code"] == "artifact.not_given"
            assert "result" in second
            assert (await runtime.run(listener)).status == "finished"

    play(story())


@pytest.mark.rule("CS-6", "GT-1")
def test_reading_is_judged_counted_shown_and_labelled(tmp_path):
    async def story():
        calls = Calls()
        tools = [tool_giving(calls, "inbox", {"body": "x"}, labels=["untrusted"])]
        script = {
            at("a"): [{"call": "inbox"}, finish(report="the findings")],
            at("b"): [read("report"), read("report"), read("report"), {"finish": "ok"}],
        }
        specs = [
            spec_of("a", tools=("inbox",), emits=["done"]),
            spec_of("b", starts_on=["done"], limits=Budget(tool_calls=2)),
        ]
        async with world(tmp_path, script, specs, tools=tools) as runtime:
            await go_through(runtime, at("a"))
            (listener,) = await runs_of(runtime, at("b"))
            state = await runtime.run(listener)
            assert (state.status, state.reason["id"]) == ("exhausted", "gate.over_tool_calls")
            assert state.usage.tool_calls == 2
            order = [kind for kind in await kinds(runtime, listener) if kind.startswith("tool.")]
            assert order == ["tool.judged", "tool.answered"] * 2 + ["tool.judged"]
            answers = await trail(runtime, listener, "tool.answered")
            assert all("untrusted" in item["labels"] for item in answers)
            prompt = (await runtime.prompt(listener, 2))[0].request
            assert b"the findings" in prompt
            assert b"the findings" not in (await runtime.prompt(listener, 1))[0].request

    play(story())


@pytest.mark.rule("CS-6")
def test_reading_joins_the_labels_of_what_was_read(tmp_path):
    """A wide agent's run gets the area of what it reads with the reading, not only with its opening."""

    async def story():
        calls, states = Calls(), []
        tools = [tool_giving(calls, "from_area", "x" * 90_000, labels=["area:acme/platform"])]

        def step(request):
            handle = request.messages[-1].text.partition("artifact-")[2][:8]
            return read(f"artifact-{handle}", start=80_000)

        script = {at("w", "acme"): [{"call": "from_area"}, step, {"finish": "ok"}]}
        async with world(
            tmp_path, script, [spec_of("w", "acme", tools=("from_area",))], tools=tools
        ) as runtime:
            state = await go_through(runtime, at("w", "acme"))
            states.append(state)
            assert state.status == "finished"
            assert state.opening["labels"] == []
            answers = await trail(runtime, state.id, "tool.answered")
            assert [item["labels"] for item in answers] == [["area:acme/platform"]] * 2
            assert answers[1]["slice"] == {"start": 80_000, "end": 90_002, "total": 90_002}
            assert state.labels == {"area:acme/platform"}

    play(story())


@pytest.mark.rule("EV-2", "CS-2")
def test_a_listeners_prompt_is_as_long_for_much_as_for_little(tmp_path):
    async def story():
        sizes = {}
        for size in (20_000, 2_000_000):
            folder = tmp_path / str(size)
            folder.mkdir()
            script = {at("a"): [finish(report="f" * size)], at("b"): [{"finish": "ok"}]}
            specs = [spec_of("a", emits=["done"]), spec_of("b", starts_on=["done"])]
            async with world(folder, script, specs, limits=Budget(tokens=2_000_000)) as runtime:
                await go_through(runtime, at("a"))
                (listener,) = await runs_of(runtime, at("b"))
                snapshot, _ = await runtime.prompt(listener)
                assert b"f" * 20 not in snapshot.request.replace(b'"digest', b"")
                sizes[size] = len(snapshot.request)
        assert sizes[20_000] == sizes[2_000_000]

    play(story())


@pytest.mark.rule("BI-2", "CS-4")
@pytest.mark.fault("F44")
def test_what_is_too_big_is_refused_once_and_what_is_large_goes_by_reference(tmp_path):
    """50 MB through a function's finish, its save and a tool's result: within the limits it goes by reference,
    beyond them the limit is named, and nothing is tried again."""

    async def story():
        calls, errors = Calls(), []
        big = "b" * (50 * MIB)

        async def body(run):
            if run.input == "save":
                handle = await run.save_artifact(big)
                return Finish(handle)
            if run.input == "result":
                return Finish(str(len(await run.call("export"))))
            return Finish("s", {"report": big})

        tools = [tool_giving(calls, "export", lambda **_: big)]
        spec = spec_of("f", function="m:body", tools=("export",), emits=["done"])
        specs = [spec, spec_of("b", starts_on=["done"])]
        for limit in (64, 40):
            folder = tmp_path / str(limit)
            folder.mkdir()
            calls.clear()
            sizes = Sizes(artifact=limit * MIB, result=limit * MIB)
            settings = {
                "tools": tools,
                "functions": {"m:body": body},
                "sizes": sizes,
                "synchronous": "NORMAL",
            }
            async with world(folder, {"*": [{"finish": "ok"}]}, specs, **settings) as runtime:
                for way in ("finish", "save", "result"):
                    state = await go_through(runtime, at("f"), way)
                    order = await kinds(runtime, state.id)
                    assert order.count("run.claimed") <= 1
                    if limit == 64:
                        assert state.status == "finished", state.reason
                        continue
                    assert state.status == ("refused" if way == "save" else "failed")
                    closed = (await trail(runtime, state.id, "run.closed"))[0]
                    errors.append((await runtime.installation.contents.read(closed["detail"])).decode())
                assert calls.of("export") == 1
                largest = max(path.stat().st_size for path in (folder / ".interlock").glob("ledger.db*"))
                assert largest < 20 * MIB
        said = [words.replace(",", "") for words in errors]
        assert "has 52428800 bytes; an artifact may have 41943040" in said[0]
        assert (
            "larger than 42205184 bytes" in said[1]
        )  # the limit of an artifact, and of what is said beside it
        assert "gave 52428802 bytes; a result may have 41943040" in said[2]

    play(story())


@pytest.mark.rule("CS-3", "BI-3")
def test_a_finish_that_does_not_fit_says_what_would(tmp_path):
    async def story():
        bad = [
            {"summary": "s", "artifacts": {"final_answer": "other"}},
            {"summary": "s", "artifacts": {"Bad Name": "x"}},
            {"summary": "s" * 40_000},
            {"summary": "s", "artifacts": {f"n{index}": "" for index in range(65)}},
        ]
        script = {"*": [*({"finish": item} for item in bad), {"finish": "ok"}]}
        async with world(tmp_path, script, [spec_of("a")], corrections=9) as runtime:
            state = await go_through(runtime, at("a"))
            assert state.status == "finished"
            codes = [
                item["error"]["with"]["code"] for item in await trail(runtime, state.id, "tool.answered")
            ]
            assert codes == [
                "finish.final_answer",
                "finish.bad_name",
                "finish.long_summary",
                "finish.too_many",
            ]
            assert set(state.artifacts) == {FINAL_ANSWER}
            with pytest.raises(InterlockError, match=r"artifact\.unknown"):
                await runtime.artifact(state.id, "n1")

    play(story())
