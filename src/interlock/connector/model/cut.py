"""A cut of a request: its exact bytes in parts, so that what two requests share is the same parts.

A provider's request is one JSON object whose arrays (messages, tools, system blocks, inputs) grow from one
request of a run to the next. The cut falls before each element of those arrays, so that the longer request
begins with the parts of the shorter one, byte for byte, and a store that keeps each part once grows with
what is new (PS-1).
"""

import re
from collections.abc import Iterator

__all__ = ["BLOCK", "LONG", "cut"]

BLOCK = 64 * 1024
"""The size in bytes of the parts of a body that is not a JSON object."""

LONG = 2048
"""Strings inside an element that are at least this long, in bytes, are parts of their own."""

# Possessive, so that no text makes it look at a byte twice; an unclosed string runs to the end of the body.
TOKEN = re.compile(rb'"[^"\\]*+(?:\\(?:.|\Z)[^"\\]*+)*+(?:"|\Z)|[\[\]{},]', re.DOTALL)
OBJECT = re.compile(rb"\s*\{")
QUOTE, COMMA, OPEN_LIST, OPEN_OBJECT = b'",[{'


def cut(body: bytes) -> list[bytes]:
    """Cut the bytes of a request into parts whose concatenation is `body`.

    The elements of each array that is the value of a top-level key begin parts, which carry their leading
    comma; long strings inside them are parts too. A body that is no JSON object comes in blocks of 64 KiB.
    Never fails, whatever the bytes; the time is linear in their number.
    """
    if not OBJECT.match(body):
        return _pieces(body, range(BLOCK, len(body), BLOCK))
    return _pieces(body, _places(body))


def _pieces(body: bytes, places: Iterator[int] | range) -> list[bytes]:
    parts, start = [], 0
    for place in places:
        if place > start:
            parts.append(body[start:place])
            start = place
    if start < len(body) or not parts:
        parts.append(body[start:])
    return parts


def _places(body: bytes) -> Iterator[int]:
    """Give the offsets, rising, before which the body is cut."""
    depth = 0
    listing = False
    for token in TOKEN.finditer(body):
        start, end = token.span()
        first = body[start]
        if first == QUOTE:
            if listing and end - start >= LONG:
                yield start
                yield end
        elif first == COMMA:
            if listing and depth == 2:
                yield start
        elif first in {OPEN_LIST, OPEN_OBJECT}:
            depth += 1
            if depth == 2 and first == OPEN_LIST:
                listing = True
                yield end
        else:
            if depth == 2 and listing:
                listing = False
                yield start
            depth -= 1
