"""A form: a plain value that a person wrote, read field by field, gathering every problem with its place.

Specs and settings are read through it, whether they come from YAML (then problems have file, line and
column) or from Python values (then the path says where). Reading goes on after a problem, so that a person
hears of all of them at once.
"""

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from interlock.catalogue import Text
from interlock.errors import InterlockError
from interlock.form.amount import LARGEST
from interlock.form.problem import Report, kind_of, looks_secret, shown
from interlock.form.twin import twin_of
from interlock.form.yaml_text import Path

__all__ = ["Form"]

T = TypeVar("T")

UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class Form:
    """A value inside a form, with its path. Absent and null values give the default that is asked for."""

    __slots__ = ("path", "report", "value")

    def __init__(self, value: Any, report: Report, path: Path = ()) -> None:
        self.value = value
        self.report = report
        self.path = path

    def refuse(self, code: str, at_key: bool = False, **params: Any) -> None:
        """Note a problem of this value."""
        self.report.add(code, self.path, at_key, **params)

    def not_accepted(self, accepted: Text, kinds: tuple[type, ...] = (), nearest: str | None = None) -> None:
        """Note that the value is not `accepted`: of none of `kinds`, or of one but not well formed."""
        concealed = self.report.conceals(self.path)
        fits = isinstance(self.value, kinds) and not isinstance(self.value, bool)
        wording: dict[str, Any] = {"nearest": nearest} if nearest and not concealed else {}
        wording |= {} if fits else {"found": kind_of(self.value)}
        value = "…" if concealed else shown(self.value)
        code = "form.malformed" if fits else "form.wrong_type"
        self.refuse(code, value=value, accepted=accepted, **wording)

    def at(self, key: str) -> "Form":
        """Give the value under `key`, which may be absent."""
        value = self.value.get(key) if isinstance(self.value, Mapping) else None
        return Form(value, self.report, (*self.path, key))

    def fields(self, known: Collection[str], required: Iterable[str] = ()) -> bool:
        """Check that the value is a mapping with `known` keys alone and all `required` ones."""
        if not isinstance(self.value, Mapping):
            self.not_accepted(Text("form.accepts.mapping_of", names=sorted(known)))
            return False
        meant = set()
        for key in self.value:
            if key not in known:
                nearest = None if self.report.full else _nearest(key, known)
                meant.add(nearest)
                inner = Form(None, self.report, (*self.path, key if isinstance(key, str) else shown(key)))
                wording: dict[str, Any] = {"nearest": nearest} if nearest else {}
                inner.refuse("form.unknown_key", True, value=shown(key), accepted=sorted(known), **wording)
        for key in required:
            if self.value.get(key) is None and key not in meant:
                self.at(key).refuse("form.missing_key", True, value=key, accepted=sorted(known))
        return True

    def entries(self) -> list[tuple[str, "Form"]]:
        """Give the entries of a mapping whose keys the author chose."""
        if self.value is None:
            return []
        if not isinstance(self.value, Mapping) or not all(isinstance(key, str) for key in self.value):
            self.not_accepted(Text("form.accepts.mapping"))
            return []
        return [(key, self.at(key)) for key in self.value]

    def items(self, single: bool = False) -> list["Form"]:
        """Give the items of a list; with `single`, a text alone stands for a list of one."""
        if self.value is None:
            return []
        if single and isinstance(self.value, str):
            return [self]
        if not isinstance(self.value, list | tuple):
            self.not_accepted(Text("form.accepts.list"))
            return []
        found = [Form(value, self.report, (*self.path, index)) for index, value in enumerate(self.value)]
        for item in found:
            if item.value is None:
                item.refuse("form.empty_item")
        return [item for item in found if item.value is not None]

    def unique(self, read: Callable[["Form"], T | None], single: bool = False) -> tuple[T, ...]:
        """Give each item of a list as `read` reads it; an item given twice is a problem."""
        found: dict[T, None] = {}
        for item in self.items(single):
            value = read(item)
            if value in found:
                item.refuse("form.doubled", value=shown(item.value))
            elif value is not None:
                found[value] = None
        return tuple(found)

    def text(self, default: str = "") -> str:
        """Give a text that can be stored: no NUL and no lone surrogate in it (a problem otherwise)."""
        if self.value is None:
            return default
        if not isinstance(self.value, str):
            self.not_accepted(Text("form.accepts.text"))
        elif found := UNSTORABLE.search(self.value):
            self.refuse("form.character", value=f"U+{ord(found.group()):04X}", position=found.start() + 1)
        else:
            return str(self.value)
        return default

    def matching(self, pattern: re.Pattern[str], accepted: str) -> str | None:
        """Give a text that `pattern` matches; `accepted` names the sentence that says what would."""
        if self.value is None or (isinstance(self.value, str) and pattern.match(self.value)):
            return None if self.value is None else str(self.value)
        twin = twin_of(self.value) if isinstance(self.value, str) else ""
        nearest = (
            twin if twin != self.value and pattern.match(twin) and not looks_secret(self.value) else None
        )
        self.not_accepted(Text(f"form.accepts.{accepted}"), (str,), nearest)
        return None

    def made(self, make: Callable[[str], T], accepted: str) -> T | None:
        """Give what `make` makes of the text, such as a scope; its InterlockError is a problem."""
        if self.value is None:
            return None
        result = _attempt(make, self.value)
        if result is None:
            twin = twin_of(self.value) if isinstance(self.value, str) and not looks_secret(self.value) else ""
            nearest = twin if _attempt(make, twin) is not None else None
            self.not_accepted(Text(f"form.accepts.{accepted}"), (str,), nearest)
        return result

    def choice(self, choices: Collection[str], default: str) -> str:
        """Give one of `choices`."""
        if self.value is None or (isinstance(self.value, str) and self.value in choices):
            return default if self.value is None else str(self.value)
        self.not_accepted(
            Text("form.accepts.choice", names=list(choices)), (str,), _nearest(self.value, choices)
        )
        return default

    def flag(self, default: bool) -> bool:
        """Give `true` or `false`."""
        if isinstance(self.value, bool):
            return self.value
        if self.value is not None:
            self.not_accepted(Text("form.accepts.flag"))
        return default

    def whole(self, default: T, least: int = 0, most: int = LARGEST) -> int | T:
        """Give a whole number from `least` to `most`."""
        number = self.value
        if number is None:
            return default
        if isinstance(number, int) and not isinstance(number, bool) and least <= number <= most:
            return int(number)
        bounds = {"least": least} if most == LARGEST else {"least": least, "most": most}
        self.not_accepted(
            Text("form.accepts.range" if "most" in bounds else "form.accepts.whole", **bounds), (int,)
        )
        return default

    def amount(self, read: Callable[[Any], int | None], accepted: str, default: T, least: int = 0) -> int | T:
        """Give an amount (money, time, size) that `read` understands and that is not below `least`."""
        if self.value is None:
            return default
        number = read(self.value)
        if number is not None and number >= least:
            return number
        self.not_accepted(Text(f"form.accepts.{accepted}"), (str, int, float))
        return default


def _attempt(make: Callable[[str], T], value: Any) -> T | None:
    try:
        return make(value) if isinstance(value, str) else None
    except InterlockError:
        return None


def _nearest(word: Any, known: Collection[str]) -> str | None:
    if not isinstance(word, str):
        return None
    plain = twin_of(word[:64]).replace("-", "_")
    folded = {name.lower().replace("-", "_"): name for name in known}
    close = difflib.get_close_matches(plain, folded, 1, 0.6)
    return folded[close[0]] if close else None
