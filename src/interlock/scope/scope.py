"""A scope: the installation `*`, a company `acme`, or an area `acme/platform`; and an agent's address."""

import re
from functools import lru_cache
from typing import Self

from interlock.errors import InterlockError

__all__ = ["INSTALLATION", "Address", "Scope"]

NAME = re.compile(r"[a-z0-9-]{1,63}\Z", re.ASCII)
LONGEST = 63 + 1 + 63
LONGEST_ADDRESS = 63 + 1 + LONGEST  # asked before the cache, so that it never keeps a text of megabytes


class Scope(str):
    """A scope, which is its own text: equal texts are equal scopes.

    `Scope("acme/platform")` raises InterlockError `scope.malformed` for anything that is not the
    installation, a company or an area.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        """Check the text and give the scope."""
        if isinstance(text, cls):
            return text
        if not isinstance(text, str) or len(text) > LONGEST or not _well_formed(text):
            raise InterlockError("scope.malformed", value=str(text))
        return super().__new__(cls, text)

    @property
    def company(self) -> "Scope":
        """The company this scope belongs to; the installation for the installation."""
        return self if "/" not in self else _scope(self.partition("/")[0])

    def reaches(self, other: "Scope") -> bool:
        """Tell whether `other` is this scope or lies below it (SC-1); siblings never reach each other."""
        return self in {"*", other} or (other[len(self) : len(self) + 1] == "/" and other.startswith(self))


@lru_cache(4096)
def _well_formed(text: str) -> bool:
    return text == "*" or (text.count("/") <= 1 and all(NAME.match(part) for part in text.split("/")))


@lru_cache(4096)
def _scope(text: str) -> Scope:
    """A scope of a text that was checked before, as part of another scope or of an address."""
    return Scope(text)


@lru_cache(4096)
def _is_address(text: str) -> bool:
    name, at, scope = text.partition("@")
    return bool(at and NAME.match(name) and _well_formed(scope))


INSTALLATION = Scope("*")


class Address(str):
    """An agent's address `name@scope`, which is its own text (SC-2).

    Raises InterlockError `scope.malformed_address` for anything else.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        """Check the text and give the address."""
        if isinstance(text, cls):
            return text
        if not isinstance(text, str) or len(text) > LONGEST_ADDRESS or not _is_address(text):
            raise InterlockError("scope.malformed_address", value=str(text))
        return super().__new__(cls, text)

    @property
    def name(self) -> str:
        """The part before the `@`."""
        return self.partition("@")[0]

    @property
    def scope(self) -> Scope:
        """The scope the agent lives in."""
        return _scope(self.partition("@")[2])
