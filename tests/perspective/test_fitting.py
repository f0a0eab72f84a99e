"""What of a prompt is kept within its size limit, and what is left out first."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.perspective.fence import Fenced, read_fenced
from interlock.perspective.fitting import Fit, Piece, fit, groups_of, size_limit
from interlock.settings import ModelChoice, Sizes
from tests.perspective.test_conversation import ANA, BRUNO, CHAT, said, sees
from tests.run.scene import Calls, at, drain, go_through, play, spec_of, tool_giving, trail
from tests.world import sound, world

EARLIER = st.builds(lambda size: Piece("earlier", size), st.integers(1, 300))


@st.composite
def pieces(draw):
    """Things said earlier, and exchanges: an answer with the results of its calls."""
    found = draw(st.lists(EARLIER, max_size=5))
    for group in range(draw(st.integers(0, 6))):
        found.append(Piece("answer", draw(st.integers(1, 100)), f"a{group}", None, group))
        for _ in range(draw(st.integers(0, 3))):
            size = draw(st.integers(1, 500))
            found.append(Piece("result", size, f"r{group}", draw(st.sampled_from([None, 40])), group))
    return found


def size_of(items, found):
    """How much what is kept takes."""
    kept = ((place, item) for place, item in enumerate(items) if place not in found.gone)
    return sum((item.short or 0) if place in found.short else item.size for place, item in kept)


@pytest.mark.rule("PX-6")
@given(pieces(), st.integers(0, 200), st.integers(1, 3000))
def test_what_fits_is_kept_and_what_is_left_out_is_the_least_that_the_priorities_say(items, always, limit):
    groups = groups_of(items)
    kept = frozenset(list(groups)[-1:])
    found = fit(items, always, kept, limit)
    whole = always + sum(item.size for item in items)
    if found is None:
        last = sum(items[place].size for group in kept for place in groups[group])
        assert always + last > limit
        return
    assert always + size_of(items, found) <= limit
    assert (found == Fit()) == (whole <= limit)
    for group, places in groups.items():
        assert len({place in found.gone for place in places}) == 1, "a call is never torn from its result"
        assert group not in kept or not (set(places) & (found.gone | found.short))
    earlier = [place for place, item in enumerate(items) if item.group is None]
    gone = [place for place in earlier if place in found.gone]
    assert gone == earlier[: len(gone)], "the oldest goes first"
    exchanges = [group for group, places in groups.items() if found.gone & set(places)]
    if found.short or exchanges:
        assert gone == earlier, "what was said before the turn goes before anything of the run"
    assert exchanges == list(groups)[: len(exchanges)], "the oldest goes first"
    assert len(found.left_out) == len(found.short) + len(found.gone)


@pytest.mark.rule("PX-6")
def test_a_models_context_bounds_a_prompt_at_three_bytes_a_token():
    assert size_limit(1000, 0, 50) == 1000
    assert size_limit(1000, 150, 50) == 300
    assert size_limit(1000, 10_000, 50) == 1000 and size_limit(1000, 10, 50) == 0


@pytest.mark.rule("PX-6", "PS-1")
def test_a_prompt_stays_within_its_limit_and_its_snapshot_says_what_it_was_not_given(tmp_path):
    """Ten results of 2.5 KB do not fit into 20 KB: pairs stay whole, and all that is missing is named."""
    limit, most = 40_000, 6

    async def story():
        seen = []

        def steps(request):
            seen.append(request)
            calls = [{"call": "look", "with": {"n": f"{request.number}-{part}"}} for part in range(2)]
            return {"calls": calls} if request.number < most else {"finish": "done"}

        look = tool_giving(Calls(), "look", lambda n: f"{n} " + "x" * 2_500)
        settings = {"tools": [look], "sizes": Sizes(prompt=limit)}
        specs = [spec_of("a", tools=("look",), instructions="You look. " * 2_000)]
        async with world(tmp_path, {"*": steps}, specs, **settings) as runtime:
            state = await go_through(runtime, at("a"), "the brief")
            assert state.status == "finished", state.reason
            left = []
            results = await trail(runtime, state.id, "tool.answered")
            assert all("result" in item for item in results), results
            assert not await trail(runtime, state.id, "context.compacted")
            for body in await trail(runtime, state.id, "model.asked"):
                snapshot, _ = await runtime.prompt(state.id, body["n"])
                assert body["bytes"] < limit * 1.4
                left.append(snapshot.about["left_out"])
                assert sum(len(item.text) for item in seen[body["n"] - 1].messages) <= limit - 20_000
                whole = snapshot.request.decode()
                before = [item for item in results if int(item["call"].split("_")[1]) < body["n"]]
                missing = {item["digest"] for item in left[-1] if item["kind"] == "result"}
                for item in before:
                    text = json.loads(await runtime.installation.contents.read(item["result"]))
                    assert (item["result"] in missing) == (text not in whole)
            assert not left[0] and {item["why"] for item in left[-1]} == {"old_result"}
            assert await sound(runtime)
        for request in seen:
            called = [call.id for item in request.messages for call in item.calls]
            assert called == [item.call_id for item in request.messages if item.role == "tool"]
            assert "the brief" in request.messages[0].text

    play(story())


@pytest.mark.rule("PX-6")
def test_what_must_be_there_and_does_not_fit_ends_the_run_saying_so(tmp_path):
    async def story():
        async with world(
            tmp_path, {"*": [{"finish": "done"}]}, [spec_of("a")], sizes=Sizes(prompt=10_000)
        ) as runtime:
            state = await go_through(runtime, at("a"), "x" * 12_000)
            assert state.status == "failed" and state.reason["id"] == "run.prompt_too_large"
            assert state.reason["with"]["limit"] == 10_000 and state.reason["with"]["size"] > 12_000
            assert await trail(runtime, state.id, "model.asked") == []

    play(story())


@pytest.mark.rule("PX-6", "PX-4", "ME-2")
def test_what_was_said_before_a_turn_is_left_out_first_and_each_part_has_its_labels(tmp_path):
    async def story():
        seen = []

        def steps(request):
            seen.append(request.messages[0].text)
            return {"finish": "ok"}

        models = {"default": ModelChoice("scripted")}
        settings = {"connectors": CHAT, "models": models, "sizes": Sizes(prompt=14_000)}
        async with world(tmp_path, {"*": steps}, [sees("a")], **settings) as runtime:
            for number in range(1, 9):
                text = f"word{number} @@@ end " + "x" * 2_000
                (opened,) = await runtime.observe("chat", said(number, text, ANA, (ANA, BRUNO)))
                await drain(runtime)
            run = opened.run
            snapshot, _ = await runtime.prompt(run, 1)
            left = snapshot.about["left_out"]
            assert left and {item["why"] for item in left} == {"earlier"}
            shown = snapshot.about["message_events"]
            turn = (await runtime.run(run)).opening["turn"]
            assert set(turn["events"]) < set(shown) < {*turn["history"], *turn["events"]}
            assert await sound(runtime)
        parts = [part for part in read_fenced(seen[-1]) if isinstance(part, Fenced)]
        assert [part.kind for part in parts] == ["earlier"] * (len(parts) - 1) + ["turn"]
        assert "word1 " not in seen[-1] and "word7 " in seen[-1] and "word8 @@@ end" in parts[-1].content
        assert all(
            part.labels == ("audience:limited", "untrusted") for part in parts if "Ana" in part.content
        )
        assert json.loads(parts[-1].content)["messages"][0]["text"].startswith("word8")

    play(story())
