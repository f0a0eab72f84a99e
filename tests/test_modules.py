"""Tests of the modules of an installation: what they declare, and what counts as their code."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from interlock.errors import InterlockError
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
@pytest.mark.parametrize(
    ("file", "counts"),
    [("near_neighbour.py", True), ("far_neighbour.py", True), ("stranger.py", False)],
)
def test_the_code_a_body_imports_is_the_agents_code_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, counts: bool
) -> None:
    """A change in a neighbour's neighbour is a change of the version; one in a file it never imports is none."""
    for known in ("near_neighbour", "far_neighbour"):
        monkeypatch.delitem(sys.modules, known, raising=False)
    late = "def late():\n    from near_neighbour import LIMIT\n    return LIMIT\n\nlate()\n\n"
    (tmp_path / "body_with_neighbours.py").write_text(f"{late}async def body(run):\n    pass\n")
    (tmp_path / "near_neighbour.py").write_text("import far_neighbour\nLIMIT = far_neighbour.LIMIT\n")
    (tmp_path / "far_neighbour.py").write_text("LIMIT = 1\n")
    (tmp_path / "stranger.py").write_text("LIMIT = 1\n")

    def digest() -> str:
        loaded = load_modules(tmp_path, ["body_with_neighbours.py", "stranger.py"])
        return loaded.functions["body_with_neighbours:body"].code_digest

    first = digest()
    with (tmp_path / file).open("a") as source:
        source.write("# another line\n")
    assert (digest() != first) is counts


@pytest.mark.rule("AG-6")
def test_neighbours_in_packages_count_however_they_are_imported(tmp_path: Path) -> None:
    package = tmp_path / "desk_package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "__init__.py").write_text("from . import deep\n")
    (package / "inner" / "deep.py").write_text("from ..limits import LIMIT\n")
    (package / "limits.py").write_text("LIMIT = 1\n")
    (tmp_path / "body_of_package.py").write_text(
        "import desk_package.inner.deep\n\nasync def body(run):\n    pass\n"
    )

    def digest() -> str:
        loaded = load_modules(tmp_path, ["body_of_package.py"])
        return loaded.functions["body_of_package:body"].code_digest

    first = digest()
    (package / "limits.py").write_text("LIMIT = 2\n")
    assert digest() != first


@pytest.mark.rule("BI-3")
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("class Odd(BaseException): ...\nraise Odd('x')\n", "Odd: x"),
        ("def f(:\n", "SyntaxError"),
    ],
)
def test_a_module_that_ends_while_it_loads_is_broken_and_ends_nothing_else(
    tmp_path: Path, code: str, said: str
) -> None:
    (tmp_path / "ending_module.py").write_text(code)
    with pytest.raises(InterlockError) as caught:
        load_modules(tmp_path, ["ending_module.py"])
    assert caught.value.code == "module.broken"
    assert said in caught.value.params["why"]


def test_an_interruption_while_a_module_loads_stays_one(tmp_path: Path) -> None:
    (tmp_path / "interrupted_module.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_modules(tmp_path, ["interrupted_module.py"])
