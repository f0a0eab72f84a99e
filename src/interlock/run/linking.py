"""Linking: that two actors whom an agent knows are one person, on evidence, and that they are not after all (PX-2).

A link counts in the one perspective in which it is made. It widens nothing by itself: what somebody observed under one
identity may from then on be said before them under the other.
"""

from interlock.errors import InterlockError
from interlock.ledger.ledger import Write
from interlock.ledger.step import Draft
from interlock.perspective.perspective import Perspective
from interlock.run.installation import Installation
from interlock.scope.scope import Address

__all__ = ["link", "unlink"]

LONGEST = 4000
"""How many characters the evidence may have."""


async def link(
    installation: Installation, agent: Address, one: str, other: str, evidence: str, by: str
) -> None:
    """Say that two actors of an agent's perspective are one person. `evidence` says why, `by` is who says so.

    Raises InterlockError `memory.unknown_actor`, `memory.same_actor` or `memory.no_evidence`.
    """
    await _write(installation, agent, "identity.linked", one, other, evidence, by)


async def unlink(
    installation: Installation, agent: Address, one: str, other: str, evidence: str, by: str
) -> None:
    """Say that two actors are not one person after all. What was said while they counted as one stays said.

    Raises what `link` does, and InterlockError `memory.not_linked`.
    """
    view = Perspective(installation.ledger, agent)
    if other not in await view.linked(one):
        raise InterlockError("memory.not_linked", one=one, other=other)
    await _write(installation, agent, "identity.unlinked", one, other, evidence, by)


async def _write(
    installation: Installation, agent: Address, kind: str, one: str, other: str, evidence: str, by: str
) -> None:
    view = Perspective(installation.ledger, agent)
    for actor in (one, other):
        if await view.name_of(actor) is None:
            raise InterlockError("memory.unknown_actor", value=actor)
    if one == other:
        raise InterlockError("memory.same_actor", value=one)
    if not evidence.strip() or len(evidence) > LONGEST:
        raise InterlockError("memory.no_evidence", limit=LONGEST)
    kept = await installation.contents.keep_any(
        agent.scope.company, evidence.encode(errors="backslashreplace")
    )
    first, second = sorted((one, other))
    body = {"perspective": agent, "one": first, "other": second, "evidence": kept.digest, "by": by}
    await installation.ledger.append((Write(agent, None, (Draft(kind, body),)),), contents=(kept.row,))
