"""Canonical JSON: the one byte form of a value that is hashed, and the strict reader of JSON from outside.

Canonical form follows RFC 8785 in spirit: keys sorted, no white space, UTF-8, no NaN and no infinity.
It differs in two points: numbers are written as Python writes them, and a lone surrogate, which UTF-8
cannot hold, is written as its JSON escape, so that every string which JSON can carry has one byte form.
"""

import codecs
import hashlib
import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn

from interlock.catalogue import Text
from interlock.errors import InterlockError

__all__ = ["DEPTH", "digest_of", "encode", "encode_foreign", "parse"]

DEPTH = 200
"""How many lists and mappings of JSON from outside may lie inside each other."""

DIGITS = 400
"""How many digits a whole number from outside may have."""


def _escape_surrogates(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    span = error.object[error.start : error.end]
    return "".join(f"\\u{ord(character):04x}" for character in span), error.end


codecs.register_error("interlock.json_escape", _escape_surrogates)


def _no_default(value: Any) -> NoReturn:
    raise TypeError(f"{type(value).__name__} is not a JSON value")


# What `json.JSONEncoder.encode` makes anew at every call, made once: most of the cost of a small value.
_chunks = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
    None, _no_default, json.encoder.encode_basestring, None, ":", ",", True, False, False
)


def encode(value: Any) -> bytes:
    """Give the canonical bytes of `value`: dicts with string keys, lists, strings, numbers, booleans, None.

    Raises ValueError for NaN and infinities, TypeError for what JSON cannot express.
    """
    text = "".join(_chunks(value, 0))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _joined(text).encode(errors="interlock.json_escape")


def _joined(text: str) -> str:
    """Give canonical text in which two surrogates that make one character are that character.

    Every reader of JSON takes them for it, so the value would otherwise come back with another digest.
    """
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    if joined == text:
        return text
    return "".join(_chunks(json.loads(joined, object_pairs_hook=_unique), 0))


def encode_foreign(value: Any) -> bytes:
    """Give the canonical bytes of a value that somebody else's code made, if they read back as that value.

    Raises what `encode` raises, TypeError for a key that is not text, and RecursionError for more than 200
    levels: what JSON turned into something else, or could not be read again, must not be stored unnoticed.
    """
    data = encode(value)
    level = [value]
    for _ in range(DEPTH + 1):
        level = [
            inner for outer in level if isinstance(outer, dict | list | tuple) for inner in _inside(outer)
        ]
        if not level:
            return data
    raise RecursionError(f"more than {DEPTH} levels")


def _inside(outer: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterable[Any]:
    if not isinstance(outer, dict):
        return outer
    for key in outer:
        if not isinstance(key, str):
            raise TypeError(f"the key {key!r:.60} is not text")
    return outer.values()


def digest_of(value: Any) -> str:
    """Give the SHA-256 of the canonical form of `value`, in hexadecimal."""
    return hashlib.sha256(encode(value)).hexdigest()


class _RefusalError(ValueError):
    def __init__(self, why: str, **params: Any) -> None:
        super().__init__(why)
        self.why = Text(why, **params)


def _shown(text: str) -> str:
    return text[:60].encode("utf-8", "backslashreplace").decode()


def _no_constant(name: str) -> NoReturn:
    raise _RefusalError("json.why.constant", value=name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _RefusalError("json.why.number", value=_shown(text))
    return number


def _whole(text: str) -> int:
    if len(text) > DIGITS:
        raise _RefusalError("json.why.number", value=_shown(text))
    return int(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RefusalError("json.why.doubled_key", value=_shown(key))
            seen.add(key)
    return found


def _within_depth(value: Any) -> bool:
    level = [value]
    for _ in range(DEPTH + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return True
    return False


_decoder = json.JSONDecoder(
    parse_constant=_no_constant, parse_float=_finite, parse_int=_whole, object_pairs_hook=_unique
)


def _loaded(text: str) -> Any:
    if text.startswith("\ufeff"):
        raise json.JSONDecodeError("Unexpected UTF-8 BOM", text, 0)
    value = _decoder.decode(text)
    if text.count("[") + text.count("{") > DEPTH and not _within_depth(value):
        raise RecursionError
    return value


# How the complaints of the standard library's parser begin, and the sentence that says what they mean.
REASONS = (
    ("Expecting value", "json.why.value"),
    ("Expecting property name", "json.why.name"),
    ("Illegal trailing comma", "json.why.name"),
    ("Expecting ':'", "json.why.colon"),
    ("Expecting ','", "json.why.comma"),
    ("Invalid control character", "json.why.control"),
    ("Invalid \\", "json.why.escape"),
    ("Unterminated string", "json.why.quote"),
    ("Extra data", "json.why.extra"),
    ("Unexpected UTF-8 BOM", "json.why.mark"),
)


def _why(error: ValueError | RecursionError) -> Text | str:
    if isinstance(error, _RefusalError):
        return error.why
    if isinstance(error, RecursionError):
        return Text("json.why.depth", limit=DEPTH)
    if isinstance(error, UnicodeDecodeError):
        return Text("json.why.utf8", value=f"0x{error.object[error.start]:02X}")
    told = str(error)
    return next((Text(message) for beginning, message in REASONS if told.startswith(beginning)), told[:200])


def parse(text: str | bytes, what: str, limit: int = 16 * 1024 * 1024) -> Any:
    """Read JSON strictly: UTF-8, no NaN, no doubled key, at most `limit` bytes and 200 levels deep.

    `what` names the input in the error. Raises InterlockError `json.too_large` or `json.malformed`,
    never a bare exception, for any input.
    """
    size = len(text)
    if size <= limit and isinstance(text, str) and not text.isascii():
        size = len(text.encode("utf-8", "surrogatepass"))
    if size > limit:
        raise InterlockError("json.too_large", what=what, size=size, limit=limit)
    try:
        return _loaded(text.decode("utf-8") if isinstance(text, bytes) else text)
    except (ValueError, RecursionError) as error:
        where = f"{error.lineno}:{error.colno}" if isinstance(error, json.JSONDecodeError) else "1:1"
        if isinstance(error, UnicodeDecodeError):
            before = error.object[: error.start].decode("utf-8")
            where = f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
        raise InterlockError("json.malformed", what=what, where=where, why=_why(error)) from None
