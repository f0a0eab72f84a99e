"""The source of a log: a file of any size, compression and encoding, read as bounded lines in bounded
memory.
"""

import bz2
import codecs
import errno
import gzip
import lzma
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Protocol

from interlock.errors import InterlockError

__all__ = ["LogSource"]


class Readable(Protocol):
    """A file that is open for reading bytes, compressed or not."""

    def read(self, size: int, /) -> bytes:
        """Give at most so many bytes; none at the end."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


CHUNK = 1 << 20
SAMPLE = 1 << 16
LONGEST_LINE = 1 << 14
"""Characters of a line that are looked at; the rest is passed over, and the line counted as cut."""

COMPRESSIONS: tuple[tuple[bytes, str, Callable[[IO[bytes]], Readable]], ...] = (
    (b"\x1f\x8b", "gzip", lambda raw: gzip.GzipFile(fileobj=raw)),
    (b"BZh", "bzip2", bz2.BZ2File),
    (b"\xfd7zXZ\x00", "xz", lzma.LZMAFile),
)
FOREIGN = ((b"PK\x03\x04", "zip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"7z\xbc\xaf", "7z"), (b"\x7fELF", "ELF"))
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
NUL_RUN = re.compile(rb"\0{64,}")
CONTROL = bytes(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 27})
BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def _one_byte_each(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    span = error.object[error.start : error.end]
    return span.decode("latin-1"), error.end


codecs.register_error("incident.latin_1", _one_byte_each)


def _open(path: Path) -> IO[bytes]:
    shown = str(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InterlockError("incident.log_is_folder", path=shown)
        if not stat.S_ISREG(mode):
            raise InterlockError("incident.log_not_a_file", path=shown)
        return path.open("rb")
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}:
            raise InterlockError("incident.log_missing", path=shown) from None
        why = error.strerror or str(error)
        raise InterlockError("incident.log_unreadable", path=shown, why=why) from None
    except ValueError as error:  # a NUL inside the path
        raise InterlockError("incident.log_unreadable", path=shown, why=str(error)) from None


class LogSource:
    """A log file that is open for reading, once, from its first line to its last.

    path: where it is. Raises InterlockError `incident.log_missing`, `.log_is_folder`, `.log_not_a_file`,
    `.log_unreadable`, `.log_compressed` or `.log_binary`.

    What it knows about itself: `size` (bytes on disk), `compression`, `encoding`, `sample` (the first lines),
    and after reading `cut_lines`, `nul_bytes` and `broken` (why a compressed file ended early).
    """

    def __init__(self, path: str) -> None:
        self.path = path
        raw = _open(Path(path))
        self.size = Path(path).stat().st_size
        head = raw.read(8)
        raw.seek(0)
        self.compression = "none"
        self._file: Readable = raw
        for magic, name, opener in COMPRESSIONS:
            if head.startswith(magic):
                self.compression, self._file = name, opener(raw)
        for magic, name in FOREIGN:
            if head.startswith(magic):
                raw.close()
                raise InterlockError("incident.log_compressed", path=path, kind=name)
        self.cut_lines = self.nul_bytes = 0
        self.broken = ""
        self._chunks = self._read_chunks()
        self._first = next(self._chunks, b"")
        self.encoding = self._sniff(self._first[:SAMPLE])

    def _read_chunks(self) -> Iterator[bytes]:
        """Give the bytes in chunks, leaving out whole chunks of NUL: a log cut off while it is open has
        them.
        """
        while True:
            try:
                chunk = self._file.read(CHUNK)
            except BROKEN as error:
                self.broken = str(error) or type(error).__name__
                return
            except OSError as error:
                self.broken = error.strerror or str(error)
                return
            if not chunk:
                return
            if chunk.count(0) == len(chunk):
                self.nul_bytes += len(chunk)
                continue
            yield chunk

    def _sniff(self, sample: bytes) -> str:
        """Give the encoding: by its mark, by where the NULs of UTF-16 lie, else UTF-8 or Latin-1."""
        for mark, name in MARKS:
            if sample.startswith(mark):
                self._first = self._first[len(mark) :]
                return name
        nuls = sample.count(0)
        if nuls > len(sample) // 3 and len(sample) >= 4:
            odd, even = sample[1::2].count(0), sample[0::2].count(0)
            if max(odd, even) > 20 * min(odd, even) and max(odd, even) < len(sample) // 2 + 1:
                return "utf-16-le" if odd > even else "utf-16-be"
        text = NUL_RUN.sub(b"", sample)
        controls = len(text) - len(text.translate(None, CONTROL))
        if controls > max(4, len(text) // 20):
            self.close()
            raise InterlockError("incident.log_binary", path=self.path)
        try:
            codecs.getincrementaldecoder("utf-8")().decode(text)
        except UnicodeDecodeError:
            return "latin-1"
        return "utf-8"

    @property
    def sample(self) -> list[str]:
        """The first lines of the log, without the one that the sample cuts in two."""
        text = self._first[: 4 * SAMPLE].decode(self.encoding, "replace").replace("\0", "")
        lines = self._separate(text)
        return [_tidy(line[:LONGEST_LINE]) for line in (lines[:-1] or lines)[:500]]

    def _separate(self, text: str) -> list[str]:
        if "\n" not in text and "\r" in text:
            return text.split("\r")
        return text.split("\n")

    def _texts(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder(self.encoding)(
            errors="incident.latin_1" if self.encoding == "utf-8" else "replace"
        )
        if self._first:
            yield decoder.decode(self._first)
        for chunk in self._chunks:
            yield decoder.decode(chunk)
        yield decoder.decode(b"", final=True)

    def lines(self, stopped: Callable[[], bool] = lambda: False) -> Iterator[str]:
        """Give every line without its end, ANSI colours and NULs, at most LONGEST_LINE characters of each.

        `stopped` is asked once a chunk whether to stop reading.
        """
        rest, passing = "", False
        for text in self._texts():
            if stopped():
                return
            if "\0" in text:
                self.nul_bytes += text.count("\0")
                text = text.replace("\0", "")
            parts = self._separate(text)
            parts[0] = rest + parts[0]
            rest = parts.pop()
            for line in parts:
                if passing:
                    passing = False
                    continue
                if len(line) > LONGEST_LINE:
                    self.cut_lines += 1
                    line = line[:LONGEST_LINE]
                yield _tidy(line)
            if len(rest) > LONGEST_LINE:
                # The line goes on in the next chunk: its beginning is enough, the rest is passed over.
                if not passing:
                    self.cut_lines += 1
                    yield _tidy(rest[:LONGEST_LINE])
                rest, passing = "", True
        if rest and not passing:
            yield _tidy(rest)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _tidy(line: str) -> str:
    if "\x1b" in line:
        line = ANSI.sub("", line)
    if line.endswith("\r"):
        return line[:-1]
    return line
