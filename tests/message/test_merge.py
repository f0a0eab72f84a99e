"""The merge: what is joined and why, that nothing is lost, and that order does not matter."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.catalogue import LANGUAGES
from interlock.message.completion import complete_text
from interlock.message.evidence import Evidence
from interlock.message.merge import Contribution, Gap, Merged, merge
from interlock.message.result import Finding, Result, Undone
from tests.message.reports import contribution, finding, merged

TEXTS = (
    "The plant employs 142 people.",
    "the plant employs 142 people",
    "A usina emprega 142 pessoas.",
    "The plant employs 180 people.",
    "The plant does not employ 142 people.",
    "The plant opened on 28 March 2019.",
    "On 28 March 2019 the plant opened.",
    "The plant opened in 2018.",
    "The plant cost R$ 1.24 billion.",
    "The plant cost US$ 248 million.",
    "The owner is Veltrona.",
    "The owner is Hidrosul.",
    "Nothing else is known.",
    "",
)
FINDINGS = st.builds(
    Finding,
    st.sampled_from(TEXTS),
    st.lists(st.sampled_from("pqrs"), min_size=1, max_size=3, unique=True).map(tuple),
    st.sampled_from(["", "plant"]),
    st.sampled_from(["", "staff"]),
    st.sampled_from(["", "142", "180"]),
)
RESULTS = st.builds(
    Result,
    st.sampled_from(["complete", "partial", "failed"]),
    st.lists(FINDINGS, max_size=4).map(tuple),
    st.lists(st.builds(Undone, st.sampled_from("xy"), st.sampled_from("uv")), max_size=2).map(tuple),
    tokens=st.integers(0, 9),
)
CONTRIBUTIONS = st.lists(st.builds(Contribution, st.sampled_from("abc"), RESULTS), max_size=6)


@pytest.mark.rule("RS-2")
@given(CONTRIBUTIONS, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_neither_order_nor_repetition_changes_a_merge(contributions, chance: random.Random) -> None:
    first = merge(contributions)
    again = [*contributions, *contributions[:2]]
    chance.shuffle(again)
    assert merge(again) == first


@pytest.mark.rule("RS-2")
@given(CONTRIBUTIONS)
@settings(max_examples=60, deadline=None)
def test_no_source_and_no_wording_is_lost(contributions) -> None:
    found = merge(contributions)
    given_in = {
        (item.origin, source)
        for item in contributions
        for one in item.result.findings
        for source in one.sources
    }
    kept = {(item.origin, item.source) for joined in found.findings for item in joined.evidence}
    assert kept == given_in
    assert set(found.sources) == {source for _, source in given_in}
    wordings = {one.text for item in contributions for one in item.result.findings}
    assert {joined.text for joined in found.findings} | {
        join.text for joined in found.findings for join in joined.joins
    } == wordings


@pytest.mark.rule("RS-2")
@given(CONTRIBUTIONS)
@settings(max_examples=60, deadline=None)
def test_merging_what_was_merged_changes_nothing(contributions) -> None:
    found = merge(contributions)
    again = merge(
        Contribution(item.origin, Result("complete", (Finding(joined.text, (item.source,), *named(joined)),)))
        for joined in found.findings
        for item in joined.evidence
    )
    assert [(joined.finding, joined.evidence) for joined in again.findings] == [
        (joined.finding, joined.evidence) for joined in found.findings
    ]
    assert [conflict.key for conflict in again.conflicts] == [conflict.key for conflict in found.conflicts]


def named(joined) -> tuple[str, str, str]:
    return joined.finding.subject, joined.finding.attribute, joined.finding.value


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("The plant employs 142 people.", "the  plant employs 142 people", "exact"),
        ("São 12 bombas.", "Sao 12 bombas", "exact"),
        ("The plant opened on 28 March 2019.", "On March 28, 2019 the plant opened.", "reworded"),
        ("The plant site covers 9.6 hectares.", "In total, the plant site covers 96,000 m².", "reworded"),
        ("The pump failed twice.", "Twice the pumps failed.", "reworded"),
        ("A usina custou R$ 1,24 bilhão.", "The plant cost R$ 1.24 billion.", "reworded"),
    ],
)
def test_duplicates_are_joined_with_the_reason_and_all_sources(first: str, second: str, reason: str) -> None:
    found = merged(first, second)
    assert len(found.findings) == 1 and not found.conflicts
    joined = found.findings[0]
    assert [join.reason for join in joined.joins] == [reason]
    assert 70 <= joined.joins[0].score <= 100
    assert joined.sources == ("source-0", "source-1")
    assert {item.origin for item in joined.evidence} == {"worker-0@acme", "worker-1@acme"}


@pytest.mark.rule("RS-2")
def test_the_same_value_given_apart_joins_texts_that_share_no_word() -> None:
    keyed = {"subject": "plant", "attribute": "Capacity"}
    can, does = finding("It can do 85 ML daily.", "x", value="85 ML/day", **keyed), "85,000 m³ per day"
    output = merge(
        [
            contribution("a", can),
            contribution("b", finding("Up to it: 85,000 m³/day.", "y", value=does, **keyed)),
        ]
    )
    assert [join.reason for join in output.findings[0].joins] == ["same_value"]
    same = merge(
        [
            contribution("a", finding("Staff: 142.", "x", value="142", **keyed)),
            contribution("b", finding("They are 142 in all.", "y", value="142", **keyed)),
        ]
    )
    assert [join.reason for join in same.findings[0].joins] == ["same_value"]
    assert same.sources == ("x", "y")


@pytest.mark.rule("RS-2")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The plant employs 142 people.", "The plant employs 143 people."),
        ("The plant employs 142 people.", "The plant does not employ 142 people."),
        ("The owner is Veltrona.", "The owner is Hidrosul."),
        ("The north gate is open.", "The south gate is open."),
        ("The valve failed on 3 May 2024.", "The pump failed on 3 May 2024."),
        ("The plant opened in March 2019.", "The plant opened in 2019."),
        ("About 140 people work here.", "140 people work here."),
    ],
)
def test_what_differs_in_a_value_or_a_word_is_never_joined(first: str, second: str) -> None:
    assert len(merged(first, second).findings) == 2


@pytest.mark.rule("RS-2")
def test_gaps_are_every_not_done_with_whose() -> None:
    prices, dates = Undone("prices", "no access"), Undone("dates", "no time")
    found = merge([contribution("b", undone=(prices,)), contribution("a", undone=(prices, dates))])
    assert found.gaps == (
        Gap("dates", "no time", "a"),
        Gap("prices", "no access", "a"),
        Gap("prices", "no access", "b"),
    )


@pytest.mark.rule("RS-4")
def test_a_merge_is_incomplete_if_anything_failed_or_is_not_done() -> None:
    done = contribution("a", finding("All is well."))
    assert not merge([done]).incomplete and not merge([]).incomplete
    assert merge([done, contribution("b", undone=(Undone("x", "y"),))]).incomplete
    failed = merge([done, contribution("b", status="failed")])
    assert failed.incomplete and failed.failed == ("b",)
    assert merge([contribution("c", undone=(Undone("x", "y"),), status="complete")]).incomplete


@pytest.mark.rule("SC-4")
def test_a_merge_carries_the_labels_of_all() -> None:
    found = merge(
        [contribution("a", labels=frozenset({"untrusted"})), contribution("b", labels=frozenset({"pii"}))]
    )
    assert found.labels == {"untrusted", "pii"}


def test_tokens_are_added_and_one_result_given_twice_counts_once() -> None:
    one, two = contribution("a", tokens=5), contribution("b", tokens=7)
    assert merge([one, two, one]).tokens == 12


@pytest.mark.rule("RS-3")
def test_what_the_writing_node_sees_is_findings_conflicts_and_gaps_alone() -> None:
    found = merged("The plant employs 142 people.", "The plant employs 180 people.")
    form = found.as_dict()
    assert set(form) == {"findings", "conflicts", "gaps", "uncompared", "incomplete", "sources"}
    assert json.loads(json.dumps(form)) == form
    assert Evidence.from_dict(form["findings"][0]["evidence"][0]) == found.findings[0].evidence[0]


@pytest.mark.rule("RS-2", "RS-3")
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_merge_is_read_back_from_what_a_join_publishes(language: str) -> None:
    found = merge(
        [
            contribution("a", finding("The plant employs 142 people.", "old", observed="2019-01-01")),
            contribution("b", finding("The plant employs 180 people.", "new", observed="2021-01-01")),
            contribution(
                "c", finding("The plant was not sold.", "news"), undone=(Undone("prices", "closed"),)
            ),
            contribution("d", finding("The plant was sold.", "rumour")),
            contribution("e", finding("The total cost was US$ 248 million.", "bank")),
            contribution("f", finding("The total cost was R$ 1.51 billion.", "ministry")),
        ]
    )
    assert len(found.conflicts) == 2 and len(found.open_conflicts) == 1 and found.uncompared
    told = json.loads(json.dumps(found.told(language)))
    reasons = [item["reason"] for item in told["conflicts"]] + [item["note"] for item in told["uncompared"]]
    reasons += [item["resolution"]["reason"] for item in told["conflicts"] if item["resolution"]]
    assert len(reasons) == 4 and all(
        isinstance(reason, str) and "conflict." not in reason for reason in reasons
    )
    back = Merged.from_dict(told)
    assert back.findings == found.findings and back.gaps == found.gaps and back.sources == found.sources
    assert [(item.key, item.sides, item.open) for item in back.conflicts] == [
        (item.key, item.sides, item.open) for item in found.conflicts
    ]
    assert complete_text("Nothing.", back, language) == complete_text("Nothing.", found, language)
