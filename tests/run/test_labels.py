"""Labels in runs: they only accumulate, whatever a run reads, saves, publishes or is opened with."""

import sys
from pathlib import Path

import pytest

from interlock.agent.spec import Emission
from interlock.errors import InterlockError
from interlock.scope import barrier as barrier_module
from interlock.scope.barrier import Refusal, barrier
from interlock.scope.label import DeclaredLabel
from interlock.settings import Policy
from tests.run.scene import Calls, all_steps, at, go_through, play, runs_of, spec_of, tool_giving, trail
from tests.world import sound, world

OWN = "area:acme/platform"
PII = {"pii": DeclaredLabel("pii", frozenset({"tool:crm"}))}


@pytest.mark.rule("SC-4", "CS-2", "CS-4", "CS-6")
def test_labels_accumulate_over_reading_saving_publishing_and_an_event(tmp_path):
    async def story():
        calls = Calls()
        tools = [tool_giving(calls, "inbox", {"body": "hello"}, labels=["untrusted"])]
        save = {"call": "save_artifact", "with": {"content": "x" * 50}}
        script = {
            at("reader"): [save, {"call": "inbox"}, {"call": "save_artifact", "with": {"content": "y" * 50}},
                           {"finish": {"summary": "done", "artifacts": {"report": "r"}}}],
            at("writer"): [{"call": "read_artifact", "with": {"name": "report"}}, {"finish": "ok"}],
        }  # fmt: skip
        specs = [
            spec_of("reader", emits=["read.done"], tools=("inbox",)),
            spec_of("writer", starts_on=["read.done"]),
        ]
        async with world(tmp_path, script, specs, tools=tools) as runtime:
            state = await go_through(runtime, at("reader"), "go")
            assert state.opening["labels"] == [OWN]
            clean, tainted = await trail(runtime, state.id, "artifact.saved")
            assert clean["labels"] == [OWN]
            assert tainted["labels"] == [OWN, "untrusted"]
            assert {name: item["labels"] for name, item in state.artifacts.items() if name == "report"} == {
                "report": [OWN, "untrusted"]
            }
            assert state.artifacts["final_answer"]["labels"] == [OWN, "untrusted"]
            (listener,) = await runs_of(runtime, at("writer"))
            opening = (await trail(runtime, listener))[0]
            assert opening["labels"] == [OWN, "untrusted"]
            assert opening["event"]["artifacts"][0]["labels"] == [OWN, "untrusted"]
            assert (await runtime.artifact(listener, "final_answer"))[0]["labels"] == [OWN, "untrusted"]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("SC-4")
def test_saving_the_same_content_again_does_not_keep_the_fewer_labels(tmp_path):
    """What a tainted run saves carries its labels, also when a cleaner moment of it saved the same bytes."""

    async def story():
        calls = Calls()
        tools = [tool_giving(calls, "inbox", {"body": "hello"}, labels=["untrusted"])]
        save = {"call": "save_artifact", "with": {"content": "the same"}}
        script = {at("reader"): [save, {"call": "inbox"}, save, save, {"finish": "done"}]}
        async with world(tmp_path, script, [spec_of("reader", tools=("inbox",))], tools=tools) as runtime:
            state = await go_through(runtime, at("reader"), "go")
            assert state.status == "finished"
            saved = await trail(runtime, state.id, "artifact.saved")
            assert [item["labels"] for item in saved] == [[OWN], [OWN, "untrusted"]]
            assert saved[0]["name"] != saved[1]["name"]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("SC-4")
def test_a_large_clean_result_that_a_tainted_run_keeps_carries_the_runs_labels(tmp_path):
    async def story():
        calls = Calls()
        tools = [
            tool_giving(calls, "inbox", {"body": "hello"}, labels=["untrusted"]),
            tool_giving(calls, "export", "e" * 90_000),
        ]
        script = {at("a"): [{"call": "inbox"}, {"call": "export"}, {"finish": "done"}]}
        async with world(tmp_path, script, [spec_of("a", tools=("inbox", "export"))], tools=tools) as runtime:
            state = await go_through(runtime, at("a"))
            (saved,) = await trail(runtime, state.id, "artifact.saved")
            assert saved["labels"] == [OWN, "untrusted"]
            answer = (await trail(runtime, state.id, "tool.answered"))[1]
            assert answer["handle"] == saved["name"]
            assert saved["name"].encode() in (await runtime.prompt(state.id))[0].request

    play(story())


@pytest.mark.rule("SC-4", "SC-5", "SC-3")
@pytest.mark.parametrize("ours", [False, True])
def test_the_words_with_which_a_tool_fails_carry_its_labels(tmp_path, ours):
    """An exception quotes what the tool read; where its labels may not enter, its words do not either."""

    async def story():
        error = InterlockError("tool.no_result", tool="t", why="INJECTED") if ours else ValueError("INJECTED")
        calls = Calls()
        tools = [
            tool_giving(calls, "page", error, labels=["untrusted"]),
            tool_giving(calls, "by_field", error, fields={"body": ["untrusted"]}),
            tool_giving(calls, "finance", error, labels=["area:acme/finance"]),
        ]
        for name in ("page", "by_field", "finance"):
            folder = tmp_path / name
            folder.mkdir()
            script = {at("a"): [{"call": name}, {"finish": "done"}]}
            async with world(folder, script, [spec_of("a", tools=(name,))], tools=tools) as runtime:
                state = await go_through(runtime, at("a"))
                prompt = (await runtime.prompt(state.id, 2))[0].request
                assert state.labels == ({OWN} if name == "finance" else {OWN, "untrusted"})
                assert (b"INJECTED" in prompt) == (name != "finance")

    play(story())


@pytest.mark.rule("SC-2", "SC-4")
def test_an_area_agent_carries_its_area_and_a_wider_one_what_it_is_given_and_adds(tmp_path):
    async def story():
        specs = [
            spec_of("area"),
            spec_of("area", "globex/platform"),
            spec_of("wide", "acme"),
            spec_of("wide", "*"),
            spec_of("adds", "acme", adds_labels=("area:acme",)),
        ]
        async with world(tmp_path, {"*": [{"text": "ok"}]}, specs) as runtime:
            for spec, labels in zip(
                specs, ({OWN}, {"area:globex/platform"}, set(), set(), {"area:acme"}), strict=True
            ):
                state = await go_through(runtime, spec.address)
                assert state.labels == labels
            state = await go_through(runtime, at("wide", "acme"), "x", labels=["untrusted", OWN])
            assert state.labels == {"untrusted", OWN}

    play(story())


PATHS = {
    "event": ("interlock.event.event", []),
    "result": ("interlock.run.outcome", [{"call": "look"}]),
    "destination": ("interlock.gate.rule", [{"call": "push"}]),
    "artifact": ("interlock.gate.rule", [{"call": "save_artifact", "with": {"content": "c"}}, "read back"]),
    "opening": ("interlock.runtime", []),
}
"""Each way that data takes, the module that stands in it, and what a run does to go that way."""


@pytest.mark.rule("SC-6")
@pytest.mark.parametrize("path", PATHS)
def test_every_path_asks_the_one_function_and_does_as_it_says(tmp_path, monkeypatch, path):
    module, body = PATHS[path]
    asked = []

    def strict(labels, target, vocabulary, receivers=frozenset(), released=frozenset()):
        asked.append(target)
        return Refusal("made-up", "?", "here", "undeclared")

    async def story():
        calls = Calls()
        tools = [
            tool_giving(calls, "look", {"a": 1}),
            tool_giving(calls, "push", {"a": 1}, destination="acme/finance", effect="write"),
        ]
        answers = [read_back if item == "read back" else item for item in body]
        script = {
            at("source"): [*answers, {"finish": {"summary": "s", "artifacts": {"report": "r"}}}],
            "*": [{"text": "ok"}],
        }
        specs = [
            spec_of("source", tools=("look", "push"), emits=["done"]),
            spec_of("sink", starts_on=["done"]),
        ]
        async with world(tmp_path, script, specs, tools=tools, corrections=0) as runtime:
            assert sys.modules[module].barrier is barrier
            monkeypatch.setattr(sys.modules[module], "barrier", strict)
            if path == "opening":
                with pytest.raises(InterlockError, match=r"barrier\.brief"):
                    await runtime.open_run(at("source"), "maria", "go")
            else:
                state = await go_through(runtime, at("source"), "go")
                assert state.status == {"event": "finished", "result": "failed"}.get(path, "refused")
            assert asked
            assert await runs_of(runtime, at("sink")) == []
            assert calls.of("push") == 0
            assert path == "opening" or any("made-up" in step.text for step in await all_steps(runtime))

    play(story())


@pytest.mark.rule("SC-6")
def test_nobody_but_the_barrier_compares_a_label_with_a_scope():
    """Whoever needs the origin of a label asks `Vocabulary.origin`; only the barrier does."""
    source = Path(barrier_module.__file__).parents[1]
    asking = {path.name for path in source.rglob("*.py") if "vocabulary.origin(" in path.read_text()}
    assert asking == {"barrier.py"}


def read_back(request):
    """Read the handle that the last save gave."""
    handle = request.messages[-1].text.split('"')[3]
    return {"call": "read_artifact", "with": {"name": handle}}


@pytest.mark.rule("SC-5", "SC-6", "SC-7")
def test_data_of_another_area_is_refused_on_every_path_and_named(tmp_path):
    async def story():
        calls = Calls()
        tools = [
            tool_giving(calls, "ledger_of_finance", {"a": 1}, labels=["area:acme/finance"]),
            tool_giving(calls, "post_to_finance", {"a": 1}, destination="acme/finance", effect="write"),
            tool_giving(calls, "ask_finance", {"a": 1}, destination="acme/finance"),
        ]
        script = {
            at("source"): [
                {"call": "ledger_of_finance"},
                {"call": "post_to_finance"},
                {"call": "ask_finance"},
                {"finish": {"summary": "s", "artifacts": {"report": "r"}}},
            ],
            "*": [{"text": "ok"}],
        }
        specs = [
            spec_of("source", tools=("ledger_of_finance", "post_to_finance", "ask_finance"), emits=["done"]),
            spec_of("sibling", "acme/finance", starts_on=["done"]),
            spec_of("wide", "acme", starts_on=["done"]),
        ]
        policy = Policy("look first", "ask", tool="post_to_finance")
        async with world(tmp_path, script, specs, tools=tools, policies=(policy,)) as runtime:
            state = await go_through(runtime, at("source"), "go")
            assert state.status == "finished"
            assert state.labels == {OWN}
            first, second = (await trail(runtime, state.id, "tool.answered"))[0], None
            assert first["error"]["id"] == "barrier.area"
            assert first["error"]["with"]["label"] == "area:acme/finance"
            assert "result" not in first
            second = next(
                item
                for item in await trail(runtime, state.id, "tool.judged")
                if item["tool"].startswith("post")
            )
            assert (second["verdict"], second["rule"]) == ("deny", "data_barrier")
            assert second["reason"]["with"] == {
                "label": OWN,
                "origin": "acme/platform",
                "target": "acme/finance",
            }
            asked = next(
                item
                for item in await trail(runtime, state.id, "tool.judged")
                if item["tool"] == "ask_finance"
            )
            assert (asked["verdict"], asked["rule"]) == ("deny", "data_barrier")
            assert calls.of("post_to_finance") == calls.of("ask_finance") == 0
            told = (await trail(runtime, state.id, "run.closed"))[0]["events"][0]["deliveries"]
            assert {item["listener"]: item["outcome"] for item in told} == {
                "sibling@acme/finance": "refused",
                "wide@acme": "open",
            }
            assert next(item for item in told if item["outcome"] == "refused")["rule"] == "data_barrier"
            assert await runs_of(runtime, "sibling@acme/finance") == []
            (wide,) = await runs_of(runtime, "wide@acme")
            assert (await trail(runtime, wide))[0]["labels"] == [OWN]

    play(story())


@pytest.mark.rule("SC-5", "SC-6", "SC-8")
def test_a_run_is_not_opened_with_data_that_its_scope_may_not_carry(tmp_path):
    async def story():
        async with world(tmp_path, {"*": [{"text": "ok"}]}, [spec_of("a")], labels=PII) as runtime:
            for labels in (["area:acme/finance"], ["area:acme"], ["area:globex/platform"], ["pii"]):
                with pytest.raises(InterlockError) as caught:
                    await runtime.open_run(at("a"), "maria", "x", labels=labels)
                assert caught.value.code == "barrier.brief"
                assert labels[0] in str(caught.value)
            assert await runs_of(runtime, at("a")) == []
            with pytest.raises(InterlockError, match=r"label\.undeclared"):
                await runtime.open_run(at("a"), "maria", "x", labels=["made-up"])
            released = await go_through(
                runtime, at("a"), "x", labels=["pii"], released=[("pii", "acme/platform")]
            )
            assert released.labels == {"pii", OWN}

    play(story())


@pytest.mark.rule("SC-8")
def test_a_declared_release_holds_for_that_run_alone(tmp_path):
    async def story():
        calls = Calls()
        tools = [
            tool_giving(calls, "crm", {"a": 1}, effect="write"),
            tool_giving(calls, "mail", {"a": 1}, effect="write"),
            tool_giving(calls, "person", {"name": "x"}, labels=["pii"]),
            tool_giving(calls, "elsewhere", {"a": 1}, leaves=True),
        ]
        script = {at("a"): [{"call": "person"}, {"call": "crm"}, {"call": "mail"}, {"call": "elsewhere"},
                            {"finish": "s"}]}  # fmt: skip
        declared = {"pii": DeclaredLabel("pii", frozenset({"tool:crm", "acme/platform"}))}
        spec = spec_of("a", "acme/platform", tools=("crm", "mail", "person", "elsewhere"))
        async with world(tmp_path, script, [spec], tools=tools, labels=declared) as runtime:
            expected = {
                "person": "allow",
                "crm": "allow",
                "mail": "deny",
                "elsewhere": "deny",
                "finish": "allow",
            }
            for released, mail in (((), "deny"), ([("pii", "tool:mail")], "allow"), ((), "deny")):
                state = await go_through(runtime, at("a"), "x", released=released)
                assert state.labels == {"pii", OWN}
                found = {
                    item["tool"]: item["verdict"] for item in await trail(runtime, state.id, "tool.judged")
                }
                assert found == {**expected, "mail": mail}
                assert state.opening.get("released", []) == [list(pair) for pair in released]
            assert (calls.of("crm"), calls.of("mail"), calls.of("elsewhere")) == (3, 1, 0)

    play(story())


@pytest.mark.rule("SC-8", "EV-4")
def test_an_event_does_not_carry_a_label_to_who_is_no_receiver(tmp_path):
    async def story():
        calls = Calls()
        declared = {"pii": DeclaredLabel("pii", frozenset({"acme/platform"}))}
        script = {at("source"): [{"call": "person"}, {"finish": {"summary": "s", "artifacts": {"report": "r"}}}],
                  "*": [{"text": "ok"}]}  # fmt: skip
        emission = Emission("done", "c", ("report",))
        specs = [
            spec_of("source", tools=("person",), emits=[emission]),
            spec_of("near", starts_on=["done"]),
            spec_of("wide", "acme", starts_on=["done"]),
        ]
        tools = [tool_giving(calls, "person", {"name": "x"}, labels=["pii"])]
        async with world(tmp_path, script, specs, tools=tools, labels=declared) as runtime:
            await go_through(runtime, at("source"), "go")
            assert len(await runs_of(runtime, at("near"))) == 1
            assert await runs_of(runtime, "wide@acme") == []
            state = await go_through(runtime, at("source"), "go", released=[("pii", "acme")])
            (wide,) = await runs_of(runtime, "wide@acme")
            opening = (await trail(runtime, wide))[0]
            assert "pii" in opening["labels"]
            assert "released" not in opening
            assert state.status == "finished"

    play(story())


@pytest.mark.rule("SC-4")
@pytest.mark.fault("F13")
def test_two_runs_of_one_version_at_once_share_no_label_no_handle_and_no_call(tmp_path):
    async def story():
        calls = Calls()
        tools = [tool_giving(calls, "inbox", {"body": "hello"}, labels=["untrusted"])]

        def step(number):
            def answer(request):
                tainted = "tainted" in request.messages[0].text
                if number == 1 and tainted:
                    return {"call": "inbox"}
                return {"call": "save_artifact", "with": {"content": request.messages[0].text}}

            return answer

        script = {at("a"): [step(1), step(2), {"finish": "done"}]}
        async with (
            world(tmp_path, script, [spec_of("a", tools=("inbox",))], tools=tools) as runtime,
            runtime.worker() as worker,
        ):
            names = [
                await runtime.open_run(at("a"), "maria", text, worker=worker)
                for text in ("tainted", "clean") * 20
            ]
            await worker.idle()
            for index, name in enumerate(names):
                state = await runtime.run(name)
                assert state.labels == ({OWN, "untrusted"} if index % 2 == 0 else {OWN})
                ids = {item["call"] for item in await trail(runtime, name, "tool.judged")}
                assert ids == {"call_1_0", "call_2_0", "call_3_0"}
                assert all(
                    ("untrusted" in item["labels"]) == (index % 2 == 0) for item in state.artifacts.values()
                )

    play(story())
