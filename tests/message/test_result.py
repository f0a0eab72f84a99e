"""The result: what is accepted, what is malformed, and what its sender is told."""

import json
from datetime import UTC, datetime

import pytest

from interlock.errors import InterlockError
from interlock.form.problem import FormError
from interlock.message.result import REPORT_WORDS, Finding, Result, Undone, check_result, words_in
from tests.bad_input.corpora import refusal

READ = ("artifact:visit", "tool:orders", "https://example.com/report")
FOUND = {"text": "The order was paid on 3 May.", "sources": ["tool:orders"]}
GAP = {"what": "refunds", "why": "the tool did not answer"}


def checked(read=READ, words=REPORT_WORDS, **form):
    return check_result(json.dumps({"status": "complete", **form}), read, words=words)


def problems(**form) -> dict[str, str]:
    """Give the code of each problem by the field where it is."""
    found = checked(**form)
    assert isinstance(found, FormError), found
    refusal(found)
    return {item["path"]: item["code"] for item in found.problems}


@pytest.mark.rule("RS-1")
def test_a_result_is_read_as_it_was_meant() -> None:
    named = {
        "subject": "order 17",
        "attribute": "paid",
        "value": 12.5,
        "observed": "2026-05-03T10:00:00+02:00",
    }
    found = checked(
        status="partial", findings=[{**FOUND, **named}], not_done=[GAP], summary="Paid.", tokens=9
    )
    moment = datetime(2026, 5, 3, 8, tzinfo=UTC)
    paid = Finding(FOUND["text"], ("tool:orders",), "order 17", "paid", "12.5", moment)
    assert found == Result("partial", (paid,), (Undone(**GAP),), "Paid.", 9)
    assert Result.from_dict(json.loads(json.dumps(found.as_dict()))) == found


@pytest.mark.rule("RS-1")
@pytest.mark.parametrize("sources", [None, [], ()])
def test_a_finding_without_a_source_is_malformed(sources) -> None:
    assert problems(findings=[{**FOUND, "sources": sources}]) == {"findings[0].sources": "result.no_source"}
    assert problems(findings=[{"text": "x"}]) == {"findings[0].sources": "result.no_source"}


@pytest.mark.rule("RS-1")
@pytest.mark.parametrize("name", ["tool:order", "artifact:letter", "https://example.com", "", " ", "tool"])
def test_a_source_that_the_run_did_not_read_is_malformed(name: str) -> None:
    both = [{**FOUND, "sources": ["tool:orders", name]}]
    assert problems(findings=both) == {"findings[0].sources[1]": "result.unread_source"}
    assert checked(findings=both, read=(*READ, name)) if name.strip() else True


@pytest.mark.rule("RS-1")
def test_the_nearest_name_is_offered_and_a_secret_is_not_shown() -> None:
    told = str(checked(findings=[{**FOUND, "sources": ["tool:order"]}]))
    assert "Did you mean `tool:orders`?" in told
    secret = "https://user:hunter2secret@example.com/report"
    assert "hunter2" not in str(checked(findings=[{**FOUND, "sources": [secret]}]))


@pytest.mark.rule("RS-1")
def test_many_names_are_told_in_part() -> None:
    read = [f"artifact:page-{number:03d}" for number in range(500)]
    told = str(checked(findings=[{**FOUND, "sources": ["zzz"]}], read=read))
    assert "artifact:page-000" in told and "and 488 more" in told and len(told) < 1500


@pytest.mark.rule("RS-1")
@pytest.mark.parametrize("status", ["partial", "failed"])
def test_what_is_not_complete_says_what_is_missing_and_why(status: str) -> None:
    assert problems(status=status) == {"not_done": "result.no_reason"}
    assert problems(status=status, not_done=[]) == {"not_done": "result.no_reason"}
    assert problems(status=status, not_done=[{"what": "x"}]) == {"not_done[0].why": "form.missing_key"}
    assert problems(status=status, not_done=[{"what": "x", "why": "  "}]) == {
        "not_done[0].why": "result.empty_text"
    }
    assert isinstance(checked(status=status, not_done=[GAP]), Result)


@pytest.mark.rule("RS-1")
def test_a_report_over_the_limit_is_malformed_and_told_to_save_the_bulk() -> None:
    assert isinstance(checked(summary="word " * 200), Result)
    assert problems(summary="word " * 201) == {"": "result.too_long"}
    error = checked(summary="word " * 150, findings=[{**FOUND, "text": "word " * 60}])
    assert isinstance(error, FormError)
    for language in ("en", "pt-BR"):
        assert "`save_artifact`" in error.what(language) and "210" in error.what(language)
    assert isinstance(checked(summary="word " * 201, words=300), Result)
    assert isinstance(checked(summary="one two three", words=2), FormError)


@pytest.mark.rule("RS-1")
@pytest.mark.parametrize("place", ["summary", "text", "subject", "attribute", "value", "what", "why"])
def test_every_text_counts_as_words_of_the_report(place: str) -> None:
    words = "word " * 30
    form = {"findings": [FOUND], "not_done": [GAP]}
    if place == "summary":
        form["summary"] = words
    elif place in GAP:
        form["not_done"] = [{**GAP, place: words}]
    else:
        form["findings"] = [{**FOUND, place: words}]
    assert checked(**form, words=60).words > 30
    assert isinstance(checked(**form, words=30), FormError)


@pytest.mark.rule("RS-1")
def test_leaving_out_spaces_saves_no_words() -> None:
    assert words_in("a" * 4800) == 200 and words_in("one two") == 2 and words_in("") == 0
    assert isinstance(checked(summary="a" * 3990, words=100), FormError)


@pytest.mark.rule("RS-1")
def test_every_text_and_list_is_bounded() -> None:
    long, name = "a" * 4001, "n" * 201
    found = problems(
        summary=long,
        findings=[{**FOUND, "text": long, "subject": name}],
        not_done=[{"what": long, "why": "y"}],
    )
    places = ("summary", "findings[0].text", "findings[0].subject", "not_done[0].what")
    assert {place: found[place] for place in places} == dict.fromkeys(places, "result.long_text")
    assert problems(findings=[{**FOUND, "text": "x"}] * 201)["findings"] == "result.too_many"
    assert problems(findings=[{**FOUND, "sources": ["tool:orders"] * 51}]) == {
        "findings[0].sources": "result.too_many"
    }


@pytest.mark.rule("RS-1")
def test_every_problem_is_told_at_once() -> None:
    found = problems(
        status="done",
        summary=5,
        tokens=-1,
        findings=[{"sources": ["x"], "txt": "y"}, 7],
        not_done="all",
        extra=1,
    )
    assert {
        "status",
        "summary",
        "tokens",
        "findings[0].sources[0]",
        "findings[1]",
        "not_done",
        "extra",
    } <= set(found)


@pytest.mark.rule("RS-1")
@pytest.mark.parametrize("observed", ["yesterday", "2026-13-01", "03/05/2026"])
def test_a_time_that_nobody_can_read_is_malformed(observed: str) -> None:
    assert problems(findings=[{**FOUND, "observed": observed}]) == {"findings[0].observed": "form.malformed"}


@pytest.mark.rule("RS-1")
def test_the_platforms_count_of_tokens_stands_above_what_is_written() -> None:
    assert checked(tokens=5).tokens == 5
    assert check_result('{"status": "complete", "tokens": 1}', READ, tokens=812).tokens == 812


@pytest.mark.rule("RS-1")
@pytest.mark.parametrize(
    "written", ["", "null", "[]", '"text"', "7", "{", b"\xff", '{"a":1,"a":2}', "[" * 300]
)
def test_whatever_a_model_writes_is_answered_by_an_error_as_a_value(written) -> None:
    error = check_result(written, READ)
    assert isinstance(error, InterlockError)
    refusal(error)


@pytest.mark.rule("RS-1")
def test_a_text_is_one_line_so_that_it_cannot_pass_for_another() -> None:
    found = checked(findings=[{**FOUND, "text": "one\n- two\r\nthree"}], summary="a\n\nb")
    assert found.findings[0].text == "one - two three" and found.summary == "a b"
