"""The error of Interlock: a code, what happened with the offending value, and what to do about it.

One class serves all: the code's first word is the domain (`spec.unknown_field`), the sentences are the
catalogue's `<code>` and `<code>.remedy`, so that a code without words cannot exist unnoticed.
"""

import errno
from collections.abc import Sequence
from typing import Any

from interlock.catalogue import Text, say

__all__ = ["InterlockError", "SeveralError"]

SHOWN = 200
TOLD = (
    *("EACCES", "EEXIST", "EIO", "EISDIR", "ELOOP", "EMFILE", "ENAMETOOLONG", "ENOENT"),
    *("ENOSPC", "ENOTDIR", "EPERM", "EROFS"),
)
"""What the system says that the catalogue has in both languages; the rest is told in the system's own words."""


def _shorten(value: Any) -> Any:
    if isinstance(value, str):
        value = value.encode("utf-8", "backslashreplace").decode()
        return value if len(value) <= SHOWN else f"{value[:SHOWN]}…"
    return _said(value) if isinstance(value, OSError) else value


def _said(error: OSError) -> Any:
    """Give what the system said, as a message where the catalogue has it."""
    name = errno.errorcode.get(error.errno or 0, "")
    return Text(f"system.{name.lower()}") if name in TOLD else _shorten(error.strerror or str(error))


class InterlockError(Exception):
    """An expected failure. `code` is stable; `params` hold the offending values, long ones shortened; an
    OSError among them stands for what the system said."""

    def __init__(self, code: str, /, **params: Any) -> None:
        self.code = code
        self.params = {name: _shorten(value) for name, value in params.items()}
        super().__init__(code)

    def what(self, language: str = "en") -> str:
        """Say what happened, with the offending value."""
        return say(self.code, language, **self.params)

    def remedy(self, language: str = "en") -> str:
        """Say what to do about it."""
        return say(f"{self.code}.remedy", language, **self.params)

    def __str__(self) -> str:
        return f"{self.code}: {self.what()} {self.remedy()}"

    def as_dict(self, language: str = "en") -> dict[str, Any]:
        """Give code, what and remedy for `--json` and for a model that is told about its mistake."""
        return {"code": self.code, "what": self.what(language), "remedy": self.remedy(language)}


class SeveralError(InterlockError):
    """Several errors that are told at once, so that all can be mended before the next try; `errors` are these."""

    def __init__(self, code: str, errors: Sequence[InterlockError]) -> None:
        super().__init__(code, count=len(errors))
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *map(str, self.errors)])

    def as_dict(self, language: str = "en") -> dict[str, Any]:
        """Give the error with those it consists of."""
        return {**super().as_dict(language), "errors": [error.as_dict(language) for error in self.errors]}
