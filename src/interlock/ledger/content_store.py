"""The content store: bytes by a keyed digest, once per company, checked whenever they are read.

Small content lies in the ledger's database and is written with the step that names it; large content lies in
a folder, flushed to disk before that step. What is read from either is served only if it fits its digest.
"""

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from interlock.errors import InterlockError
from interlock.ledger.key import Keys
from interlock.ledger.ledger import ContentRow, Ledger
from interlock.ledger.object_folder import ObjectFolder

__all__ = ["ContentStore", "Kept"]

PLAIN, COMPRESSED, OBJECT = 0, 1, 2
WORTH_COMPRESSING = 2048
SAMPLE = 1024
GAIN = 0.6
"""Content is compressed when a sample of it shrinks to this share or less: prose and logs do, and what is
close to random is not worth the time."""
CACHE_BYTES = 32 * 1024 * 1024
PREPARED_BYTES = 8 * 1024 * 1024
"""How much of prepared rows is remembered: what all prompts of an agent begin with is compressed once."""
LARGEST = 1 << 40
OVERHEAD = 256
"""What a remembered thing costs beside its bytes, roughly."""

T = TypeVar("T")


class Recent(Generic[T]):
    """What was used last, by digest, up to a number of bytes. `size` tells how many bytes a thing has."""

    def __init__(self, limit: int, size: Callable[[T], int]) -> None:
        self._limit, self._size = limit, size
        self._things: OrderedDict[bytes, T] = OrderedDict()
        self.bytes = 0
        """How many bytes are held now, with what each thing costs beside its bytes."""

    def get(self, digest: bytes) -> T | None:
        """Give a thing, or None when it is not remembered."""
        thing = self._things.get(digest)
        if thing is not None:
            self._things.move_to_end(digest)
        return thing

    def put(self, digest: bytes, thing: T) -> None:
        """Remember a thing, forgetting those that were not used for longest."""
        if digest in self._things:
            return
        self._things[digest] = thing
        self.bytes += self._size(thing) + OVERHEAD
        while self.bytes > self._limit:
            self.bytes -= self._size(self._things.popitem(last=False)[1]) + OVERHEAD


class Kept:
    """A piece of content on its way into the store: its digest, and the row to hand to `Ledger.append`."""

    __slots__ = ("digest", "row", "size")

    def __init__(self, row: ContentRow) -> None:
        self.row, self.digest, self.size = row, row.digest.hex(), row.size


class ContentStore:
    """The content of all companies. `inline_bytes`: larger content goes to the object store.

    Whoever may read what is decided elsewhere (CS-5): no digest, however it was come by, is a permission.
    """

    def __init__(self, ledger: Ledger, keys: Keys, objects: ObjectFolder, inline_bytes: int) -> None:
        self._ledger, self._keys, self._objects, self._inline = ledger, keys, objects, inline_bytes
        self._cache: Recent[bytes] = Recent(CACHE_BYTES, len)
        self._prepared: Recent[Kept] = Recent(PREPARED_BYTES, lambda kept: len(kept.row.body))

    def digest(self, company: str, data: bytes) -> str:
        """Give the keyed digest of bytes, without storing them."""
        return self._keys.digest(company, data).hex()

    def keep(self, company: str, data: bytes) -> Kept:
        """Prepare bytes for the append that names them, to lie in the database. `keep_any` takes any size."""
        digest = self._keys.digest(company, data)
        kept = self._prepared.get(digest)
        if kept is None:
            form, body = _compressed(data)
            self._remember(digest, data)
            kept = Kept(ContentRow(digest, company, len(data), form, body))
            self._prepared.put(digest, kept)
        return kept

    async def keep_any(self, company: str, data: bytes) -> Kept:
        """Prepare bytes of any size; large ones are in the object store, on disk, when this returns.

        Raises InterlockError `content.unwritable`.
        """
        if len(data) <= self._inline:
            return self.keep(company, data)
        digest = await asyncio.to_thread(self._keys.digest, company, data)
        await asyncio.to_thread(self._objects.write, digest.hex(), data)
        return Kept(ContentRow(digest, company, len(data), OBJECT, b""))

    async def read(self, digest: str) -> bytes:
        """Give the bytes of a digest.

        Raises InterlockError `content.missing` or `content.corrupt`: what does not fit its digest is never
        served (CS-8).
        """
        key = _key(digest)
        data = self._cache.get(key)
        if data is None:
            data = await self.read_afresh(digest)
            self._remember(key, data)
        return data

    async def read_afresh(self, digest: str) -> bytes:
        """Give the bytes as they lie on disk now, whatever was read before; raises as `read` does."""
        found = await self._ledger.query("content_by_digest", _key(digest))
        if not found:
            raise InterlockError("content.missing", digest=digest)
        company, size, form, body = found[0]
        data = await self._restored(digest, size, form, body)
        if data is None:
            raise InterlockError("content.missing", digest=digest)
        if len(data) != size or await self._digest_of(company, data) != digest:
            raise InterlockError("content.corrupt", digest=digest)
        return data

    async def _digest_of(self, company: str, data: bytes) -> str:
        if len(data) <= self._inline:
            return self.digest(company, data)
        return await asyncio.to_thread(self.digest, company, data)

    async def _restored(self, digest: str, size: int, form: int, body: bytes) -> bytes | None:
        if form == OBJECT:
            return await asyncio.to_thread(self._objects.read, digest)
        if form == COMPRESSED:
            return _decompressed(body, size)
        return body

    def _remember(self, digest: bytes, data: bytes) -> None:
        if len(data) <= self._inline:
            self._cache.put(digest, data)


def _key(digest: str) -> bytes:
    try:
        return bytes.fromhex(digest)
    except ValueError:
        raise InterlockError("content.missing", digest=digest) from None


def _compressed(data: bytes) -> tuple[int, bytes]:
    sample = data[:SAMPLE]
    if len(data) < WORTH_COMPRESSING or len(zlib.compress(sample, 1)) > GAIN * len(sample):
        return PLAIN, data
    return COMPRESSED, zlib.compress(data, 1)


def _decompressed(body: bytes, size: int) -> bytes:
    """Give what was compressed; nothing longer than `size` and a byte is made of a damaged body."""
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(body, min(max(0, size), LARGEST) + 1)
    except zlib.error:
        return b""
    return data if stream.eof and not stream.unused_data else b""
