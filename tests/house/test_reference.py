"""The reference is current and complete: commands, options, settings, errors, steps, fault points, public names."""

import ast
from dataclasses import fields
from functools import cache

import pytest

import interlock
from interlock import reference
from interlock.fault import POINTS
from interlock.ledger.kind import KINDS
from interlock.settings_reader import MODEL_KEYS, SETTINGS_KEYS
from tests.house.project import PACKAGE, ROOT, name_of, sources, tree_of
from tests.house.test_catalogue import errors

FOLDER = ROOT / "docs" / "reference"


def page(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


@cache
def written_now() -> dict[str, str]:
    return reference.pages()


@pytest.mark.parametrize("name", ["commands.md", "settings.md", "errors.md", "steps.md", "tools.md"])
def test_the_pages_are_current(name: str) -> None:
    assert page(name) == written_now()[name], "run `python -m interlock.reference`"


@pytest.mark.rule("UI-1")
def test_every_command_and_option_is_described() -> None:
    from interlock.cli import COMMANDS

    for name in COMMANDS:
        assert f"## `interlock {name}`" in page("commands.md")
    for path in sources("src/interlock/cli"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(part, ast.Name) and part.id == "Parameter" for part in ast.walk(node.args)
            ):
                for option in node.args.kwonlyargs:
                    if option.arg != "options":
                        assert f"--{option.arg.replace('_', '-')}" in page("commands.md"), option.arg


@pytest.mark.rule("BI-2")
def test_every_setting_is_described() -> None:
    text = page("settings.md")
    for key in (*SETTINGS_KEYS, *MODEL_KEYS):
        assert f"| `{key}` |" in text, key
    for form in reference.FORMS:
        for item in fields(form):
            name = reference.WRITTEN_AS.get(item.name, item.name)
            rows = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
            assert rows
            assert not any(row.endswith("|  |") for row in rows), (
                f"{form.__name__}.{item.name} has no description"
            )


@pytest.mark.rule("BI-1")
def test_every_error_is_described() -> None:
    text = page("errors.md")
    missing = [code for code in errors() if f"| `{code}` |" not in text]
    assert not missing


def kinds_written() -> dict[str, str]:
    """Give each kind of step that the code writes, with where."""
    found = {}
    for path in sources("src"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if called in {"Draft", "note"}:
                    found[str(node.args[0].value)] = f"{name_of(path)}:{node.lineno}"
    return found


@pytest.mark.rule("RN-3")
def test_every_kind_of_step_is_described() -> None:
    assert not {kind: where for kind, where in kinds_written().items() if kind not in KINDS}
    code = "\n".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py") if path.name != "kind.py")
    assert not [kind for kind in KINDS if f'"{kind}"' not in code]
    for kind in KINDS:
        assert f"| `{kind}` |" in page("steps.md")


def test_every_fault_point_is_reached_and_described() -> None:
    code = "\n".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py") if path.name != "fault.py")
    for point in POINTS:
        assert f'"{point}"' in code, point
        assert f"- `{point}`" in page("steps.md")


def test_every_public_name_is_described() -> None:
    for name in interlock.__all__:
        assert f"| `{name}` |" in page("tools.md")
