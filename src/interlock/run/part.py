"""A part of a run's work that runs as a child run: how it is opened, what it may use, what it must publish (WG-1).

It is the same agent on the same task, with no hop and no events. It sees its objective, the artifacts of its admitted
edges, its rubric and output schema; nothing of the root's history nor of a sibling's.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from interlock import canonical
from interlock.agent.spec import FINAL_ANSWER, Emission, Spec
from interlock.errors import InterlockError
from interlock.gate.budget import Budget
from interlock.gate.schema import validator_of
from interlock.ledger.ledger import Row
from interlock.message.result import result_of
from interlock.run.finish import Finished
from interlock.run.installation import Installation
from interlock.run.judgement import Judgement
from interlock.run.opening import Opening, Taker, opened_as_part
from interlock.run.platform_tools import PLAN_WORK
from interlock.run.report import read_names
from interlock.run.run import Run
from interlock.scope.label import Labels
from interlock.work_graph.node import OUTPUT, RESULT_MEDIA, VERDICT, VERDICT_SCHEMA, Node

__all__ = ["Place", "cancelling", "check_published", "node_of", "open_part", "spec_of_run"]

EVENT = "work"
"""The name under which a part's spec lists what it must publish; no event of it ever goes out."""
TOLD = 5


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part belongs: the run whose work it is, revision, node and attempt."""

    run: str
    revision: int
    node: str
    attempt: int

    @property
    def cause(self) -> str:
        """The key under which this opens a run once."""
        return f"work:{self.run}:{self.revision}:{self.node}:{self.attempt}"


def open_part(
    name: str,
    parent: Run,
    spec: Spec,
    place: Place,
    brief: str,
    artifacts: Sequence[dict[str, Any]],
    labels: Labels,
    budget: Budget,
    decisions: Sequence[Mapping[str, Any]],
) -> Opening:
    """Give the opening of a child run. `brief` is the digest of the node as it was admitted, `artifacts` what its edges
    let in, `budget` what its parent lends it."""
    work = {
        "place": {
            "root_run": place.run,
            "revision": place.revision,
            "node": place.node,
            "attempt": place.attempt,
        },
        "brief": brief,
        "artifacts": list(artifacts),
        "depth": parent.part.get("depth", 0) + 1,
    }
    return opened_as_part(
        name, parent.opening, spec, parent.version, place.cause, work, labels, budget, decisions, Taker()
    )


async def node_of(installation: Installation, run: Run) -> Node | None:
    """Give the node that a run is; None for a run that is no part of another's work."""
    if not run.part:
        return None
    return Node.from_dict(json.loads(await installation.contents.read(run.part["brief"])))


async def spec_of_run(installation: Installation, run: Run) -> Spec:
    """Give what a run may do: what its version declares, and for a part of it what its node is granted alone."""
    spec = await installation.spec(run.agent, run.version)
    node = await node_of(installation, run)
    return spec if node is None else _narrowed(spec, node, installation)


def _narrowed(spec: Spec, node: Node, installation: Installation) -> Spec:
    """A verifier judges by its rubric alone, whatever its agent is told to do otherwise."""
    tools = [name for name in node.tools if name in spec.tools and _secrets_suffice(name, node, installation)]
    published = tuple(name for name in node.outputs if name != FINAL_ANSWER)
    return replace(
        spec,
        instructions="" if node.kind == "verify" else spec.instructions,
        function=None,
        code_digest=None,
        tools=(*tools, *(name for name in spec.tools if name == PLAN_WORK)),
        starts_on=(),
        emits=(Emission(EVENT, EVENT, published),) if published else (),
        sends_to=(),
        hands_to=(),
        accepts=(),
    )


def _secrets_suffice(name: str, node: Node, installation: Installation) -> bool:
    bound = installation.tools.get(name)
    return bound is not None and (node.secrets is None or set(bound.declaration.secrets) <= set(node.secrets))


def cancelling(parent: Run, child: str) -> tuple[Row, ...]:
    """Give the rows that tell a child run that nobody waits for it any more."""
    return (
        Row("signal_run", (f"{child}-cancel", "cancel", str(parent.agent), child)),
        Row("wake_run", (child,)),
        Row("end_timer", (child,)),
    )


# What it publishes


async def check_published(
    installation: Installation, run: Run, judgement: Judgement, finished: Finished, said: Mapping[str, Any]
) -> None:
    """See that a part publishes what its node says: every artifact, its output as its schema wants it, a report as
    reports are; and give each its media type. `said` are the artifacts as they were written.

    Raises InterlockError `work.lacks_artifact` or `work.unfit_artifact`, or what `interlock.message.result` says.
    """
    node = await node_of(installation, run)
    if node is None:
        return
    missing = sorted(set(node.outputs) - set(finished.artifacts))
    if missing:
        raise InterlockError("work.lacks_artifact", value=missing)
    for name, media in node.outputs.items():
        item = finished.artifacts[name]
        item["media"] = media
        schema = _schema(node, name)
        if schema is None and media != RESULT_MEDIA:
            continue
        value = canonical.parse(said[name], name)
        if media == RESULT_MEDIA:
            read = await read_names(run, judgement)
            words = installation.settings.report_words
            result_of(value, read, words=words, tokens=run.usage.tokens)
        if schema is not None:
            _check_schema(name, schema, value)


def _schema(node: Node, name: str) -> Mapping[str, Any] | None:
    if name == VERDICT and node.kind == "verify":
        return node.output if node.output is not None else VERDICT_SCHEMA
    return node.output if name == OUTPUT else None


def _check_schema(name: str, schema: Mapping[str, Any], value: Any) -> None:
    errors = [
        error.message for error, _ in zip(validator_of(schema).iter_errors(value), range(TOLD), strict=False)
    ]
    if not errors and name == VERDICT and not isinstance(value.get("passed"), bool):
        errors = ["`passed` is not true or false"]
    if errors:
        raise InterlockError("work.unfit_artifact", value=name, why="; ".join(errors))
