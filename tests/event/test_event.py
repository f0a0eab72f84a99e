"""The event contract: what travels, who hears it, and what becomes of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.agent.spec import Emission, Trigger
from interlock.catalogue import say
from interlock.event.event import (
    Candidate,
    EventInput,
    Exposed,
    cause_key,
    deliveries,
    hears,
    shown_size,
)
from interlock.scope.label import DeclaredLabel, Vocabulary
from interlock.scope.scope import Address, Scope

SCOPES = ["*", "acme", "acme/hr", "acme/hr-extern", "globex", "globex/hr"]
SOME = st.lists(st.sampled_from([Scope(text) for text in SCOPES]), max_size=2, unique=True).map(tuple)
KNOWN = Vocabulary({"pii": DeclaredLabel("pii", frozenset({"acme/hr"}))})


def heard(listener: str, source: str, heard_from: tuple[str, ...] = (), to: tuple[str, ...] = ()) -> bool:
    """Whether an event passes between agents of two scopes."""
    trigger = Trigger("e", tuple(Scope(item) for item in heard_from))
    emission = Emission("e", "c", (), tuple(Scope(item) for item in to))
    return hears(trigger, Address(f"a@{listener}"), emission, Address(f"b@{source}"))


def exposed(name: str = "report", size: int = 20_000, labels: tuple[str, ...] = ()) -> Exposed:
    """An artifact that was published."""
    return Exposed(name, f"artifact_{name}", "d" * 64, size, "text/plain", frozenset(labels))


def event_input(*artifacts: Exposed) -> EventInput:
    """An event of a triage agent."""
    return EventInput("e", "incident", Address("triage@acme/platform"), "run_1", artifacts)


@pytest.mark.rule("EV-4")
def test_by_default_an_event_stays_in_its_company() -> None:
    assert heard("acme", "acme/hr") and heard("acme/hr", "acme") and heard("acme/hr", "acme/hr-extern")
    assert not heard("globex", "acme") and not heard("globex/hr", "acme/hr")


@pytest.mark.rule("EV-4")
def test_the_company_of_the_installation_is_itself_alone() -> None:
    assert heard("*", "*")
    assert not heard("*", "acme") and not heard("acme", "*")
    assert heard("*", "acme", heard_from=("*",)) and heard("acme", "*", heard_from=("*",))


@pytest.mark.rule("EV-4")
@pytest.mark.fault("F10")
def test_from_opens_to_just_what_it_lists() -> None:
    assert heard("acme", "globex/hr", heard_from=("globex",))
    assert not heard("acme", "acme", heard_from=("globex",))
    assert not heard("acme", "globex", heard_from=("globex/hr",))
    assert not heard("acme", "acme/hr-extern", heard_from=("acme/hr",))


@pytest.mark.rule("EV-4")
@pytest.mark.fault("F10")
def test_to_narrows_and_opens_nothing() -> None:
    assert heard("acme/hr", "acme", to=("acme/hr",)) and heard("acme/hr", "acme", to=("acme",))
    assert not heard("acme", "acme", to=("acme/hr",)) and not heard("acme/hr-extern", "acme", to=("acme/hr",))
    assert not heard("globex", "acme", to=("globex",))


@pytest.mark.rule("EV-4")
@given(SOME, SOME, st.sampled_from(SCOPES), st.sampled_from(SCOPES))
def test_both_sides_must_let_an_event_through(heard_from, to, listener: str, source: str) -> None:
    opened = (
        any(scope.reaches(Scope(source)) for scope in heard_from)
        if heard_from
        else Scope(source).company == Scope(listener).company
    )
    narrowed = not to or any(scope.reaches(Scope(listener)) for scope in to)
    assert heard(listener, source, heard_from, to) == (opened and narrowed)


@pytest.mark.rule("EV-1")
def test_another_event_is_not_heard() -> None:
    assert not hears(Trigger("e"), Address("a@acme"), Emission("e.f", "c"), Address("b@acme"))


@pytest.mark.rule("EV-2")
def test_an_input_names_artifacts_and_lists_what_is_absent() -> None:
    given_input = event_input(exposed(labels=("untrusted", "area:acme/platform")), Exposed("cause"))
    form = json.loads(json.dumps(given_input.as_dict()))
    assert EventInput.from_dict(form) == given_input
    report, cause = form["artifacts"]
    assert set(report) == {"name", "ref", "digest", "size", "media", "labels"} and report["size"] == 20_000
    assert cause == {"name": "cause", "absent": True}
    assert form["source_agent"] == "triage@acme/platform" and form["context"] == "incident"
    assert given_input.shown()["artifacts"][1] == cause


@pytest.mark.rule("EV-2")
@given(st.integers(0, 10**19), st.integers(0, 10**19))
def test_a_large_artifact_takes_no_more_room_in_a_prompt(one: int, two: int) -> None:
    prompts = {len(json.dumps(event_input(exposed(size=size)).shown())) for size in (one, two)}
    assert len(prompts) == 1


def test_sizes_read_as_a_person_would_write_them() -> None:
    sizes = (0, 1, 20, 9_994, 9_996, 20_000, 99_949, 99_951, 2_000_000, 10**22)
    assert [shown_size(size) for size in sizes] == [
        "0.00 kB",
        "0.01 kB",
        "0.02 kB",
        "9.99 kB",
        "10.0 kB",
        "20.0 kB",
        "99.9 kB",
        "0.10 MB",
        "2.00 MB",
        "99.9 PB",
    ]


@pytest.mark.rule("SC-4")
def test_the_labels_of_an_input_are_those_of_its_present_artifacts() -> None:
    absent = Exposed("gone", labels=frozenset({"pii"}))
    given_input = event_input(
        exposed("a", labels=("untrusted",)), exposed("b", labels=("area:acme",)), absent
    )
    assert given_input.labels == {"untrusted", "area:acme"}


def outcomes(given_input: EventInput, *candidates: Candidate, **more: object) -> dict[str, str]:
    """What becomes of an event of the triage agent, by listener."""
    source = Address("triage@acme/platform")
    found = deliveries(Emission("e", "incident"), given_input, source, candidates, KNOWN, **more)
    assert [item.listener for item in found] == sorted(item.listener for item in found)
    return {item.listener: item.outcome for item in found}


def candidate(address: str, state: str = "active", heard_from: tuple[str, ...] = ()) -> Candidate:
    """A published listener."""
    return Candidate(Address(address), 3, Trigger("e", tuple(Scope(item) for item in heard_from)), state)


@pytest.mark.rule("EV-4", "SC-5", "SC-6", "SC-7")
def test_the_barrier_opens_no_run_and_names_label_and_scopes() -> None:
    labelled = event_input(exposed(labels=("area:acme/platform", "untrusted")))
    assert outcomes(
        labelled,
        candidate("z@acme/platform"),
        candidate("b@acme/finance"),
        candidate("c@acme"),
        candidate("d@globex", heard_from=("acme",)),
        candidate("e@*", heard_from=("*",)),
        candidate("f@globex"),
    ) == {
        "b@acme/finance": "refused",
        "c@acme": "open",
        "d@globex": "refused",
        "e@*": "open",
        "z@acme/platform": "open",
    }
    (refused,) = deliveries(
        Emission("e", "c"), labelled, Address("t@acme/platform"), [candidate("b@acme/finance")], KNOWN
    )
    assert refused.refusal and refused.refusal.rule == "data_barrier" and refused.version == 3
    assert refused.text and refused.text["with"] == {
        "label": "area:acme/platform",
        "origin": "acme/platform",
        "target": "acme/finance",
    }


@pytest.mark.rule("SC-3", "SC-8")
def test_declared_and_unknown_labels_reach_only_who_may_have_them() -> None:
    both = (candidate("a@acme/hr"), candidate("b@acme/platform"))
    assert outcomes(event_input(exposed(labels=("pii",))), *both) == {
        "a@acme/hr": "open",
        "b@acme/platform": "refused",
    }
    assert set(outcomes(event_input(exposed(labels=("secret",))), *both).values()) == {"refused"}
    release = frozenset({("pii", "acme/platform")})
    assert (
        outcomes(event_input(exposed(labels=("pii",))), *both, released=release)["b@acme/platform"] == "open"
    )


@pytest.mark.rule("AG-5")
@pytest.mark.parametrize("state", ["paused", "retired", "stopped"])
def test_who_may_not_start_is_recorded_as_not_started(state: str) -> None:
    assert outcomes(event_input(), candidate("a@acme", state)) == {"a@acme": "not_started"}
    (found,) = deliveries(
        Emission("e", "c"), event_input(), Address("b@acme"), [candidate("a@acme", state)], KNOWN
    )
    assert found.text and "a@acme" in say(found.text) and say(found.text) != say(found.text, "pt-BR")
    labelled = event_input(exposed(labels=("area:acme/hr",)))
    assert outcomes(labelled, candidate("a@acme/platform", state)) == {"a@acme/platform": "refused"}


@pytest.mark.rule("EV-8")
@pytest.mark.fault("F26")
def test_an_agent_never_starts_from_its_own_event() -> None:
    mine = candidate("triage@acme/platform")
    assert outcomes(event_input(), mine) == {"triage@acme/platform": "own_event"}
    assert outcomes(event_input(exposed(labels=("area:globex",))), mine) == {
        "triage@acme/platform": "own_event"
    }


@pytest.mark.rule("EV-5")
def test_two_triggers_for_one_event_start_an_agent_once() -> None:
    twice = (
        candidate("a@acme"),
        candidate("a@acme", heard_from=("*",)),
        candidate("a@acme", heard_from=("globex",)),
    )
    assert outcomes(event_input(), *twice) == {"a@acme": "open"}


@pytest.mark.rule("EV-5")
@given(st.lists(st.tuples(st.sampled_from(["run_1", "run_12"]), st.text(":1e", max_size=4)), max_size=8))
def test_no_two_causes_share_a_key(causes: list[tuple[str, str]]) -> None:
    listeners = (Address("a@acme"), Address("a@acme/hr"))
    triples = {(run, event, listener) for run, event in causes for listener in listeners}
    assert len({cause_key(*triple) for triple in triples}) == len(triples)
