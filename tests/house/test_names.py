"""Names, docstrings and sizes: what a reader of any module may rely on."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.house.project import PACKAGE, functions_in, name_of, sources, tree_of

SOURCES = sources("src")
TESTS = sources("tests")
VAGUE = {"utils", "util", "helpers", "helper", "manager", "service", "base", "common", "misc"}
OPENING = re.compile(r"(An? |The |Interlock: |`[^`]+`|[A-Z]\w*( \w+)*[:,] |[A-Z][a-z]+s |What |How )")
FUNCTION_LINES, MODULE_LINES, TEST_LINES = 60, 400, 720


def ids(paths: list[Path]) -> list[str]:
    return [name_of(path) for path in paths]


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=name_of)
def test_a_module_opens_with_what_it_is(path: Path) -> None:
    tree = tree_of(path)
    if not tree.body:
        return
    docstring = ast.get_docstring(tree)
    assert docstring, "it has no docstring"
    assert OPENING.match(docstring), f"it does not open with its noun: {docstring[:60]}"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_what_is_public_is_described_and_listed(path: Path) -> None:
    tree = tree_of(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and not inner.name.startswith(
                    "_"
                ):
                    assert ast.get_docstring(inner), f"{node.name}.{inner.name}"
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            overload = any(
                isinstance(item, ast.Name) and item.id == "overload" for item in node.decorator_list
            )
            assert overload or ast.get_docstring(node), node.name
    exported = [ast.literal_eval(node.value) for node in tree.body if _assigns(node, "__all__")]
    if not any(not isinstance(node, ast.Expr) for node in tree.body) or path.name == "__main__.py":
        return
    if "first_company" in path.parts:
        return
    assert exported, "it has no __all__"
    assert list(exported[0]) == sorted(exported[0], key=_order), "__all__ is not in order"
    known = {*_defined(tree)}
    if path != PACKAGE / "__init__.py":
        assert set(exported[0]) <= known, set(exported[0]) - known


def _assigns(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(item, ast.Name) and item.id == name for item in node.targets
    )


def _order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as the linter sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def _defined(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update((item.asname or item.name) for item in node.names)
    return found


def test_every_public_name_of_the_package_is_there() -> None:
    interlock = import_module("interlock")
    for name in interlock.__all__:
        assert getattr(interlock, name).__doc__, name


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=name_of)
def test_names_say_what_things_are(path: Path) -> None:
    assert not VAGUE & set(path.with_suffix("").name.split("_"))
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words = set(re.sub(r"([A-Z])", r"_\1", node.name).lower().split("_"))
            assert node.name.startswith("test_") or not VAGUE & words, node.name


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=name_of)
def test_modules_and_functions_are_small(path: Path) -> None:
    lines = len(path.read_text("utf-8").splitlines())
    assert lines <= (TEST_LINES if "tests" in path.parts else MODULE_LINES)
    if "tests" in path.parts:
        return
    for function in functions_in(tree_of(path)):
        docstring = ast.get_docstring(function, clean=False) or ""
        length = (function.end_lineno or 0) - function.lineno + 1 - docstring.count("\n")
        assert length <= FUNCTION_LINES, function.name
