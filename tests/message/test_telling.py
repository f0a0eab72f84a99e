"""The telling of an exchange from its steps alone: each kind of step, what is gone, how tasks stand, the diagram."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.catalogue import LANGUAGES, say
from interlock.ledger.kind import KINDS
from interlock.message.entry import Entry, Gone
from interlock.message.exchange import entries_of, named_in
from interlock.message.sequence import sequence_of
from interlock.message.standing import Standing, standings_of
from tests.message.telling import BILLING, CLERK, PEOPLE, ROOT, SUB, SUPPORT, Telling, whole_story

DIGEST = re.compile(r"digest-\d|(task|run|message|question|action|handoff)_\w")
"""What a stranger can make nothing of."""
SHAPE = {"seq", "at", "kind", "type", "task", "from", "to", "text", "says", "gone", "labels", "aside"}
SHAPE_OF_TASK = {"number", "id", "asked", "gone", "owner", "state", "done", "open", "answer"}
HOSTILE = st.text() | st.sampled_from(
    ["end", "END;", "\nend\n", "a;b", "#", "#59;", "%%{init: {}}%%", "---", "wrap:x", "loop x\nend", "<br/>", '"]',
     "😀" * 200, "x" * 5000, "\ud800", "\x1b[2J", "Note over p1: x", "p1->>p2: y", "$$x$$", "@{ type: x }", "\u2028"]
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.floats() | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6
)
LINE = re.compile(
    r"  (?:(?:participant|actor) p\d+ as |p\d+(?:->>|-->>|-x)p\d+: |Note over p\d+: )"
    r"(?:[^:;\"<>{}\[\]|%`\x00-\x1f]|#\d+;)+"
)


def entries(told: Telling) -> list[Entry]:
    """Give its entries."""
    return entries_of(told.steps, told.contents)


def of_kind(told: Telling, kind: str) -> list[Entry]:
    """Give the entries of one kind."""
    return [entry for entry in entries(told) if entry.kind == kind]


def standing(told: Telling, task: int = 1) -> Standing:
    """Give how a task stands."""
    return standings_of(told.steps, told.contents)[task - 1]


def opened(told: Telling, task: int = 1) -> list[str]:
    """Give what is open of a task, in words."""
    return [say(text) for text in standing(told, task).open]


def parts(entry: Entry) -> dict[str, Any]:
    """Give the parts of an entry by name."""
    return {part.name: part.value for part in entry.parts}


@pytest.mark.rule("MS-9")
def test_a_step_of_every_kind_is_told_with_who_and_whom_and_in_both_languages() -> None:
    told = whole_story()
    kinds = {kind for kind, (stream, _) in KINDS.items() if stream == "task"}
    assert {step.kind for step in told.steps} == kinds, (
        "the story has every kind of step that an exchange can have"
    )
    for language in LANGUAGES:
        for entry in entries(told):
            words = say(entry.text, language)
            assert not DIGEST.search(words) and "{" not in words and "exchange." not in words, words
    assert all(entry.who or entry.whom for entry in entries(told))
    assert [entry.seq for entry in entries(told)] == list(range(1, len(told.steps) + 1))


@pytest.mark.rule("MS-9")
def test_each_entry_says_who_did_what_to_whom() -> None:
    told = whole_story()
    found = {(entry.kind, entry.type): (entry.who, entry.whom, entry.task) for entry in entries(told)}
    assert found["task.opened", "person"] == ("person:Ana", SUPPORT, 1)
    assert found["task.opened", "event"] == (CLERK, "auditor@acme", 3), "whose event it was"
    assert found["message.sent", "request"] == (SUPPORT, CLERK, 1)
    assert found["message.sent", "result"] == (CLERK, SUPPORT, 2)
    assert found["message.undelivered", ""] == (SUPPORT, "nobody@acme/desk", 1)
    assert found["question.asked", "question"] == (SUPPORT, PEOPLE, 1)
    assert found["question.answered", "approve"] == ("person:João", SUPPORT, 1)
    assert found["task.handed_over", ""] == (SUPPORT, BILLING, 1)
    assert found["task.taken", ""] == ("person:João", PEOPLE, 1)
    assert found["task.acted", "done"] == (SUPPORT, "tool:refund", 1)
    assert found["task.closed", "closed"] == ("person:João", "", 1)
    assert found["event.withheld", ""] == (CLERK, "", 2), "of the run's task"


@pytest.mark.rule("MS-9", "MS-8")
def test_what_a_person_hands_over_or_settles_is_told_as_theirs() -> None:
    told = Telling()
    told.opened()
    told.add("task.queued", task=ROOT, owner=PEOPLE, from_=SUPPORT, reason={"id": "exchange.nobody"})
    told.handed(BILLING, {"goal": "g"}, by=PEOPLE)
    told.steps[-1] = _with(told.steps[-1], by="Maria")
    told.acted("in_doubt")
    told.acted("done", by="Maria")
    handed, *acted = (say(entry.text) for entry in entries(told)[2:])
    assert handed == "Maria hands the task over to billing@acme/money"
    assert acted[-1] == "refund counts as done, as Maria says", "she did not do it"
    assert entries(told)[-1].whom == "", "and called nothing"


def _with(step: Any, **more: Any) -> Any:
    return type(step)(step.stream, step.seq, step.kind, step.at, 0, json.dumps(step.body | more), b"", b"")


@pytest.mark.rule("MS-9", "CS-8")
def test_each_content_that_is_gone_is_said_to_be_gone_and_the_rest_stays() -> None:
    told = whole_story()
    named = {digest for step in told.steps for _, digest in named_in(step)}
    assert named == set(told.contents), "all content is looked for"
    before = [entry.as_dict(say) for entry in entries(told)]
    for digest in named:
        less = {key: value for key, value in told.contents.items() if key != digest}
        after = [entry.as_dict(say) for entry in entries_of(told.steps, less)]
        changed = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
        assert changed, digest
        for one, other in changed:
            assert list(other["gone"].values()) == ["no longer there"]
            assert {**one, "says": 0, "gone": 0} == {**other, "says": 0, "gone": 0}
        standings_of(told.steps, less)
        sequence_of(entries_of(told.steps, less), say)


@pytest.mark.rule("MS-9", "BI-1")
@given(VALUES)
def test_content_of_any_shape_is_told(value: Any) -> None:
    told = whole_story()
    told.contents = dict.fromkeys(told.contents, value)
    for entry in entries(told):
        entry.as_dict(say)
    for found in standings_of(told.steps, told.contents):
        found.as_dict(say)
    assert sequence_of(entries(told), say).startswith("sequenceDiagram\n")


@pytest.mark.rule("MS-9")
def test_the_shape_for_programs_is_the_documented_one() -> None:
    told = whole_story()
    for entry in entries(told):
        form = entry.as_dict(say)
        assert form.keys() == SHAPE
        json.dumps(form)
    for found in standings_of(told.steps, told.contents):
        assert found.as_dict(say).keys() == SHAPE_OF_TASK
    (refund,) = (entry for entry in of_kind(told, "task.acted") if entry.type == "done")
    assert refund.as_dict(say) == {
        "seq": 14,
        "at": 14_000,
        "kind": "task.acted",
        "type": "done",
        "task": 1,
        "from": SUPPORT,
        "to": "tool:refund",
        "text": "support@acme/desk did refund",
        "says": {
            "arguments": {"note": "please refund the fee", "please refund the fee": "please refund the fee"}
        },
        "gone": {},
        "labels": [],
        "aside": False,
    }
    (handed,) = of_kind(told, "task.handed_over")
    assert handed.labels == ("area:acme/desk", "untrusted")
    assert list(parts(handed)) == ["goal", "facts", "remains", "reason"], "in the order in which it is read"


@pytest.mark.rule("MS-9")
def test_what_names_no_task_belongs_to_that_of_its_message_question_or_run() -> None:
    told = Telling()
    told.opened()
    told.opened(SUB, CLERK, "run_2", {"kind": "request", "message": "message_0"})
    told.sent("message_1", "status", CLERK, SUPPORT, {"text": "t"}, task=SUB)
    told.add("message.taken", message="message_1", run="run_1")
    told.asked("question_1", "question", {"text": "?"}, task=SUB)
    told.add("question.answered", question="question_1", outcome="answer", by="Ana")
    told.add("event.withheld", run="run_2", reason={"id": "exchange.nobody"})
    told.opened("task_3", BILLING, "run_3", {"kind": "event", "event": "fee.found", "run": "run_2"})
    assert [entry.task for entry in entries(told)] == [1, 2, 2, 2, 2, 2, 2, 3]
    assert entries(told)[-1].who == CLERK, "whose run it was, though its task is not closed"
    ended = next(entry for entry in entries(whole_story()) if entry.type == "finished")
    assert parts(ended) == {"summary": "please refund the fee", "events": ["fee.found"]}


# How each task stands


@pytest.mark.rule("MS-9")
def test_each_task_of_an_exchange_stands_on_its_own() -> None:
    told = whole_story()
    root, sub, followed = standings_of(told.steps, told.contents)
    assert (root.number, root.id, root.owner, root.state) == (1, ROOT, "person:João", "closed")
    assert (sub.number, sub.asked, sub.owner, sub.state) == (2, "please refund the fee", CLERK, "finished")
    assert (followed.owner, followed.state, say(followed.asked)) == (
        "auditor@acme",
        "open",
        "what follows from the event fee.found",
    )
    assert len(root.done) == 2 and sub.done == ()
    assert sub.open == ()


@pytest.mark.rule("MS-9", "MS-7")
def test_a_hand_off_is_open_until_somebody_takes_it_and_what_remains_until_it_is_achieved() -> None:
    told = Telling()
    told.opened(brief="please")
    told.handed(BILLING, {"goal": "g", "remains": ["tell the customer"]})
    waits = f"{BILLING} has not acknowledged the hand-off yet"
    assert opened(told) == [waits, "remains: tell the customer"]
    told.add("task.acknowledged", task=ROOT, hand_off="handoff_1")
    assert opened(told) == ["remains: tell the customer"]
    told.add("task.closed", task=ROOT, run="run_9", status="failed")
    assert opened(told) == ["remains: tell the customer"], "nobody did it"
    assert (standing(told).owner, standing(told).state) == (BILLING, "failed")
    late = Telling()
    late.opened()
    late.handed(BILLING, {"goal": "g"})
    late.add("task.queued", task=ROOT, owner=PEOPLE, from_=BILLING, reason={"id": "exchange.nobody"})
    assert (standing(late).owner, opened(late)) == (PEOPLE, []), (
        "it waits for nobody any more: people have the task"
    )
    told.add("task.closed", task=ROOT, run="run_9", status="finished")
    assert opened(told) == []


@pytest.mark.rule("MS-9")
def test_a_request_is_open_until_its_reply_and_a_question_until_its_answer() -> None:
    told = Telling()
    told.opened()
    told.opened(SUB, CLERK, "run_2", {"kind": "request", "message": "message_1"})
    told.sent("message_1", "request", SUPPORT, CLERK, {"goal": "look"}, opens="run_2")
    told.asked("question_1", "approval", {})
    waits = f"{CLERK} has not answered {SUPPORT} yet"
    asks = f"the people of acme/desk are to approve or refuse refund, which {SUPPORT} wants"
    assert opened(told) == [waits, asks]
    told.sent("message_2", "error", CLERK, SUPPORT, {"what": "w", "why": "y"}, reply_to="message_1", task=SUB)
    assert opened(told) == [asks]
    told.add("question.answered", question="question_1", outcome="expire")
    assert opened(told) == []
    told.sent("message_3", "question", SUPPORT, CLERK, {"text": "?"})
    told.add("message.undelivered", message="message_3", reason={"id": "exchange.nobody"})
    assert opened(told) == []


@pytest.mark.rule("MS-9")
def test_a_request_whose_task_ended_is_open_no_more() -> None:
    told = Telling()
    told.opened(SUB, CLERK, "run_2", {"kind": "request", "message": "message_1"})
    told.sent("message_1", "request", "person:Ana", CLERK, {"goal": "look"}, opens="run_2", run=None)
    assert opened(told) == [f"{CLERK} has not answered Ana yet"]
    told.add("task.closed", task=SUB, run="run_2", status="cancelled")
    assert opened(told) == []


@pytest.mark.rule("MS-9", "AC-2", "AC-1")
def test_an_action_in_doubt_is_open_until_it_is_settled_and_a_conflict_until_it_is_seen() -> None:
    told = Telling()
    told.opened()
    told.acted("in_doubt")
    assert opened(told) == ["nobody knows whether refund was done"]
    told.acted("done")
    assert opened(told) == []
    assert [say(text) for text in standing(told).done] == [f"{SUPPORT} did refund (order o7, amount 40)"]
    told.acted("repeated")
    told.acted("conflict")
    assert len(standing(told).done) == 1, "done once"
    told.asked("question_1", "conflict", {})
    assert opened(told) == ["the people of acme/desk are to look at two differing wishes for refund"]
    told.add("question.answered", question="question_1", outcome="seen", by="Ana")
    assert opened(told) == []


@pytest.mark.rule("MS-9", "CS-8")
def test_how_a_task_stands_says_what_is_gone() -> None:
    told = Telling()
    told.opened(brief="please")
    told.handed(BILLING, {"goal": "g", "remains": ["tell the customer"]})
    told.contents.clear()
    assert isinstance(standing(told).asked, Gone)
    form = standing(told).as_dict(say)
    assert (form["asked"], form["gone"]) == (None, "no longer there")
    assert opened(told)[1] == "what remains to do cannot be read: no longer there"
    nothing = Telling()
    nothing.opened()
    assert standing(nothing).as_dict(say)["gone"] is None, "where nothing was said, nothing is gone"


@pytest.mark.rule("MS-9")
def test_what_only_tells_something_asks_nothing() -> None:
    told = Telling()
    told.opened()
    told.add("task.opened", task="task_2", owner=BILLING, run="run_2", scope="acme/money",
             by={"kind": "status", "name": SUPPORT, "message": "message_1"})  # fmt: skip
    told.sent(
        "message_1", "status", SUPPORT, BILLING, {"text": "a case will come"}, task="task_2", opens="run_2"
    )
    asked = standings_of(told.steps, told.contents)[1].asked
    assert say(asked) == "nothing; it was told: “a case will come”"


# The diagram


@pytest.mark.rule("MS-9", "BI-1")
@given(HOSTILE, HOSTILE)
@settings(max_examples=300, deadline=None)
def test_no_text_can_be_read_as_syntax_of_the_diagram(said: str, tool: str) -> None:
    told = whole_story(said, tool)
    head, *lines = sequence_of(entries(told), say).split("\n")[:-1]
    assert head == "sequenceDiagram"
    drawn = [entry for entry in entries(told) if not entry.aside]
    assert sum(" as " not in line or ": " in line for line in lines) == len(drawn), "a line for each"
    for line in lines:
        assert LINE.fullmatch(line), line
        assert not re.search(r"\bend\b", line, re.IGNORECASE), line


@pytest.mark.rule("MS-9")
def test_the_diagram_has_people_agents_the_queue_and_outside_systems() -> None:
    drawn = sequence_of(entries(whole_story()), say)
    for line in (
        "actor p1 as Ana",
        "participant p2 as support@acme/desk",
        "actor p6 as the people of acme/desk",
        "participant p8 as refund",
    ):
        assert f"  {line}\n" in drawn
    assert (
        "  p2->>p9: support@acme/desk hands the task over to billing@acme/money – please refund the fee\n"
        in drawn
    )
    assert "  p3-->>p2: (2) clerk@acme/desk answers support@acme/desk" in drawn, "a reply comes back"
    assert drawn.count("-xp8: ") == 4, "what was not done for sure is crossed out"


@pytest.mark.rule("MS-9", "BI-2")
@pytest.mark.parametrize(
    "name", [lambda _: BILLING, lambda number: f"{number:05}{'a' * 58}@{'b' * 63}/{'c' * 63}"]
)
def test_a_long_exchange_is_drawn_from_both_ends_within_what_can_be_drawn(name: Callable[[int], str]) -> None:
    told = Telling()
    told.opened()
    for number in range(2000):
        told.sent(
            f"message_{number}", "status", SUPPORT, name(number), {"text": f"number {number} " + "; " * 60}
        )
    drawn = sequence_of(entries(told), say)
    assert len(drawn) <= 50_000
    assert "Ana gives" in drawn and "… " in drawn and " more, which have no room here" in drawn
    left = int(re.search(r"… (?:#\d+;|[\d,.])+", drawn).group().strip("… ").replace(",", ""))  # type: ignore[union-attr]
    assert left + drawn.count("->>") == 2001, "what is left out is counted"
    keys = set(re.findall(r"(?:actor|participant) (p\d+) as", drawn))
    assert keys == set(re.findall(r"p\d+", re.sub(r": .*| as .*", "", drawn))), (
        "who is not drawn is not there"
    )
