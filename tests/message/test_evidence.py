"""The evidence: what counts as independent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.message.evidence import Evidence, independent, sources_of


def evidence(*pairs: str) -> list[Evidence]:
    return [Evidence(*pair.split("-")) for pair in pairs]


@pytest.mark.rule("RS-3")
@pytest.mark.parametrize(
    ("pairs", "count"),
    [
        ((), 0),
        (("a-x", "a-y", "a-z"), 1),
        (("a-x", "b-x", "c-x"), 1),
        (("a-x", "b-y"), 2),
        (("a-x", "b-x", "c-y", "c-z"), 2),
        (("a-x", "a-y", "b-x"), 2),
        (("a-x", "a-y", "b-x", "b-z", "c-x"), 3),
    ],
)
def test_sources_of_one_origin_and_origins_of_one_source_count_once(pairs, count: int) -> None:
    assert independent(evidence(*pairs)) == independent(evidence(*reversed(pairs))) == count


@pytest.mark.rule("RS-3")
@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("vwxyz")), max_size=12))
def test_no_more_are_independent_than_there_are_origins_or_sources(pairs) -> None:
    items = [Evidence(*pair) for pair in pairs]
    count = independent(items)
    assert count <= min(len({origin for origin, _ in pairs}), len({source for _, source in pairs}))
    assert bool(count) == bool(pairs)
    assert independent([*items, *items]) == count


def test_sources_are_given_once_in_order() -> None:
    assert sources_of(evidence("a-y", "b-x", "c-y")) == ("x", "y")
    item = evidence("a-y")[0]
    assert Evidence.from_dict(item.as_dict()) == item
