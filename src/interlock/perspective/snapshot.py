"""A snapshot: the exact bytes of a request, cut into parts that are stored once, and a manifest that names them.

A manifest extends the one of the call before: it says how many of that one's parts it keeps, and adds its
own. Every 32nd is complete. So a hundred calls cost the sum of what is new in each, not its square, and the
bytes come back without going through any library again.
"""

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from interlock import canonical
from interlock.errors import InterlockError
from interlock.ledger.content_store import ContentStore
from interlock.ledger.ledger import ContentRow

__all__ = ["Snapshot", "SnapshotKeeper", "load", "named_by_manifest"]

COMPLETE_EVERY = 32
INLINE = 1024
"""A part up to this many bytes stands in the manifest itself: a row of its own would cost more than it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot as it comes back: what was said about it, its parts, and where each came from."""

    about: dict[str, Any]
    parts: tuple[bytes, ...]
    kept: int
    """How many of the parts stood in the call before, too."""

    @property
    def request(self) -> bytes:
        """The exact bytes that were sent."""
        return b"".join(self.parts)


class SnapshotKeeper:
    """The snapshots of one run, each extending the one before it."""

    def __init__(self, contents: ContentStore, company: str) -> None:
        self._contents, self._company = contents, company
        self._parts: list[bytes] = []
        self._forms: list[str | dict[str, str]] = []
        self._manifest: str | None = None
        self._depth = 0

    async def keep(self, about: dict[str, Any], parts: Sequence[bytes]) -> tuple[str, int, list[ContentRow]]:
        """Prepare a snapshot for the append that names it: its digest, the request's size, and the content."""
        shared = 0
        if self._manifest is not None and self._depth < COMPLETE_EVERY:
            for old, new in zip(self._parts, parts, strict=False):
                if old != new:
                    break
                shared += 1
        rows: list[ContentRow] = []
        known = dict(zip(self._parts, self._forms, strict=True))
        forms = self._forms[:shared]
        for part in parts[shared:]:
            form = known.get(part)
            if form is None or isinstance(form, dict):
                form, row = await self._form(part)
                rows.extend(row)
            forms.append(form)
        extends = self._manifest if shared else None
        whole, apart = await self._apart(about, rows)
        manifest = {
            **whole,
            **({"apart": apart} if apart else {}),
            "parts": forms[shared:],
            **({"base": extends, "keep": shared} if extends else {}),
        }
        kept = await self._contents.keep_any(self._company, canonical.encode(manifest))
        rows.append(kept.row)
        self._parts, self._forms, self._manifest = list(parts), forms, kept.digest
        self._depth = self._depth + 1 if extends else 1
        return kept.digest, sum(map(len, parts)), rows

    async def _apart(
        self, about: dict[str, Any], rows: list[ContentRow]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Cut long lists out of what is said about a snapshot: those of the next call are the same, mostly."""
        whole, apart = {}, {}
        for key, value in about.items():
            data = canonical.encode(value) if isinstance(value, list) else b""
            if len(data) > INLINE:
                kept = await self._contents.keep_any(self._company, data)
                rows.append(kept.row)
                apart[key] = kept.digest
            else:
                whole[key] = value
        return whole, apart

    async def _form(self, part: bytes) -> tuple[str | dict[str, str], list[ContentRow]]:
        if len(part) <= INLINE:
            try:
                return {"text": part.decode()}, []
            except UnicodeDecodeError:
                return {"base64": base64.b64encode(part).decode()}, []
        kept = await self._contents.keep_any(self._company, part)
        return kept.digest, [kept.row]


async def load(contents: ContentStore, digest: str) -> Snapshot:
    """Give a snapshot back from its manifest's digest.

    Raises InterlockError `content.missing` or `content.corrupt` when any of it is damaged.
    """
    chain: list[dict[str, Any]] = []
    wanted: str | None = digest
    while wanted is not None:
        manifest = json.loads(await contents.read(wanted))
        chain.append(manifest)
        wanted = manifest.get("base")
        if len(chain) > COMPLETE_EVERY:
            raise InterlockError("content.corrupt", digest=digest)
    parts: list[bytes] = []
    for manifest in reversed(chain):
        del parts[manifest.get("keep", 0) :]
        for form in manifest["parts"]:
            parts.append(await _part(contents, form))
    about = {key: value for key, value in chain[0].items() if key not in {"parts", "base", "keep", "apart"}}
    for key, digest_of_list in chain[0].get("apart", {}).items():
        about[key] = json.loads(await contents.read(digest_of_list))
    return Snapshot(about, tuple(parts), chain[0].get("keep", 0))


async def _part(contents: ContentStore, form: str | dict[str, str]) -> bytes:
    if isinstance(form, str):
        return await contents.read(form)
    if "text" in form:
        return form["text"].encode()
    return base64.b64decode(form["base64"])


def named_by_manifest(data: bytes) -> Iterator[tuple[str, str]]:
    """Give what a manifest names, as `interlock.ledger.content_check` asks for it: the manifest that it
    extends, and the parts that are content of their own."""
    manifest = json.loads(data)
    if "base" in manifest:
        yield "snapshot", manifest["base"]
    for digest in manifest.get("apart", {}).values():
        yield "list", digest
    for form in manifest["parts"]:
        if isinstance(form, str):
            yield "part", form
