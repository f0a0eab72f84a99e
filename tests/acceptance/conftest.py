"""Fixtures of tests with real processes."""

from collections.abc import Iterator

import pytest

from tests.processes import Processes, processes


@pytest.fixture(scope="session")
def commands() -> Iterator[Processes]:
    """What starts `interlock` commands, each in a process of its own."""
    with processes() as found:
        yield found
