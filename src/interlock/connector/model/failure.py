"""A failure of a model call: what a provider's status, headers and words mean for the runner."""

from collections.abc import Iterable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from interlock.connector.model.model import ModelFailure

__all__ = ["by_status", "shortened", "wait_of", "words_of"]

SHOWN = 300
HIDDEN = "[secret]"
LONGEST_WAIT_MS = 24 * 3_600_000


def by_status(status: int, wait_ms: int | None, detail: str) -> ModelFailure:
    """Give the failure that an HTTP status stands for, whichever provider sent it."""
    if status == 429:
        return ModelFailure("rate_limited", True, wait_ms, status, detail)
    if status == 408:
        return ModelFailure("timed_out", True, wait_ms, status, detail)
    if status >= 500:
        return ModelFailure("unavailable", True, wait_ms, status, detail)
    if status in {401, 403}:
        return ModelFailure("unauthorized", False, None, status, detail)
    return ModelFailure("rejected", False, None, status, detail)


def wait_of(headers: Mapping[str, str], now_ms: int) -> int | None:
    """Give the milliseconds that a provider asks to wait, at most a day, or None if it does not say.

    `headers` have lower-case names. Read are `retry-after-ms`, then `Retry-After` in seconds or as an
    HTTP date (RFC 9110, 10.2.3), which counts from the response's own `Date` where there is one, so that a
    clock that is wrong here does not matter.
    """
    try:
        if "retry-after-ms" in headers:
            return _bounded(float(headers["retry-after-ms"]))
        asked = headers.get("retry-after", "")
        if asked.replace(".", "", 1).isdecimal():
            return _bounded(float(asked) * 1000)
        until = _milliseconds(asked)
        since = _milliseconds(headers["date"]) if "date" in headers else now_ms
        return _bounded(until - since)
    except (ValueError, TypeError, OverflowError):
        return None


def _bounded(wait: float) -> int:
    return int(min(max(wait, 0), LONGEST_WAIT_MS))


def _milliseconds(date: str) -> float:
    moment = parsedate_to_datetime(date)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).timestamp() * 1000


def words_of(body: Any) -> str:
    """Give the message in a provider's error body: `{"error": {"message": ...}}` and its relatives."""
    while isinstance(body, Mapping):
        body = next((body[key] for key in ("error", "message", "detail", "type") if body.get(key)), "")
    return body if isinstance(body, str) else ""


def shortened(text: str, secrets: Iterable[str]) -> str:
    """Give at most 300 characters of `text`, every secret in it replaced before it is cut (GT-7)."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, HIDDEN)
    text = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
