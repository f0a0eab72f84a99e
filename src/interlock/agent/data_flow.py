"""Data flow, judged when a version is published: what can never be heard, carried or traced (LP-6, EV-11).

**When a destructive tool can be traced.** In a run that carries `untrusted`, the Gate denies a destructive
call with an untraced steering argument (GT-3). A tool for which that would be so in every run is an error
at once:

- A value may come from a signed-in person's brief, or from a brief that passes one on. Runs that an event
  opens have no brief. So an agent without `starts_on` can be traced, and one with it cannot be by this way:
  a person may open it by hand, but that is not the work it declares.
- A value may come from a trusted field of the result of another granted tool that may run at all. The
  tool's own result does not count, since a first call must come before it.
- A value may belong to a set that the tool fixes for that argument.

A destructive tool that takes arguments and names none as steering leaves nothing to trace and nothing to
judge by; that is an error too. One without arguments does one fixed thing, and a person sees every call.

**When an agent can read untrusted data.** A granted tool's result carries `untrusted` in some field, an
event brings artifacts, somebody it messages answers, or its own spec adds the label. What else a message
may bring is judged by the Gate when it has come.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from interlock.agent.spec import FINAL_ANSWER, Emission, Spec
from interlock.agent.wiring import Graph, heard_places, lets_out, source_places
from interlock.catalogue import Text
from interlock.errors import InterlockError
from interlock.gate.tool import PLAN_WORK, RECALL, REMEMBER, Tool
from interlock.scope.barrier import Refusal, barrier
from interlock.scope.label import UNTRUSTED, Labels, Vocabulary, area_label, join
from interlock.scope.scope import Address, Scope

__all__ = ["FlowReport", "carried_labels", "check_data_flow", "emissions_heard", "offered_wording"]


@dataclass(frozen=True, slots=True)
class FlowReport:
    """What the check found: warnings to show, and errors that keep the version from being published."""

    warnings: tuple[Text, ...] = ()
    errors: tuple[InterlockError, ...] = ()


def carried_labels(spec: Spec) -> Labels:
    """Give the labels that each run of the agent carries from its opening, whatever it reads (SC-4)."""
    own = (area_label(spec.scope),) if "/" in spec.scope else ()
    return join(own, spec.adds_labels)


def check_data_flow(
    graph: Graph, spec: Spec, tools: Mapping[str, Tool], vocabulary: Vocabulary
) -> FlowReport:
    """Check the version as it will stand among the published agents. `tools` are all there are, by name."""
    warnings = [
        *_unheard(graph, spec),
        *_unemitted(graph, spec),
        *_uncarried(graph, spec, vocabulary),
        *_unlabelled_abroad(graph, spec, vocabulary),
        *_unmentioned(spec),
    ]
    return FlowReport(tuple(warnings), (*_unknown_tools(spec, tools), *_untraceable(spec, tools)))


def _listeners(graph: Graph, spec: Spec, emission: Emission) -> Iterator[Address]:
    for place in source_places(spec.scope):
        for listener in graph.listeners(emission.event, place):
            if listener != spec.address and lets_out(emission.to, listener.scope):
                yield listener


def _emitters(graph: Graph, spec: Spec) -> Iterator[tuple[str, Address]]:
    for trigger in spec.starts_on:
        for place in heard_places(trigger, spec.scope):
            for emitter, to in graph.emitters(trigger.event, place):
                if emitter != spec.address and lets_out(to, spec.scope):
                    yield trigger.event, emitter


def _unheard(graph: Graph, spec: Spec) -> Iterator[Text]:
    for emission in spec.emits:
        if next(_listeners(graph, spec, emission), None) is None:
            yield Text("flow.unheard", event=emission.event)


def _unemitted(graph: Graph, spec: Spec) -> Iterator[Text]:
    for trigger in spec.starts_on:
        places = heard_places(trigger, spec.scope)
        senders = (sender for place in places for sender in graph.emitters(trigger.event, place))
        if not any(emitter != spec.address and lets_out(to, spec.scope) for emitter, to in senders):
            yield Text("flow.unemitted", event=trigger.event)


def _uncarried(graph: Graph, spec: Spec, vocabulary: Vocabulary) -> Iterator[Text]:
    labels = carried_labels(spec)
    refused: dict[str, Refusal] = {}
    carried: set[str] = set()
    for emission in spec.emits:
        outcome = _refusal_by_all(_listeners(graph, spec, emission), labels, vocabulary)
        if isinstance(outcome, Refusal):
            refused.update((name, outcome) for name in emission.artifacts if name not in refused)
        elif outcome:
            carried.update(emission.artifacts)
    for name, refusal in refused.items():
        if name not in carried:
            yield Text("flow.uncarried", artifact=name, label=refusal.label, target=str(refusal.target))


def _unlabelled_abroad(graph: Graph, spec: Spec, vocabulary: Vocabulary) -> Iterator[Text]:
    """A run of a company's or the installation's own agent carries no label of its scope unless its spec adds it
    (SC-4): what nothing else labels goes wherever it is heard."""
    labels, own = carried_labels(spec), area_label(spec.scope)
    if "/" in spec.scope or own in labels:
        return
    for emission in spec.emits:
        abroad = (
            listener
            for listener in _listeners(graph, spec, emission)
            if not spec.scope.reaches(listener.scope) and barrier(labels, listener.scope, vocabulary) is None
        )
        if emission.artifacts and (listener := next(abroad, None)) is not None:
            yield Text("flow.unlabelled_abroad", event=emission.event, listener=str(listener), label=own)


def _refusal_by_all(listeners: Iterable[Address], labels: Labels, vocabulary: Vocabulary) -> Refusal | bool:
    """Give the first refusal when every listener's scope refuses, True when one does not, False for none."""
    judged: dict[Scope, Refusal] = {}
    for listener in listeners:
        scope = listener.scope
        if scope not in judged:
            refusal = barrier(labels, scope, vocabulary)
            if refusal is None:
                return True
            judged[scope] = refusal
    return judged[min(judged)] if judged else False


def _unmentioned(spec: Spec) -> Iterator[Text]:
    if spec.function is not None:
        return
    for name in sorted(spec.exposed - {FINAL_ANSWER}):
        if not _mentions(spec, name):
            yield Text("flow.unmentioned", artifact=name)


def _mentions(spec: Spec, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", spec.instructions) is not None


def _unknown_tools(spec: Spec, tools: Mapping[str, Tool]) -> Iterator[InterlockError]:
    for name in spec.tools:
        if name not in tools and name not in {REMEMBER, RECALL, PLAN_WORK}:
            near = get_close_matches(name, tools, n=1)
            code = "flow.unknown_tool_near" if near else "flow.unknown_tool"
            yield InterlockError(code, value=name, near="".join(near), known=sorted(tools))


def _untraceable(spec: Spec, tools: Mapping[str, Tool]) -> Iterator[InterlockError]:
    granted = [tools[name] for name in spec.tools if name in tools]
    if not _reads_untrusted(spec, granted):
        return
    for tool in granted:
        if tool.effect != "destructive":
            continue
        if not tool.steers:
            if tool.parameters.get("properties"):
                yield InterlockError("flow.no_steering", tool=tool.name, agent=str(spec.address))
        elif not _traceable(tool, spec, granted):
            yield InterlockError(
                "flow.untraceable", tool=tool.name, agent=str(spec.address), arguments=list(tool.steers)
            )


def _reads_untrusted(spec: Spec, granted: list[Tool]) -> bool:
    brought = bool(spec.starts_on or spec.sends_to) or UNTRUSTED in spec.adds_labels
    return brought or any(UNTRUSTED in join(tool.labels, *tool.fields.values()) for tool in granted)


def _traceable(tool: Tool, spec: Spec, granted: list[Tool]) -> bool:
    if not spec.starts_on or any(tool.fixed_values(argument) for argument in tool.steers):
        return True
    others = (other for other in granted if other.name != tool.name and other.effect is not None)
    return any(
        UNTRUSTED not in labels for other in others for labels in (other.labels, *other.fields.values())
    )


def emissions_heard(graph: Graph, spec: Spec) -> tuple[Emission, ...]:
    """Give the emissions that start the agent as the others stand, each form once, in a fixed order."""
    found = {
        (emission.event, emission.context, emission.artifacts): emission
        for event, emitter in sorted(set(_emitters(graph, spec)))
        for emission in graph.emissions(emitter)
        if emission.event == event and lets_out(emission.to, spec.scope)
    }
    return tuple(found[form] for form in sorted(found))


def offered_wording(spec: Spec, heard: Iterable[Emission]) -> tuple[Text, ...]:
    """Give wording for a listener's instructions: which artifact to read first, which if that is not enough.

    The order is the one in which the source declares them, the most telling first. An event that exposes
    nothing needs no wording, and neither does a function, which has no instructions.
    """
    if spec.function is not None:
        return ()
    wording: dict[tuple[str, tuple[str, ...]], Text] = {}
    events = {trigger.event for trigger in spec.starts_on}
    for emission in heard:
        if emission.event not in events or not emission.artifacts or _mentions(spec, emission.artifacts[0]):
            continue
        first, *rest = emission.artifacts
        params = {"event": emission.event, "context": emission.context, "first": first}
        text = (
            Text("flow.read_first_then", **params, rest=rest) if rest else Text("flow.read_first", **params)
        )
        wording.setdefault((emission.event, emission.artifacts), text)
    return tuple(wording.values())
