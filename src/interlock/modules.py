"""Modules: the Python files of an installation, loaded for the tools and function bodies they declare."""

import ast
import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from interlock.connector.tool import BoundTool, Toolbox
from interlock.errors import InterlockError
from interlock.run.installation import Function

__all__ = ["Loaded", "load_modules"]


@dataclass(slots=True)
class Loaded:
    """What the modules of an installation declare."""

    tools: Toolbox = field(default_factory=Toolbox)
    functions: dict[str, Function] = field(default_factory=dict)


def load_modules(folder: Path, names: Iterable[str]) -> Loaded:
    """Load files (`tools.py`, relative to `folder`) and modules (`company.tools`), and collect what they declare.

    A function body is named `module:function`. The digest of its code covers its module's file and every file
    below `folder` that this imports, so that a change in a neighbour it uses is a change of the version, too.

    Raises InterlockError `module.missing` or `module.broken`, naming the file and what Python said.
    """
    loaded = Loaded()
    modules = [_load(folder, name) for name in names]
    root = folder.resolve()
    own = _own_modules(root)
    digest_of = cache(lambda name: _code_digest(root, name, own))
    seen: set[int] = set()
    for module in modules:
        for name, value in list(vars(module).items()):
            if isinstance(value, BoundTool) and id(value) not in seen:
                seen.add(id(value))
                loaded.tools.add(value)
            elif inspect.iscoroutinefunction(value) and value.__module__ == module.__name__:
                code_digest = digest_of(module.__name__)
                loaded.functions[f"{module.__name__}:{name}"] = Function(value, code_digest)
    return loaded


def _load(folder: Path, name: str) -> ModuleType:
    try:
        if not name.endswith(".py"):
            return importlib.import_module(name)
        path = (folder / name).resolve()
        if not path.is_file():
            raise InterlockError("module.missing", value=str(path))
        return _load_file(path)
    except (InterlockError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a module that calls `sys.exit` must not end whoever loads it
        why = f"{type(error).__name__}: {error}"
        raise InterlockError("module.broken", value=name, why=why) from error


def _load_file(path: Path) -> ModuleType:
    """Load a file as a module of its own name, with its folder on the path so that it finds its neighbours."""
    known: Any = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known  # type: ignore[no-any-return]
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InterlockError("module.missing", value=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def _code_digest(root: Path, module: str, own: Mapping[str, Path]) -> str:
    """The digest of a module's file and of those of its neighbours that it imports, directly or through others."""
    code = hashlib.sha256()
    for path in sorted({own[name] for name in _imported_by(module, own)}):
        code.update(f"{path.relative_to(root)}\n".encode())
        code.update(hashlib.sha256(path.read_bytes()).digest())
    return code.hexdigest()


def _imported_by(module: str, own: Mapping[str, Path]) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in own and name not in found:
            found.add(name)
            waiting += _names_imported(own[name], name)
    return found


def _names_imported(path: Path, module: str) -> Iterator[str]:
    """Give the full names that a file's import statements may mean: `from a import b` means `a`, and maybe `a.b`."""
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (part for item in node.names for part in _with_packages(item.name))
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield from _with_packages(source)
            yield from (f"{source}.{item.name}" for item in node.names)


def _with_packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))


def _own_modules(root: Path) -> dict[str, Path]:
    """Give the loaded modules whose files lie below `root`, by name, without those of a Python environment that
    lies there, too."""
    python = Path(sys.prefix).resolve()
    resolved = cache(Path.resolve)  # a resolution costs some 50 µs, and hundreds of files lie in few folders
    found = {}
    for name, module in list(sys.modules.items()):
        if file := getattr(module, "__file__", None):
            path = resolved(Path(file).parent) / Path(file).name
            of_python = path.is_relative_to(python) and python.is_relative_to(root)
            if path.is_relative_to(root) and path.suffix == ".py" and not of_python:
                found[name] = path
    return found
