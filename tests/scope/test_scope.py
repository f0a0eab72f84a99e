"""Scopes and addresses: what is one, and who reaches whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InterlockError
from interlock.scope.scope import INSTALLATION, Address, Scope
from tests.bad_input import corpora as bad_input
from tests.bad_input.corpora import refusal

NAMES = st.from_regex(r"[a-z0-9-]{1,8}", fullmatch=True)
SCOPES = st.one_of(
    st.just("*"), NAMES, st.builds("{}/{}".format, st.sampled_from(["acme", "acme-2"]), NAMES)
).map(Scope)


@pytest.mark.rule("SC-1")
def test_a_scope_reaches_itself_and_what_lies_below() -> None:
    company, area = Scope("acme"), Scope("acme/platform")
    assert INSTALLATION.reaches(company)
    assert INSTALLATION.reaches(area)
    assert company.reaches(area)
    assert not area.reaches(company)
    assert not company.reaches(INSTALLATION)
    assert not area.reaches(Scope("acme/finance"))
    assert not area.reaches(Scope("globex/platform"))
    assert (area.company, company.company, INSTALLATION.company) == ("acme", "acme", "*")


@pytest.mark.rule("SC-1")
@pytest.mark.fault("F10")
def test_a_prefix_never_crosses_a_segment() -> None:
    names = ["acme", "acme-extern", "acme/hr", "acme/hr-extern", "acme/h", "acm"]
    reached = {(one, two) for one in names for two in names if Scope(one).reaches(Scope(two))}
    assert reached == {(name, name) for name in names} | {
        ("acme", "acme/hr"),
        ("acme", "acme/hr-extern"),
        ("acme", "acme/h"),
    }


@pytest.mark.rule("SC-1")
@given(SCOPES, SCOPES, SCOPES)
def test_reaching_is_a_partial_order(one: Scope, two: Scope, three: Scope) -> None:
    assert one.reaches(one)
    if one.reaches(two) and two.reaches(one):
        assert one == two
    if one.reaches(two) and two.reaches(three):
        assert one.reaches(three)


@pytest.mark.rule("SC-1", "BI-1")
@pytest.mark.fault("F10")
@pytest.mark.parametrize(
    "text",
    [
        *("", "/", "acme/", "/hr", "acme//hr", "a/b/c", "Acme", "acme_hr", "acme%", "ac me", "acme\n", "**"),
        *("acmé", "аcme", "*/hr", "a" * 64, "a" * 63 + "/" + "b" * 64, "x" * 5_000_000, "a\0", "\ud83d"),
        *(None, 3, b"acme", ["acme"]),
    ],
)
def test_what_is_no_scope_is_refused(text: str) -> None:
    with pytest.raises(InterlockError) as caught:
        Scope(text)
    assert caught.value.code == "scope.malformed"
    assert len(refusal(caught.value)) < 2000
    assert Scope("a" * 63 + "/" + "b" * 63).company == "a" * 63


@pytest.mark.rule("SC-2")
def test_an_address_names_agent_and_scope() -> None:
    address = Address("triage@acme/platform")
    assert (address.name, address.scope) == ("triage", Scope("acme/platform"))
    assert Address("steward@*").scope == INSTALLATION
    assert Address("a@acme/platform") != Address("a@globex/platform")


@pytest.mark.rule("SC-2")
@pytest.mark.fault("F10")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "triage",
        "@acme",
        "triage@",
        "a@b@c",
        "a_b@acme",
        "a%@acme",
        "A@acme",
        "a@acme/",
        "a@" + "b" * 200,
        7,
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InterlockError) as caught:
        Address(text)
    assert caught.value.code == "scope.malformed_address"
    refusal(caught.value)


@pytest.mark.rule("SC-1", "BI-1")
def test_nothing_naughty_is_a_scope_by_accident() -> None:
    for text in [*bad_input.naughty_strings(), *(f"ac{letter}me" for letter in bad_input.look_alikes())]:
        try:
            scope = Scope(text)
        except InterlockError as error:
            assert error.code == "scope.malformed"
        else:
            assert scope.isascii()
            assert set(scope) <= set("abcdefghijklmnopqrstuvwxyz0123456789-/*")
