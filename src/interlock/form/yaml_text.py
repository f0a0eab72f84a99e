"""YAML text: one document that a person wrote, read strictly into plain values that know their place.

Scalars follow the core schema of YAML 1.2.2 (section 10.3.2), so `no` and `on` stay texts. Keys are texts,
exactly as they are written. Tags, doubled keys, a second document and an older YAML version are refused, and
so is what would grow without bound: deep nesting and aliases that repeat too much.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from interlock.errors import InterlockError
from interlock.form.yaml_fault import PARSER_FAULTS, decoded, malformed, named, place_in, yaml_error

__all__ = ["DEPTH", "Mark", "Marked", "Path", "read"]

DEPTH = 64
"""How many lists and mappings may lie inside each other."""

DIGITS = 400
"""How many characters a number may have."""

Path = tuple[str | int, ...]

UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
NULL = re.compile(r"(?:null|Null|NULL|~)?\Z")
BOOLEAN = re.compile(r"(?:(true|True|TRUE)|false|False|FALSE)\Z")
WHOLE = re.compile(r"[-+]?[0-9]+\Z")
BASED = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")


@dataclass(frozen=True, slots=True)
class Mark:
    """A value and where it was written: line and column from 1; likewise what lies inside, and the keys.

    `weight` is its size in characters with all aliases written out, `height` how deep it is in itself.
    """

    value: Any
    line: int
    column: int
    inside: Mapping[str | int, "Mark"] = field(default_factory=dict)
    keys: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    weight: int = 1
    height: int = 0


@dataclass(frozen=True, slots=True)
class Marked:
    """A document that was read: its plain value, and the place of everything in it."""

    file: str
    root: Mark

    @property
    def value(self) -> Any:
        """The document as dicts, lists, texts, numbers, booleans and None."""
        return self.root.value

    def where(self, path: Path) -> tuple[int, int]:
        """Give line and column of the value at `path`; of the nearest thing around it when it is absent."""
        mark = self.root
        for step in path:
            if step not in mark.inside:
                break
            mark = mark.inside[step]
        return mark.line, mark.column

    def where_key(self, path: Path) -> tuple[int, int]:
        """Give line and column of the key that `path` ends with, or what `where` gives when it has none."""
        mark = self.root
        for step in path[:-1]:
            if step not in mark.inside:
                return mark.line, mark.column
            mark = mark.inside[step]
        last = path[-1] if path else None
        return mark.keys[last] if isinstance(last, str) and last in mark.keys else self.where(path)


def read(text: str | bytes, file: str, limit: int) -> Marked:
    """Read one YAML document in UTF-8, at most `limit` bytes; an empty one gives None.

    `file` names it in errors. Any input at all gives a value or an InterlockError of the domain `yaml`, with
    `file`, `line`, `column` and what is wrong.
    """
    source = decoded(text, file, limit)
    found = UNPRINTABLE.search(source)
    if found:
        raise yaml_error("yaml.character", file, place_in(source, found.start()), value=named(found.group()))
    composer = _Composer(YAML(typ="safe", pure=True).parse(source), file, limit)
    try:
        return Marked(file, composer.document())
    except PARSER_FAULTS as fault:
        raise malformed(fault, file, composer.place) from None


class _Composer:
    """The composing of parser events into marks. One serves one document."""

    def __init__(self, events: Iterator[Event], file: str, limit: int) -> None:
        self.place = (1, 1)
        self._events = events
        self._file = file
        self._limit = limit
        self._anchors: dict[str, Mark | None] = {}
        self._repeated = 0

    def document(self) -> Mark:
        self._next()
        first = self._next()
        if isinstance(first, StreamEndEvent):
            return Mark(None, 1, 1)
        if isinstance(first, DocumentStartEvent) and first.version not in {None, (1, 2)}:
            raise self._refusal("yaml.version", value=".".join(map(str, first.version)))
        root = self._node(self._next(), 0)
        while not isinstance(event := self._next(), StreamEndEvent):
            if not isinstance(event, DocumentEndEvent):
                raise self._refusal("yaml.second_document")
        return root

    def _next(self) -> Event:
        event = next(self._events)
        self.place = (event.start_mark.line + 1, event.start_mark.column + 1)
        return event

    def _refusal(self, code: str, place: tuple[int, int] | None = None, **params: Any) -> InterlockError:
        return yaml_error(code, self._file, place or self.place, **params)

    def _node(self, event: Event, depth: int) -> Mark:
        if isinstance(event, AliasEvent):
            return self._alias(event.anchor, depth)
        if depth > DEPTH:
            raise self._refusal("yaml.too_deep", limit=DEPTH)
        if not isinstance(event, NodeEvent):
            raise ValueError("a value is missing")
        self._check_tag(event)
        anchor = event.anchor
        if anchor is not None:
            self._anchors[anchor] = None
        mark = self._content(event, depth)
        if anchor is not None:
            self._anchors[anchor] = mark
        return mark

    def _check_tag(self, event: Event) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise self._refusal("yaml.tag", value=str(tag))

    def _content(self, event: Event, depth: int) -> Mark:
        if isinstance(event, ScalarEvent):
            value = self._scalar(event)
            return Mark(value, *self.place, weight=len(event.value) + 1)
        return self._mapping(depth) if isinstance(event, MappingStartEvent) else self._sequence(depth)

    def _alias(self, anchor: str, depth: int) -> Mark:
        place = self.place
        target = self._anchors.get(anchor)
        if target is None:
            raise self._refusal("yaml.alias", value=anchor)
        if depth + target.height > DEPTH:
            raise self._refusal("yaml.too_deep", limit=DEPTH)
        self._repeated += target.weight
        if self._repeated > self._limit:
            raise self._refusal("yaml.alias_growth", value=anchor, limit=self._limit)
        return replace(target, line=place[0], column=place[1])

    def _sequence(self, depth: int) -> Mark:
        place, inside = self.place, list[Mark]()
        while not isinstance(event := self._next(), SequenceEndEvent):
            inside.append(self._node(event, depth + 1))
        weight = 1 + sum(mark.weight for mark in inside)
        value = [mark.value for mark in inside]
        return Mark(value, *place, dict(enumerate(inside)), weight=weight, height=_height(inside))

    def _mapping(self, depth: int) -> Mark:
        place, inside, keys, weight = self.place, dict[str | int, Mark](), dict[str, tuple[int, int]](), 1
        while not isinstance(event := self._next(), MappingEndEvent):
            at = self.place
            key = self._key(event)
            if key in keys:
                raise self._refusal("yaml.doubled_key", at, value=key, first=keys[key][0])
            keys[key] = at
            inside[key] = self._node(self._next(), depth + 1)
            weight += len(key) + inside[key].weight
        value = {key: mark.value for key, mark in inside.items()}
        return Mark(value, *place, inside, keys, weight, _height(inside.values()))

    def _key(self, event: Event) -> str:
        if isinstance(event, ScalarEvent):
            self._check_tag(event)
            key = self._storable(event.value)
            if event.anchor is not None:
                self._anchors[event.anchor] = Mark(key, *self.place, weight=len(key) + 1)
            return key
        if isinstance(event, AliasEvent) and isinstance(key := self._alias(event.anchor, 0).value, str):
            return key
        raise self._refusal("yaml.key")

    def _storable(self, text: str) -> str:
        found = UNSTORABLE.search(text)
        if found:
            raise self._refusal("yaml.character", value=named(found.group()))
        return text

    def _scalar(self, event: ScalarEvent) -> Any:
        text: str = event.value
        if not event.implicit[0]:
            return self._storable(text)
        if NULL.match(text):
            return None
        if found := BOOLEAN.match(text):
            return found.group(1) is not None
        if WHOLE.match(text) or BASED.match(text) or DECIMAL.match(text) or NOT_FINITE.match(text):
            return self._number(text)
        return self._storable(text)

    def _number(self, text: str) -> int | float:
        if len(text) > DIGITS or NOT_FINITE.match(text):
            raise self._refusal("yaml.number", value=text)
        if WHOLE.match(text):
            return int(text)
        number = int(text, 0) if BASED.match(text) else float(text)
        if not math.isfinite(number):
            raise self._refusal("yaml.number", value=text)
        return number


def _height(inside: Iterable[Mark]) -> int:
    return 1 + max((mark.height for mark in inside), default=0)
