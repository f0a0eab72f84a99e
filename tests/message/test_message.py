"""Messages: validated before delivery, filled in by the platform, handed to one run once, with their labels."""

import pytest

from interlock.ledger.ledger import Write
from interlock.ledger.step import Draft
from interlock.perspective.fence import data_of
from interlock.run.human_queue import HumanQueue
from interlock.scope.scope import Address
from tests.message.scene import agent, bodies, content, handing, prompt_of, queue_items, report, to
from tests.run.scene import (
    Calls,
    JumpingClock,
    asked_in,
    at,
    drain,
    go_through,
    killing_at_append,
    play,
    runs_of,
    tool_giving,
    trail,
    work_until_killed,
)
from tests.world import sound, world


def send(name, text="the parcel is at the depot", **more):
    """Give the call that tells somebody something."""
    return {"call": "send", "with": {"to": to(name)[0], "text": text, **more}}


def ask(name, text="where is it?", **more):
    """Give the call that asks."""
    return {"call": "ask", "with": {"to": to(name)[0], "text": text, **more}}


@pytest.mark.rule("MS-1", "MS-2", "BI-1", "BI-2")
@pytest.mark.fault("F44")
@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (send("b", "x" * 2001), "arguments"),
        (send("b", "x" * 300_000), "arguments"),
        (send("b", ""), "arguments"),
        (send("b", 7), "arguments"),
        (send("b", **{"from": "boss@acme/platform"}), "arguments"),
        (send("b", sender="boss@acme/platform"), "arguments"),
        (send("b", labels=[]), "arguments"),
        ({"call": "send", "with": {"text": "to nobody"}}, "arguments"),
        ({"call": "send", "with": {"to": "not an address", "text": "x"}}, "grant"),
        ({"call": "send", "with": {"to": at("c"), "text": "x"}}, "grant"),
        ({"call": "delegate", "with": {"to": at("b"), "goal": "g", "scope": ["x" * 201]}}, "arguments"),
        ({"call": "hand_over", "with": {"to": at("b"), "goal": "g"}}, "arguments"),
        ({"call": "decide", "with": {"topic": "t"}}, "arguments"),
    ],
    ids=range(13),
)
def test_a_malformed_message_never_leaves_and_its_sender_is_told_why(tmp_path, call, rule):
    async def story():
        script = {at("a"): [call, {"finish": "gave up"}], "*": [{"finish": "ok"}]}
        specs = [agent("a", sends=["b"], hands=["b"]), agent("b"), agent("c")]
        async with world(tmp_path, script, specs) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert state.status == "finished"
            assert await runs_of(runtime, at("b")) == []
            assert await bodies(runtime, state.task, "message.sent") == []
            judged = (await trail(runtime, state.id, "tool.judged"))[0]
            assert (judged["verdict"], judged["rule"]) == ("deny", rule)
            told = (await runtime.installation.contents.read(judged["detail"])).decode()
            assert call["call"] in told or "recipients" in told
            if call["call"] != "decide":
                (rejected,) = await bodies(runtime, state.task, "message.rejected")
                assert (rejected["from"], rejected["type"]) == (at("a"), call["call"])
                if rule == "arguments":
                    assert "save_artifact" in told, "what is longer goes as an artifact"
            assert len(await trail(runtime, state.id, "model.asked")) == 2, "refused once, not retried"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("MS-2", "MS-1")
def test_the_platform_writes_sender_task_and_labels(tmp_path):
    async def story():
        script = {at("a"): [send("b"), {"finish": "ok"}], at("b"): [{"finish": "noted"}]}
        async with world(tmp_path, script, [agent("a", sends=["b"]), agent("b")]) as runtime:
            state = await go_through(runtime, at("a"), "go", labels=["untrusted"])
            (sent,) = await bodies(runtime, state.task, "message.sent")
            assert (sent["from"], sent["to"], sent["task"], sent["run"]) == (
                at("a"),
                at("b"),
                state.task,
                state.id,
            )
            assert sent["labels"] == ["area:acme/platform", "untrusted"]
            other = await runtime.run((await runs_of(runtime, at("b")))[0])
            assert other.labels >= {"untrusted"}
            assert other.opening["behalf"] == "maria"
            assert (other.place.hop, other.root_task) == (1, state.task)
            assert '\\"from\\":\\"a@acme/platform\\"' in await prompt_of(runtime, "b")

    play(story())


@pytest.mark.rule("MS-3", "RN-5")
def test_what_was_unread_when_a_worker_died_is_still_unread_and_is_read_once_in_order(tmp_path):
    async def one(folder, count):
        folder.mkdir()
        clock = JumpingClock()
        notes = [send("b", f"note {number}") for number in range(3)]
        script = {
            at("a"): [{"calls": [ask("b"), *notes]}, {"finish": "ok"}],
            at("b"): [ask("people", "may I?"), {"finish": "answered"}],
        }
        specs = [agent("a", sends=["b"]), agent("b", sends=["people"], accepts=("question",))]
        async with world(folder, script, specs, clock=clock) as runtime:
            name = await runtime.open_run(at("a"), "maria", "go")
            killing_at_append(runtime, count, written=bool(count % 3))
            killed = await work_until_killed(runtime)
        clock.move(31)
        async with world(folder, script, [], clock=clock) as runtime:
            await drain(runtime)
            (item,) = await queue_items(runtime)
            await HumanQueue(runtime.installation).answer(item.id, "joana", "you may")
            await drain(runtime)
            root = (await runtime.run(name)).root_task
            sent = [item["message"] for item in await bodies(runtime, root, "message.sent")][1:4]
            b = (await runs_of(runtime, at("b")))[0]
            taken = await bodies(runtime, root, "message.taken")
            assert [item["message"] for item in taken if item["run"] == b] == sent, "in order, each once"
            prompt = await prompt_of(runtime, "b", 2)
            places = [prompt.index(f"note {number}") for number in range(3)]
            assert places == sorted(places)
            assert [prompt.count(f"note {number}") for number in range(3)] == [1, 1, 1]
            assert (await runtime.run(name)).status == "finished"
            assert await sound(runtime)
        return killed

    async def story():
        count = 1
        while await one(tmp_path / str(count), count):
            count += 1
        assert count > 15

    play(story())


@pytest.mark.rule("MS-3")
def test_what_a_run_left_unread_is_read_by_the_agent_s_next_run_on_the_task(tmp_path):
    async def story():
        script = {
            at("a"): [ask("b"), ask("b"), {"finish": "ok"}],
            at("b"): lambda request: {"finish": "answered"},
        }
        specs = [agent("a", sends=["b"]), agent("b", accepts=("question",))]
        async with world(tmp_path, script, specs) as runtime:
            async with runtime.worker() as worker:
                name = await runtime.open_run(at("a"), "maria", "go", worker=worker)
                await worker.finished(name)
            root = (await runtime.run(name)).root_task
            first = (await runs_of(runtime, at("b")))[0]
            said = runtime.installation.contents.keep("acme", b'{"text": "by the way"}')
            body = {
                "message": "message_9", "task": root, "type": "status", "from": at("a"), "to": at("b"),
                "body": said.digest, "size": said.size, "labels": [],
            }  # fmt: skip
            ledger = runtime.installation.ledger
            await ledger.append((Write(root, None, (Draft("message.sent", body),)),), contents=(said.row,))
            await drain(runtime)
            second = (await runs_of(runtime, at("b")))[1]
            assert "by the way" not in (await runtime.prompt(first))[0].request.decode()
            assert (await runtime.prompt(second))[0].request.decode().count("by the way") == 1
            (taken,) = [
                item
                for item in await bodies(runtime, root, "message.taken")
                if item["message"] == "message_9"
            ]
            assert taken["run"] == second
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("MS-3")
def test_what_opened_one_run_is_not_told_to_the_next(tmp_path):
    async def story():
        script = {
            at("a"): [ask("b", text="which colour?"), ask("b", text="which size?"), {"finish": "ok"}],
            at("b"): lambda request: {"finish": "answered"},
        }
        specs = [agent("a", sends=["b"]), agent("b", accepts=("question",))]
        async with world(tmp_path, script, specs) as runtime:
            await go_through(runtime, at("a"), "go")
            assert "which colour?" in await prompt_of(runtime, "b", which=0)
            assert "which colour?" not in await prompt_of(runtime, "b", which=1)
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("MS-3")
@pytest.mark.fault("F26")
def test_what_nobody_read_before_all_ended_is_a_dead_letter(tmp_path):
    async def story():
        script = {at("a"): [ask("b"), {"finish": "ok"}], at("b"): lambda request: {"finish": "answered"}}
        specs = [agent("a", sends=["b"]), agent("b", accepts=("question",))]
        async with world(tmp_path, script, specs) as runtime:
            name = await runtime.open_run(at("a"), "maria", "go")
            root = (await runtime.run(name)).root_task
            said = runtime.installation.contents.keep("acme", b'{"text": "by the way"}')
            body = {
                "message": "message_9", "task": root, "type": "status", "from": at("a"), "to": at("c"),
                "body": said.digest, "size": said.size, "labels": [],
            }  # fmt: skip
            ledger = runtime.installation.ledger
            await ledger.append((Write(root, None, (Draft("message.sent", body),)),), contents=(said.row,))
            await drain(runtime)
            (buried,) = await bodies(runtime, root, "message.undelivered")
            assert (buried["message"], buried["reason"]["id"]) == ("message_9", "message.never_read")
            assert [item.kind for item in await queue_items(runtime)] == ["dead_letter"]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("MS-1", "EV-8")
@pytest.mark.fault("F26")
def test_what_nobody_accepts_is_a_dead_letter_that_people_see(tmp_path):
    async def story():
        for number, call in enumerate(
            [send("b"), ask("b"), {"call": "delegate", "with": {"to": at("b"), "goal": "g"}}, ask("a")]
        ):
            folder = tmp_path / str(number)
            folder.mkdir()
            script = {"*": [call, {"finish": "ok"}]}
            specs = [agent("a", sends=["a", "b"]), agent("b", accepts=())]
            async with world(folder, script, specs) as runtime:
                state = await go_through(runtime, at("a"), "go")
                (dead,) = await bodies(runtime, state.task, "message.undelivered")
                assert dead["reason"]["id"] == "message.nobody_accepts"
                (item,) = await queue_items(runtime)
                assert (item.kind, item.id) == ("dead_letter", dead["message"])
                assert len(await runs_of(runtime, at("a"))) == 1, "the sender is not started"
                assert await runs_of(runtime, at("b")) == []
                answered = (await trail(runtime, state.id, "tool.answered"))[0]
                assert "error" in answered or "undelivered" in str(await content(runtime, answered["result"]))
                assert state.status == "finished"
                assert await sound(runtime)

    play(story())


@pytest.mark.rule("MS-4", "RN-4")
@pytest.mark.fault("F26")
def test_a_question_whose_answerer_fails_is_tried_again_and_then_an_explicit_failure(tmp_path):
    async def story():
        fails = [{"fail": {"code": "rejected"}}] * 9
        script = {at("a"): [ask("b"), {"finish": "went on without"}], at("b"): fails}
        async with world(tmp_path, script, [agent("a", sends=["b"]), agent("b")]) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert [(await runtime.run(run)).status for run in await runs_of(runtime, at("b"))] == [
                "failed"
            ] * 2
            sent = await bodies(runtime, state.task, "message.sent")
            assert [item["type"] for item in sent] == ["question", "error"]
            assert "was not answered" in await prompt_of(runtime, "a", 2)
            assert state.status == "finished"
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("SC-6", "SC-5", "SC-7")
def test_the_barrier_holds_on_every_path_of_a_message(tmp_path):
    async def story():
        finance = "b@acme/finance"
        saved = {"call": "save_artifact", "with": {"content": "the bulk"}}
        calls = [
            {"call": "send", "with": {"to": finance, "text": "x"}},
            {"call": "ask", "with": {"to": finance, "text": "x"}},
            {"call": "delegate", "with": {"to": finance, "goal": "x"}},
            {"call": "hand_over", "with": handing("b")["with"] | {"to": finance}},
            {"call": "ask", "with": {"to": "people@acme/finance", "text": "x"}},
        ]
        script = {at("a"): [saved, *calls, {"finish": "ok"}]}
        specs = [
            agent("a", sends=[finance, "people@acme/finance"], hands=[finance]),
            agent("b", scope="acme/finance"),
        ]
        async with world(tmp_path, script, specs, corrections=9) as runtime:
            state = await go_through(runtime, at("a"), "go")
            judged = (await trail(runtime, state.id, "tool.judged"))[1:6]
            assert [(item["verdict"], item["rule"]) for item in judged] == [("deny", "data_barrier")] * 5
            assert judged[0]["reason"]["with"] == {
                "label": "area:acme/platform", "origin": "acme/platform", "target": "acme/finance",
            }  # fmt: skip
            assert await runs_of(runtime, finance) == []
            assert await bodies(runtime, state.task, "message.sent") == []
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("SC-4", "SC-6", "CS-5")
def test_attachments_go_by_reference_with_their_labels_and_colliding_names_are_qualified(tmp_path):
    async def story():
        calls = Calls()
        inbox = tool_giving(calls, "inbox", {"text": "from outside"}, labels=["untrusted"])

        def worker(name):
            return [
                {"call": "inbox"},
                {"call": "save_artifact", "with": {"content": f"bulk of {name} " * 500}},
                lambda request: report(attachments=[handle_in(request)]),
                {"finish": "ok"},
            ]

        def handle_in(request):
            import re

            return re.search(r"artifact-[0-9a-f]{8}", str(request.messages[-1].text)).group()

        both = {
            "calls": [
                {"call": "delegate", "with": {"to": at(n), "goal": "g", "scope": [n]}} for n in ("w1", "w2")
            ]
        }
        names = []

        def reading(request):
            import json

            for message in request.messages[-2:]:
                names.extend(item["name"] for item in json.loads(data_of(message.text))["attachments"])
            return {"calls": [{"call": "read_artifact", "with": {"name": name}} for name in names]}

        script = {
            at("boss"): [both, reading, {"finish": "ok"}],
            at("w1"): worker("w1"),
            at("w2"): worker("w2"),
        }
        specs = [
            agent("boss", sends=["w1", "w2"]),
            agent("w1", tools=("inbox",)),
            agent("w2", tools=("inbox",)),
        ]
        async with world(tmp_path, script, specs, tools=[inbox]) as runtime:
            state = await go_through(runtime, at("boss"), "go")
            assert state.status == "finished"
            assert len(set(names)) == 2
            prompt = await prompt_of(runtime, "boss", 2)
            assert "bulk of w1 bulk" not in prompt, "by reference"
            assert "bulk of w1" in await prompt_of(runtime, "boss", 3)
            assert state.labels >= {"untrusted"}
            (other,) = await runs_of(runtime, at("w1"))
            refused = await trail(runtime, other, "tool.judged")
            assert all(item["verdict"] == "allow" for item in refused)
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("MS-8", "MS-2")
def test_an_agent_asks_people_and_a_person_writes_to_an_agent(tmp_path):
    async def story():
        script = {
            at("a"): [ask("people", "which account?"), {"finish": "ok"}],
            at("b"): [report(), {"finish": "told joana"}],
        }
        specs = [agent("a", sends=["people"]), agent("b")]
        async with world(tmp_path, script, specs) as runtime:
            state = await go_through(runtime, at("a"), "go")
            ((kind, form),) = await asked_in(runtime, state.id)
            assert (kind, form) == ("question", {"text": "which account?"})
            queue = HumanQueue(runtime.installation)
            await queue.answer((await queue.items())[0].id, "joana", "the blue one")
            await drain(runtime)
            assert "the blue one" in await prompt_of(runtime, "a", 2)
            message, run = await queue.send("joana", Address(at("b")), {"goal": "count the boxes"})
            await drain(runtime)
            other = await runtime.run(run)
            assert (other.status, other.place.hop) == ("finished", 0)
            sent = await bodies(runtime, other.root_task, "message.sent")
            assert [(item["from"], item["to"]) for item in sent] == [
                ("person:joana", at("b")),
                (at("b"), "person:joana"),
            ]
            assert sent[1]["reply_to"] == message
            assert await sound(runtime)

    play(story())
