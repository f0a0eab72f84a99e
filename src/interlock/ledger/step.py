"""A step: one immutable, hash-chained entry of a stream (RN-2).

A step's digest is SHA-256 over the digest before it and the canonical form of everything else in the
step, so that no column of a step and no step of a stream can change unnoticed.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from interlock.errors import InterlockError

__all__ = ["BEGINNING", "FORMAT", "MISFITS", "Draft", "Head", "Step", "link"]

FORMAT = 1
"""The format number that this version of Interlock writes on opening steps (RN-8, WK-3)."""

BEGINNING = bytes(32)
"""What stands in place of the digest before the first step."""

MISFITS = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""What comes of values that have another type or form than they were written with."""


class Draft(NamedTuple):
    """A step that is not yet written: its kind, its body, and when it happened; None for when it is written."""

    kind: str
    body: dict[str, Any]
    at: int | None = None


class Head(NamedTuple):
    """Where a stream ends: the number and the digest of its last step; (0, BEGINNING) for an empty one."""

    seq: int = 0
    digest: bytes = BEGINNING


@dataclass(frozen=True, slots=True)
class Step:
    """A step as it stands in the ledger.

    `at` is milliseconds since the Unix epoch and decides nothing. `fence` is the number of the claim under
    which the step was written; 0 where nobody holds a lease.
    """

    stream: str
    seq: int
    kind: str
    at: int
    fence: int
    text: str
    previous: bytes
    digest: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The body: ids, kinds, numbers, references and keyed digests.

        Raises InterlockError `ledger.damaged` when it is no JSON object.
        """
        try:
            body = json.loads(self.text)
        except MISFITS:
            body = None
        if not isinstance(body, dict):
            raise InterlockError("ledger.damaged", stream=self.stream, seq=self.seq)
        return body

    @property
    def head(self) -> Head:
        """The head of a stream that ends with this step."""
        return Head(self.seq, self.digest)

    @property
    def fits(self) -> bool:
        """Tell whether the digest is that of the step's content."""
        return self.digest == link(
            self.stream, self.seq, self.kind, self.at, self.fence, self.text.encode(), self.previous
        )


def link(stream: str, seq: int, kind: str, at: int, fence: int, body: bytes, previous: bytes) -> bytes:
    """Give the digest of a step from its parts; `body` is the canonical JSON, `previous` the digest before."""
    start = f"{stream}\n{kind}\n{seq} {at} {fence}\n"
    return hashlib.sha256(b"".join((previous, start.encode(errors="surrogatepass"), body))).digest()
