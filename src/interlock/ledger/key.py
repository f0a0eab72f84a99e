"""The keys of companies, under which the digests of their content are made (CS-1).

All are derived from one key of the installation, which lies in a file outside the ledger: whoever has the
database alone cannot check a guess of a short text.
"""

import hmac
import os
import secrets
from pathlib import Path

from interlock.errors import InterlockError

__all__ = ["Keys", "flush_folder"]

KEY_BYTES = 32


class Keys:
    """The keys of companies, each derived from one key of the installation (HMAC-SHA-256, RFC 2104)."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._derived: dict[str, bytes] = {}

    @classmethod
    def of_file(cls, path: Path) -> "Keys":
        """Read the installation's key, making one if there is none; readable by its owner alone.

        Raises InterlockError `content.bad_key` when the file is not such a key, `content.no_key` when it can
        be neither read nor made.
        """
        try:
            if not path.exists():
                _make_key(path)
            key = bytes.fromhex(path.read_text("ascii"))
        except OSError as error:
            raise InterlockError("content.no_key", file=str(path), why=error) from None
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            raise InterlockError("content.bad_key", file=str(path))
        return cls(key)

    def digest(self, company: str, data: bytes) -> bytes:
        """Give the digest of `data` under the company's key: 32 bytes."""
        derived = self._derived.get(company)
        if derived is None:
            derived = hmac.digest(self._key, f"company:{company}".encode(), "sha256")
            self._derived[company] = derived
        return hmac.digest(derived, data, "sha256")


def _make_key(path: Path) -> None:
    """Write a new key, whole and on disk before it has its name; if another process is first, its key counts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_hex(KEY_BYTES).encode())
            file.flush()
            os.fsync(descriptor)
        os.link(fresh, path)
    except FileExistsError:
        return
    finally:
        fresh.unlink()
        flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Put the names of a folder's files on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
