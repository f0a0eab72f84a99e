"""The conflict: which findings cannot all be true, in both languages, and which merely say it otherwise."""

from decimal import Decimal
from itertools import permutations

import pytest

from interlock.catalogue import say
from interlock.message.conflict import find_conflicts
from interlock.message.merge import merge
from tests.message.reports import contribution, finding, merged


def kinds(*texts: str) -> list[str]:
    return [conflict.kind for conflict in merged(*texts).conflicts]


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("The plant employs 142 people.", "The plant employs 180 people.", "quantity"),
        ("A usina emprega 142 pessoas.", "The plant employs 180 people.", "quantity"),
        ("The intake station has six pumps.", "A estação de captação conta com 8 bombas.", "quantity"),
        ("Loan interest is 6.8% a year.", "O empréstimo paga juros de 7,9% ao ano.", "quantity"),
        ("The tank holds 500 litres.", "The tank holds 0.7 m³.", "quantity"),
        ("The total cost was R$ 1,24 bilhão.", "The total cost was R$ 1.51 billion.", "quantity"),
        ("The plant opened on 28 March 2019.", "The plant opened on 2 July 2019.", "date"),
        ("A usina foi inaugurada em 28/03/2019.", "The plant was inaugurated in 2018.", "date"),
        ("The pump was repaired.", "The pump was not repaired.", "negation"),
        ("A bomba foi trocada.", "A bomba não foi trocada.", "negation"),
        ("Three workers died during construction.", "No workers died during construction.", "negation"),
        ("The plant is operated by Veltrona.", "The plant is operated by Hidrosul.", "name"),
        ("A usina é operada pela Veltrona.", "Hidrosul operates the plant.", "name"),
    ],
)
def test_a_difference_in_a_value_is_a_conflict(first: str, second: str, kind: str) -> None:
    assert kinds(first, second) == [kind]


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("subject", "attribute", "found"),
    [
        ("Nile", "length", []),
        ("The Nile", "Length", []),
        ("Amazon river", "length", ["quantity"]),
        ("it", "length", ["quantity"]),
        ("Amazon", "extent", ["quantity"]),
    ],
)
def test_one_attribute_of_two_named_subjects_is_none(subject: str, attribute: str, found: list[str]) -> None:
    one = finding("The Amazon is 6,672 km long.", subject="Amazon", attribute="length", value="6,672 km")
    words = f"The {subject} is 6,671 km long." if "Nile" in subject else "The Amazon is 6,852 km long."
    value = words.split(" is ")[1].removesuffix(" long.")
    other = finding(words, subject=subject, attribute=attribute, value=value)
    conflicts = merge([contribution("a", one), contribution("b", other)]).conflicts
    assert [conflict.kind for conflict in conflicts] == found


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The city has about 5 million people.", "The city has 4.98 million people."),
        ("Between 10 and 12 pumps are in the station.", "11 pumps are in the station."),
        ("At least 5 pumps are in the station.", "Há 7 bombas na estação."),
        ("The pipeline is 14.2 km long.", "The pipeline is 8.8 miles long."),
        ("The plant opened on 28 March 2019.", "A usina foi inaugurada em março de 2019."),
        ("The director is Helena Prado.", "The director is H. Prado."),
        ("The owner is Águas do Litoral.", "The owner is Aguas do Litoral SA."),
        ("The plant was not sold.", "A usina não foi vendida."),
        ("The station has no fewer than 5 pumps.", "The station has 6 pumps."),
        ("Half of the water is lost.", "50% of the water is lost."),
        ("O prazo é de três anos.", "The term is 36 months."),
        ("The owner is not Veltrona.", "The owner is Hidrosul."),
    ],
)
def test_rounding_rewording_and_coarser_values_are_none(first: str, second: str) -> None:
    assert kinds(first, second) == []


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The plant employs 142 people.", "The intake station has six pumps."),
        ("The loan was R$ 620 million.", "The insurance covers R$ 900 million."),
        ("Revenue in 2022 was R$ 118 million.", "Revenue in 2023 was R$ 141 million."),
        ("The intake water has a salinity of 36.5 g/L.", "The discharged brine has a salinity of 62 g/L."),
        ("The measured noise is 48 dB.", "The permitted noise limit is 50 dB."),
        ("The pump is 3 m long.", "The pump weighs 30 kg."),
        ("The first phase adds 40 MW.", "The second phase adds 55 MW."),
        ("Construction began on 12 May 2016.", "The plant opened on 28 March 2019."),
    ],
)
def test_values_of_other_things_are_none(first: str, second: str) -> None:
    assert kinds(first, second) == []


@pytest.mark.rule("RS-2")
def test_each_conflict_says_reason_values_findings_and_sources() -> None:
    texts = (
        "The plant employs 142 people.",
        "Some 142 people are employed at the plant.",
        "The plant employs 180 people.",
    )
    (conflict,) = merged(*texts).conflicts
    assert [side.value for side in conflict.sides] == sorted(["142", "180"])
    assert {joined.text for side in conflict.sides for joined in side.findings} == {texts[0], texts[2]} | (
        {texts[1]} if len(conflict.sides[0].findings) == 2 else set()
    )
    for language in ("en", "pt-BR"):
        told = say(conflict.reason, language)
        assert all(part in told for part in ("142", "180", "source-0", "source-2")), told
    assert say(conflict.reason) != say(conflict.reason, "pt-BR")


@pytest.mark.rule("RS-2")
def test_one_conflict_has_as_many_sides_as_there_are_values() -> None:
    texts = [f"The plant employs {number} people." for number in (142, 180, 220)]
    found = [merged(*order).conflicts for order in permutations(texts)]
    assert all(len(conflicts) == 1 and len(conflicts[0].sides) == 3 for conflicts in found)
    assert len({conflicts[0].key for conflicts in found}) == 1


@pytest.mark.rule("RS-2")
def test_the_order_of_joined_findings_changes_no_conflict() -> None:
    staff = [f"The plant employs {number} people." for number in (142, 180)]
    joined = merged(*staff, "The plant cost US$ 248 million.", "The plant cost R$ 1.51 billion.").findings
    found = find_conflicts(joined)
    assert found[0] and found[1]
    assert all(find_conflicts(order) == found for order in permutations(joined))


@pytest.mark.rule("RS-2")
def test_a_finding_may_be_in_two_conflicts() -> None:
    found = merged(
        "In 2023 the revenue was R$ 141 million and the net profit R$ 17 million.",
        "Revenue in 2023 was R$ 118 million.",
        "Net profit in 2023 was R$ 12 million.",
    )
    assert sorted(tuple(sorted(side.value for side in one.sides)) for one in found.conflicts) == [
        ("R$ 118 million", "R$ 141 million"),
        ("R$ 12 million", "R$ 17 million"),
    ]


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("142", "180 people", "quantity"),
        ("142 people", "one hundred and forty-two", None),
        ("85 ML/day", "85.000 m³/dia", None),
        ("85 ML/day", "95.000 m³/dia", "quantity"),
        ("2019-03-28", "28 de março de 2019", None),
        ("2019-03-28", "2018", "date"),
        ("Veltrona", "veltrona", None),
        ("Veltrona", "Hidrosul", "value"),
        ("approved", "not approved", "negation"),
        ("true", "false", "value"),
    ],
)
def test_values_given_apart_are_compared_whatever_the_texts_say(
    first: str, second: str, kind: str | None
) -> None:
    named = {"subject": "The plant", "attribute": "daily capacity"}
    found = merge(
        [
            contribution("a", finding("So says the first.", value=first, **named)),
            contribution("b", finding("Another page has it.", value=second, **named)),
        ]
    )
    assert [conflict.kind for conflict in found.conflicts] == ([kind] if kind else [])
    other = merge(
        [
            contribution("a", finding("So says the first.", value=first, **named)),
            contribution(
                "b", finding("Another page has it.", value=second, subject="the pump", attribute="weight")
            ),
        ]
    )
    assert not other.conflicts


@pytest.mark.rule("RS-2")
def test_amounts_in_two_currencies_are_said_not_to_be_compared() -> None:
    texts = "The plant cost US$ 248 million in total.", "The plant cost R$ 1.51 billion in total."
    found = merged(*texts)
    assert not found.conflicts
    (uncompared,) = found.uncompared
    assert set(uncompared.values) == {"US$ 248 million", "R$ 1.51 billion"}
    for language in ("en", "pt-BR"):
        assert "BRL, USD" in say(uncompared.note, language)
    assert merged(*texts, rates={"USD": Decimal("6.09"), "BRL": Decimal(1)}).conflicts == ()
    (conflict,) = merged(*texts, rates={"USD": Decimal(5), "BRL": Decimal(1)}).conflicts
    assert conflict.kind == "quantity" and conflict.open
