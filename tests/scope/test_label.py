"""Labels: they only accumulate, and what is not known fails closed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InterlockError
from interlock.scope.label import NO_LABELS, UNTRUSTED, DeclaredLabel, Vocabulary, area_label, join, listed
from interlock.scope.scope import Scope
from tests.bad_input.corpora import refusal

VOCABULARY = Vocabulary({"pii": DeclaredLabel("pii"), "confidential": DeclaredLabel("confidential")})
LABELS = st.frozensets(
    st.sampled_from(["untrusted", "pii", "confidential", "area:acme", "area:acme/hr", "odd"])
)


@pytest.mark.rule("SC-4")
@given(LABELS, LABELS, LABELS)
def test_join_is_associative_commutative_idempotent_and_loses_nothing(
    one: frozenset[str], two: frozenset[str], three: frozenset[str]
) -> None:
    assert join(join(one, two), three) == join(one, join(two, three)) == join(one, two, three)
    assert join(one, two) == join(two, one)
    assert join(one, one) == one == join(one, NO_LABELS) == join(one)
    assert one <= join(one, two)
    assert listed(join(one, two)) == sorted(one | two)
    assert join() == NO_LABELS


@pytest.mark.rule("SC-3")
def test_an_area_label_names_where_data_came_from() -> None:
    assert area_label(Scope("acme/platform")) == "area:acme/platform"
    assert VOCABULARY.origin("area:acme/platform") == Scope("acme/platform")
    assert VOCABULARY.origin("pii") is None


@pytest.mark.rule("SC-3")
@pytest.mark.parametrize(
    "label",
    ["", "secret", "PII", "pii ", "area:", "area:Acme", "area:a/b/c", "Area:acme", "рii", "pii\n", "\ud83d"],
)
def test_what_is_undeclared_or_malformed_is_not_known(label: str) -> None:
    assert not VOCABULARY.knows(label)
    with pytest.raises(InterlockError) as caught:
        VOCABULARY.check(["pii", label])
    assert caught.value.code == "label.undeclared"
    refusal(caught.value)


@pytest.mark.rule("SC-3")
@pytest.mark.parametrize("name", ["PII", "p i i", "рii", "a" * 64, "1pii", ""])
def test_declaring_a_malformed_label_does_not_make_it_known(name: str) -> None:
    assert not Vocabulary({name: DeclaredLabel(name)}).knows(name)


@pytest.mark.rule("SC-3", "SC-4")
def test_checking_gives_every_label_also_of_an_iterator() -> None:
    wanted = ["pii", UNTRUSTED, "area:acme"]
    assert VOCABULARY.check(wanted) == frozenset(wanted)
    assert VOCABULARY.check(iter(wanted)) == frozenset(wanted)


@pytest.mark.rule("SC-3")
@pytest.mark.parametrize("label", [None, 3, ["pii"], {"pii": 1}])
def test_a_label_that_is_no_text_is_refused(label: str) -> None:
    with pytest.raises(InterlockError, match=r"label\.undeclared"):
        VOCABULARY.check([label])
