"""Tests of the modules of an installation: what they declare, and what counts as their code."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from interlock.modules import load_modules


@pytest.mark.rule("AG-2", "AG-6")
def test_the_code_of_a_python_environment_inside_the_folder_is_not_the_agents_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "body_beside_environment.py").write_text("async def body(run):\n    pass\n")
    library = tmp_path / ".venv" / "lib" / "library.py"
    library.parent.mkdir(parents=True)
    library.write_text("")
    loaded = ModuleType("library_in_environment")
    loaded.__file__ = str(library)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    before = load_modules(tmp_path, ["body_beside_environment.py"])
    monkeypatch.setitem(sys.modules, "library_in_environment", loaded)
    after = load_modules(tmp_path, ["body_beside_environment.py"])
    name = "body_beside_environment:body"
    assert before.functions[name].code_digest == after.functions[name].code_digest


@pytest.mark.rule("AG-6")
def test_the_code_beside_a_body_is_the_agents_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "body_with_neighbour.py").write_text("async def body(run):\n    pass\n")
    neighbour = ModuleType("a_neighbour")
    neighbour.__file__ = str(tmp_path / "neighbour.py")
    (tmp_path / "neighbour.py").write_text("LIMIT = 1\n")
    monkeypatch.setitem(sys.modules, "a_neighbour", neighbour)
    name = "body_with_neighbour:body"
    first = load_modules(tmp_path, ["body_with_neighbour.py"]).functions[name].code_digest
    (tmp_path / "neighbour.py").write_text("LIMIT = 2\n")
    second = load_modules(tmp_path, ["body_with_neighbour.py"]).functions[name].code_digest
    assert first != second
