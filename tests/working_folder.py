"""A folder that a test works in as a person would, in English, in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def working_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Be in `folder`, in English, with no other home."""
    with monkeypatch.context() as during:
        during.chdir(folder)
        during.setenv("INTERLOCK_LANG", "en")
        during.delenv("INTERLOCK_HOME", raising=False)
        yield folder
