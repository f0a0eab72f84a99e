"""What is to be done next in a work graph, and what it comes to."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from interlock.work_graph.progress import GiveUp, JoinUp, Progress, Skip, Start
from tests.work_graph.scene import function, graph, graphs, join, play

DONE = lambda node, number: "done"  # noqa: E731


@pytest.mark.rule("WG-3")
@given(graphs(), some.integers(1, 5))
def test_every_node_begins_after_what_it_needs_and_no_more_than_the_limit_at_a_time(given_graph, at_once):
    progress = Progress(given_graph, at_once)

    def watch(now):
        assert len(now.running) <= at_once
        for name in now.running:
            assert all(now.states[source] == "done" for source in given_graph.by_name[name].sources)

    list(play(progress, DONE, watch))
    assert progress.status == "complete"
    assert set(progress.states.values()) == {"done"}
    assert all(len(attempts) == 1 for attempts in progress.attempts.values())


@pytest.mark.rule("WG-3")
@given(graphs(), some.data())
def test_whatever_fails_all_is_settled_and_every_skip_has_its_reason(given_graph, data):
    outcomes = {}

    def story(node, number):
        outcome = data.draw(some.sampled_from(["done", "failed", "timed_out", "lost", "refused"]))
        outcomes.setdefault(node.name, []).append(outcome)
        return outcome

    progress = Progress(given_graph, 3)
    list(play(progress, story))
    for node in given_graph.nodes:
        state = progress.states[node.name]
        tried = outcomes.get(node.name, [])
        sources = [progress.states[name] for name in node.sources]
        if state == "skipped":
            assert progress.states[progress.because[node.name]] in {"failed", "skipped"}
            assert progress.because[node.name] in node.sources
            assert node.kind != "join" or "done" not in sources
        elif node.kind == "join":
            missing = progress.attempts[node.name][-1].missing
            assert set(missing) == {name for name in node.sources if progress.states[name] != "done"}
        else:
            assert all(source == "done" for source in sources)
            assert (state == "done") == (tried[-1] == "done")
            failures = sum(outcome in {"failed", "timed_out"} for outcome in tried)
            assert failures <= node.attempts and tried.count("lost") <= 3
            if state == "failed" and tried[-1] != "refused":
                assert failures == node.attempts or tried.count("lost") == 3
    whole = all(state == "done" for state in progress.states.values())
    assert (progress.status == "complete") <= whole


@pytest.mark.rule("WG-3")
@given(graphs(), some.data())
def test_what_was_recorded_played_again_gives_the_same_state(given_graph, data):
    told, first = [], Progress(given_graph, 2)

    def story(node, number):
        return data.draw(some.sampled_from(["done", "failed"]))

    class Telling(Progress):
        def start(self, node, *more, **also):
            told.append(("start", node))
            return super().start(node, *more, **also)

        def end(self, node, outcome, *more, **also):
            told.append(("end", node, outcome))
            super().end(node, outcome, *more, **also)

        def skip(self, node, because=""):
            told.append(("skip", node, because))
            super().skip(node, because)

    first = Telling(given_graph, 2)
    list(play(first, story))
    again = Progress(given_graph, 2)
    cut = data.draw(some.integers(0, len(told)))
    for what, node, *more in told[:cut]:
        again.start(node, 0) if what == "start" else getattr(again, what)(node, *more)
    begun = {name for name, attempts in first.attempts.items() if attempts}
    if cut == len(told):
        assert again.states == first.states and not again.steps(0)
    else:
        for name in list(again.running):
            again.end(name, "lost")
        list(
            play(
                again,
                lambda node, number: first.attempts[node.name][-1].outcome if node.name in begun else "done",
            )
        )
        assert again.over


@pytest.mark.rule("WG-3")
@pytest.mark.fault("F37")
def test_a_fast_branch_is_not_held_back_and_a_join_ends_by_its_deadline_naming_what_is_missing():
    progress = Progress(
        graph(
            function("fast1"),
            function("fast2", "fast1"),
            function("slow"),
            function("hangs"),
            join("all", "fast2", "slow", "hangs", deadline="10s"),
            function("after", "all"),
        ),
        8,
        began_at=1000,
    )
    assert {step.node for step in progress.steps(1000)} == {"fast1", "slow", "hangs"}
    for name in ("fast1", "slow", "hangs"):
        progress.start(name, 1000)
    progress.end("fast1", "done")
    assert progress.steps(1001) == [Start("fast2", 1)]
    progress.start("fast2", 1001)
    progress.end("fast2", "done")
    progress.end("slow", "done")
    assert progress.steps(10_999) == [] and progress.due_at() == 11_000
    assert progress.steps(11_000) == [JoinUp("all", 1, ("hangs",))]
    progress.start("all", 11_000)
    progress.end("all", "done", missing=("hangs",))
    assert set(progress.steps(11_000)) == {GiveUp("hangs", "not_needed"), Start("after", 1)}
    progress.end("hangs", "not_needed")
    progress.start("after", 11_000)
    progress.end("after", "done")
    assert progress.over and progress.status == "partial"


@pytest.mark.rule("WG-3")
@pytest.mark.fault("F37")
def test_a_join_does_not_hide_a_branch_that_failed():
    progress = Progress(graph(function("a"), function("b"), join("all", "a", "b")), 8)
    progress.steps(0)
    for name, outcome in (("a", "done"), ("b", "failed")):
        progress.start(name, 0)
        progress.end(name, outcome)
    assert progress.steps(0) == [JoinUp("all", 1, ("b",))]
    progress.start("all", 0)
    progress.end("all", "done", missing=("b",))
    assert progress.over and progress.status == "partial"


@pytest.mark.rule("WG-3")
def test_a_join_of_nothing_but_failures_is_skipped_and_so_is_what_follows():
    progress = Progress(graph(function("a"), join("all", "a"), function("c", "all"), function("d", "c")), 8)
    progress.steps(0)
    progress.start("a", 0)
    progress.end("a", "failed")
    assert progress.steps(0) == [Skip("all", "a")]
    progress.skip("all", "a")
    assert progress.steps(0) == [Skip("c", "all")]
    progress.skip("c", "all")
    assert progress.steps(0) == [Skip("d", "c")]
    progress.skip("d", "c")
    assert progress.status == "failed"


@pytest.mark.rule("WG-3")
def test_an_attempt_past_its_deadline_is_ended_and_tried_again_within_its_limit():
    progress = Progress(graph(function("a", attempts=2, deadline="1s")), 8)
    for at in (0, 5000):
        number = 1 if at == 0 else 2
        assert progress.steps(at) == [Start("a", number)]
        progress.start("a", at)
        assert progress.steps(at + 999) == [] and progress.due_at() == at + 1000
        assert progress.steps(at + 1000) == [GiveUp("a", "timed_out")]
        progress.end("a", "timed_out")
    assert progress.over and progress.status == "failed"


@pytest.mark.rule("WG-3")
def test_the_longest_way_goes_first():
    progress = Progress(graph(function("lone"), function("a"), function("b", "a"), function("c", "b")), 1)
    assert progress.steps(0) == [Start("a", 1)]


@pytest.mark.rule("WG-6")
def test_what_is_kept_of_an_earlier_revision_counts_as_done():
    first = Progress(graph(function("a"), function("b", "a")), 8)
    assert first.steps(0) == [Start("a", 1)]
    first.start("a", 0)
    first.end("a", "done")
    second = Progress(graph(function("a"), function("b", "a"), function("c", "a")), 8)
    assert second.steps(0) == [Start("a", 1)]
    second.keep("a", 1, {}, frozenset(), 0)
    assert {step.node for step in second.steps(0)} == {"b", "c"}
