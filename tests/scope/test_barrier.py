"""The barrier: labelled data enters only where it may, and no further label ever opens a way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.catalogue import LANGUAGES, say
from interlock.scope.barrier import barrier
from interlock.scope.label import NO_LABELS, DeclaredLabel, Vocabulary, area_label
from interlock.scope.scope import Scope

VOCABULARY = Vocabulary(
    {
        "pii": DeclaredLabel("pii", frozenset({"acme/hr", "tool:crm_update"})),
        "board": DeclaredLabel("board", frozenset({"acme"})),
        "sealed": DeclaredLabel("sealed"),
        "broken": DeclaredLabel("broken", frozenset({"Not A Scope"})),
    }
)
PLACES = [
    "*",
    "acme",
    "acme/platform",
    "acme/finance",
    "acme/hr",
    "acme/hr-extern",
    "globex",
    "globex/platform",
]
TARGETS = st.sampled_from(PLACES).map(Scope)
LABELS = st.frozensets(
    st.sampled_from(
        [
            *(f"area:{place}" for place in PLACES),
            "untrusted",
            "pii",
            "board",
            "sealed",
            "broken",
            "odd",
            "area:",
        ]
    ),
    max_size=5,
)
RECEIVERS = st.frozensets(st.sampled_from(["tool:crm_update", "tool:mail", "connector:slack/hr"]))
RELEASES = st.frozensets(
    st.tuples(
        st.sampled_from(["pii", "sealed", "odd"]), st.sampled_from(["tool:mail", "acme", "globex/platform"])
    )
)


@pytest.mark.rule("SC-5")
def test_area_data_goes_up_and_neither_sideways_nor_down() -> None:
    entered = {
        (origin, target)
        for origin in ("acme/platform", "acme")
        for target in PLACES
        if barrier(frozenset({area_label(Scope(origin))}), Scope(target), VOCABULARY) is None
    }
    assert entered == {
        ("acme/platform", "acme/platform"),
        ("acme/platform", "acme"),
        ("acme/platform", "*"),
        ("acme", "acme"),
        ("acme", "*"),
    }


@pytest.mark.rule("SC-5")
@pytest.mark.fault("F10")
def test_a_name_that_begins_alike_is_another_area() -> None:
    for origin, target in (("acme/hr", "acme/hr-extern"), ("acme/hr-extern", "acme/hr")):
        refusal = barrier(frozenset({f"area:{origin}"}), Scope(target), VOCABULARY)
        assert refusal is not None
        assert refusal.cause == "area"
    assert barrier(frozenset({"pii"}), Scope("acme/hr-extern"), VOCABULARY) is not None


@pytest.mark.rule("SC-3", "SC-5")
@pytest.mark.parametrize(
    "label", ["odd", "area:", "area:Acme", "area:acme_hr", "area:acme%", "area:%", "area:acme/hr ", "PII", ""]
)
def test_what_nobody_knows_flows_nowhere(label: str) -> None:
    for place in PLACES:
        refusal = barrier(frozenset({label}), Scope(place), VOCABULARY, {"tool:mail"}, {(label, "tool:mail")})
        assert refusal is not None
        assert refusal.cause == "undeclared"
    assert barrier(frozenset({label}), None, VOCABULARY, {"tool:mail"}) is not None


@pytest.mark.rule("SC-8")
def test_a_declared_label_goes_to_its_receivers_alone() -> None:
    pii = frozenset({"pii"})
    assert barrier(pii, Scope("acme/hr"), VOCABULARY) is None
    assert barrier(pii, None, VOCABULARY, {"tool:crm_update"}) is None
    for place in ("*", "acme", "acme/finance", "globex"):
        assert barrier(pii, Scope(place), VOCABULARY) is not None
    assert barrier(pii, None, VOCABULARY, {"tool:mail"}) is not None
    assert barrier(pii, None, VOCABULARY) is not None
    assert barrier(frozenset({"board"}), Scope("acme/finance"), VOCABULARY) is None
    assert barrier(frozenset({"sealed"}), Scope("*"), VOCABULARY) is not None


@pytest.mark.rule("SC-8")
def test_a_release_opens_one_receiver_for_one_label() -> None:
    release = {("pii", "tool:mail")}
    assert barrier(frozenset({"pii"}), None, VOCABULARY, {"tool:mail"}, release) is None
    assert barrier(frozenset({"pii"}), None, VOCABULARY, {"connector:slack/hr"}, release) is not None
    assert barrier(frozenset({"pii", "sealed"}), None, VOCABULARY, {"tool:mail"}, release) is not None
    assert barrier(
        frozenset({"area:acme/hr"}), Scope("globex"), VOCABULARY, set(), {("area:acme/hr", "globex")}
    )


@pytest.mark.rule("SC-3", "SC-8")
def test_a_malformed_receiver_or_release_opens_nothing_and_raises_nothing() -> None:
    refusal = barrier(frozenset({"broken"}), Scope("acme"), VOCABULARY, set(), {("broken", "a/b/c")})
    assert refusal is not None
    assert refusal.cause == "receiver"


@pytest.mark.rule("SC-4", "SC-5")
@given(LABELS, LABELS, TARGETS | st.none(), RECEIVERS, RELEASES)
def test_a_further_label_never_turns_a_refusal_into_a_passage(
    labels: frozenset[str],
    more: frozenset[str],
    target: Scope | None,
    receivers: frozenset[str],
    released: frozenset[tuple[str, str]],
) -> None:
    if barrier(labels | more, target, VOCABULARY, receivers, released) is None:
        assert barrier(labels, target, VOCABULARY, receivers, released) is None
    single = [
        barrier(frozenset({label}), target, VOCABULARY, receivers, released) for label in sorted(labels)
    ]
    found = barrier(labels, target, VOCABULARY, receivers, released)
    assert found == next((refusal for refusal in single if refusal is not None), None)


@pytest.mark.rule("SC-5")
@given(st.frozensets(st.sampled_from(PLACES).map("area:{}".format), max_size=4), TARGETS, TARGETS)
def test_area_data_that_enters_a_scope_may_enter_every_wider_one(
    labels: frozenset[str], narrow: Scope, wide: Scope
) -> None:
    if wide.reaches(narrow) and barrier(labels, narrow, VOCABULARY) is None:
        assert barrier(labels, wide, VOCABULARY) is None


@pytest.mark.rule("SC-8")
@given(LABELS, TARGETS | st.none(), RECEIVERS, RELEASES)
def test_a_release_opens_no_area_and_nothing_undeclared(
    labels: frozenset[str],
    target: Scope | None,
    receivers: frozenset[str],
    released: frozenset[tuple[str, str]],
) -> None:
    before = barrier(labels, target, VOCABULARY, receivers)
    after = barrier(labels, target, VOCABULARY, receivers, released)
    if before is None:
        assert after is None
    if before is not None and before.cause != "receiver":
        assert after is not None


@pytest.mark.rule("SC-5")
def test_data_without_labels_enters_anywhere() -> None:
    assert barrier(NO_LABELS, Scope("acme"), VOCABULARY) is None
    assert barrier(frozenset({"untrusted"}), Scope("globex/platform"), VOCABULARY) is None


@pytest.mark.rule("SC-7")
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_refusal_names_itself_the_label_both_scopes_and_the_remedies(language: str) -> None:
    refusal = barrier(frozenset({"area:acme/hr"}), Scope("globex/platform"), VOCABULARY)
    assert refusal is not None
    assert refusal.rule == "data_barrier"
    sentence = say(refusal.text, language)
    for part in ("data_barrier", "`area:acme/hr`", "`acme/hr`", "`globex/platform`"):
        assert part in sentence
    remedies = {
        "en": (
            "wire the agents in a scope that may carry the data",
            "publish an agent in a wider scope on purpose",
        ),
        "pt-BR": (
            "Ligue os agentes em um escopo que possa carregar os dados",
            "publique de propósito um agente",
        ),
    }
    for remedy in remedies[language]:
        assert remedy in sentence


@pytest.mark.rule("SC-3", "SC-7", "SC-8")
@pytest.mark.parametrize(("label", "cause"), [("pii", "receiver"), ("odd", "undeclared")])
def test_each_other_refusal_is_named_too(label: str, cause: str) -> None:
    refusal = barrier(frozenset({label}), Scope("globex"), VOCABULARY)
    assert refusal is not None
    assert refusal.cause == cause
    told = [say(refusal.text, language) for language in LANGUAGES]
    assert told[0] != told[1]
    for sentence in told:
        assert sentence.startswith("data_barrier: ")
        assert f"`{label}`" in sentence
        assert "`globex`" in sentence
        assert "{" not in sentence
