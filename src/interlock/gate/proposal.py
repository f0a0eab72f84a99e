"""A proposal: a call that a model or a function body wants to make, with the facts of its run (GT-1)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from interlock import canonical
from interlock.errors import InterlockError
from interlock.gate.budget import Budget, Usage
from interlock.gate.origin import NO_ORIGINS, Origins
from interlock.gate.policy import Policy
from interlock.gate.tool import Tool
from interlock.gate.verdict import Objection
from interlock.scope.label import NO_LABELS, Labels, Vocabulary, join
from interlock.scope.scope import Address, Scope

__all__ = ["ARGUMENTS_LIMIT", "Contract", "Proposal", "Response", "RunFacts"]

ARGUMENTS_LIMIT = 256 * 1024
"""The largest size of a call's arguments in bytes, unless the settings say otherwise."""

ONE_CALL = Usage(tool_calls=1)
NOTHING = Usage()
NO_LIMIT = Budget()


@dataclass(frozen=True, slots=True)
class Proposal:
    """One call that is proposed.

    run, call_id: the run, and the call's id, unique within it.
    name: the tool's name as it was written. tool: the declaration under that name, None when there is none.
    arguments: the JSON value given, or the raw text when it could not be read; `unreadable` then says why.
    artifacts: for each argument that names an artifact, the labels that the artifact carries (SC-6).
    estimate: the largest amounts that the call may use.
    """

    run: str
    call_id: str
    name: str
    arguments: Any
    tool: Tool | None = None
    artifacts: Mapping[str, Labels] = field(default_factory=dict)
    estimate: Usage = ONE_CALL
    unreadable: InterlockError | None = None

    @classmethod
    def of_text(
        cls, run: str, call_id: str, name: str, text: str, limit: int = ARGUMENTS_LIMIT, **rest: Any
    ) -> Self:
        """Read the arguments as a model wrote them, at most `limit` bytes. Never raises: the Gate tells."""
        try:
            return cls(run, call_id, name, canonical.parse(text, name, limit), **rest)
        except InterlockError as error:
            return cls(run, call_id, name, text, unreadable=error, **rest)

    @property
    def labels(self) -> Labels:
        """The labels that the arguments bring along."""
        return join(*self.artifacts.values()) if self.artifacts else NO_LABELS

    @property
    def digest(self) -> str:
        """The digest of run, call, tool and arguments, taken anew each time, so that arguments changed after
        an allow do not fit it. It is not keyed: keep it out of steps.

        What canonical JSON cannot express has a digest of its own, and is never allowed.
        """
        whole = [self.run, self.call_id, self.name, self.unreadable is None, self.arguments]
        try:
            return canonical.digest_of(whole)
        except (TypeError, ValueError, RecursionError):
            return canonical.digest_of([self.run, self.call_id, self.name])


@dataclass(frozen=True, slots=True)
class Contract:
    """What a run's brief is about (GT-6): the tools, the effects; None: as the version is granted.

    It can only narrow.
    """

    tools: frozenset[str] | None = None
    effects: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ActionFacts:
    """How the action of a call stands in the action ledger (AC-1).

    state: where it is. same: whether what steers it is the same, too. by_run: the run that claimed it last. mine:
    whether it is this very call that did.
    """

    state: Literal["claimed", "done", "failed", "in_doubt"]
    same: bool
    by_run: str
    mine: bool = False


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the Gate knows of the run that proposes.

    labels: what the run carries now. granted: the tools of the version it is pinned to.
    released: pairs (label, receiver) that a person named in the brief (SC-8).
    budget: the limits of the run. used: what is used of them, with what is reserved for calls under way.
    origins: where values came from, or how to find out, which reads content: it is asked only for a write
        in a run that carries `untrusted`.
    arguments_limit: the largest size of a call's arguments, in bytes.
    action: how the action that the call would do stands; None where nobody claimed it yet.
    """

    run: str
    agent: Address
    scope: Scope
    labels: Labels = NO_LABELS
    granted: frozenset[str] = frozenset()
    contract: Contract = Contract()
    released: frozenset[tuple[str, str]] = frozenset()
    budget: Budget = NO_LIMIT
    used: Usage = NOTHING
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    policies: tuple[Policy, ...] = ()
    origins: Origins | Callable[[], Origins] = NO_ORIGINS
    arguments_limit: int = ARGUMENTS_LIMIT
    action: ActionFacts | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """What became of the question to a person about one call (GT-4).

    answer_id: its id, for the trail. digest: that of the proposal it was asked for, and of no other.
    outcome: `approve`, `refuse`, or `expire` when nobody answered in time.
    objections, labels: what the person was shown. An approval releases that, and nothing that came up since.
    """

    answer_id: str
    digest: str
    outcome: Literal["approve", "refuse", "expire"]
    objections: tuple[Objection, ...] = ()
    labels: Labels = NO_LABELS
