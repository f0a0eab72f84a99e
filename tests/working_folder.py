"""A folder that a test works in as a person would: what is loaded, set and changed there is forgotten afterwards."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def working_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in `folder`, in English.

    Installations name their modules alike (`tools`), so whatever was loaded meanwhile from outside the installed
    packages is taken out again, and what stood in its place is put back.
    """
    before, path = dict(sys.modules), list(sys.path)
    with monkeypatch.context() as during:
        during.chdir(folder)
        during.setenv("INTERLOCK_LANG", "en")
        during.delenv("INTERLOCK_HOME", raising=False)
        try:
            yield folder
        finally:
            sys.path[:] = path
            for name, module in list(sys.modules.items()):
                if before.get(name) is not module and "." not in name and _is_foreign(module, folder):
                    del sys.modules[name]
                    if name in before:
                        sys.modules[name] = before[name]


def _is_foreign(module: object, folder: Path) -> bool:
    file = str(getattr(module, "__file__", None) or "")
    return file.startswith(str(folder)) or "/examples/" in file
