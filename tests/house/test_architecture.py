"""The architecture: imports point down, types hold, and the linter has nothing to say."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.project import ROOT


def check(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_imports_point_down() -> None:
    command = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    done = subprocess.run(
        [sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_linter_has_nothing_to_say() -> None:
    check("ruff", "check", "--no-cache", "src", "tests", "bench", "examples")


def test_the_types_hold(tmp_path: Path) -> None:
    """The providers' libraries are left out, which take longer to read than all of this; `mypy` alone reads them."""
    left_out = '[[tool.mypy.overrides]]\nmodule = ["pydantic_ai.*", "openai.*", "anthropic.*"]\n'
    settings = tmp_path / "pyproject.toml"
    own = (ROOT / "pyproject.toml").read_text("utf-8")
    settings.write_text(f'{own}\n{left_out}follow_imports = "skip"\n', "utf-8")
    check("mypy", "--config-file", str(settings), "--cache-dir", str(tmp_path), "--no-warn-unused-ignores")


@pytest.mark.parametrize("name", [".ci/run", "README.md", "README.pt-BR.md", "pyproject.toml"])
def test_what_a_checkout_needs_is_there(name: str) -> None:
    assert (ROOT / name).is_file()


def test_the_tests_are_run_as_the_readme_says() -> None:
    command = "pip install '.[test]' && python -m pytest"
    said = " ".join((ROOT / ".ci" / "run").read_text("utf-8").replace("--quiet ", "").split())
    assert command in said
    for name in ("README.md", "README.pt-BR.md"):
        assert command in (ROOT / name).read_text("utf-8")
