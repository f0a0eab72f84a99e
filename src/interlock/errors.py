"""The error of Interlock: a code, what happened with the offending value, and what to do about it.

One class serves all: the code's first word is the domain (`spec.unknown_field`), the sentences are the
catalogue's `<code>` and `<code>.remedy`, so that a code without words cannot exist unnoticed.
"""

from typing import Any

from interlock.catalogue import say

__all__ = ["InterlockError"]

SHOWN = 200


def _shorten(value: Any) -> Any:
    if isinstance(value, str):
        value = value.encode("utf-8", "backslashreplace").decode()
        return value if len(value) <= SHOWN else f"{value[:SHOWN]}…"
    return value


class InterlockError(Exception):
    """An expected failure. `code` is stable; `params` hold the offending values, long ones shortened."""

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
