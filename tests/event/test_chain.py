"""The chain: where it stops, and what is said there."""

import pytest

from interlock.catalogue import say
from interlock.event.chain import Place, going_on, passage


@pytest.mark.rule("EV-6")
@pytest.mark.fault("F17")
def test_the_run_at_the_limit_runs_and_publishes_nothing() -> None:
    place, published = Place("run_0"), 0
    while passage(place, 8, ["e"]).outcome == "published":
        place, published = place.next(), published + 1
    assert place == Place("run_0", 8) and published == 8
    assert passage(Place("run_0", 9), 8, ["e"]).outcome == "limit"


@pytest.mark.rule("EV-6")
def test_the_closing_step_says_where_the_chain_came_from_and_what_to_look_at() -> None:
    text = passage(Place("run_77", 8), 8, ["a.done", "b.done"], ["dev@acme", "rev@acme"]).text
    assert text
    for language in ("en", "pt-BR"):
        said = say(text, language)
        assert all(part in said for part in ("run_77", "8", "dev@acme → rev@acme", "a.done, b.done"))
    assert "before raising the limit" in say(text) and "Antes de aumentar o limite" in say(text, "pt-BR")


@pytest.mark.rule("EV-9")
@pytest.mark.parametrize("limit", [0, 8, 10**9])
def test_an_unknown_place_withholds_whatever_the_limit(limit: int) -> None:
    found = passage(None, limit, ["a.done"])
    assert found.outcome == "unknown" and found.text and "a.done" in say(found.text)
    assert going_on(None, limit, "request")


def test_a_run_that_declares_no_event_has_none_withheld() -> None:
    assert passage(Place("run_0", 8), 8, []).text is None
    assert passage(None, 8, []).outcome == "published"


@pytest.mark.rule("EV-7")
@pytest.mark.parametrize("kind", ["request", "delegation", "hand_off"])
def test_at_the_limit_nothing_new_is_sent(kind) -> None:
    assert going_on(Place("run_0", 7), 8, kind) is None
    text = going_on(Place("run_0", 8), 8, kind, ["a@acme"])
    assert text and "run_0" in say(text) and "a@acme" in say(text)
    unknown = going_on(None, 8, kind)
    assert unknown and "{" not in say(unknown) + say(unknown, "pt-BR") + say(text, "pt-BR")
    assert say(unknown) != say(unknown, "pt-BR") and say(text) != say(text, "pt-BR")


@pytest.mark.rule("EV-6")
def test_a_place_survives_being_written_down() -> None:
    assert Place.from_dict(Place("run_0", 3).as_dict()) == Place("run_0", 3)
    assert Place.from_dict(None) is None
