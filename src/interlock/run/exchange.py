"""The reading of an exchange: the steps of a root task, with the content that they name."""

import json
from collections.abc import Mapping
from typing import Any

from interlock.catalogue import Text
from interlock.errors import InterlockError
from interlock.ledger.step import Step
from interlock.message.entry import Gone
from interlock.message.exchange import named_in
from interlock.run.installation import Installation

__all__ = ["read_exchange"]

TEXTS = frozenset({"summary", "said", "detail"})
"""The keys under which plain text stands; under the others it is JSON."""
LONGEST = 1_000_000
"""More steps than the stream of a root task has."""
WHY: Mapping[str, Text] = {
    "content.missing": Text("exchange.gone"),
    "content.corrupt": Text("exchange.changed"),
}
"""By error, what is said in place of content; of any other, that it could not be read."""


async def read_exchange(installation: Installation, root: str) -> tuple[list[Step], dict[str, Any]]:
    """Give the steps of a root task's exchange, and by digest the text or JSON value of the content they name; what
    cannot be read is `Gone`. Raises InterlockError `exchange.none`."""
    steps = await installation.ledger.read(root, 0, LONGEST)
    if not steps:
        raise InterlockError("exchange.none", task=root)
    contents: dict[str, Any] = {}
    for step in steps:
        for key, digest in named_in(step):
            if digest not in contents:
                contents[digest] = await _read(installation, key, digest)
    return steps, contents


async def _read(installation: Installation, key: str, digest: str) -> Any:
    try:
        return _value(key, await installation.contents.read(digest))
    except InterlockError as error:
        return Gone(WHY.get(error.code, Text("exchange.unreadable")))


def _value(key: str, data: bytes) -> Any:
    text = data.decode(errors="backslashreplace")
    if key in TEXTS:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
