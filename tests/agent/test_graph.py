"""The drawing of the agent graph: always the same, nothing hidden shown, nothing left out in silence."""

import json
import random

import pytest

from interlock.agent.graph import as_mermaid, as_text, draw
from interlock.agent.spec import Emission, Spec, Trigger
from interlock.scope.label import Vocabulary
from interlock.scope.scope import Scope

KNOWN = Vocabulary()


def agent(address: str, hears: tuple[str, ...] = (), emits: tuple[str, ...] = (), *artifacts: str) -> Spec:
    """A spec by address and event names."""
    name, _, scope = address.partition("@")
    return Spec(
        name=name,
        scope=Scope(scope),
        starts_on=tuple(Trigger(event) for event in hears),
        emits=tuple(Emission(event, "c", artifacts) for event in emits),
    )


COMPANY = [
    agent("developer@acme", ("reviewed",), ("written",)),
    agent("reviewer@acme", ("written",), ("reviewed", "told")),
    agent("clerk@acme/hr", ("told", "filed"), ("filed",), "file"),
    agent("cashier@acme/finance", ("filed",)),
]


@pytest.mark.rule("LP-1", "EV-4", "EV-8")
def test_text_says_who_starts_whom_and_marks_what_matters() -> None:
    assert as_text(draw(COMPANY, KNOWN)) == (
        "cashier@acme/finance\n"
        "clerk@acme/hr\n"
        "  filed → cashier@acme/finance  [✗ the barrier refuses: area:acme/hr does not enter acme/finance]\n"
        "  filed → clerk@acme/hr  [own event, starts nothing]\n"
        "developer@acme\n"
        "  written → reviewer@acme  [⟲ on a loop]\n"
        "reviewer@acme\n"
        "  reviewed → developer@acme  [⟲ on a loop]\n"
        "  told → clerk@acme/hr\n"
    )
    assert "⟲ em um laço" in as_text(draw(COMPANY, KNOWN), "pt-BR")


def test_mermaid_draws_loops_thick_and_what_starts_nothing_dotted() -> None:
    lines = as_mermaid(draw(COMPANY, KNOWN)).splitlines()
    assert lines[:3] == ["flowchart LR", '  a0["cashier@acme/finance"]', '  a1["clerk@acme/hr"]']
    assert [line.split("|")[0] for line in lines[5:]] == [
        "  a1 -.->",
        "  a1 -.->",
        "  a2 ==>",
        "  a3 ==>",
        "  a3 -->",
    ]


@pytest.mark.rule("BI-1")
@pytest.mark.fault("F42")
def test_an_event_name_cannot_break_out_of_its_label() -> None:
    hostile = 'x"| a0\nclick a0 "javascript:1" %%#'
    (edge,) = [
        line
        for line in as_mermaid(
            draw([agent("a@acme", (), (hostile,)), agent("b@acme", (hostile,))], KNOWN)
        ).splitlines()
        if "-->" in line
    ]
    assert edge.count('"') == 2 and edge.count("|") == 2 and edge.endswith("| a1")


def test_the_same_agents_give_the_same_picture() -> None:
    shuffled = COMPANY[:]
    random.Random(3).shuffle(shuffled)
    assert draw(shuffled, KNOWN) == draw(COMPANY, KNOWN)
    form = draw(COMPANY, KNOWN).as_dict()
    assert json.loads(json.dumps(form)) == form
    assert [edge["loop"] for edge in form["edges"]] == [False, False, True, True, False]
    assert form["edges"][0]["refused"]["rule"] == "data_barrier" and form["edges"][1]["own_event"]


@pytest.mark.rule("UI-3")
@pytest.mark.fault("F10")
def test_nothing_outside_the_readers_scopes_is_drawn() -> None:
    picture = draw([*COMPANY, agent("spy@acme/hr-extern", ("told",))], KNOWN, [Scope("acme/hr")])
    assert picture.agents == ("clerk@acme/hr",) and picture.agents_left_out == 0
    assert "finance" not in as_text(picture) + as_mermaid(picture) + json.dumps(picture.as_dict())


def test_what_a_bound_leaves_out_is_said() -> None:
    crowd = [agent(f"n{i:03}@acme", ("tick",), ("tick",)) for i in range(120)]
    picture = draw(crowd, KNOWN, agents=100, edges=500)
    assert len(picture.agents) == 100 and len(picture.edges) == 500
    assert picture.agents_left_out == 20 and picture.edges_left_out
    for language, words in (("en", "20 are left out"), ("pt-BR", "20 ficaram de fora")):
        assert words in as_text(picture, language) and words in as_mermaid(picture, language)
    assert as_text(draw([], KNOWN)) == "There are no agents to draw.\n"
