"""A channel: counted for a task and for what is published, with what a coordinator saves and one more agent costs."""

import pytest

from interlock.agent.spec import Emission
from interlock.catalogue import LANGUAGES, say
from interlock.message.channel import as_mermaid, channels_declared, channels_used, saving
from interlock.run.exchange import read_exchange
from interlock.run.publishing import wiring_of
from interlock.scope.scope import Scope
from tests.message.scene import agent, handing, to
from tests.run.scene import at, go_through, play, spec_of
from tests.world import world

NAMES = ("a", "b", "c", "d")


def mesh():
    """Four agents that may all write to each other."""
    return [agent(name, sends=[other for other in NAMES if other != name]) for name in NAMES]


@pytest.mark.rule("MS-10")
def test_channels_are_counted_and_a_coordinator_saves_most_of_them():
    found = channels_declared(mesh())
    assert len(found) == 6
    assert {channel.kinds["message"] for channel in found} == {2}, "each may write to the other"
    save = saving(found)
    assert (save.participants, save.now, save.through_one, save.saved) == (4, 6, 3, 3)
    outside = saving(found, "hub@acme/platform")
    assert (outside.through_one, outside.saved) == (4, 2), "somebody new is one channel more"
    star = channels_declared([agent("a", sends=["b", "c", "d"]), *(agent(name) for name in "bcd")])
    assert saving(star).saved == 0
    assert channels_declared([]) == []
    drawn = as_mermaid(found)
    assert drawn.startswith("graph LR")
    assert drawn.count("---") == 6


@pytest.mark.rule("MS-10")
def test_events_and_hand_offs_are_channels_too():
    source = spec_of("a", emits=[Emission("done", "work", ("report",))], hands_to=to("c"))
    found = channels_declared(
        [source, spec_of("b", starts_on=["done"]), spec_of("c"), spec_of("d", starts_on=["other"])]
    )
    assert [(channel.one, channel.other, channel.kinds) for channel in found] == [
        (at("a"), at("b"), {"event": 1}),
        (at("a"), at("c"), {"hand_off": 1}),
    ]
    narrow = spec_of(
        "a", emits=[Emission("done", "work", ("report",), (Scope("acme/finance"),))], sends_to=to("a")
    )
    assert channels_declared([narrow, spec_of("b", starts_on=["done"])]) == [], "nobody has one to themselves"


@pytest.mark.rule("MS-10")
def test_the_channels_that_a_task_used_are_those_of_its_exchange(tmp_path):
    async def story():
        ask = {"call": "ask", "with": {"to": at("b"), "text": "?"}}
        script = {at("a"): [ask, ask, handing("c")], "*": [{"finish": "ok"}]}
        specs = [agent("a", sends=["b", "d"], hands=["c"]), agent("b"), agent("c"), agent("d")]
        async with world(tmp_path, script, specs) as runtime:
            state = await go_through(runtime, at("a"), "go")
            steps, _ = await read_exchange(runtime.installation, state.root_task)
            found = {(channel.one, channel.other): channel.kinds for channel in channels_used(steps)}
            assert found == {(at("a"), at("b")): {"message": 4}, (at("a"), at("c")): {"hand_off": 1}}
            declared = channels_declared((await wiring_of(runtime.installation)).agents.values())
            assert len(declared) == 3, "what is published allows one more"

    play(story())


@pytest.mark.rule("MS-13", "LP-7")
def test_publishing_tells_what_one_more_agent_costs_and_warns_of_recipients(tmp_path):
    async def story():
        async with world(
            tmp_path, {}, [agent("a", hands=["d"], sends=["d"]), agent("b"), agent("e", accepts=())]
        ) as runtime:
            more = agent("d", sends=["b", "missing", "e"], hands=["b"], instructions="word " * 400)
            published = await runtime.publish(more, "maria")
            cost = {text["id"]: text["with"] for text in published.cost}
            assert cost["channel.cost_channels"]["count"] == 4
            assert cost["channel.cost_channels"]["whom"] == sorted([at("a"), at("b"), at("e"), at("missing")])
            assert cost["channel.cost_tokens"]["prompt"] >= 500
            assert cost["channel.cost_tokens"]["tools"] > 100
            assert cost["channel.cost_hand_offs"] == {"into": 1, "out": 1}
            warned = {
                text["id"]: text["with"]["to"]
                for text in published.warnings
                if text["id"].startswith("channel.")
            }
            assert warned == {"channel.no_such_agent": at("missing"), "channel.accepts_nothing": at("e")}
            for language in LANGUAGES:
                assert all("{" not in say(text, language) for text in published.cost)
            again = await runtime.publish(more, "maria")
            assert (again.new, again.cost) == (False, ())

    play(story())
