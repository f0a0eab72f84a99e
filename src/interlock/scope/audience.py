"""An audience: who could observe a piece of data, and so into which rooms it may go (ME-2).

Its members are identities: a connector's name with the keyed digest of what somebody is called there. An audience
travels with data as a label, `audience:<digest>`, so that whatever keeps labels keeps it, too, and nothing can drop
it (SC-4). Data with several such labels may go only where each of them allows it: the narrowest audience of what a
synthesis was made of is that of the synthesis (ME-4).
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping

from interlock.scope.label import AUDIENCE, Labels

__all__ = ["LIMITED", "Room", "audience_label", "audiences_in", "outsider", "shown_labels"]

LIMITED = f"{AUDIENCE}limited"
"""How a prompt shows an audience: that there is one, and nothing by which two agents' prompts could be joined."""

Room = Collection[frozenset[str]]
"""Everybody in a conversation: for each one, the identities under which the perspective knows them."""


def audience_label(members: Iterable[str]) -> str:
    """Give the label of data that these identities could observe. The same identities give the same label."""
    text = "\n".join(sorted(set(members)))
    return f"{AUDIENCE}{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def audiences_in(labels: Iterable[str]) -> Labels:
    """Give those labels that name an audience; where there are none, everybody may have the data."""
    return frozenset(label for label in labels if label.startswith(AUDIENCE))


def shown_labels(labels: Iterable[str]) -> list[str]:
    """Give labels as a prompt shows them, in their order: of audiences only that there is one."""
    return sorted({LIMITED if label.startswith(AUDIENCE) else label for label in labels})


def outsider(
    labels: Iterable[str], room: Room, members: Mapping[str, Collection[str]]
) -> frozenset[str] | None:
    """Give somebody in the room who could not have observed data with these labels; None when everybody could.

    `members` gives the identities of each audience by its label; one that it does not know has none, so that nobody
    may have the data.
    """
    for label in sorted(audiences_in(labels)):
        known = frozenset(members.get(label, ()))
        for person in room:
            if known.isdisjoint(person):
                return person
    return None
