"""Opposites, kinds of work, and what denies without a negation: conflicts that no value shows."""

import pytest

from interlock.message.comparison import compare
from interlock.message.statement.overlay import EVEN
from tests.message.reports import finding


def kind(first: str, second: str, known: bool = False) -> str | None:
    one, other = (
        compare(finding(left), finding(right), EVEN, known=known)
        for left, right in ((first, second), (second, first))
    )
    assert (one.outcome, one.kind) == (other.outcome, other.kind)
    return one.kind if one.outcome == "conflict" else None


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The sluice is open.", "The sluice is closed."),
        ("A válvula está aberta.", "The valve is closed."),
        ("A válvula está aberta.", "A válvula está fechada."),
        ("Exports rose in 2022.", "As exportações caíram em 2022."),
        ("The permit was granted before the hearing.", "The permit was granted after the hearing."),
        ("A licença foi concedida antes da audiência.", "A licença foi concedida depois da audiência."),
    ],
)
def test_opposites_in_sentences_that_are_else_alike_are_a_conflict(first: str, second: str) -> None:
    assert kind(first, second) == "value"


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The sluice is open.", "The ferry terminal is closed."),
        ("A válvula está aberta.", "A loja está fechada."),
        ("Exports rose in 2022.", "Exports fell in 2023."),
        ("As exportações subiram em 2022.", "As exportações caíram em 2023."),
        ("The sluice is open.", "The sluice is not closed."),
        ("A válvula está aberta.", "A válvula não está fechada."),
        ("The gate is open before noon and after noon.", "The gate is open after noon."),
        ("The north gate has a guard.", "The south gate has a guard."),
        ("O portão norte tem um guarda.", "O portão sul tem um guarda."),
        ("The north station has six pumps.", "The south station has eight pumps."),
        ("A estação norte tem seis bombas.", "A estação sul tem oito bombas."),
    ],
)
def test_opposites_of_two_things_or_two_times_or_turned_round_are_none(first: str, second: str) -> None:
    assert kind(first, second) is None


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("It is the largest lake of the valley.", "Lake Orme is the smallest lake of the valley."),
        ("É o maior lago do vale.", "O Orme é o menor lago do vale."),
        (
            "The bell was cast before the chapel burned down.",
            "It was cast in bronze after the chapel burned down.",
        ),
    ],
)
def test_what_picks_one_of_two_out_is_opposed_where_both_are_known_to_be_of_one(
    first: str, second: str
) -> None:
    assert kind(first, second, known=True) == "value"


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Marta Reis is not a musician.", "Marta Reis is a drummer in a band.", "negation"),
        ("Rui Sá não é músico.", "Rui Sá é baterista de uma banda.", "negation"),
        ("Marta Reis is not a drummer.", "Marta Reis is a musician in a band.", None),
        ("Rui Sá não é baterista.", "Rui Sá é músico de uma banda.", None),
        ("Marta Reis is not a musician.", "Marta Reis is a surgeon in a hospital.", None),
    ],
)
def test_who_is_denied_a_kind_of_work_does_no_work_of_that_kind(
    first: str, second: str, expected: str | None
) -> None:
    assert kind(first, second) == expected


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("The council did not approve the plan.", "The council rejected the plan.", None),
        ("O conselho não aprovou o plano.", "O conselho rejeitou o plano.", None),
        ("The council did not approve the plan.", "The council approved the plan.", "negation"),
        ("There were no leaks in the tunnel.", "There were 0 leaks in the tunnel.", None),
        ("Não houve vazamentos no túnel.", "Houve 0 vazamentos no túnel.", None),
        ("There is no leak of 0.5 litres.", "There is a leak of 0.5 litres.", "negation"),
        ("The strike was not cancelled.", "The strike was cancelled.", "negation"),
        ("A greve não foi cancelada.", "A greve foi cancelada.", "negation"),
    ],
)
def test_what_denies_without_a_negation_agrees_with_one(
    first: str, second: str, expected: str | None
) -> None:
    assert kind(first, second) == expected


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second", "apart", "known"),
    [
        (
            "Ana Prado has taught at the harbour school for 12 years.",
            "Ana Prado (born 4 May 1960) is a Chilean botanist whose teaching spans five decades.",
            None,
            "quantity",
        ),
        ("The tender was won by Veltrona.", "Hidrosul won it after a long dispute in court.", None, None),
        (
            "Rui Sá trabalha na escola do porto há 12 anos.",
            "Rui Sá, nascido em 4 de maio de 1960, é um botânico cuja carreira soma cinco décadas.",
            None,
            "quantity",
        ),
        ("Veltrona belongs to Marta Reis.", "The owner of Veltrona is Ana Prado.", "name", "name"),
        ("A Veltrona pertence a Marta Reis.", "A dona da Veltrona é Ana Prado.", "name", "name"),
    ],
)
def test_less_likeness_is_asked_of_findings_known_to_be_about_one_thing(
    first: str, second: str, apart: str | None, known: str | None
) -> None:
    assert (kind(first, second), kind(first, second, known=True)) == (apart, known)


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("A concessão tem prazo de 30 anos.", "A greve durou 16 dias.", None),
        ("The term of the lease is 30 years.", "The strike lasted 16 days.", None),
        ("The term of the lease is 30 years.", "The lease lasts 25 years.", "quantity"),
        ("A concessão tem prazo de 30 anos.", "A concessão dura 25 anos.", "quantity"),
    ],
)
def test_numbers_hundreds_of_times_apart_measure_two_things(
    first: str, second: str, expected: str | None
) -> None:
    assert kind(first, second) == expected
