"""The stores that every test of what a ledger does runs on."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ledger.world import STORES, SqliteStore


@pytest.fixture(params=sorted(STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SqliteStore:
    return STORES[request.param](tmp_path)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with 2 MiB of room, half of it taken by a file `ballast`."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a small file system")
    try:
        (folder / "ballast").write_bytes(bytes(1 << 20))
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
