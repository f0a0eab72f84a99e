"""A folder of large content: one file each, named after its digest, on disk before any step names it."""

import os
import secrets
from pathlib import Path

from interlock.errors import InterlockError
from interlock.fault import Reach, nothing
from interlock.ledger.key import flush_folder

__all__ = ["ObjectFolder"]

FILE_MODE, FOLDER_MODE = 0o600, 0o700


class ObjectFolder:
    """The object store of one machine, which its owner alone may read.

    Any number of threads and processes may use it at the same time.
    """

    def __init__(self, folder: Path, reach: Reach = nothing) -> None:
        self._folder, self._reach = folder, reach

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest

    def write(self, digest: str, data: bytes) -> None:
        """Store bytes, on disk when this returns. What is there already stays, unless it was damaged.

        Raises InterlockError `content.unwritable`; nothing that a reader could find is left behind then.
        """
        path = self._path(digest)
        try:
            if not self._holds(path, data):
                self._write_new(path, data)
            for folder in (path.parent, self._folder, self._folder.parent):
                flush_folder(folder)
        except OSError as error:
            why = error.strerror or str(error)
            raise InterlockError("content.unwritable", file=str(path), why=why) from None
        self._reach("object.after_rename")

    def _holds(self, path: Path, data: bytes) -> bool:
        try:
            return path.stat().st_size == len(data) and path.read_bytes() == data
        except FileNotFoundError:
            return False

    def _write_new(self, path: Path, data: bytes) -> None:
        self._folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        path.parent.mkdir(FOLDER_MODE, exist_ok=True)
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        try:
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            self._reach("object.before_rename")
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)

    def read(self, digest: str) -> bytes | None:
        """Give the bytes, or None when there are none.

        Raises InterlockError `content.unreadable` when the file is there and cannot be read.
        """
        path = self._path(digest)
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            why = error.strerror or str(error)
            raise InterlockError("content.unreadable", file=str(path), why=why) from None
