"""The statement: how numbers, units, dates, names and negations are read in both languages."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.message.statement.period import agree_in_time
from interlock.message.statement.quantity import Quantity, agrees, comparable
from interlock.message.statement.statement import read_statement
from interlock.message.statement.word import language_in, stem_of
from tests.bad_input.corpora import naughty_strings


def quantity(text: str) -> Quantity:
    found = read_statement(text).quantities
    assert len(found) == 1, (text, [item.text for item in found])
    return found[0]


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("It cost $4.2m.", "4200000", "money:USD"),
        ("It cost 4.2 million dollars.", "4200000", "money:USD"),
        ("Custou R$ 1,24 bilhão.", "1240000000", "money:BRL"),
        ("Custou 1.240 milhões de reais.", "1240000000", "money:BRL"),
        ("O preço foi de R$ 1.234.567,89.", "1234567.89", "money:BRL"),
        ("The price was R$ 1,234,567.89.", "1234567.89", "money:BRL"),
        ("Custou US$ 3 mi.", "3000000", "money:USD"),
        ("It cost €2bn.", "2000000000", "money:EUR"),
        ("It is 3.5% of all.", "0.035", "ratio"),
        ("É 3,5 por cento de tudo.", "0.035", "ratio"),
        ("Half of the budget is spent.", "0.5", "ratio"),
        ("Dois terços do orçamento foram gastos.", "0.6666666666666666666666666667", "ratio"),
        ("It weighs 2 tonnes.", "2000", "mass"),
        ("It weighs 10 pounds.", "4.5359237", "mass"),
        ("It is 9.6 ha large.", "96000.0", "area"),
        ("It is 1.8 km long.", "1800.0", "length"),
        ("Tem 1.800 m de extensão.", "1800", "length"),
        ("It took 216 hours.", "777600", "time"),
        ("Levou nove dias.", "777600", "time"),
        ("It uses 18 MW.", "18000000", "power"),
        ("There are one hundred and forty-two people.", "142", "count"),
        ("São duzentos e trinta e cinco casas.", "235", "count"),
        ("Atende dois mil e quinhentos clientes.", "2500", "count"),
        ("It serves 310 thousand homes.", "310000", "count"),
        ("Abastece 310 mil domicílios.", "310000", "count"),
        ("It has a dozen pumps.", "12", "count"),
    ],
)
def test_a_quantity_is_read(text: str, value: str, dimension: str) -> None:
    found = quantity(text)
    assert found.low == found.high == Decimal(value)
    assert found.dimension == dimension


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("It has at least 5 pumps.", 5, None),
        ("Tem pelo menos cinco bombas.", 5, None),
        ("It has more than 5 pumps.", 5, None),
        ("It has 5 or more pumps.", 5, None),
        ("It has up to 5 pumps.", None, 5),
        ("Tem no máximo 5 bombas.", None, 5),
        ("It has between 10 and 12 pumps.", 10, 12),
        ("Tem entre 10 e 12 bombas.", 10, 12),
        ("Tem de 10 a 12 bombas.", 10, 12),
        ("It has 10–12 pumps.", 10, 12),
        ("It costs 2 to 3 million dollars.", 2_000_000, 3_000_000),
        ("It costs $2-3 million.", 2_000_000, 3_000_000),
    ],
)
def test_bounds_and_ranges_are_read(text: str, low: int | None, high: int | None) -> None:
    found = quantity(text)
    assert (found.low, found.high) == (low, high)


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        ("about 5 million people", "4.98 million people", True),
        ("cerca de 5 milhões de pessoas", "4,98 milhões de pessoas", True),
        ("5 million people", "4.98 million people", True),
        ("5 million people", "5.6 million people", False),
        ("between 10 and 12 pumps", "11 pumps", True),
        ("between 10 and 12 pumps", "13 pumps", False),
        ("at least 5 pumps", "7 pumps", True),
        ("at least 5 pumps", "4 pumps", False),
        ("at least 5 pumps", "at most 4 pumps", False),
        ("142 people", "143 people", False),
        ("1,200 people", "1,215 people", True),
        ("40 pumps", "41 pumps", False),
        ("8.8 miles", "14.2 km", True),
        ("82 °F", "28 °C", True),
        ("88 °F", "28 °C", False),
        ("6.2 MPa", "62 bar", True),
        ("27%", "just over a quarter of it", True),
        ("R$ 5,90 por m³", "R$ 6.75 per cubic metre", False),
        ("R$ 5,90 por m³", "R$ 5.9/m³", True),
        ("30 years", "three decades", True),
    ],
)
def test_rounding_ranges_and_units_are_allowed_for(first: str, second: str, agree: bool) -> None:
    one, two = quantity(first), quantity(second)
    assert comparable(one, two, {})
    assert agrees(one, two) == agrees(two, one) == agree


@pytest.mark.rule("RS-2")
def test_two_currencies_are_compared_only_at_a_rate() -> None:
    one, two = quantity("US$ 100 million"), quantity("R$ 520 milhões")
    assert not comparable(one, two, {}) and not comparable(one, two, {"USD": Decimal(5)})
    rates = {"USD": Decimal("5.2"), "BRL": Decimal(1)}
    assert comparable(one, two, rates) and agrees(one, two, rates)
    assert not agrees(one, two, {"USD": Decimal(4), "BRL": Decimal(1)})
    assert not comparable(quantity("5 km"), quantity("5 kg"), rates)


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("on 28 March 2019", 20190328, 20190328),
        ("on March 28th, 2019", 20190328, 20190328),
        ("em 28 de março de 2019", 20190328, 20190328),
        ("em 28/03/2019", 20190328, 20190328),
        ("on 03/28/2019", 20190328, 20190328),
        ("at 2019-03-28T10:00:00Z", 20190328, 20190328),
        ("em 1º de maio de 2020", 20200501, 20200501),
        ("in February 2024", 20240201, 20240229),
        ("em fevereiro de 2023", 20230201, 20230228),
        ("in Q1 2019", 20190101, 20190331),
        ("no primeiro trimestre de 2019", 20190101, 20190331),
        ("in the 1950s", 19500101, 19591231),
        ("in the fifties", 19500101, 19591231),
        ("na década de 1950", 19500101, 19591231),
        ("no século XIX", 18000101, 18991231),
        ("in 2019", 20190101, 20191231),
        ("from 2013 to 2015", 20130101, 20151231),
        ("valid until June 2029", 20290601, 20290630),
    ],
)
def test_a_date_is_read(text: str, first: int, last: int) -> None:
    (period,) = read_statement(f"It was so {text}.").periods
    assert (period.first, period.last) == (first, last)


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        ("on 28 March 2019", "in 2019", True),
        ("on 28 March 2019", "em março de 2019", True),
        ("on 28 March", "em 28/03/2019", True),
        ("in July", "on 18 July 1996", True),
        ("in July", "on 18 June 1996", False),
        ("on 28 March 2019", "on 29 March 2019", False),
        ("before 1990", "in 1985", True),
        ("before 1990", "in 1995", False),
        ("since 2010", "in 2012", True),
        ("around 1990", "in 1991", True),
        ("in the 1950s", "in 1957", True),
    ],
)
def test_a_coarse_date_agrees_with_a_finer_one_inside_it(first: str, second: str, agree: bool) -> None:
    one, two = (read_statement(f"It was so {text}.").periods[0] for text in (first, second))
    assert agree_in_time(one, two) == agree_in_time(two, one) == agree


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The pump does not work.", 1),
        ("A bomba não funciona.", 1),
        ("Nenhuma bomba falhou.", 1),
        ("No pump failed.", 1),
        ("A falha ocorreu no ano passado, no norte.", 0),
        ("It has no fewer than 5 pumps.", 0),
        ("Not only the pump failed.", 0),
        ("It failed to start.", 1),
        ("It works without a pump.", 1),
    ],
)
def test_a_negation_is_read(text: str, count: int) -> None:
    assert len(read_statement(text).negations) == count


@pytest.mark.rule("RS-2")
def test_what_belongs_to_a_name_is_no_quantity() -> None:
    for text in (
        "It has the certificate ISO 14001.",
        "The F-35 flew.",
        "Phase two begins.",
        "The second phase begins.",
    ):
        assert not read_statement(text).quantities, text
    assert read_statement("Em São Paulo, Águas do Litoral S.A. vendeu.").names[0].text == "São Paulo"
    assert not read_statement("According to the National Water Agency, it leaks.").names


def test_words_of_both_languages_meet_in_their_stem() -> None:
    for english, portuguese in (
        ("employees", "funcionários"),
        ("capacity", "capacidade"),
        ("produces", "produziu"),
    ):
        assert stem_of(english) == stem_of(portuguese)
    assert language_in("The plant is large") == "en" and language_in("A usina é grande") == "pt"
    assert language_in("142") is None


@pytest.mark.rule("RS-2")
@given(st.text(max_size=60) | st.from_regex(r"[\d.,/ºª%$€ -]{1,30}( de| mil| [A-Z]\w+)?", fullmatch=True))
@settings(max_examples=300, deadline=None)
def test_every_text_can_be_read(text: str) -> None:
    found = read_statement(text)
    for item in (*found.quantities, *found.periods, *found.names, *found.negations):
        assert 0 <= item.start < item.end <= len(text)
    assert found.signature == read_statement(text).signature


def test_naughty_strings_can_be_read() -> None:
    for text in naughty_strings():
        read_statement(text)
