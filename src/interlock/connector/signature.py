"""A signature of a message between a connector and the outside, the same in both directions (UI-5).

The scheme is that of Standard Webhooks, https://www.standardwebhooks.com, in its symmetric form: `v1` and the base64 of
HMAC-SHA-256 over `<id>.<time stamp>.<body>`, in the headers `webhook-id`, `webhook-timestamp` (whole seconds since the
Unix epoch) and `webhook-signature`. A signature header may hold several, one for each key while a key is changed. A key
is written `whsec_` and the base64 of 24 to 64 random bytes. An id may hold no full stop, so that what is signed reads
in one way alone.
"""

import base64
import binascii
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from interlock.errors import InterlockError
from interlock.settings import ConnectorChoice

__all__ = ["Signed", "fresh_key", "keys_of", "sign", "signed_by"]

PREFIX = "whsec_"
SHORTEST, LONGEST = 24, 64
"""How many bytes a key has."""
ID = re.compile(r"[!-\-/-~]{1,256}\Z", re.ASCII)
STAMP = re.compile(r"[0-9]{1,12}\Z", re.ASCII)
MOST = 16
"""How many signatures of one message are looked at."""


@dataclass(frozen=True, slots=True)
class Signed:
    """What the headers of a message say. id: the sender's, the same whenever it sends this again. at: its time stamp in
    seconds since the Unix epoch."""

    id: str
    at: int
    signatures: tuple[str, ...] = field(repr=False)

    def fits(self, keys: Sequence[bytes], body: bytes) -> bool:
        """Tell whether one of the signatures is that of one of the keys. All are compared, each in a time that does not
        depend on where they differ."""
        wanted = [_signature(key, self.id, self.at, body).encode() for key in keys]
        fitting = [
            hmac.compare_digest(given.encode("utf-8", "surrogatepass"), one)
            for given in self.signatures
            for one in wanted
        ]
        return any(fitting)


def fresh_key() -> str:
    """Give a new key, as it is written: 32 bytes from the operating system."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def keys_of(name: str, choice: ConnectorChoice, environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """Give the keys of a connector: the one that counts, and those that count beside it.

    Raises InterlockError `connector.no_key` or `connector.bad_key`, which name the variable and never its value.
    """
    return tuple(_key(name, variable, environment) for variable in (choice.key, *choice.further_keys))


def _key(name: str, variable: str, environment: Mapping[str, str]) -> bytes:
    value = environment.get(variable)
    if not value:
        raise InterlockError("connector.no_key", connector=name, variable=variable)
    try:
        key = base64.b64decode(value.removeprefix(PREFIX).encode(), validate=True)
    except (ValueError, binascii.Error):
        key = b""
    if not value.startswith(PREFIX) or not SHORTEST <= len(key) <= LONGEST:
        raise InterlockError(
            "connector.bad_key", connector=name, variable=variable, least=SHORTEST, most=LONGEST
        )
    return key


def sign(keys: Sequence[bytes], name: str, at: int, body: bytes) -> dict[str, str]:
    """Give the headers of a message with one signature for each key; `at` in seconds since the Unix epoch."""
    return {
        "webhook-id": name,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(_signature(key, name, at, body) for key in keys),
    }


def _signature(key: bytes, name: str, at: int, body: bytes) -> str:
    made = hmac.digest(key, f"{name}.{at}.".encode() + body, "sha256")
    return f"v1,{base64.b64encode(made).decode()}"


def signed_by(headers: Mapping[str, str], now: int, tolerance_ms: int) -> Signed:
    """Give what the headers of a message say; `now` in milliseconds since the Unix epoch.

    Raises InterlockError `connector.unsigned`, or `connector.bad_time` for a time stamp too far from now.
    """
    name, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    given = tuple(headers.get("webhook-signature", "").split())
    for header, fits in (
        ("webhook-id", ID.match(name)),
        ("webhook-timestamp", STAMP.match(stamp)),
        ("webhook-signature", 0 < len(given) <= MOST),
    ):
        if not fits:
            raise InterlockError("connector.unsigned", header=header)
    at = int(stamp)
    if str(at) != stamp or abs(now - at * 1000) > tolerance_ms:
        raise InterlockError("connector.bad_time", seconds=tolerance_ms // 1000)
    return Signed(name, at, given)
