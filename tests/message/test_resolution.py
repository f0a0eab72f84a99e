"""The resolution: evidence or a judge ends a conflict, or it stays open."""

import pytest

from interlock.catalogue import say
from interlock.errors import InterlockError
from interlock.message.judgement import resolve
from interlock.message.merge import merge
from interlock.message.resolution import Ruling
from tests.bad_input.corpora import refusal
from tests.message.reports import contribution, finding

LESS, MORE = "The plant employs 142 people.", "The plant employs 180 people."


def conflict_of(*backing: tuple[str, str, str, str]):
    """Give the one conflict of findings given as text, origin, source and day."""
    found = merge(
        contribution(origin, finding(text, source, observed=day)) for text, origin, source, day in backing
    )
    (conflict,) = found.conflicts
    return conflict


def standing(conflict) -> str | None:
    return None if conflict.open else conflict.sides[conflict.resolution.side].value


@pytest.mark.rule("RS-3")
@pytest.mark.parametrize(
    ("backing", "value"),
    [
        ([(LESS, "a", "x", ""), (MORE, "b", "y", "")], None),
        ([(LESS, "a", "x", ""), (LESS, "c", "z", ""), (MORE, "b", "y", "")], "142"),
        ([(LESS, "a", "x", ""), (LESS, "a", "z", ""), (MORE, "b", "y", "")], None),
        ([(LESS, "a", "x", ""), (LESS, "c", "x", ""), (MORE, "b", "y", "")], None),
        ([(LESS, "a", "x", "2026-01-01"), (MORE, "b", "y", "2026-02-01")], "180"),
        ([(LESS, "a", "x", ""), (MORE, "b", "y", "2026-02-01")], None),
        ([(LESS, "a", "x", "2026-02-01"), (MORE, "b", "y", "2026-02-01")], None),
        (
            [(LESS, "a", "x", "2026-03-01"), (LESS, "c", "z", "2026-03-01"), (MORE, "b", "y", "2026-02-01")],
            "142",
        ),
        (
            [(LESS, "a", "x", "2026-01-01"), (LESS, "c", "z", "2026-01-01"), (MORE, "b", "y", "2026-02-01")],
            None,
        ),
    ],
)
def test_more_independent_or_fresher_sources_resolve_and_nothing_else(backing, value: str | None) -> None:
    assert standing(conflict_of(*backing)) == standing(conflict_of(*reversed(backing))) == value


@pytest.mark.rule("RS-3")
def test_a_resolution_says_by_what_it_was_found() -> None:
    by_number = conflict_of((LESS, "a", "x", ""), (LESS, "c", "z", ""), (MORE, "b", "y", ""))
    by_age = conflict_of((LESS, "a", "x", "2026-01-01"), (MORE, "b", "y", "2026-02-01"))
    for conflict, part in ((by_number, "2"), (by_age, "2026-02-01")):
        assert conflict.resolution.how == "evidence"
        reasons = [say(conflict.resolution.reason, language) for language in ("en", "pt-BR")]
        assert all(part in reason and standing(conflict) in reason for reason in reasons)
        assert reasons[0] != reasons[1]


@pytest.mark.rule("RS-3")
def test_a_named_judge_decides_above_the_evidence() -> None:
    conflict = conflict_of((LESS, "a", "x", ""), (LESS, "c", "z", ""), (MORE, "b", "y", ""))
    ruling = Ruling("judge@acme", conflict.key, "180", "The list of May counts 180.")
    ruled = resolve(conflict, ruling)
    assert standing(ruled) == "180" and ruled.resolution.how == "judge"
    assert "judge@acme" in say(ruled.resolution.reason) and "The list of May" in say(
        ruled.resolution.reason, "pt-BR"
    )
    assert (ruled.key, ruled.sides) == (conflict.key, conflict.sides)


@pytest.mark.rule("RS-3")
def test_a_ruling_fits_one_conflict_and_one_of_its_sides() -> None:
    conflict = conflict_of((LESS, "a", "x", ""), (MORE, "b", "y", ""))
    for ruling in (Ruling("judge@acme", "another", "180"), Ruling("judge@acme", conflict.key, "200")):
        with pytest.raises(InterlockError) as caught:
            resolve(conflict, ruling)
        refusal(caught.value)


@pytest.mark.rule("RS-3")
def test_rulings_given_to_a_merge_count_for_the_conflict_they_name() -> None:
    given = [contribution("a", finding(LESS, "x")), contribution("b", finding(MORE, "y"))]
    (conflict,) = merge(given).open_conflicts
    rulings = [Ruling("judge@acme", conflict.key, "142"), Ruling("judge@acme", "gone", "1")]
    assert not merge(given, rulings=rulings).open_conflicts
    assert standing(merge(given, rulings=rulings).conflicts[0]) == "142"
