"""Modules: the Python files of an installation, loaded for the tools and function bodies they declare."""

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable
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

    A function body is named `module:function`. The digest of its code covers every file below `folder` that
    was loaded with it, so that a change in a module beside it is a change of the version, too.

    Raises InterlockError `module.missing` or `module.broken`, naming the file and what Python said.
    """
    loaded = Loaded()
    modules = [_load(folder, name) for name in names]
    code_digest = _code_digest(folder)
    seen: set[int] = set()
    for module in modules:
        for name, value in list(vars(module).items()):
            if isinstance(value, BoundTool) and id(value) not in seen:
                seen.add(id(value))
                loaded.tools.add(value)
            elif inspect.iscoroutinefunction(value) and value.__module__ == module.__name__:
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
    except InterlockError:
        raise
    except Exception as error:
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


def _code_digest(folder: Path) -> str:
    root = folder.resolve()
    code = hashlib.sha256()
    for path in sorted(_own_files(root)):
        code.update(f"{path.relative_to(root)}\n".encode())
        code.update(hashlib.sha256(path.read_bytes()).digest())
    return code.hexdigest()


def _own_files(root: Path) -> set[Path]:
    """Give the loaded files below `root`, without those of a Python environment that lies there, too: which of
    its modules are loaded depends on the command."""
    python = Path(sys.prefix).resolve()
    resolved = cache(Path.resolve)  # a resolution costs some 50 µs, and hundreds of files lie in few folders
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    found = (resolved(path.parent) / path.name for path in map(Path, filter(None, files)))
    return {
        path
        for path in found
        if path.is_relative_to(root) and not (path.is_relative_to(python) and python.is_relative_to(root))
    }
