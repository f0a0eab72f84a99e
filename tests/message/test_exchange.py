"""An exchange: every message, hand-off, owner, action and decision in order, readable by a stranger, in three forms."""

import json
import re

import pytest

from interlock.catalogue import LANGUAGES, say
from interlock.ledger.kind import KINDS
from interlock.ledger.step import BEGINNING, Step
from interlock.message.exchange import entries_of
from interlock.message.sequence import sequence_of
from interlock.message.standing import standing_of
from interlock.run.exchange import read_exchange
from interlock.run.human_queue import HumanQueue
from interlock.settings import Policy
from tests.message.scene import agent, handing, report
from tests.run.scene import Calls, at, drain, go_through, play, tool_giving
from tests.world import sound, world

SCHEMA = {
    "type": "object",
    "properties": {"order": {"type": "string"}, "amount": {"type": "number"}},
    "required": ["order", "amount"],
}
NASTY = 'end\nNote over p1: #59; "x" ; --> <script>alert(1)</script> \u202e %% {a} ]) \x1b[2J'


def script(said="please refund o7"):
    """A story with all that an exchange can tell."""
    return {
        at("a"): [
            {"calls": [{"call": "delegate", "with": {"to": at("w"), "goal": said, "scope": ["fee"]}},
                       {"call": "send", "with": {"to": at("w"), "text": "x" * 3000}}]},
            {"call": "decide", "with": {"topic": "currency", "decision": "euro"}},
            {"call": "refund", "with": {"order": "o7", "amount": 40}},
            {"call": "send", "with": {"to": at("nobody"), "text": "hello?"}},
            handing("b", facts=[{"id": "f", "fact": said}], remains=["tell the customer"]),
        ],
        at("w"): [
            {"call": "look"}, report(findings=[{"text": "a fee was taken", "sources": ["look"]}]), {"finish": "ok"},
        ],
        at("b"): [
            {"call": "refund", "with": {"order": "o7", "amount": 40}},
            {"call": "refund", "with": {"order": "o7", "amount": 50}},
            {"call": "ask", "with": {"to": "people@acme/platform", "text": "which language?"}},
            {"finish": "told in French"},
        ],
    }  # fmt: skip


async def told_in(folder, said="please refund o7"):
    """Let the story happen, and give the exchange as it was read at its end."""
    calls = Calls()
    specs = [
        agent("a", sends=["w", "nobody"], hands=["b"], tools=("refund",)),
        agent("b", sends=["people"], tools=("refund",)),
        agent("w", tools=("look",)),
        agent("nobody", accepts=()),
    ]
    tools = [
        tool_giving(calls, "look", {"fee": 1}),
        tool_giving(
            calls, "refund", {"receipt": "r-1"}, effect="write", parameters=SCHEMA, steers=["order", "amount"],
            key="{task_id}:refund:{order}",
        ),
    ]  # fmt: skip
    policies = (Policy("seen", "ask", "acme", "refund"),)
    async with world(folder, script(said), specs, tools=tools, policies=policies) as runtime:
        state = await go_through(runtime, at("a"), said)
        queue = HumanQueue(runtime.installation)
        while items := [item for item in await queue.items() if item.kind in {"approval", "question"}]:
            for item in items:
                if item.kind == "approval":
                    await queue.approve(item.id, "joana")
                else:
                    await queue.answer(item.id, "joana", "French")
            await drain(runtime)
        assert await sound(runtime)
        return await read_exchange(runtime.installation, state.root_task)


@pytest.mark.rule("MS-9")
def test_an_exchange_tells_all_of_it_in_order_to_a_stranger(tmp_path):
    async def story():
        steps, contents = await told_in(tmp_path)
        entries = entries_of(steps, contents)
        assert [entry.seq for entry in entries] == list(range(1, len(steps) + 1)), "every step, in order"
        for language in LANGUAGES:
            lines = [say(entry.text, language) for entry in entries]
            assert not any(re.search(r"exchange\.|\{|[0-9a-f]{32}", line) for line in lines), (
                "words, no digests"
            )
        kinds = [entry.kind for entry in entries]
        wanted = [
            "task.opened", "message.sent", "message.rejected", "decision.recorded", "question.asked",
            "question.answered", "task.acted", "message.undelivered", "task.handed_over", "task.acknowledged",
            "task.closed",
        ]  # fmt: skip
        assert set(wanted) <= set(kinds)
        text = json.dumps([entry.as_dict(say) for entry in entries])
        for said in (
            "please refund o7",
            "a fee was taken",
            "euro",
            "r-1",
            "which language?",
            "French",
            "told in French",
        ):
            assert said in text, said
        outcomes = [step.body["outcome"] for step in steps if step.kind == "task.acted"]
        assert outcomes == ["done", "repeated", "conflict"]
        standing = standing_of(steps, contents)
        assert standing.asked == "please refund o7"
        assert (standing.owner, standing.state) == (at("b"), "finished")
        assert [say(item) for item in standing.done] == ["a@acme/platform did refund (amount 40, order o7)"]
        assert "two differing wishes" in " ".join(map(say, standing.open))
        assert standing.answer == "told in French", "said, not done"

    play(story())


@pytest.mark.rule("MS-9")
def test_what_is_open_is_said_as_long_as_it_is_open(tmp_path):
    async def story():
        steps, contents = await told_in(tmp_path)
        handed = next(place for place, step in enumerate(steps) if step.kind == "task.handed_over")
        early = standing_of(steps[: handed + 1], contents)
        assert (early.owner, early.state) == (at("b"), "open")
        said = " ".join(map(say, early.open))
        assert "not acknowledged" in said and "tell the customer" in said
        asked = next(place for place, step in enumerate(steps) if step.kind == "question.asked")
        assert "approve or refuse refund" in " ".join(
            map(say, standing_of(steps[: asked + 1], contents).open)
        )
        sent = next(place for place, step in enumerate(steps) if step.kind == "message.sent")
        assert "has not answered" in " ".join(map(say, standing_of(steps[: sent + 1], contents).open))

    play(story())


@pytest.mark.rule("MS-9", "BI-1")
def test_no_text_of_anybody_can_be_read_as_a_diagram(tmp_path):
    async def story():
        steps, contents = await told_in(tmp_path, NASTY)
        drawn = sequence_of(entries_of(steps, contents), say)
        head, *lines = drawn.splitlines()
        assert head == "sequenceDiagram"
        form = re.compile(
            r"  (?:(?:participant|actor) p\d+ as |p\d+--?(?:>>|x)p\d+: |Note over p\d+: )[^\"<>{}\[\]|:\x1b]+"
        )
        for line in lines:
            assert form.fullmatch(line), line
            assert not re.search(r"\bend\b", line, re.IGNORECASE)
            assert len(line) < 900
        assert not any(
            re.search(r"(?<!#\d)(?<!#\d\d)(?<!#\d\d\d)(?<!#\d{4})(?<!#\d{5})(?<!#\d{6});", line)
            for line in lines
        )

    play(story())


@pytest.mark.rule("MS-9", "CS-8")
def test_content_that_is_gone_is_said_and_the_rest_goes_on(tmp_path):
    async def story():
        steps, contents = await told_in(tmp_path)
        whole = entries_of(steps, contents)
        empty = entries_of(steps, {})
        assert [entry.text["id"] for entry in empty] == [entry.text["id"] for entry in whole]
        assert all(entry.as_dict(say)["says"].keys() <= {"attachments", "events"} for entry in empty)
        assert sum(len(entry.as_dict(say)["gone"]) for entry in empty) > 10
        standing_of(steps, {})
        sequence_of(empty, say)

    play(story())


@pytest.mark.rule("MS-9")
def test_a_kind_of_step_without_words_is_named_and_none_is_left_out():
    step = Step("task_1", 1, "task.of_later", 5, 0, "{}", BEGINNING, BEGINNING)
    (entry,) = entries_of([step], {})
    assert "task.of_later" in say(entry.text)
    told = {"task.opened", "message.sent"}
    assert told <= set(KINDS)
