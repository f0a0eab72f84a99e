"""An installation: the parts that every run needs, put together once by `interlock.runtime`."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Protocol

from interlock.agent.spec import Spec
from interlock.clock import Clock
from interlock.connector.model.model import Model, ToolOffer
from interlock.connector.tool import Toolbox
from interlock.errors import InterlockError
from interlock.fault import Reach, nothing
from interlock.ledger.content_store import ContentStore
from interlock.ledger.ledger import Ledger
from interlock.perspective.resolver import instructions_of, offer_of
from interlock.run.platform_tools import offered_to
from interlock.scope.scope import Address, Scope
from interlock.settings import Settings

KNOWN = 1000
"""Among how many agents the nearest name is looked for."""

__all__ = ["Function", "Installation", "Models"]


class Models(Protocol):
    """The models by role."""

    def open(self, role: str) -> Model:
        """Give the model of a role. Raises InterlockError for a role that the settings do not name."""
        ...


@dataclass(frozen=True, slots=True)
class Function:
    """A function body as it is loaded now, with the digest of its code."""

    call: Callable[[Any], Awaitable[Any]]
    code_digest: str


@dataclass(slots=True)
class Installation:
    """The parts of one installation in one process. `language` is that of prompts."""

    ledger: Ledger
    contents: ContentStore
    settings: Settings
    clock: Clock
    tools: Toolbox
    models: Models
    functions: Mapping[str, Function] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    reach: Reach = nothing
    _specs: dict[tuple[str, int], Spec] = field(default_factory=dict)
    _heads: dict[tuple[str, int, str], tuple[str, tuple[ToolOffer, ...]]] = field(default_factory=dict)

    async def spec(self, agent: str, version: int) -> Spec:
        """Give the spec of a published version; versions never change, so it is read once.

        Raises InterlockError `agent.no_version`.
        """
        spec = self._specs.get((agent, version))
        if spec is None:
            found = await self.ledger.query("version_of_agent", agent, version)
            if not found:
                raise InterlockError("agent.no_version", agent=agent, version=version)
            spec = Spec.from_dict(json.loads(await self.contents.read(found[0][2])))
            self._specs[agent, version] = spec
        return spec

    def prompt_head(self, spec: Spec, version: int, kind: str) -> tuple[str, tuple[ToolOffer, ...]]:
        """Give what every prompt of a version begins with, made once: its instructions and its tools.
        `kind` is what opened the run."""
        if kind == "work":  # what a part of the work is told differs from part to part
            return self.head_of(spec, kind)
        key = (spec.address, version, kind)
        head = self._heads.get(key)
        if head is None:
            head = self._heads[key] = self.head_of(spec, kind)
        return head

    def head_of(self, spec: Spec, kind: str) -> tuple[str, tuple[ToolOffer, ...]]:
        """Give what every prompt of a spec begins with, published or not."""
        declared = self.tools.declarations
        offers = [offer_of(declared[name]) for name in spec.tools if name in declared]
        instructions = instructions_of(spec, kind, self.settings.report_words, self.settings.language)
        return instructions, (*offers, *map(offer_of, offered_to(spec, kind)))

    async def current(self, address: Address) -> tuple[int, str]:
        """Give the number of an agent's current version, and its state: `active`, `paused`, `retired` or
        `stopped`. Raises InterlockError `agent.unknown` or `agent.unknown_near`."""
        found = await self.ledger.query("agent_by_address", address)
        if not found:
            known = [row[0] for row in await self.ledger.query("agents_after", "", KNOWN)]
            near = get_close_matches(address, known, n=1, cutoff=0.85)
            raise InterlockError(
                "agent.unknown_near" if near else "agent.unknown", value=address, near="".join(near)
            )
        _, scope, version, state, _ = found[0]
        return version, "stopped" if self.is_stopped(Scope(scope), await self.stopped()) else state

    async def stopped(self) -> list[Scope]:
        """Give the scopes that are stopped as a whole."""
        return [Scope(scope) for (scope,) in await self.ledger.query("stopped_scopes")]

    @staticmethod
    def is_stopped(scope: Scope, stopped: list[Scope]) -> bool:
        """Tell whether a scope is stopped, itself or with what reaches it."""
        return any(item.reaches(scope) for item in stopped)
