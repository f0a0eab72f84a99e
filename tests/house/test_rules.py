"""The page of rules is true: each rule on it is proved by a test, and each test proves a rule on it."""

from tests.house.rules import PAGE, current, listed, proved


def test_every_rule_that_a_test_carries_is_on_the_page() -> None:
    assert not set(proved()) - set(listed(PAGE.read_text("utf-8")))


def test_every_rule_on_the_page_is_proved() -> None:
    assert not set(listed(PAGE.read_text("utf-8"))) - set(proved())


def test_every_rule_is_one_sentence() -> None:
    for rule, sentence in listed(PAGE.read_text("utf-8")).items():
        assert sentence.endswith("."), rule
        assert sentence.count(". ") == 0, rule


def test_the_page_says_where_each_rule_is_tested() -> None:
    text = PAGE.read_text("utf-8")
    assert text == current(text), "run `python -m tests.house.rules`"
