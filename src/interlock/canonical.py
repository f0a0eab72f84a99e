"""Canonical JSON: the one byte form of a value that is hashed, and the one strict reader of JSON from outside.

Canonical form follows RFC 8785 in spirit: keys sorted, no white space, UTF-8, no NaN and no infinity.
It differs in two points: numbers are written as Python writes them, and a lone surrogate, which UTF-8
cannot hold, is written as its JSON escape, so that every string which JSON can carry has one byte form.
"""

import codecs
import hashlib
import json
import math
from typing import Any, NoReturn

from interlock.errors import InterlockError

__all__ = ["digest_of", "encode", "parse"]


def _escape_surrogates(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    span = error.object[error.start : error.end]
    return "".join(f"\\u{ord(character):04x}" for character in span), error.end


codecs.register_error("interlock.json_escape", _escape_surrogates)

_encoder = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
).encode


def encode(value: Any) -> bytes:
    """Give the canonical bytes of `value`: dicts with string keys, lists, strings, numbers, booleans, None.

    Raises ValueError for NaN and infinities, TypeError for what JSON cannot express.
    """
    text = _encoder(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="interlock.json_escape")


def digest_of(value: Any) -> str:
    """Give the SHA-256 of the canonical form of `value`, in hexadecimal."""
    return hashlib.sha256(encode(value)).hexdigest()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is too large for a number")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key[:60]!r} is given twice")
            seen.add(key)
    return found


def parse(text: str | bytes, what: str, limit: int = 16 * 1024 * 1024) -> Any:
    """Read JSON strictly: UTF-8, no NaN, no doubled key, at most `limit` bytes.

    `what` names the input in the error. Raises InterlockError `json.too_large` or `json.malformed`,
    never a bare exception, for any input.
    """
    if len(text) > limit:
        raise InterlockError("json.too_large", what=what, size=len(text), limit=limit)
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        where = f"{error.lineno}:{error.colno}" if isinstance(error, json.JSONDecodeError) else "1:1"
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InterlockError("json.malformed", what=what, where=where, why=why[:200]) from None
