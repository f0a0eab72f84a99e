"""The project as the house tests see it: its files under version control, its modules, and what they declare."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "interlock"


@cache
def tracked() -> tuple[Path, ...]:
    """Give every file under version control that is there, also those about to be added."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("this is not a checkout under version control")
    return tuple(sorted(ROOT / name for name in done.stdout.splitlines() if (ROOT / name).is_file()))


def sources(*folders: str) -> list[Path]:
    """Give the Python files below some folders of the project."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    """Give the syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"), str(path))


def name_of(path: Path) -> str:
    """Give a path as the project knows it."""
    return path.relative_to(ROOT).as_posix()


def functions_in(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Give every function and method of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
