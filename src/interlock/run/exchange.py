"""The reading of an exchange: the steps of a root task, with the content that they name."""

import json
from typing import Any

from interlock.errors import InterlockError
from interlock.ledger.step import Step
from interlock.message.exchange import named_in
from interlock.run.installation import Installation

__all__ = ["read_exchange"]

TEXTS = frozenset({"summary", "said", "detail"})
"""The keys under which plain text stands; under the others it is JSON."""
LONGEST = 1_000_000
"""More steps than the stream of a root task has."""


async def read_exchange(installation: Installation, root: str) -> tuple[list[Step], dict[str, Any]]:
    """Give the steps of a root task's exchange, and by digest the text or JSON value of the content they name; what
    cannot be read is left out."""
    steps = await installation.ledger.read(root, 0, LONGEST)
    contents: dict[str, Any] = {}
    for step in steps:
        for key, digest in named_in(step):
            if digest not in contents:
                try:
                    contents[digest] = _value(key, await installation.contents.read(digest))
                except InterlockError:
                    continue
    return steps, contents


def _value(key: str, data: bytes) -> Any:
    text = data.decode(errors="backslashreplace")
    if key in TEXTS:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
