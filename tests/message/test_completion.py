"""The completion: what a written text left out is added by code."""

import pytest

from interlock.message.completion import complete_text
from interlock.message.merge import merge
from interlock.message.result import Undone
from tests.message.reports import contribution, finding

LESS, MORE = "The plant employs 142 people.", "The plant employs 180 people."
GAP = Undone("prices of the suppliers", "the portal was closed")
MERGED = merge(
    [
        contribution("a@acme", finding(LESS, "tool:x"), undone=(GAP,)),
        contribution("b@acme", finding(MORE, "tool:y"), finding("The plant is large.", "tool:x")),
    ]
)


@pytest.mark.rule("RS-3")
@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ("Open conflicts:", "Not done:")), ("pt-BR", ("Conflitos em aberto:", "Não foi feito:"))],
)
def test_every_open_conflict_and_gap_that_is_not_stated_is_added(
    language: str, words: tuple[str, str]
) -> None:
    completed = complete_text("The plant is large.\n", MERGED, language)
    assert completed.text.startswith("The plant is large.\n\n")
    for part in (*words, "142", "180", "tool:x", "tool:y", GAP.what, GAP.why, "a@acme"):
        assert part in completed.text, part
    assert len(completed.added) == 2
    assert completed.sources == ("tool:x", "tool:y")


@pytest.mark.rule("RS-3")
def test_what_is_stated_is_not_added_again() -> None:
    written = (
        "Sources differ on the staff of the plant: 142 people or 180. "
        "The prices of the suppliers could not be had, since the portal was closed."
    )
    assert complete_text(written, MERGED) == complete_text(written, MERGED, "pt-BR")
    completed = complete_text(written, MERGED)
    assert completed.text == written and completed.added == ()
    once = complete_text("The plant is large.", MERGED)
    assert complete_text(once.text, MERGED).text == once.text


@pytest.mark.rule("RS-3")
@pytest.mark.parametrize(
    ("written", "added"),
    [
        ("The plant employs 142 people.", 2),
        ("The plant employs 142 people. It has 12 pumps. Cars: 180.", 2),
        ("We found the prices of the rivals.", 2),
        ("A usina emprega 142 pessoas, ou 180.", 1),
        ("The prices of the suppliers were not found.", 1),
        ("The prices of the suppliers are missing.", 1),
        ("Faltam os prices of the suppliers.", 1),
        ("The prices of the suppliers are in the second table.", 2),
        ("", 2),
    ],
)
def test_half_of_a_conflict_or_of_a_gap_is_not_a_statement_of_it(written: str, added: int) -> None:
    assert len(complete_text(written, MERGED).added) == added


@pytest.mark.rule("RS-3")
def test_a_resolved_conflict_is_not_added() -> None:
    found = merge(
        contribution(origin, finding(text, source))
        for origin, text, source in (("a", LESS, "x"), ("b", LESS, "y"), ("c", MORE, "z"))
    )
    assert found.conflicts and complete_text("Nothing.", found).added == ()


@pytest.mark.rule("RS-3")
def test_an_added_line_stays_one_line_and_the_text_is_kept_whole() -> None:
    undone = Undone("a\n- b", "c\n\nd")
    written = "First.\n\nSecond."
    completed = complete_text(written, merge([contribution("a", undone=(undone,))]))
    assert completed.text.startswith(written)
    assert completed.added == ("- a - b, asked of a: c d",)


@pytest.mark.rule("RS-3")
@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_completing_twice_adds_nothing(language: str) -> None:
    undone = tuple(Undone(f"the check of part {number}", "no time") for number in range(4))
    found = merge(
        [contribution("a", finding(LESS, "x"), undone=undone), contribution("b", finding(MORE, "y"))]
    )
    once = complete_text("Done.", found, language)
    assert len(once.added) == 5
    assert complete_text(once.text, found, language).added == ()
