"""An observation: a message of the outside world, as a connector brings it in (UI-5)."""

from dataclasses import dataclass

__all__ = ["Observation", "Person"]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody outside: what the connector calls them, and a name that people would."""

    external: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """One message in one thread.

    external: what the outside calls the message; the same one brought twice is one. thread: what it calls the
    conversation. sender: who wrote it. room: everybody who can read it, the sender too; None where the outside does not
    say, which leaves who was known to be there. at: when, in milliseconds since the Unix epoch. own: the id of a
    message event that an agent sent out, where the outside gives it back.
    """

    external: str
    thread: str
    sender: Person
    text: str
    at: int
    room: tuple[Person, ...] | None = None
    own: str | None = None
