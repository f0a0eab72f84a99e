"""What the tests of people's commands share: reading the human queue, and seeing a command refused."""

from typing import Any

from tests.acceptance.company import Company
from tests.processes import Done, Processes

__all__ = ["refused", "waiting"]


def waiting(commands: Processes, company: Company) -> list[dict[str, Any]]:
    """Give what waits, as programs read it."""
    found: list[dict[str, Any]] = commands.run("queue", "--json", folder=company.folder).json()
    return found


def refused(done: Done, code: str) -> None:
    """Check that a command was refused, by its code, and said nothing else."""
    assert done.code == 2, done
    assert f"({code})" in done.errors, done.errors
    assert done.out == b""
