"""The cost of one more agent: channels, tokens and hand-offs, without the names of who is not to be read."""

import pytest

from interlock.agent.spec import Spec
from interlock.agent.wiring import Wiring
from interlock.catalogue import LANGUAGES, Text, say
from interlock.message.channel import channels_declared, readable_channels, saving
from interlock.message.cost import cost_of_one_more, tokens_of, unknown_recipients
from interlock.scope.scope import Scope
from tests.message.scene import agent
from tests.run.scene import at, spec_of

FINANCE, MINE = "acme/finance", (Scope("acme/platform"),)


def cost(spec: Spec, others: list[Spec], before: Spec | None = None, **more) -> dict[str, dict]:
    """Give the cost of a version beside others, by message."""
    was = [*others, *([before] if before else [])]
    told = cost_of_one_more(spec, Wiring([*was, spec]), Wiring(was), **{"prompt": "", "tools": (), **more})
    assert all("{" not in say(text, language) for text in told for language in LANGUAGES)
    return {text["id"].removeprefix("channel.cost_"): text.get("with", {}) for text in told}


@pytest.mark.rule("MS-13")
def test_channels_are_added_in_every_way_in_which_agents_reach_each_other():
    others = [
        agent("writes", sends=["new"]),
        agent("hands", hands=["new"]),
        spec_of("emits", emits=["work.done"]),
        spec_of("hears", starts_on=["new.done"]),
        spec_of("elsewhere", "globex/platform", starts_on=["new.done"], emits=["work.done"]),
        agent("apart"),
    ]
    new = agent("new", sends=["read", "writes"], hands=["hands"], starts_on=["work.done"], emits=["new.done"])
    found = cost(new, others)["channels"]
    wanted = ["emits", "hands", "hears", "read", "writes"]
    assert found == {"count": 5, "whom": [at(name) for name in wanted]}, "each pair once"
    assert "no_channels" in cost(agent("new"), others[2:])


@pytest.mark.rule("MS-13")
def test_of_a_further_version_only_what_is_new_is_counted():
    others = [agent("a"), agent("b")]
    before = agent("new", sends=["a"])
    assert cost(agent("new", sends=["a", "b"]), others, before)["channels"] == {"count": 1, "whom": [at("b")]}
    assert "no_channels" in cost(agent("new", hands=["a"]), others, before), (
        "a channel is a pair, whatever goes over it"
    )


@pytest.mark.rule("MS-13")
def test_agents_published_together_count_their_channels_to_each_other():
    one, other = agent("one", sends=["other"]), agent("other")
    wiring = Wiring([one, other])
    for spec in (one, other):
        told = cost_of_one_more(spec, wiring, Wiring([]), "", ())
        assert told[0]["with"]["count"] == 1, spec.address


@pytest.mark.rule("MS-13", "LP-4", "UI-3")
def test_who_is_outside_the_readers_access_is_counted_and_not_named():
    others = [agent("spy", scope=FINANCE, hands=["new@acme/platform"]), agent("b")]
    new = agent("new", sends=["b", "spy@acme/finance"])
    found = cost(new, others, readable=MINE)["channels"]
    assert found == {"count": 2, "whom": [at("b"), Text("loop.outside")]}
    assert "spy" in str(cost(new, others)["channels"])
    told = list(unknown_recipients(new, Wiring(others), MINE))
    assert [text["id"] for text in told] == ["channel.not_checked"], "not even whether it is there"
    absent = list(unknown_recipients(new, Wiring(others[1:]), MINE))
    assert absent == told
    assert list(unknown_recipients(new, Wiring(others))) == []


@pytest.mark.rule("MS-10", "LP-4", "UI-3")
def test_channels_of_others_go_without_their_names():
    agents = [
        agent("a", sends=["z@acme/finance", "y@acme/finance", "b"]),
        agent("b", sends=["z@acme/finance"]),
        agent("z", scope=FINANCE, sends=["y@acme/finance", "people@acme/finance"]),
        agent("y", scope=FINANCE),
    ]
    channels = channels_declared(agents)
    assert readable_channels(channels, (Scope("*"),)) == channels
    found = readable_channels(channels, MINE)
    assert "finance" not in str(found)
    ends = [(channel.one, channel.other) for channel in found]
    assert ends == [
        (at("a"), at("b")),
        (at("a"), "outside:1"),
        (at("a"), "outside:2"),
        (at("b"), "outside:2"),
    ]
    assert saving(found).participants == 4, "told apart, and not counted as one"
    assert len(found) == 4, "what others say among themselves is theirs"


@pytest.mark.rule("MS-13")
def test_what_prompts_begin_with_is_counted_in_tokens_by_the_stated_rule():
    assert [tokens_of(size) for size in (0, 1, 4, 5)] == [0, 1, 1, 2]
    tools = [["look", "Look.", {"type": "object"}]]
    size = len('["look","Look.",{"type":"object"}]')
    found = cost(agent("new"), [], prompt="é" * 6, tools=tools)["tokens"]
    assert found == {"prompt": 3, "tools": tokens_of(size)}
    assert "tokens" not in cost(spec_of("new", function="m:f"), []), "a function has no prompt"


@pytest.mark.rule("MS-13")
def test_hand_offs_are_counted_along_the_longest_path():
    chain = [
        agent("a", hands=["b"]),
        agent("b", hands=["new"]),
        agent("x", hands=["new"]),
        agent("c", hands=["d"]),
        agent("d"),
    ]
    new = agent("new", hands=["c"])
    found = cost(new, chain)
    assert (found["hand_offs"], found["path"]) == ({"into": 2, "out": 1}, {"longest": 4})
    assert "hand_offs" not in cost(agent("new"), chain[3:]), "on no path"
    back = cost(agent("new", hands=["a"]), [agent("a", hands=["new"])])
    assert back["path"] == {"longest": 2}, "back and forth"
    round_ = [agent("a", hands=["b"]), agent("b", hands=["a", "new"])]
    assert cost(agent("new"), round_, limit=5)["path_limit"] == {"limit": 5}, "others may go round before"
