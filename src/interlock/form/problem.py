"""A problem of a form: what is wrong, where it was written, and what would be accepted; told all at once."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from interlock.catalogue import Text, say
from interlock.errors import InterlockError
from interlock.form.yaml_text import Marked, Path

__all__ = ["FormError", "Report", "kind_of", "looks_secret", "shown"]

REPORTED = 50
"""How many problems are told in full; the others are counted."""

KNOWN_SECRET = re.compile(
    r"(?:[spr]k[-_]|gh[pousr]_|xox[a-z]-|glpat-|hf_|AKIA|ASIA|AIza|eyJ)\S{10,}|-----BEGIN|(?i:bearer )"
)
DENSE = re.compile(r"[A-Za-z0-9+/=_-]{20,}\Z", re.ASCII)
URL_PASSWORD = re.compile(r"://[^/\s]*@")


def looks_secret(text: str) -> bool:
    """Tell whether a text looks like a key, token or password rather than like a name."""
    dense = DENSE.match(text) and any(map(str.isdigit, text)) and any(map(str.isupper, text))
    return bool(dense or KNOWN_SECRET.match(text) or URL_PASSWORD.search(text))


def shown(value: Any) -> str:
    """Give a short text for an offending value; one that looks like a secret is withheld (GT-7)."""
    if isinstance(value, str):
        text = "…" if looks_secret(value) else "".join(map(_visible, value[:81]))
    elif value is None or isinstance(value, bool):
        text = str(value).lower().replace("none", "null")
    elif isinstance(value, int | float):
        text = str(value) if not isinstance(value, int) or value.bit_length() < 200 else "…"
    elif isinstance(value, Mapping):
        text = "{…}"
    elif isinstance(value, list | tuple):
        text = "[…]"
    else:
        text = type(value).__name__
    return text if len(text) <= 80 else f"{text[:80]}…"


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def kind_of(value: Any) -> Text:
    """Give the wording for the kind of a value: a text, a number, a list."""
    for kind, types in (
        ("text", str),
        ("boolean", bool),
        ("number", int | float),
        ("mapping", Mapping),
        ("list", list | tuple),
    ):
        if isinstance(value, types):
            return Text(f"form.kind.{kind}")
    return Text("form.kind.null" if value is None else "form.kind.other")


class FormError(InterlockError):
    """A form that was not accepted. Each of `problems` has code, file, line, column, path and value."""

    @property
    def problems(self) -> list[dict[str, Any]]:
        """The problems, in the order in which they stand in the file; at most 50."""
        found: list[dict[str, Any]] = self.params["problems"]
        return found

    def what(self, language: str = "en") -> str:
        """Say what happened: one line for the form, and one for each problem."""
        lines = (f"- {item['where']}: {_sentence(item, language)}" for item in self.problems)
        return "\n".join([super().what(language), *lines])

    def __str__(self) -> str:
        return f"{self.code}: {self.what()}\n{self.remedy()}"

    def as_dict(self, language: str = "en") -> dict[str, Any]:
        """Give what every error gives, and the problems, each with its sentence in `what`."""
        problems = [{**item, "what": _sentence(item, language)} for item in self.problems]
        return {**super().as_dict(language), "problems": problems}


def _sentence(problem: Mapping[str, Any], language: str) -> str:
    params = {name: value for name, value in problem.items() if name != "code"}
    ending = "nearest" if problem.get("nearest") else "remedy"
    code = problem["code"]
    return f"{say(code, language, **params)} {say(f'{code}.{ending}', language, **params)}"


class Report:
    """The problems found in one form, and where its values were written."""

    def __init__(self, marked: Marked | None = None, conceals: Callable[[Path], bool] | None = None) -> None:
        self._marked = marked
        self._conceals = conceals
        self._problems: list[dict[str, Any]] = []
        self._count = 0

    def add(self, code: str, path: Path, at_key: bool = False, **params: Any) -> None:
        """Note a problem at `path`; `at_key` places it at the key rather than at the value."""
        self._count += 1
        if self._count > REPORTED:
            return
        place: dict[str, Any] = {"path": _dotted(path)}
        place["where"] = place["path"] or "."
        if self._marked is not None:
            line, column = (self._marked.where_key if at_key else self._marked.where)(path)
            where = f"{self._marked.file}:{line}:{column}"
            place |= {"file": self._marked.file, "line": line, "column": column}
            place["where"] = f"{where} `{place['path']}`" if path else where
        self._problems.append({"code": code, **place, **params})

    def conceals(self, path: Path) -> bool:
        """Tell whether a secret may have been pasted at `path`, so that its value is shown to nobody."""
        return self._conceals is not None and self._conceals(path)

    @property
    def full(self) -> bool:
        """Whether further problems are only counted."""
        return self._count >= REPORTED

    def __bool__(self) -> bool:
        return bool(self._problems)

    def refuse(self, code: str) -> NoReturn:
        """Raise FormError `code` with every problem that was noted."""
        file = self._marked.file if self._marked is not None else "Python"
        self._problems.sort(key=lambda item: (item.get("line", 0), item.get("column", 0)))
        raise FormError(code, file=file, count=self._count, problems=self._problems)


def _dotted(path: Path) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{shown(step)}" if text else shown(step)
    return text
