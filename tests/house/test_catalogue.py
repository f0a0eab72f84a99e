"""The catalogue of messages: every sentence that the code can say is there, in both languages, and nothing else."""

import ast
import re
import string
from functools import cache
from pathlib import Path

import pytest
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po

from interlock.catalogue import LANGUAGES, LOCALE
from interlock.fault import POINTS
from interlock.ledger.kind import KINDS
from tests.house.project import PACKAGE, ROOT, name_of, sources, tree_of

FILES = sorted(LOCALE.glob("*/LC_MESSAGES/*.po"))
DOMAINS = sorted({path.stem for path in FILES})
MESSAGE = re.compile(rf"(?:{'|'.join(DOMAINS)})(?:\.[a-z0-9_]+)+(?<!_)\Z")
SAME = {"cli.trail.task", "cli.option.json", "trail.because"}
"""Sentences that are the same in both languages because they hold names alone."""


@cache
def entries(path: Path) -> dict[str, str]:
    with path.open("rb") as file:
        return {str(item.id): str(item.string) for item in read_po(file) if item.id}


@cache
def catalogue(language: str) -> dict[str, str]:
    folder = LOCALE / language.replace("-", "_") / "LC_MESSAGES"
    return {code: text for domain in DOMAINS for code, text in entries(folder / f"{domain}.po").items()}


def code_files() -> list[Path]:
    return [*sources("src"), *sources("examples")]


@cache
def said() -> dict[str, str]:
    """Give each message id that stands in the code as a literal, with where."""
    found: dict[str, str] = {}
    for path in code_files():
        documented = {id(node) for node in _docstrings(path)}
        inside = {
            id(part)
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.JoinedStr)
            for part in node.values
        }
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if id(node) in documented | inside or not MESSAGE.match(node.value):
                continue
            found.setdefault(node.value, f"{name_of(path)}:{node.lineno}")
    return found


def _docstrings(path: Path) -> list[ast.expr]:
    return [node.value for node in ast.walk(tree_of(path)) if isinstance(node, ast.Expr)]


@cache
def families() -> dict[str, re.Pattern[str]]:
    """Give each family of ids that the code puts together, `f"trail.closed_{status}"`, as a pattern, with where."""
    found: dict[str, re.Pattern[str]] = {}
    for path in code_files():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.JoinedStr):
                pattern = "".join(
                    re.escape(part.value) if isinstance(part, ast.Constant) else r"[a-z0-9_.]+"
                    for part in node.values
                )
                if re.match(rf"(?:{'|'.join(DOMAINS)})\\\.", pattern):
                    found[f"{name_of(path)}:{node.lineno}"] = re.compile(pattern + r"\Z")
    return found


def is_code(code: str) -> bool:
    return code in catalogue("en")


@cache
def elsewhere() -> frozenset[str]:
    """Give what looks like a message id and is none: step kinds, fault points, the name of a file and of a codec."""
    return frozenset({*POINTS, *KINDS, "ledger.db", "incident.latin_1"})


@pytest.mark.rule("LP-7")
def test_every_message_that_is_said_has_a_sentence() -> None:
    missing = {
        code: where
        for code, where in said().items()
        if not is_code(code)
        and code not in elsewhere()
        and not code.endswith((".py", ".yaml", ".sql", ".md"))
    }
    assert not missing


@pytest.mark.rule("LP-7")
def test_every_family_of_messages_has_members() -> None:
    for where, pattern in families().items():
        assert any(pattern.match(code) for code in catalogue("en")), f"{where}: {pattern.pattern}"


@pytest.mark.rule("LP-7")
def test_no_sentence_is_left_over() -> None:
    patterns = list(families().values())
    ends = (".remedy", ".told", ".nearest")
    text = "\n".join(
        path.read_text("utf-8") for path in (*PACKAGE.rglob("*.yaml"), *(ROOT / "examples").rglob("*.yaml"))
    )
    unused = [
        code
        for code in catalogue("en")
        if code not in said()
        and not any(code.endswith(end) and _used(code.removesuffix(end), patterns) for end in ends)
        and not any(pattern.match(code) for pattern in patterns)
        and code not in text
    ]
    assert not unused


def _used(code: str, patterns: list[re.Pattern[str]]) -> bool:
    return code in said() or any(pattern.match(code) for pattern in patterns)


@pytest.mark.rule("LP-7")
def test_both_languages_have_the_same_messages_with_the_same_values() -> None:
    english, portuguese = (catalogue(language) for language in LANGUAGES)
    assert english.keys() == portuguese.keys()
    for code, sentence in english.items():
        assert values(sentence) == values(portuguese[code]), code
        assert sentence.strip(), code
        words = re.sub(r"\{[^}]*\}|`[^`]*`|[^A-Za-z]+", " ", sentence).split()
        if len(words) > 2 and code not in SAME:
            assert sentence != portuguese[code], f"{code} is not translated"


def values(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


@cache
def errors() -> dict[str, str]:
    """Give each code that an InterlockError is raised with, with where."""
    found = {}
    for path in code_files():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                first = node.args[0]
                if node.func.id in {"InterlockError", "FormError"} and isinstance(first, ast.Constant):
                    found[str(first.value)] = f"{name_of(path)}:{node.lineno}"
    return found


@pytest.mark.rule("LP-7", "BI-1")
def test_every_error_says_what_to_do() -> None:
    missing = {code: where for code, where in errors().items() if f"{code}.remedy" not in catalogue("en")}
    assert not missing


@pytest.mark.rule("LP-7")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_the_compiled_catalogue_is_current(path: Path) -> None:
    with path.with_suffix(".mo").open("rb") as file:
        compiled = {str(item.id): str(item.string) for item in read_mo(file) if item.id}
    assert compiled == entries(path), "run `python -m interlock.catalogue`"
    assert all(code.startswith(f"{path.stem}.") for code in compiled)
