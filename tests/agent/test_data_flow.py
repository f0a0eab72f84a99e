"""Data flow at publishing: warnings with their remedies, and the tool that nothing could trace."""

import pytest

from interlock.agent.data_flow import check_data_flow, emissions_heard, offered_wording
from interlock.agent.spec import Emission, Spec, Trigger
from interlock.agent.wiring import Wiring
from interlock.catalogue import say
from interlock.gate.tool import Tool
from interlock.scope.label import DeclaredLabel, Vocabulary
from interlock.scope.scope import Scope

KNOWN = Vocabulary({"pii": DeclaredLabel("pii", frozenset({"acme/hr"}))})
ARGUMENTS = {"type": "object", "properties": {"file": {"type": "string"}}}
DELETE = Tool("delete_file", parameters=ARGUMENTS, effect="destructive", steers=("file",))
FETCH = Tool("fetch_page", effect="read")


def agent(address: str, **parts: object) -> Spec:
    """A spec by address."""
    name, _, scope = address.partition("@")
    return Spec(name=name, scope=Scope(scope), **parts)


def emits(event: str, *artifacts: str, to: tuple[str, ...] = ()) -> tuple[Emission, ...]:
    """One emission."""
    return (Emission(event, "incident", artifacts, tuple(Scope(item) for item in to)),)


def warned(spec: Spec, *others: Spec) -> list[str]:
    """The ids of the warnings, each of which must read well in both languages."""
    report = check_data_flow(Wiring(others), spec, {}, KNOWN)
    for text in report.warnings:
        english, portuguese = say(text), say(text, "pt-BR")
        assert english != portuguese and not english.startswith("flow.") and "{" not in english + portuguese
        assert all(str(value) in english and str(value) in portuguese for value in text["with"].values())
    return [text["id"] for text in report.warnings]


@pytest.mark.rule("LP-6")
def test_an_event_that_nobody_hears() -> None:
    source = agent("a@acme", emits=emits("done"))
    assert warned(source) == ["flow.unheard"]
    assert warned(source, agent("b@acme", starts_on=(Trigger("done"),))) == []
    assert warned(source, agent("b@globex", starts_on=(Trigger("done"),))) == ["flow.unheard"]
    assert warned(source, agent("a@acme", starts_on=(Trigger("done"),))) == ["flow.unheard"]
    narrowed = agent("a@acme", emits=emits("done", to=("acme/hr",)))
    assert warned(narrowed, agent("b@acme", starts_on=(Trigger("done"),))) == ["flow.unheard"]


@pytest.mark.rule("LP-6")
def test_a_trigger_that_nobody_pulls() -> None:
    listener = agent("b@acme", starts_on=(Trigger("done"),))
    assert warned(listener) == ["flow.unemitted"]
    assert warned(listener, agent("a@acme", emits=emits("done"))) == []
    assert warned(listener, agent("a@acme", emits=emits("done", to=("acme/hr",)))) == ["flow.unemitted"]
    assert warned(listener, agent("a@globex", emits=emits("done"))) == ["flow.unemitted"]
    itself = agent("b@acme", starts_on=(Trigger("done"),), emits=emits("done"))
    assert warned(itself) == ["flow.unheard", "flow.unemitted"]


@pytest.mark.rule("LP-6", "SC-4")
def test_what_a_company_does_not_label_and_another_company_hears() -> None:
    abroad = agent("spy@globex/ops", starts_on=(Trigger("done", (Scope("acme"),)),))
    home = agent("staff@acme/support", starts_on=(Trigger("done"),))
    source = agent("chief@acme", instructions="minutes", emits=emits("done", "minutes"))
    assert warned(source, abroad, home) == ["flow.unlabelled_abroad"]
    assert warned(source, home) == []
    labelled = agent(
        "chief@acme", instructions="minutes", emits=emits("done", "minutes"), adds_labels=("area:acme",)
    )
    assert "flow.unlabelled_abroad" not in warned(labelled, abroad, home)
    area = agent("desk@acme/desk", instructions="minutes", emits=emits("done", "minutes"))
    assert "flow.unlabelled_abroad" not in warned(area, abroad)
    bare = agent("chief@acme", emits=emits("done"))
    assert warned(bare, abroad) == []


@pytest.mark.rule("LP-6", "SC-4")
def test_an_artifact_that_no_listener_may_carry() -> None:
    source = agent("a@acme/hr", function="m:f", emits=emits("done", "cause"))
    finance = agent("f@acme/finance", starts_on=(Trigger("done"),))
    assert warned(source, finance) == ["flow.uncarried"]
    assert warned(source, finance, agent("w@acme", starts_on=(Trigger("done"),))) == []
    wider = agent("a@acme", function="m:f", emits=emits("done", "cause"))
    assert warned(wider, finance) == []
    labelled = agent("a@acme", function="m:f", emits=emits("done", "cause"), adds_labels=("area:acme",))
    assert warned(labelled, finance) == ["flow.uncarried"]
    private = agent("a@acme", function="m:f", emits=emits("done", "cause"), adds_labels=("pii",))
    assert warned(private, finance) == ["flow.uncarried"]
    assert warned(private, agent("h@acme/hr", starts_on=(Trigger("done"),))) == []


@pytest.mark.rule("LP-6")
def test_an_artifact_that_one_of_two_events_moves_is_carried() -> None:
    source = agent(
        "a@acme/hr", function="m:f", emits=emits("done", "cause") + emits("told", "cause", "other")
    )
    finance = agent("f@acme/finance", starts_on=(Trigger("done"), Trigger("told")))
    near = agent("n@acme/hr", starts_on=(Trigger("done"),))
    report = check_data_flow(Wiring([finance, near]), source, {}, KNOWN)
    assert [text["with"]["artifact"] for text in report.warnings] == ["other"]


@pytest.mark.rule("LP-6")
def test_an_artifact_that_the_instructions_never_mention() -> None:
    listener = agent("b@acme", starts_on=(Trigger("done"),))

    def source(instructions: str, **parts: object) -> Spec:
        return agent(
            "a@acme", instructions=instructions, emits=emits("done", "cause", "final_answer"), **parts
        )

    assert warned(source("Say the causes and the because."), listener) == ["flow.unmentioned"]
    assert warned(source("Publish `root-cause`."), listener) == ["flow.unmentioned"]
    assert warned(source("Publish `cause`."), listener) == []
    assert warned(source("", function="m:f"), listener) == []


def failed(spec: Spec, *tools: Tool) -> list[str]:
    """The codes of the errors of an agent that is granted `tools`."""
    declared = {tool.name: tool for tool in tools}
    errors = check_data_flow(Wiring([]), spec, declared, KNOWN).errors
    for error in errors:
        for language in ("en", "pt-BR"):
            assert not error.what(language).startswith("flow.") and not error.remedy(language).startswith(
                "flow."
            )
    return [error.code for error in errors]


@pytest.mark.rule("LP-6", "GT-3")
def test_a_destructive_tool_that_nothing_could_trace_is_an_error() -> None:
    parts = {"starts_on": (Trigger("done"),), "tools": ("delete_file", "fetch_page")}
    assert failed(agent("a@acme", **parts), DELETE, FETCH) == ["flow.untraceable"]
    trusted = Tool("list_files", effect="read", fields={"files[].id": frozenset()})
    granted = {**parts, "tools": ("delete_file", "list_files")}
    assert failed(agent("a@acme", **granted), DELETE, trusted) == []
    unclassified = Tool("list_files", fields={"files[].id": frozenset()})
    assert failed(agent("a@acme", **granted), DELETE, unclassified) == ["flow.untraceable"]
    fixed = {"type": "object", "properties": {"file": {"enum": ["cache"]}}}
    assert (
        failed(agent("a@acme", **parts), Tool("delete_file", "", fixed, "destructive", ("file",)), FETCH)
        == []
    )
    own = Tool("delete_file", "", ARGUMENTS, "destructive", ("file",), labels=frozenset())
    assert failed(agent("a@acme", **parts), own, FETCH) == ["flow.untraceable"]
    writing = Tool("delete_file", "", ARGUMENTS, "write", ("file",))
    assert failed(agent("a@acme", **parts), writing, FETCH) == []


@pytest.mark.rule("LP-6", "GT-3")
def test_a_brief_can_trace_in_an_agent_that_events_do_not_start() -> None:
    assert failed(agent("a@acme", tools=("delete_file", "fetch_page")), DELETE, FETCH) == []


@pytest.mark.rule("LP-6", "GT-3")
def test_a_destructive_tool_that_names_no_steering_argument_is_an_error() -> None:
    vague = Tool("wipe", "", ARGUMENTS, "destructive", labels=frozenset())
    assert failed(agent("a@acme", tools=("wipe", "fetch_page")), vague, FETCH) == ["flow.no_steering"]
    safe = Tool("fetch_page", effect="read", labels=frozenset())
    assert failed(agent("a@acme", tools=("wipe", "fetch_page")), vague, safe) == []
    fixed = Tool("wipe", effect="destructive")
    assert failed(agent("a@acme", tools=("wipe", "fetch_page")), fixed, FETCH) == []


@pytest.mark.rule("LP-6")
def test_a_tool_that_does_not_exist_is_an_error_with_a_suggestion() -> None:
    spec = agent("a@acme", tools=("delete_fil", "zzz"))
    near, far = check_data_flow(Wiring([]), spec, {"delete_file": DELETE}, KNOWN).errors
    assert (near.code, far.code) == ("flow.unknown_tool_near", "flow.unknown_tool")
    assert "delete_file" in near.what() and "zzz" in far.what() and "delete_file" in far.remedy("pt-BR")


@pytest.mark.rule("EV-11")
def test_a_listener_is_offered_wording_that_says_what_to_read_first() -> None:
    sources = [
        agent("a@acme", emits=emits("done", "summary", "log", "dump") + emits("other", "x")),
        agent("b@acme", emits=emits("done", "summary", "log", "dump")),
        agent("c@acme", emits=emits("done", "note")),
        agent("d@acme", emits=emits("done")),
        agent("e@globex", emits=emits("done", "foreign")),
        agent("f@acme", emits=emits("done", "kept", to=("acme/finance",))),
    ]
    spec = agent("l@acme/hr", starts_on=(Trigger("done"),))
    texts = offered_wording(spec, emissions_heard(Wiring(sources), spec))
    assert [say(text) for text in texts] == [
        "When done starts you, your input only names the artifacts of incident. "
        "Read note with read_artifact before you decide anything.",
        "When done starts you, your input only names the artifacts of incident. "
        "Read summary first, with read_artifact; only if that is not enough, read log, dump.",
    ]
    assert "Leia primeiro summary" in say(texts[1], "pt-BR")


@pytest.mark.rule("EV-11")
def test_a_function_is_offered_no_wording_for_instructions_it_does_not_have() -> None:
    spec = agent("clerk@acme/desk", function="letters:hold", starts_on=(Trigger("incident.triaged"),))
    heard = Emission("incident.triaged", "incident", ("triage_summary",))
    assert offered_wording(spec, [heard]) == ()
    assert offered_wording(agent("clerk@acme/desk", instructions="x", starts_on=spec.starts_on), [heard])
