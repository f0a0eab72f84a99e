"""The content store: bytes by a keyed digest, once per company, checked whenever they are read.

A digest is HMAC-SHA-256 (RFC 2104, FIPS 180-4) under the company's key, so that nobody without the key can
check a guess of a short text (CS-1). Small content lies in the ledger's database and is written with the
step that names it; large content lies in a folder, flushed to disk before that step.
"""

import asyncio
import hashlib
import hmac
import os
import zlib
from collections import OrderedDict
from pathlib import Path

from interlock.errors import InterlockError
from interlock.fault import Reach, nothing
from interlock.ledger.ledger import ContentRow, Ledger

__all__ = ["ContentStore", "Kept", "Keys", "ObjectFolder"]

PLAIN, COMPRESSED, OBJECT = 0, 1, 2
WORTH_COMPRESSING = 512
SAMPLE = 2048
GAIN = 0.6
"""Content is compressed when a sample of it shrinks to this share or less: prose and logs do, and what is
close to random is not worth the time."""
CACHE_BYTES = 32 * 1024 * 1024
PREPARED = 256
"""How many prepared rows are remembered: what all prompts of an agent begin with is compressed once."""


class Keys:
    """The keys of companies, each derived from one key of the installation, which lies outside the ledger."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._started: dict[str, "hmac.HMAC"] = {}

    @classmethod
    def of_file(cls, path: Path) -> "Keys":
        """Read the installation's key, making one if there is none; readable by its owner alone.

        Raises InterlockError `content.bad_key` when the file is not such a key.
        """
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f"{path.name}.{os.getpid()}")
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                os.write(descriptor, os.urandom(32).hex().encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            try:
                os.link(fresh, path)
            except FileExistsError:
                pass  # another process was first, and its key counts
            fresh.unlink()
            _flush_folder(path.parent)
        try:
            key = bytes.fromhex(path.read_text("ascii"))
        except ValueError:
            key = b""
        if len(key) != 32:
            raise InterlockError("content.bad_key", file=str(path))
        return cls(key)

    def digest(self, company: str, data: bytes) -> bytes:
        """Give the digest of `data` under the company's key."""
        started = self._started.get(company)
        if started is None:
            derived = hmac.digest(self._key, f"company:{company}".encode(), "sha256")
            started = self._started[company] = hmac.new(derived, digestmod=hashlib.sha256)
        code = started.copy()
        code.update(data)
        return code.digest()


class ObjectFolder:
    """A folder of large content, one file each, by digest."""

    def __init__(self, folder: Path, reach: Reach = nothing) -> None:
        self._folder, self._reach = folder, reach

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest

    def write(self, digest: str, data: bytes) -> None:
        """Store bytes, on disk when this returns; storing the same again changes nothing."""
        path = self._path(digest)
        if path.exists() and path.stat().st_size == len(data):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{digest}.{os.getpid()}")
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self._reach("object.before_rename")
        fresh.replace(path)
        _flush_folder(path.parent)
        _flush_folder(self._folder)
        self._reach("object.after_rename")

    def read(self, digest: str) -> bytes | None:
        """Give the bytes, or None when there are none."""
        try:
            return self._path(digest).read_bytes()
        except FileNotFoundError:
            return None


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Kept:
    """A piece of content on its way into the store: its digest, and the row to hand to `Ledger.append`."""

    __slots__ = ("digest", "row", "size")

    def __init__(self, row: ContentRow) -> None:
        self.row, self.digest, self.size = row, row.digest.hex(), row.size


class ContentStore:
    """The content of all companies.

    Whoever may read what is decided elsewhere (CS-5): no digest, however it was come by, is a permission.
    """

    def __init__(self, ledger: Ledger, keys: Keys, objects: ObjectFolder, inline_bytes: int) -> None:
        self._ledger, self._keys, self._objects, self._inline = ledger, keys, objects, inline_bytes
        self._cache: OrderedDict[str, bytes] = OrderedDict()
        self._cached = 0
        self._rows: OrderedDict[bytes, Kept] = OrderedDict()

    def digest(self, company: str, data: bytes) -> str:
        """Give the keyed digest of bytes, without storing them."""
        return self._keys.digest(company, data).hex()

    def keep(self, company: str, data: bytes) -> Kept:
        """Prepare bytes for the append that names them. Larger ones than the inline limit need `keep_large`."""
        digest = self._keys.digest(company, data)
        kept = self._rows.get(digest)
        if kept is None:
            form, body = _compressed(data)
            self._remember(digest.hex(), data)
            kept = self._rows[digest] = Kept(ContentRow(digest, company, len(data), form, body))
            if len(self._rows) > PREPARED:
                self._rows.popitem(last=False)
        return kept

    async def keep_any(self, company: str, data: bytes) -> Kept:
        """Prepare bytes of any size; large ones are in the object store, on disk, when this returns."""
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
        cached = self._cache.get(digest)
        if cached is not None:
            self._cache.move_to_end(digest)
            return cached
        found = await self._ledger.query("content_by_digest", bytes.fromhex(digest))
        if not found:
            raise InterlockError("content.missing", digest=digest)
        company, size, form, body = found[0]
        data = await self._restored(digest, form, body)
        if data is None or len(data) != size or self.digest(company, data) != digest:
            raise InterlockError("content.corrupt", digest=digest)
        self._remember(digest, data)
        return data

    async def _restored(self, digest: str, form: int, body: bytes) -> bytes | None:
        if form == OBJECT:
            return await asyncio.to_thread(self._objects.read, digest)
        if form == COMPRESSED:
            try:
                return zlib.decompress(body)
            except zlib.error:
                return None
        return body

    def _remember(self, digest: str, data: bytes) -> None:
        if len(data) > self._inline or digest in self._cache:
            return
        self._cache[digest] = data
        self._cached += len(data)
        while self._cached > CACHE_BYTES:
            self._cached -= len(self._cache.popitem(last=False)[1])


def _compressed(data: bytes) -> tuple[int, bytes]:
    if len(data) >= WORTH_COMPRESSING and len(zlib.compress(data[:SAMPLE], 1)) <= GAIN * min(len(data), SAMPLE):
        return COMPRESSED, zlib.compress(data, 1)
    return PLAIN, data
