"""The wiring of an installation: which published agents emit an event, and which hear it (EV-1, EV-4).

A trigger hears from *places*. Under `from:` these are the scopes it lists; without it, its own company.
An emission is found under the places that reach its source: the installation, the company, the area. So
"who hears this event" is a look-up of at most three lists, whatever the number of agents.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from interlock.agent.spec import Emission, Trigger
from interlock.scope.scope import INSTALLATION, Address, Scope

__all__ = ["Graph", "Wired", "Wiring", "heard_places", "hears", "lets_out", "source_places"]

INSTALLATION_ALONE = "=*"
"""The place of a trigger of the installation's own company, which is `*` itself and nothing below it."""


def source_places(source: Scope) -> tuple[str, ...]:
    """Give the places under which what an agent of scope `source` emits is found."""
    if source == INSTALLATION:
        return (INSTALLATION, INSTALLATION_ALONE)
    return (INSTALLATION, source) if "/" not in source else (INSTALLATION, source.company, source)


def heard_places(trigger: Trigger, listener: Scope) -> tuple[str, ...]:
    """Give the places from which `trigger` of an agent in scope `listener` hears."""
    if trigger.heard_from:
        return trigger.heard_from
    return (INSTALLATION_ALONE,) if listener == INSTALLATION else (listener.company,)


def lets_out(to: tuple[Scope, ...], listener: Scope) -> bool:
    """Tell whether an emission's `to:` lets an agent in scope `listener` hear it; an empty one lets all."""
    return not to or any(scope.reaches(listener) for scope in to)


def hears(trigger: Trigger, listener: Address, emission: Emission, source: Address) -> bool:
    """Tell whether `from:` and `to:` both let the event through; the barrier is another question (EV-4)."""
    return (
        trigger.event == emission.event
        and not set(source_places(source.scope)).isdisjoint(heard_places(trigger, listener.scope))
        and lets_out(emission.to, listener.scope)
    )


class Wired(Protocol):
    """What the wiring needs to know of a published version; a `Spec` has it."""

    @property
    def address(self) -> Address:
        """The agent's address."""
        ...

    @property
    def starts_on(self) -> tuple[Trigger, ...]:
        """The events that start it."""
        ...

    @property
    def emits(self) -> tuple[Emission, ...]:
        """The events it emits."""
        ...

    @property
    def sends_to(self) -> tuple[Address, ...]:
        """Whom it may write to."""
        ...

    @property
    def hands_to(self) -> tuple[Address, ...]:
        """Whom it may hand tasks to."""
        ...

    @property
    def accepts(self) -> tuple[str, ...]:
        """The types of messages that start it."""
        ...


class Graph(Protocol):
    """The wiring as a search reads it. The order of each answer must not change between calls."""

    def emissions(self, agent: Address) -> Iterable[Emission]:
        """Give what the agent's current version emits."""
        ...

    def triggers(self, agent: Address) -> Iterable[Trigger]:
        """Give what starts the agent's current version."""
        ...

    def listeners(self, event: str, place: str) -> Collection[Address]:
        """Give the agents with a trigger for `event` that has `place` among its `heard_places`."""
        ...

    def emitters(self, event: str, place: str) -> Collection[tuple[Address, tuple[Scope, ...]]]:
        """Give the agents that emit `event` with `place` among their `source_places`, and their `to:`."""
        ...


class Wiring:
    """The wiring in memory, of all current versions. Of two with one address the last counts."""

    def __init__(self, agents: Iterable[Wired]) -> None:
        by_address = {agent.address: agent for agent in agents}
        self.agents: Mapping[Address, Wired] = dict(sorted(by_address.items()))
        self._listeners: dict[tuple[str, str], list[Address]] = {}
        self._emitters: dict[tuple[str, str], list[tuple[Address, tuple[Scope, ...]]]] = {}
        for address, agent in self.agents.items():
            self._add(address, agent)

    def _add(self, address: Address, agent: Wired) -> None:
        scope = address.scope
        for trigger in agent.starts_on:
            for place in heard_places(trigger, scope):
                self._listeners.setdefault((trigger.event, place), []).append(address)
        places = source_places(scope)
        for emission in agent.emits:
            for place in places:
                self._emitters.setdefault((emission.event, place), []).append((address, emission.to))

    def emissions(self, agent: Address) -> tuple[Emission, ...]:
        """Give what the agent emits; nothing for one that is not published."""
        found = self.agents.get(agent)
        return found.emits if found else ()

    def triggers(self, agent: Address) -> tuple[Trigger, ...]:
        """Give what starts the agent; nothing for one that is not published."""
        found = self.agents.get(agent)
        return found.starts_on if found else ()

    def listeners(self, event: str, place: str) -> Collection[Address]:
        """Give the agents that hear `event` from `place`, by address."""
        return self._listeners.get((event, place), ())

    def emitters(self, event: str, place: str) -> Collection[tuple[Address, tuple[Scope, ...]]]:
        """Give the agents that emit `event` under `place`, by address, with their `to:`."""
        return self._emitters.get((event, place), ())
