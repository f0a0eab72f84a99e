"""A mapping: from the JSON body of a message to an observation, by the places that the settings name (UI-5)."""

import re
from datetime import datetime
from functools import lru_cache
from typing import Any

from interlock.canonical import parse
from interlock.catalogue import Text
from interlock.connector.observation import Observation, Person
from interlock.errors import InterlockError
from interlock.settings import MessageMapping

__all__ = ["answered_id", "mapped"]

INDEX = re.compile(r"(?:0|[1-9][0-9]{0,8})\Z", re.ASCII)
LATEST = 253_402_300_799_999
"""The last millisecond that RFC 3339 can write."""
WIDEST = 1000
"""How many people a room may list."""
LONGEST_ID = 512


def mapped(body: bytes, mapping: MessageMapping, limit: int, at: int) -> Observation:
    """Give the observation that a body is. `at` is when, in milliseconds since the Unix epoch, where it does not say.

    Raises InterlockError `json.malformed`, `json.too_large`, or `connector.not_mapped` with the field, its place and
    what would be accepted there.
    """
    reading = _Reading(parse(body, "webhook", limit), mapping)
    return Observation(
        external=reading.id("external"),
        thread=reading.id("thread"),
        sender=Person(reading.id("sender"), reading.text("sender_name", "")),
        text=reading.text("text"),
        at=reading.at(at),
        room=reading.room(),
        own=reading.text("own", "") or None,
    )


def answered_id(body: bytes, mapping: MessageMapping) -> str | None:
    """Give what the outside calls a message that it took, by its answer; None where that does not say."""
    try:
        found = _as_id(_found(parse(body, "webhook"), mapping.answer))
        return found if found is not None and len(found.encode()) <= LONGEST_ID else None
    except (InterlockError, UnicodeEncodeError):
        return None


@lru_cache(maxsize=1024)
def _path(place: str) -> tuple[str, ...]:
    """Give the names on the way to a place: of a JSON pointer (RFC 6901), or of names with dots between them."""
    if place.startswith("/"):
        return tuple(name.replace("~1", "/").replace("~0", "~") for name in place[1:].split("/"))
    return tuple(place.split("."))


def _found(value: Any, place: str) -> Any:
    """Give what lies at a place; None where nothing does."""
    for name in _path(place):
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and INDEX.match(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _as_id(value: Any) -> str | None:
    """Give an id as text: some services number what others name."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


class _Reading:
    """Reads one body."""

    def __init__(self, body: Any, mapping: MessageMapping) -> None:
        self._body, self._mapping = body, mapping

    def _at(self, field: str) -> Any:
        return _found(self._body, getattr(self._mapping, field))

    def _refuse(self, field: str, accepted: str) -> InterlockError:
        place = getattr(self._mapping, field)
        return InterlockError("connector.not_mapped", field=field, place=place, accepted=Text(accepted))

    def id(self, field: str) -> str:
        found = _as_id(self._at(field))
        if found is None:
            raise self._refuse(field, "connector.accepts_id")
        return found

    def text(self, field: str, default: str | None = None) -> str:
        found = self._at(field)
        if found is None and default is not None:
            return default
        if not isinstance(found, str):
            raise self._refuse(field, "connector.accepts_text")
        return found

    def at(self, default: int) -> int:
        found = self._at("at")
        if found is None:
            return default
        if isinstance(found, str):
            try:
                moment = datetime.fromisoformat(found)
                found = int(moment.timestamp() * 1000) if moment.tzinfo else None
            except (ValueError, OverflowError):
                found = None
        if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= LATEST:
            raise self._refuse("at", "connector.accepts_time")
        return found

    def room(self) -> tuple[Person, ...] | None:
        found = self._at("room")
        if found is None:
            return None
        if not isinstance(found, list) or len(found) > WIDEST:
            raise self._refuse("room", "connector.accepts_room")
        return tuple(self._member(item) for item in found)

    def _member(self, item: Any) -> Person:
        plain = _as_id(item)
        if plain is not None:
            return Person(plain)
        name = _found(item, self._mapping.member_name)
        known = _as_id(_found(item, self._mapping.member))
        if known is None or not (name is None or isinstance(name, str)):
            raise self._refuse("room", "connector.accepts_room")
        return Person(known, name or "")
