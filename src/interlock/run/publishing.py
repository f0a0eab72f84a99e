"""A publication: a checked spec becomes an immutable, numbered version, and its warnings are told (AG-2)."""

import json
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from interlock import canonical
from interlock.agent.data_flow import check_data_flow, emissions_heard, offered_wording
from interlock.agent.loop import LoopReport, find_loops, warnings
from interlock.agent.reader import form_of, spec_of
from interlock.agent.spec import Emission, Spec, Trigger
from interlock.agent.wiring import Wired, Wiring
from interlock.catalogue import Text
from interlock.errors import InterlockError, SeveralError
from interlock.ledger.ledger import Appended, Conflict, Write
from interlock.ledger.step import Draft
from interlock.message.cost import cost_of_one_more, unknown_recipients
from interlock.run.installation import Installation
from interlock.scope.scope import INSTALLATION, Address, Scope

__all__ = ["NotPublishedError", "Publication", "change_agent", "change_scope", "publish", "wiring_of"]

PAGE = 5000
WIRED = ("starts_on", "emits", "sends_to", "hands_to", "accepts", "attends")
"""What of a spec the wiring is made of."""
AGENT_CHANGES = {"pause": "agent.paused", "resume": "agent.resumed", "retire": "agent.retired"}


@dataclass(frozen=True, slots=True)
class Publication:
    """What publishing came to. `new` is False when the current version says the same already."""

    agent: Address
    version: int
    digest: str
    new: bool
    warnings: tuple[Text, ...] = ()
    wording: tuple[Text, ...] = ()
    loops: LoopReport | None = None
    cost: tuple[Text, ...] = ()


class NotPublishedError(SeveralError):
    """No spec was published, because some cannot be; `mistakes` say of which spec each one is."""

    def __init__(self, mistakes: Sequence[tuple[Spec, InterlockError]]) -> None:
        super().__init__("publish.several", [error for _, error in mistakes])
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True, slots=True)
class _Published:
    """A current version, as far as the wiring goes."""

    address: Address
    starts_on: tuple[Trigger, ...]
    emits: tuple[Emission, ...]
    sends_to: tuple[Address, ...] = ()
    hands_to: tuple[Address, ...] = ()
    accepts: tuple[str, ...] = ()


async def wiring_of(installation: Installation, standing: Sequence[Spec] = ()) -> Wiring:
    """Give the wiring of all agents that are published and not retired, and of `standing` in place of theirs."""
    found: list[Wired] = []
    after = ""
    while rows := await installation.ledger.query("agents_after", after, PAGE):
        after = rows[-1][0]
        found += [_wired(address, wiring) for address, _, _, state, wiring in rows if state != "retired"]
    return Wiring([*found, *standing])


def _wired(address: str, wiring: str) -> Wired:
    form = json.loads(wiring)
    return _Published(
        Address(address),
        tuple(Trigger(item["event"], tuple(map(Scope, item["from"]))) for item in form["starts_on"]),
        tuple(
            Emission(item["event"], item["context"], tuple(item["artifacts"]), tuple(map(Scope, item["to"])))
            for item in form["emits"]
        ),
        tuple(map(Address, form.get("sends_to", ()))),
        tuple(map(Address, form.get("hands_to", ()))),
        tuple(form.get("accepts", ())),
    )


async def publish(
    installation: Installation,
    specs: Sequence[Spec],
    author: str,
    readable: Collection[Scope] = (INSTALLATION,),
    language: str = "en",
    check: bool = False,
) -> list[Publication]:
    """Publish specs, each judged as all of them will stand together; none is published when one cannot be. With `check`
    all is judged and told, and nothing published (MS-13).

    A spec is what its form reads as: one made in Python meets the same checks as one that is written.

    `readable` are the scopes whose agents the author may read; others stay unnamed (LP-4). Raises
    InterlockError for what makes a version impossible: a spec that is none, an unknown tool, model role, label
    or function, or a destructive tool that could never be traced.
    """
    specs = _read_again(specs)
    mistakes = [(spec, error) for spec in specs for error in _unfit(installation, spec)]
    before = await wiring_of(installation)
    wiring = Wiring([*before.agents.values(), *specs])
    tools, vocabulary = installation.tools.declarations, installation.settings.vocabulary
    flows = [check_data_flow(wiring, spec, tools, vocabulary) for spec in specs]
    mistakes += [(spec, error) for spec, flow in zip(specs, flows, strict=True) for error in flow.errors]
    if mistakes:
        raise mistakes[0][1] if len(mistakes) == 1 and len(specs) == 1 else NotPublishedError(mistakes)
    specs = [with_code(installation, spec) for spec in specs]
    settings, published = installation.settings, []
    for spec, flow in zip(specs, flows, strict=True):
        loops = find_loops(wiring, spec, readable, settings.loops_named, settings.loop_edges, language)
        told = (*warnings(loops), *flow.warnings, *unknown_recipients(spec, wiring, readable))
        number, new = await (_next(installation, spec) if check else _store(installation, spec, author))
        wording = offered_wording(spec, emissions_heard(wiring, spec))
        cost = _cost(installation, spec, wiring, before, readable) if new else ()
        published.append(Publication(spec.address, number, spec.digest, new, told, wording, loops, cost))
    return published


def _cost(
    installation: Installation,
    spec: Spec,
    wiring: Wiring,
    before: Wiring,
    readable: Collection[Scope],
) -> tuple[Text, ...]:
    kind = "event" if spec.starts_on else "request" if spec.accepts else "person"
    prompt, offers = installation.head_of(spec, kind)
    tools = [[item.name, item.description, item.parameters] for item in offers]
    limit = installation.settings.chain_limit
    return cost_of_one_more(spec, wiring, before, prompt, tools, readable, limit)


def _read_again(specs: Sequence[Spec]) -> list[Spec]:
    """Give specs as the reader makes them of their forms; their size is judged with what else may not fit."""
    read, mistakes = [], []
    for spec in specs:
        try:
            read.append(spec_of(form_of(spec), limit=sys.maxsize))
        except InterlockError as error:
            mistakes.append((spec, error))
    if mistakes:
        raise mistakes[0][1] if len(specs) == 1 else NotPublishedError(mistakes)
    return read


def with_code(installation: Installation, spec: Spec) -> Spec:
    """Give the spec with the digest of its function's code (AG-6)."""
    if spec.function is None:
        return spec
    return replace(spec, code_digest=installation.functions[spec.function].code_digest)


def _unfit(installation: Installation, spec: Spec) -> Iterator[InterlockError]:
    """Give what a spec names and the installation does not have, and whether it is too large."""
    settings, functions = installation.settings, installation.functions
    if spec.function is None:
        if spec.model not in settings.models:
            yield InterlockError("publish.unknown_model", value=spec.model, known=sorted(settings.models))
    elif spec.function not in functions:
        yield InterlockError("function.unknown", value=spec.function, known=sorted(functions))
    for item in spec.attends:
        if item.connector not in settings.connectors:
            known = sorted(settings.connectors)
            yield InterlockError("publish.unknown_connector", value=item.connector, known=known)
    for name in spec.functions:
        if name not in functions:
            yield InterlockError("function.unknown", value=name, known=sorted(functions))
    try:
        settings.vocabulary.check(spec.adds_labels)
    except InterlockError as error:
        yield error
    size, limit = len(canonical.encode(spec.as_dict())), settings.sizes.spec
    if size > limit:
        yield InterlockError("publish.too_large", agent=spec.address, size=size, limit=limit)


async def _next(installation: Installation, spec: Spec) -> tuple[int, bool]:
    """Give the number that a version would have, and whether it would be a new one."""
    steps = await installation.ledger.query("versions_of_agent", spec.address)
    same = bool(steps) and steps[-1][1] == spec.digest
    return (steps[-1][0], False) if same else (len(steps) + 1, True)


async def _store(installation: Installation, spec: Spec, author: str) -> tuple[int, bool]:
    """Write the version after the current one; two who publish at once both succeed, one after the other."""
    while True:
        number, new = await _next(installation, spec)
        if not new:
            return number, False
        form = spec.as_dict()
        kept = await installation.contents.keep_any(spec.scope.company, canonical.encode(form))
        body: dict[str, Any] = {
            "agent": spec.address,
            "scope": spec.scope,
            "number": number,
            "version_digest": spec.digest,
            "spec": kept.digest,
            "author": author,
            "wiring": {name: form[name] for name in WIRED if name in form},
        }
        outcome = await installation.ledger.append(
            (Write(spec.address, None, (Draft("version.published", body),)),), contents=(kept.row,)
        )
        if isinstance(outcome, Appended):
            return number, True
        if not isinstance(outcome, Conflict):
            raise InterlockError("publish.not_stored", agent=spec.address)


async def change_agent(installation: Installation, address: Address, change: str, by: str) -> None:
    """Pause, resume or retire an agent (AG-5). Raises InterlockError `agent.unknown`."""
    await installation.current(address)
    draft = Draft(AGENT_CHANGES[change], {"agent": address, "by": by})
    await installation.ledger.append((Write(address, None, (draft,)),))


async def change_scope(installation: Installation, scope: Scope, stop: bool, by: str) -> None:
    """Stop a company, an area or the whole installation at once, or let it go on (AG-5)."""
    draft = Draft("scope.stopped" if stop else "scope.resumed", {"scope": scope, "by": by})
    await installation.ledger.append((Write(str(scope), None, (draft,)),))
