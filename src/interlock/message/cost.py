"""A cost: what one more agent adds: channels, what each of its prompts begins with, hand-offs on its paths (MS-13).

Tokens are an estimate: a token for each four bytes of UTF-8, rounded up, which is near the truth for English and too
much for none of the usual scripts. What a provider really counts stands in the usage of each answer.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.agent.wiring import Wired, Wiring, heard_places, lets_out
from interlock.catalogue import Text
from interlock.message.channel import declared_by, is_readable
from interlock.message.entry import name_of
from interlock.message.task import is_people
from interlock.scope.scope import INSTALLATION, Address, Scope

__all__ = ["cost_of_one_more", "tokens_of", "unknown_recipients"]

BYTES_PER_TOKEN = 4
NAMED = 10
"""How many new channels are named; the rest is counted."""


def tokens_of(size: int) -> int:
    """Give about how many tokens a text of so many bytes is."""
    return -(-size // BYTES_PER_TOKEN)


def cost_of_one_more(
    spec: Spec,
    wiring: Wiring,
    before: Wiring,
    prompt: str,
    tools: Sequence[Any],
    readable: Collection[Scope] = (INSTALLATION,),
    limit: int = 8,
) -> tuple[Text, ...]:
    """Give what publishing a version costs.

    wiring: all agents as they will stand, with it; before: as they stand without it. prompt, tools: what its prompts
    begin with, as text and as JSON values; a function has neither. readable: the scopes whose agents the reader may
    read; others go unnamed (LP-4). limit: how many hops a chain may have, beyond which no path is followed.
    """
    return (
        _channels(spec, wiring, before, readable),
        *_tokens(spec, prompt, tools),
        *_hand_offs(spec, wiring, limit),
    )


def _channels(spec: Spec, wiring: Wiring, before: Wiring, readable: Collection[Scope]) -> Text:
    new = sorted(_partners(spec.address, wiring) - _partners(spec.address, before))
    if not new:
        return Text("channel.cost_no_channels")
    shown: list[Any] = [name_of(other) for other in new if _is_known(other, spec, readable)]
    shown += [Text("loop.outside")] * (len(new) - len(shown))
    if len(shown) > NAMED:
        shown[NAMED:] = [Text("channel.and_more", count=len(shown) - NAMED)]
    return Text("channel.cost_channels", count=len(new), whom=shown)


def _is_known(other: Address, spec: Spec, readable: Collection[Scope]) -> bool:
    return other.scope == spec.address.scope or is_readable(other, readable)


def _partners(address: Address, wiring: Wiring) -> set[Address]:
    """Give with whom an agent has a channel, in either direction; with nobody as long as it is not published."""
    agent = wiring.agents.get(address)
    if agent is None:
        return set()
    found = {
        other.address for other in wiring.agents.values() if address in (*other.sends_to, *other.hands_to)
    }
    found.update(other for other, _ in declared_by(agent, wiring))
    found.update(_heard(agent, wiring))
    return found - {address}


def _heard(agent: Wired, wiring: Wiring) -> Iterator[Address]:
    for trigger in agent.starts_on:
        for place in heard_places(trigger, agent.address.scope):
            for source, to in wiring.emitters(trigger.event, place):
                if lets_out(to, agent.address.scope):
                    yield source


def _tokens(spec: Spec, prompt: str, tools: Sequence[Any]) -> Iterator[Text]:
    if spec.function is not None:
        return
    shown = sum(len(canonical.encode(tool)) for tool in tools)
    size = len(prompt.encode(errors="replace"))
    yield Text("channel.cost_tokens", prompt=tokens_of(size), tools=tokens_of(shown))


def _hand_offs(spec: Spec, wiring: Wiring, limit: int) -> Iterator[Text]:
    """A path is a task handed on from agent to agent; the longest one through the agent is followed up to `limit`."""
    to: dict[str, list[str]] = {}
    into: dict[str, list[str]] = {}
    for agent in wiring.agents.values():
        for other in dict.fromkeys(agent.hands_to):
            if other != agent.address:
                to.setdefault(agent.address, []).append(other)
                into.setdefault(other, []).append(agent.address)
    own = spec.address
    if own not in to and own not in into:
        return
    longest = _steps(own, into, limit) + _steps(own, to, limit)
    counts = {"into": len(into.get(own, ())), "out": len(to.get(own, ()))}
    yield Text("channel.cost_hand_offs", **counts)
    if longest < limit:
        yield Text("channel.cost_path", longest=longest)
    else:
        yield Text("channel.cost_path_limit", limit=limit)


def _steps(own: str, edges: Mapping[str, Iterable[str]], limit: int) -> int:
    """Give how many steps one can go from an agent without coming back to it, at most `limit`."""
    reached, count = {own}, 0
    while count < limit:
        reached = {other for one in reached for other in edges.get(one, ())} - {own}
        if not reached:
            break
        count += 1
    return count


def unknown_recipients(
    spec: Spec, wiring: Wiring, readable: Collection[Scope] = (INSTALLATION,)
) -> Iterator[Text]:
    """Warn of recipients that are not there, and of those that start on no message; of who is outside the reader's
    access nothing is told but that it was not looked at."""
    for to in dict.fromkeys((*spec.sends_to, *spec.hands_to)):
        if is_people(to) or to == spec.address:
            continue
        other = wiring.agents.get(to)
        if not _is_known(to, spec, readable):
            yield Text("channel.not_checked", to=to)
        elif other is None:
            yield Text("channel.no_such_agent", to=to)
        elif to in spec.sends_to and not other.accepts:
            yield Text("channel.accepts_nothing", to=to)
