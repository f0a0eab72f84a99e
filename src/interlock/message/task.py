"""A task: what runs work on, with exactly one owner at any moment (MS-6, RN-7).

An owner is an agent by its address, the human queue of a scope (`people@acme/desk`), or a person who took the task
(`person:maria`). Every change of owner has a number, the epoch: whoever acts says by which epoch it owns the task, and
the database refuses an epoch that is over.
"""

from dataclasses import dataclass
from typing import Any, Self

from interlock.scope.scope import Address, Scope

__all__ = ["OPEN", "PEOPLE", "Task", "is_people", "owner_person", "people_of", "person_owner"]

OPEN = "open"
PEOPLE = "people"
"""The name under which the human queue of a scope is addressed; no agent can have it."""
PERSON = "person:"


def people_of(scope: Scope) -> Address:
    """Give the address of a scope's human queue."""
    return Address(f"{PEOPLE}@{scope}")


def is_people(address: str) -> bool:
    """Tell whether an address is that of a human queue."""
    return address.startswith(f"{PEOPLE}@")


def person_owner(name: str) -> str:
    """Give the owner that a person is."""
    return PERSON + name


def owner_person(owner: str) -> str | None:
    """Give the name of the person that owns, None for an agent or a human queue."""
    return owner.removeprefix(PERSON) if owner.startswith(PERSON) else None


@dataclass(frozen=True, slots=True)
class Task:
    """A task as the ledger has it. `pending` is the id of a hand-off that is not acknowledged; `state` is `open`, or
    how the task ended; `run` is the run it began with."""

    id: str
    root: str
    parent: str | None
    run: str
    owner: str
    epoch: int
    pending: str | None = None
    state: str = OPEN

    @classmethod
    def of_row(cls, row: tuple[Any, ...]) -> Self:
        """Read a row of the queries `task_by_id` and `tasks_of_root`."""
        return cls(*row)

    def opened_body(self, scope: Scope, by: dict[str, Any]) -> dict[str, Any]:
        """Give the body of the step that opens it. `by` says who or what opened it."""
        parent = {"parent": self.parent} if self.parent else {}
        return {
            "task": self.id,
            **parent,
            "owner": self.owner,
            "run": self.run,
            "scope": str(scope),
            "by": by,
        }
