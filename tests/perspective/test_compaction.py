"""Compaction: a summary stands for older entries, and loses no pair, source, label or audience."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.connector.model.model import Call
from interlock.connector.model.scripted import ScriptedModel
from interlock.gate.budget import Budget
from interlock.perspective.compaction import compacted_labels, extract, replaceable
from interlock.perspective.fence import Fenced, read_fenced
from interlock.perspective.shown import Shown
from interlock.run.call import CallState
from interlock.run.compacting import standing_of
from interlock.run.run import fold
from interlock.run.work import Work
from interlock.scope.audience import audiences_in
from interlock.settings import CompactionChoice, ModelChoice, Sizes
from interlock.testing.clock import MovableClock
from tests.perspective.test_conversation import ANA, BRUNO, CHAT, said, sees
from tests.run.scene import (
    Calls,
    at,
    drain,
    go_through,
    killing,
    play,
    runs_of,
    spec_of,
    tool_giving,
    trail,
    work_until_killed,
)
from tests.world import sound, steps_of, world

WIDE = Budget(tool_calls=1000, tokens=100_000_000)
LIMIT = 40_000
LABELS = st.frozensets(st.sampled_from(["untrusted", "pii", "area:acme/desk", "audience:" + "0" * 32]))


@st.composite
def conversations(draw):
    """Entries as a run has them: messages, and answers with the results of their calls, some still open."""
    found = []
    count = draw(st.integers(0, 8))
    for number in range(count):
        if draw(st.booleans()):
            text = "h" * draw(st.integers(1, 400))
            found.append(Shown("heard", "user", (Fenced("message", text),), draw(LABELS)))
        calls = tuple(Call(f"{number}-{part}", "look", "{}") for part in range(draw(st.integers(0, 3))))
        found.append(Shown("answer", "assistant", ("a" * draw(st.integers(1, 200)),), calls=calls))
        done = calls[: draw(st.integers(0, len(calls)))] if draw(st.booleans()) else calls
        for call in done:
            text = "r" * draw(st.integers(1, 500))
            found.append(Shown("result", "tool", (Fenced("tool", text),), draw(LABELS), call=call.id))
    return found


@pytest.mark.rule("ME-4")
@pytest.mark.fault("F51")
@given(conversations(), st.integers(100, 4000), st.integers(10, 90))
def test_whole_exchanges_are_replaced_and_never_the_last_nor_an_open_one(entries, limit, percent):
    count = replaceable(entries, limit, percent)
    old, rest = entries[:count], entries[count:]
    called = {call.id for item in old for call in item.calls}
    assert called == {item.call for item in old if item.role == "tool"}, "no call without its result"
    assert not [item for item in rest[:1] if item.role == "tool"]
    if count:
        assert sum(item.size for item in entries) > limit * percent // 100
        assert any(item.kind == "answer" for item in rest)


@pytest.mark.rule("ME-4", "SC-4")
@given(conversations(), LABELS, LABELS)
def test_a_summary_carries_the_labels_and_audiences_of_all_that_it_was_made_of(entries, first, earlier):
    opening = Shown("opening", "user", (), first)
    before = Shown("summary", "user", (Fenced("summary", "x"),), earlier)
    found = compacted_labels(opening, entries, before)
    assert found == first.union(earlier, *(item.labels for item in entries))
    assert compacted_labels(opening, entries, None) >= first


@given(conversations(), st.integers(200, 5000))
def test_an_extract_is_bounded(entries, room):
    assert len(extract(entries, "before " * 100, room)) <= room


def looking(most, calls=None):
    """A model that looks again and again, and keeps what it was asked."""
    seen = []

    def steps(request):
        seen.append(request)
        if request.number < most:
            return {"call": "look", "with": {"n": str(request.number)}}
        return {"finish": "done"}

    tools = [tool_giving(calls or Calls(), "look", lambda n: f"finding-{n} " + "x" * 4_000)]
    return steps, seen, tools


def whole_pairs(request):
    """Tell whether each call of a request has its one result right after it."""
    called = [call.id for item in request.messages for call in item.calls]
    return called == [item.call_id for item in request.messages if item.role == "tool"]


def fences(request, kind):
    """Give the fences of a kind in a request."""
    parts = [part for item in request.messages for part in read_fenced(item.text)]
    return [part for part in parts if isinstance(part, Fenced) and part.kind == kind]


@pytest.mark.rule("ME-4", "PX-6")
def test_without_a_model_role_the_beginnings_of_older_entries_stand_for_them(tmp_path):
    async def story():
        steps, seen, tools = looking(30)
        specs = [spec_of("a", tools=("look",), limits=WIDE)]
        async with world(tmp_path, {"*": steps}, specs, tools=tools, sizes=Sizes(prompt=LIMIT)) as runtime:
            state = await go_through(runtime, at("a"), "the brief")
            assert state.status == "finished", state.reason
            made = await trail(runtime, state.id, "context.compacted")
            assert len(made) > 1 and [body["revision"] for body in made] == list(range(1, len(made) + 1))
            assert all(body["how"] == "extract" for body in made)
            assert [body["first"] for body in made[1:]] == [body["last"] + 1 for body in made[:-1]]
            asked = await trail(runtime, state.id, "model.asked")
            snapshot, _ = await runtime.prompt(state.id, len(asked))
            assert snapshot.about["compaction"] == made[-1]["revision"]
            record = json.loads(await runtime.installation.contents.read(made[-1]["compacted"]))
            assert (
                record["sources"][0]
                == {
                    "kind": "summary",
                    "content": made[-2]["compacted"],
                    "labels": made[-2]["labels"],
                }
                or not made[-2]["labels"]
            )
            results = await trail(runtime, state.id, "tool.answered")
            named = {source.get("content") for source in record["sources"]}
            assert named & {body["result"] for body in results}
            assert await sound(runtime)
        assert all(map(whole_pairs, seen))
        (summary,) = fences(seen[-1], "summary")
        assert "finding-1 " in summary.content or "…" in summary.content
        assert all("the brief" in request.messages[0].text for request in seen)
        assert max(sum(len(item.text) for item in request.messages) for request in seen) <= LIMIT

    play(story())


class Slow(ScriptedModel):
    """A scripted model that waits before it summarises, until it is let."""

    def __init__(self, script):
        super().__init__(script)
        self.began, self.may = asyncio.Event(), asyncio.Event()
        self.summaries = []

    async def ask(self, request, before_send):
        if request.agent.endswith("#compacting"):
            self.summaries.append(request)
            self.began.set()
            await self.may.wait()
        return await super().ask(request, before_send)


@pytest.mark.rule("ME-4", "SC-4", "ME-2")
@pytest.mark.fault("F51")
def test_a_slow_summariser_and_three_quick_messages_make_one_summary_with_all_labels(tmp_path):
    """What is said while the summary is written is not lost, not in it, and not torn from anything."""

    async def story():
        looks, seen, _ = looking(12)

        def steps(request):
            return {"finish": "heard"} if "quick" in request.messages[0].text else looks(request)

        script = {"*": steps, f"{at('a')}#compacting": [{"text": "SUMMARY of it"}]}
        model = Slow(script)
        tools = [tool_giving(Calls(), "look", lambda n: f"finding-{n} " + "x" * 4_000, labels=("untrusted",))]
        specs = [sees("a", tools=("look",), limits=WIDE)]
        settings = {
            "tools": tools,
            "model": model,
            "connectors": CHAT,
            "models": {"default": ModelChoice("scripted"), "writer": ModelChoice("scripted")},
            "sizes": Sizes(prompt=LIMIT),
            "compaction": CompactionChoice("writer", 75),
        }
        async with world(tmp_path, None, specs, **settings) as runtime:
            (opened,) = await runtime.observe("chat", said(1, "look at it", ANA, (ANA, BRUNO)))
            working = asyncio.ensure_future(drain(runtime))
            await model.began.wait()
            for number in range(2, 5):
                await runtime.observe("chat", said(number, f"quick {number}", ANA, (ANA, BRUNO)))
            model.may.set()
            await working
            await drain(runtime)
            state = await runtime.run(opened.run)
            assert state.status == "finished", state.reason
            (made,) = await trail(runtime, opened.run, "context.compacted")
            assert made["how"] == "model" and made["usage"]["tokens"] > 0
            assert audiences_in(made["labels"]) == audiences_in(state.opening["labels"]) != frozenset()
            assert "untrusted" in made["labels"]
            record = json.loads(await runtime.installation.contents.read(made["compacted"]))
            calls = [source["call"] for source in record["sources"] if source["kind"] == "result"]
            answers = [source for source in record["sources"] if source["kind"] == "answer"]
            assert len(calls) == len(answers) and made["last"] == len(record["sources"])
            assert len(model.summaries) == 1 and "quick" not in model.summaries[0].messages[0].text
            later = [run for run in await runs_of(runtime, at("a")) if run != opened.run]
            told = "".join([(await runtime.prompt(run, 1))[0].request.decode() for run in later])
            assert all(f"quick {number}" in told for number in range(2, 5))
            assert await sound(runtime)
        assert all(map(whole_pairs, seen))
        (summary,) = fences(next(item for item in seen if fences(item, "summary")), "summary")
        assert summary.content == "SUMMARY of it"
        assert {"audience:limited", "untrusted"} <= set(summary.labels)

    play(story())


@pytest.mark.rule("ME-4")
@pytest.mark.fault("F51")
def test_open_calls_and_children_under_way_stand_beside_a_summary(tmp_path):
    async def story():
        async with world(tmp_path, {"*": [{"finish": "done"}]}, [spec_of("a")]) as runtime:
            opened = await go_through(runtime, at("a"), "go")
            run = fold(await steps_of(runtime, opened.id), opened.id)
            run.waiting[:] = [CallState("c1", "ask", 1, 0, message="message_1")]
            run.works.append(Work(1, "c0", "", 0, children={"run_2": "reader"}))
            run.given["notes"] = {"name": "notes"}
            standing = standing_of(run)
            assert standing["open_calls"] == [{"call": "c1", "tool": "ask", "waits_for": "message_1"}]
            assert standing["work_under_way"] == [{"revision": 1, "node": "reader"}]
            assert "notes" in standing["artifacts"]

    play(story())


@pytest.mark.rule("ME-4", "RN-6")
def test_a_crash_leaves_prompts_as_they_were_or_with_their_one_summary(tmp_path):
    async def story():
        steps, seen, tools = looking(14)
        specs, clock = [spec_of("a", tools=("look",), limits=WIDE)], MovableClock()
        settings = {"tools": tools, "sizes": Sizes(prompt=LIMIT), "clock": clock}
        async with world(tmp_path, {"*": steps}, specs, **settings) as runtime:
            name = await runtime.open_run(at("a"), "maria", "the brief")
            killing(runtime, lambda point: point == "context.compacted", 1)
            assert await work_until_killed(runtime)
        clock.move(31)
        async with world(tmp_path, {"*": steps}, [], **settings) as runtime:
            await drain(runtime)
            state = await runtime.run(name)
            assert state.status == "finished", state.reason
            made = await trail(runtime, name, "context.compacted")
            assert [body["revision"] for body in made] == list(range(1, len(made) + 1))
            assert await sound(runtime)
        assert all(map(whole_pairs, seen))

    play(story())
