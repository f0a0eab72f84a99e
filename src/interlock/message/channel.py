"""A channel: two who talk to each other, by messages, hand-offs or events (MS-10), and what one more agent costs
(MS-13).

Agents that all talk to each other need up to n(n-1)/2 channels; through a coordinator, each other one needs a single
channel to it. What is counted here says which of the two an installation is nearer to.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.agent.wiring import Wired, hears
from interlock.catalogue import Text
from interlock.ledger.step import Step
from interlock.message.task import is_people
from interlock.scope.scope import Address

__all__ = [
    "Channel",
    "Saving",
    "as_mermaid",
    "channels_declared",
    "channels_used",
    "cost_of_one_more",
    "saving",
    "unknown_recipients",
]

BYTES_PER_TOKEN = 4
"""A rough rule for English text; what a provider counts is in each run's usage."""
HEARD = 1000
"""More agents that hear or emit one event are not looked at to tell a cost."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Channel:
    """Two who talk, in the order of their names, and how often, by kind: `message`, `hand_off`, `event`."""

    one: str
    other: str
    kinds: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Give it for programs."""
        return {"between": [self.one, self.other], "kinds": dict(self.kinds)}


@dataclass(frozen=True, slots=True)
class Saving:
    """What a coordinator would save. participants: who talks at all. now: the channels there are. through_one: how many
    there would be if all talk went through `coordinator`, one of them, or somebody new where it is empty."""

    participants: int
    now: int
    through_one: int
    coordinator: str = ""

    @property
    def saved(self) -> int:
        """How many channels fewer; below nought where a coordinator would add some."""
        return self.now - self.through_one


def channels_used(steps: Sequence[Step]) -> list[Channel]:
    """Give the channels that an exchange used. Who sends is read from the steps, which no agent writes."""
    found: dict[Pair, Counter[str]] = {}
    owners: dict[str, str] = {}
    for step in steps:
        body = step.body
        match step.kind:
            case "task.opened":
                owners[body["run"]] = body["owner"]
                source = owners.get(body["by"].get("run", ""))
                if body["by"]["kind"] == "event" and source:
                    _count(found, source, body["owner"], "event")
            case "message.sent" if body["from"] != "platform":
                _count(found, body["from"], body["to"], "message")
            case "task.handed_over":
                owners[body["run"]] = body["to"]
                _count(found, body["from"], body["to"], "hand_off")
            case "task.queued" if "package" in body:
                _count(found, body["from"], body["owner"], "hand_off")
            case "question.asked" if body["kind"] == "question":
                _count(found, body["agent"], f"people@{body['scope']}", "message")
    return _channels(found)


def channels_declared(agents: Iterable[Wired]) -> list[Channel]:
    """Give the channels that the published agents may use: whom each may write and hand over to, and who hears whom."""
    known = list(agents)
    found: dict[Pair, Counter[str]] = {}
    for agent in known:
        for one, other, kind in _declared_by(agent, known):
            _count(found, one, other, kind)
    return _channels(found)


def _declared_by(agent: Wired, known: Iterable[Wired]) -> Iterator[tuple[str, str, str]]:
    for other in agent.sends_to:
        yield agent.address, other, "message"
    for other in agent.hands_to:
        yield agent.address, other, "hand_off"
    if agent.emits:
        for listener in known:
            if listener.address != agent.address and _hears(listener, agent):
                yield agent.address, listener.address, "event"


def _hears(listener: Wired, source: Wired) -> bool:
    return any(
        hears(trigger, listener.address, emission, source.address)
        for emission in source.emits
        for trigger in listener.starts_on
    )


def _count(found: dict[Pair, Counter[str]], one: str, other: str, kind: str) -> None:
    pair = (one, other) if one <= other else (other, one)
    found.setdefault(pair, Counter())[kind] += 1


def _channels(found: Mapping[Pair, Counter[str]]) -> list[Channel]:
    return [Channel(one, other, dict(sorted(kinds.items()))) for (one, other), kinds in sorted(found.items())]


def saving(channels: Sequence[Channel], coordinator: str = "") -> Saving:
    """Give what it would save if all talk went through one: `coordinator`, or the participant with most channels."""
    ends = Counter(end for channel in channels for end in (channel.one, channel.other))
    chosen = coordinator or max(sorted(ends), key=lambda name: ends[name], default="")
    others = len(ends) - (chosen in ends)
    return Saving(len(ends), len(channels), others, chosen)


def as_mermaid(channels: Sequence[Channel]) -> str:
    """Draw channels as a Mermaid graph without directions."""
    names: dict[str, str] = {}
    lines = []
    for channel in channels:
        one, other = (names.setdefault(end, f"n{len(names) + 1}") for end in (channel.one, channel.other))
        kinds = ", ".join(f"{kind} {count}" for kind, count in channel.kinds.items())
        lines.append(f'  {one} ---|"{kinds}"| {other}')
    declared = [f'  {key}["{_escaped(name)}"]' for name, key in names.items()]
    return "\n".join(["graph LR", *declared, *lines]) + "\n"


def _escaped(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "@/-_.* " else f"#{ord(sign)};" for sign in name)


def cost_of_one_more(
    spec: Spec, prompt: str, tools: Sequence[Any], agents: Mapping[Address, Wired]
) -> tuple[Text, ...]:
    """Give what publishing a version adds: channels, what each of its prompts begins with, and hand-offs on the
    paths it
    joins. `agents` are the published ones as they stand without it; `prompt` and `tools` are what its prompts begin
    with.
    """
    before = agents.get(spec.address)
    others = [agent for address, agent in agents.items() if address != spec.address]
    new = _pairs_of(spec, others) - (_pairs_of(before, others) if before is not None else set())
    into = sum(spec.address in agent.hands_to for agent in others)
    texts = [Text("channel.cost_channels", count=len(new), whom=sorted({other for _, other in new}))]
    if spec.function is None:
        size = len(prompt.encode(errors="replace"))
        shown = sum(len(canonical.encode(tool)) for tool in tools)
        tokens = {"prompt": -(-size // BYTES_PER_TOKEN), "tools": -(-shown // BYTES_PER_TOKEN)}
        texts.append(Text("channel.cost_tokens", **tokens))
    if into or spec.hands_to:
        texts.append(Text("channel.cost_hand_offs", into=into, out=len(spec.hands_to)))
    return tuple(texts)


def _pairs_of(agent: Wired, others: Sequence[Wired]) -> set[Pair]:
    """The channels of one agent, each as the agent and the other end."""
    found = {(agent.address, other) for _, other, _ in _declared_by(agent, others[:HEARD])}
    for other in others:
        if agent.address in other.sends_to or agent.address in other.hands_to:
            found.add((agent.address, other.address))
    found |= {
        (agent.address, other.address) for other in others[:HEARD] if other.emits and _hears(agent, other)
    }
    return {(str(one), str(other)) for one, other in found}


def unknown_recipients(spec: Spec, agents: Mapping[Address, Wired]) -> Iterator[Text]:
    """Warn of recipients that are not there, and of those that start on no message."""
    for to in dict.fromkeys((*spec.sends_to, *spec.hands_to)):
        if is_people(to):
            continue
        other = agents.get(to)
        if other is None and to != spec.address:
            yield Text("channel.no_such_agent", to=to)
        elif other is not None and to in spec.sends_to and not other.accepts:
            yield Text("channel.accepts_nothing", to=to)
