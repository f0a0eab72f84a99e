"""A channel: two who talk to each other, by messages, hand-offs or events, and what a coordinator would save (MS-10).

Agents that all talk to each other need up to n(n-1)/2 channels; through a coordinator, each other one needs a single
channel to it. What is counted here says which of the two an installation is nearer to.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from interlock.agent.wiring import Wired, Wiring, lets_out, source_places
from interlock.catalogue import Text, say
from interlock.ledger.step import Step
from interlock.message.entry import HIDDEN, PLATFORM, name_of
from interlock.message.sequence import as_label
from interlock.message.task import people_of
from interlock.scope.scope import INSTALLATION, Address, Scope

__all__ = [
    "Channel",
    "Saving",
    "as_mermaid",
    "channels_declared",
    "channels_used",
    "declared_by",
    "is_readable",
    "kinds_of",
    "readable_channels",
    "saving",
]

DRAWN, SIZE = 400, 48_000
"""How many channels are drawn, in how many characters; whoever draws Mermaid refuses more than 500 and 50,000."""
NAME = 200
"""How many characters of a name are shown."""

Pair = tuple[str, str]
Say = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Channel:
    """Two who talk, in the order of their names, and how often, by kind: `message`, `hand_off`, `event`. An end is an
    agent's address, `people@<scope>`, `person:<name>`, or `outside:<number>` for who the reader may not read."""

    one: str
    other: str
    kinds: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Give it for programs."""
        return {"between": [self.one, self.other], "kinds": dict(self.kinds)}


@dataclass(frozen=True, slots=True)
class Saving:
    """What a coordinator would save.

    participants: how many talk at all. now: the channels there are. through_one: how many there would be if all talk
    went through `coordinator`, one of them or somebody new: one for each other participant.
    """

    participants: int
    now: int
    through_one: int
    coordinator: str = ""

    @property
    def saved(self) -> int:
        """How many channels fewer; below nought where a coordinator would add some."""
        return self.now - self.through_one


# What was used


def channels_used(steps: Sequence[Step]) -> list[Channel]:
    """Give the channels that an exchange used. Who sends is read from the steps, which no agent writes."""
    found: dict[Pair, Counter[str]] = {}
    agents: dict[str, str] = {}
    for step in steps:
        for one, other, kind in _used(step.kind, step.body, agents):
            _count(found, one, other, kind)
    return _channels(found)


def _used(kind: str, body: dict[str, Any], agents: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Give whom a step brings to talk with whom, and how; `agents` has by run whose it is, as met so far."""
    match kind:
        case "task.opened":
            agents[body["run"]] = body["owner"]
            source = agents.get(body["by"].get("run", ""))
            if body["by"]["kind"] == "event" and source:
                yield source, body["owner"], "event"
        case "message.sent" if body["from"] != PLATFORM:
            yield body["from"], body["to"], "message"
        case "task.handed_over":
            agents[body["run"]] = body["to"]
            yield body["from"], body["to"], "hand_off"
        case "task.queued" if "package" in body:
            yield body["from"], body["owner"], "hand_off"
        case "question.asked" if body["kind"] == "question":
            yield body["agent"], people_of(Scope(body["scope"])), "message"


# What is declared


def channels_declared(agents: Iterable[Wired]) -> list[Channel]:
    """Give the channels that agents may use: whom each may write and hand over to, and who hears whom."""
    wiring = Wiring(agents)
    found: dict[Pair, Counter[str]] = {}
    for agent in wiring.agents.values():
        for other, kind in declared_by(agent, wiring):
            _count(found, agent.address, other, kind)
    return _channels(found)


def declared_by(agent: Wired, wiring: Wiring) -> Iterator[tuple[Address, str]]:
    """Give whom an agent may reach, and how: `message`, `hand_off` or `event`."""
    yield from ((other, "message") for other in agent.sends_to)
    yield from ((other, "hand_off") for other in agent.hands_to)
    scope = agent.address.scope
    for emission in agent.emits:
        hearers = {
            listener
            for place in source_places(scope)
            for listener in wiring.listeners(emission.event, place)
            if listener != agent.address and lets_out(emission.to, listener.scope)
        }
        yield from ((listener, "event") for listener in hearers)


# Both


def _count(found: dict[Pair, Counter[str]], one: str, other: str, kind: str) -> None:
    """Count a talk; nobody has a channel to themselves."""
    if one != other:
        found.setdefault((min(one, other), max(one, other)), Counter())[kind] += 1


def _channels(found: Mapping[Pair, Counter[str]]) -> list[Channel]:
    return [
        Channel(str(one), str(other), dict(sorted(kinds.items())))
        for (one, other), kinds in sorted(found.items())
    ]


def is_readable(party: str, readable: Collection[Scope]) -> bool:
    """Tell whether a reader of the scopes `readable` may know a party; people are known to whoever has the exchange."""
    if INSTALLATION in readable or "@" not in party or ":" in party.partition("@")[0]:
        return True
    return any(scope.reaches(Address(party).scope) for scope in readable)


def readable_channels(channels: Sequence[Channel], readable: Collection[Scope]) -> list[Channel]:
    """Give the channels of which a reader of `readable` may know at least one end (LP-4).

    Another end that they may not know goes without its name, numbered in the order of those who are known, so that the
    numbers say nothing of names.
    """
    known = [
        channel
        if is_readable(channel.one, readable)
        else replace(channel, one=channel.other, other=channel.one)
        for channel in channels
    ]
    known = sorted((item for item in known if is_readable(item.one, readable)), key=lambda item: item.one)
    hidden: dict[str, str] = {}
    return [
        item
        if is_readable(item.other, readable)
        else replace(item, other=hidden.setdefault(item.other, f"{HIDDEN}{len(hidden) + 1}"))
        for item in known
    ]


def saving(channels: Sequence[Channel], coordinator: str = "") -> Saving:
    """Give what it would save if all talk went through one: `coordinator`, or the participant with most channels."""
    ends = Counter(end for channel in channels for end in (channel.one, channel.other))
    chosen = coordinator or max(sorted(ends), key=lambda name: ends[name], default="")
    return Saving(len(ends), len(channels), len(ends) - (chosen in ends), chosen)


def kinds_of(channel: Channel) -> list[Text]:
    """Give how often a channel is used, or may be, a sentence for each kind."""
    return [Text(f"channel.kind_{kind}", count=count) for kind, count in channel.kinds.items()]


def as_mermaid(channels: Sequence[Channel], say: Say = say) -> str:
    """Draw channels as a Mermaid graph without directions; `say` puts messages into the reader's language. Of more than
    can be drawn, the first ones are, and a node says how many are left out."""
    count = DRAWN
    while len(drawn := _drawn(channels, count, say)) > SIZE:
        count //= 2
    return drawn


def _drawn(channels: Sequence[Channel], count: int, say: Say) -> str:
    keys: dict[str, str] = {}
    lines = []
    for channel in channels[:count]:
        one, other = (keys.setdefault(end, f"n{len(keys) + 1}") for end in (channel.one, channel.other))
        kinds = as_label(", ".join(map(say, kinds_of(channel))))
        lines.append(f'  {one} ---|"{kinds}"| {other}')
    nodes = [f'  {key}["{_label(end, say)}"]' for end, key in keys.items()]
    if len(channels) > count:
        note = as_label(say(Text("channel.left_out", count=len(channels) - count)))
        nodes.append(f'  more["{note}"]')
    return "\n".join(["graph LR", *nodes, *lines]) + "\n"


def _label(end: str, say: Say) -> str:
    name = name_of(end)
    return as_label(name if isinstance(name, str) else say(name), NAME)
