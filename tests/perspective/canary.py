"""Canaries: words that stand nowhere else, each with whose they are, who could observe them, and who was told them."""

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

__all__ = ["Audience", "Canaries", "Canary", "Person"]

Person = str
"""Somebody as one connector knows them: `chat:c1`."""
Audience = frozenset[Person]

WORD = re.compile(r"zq[a-z0-9]{8}")


@dataclass(slots=True)
class Canary:
    """A word with what is known of it.

    kind: which table or text holds it. owner: the agent whose it is. audiences: who could observe what it was made of;
    it may go where each of them allows it. told: the agents who got it by a message, an event or a conversation.
    place: the run, or the node, that alone may be shown it, where it is so.
    """

    word: str
    kind: str
    owner: str
    audiences: frozenset[Audience] = frozenset()
    told: set[str] = field(default_factory=set)
    place: str = ""

    def known_to(self, agent: str) -> bool:
        """Tell whether an agent may be shown it at all."""
        return agent == self.owner or agent in self.told

    def outsider(self, room: Iterable[Person], same: Callable[[Person], Audience]) -> Person | None:
        """Give somebody in a room who could not have observed it; `same` gives who somebody is elsewhere."""
        for audience in self.audiences:
            for person in room:
                if audience.isdisjoint(same(person)):
                    return person
        return None


class Canaries:
    """All canaries of one hunt."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(f"canaries {seed}")
        self.by_word: dict[str, Canary] = {}

    def plant(self, kind: str, owner: str, audiences: Iterable[Audience] = (), place: str = "") -> Canary:
        """Make a new one."""
        letters = "abcdefghijklmnopqrstuvwxyz0123456789"
        word = "zq" + "".join(self._chance.choices(letters, k=8))
        canary = self.by_word[word] = Canary(word, kind, owner, frozenset(audiences), set(), place)
        return canary

    def seen_in(self, text: str) -> list[Canary]:
        """Give those that stand in a text."""
        return [self.by_word[word] for word in dict.fromkeys(WORD.findall(text)) if word in self.by_word]
