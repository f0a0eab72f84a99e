"""Tests of replays: a stored request goes out again, both answers are compared, and the run does not change."""

import asyncio
from dataclasses import replace

import pytest

from interlock.connector.model.model import Answer, Call, ModelFailure
from interlock.connector.model.provider import ProviderModel
from interlock.connector.model.scripted import ScriptedModel
from interlock.errors import InterlockError
from interlock.gate.budget import Budget, Usage
from interlock.run.publishing import change_scope
from interlock.run.replaying import replays_of
from interlock.run.shared_budget import charge
from interlock.scope.scope import Scope
from interlock.settings import ModelChoice
from interlock.testing import ProviderServer, Reply
from tests.connector.provider_world import every_adapter
from tests.run.scene import (
    Calls,
    JumpingClock,
    Killed,
    all_steps,
    at,
    go_through,
    killing,
    play,
    read_all,
    spec_of,
    tool_giving,
)
from tests.world import sound, steps_of, world

KEY = "a-key-that-is-nowhere-else"
LOOK = {"call": "look", "with": {"q": "é"}}
DONE = {"finish": {"summary": "done"}}
FINISH = Call("f", "finish", '{"summary":"done"}')


def provided(server, name, stream, **more):
    """Give the choice of an imitation's model, and the model."""
    url = server.openai_url if name == "openai" else server.anthropic_url
    more = {"price_in": 1_000_000, "price_out": 2_000_000, **more}
    choice = ModelChoice(name, "some-model", base_url=url, key="SOME_KEY", stream=stream, attempts=1, **more)
    return choice, ProviderModel(choice, {"SOME_KEY": KEY})


async def as_it_was(runtime):
    """Give every step that is no replay's."""
    return [step for step in await all_steps(runtime) if not step.stream.startswith("replay_")]


async def replays(runtime, run, number):
    """Give kind and body of the steps of a call's replays."""
    found = await replays_of(runtime.installation, run, number)
    return [(step.kind, step.body) for pair in found for step in pair if step is not None]


async def refused(runtime, run, code, number=1, by="rui"):
    """See that a replay is refused and leaves nothing behind."""
    before = await all_steps(runtime)
    with pytest.raises(InterlockError) as caught:
        await runtime.replay(run, number, by)
    assert caught.value.code == code, caught.value.what()
    for language in ("en", "pt-BR"):
        assert "{" not in caught.value.what(language) + caught.value.remedy(language)
    assert await all_steps(runtime) == before
    return caught.value.what()


@every_adapter
@pytest.mark.rule("PS-1", "PS-2", "GT-7")
def test_what_arrives_again_is_what_is_stored(tmp_path, provider, stream):
    async def story():
        calls = Calls()
        replies = [
            Reply("Looking.", (Call("a", "look", '{"q": "é"}'),)),
            Reply("", (FINISH,)),
            Reply("Looking.", (Call("b", "look", '{"q":"é"}'),), input_tokens=30, output_tokens=4),
            Reply("No more.", (FINISH,)),
        ]
        with ProviderServer(replies) as server:
            choice, model = provided(server, provider, stream)
            settings = {"models": {"default": choice}, "model": model}
            tools = [tool_giving(calls, "look", {"seen": "x" * 3000})]
            async with world(
                tmp_path, specs=[spec_of("a", tools=("look",))], tools=tools, **settings
            ) as runtime:
                state = await go_through(runtime, at("a"), {"who": "Ana"})
                assert state.status == "finished" and len(calls) == 1
                before = await as_it_was(runtime)
                snapshot, asked, same = await runtime.replay(state.id, 1, "rui")
                _, later, other = await runtime.replay(state.id, None, "rui")
                assert [item.body for item in server.received[2:]] == [
                    snapshot.request,
                    server.received[1].body,
                ]
                assert server.received[0].body == snapshot.request
                assert server.received[2].headers == server.received[0].headers
                assert (same.same, other.same) == (True, False)
                assert same.usage.tokens == 34 and same.usage.money == 38
                assert same.answer.text == "Looking."
                assert list(same.answer.proposed.values()) == [("look", {"q": "é"})]
                assert await as_it_was(runtime) == before and len(calls) == 1
                [(first, body), (second, outcome)] = await replays(runtime, state.id, 1)
                assert (first, second) == ("replay.asked", "replay.answered")
                assert body["snapshot"] == asked["snapshot"] and body["bytes"] == len(snapshot.request)
                assert (body["run"], body["by"], body["role"]) == (state.id, "rui", "default")
                assert outcome["labels"] == sorted(state.labels) and outcome["same"] is True
                assert later["n"] == 2 and (await replays(runtime, state.id, 2))[1][1]["same"] is False
                assert await sound(runtime)
        assert KEY.encode() not in read_all(tmp_path)

    play(story())


@pytest.mark.rule("PS-2")
@every_adapter
@pytest.mark.parametrize(
    ("reply", "code", "status"),
    [
        (Reply("slow down", status=429), "rate_limited", 429),
        (Reply("broken", status=500), "unavailable", 500),
        (Reply(fault="close"), "unavailable", None),
        (Reply(fault="hang"), "timed_out", None),
    ],
)
def test_a_failure_is_recorded_and_told(tmp_path, provider, stream, reply, code, status):
    async def story():
        with ProviderServer([Reply("", (FINISH,)), reply, Reply("", (FINISH,))]) as server:
            choice, model = provided(server, provider, stream, timeout_ms=2_000)
            settings = {"models": {"default": choice}, "model": model, "scope_budgets": {"acme": DAY}}
            async with world(tmp_path, specs=[spec_of("a")], **settings) as runtime:
                state = await go_through(runtime, at("a"))
                before, left = await as_it_was(runtime), await left_of(runtime)
                _, _, found = await runtime.replay(state.id, 1, "rui")
                assert (found.failure.code, found.failure.status) == (code, status)
                assert found.answer is None and found.same is None and found.recorded is not None
                assert len(server.received) == 2
                [(_, _), (kind, body)] = await replays(runtime, state.id, 1)
                assert (kind, body["code"], body["status"]) == ("replay.failed", code, status)
                detail = await runtime.installation.contents.read(body["detail"])
                assert reply.text.encode() in detail
                lost = status is None
                assert (body["usage"].get("tokens", 0) > 0) == lost
                assert left.tokens - (await left_of(runtime)).tokens == body["usage"].get("tokens", 0)
                assert await as_it_was(runtime) == before
                assert await sound(runtime)

    play(story())


DAY = Budget(tokens=1_000_000, money=50_000_000, wall_ms=3_600_000)


async def left_of(runtime, scope="acme"):
    """Give what is left of a scope's budget for the day."""
    day = runtime.installation.clock.now() // 86_400_000
    [row] = await runtime.installation.ledger.query("budget_of", f"{scope} {day}")
    return Budget(*row)


@pytest.mark.rule("PS-2", "GT-5")
def test_a_replay_is_paid_by_the_scopes_and_what_is_left_goes_back(tmp_path):
    async def story():
        clock = JumpingClock()

        def answer(request):
            clock.move(1.5)
            return Answer("x", (FINISH,), Usage(tokens=50, money=7))

        budgets = {"acme": DAY, "acme/platform": Budget(tokens=200_000), "acme/finance": Budget(tokens=1)}
        settings = {"clock": clock, "scope_budgets": budgets}
        async with world(tmp_path, {"*": answer}, [spec_of("a")], **settings) as runtime:
            state = await go_through(runtime, at("a"))
            before = await left_of(runtime), await left_of(runtime, "acme/platform")
            _, _, found = await runtime.replay(state.id, 1, "rui")
            assert found.usage == Usage(tokens=50, money=7, wall_ms=1500)
            after = await left_of(runtime), await left_of(runtime, "acme/platform")
            assert after == tuple(budget.left(found.usage) for budget in before)
            [(_, body), _] = await replays(runtime, state.id, 1)
            assert {item["subject"].split()[0] for item in body["drawn"]} == {"acme", "acme/platform"}

    play(story())


@pytest.mark.rule("PS-2", "GT-5")
@pytest.mark.parametrize("amount", ["tokens", "money", "wall_ms"])
def test_a_budget_that_does_not_suffice_refuses_it(tmp_path, amount):
    async def story():
        choice = ModelChoice("scripted", price_in=1_000_000, price_out=1_000_000)
        settings = {"models": {"default": choice}, "scope_budgets": {"acme": DAY}}
        model = ScriptedModel({"*": [DONE]}, price_in=1_000_000, price_out=1_000_000)
        async with world(tmp_path, specs=[spec_of("a")], model=model, **settings) as runtime:
            state = await go_through(runtime, at("a"))
            left = getattr(await left_of(runtime), amount)
            day = runtime.installation.clock.now() // 86_400_000
            taken = charge(f"acme {day}", Usage(**{amount: left}))
            await runtime.installation.ledger.append((), rows=(taken,))
            said = await refused(runtime, state.id, "prompt.over_budget")
            assert "acme" in said and amount in said
            assert getattr(await left_of(runtime), amount) == 0

    play(story())


@pytest.mark.rule("PS-2", "GT-5")
def test_many_at_once_never_pass_the_limit(tmp_path):
    async def story():
        settings = {"scope_budgets": {"acme": Budget(tokens=30_000)}}
        async with world(tmp_path, {"*": [DONE]}, [spec_of("a")], **settings) as runtime:
            state = await go_through(runtime, at("a"))
            [size] = [
                step.body["bytes"] for step in await steps_of(runtime, state.id) if "bytes" in step.body
            ]
            left = (await left_of(runtime)).tokens
            tried = await asyncio.gather(
                *(runtime.replay(state.id, 1, "rui") for _ in range(20)), return_exceptions=True
            )
            done = [item for item in tried if isinstance(item, tuple)]
            assert done and all(
                isinstance(item, tuple) or item.code == "prompt.over_budget" for item in tried
            )
            used = sum(found.usage.tokens for _, _, found in done)
            assert (await left_of(runtime)).tokens == left - used
            assert await replays_of(runtime.installation, state.id, 1) and size
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("PS-2", "PS-1")
@pytest.mark.parametrize(
    "change",
    [{"provider": "openai"}, {"model": "another"}, {"base_url": "http://127.0.0.1:9/v1"}, {"base_url": None}],
)
def test_another_model_is_not_asked(tmp_path, change):
    async def story():
        with ProviderServer([Reply("", (FINISH,))]) as server:
            choice, model = provided(server, "anthropic", False)
            settings = {"models": {"default": choice}, "model": model}
            async with world(tmp_path, specs=[spec_of("a")], **settings) as runtime:
                state = await go_through(runtime, at("a"))
                now = replace(choice, **change)
                installation = runtime.installation
                installation.settings = replace(installation.settings, models={"default": now})
                installation.models._model = ProviderModel(now, {"SOME_KEY": KEY})
                said = await refused(runtime, state.id, "prompt.other_model")
                assert "some-model" in said and "default" in said
            assert len(server.received) == 1

    play(story())


@pytest.mark.rule("PS-2", "AG-5")
@pytest.mark.parametrize("scope", ["acme", "acme/platform", "*"])
def test_nothing_is_sent_again_from_a_scope_that_is_stopped(tmp_path, scope):
    async def story():
        async with world(tmp_path, {"*": [DONE]}, [spec_of("a")]) as runtime:
            state = await go_through(runtime, at("a"))
            await change_scope(runtime.installation, Scope(scope), True, "maria")
            await refused(runtime, state.id, "prompt.scope_stopped")
            await change_scope(runtime.installation, Scope(scope), False, "maria")
            assert (await runtime.replay(state.id, 1, "rui"))[2].same is True

    play(story())


@pytest.mark.rule("PS-2", "AG-5")
def test_a_scope_that_is_stopped_meanwhile_is_heard_before_it_leaves(tmp_path):
    async def story():
        model = ScriptedModel({"*": [DONE]})
        async with world(tmp_path, specs=[spec_of("a")], model=model) as runtime:
            state = await go_through(runtime, at("a"))
            sending = model.replay

            async def slow(data, before_send):
                await change_scope(runtime.installation, Scope("acme"), True, "maria")
                return await sending(data, before_send)

            model.replay = slow
            with pytest.raises(InterlockError) as caught:
                await runtime.replay(state.id, 1, "rui")
            assert caught.value.code == "prompt.scope_stopped"
            assert await replays(runtime, state.id, 1) == []

    play(story())


class Lying(ScriptedModel):
    """A model that would send something else than it was told."""

    async def replay(self, data, before_send):
        return await super().replay(data.replace(b"You are a.", b"You are b."), before_send)


class Unable:
    """A model of one's own that only asks."""

    provider, model = "scripted", "scripted"

    def __init__(self):
        self._script = ScriptedModel({"*": [DONE]})

    async def ask(self, request, before_send):
        return await self._script.ask(request, before_send)

    async def close(self):
        """Nothing is open."""


class Failing(ScriptedModel):
    """A model that gives up before anything leaves."""

    async def replay(self, data, before_send):
        raise ModelFailure("rejected", False)


@pytest.mark.rule("PS-1", "PS-2", "BI-1")
@pytest.mark.parametrize(
    ("model", "code"),
    [
        (Lying({"*": [DONE]}), "prompt.not_exact"),
        (Unable(), "prompt.not_replayable"),
        (Failing({"*": [DONE]}), "prompt.not_sent"),
    ],
)
def test_a_model_that_cannot_send_the_very_bytes_is_refused(tmp_path, model, code):
    async def story():
        async with world(tmp_path, specs=[spec_of("a")], model=model) as runtime:
            state = await go_through(runtime, at("a"))
            await refused(runtime, state.id, code)

    play(story())


@pytest.mark.rule("PS-2", "CS-8", "BI-1")
def test_what_is_damaged_or_not_there_is_not_sent(tmp_path):
    async def story():
        async with world(tmp_path, {"*": [DONE]}, [spec_of("a")]) as runtime:
            state = await go_through(runtime, at("a"))
            await refused(runtime, state.id, "prompt.none", number=2)
            await refused(runtime, state.id, "run.bad_person", by="")
            contents = runtime.installation.contents
            [body] = [step.body for step in await steps_of(runtime, state.id) if step.kind == "model.asked"]
            [answer] = [step.body for step in await steps_of(runtime, state.id) if "answer" in step.body]
            read = contents.read
            for digest in (body["snapshot"], answer["answer"]):

                async def damaged(wanted, digest=digest):
                    if wanted == digest:
                        raise InterlockError("content.corrupt", digest=digest)
                    return await read(wanted)

                contents.read = damaged
                await refused(runtime, state.id, "content.corrupt")
            contents.read = read

    play(story())


@pytest.mark.rule("PS-1", "PS-2", "RN-4")
@pytest.mark.parametrize("point", ["replay.before_send", "replay.after_answer"])
def test_a_replay_that_is_killed_has_said_what_left(tmp_path, point):
    async def story():
        settings = {"scope_budgets": {"acme": DAY}}
        async with world(tmp_path, {"*": [DONE]}, [spec_of("a")], **settings) as runtime:
            state = await go_through(runtime, at("a"))
            left = (await left_of(runtime)).tokens
            killing(runtime, lambda reached: reached == point, 1)
            with pytest.raises(Killed):
                await runtime.replay(state.id, 1, "rui")
            runtime.installation.reach = lambda _: None
            [(step, after)] = await replays_of(runtime.installation, state.id, 1)
            assert step.kind == "replay.asked" and after is None
            [drawn] = step.body["drawn"]
            assert (await left_of(runtime)).tokens == left - drawn["amount"]["tokens"]
            assert (await runtime.replay(state.id, 1, "rui"))[2].same is True
            assert len(await replays_of(runtime.installation, state.id, 1)) == 2
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("PS-2")
def test_a_call_that_got_no_answer_can_be_tried_again(tmp_path):
    async def story():
        script = {"*": [{"fails": [{"code": "rejected", "retryable": False}], **DONE}]}
        async with world(tmp_path, script, [spec_of("a")]) as runtime:
            state = await go_through(runtime, at("a"))
            assert state.status == "failed"
            _, _, found = await runtime.replay(state.id, 1, "rui")
            assert (found.recorded, found.recorded_code, found.same) == (None, "rejected", None)
            assert [name for name, _ in found.answer.proposed.values()] == ["finish"]
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("PS-2")
def test_the_attempt_that_was_answered_is_the_one_compared(tmp_path):
    async def story():
        script = {"*": [{"fails": [{"code": "unavailable"}], **LOOK}, DONE]}
        tools = [tool_giving(Calls(), "look", 1)]
        settings = {"tools": tools, "clock": JumpingClock()}
        async with world(tmp_path, script, [spec_of("a", tools=("look",))], **settings) as runtime:
            state = await go_through(runtime, at("a"))
            snapshot, _, found = await runtime.replay(state.id, 1, "rui")
            assert snapshot.about["attempt"] == 2 and found.same is True
            assert list(found.recorded.proposed.values()) == [("look", {"q": "é"})]

    play(story())


@pytest.mark.rule("PS-2")
@pytest.mark.parametrize(
    "other", [LOOK, {**DONE, "text": "x"}, {"finish": {"summary": "else"}}, {"text": ""}]
)
def test_an_answer_that_differs_is_said_to(tmp_path, other):
    async def story():
        answers = [DONE, other]
        async with world(tmp_path, {"*": lambda _: answers.pop(0)}, [spec_of("a")]) as runtime:
            state = await go_through(runtime, at("a"))
            _, _, found = await runtime.replay(state.id, 1, "rui")
            assert found.same is False
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("PS-2", "GT-5")
def test_it_takes_no_longer_than_the_scope_has_left(tmp_path):
    """The provider never answers, and the role's own time-out is longer than the test is given."""

    async def story():
        with ProviderServer([Reply("", (FINISH,)), Reply(fault="hang")]) as server:
            choice, model = provided(server, "openai", False, timeout_ms=3_600_000)
            settings = {"models": {"default": choice}, "model": model, "scope_budgets": {"acme": DAY}}
            async with world(tmp_path, specs=[spec_of("a")], **settings) as runtime:
                state = await go_through(runtime, at("a"))
                day = runtime.installation.clock.now() // 86_400_000
                rest = Usage(wall_ms=(await left_of(runtime)).wall_ms - 300)
                await runtime.installation.ledger.append((), rows=(charge(f"acme {day}", rest),))
                _, _, found = await runtime.replay(state.id, 1, "rui")
                assert found.failure.code == "timed_out" and server.wait_for_abandoned(1)
                assert found.usage.wall_ms >= 300 and (await left_of(runtime)).wall_ms == 0
                assert await sound(runtime)

    play(story())


@pytest.mark.rule("PS-2", "CS-8")
def test_the_answer_of_a_replay_is_checked_as_all_content_is(tmp_path):
    async def story():
        answers = [DONE, {"finish": {"summary": "done", "artifacts": {"x": "long " * 100_000}}}]
        async with world(tmp_path, {"*": lambda _: answers.pop(0)}, [spec_of("a")]) as runtime:
            state = await go_through(runtime, at("a"))
            _, _, found = await runtime.replay(state.id, 1, "rui")
            assert found.same is False and await sound(runtime)
            [stored] = [path for path in tmp_path.rglob("objects/**/*") if path.is_file()]
            stored.write_bytes(b"something else")
            findings = [finding async for finding in runtime.verify()]
            assert [(item.problem, item.stream[:7], item.seq) for item in findings] == [
                ("content.corrupt", "replay_", 2)
            ]

    play(story())
