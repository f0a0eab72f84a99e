"""Steps hold no text: ids, kinds, numbers and digests alone; and a secret is nowhere at all."""

import json
import logging

import pytest

from interlock.agent.spec import Emission
from interlock.errors import InterlockError
from interlock.run.function import Finish
from interlock.settings import SecretGrant
from tests.run.scene import (
    STEERED,
    Calls,
    all_steps,
    asked_in,
    at,
    go_through,
    play,
    read_all,
    runs_of,
    spec_of,
    tool_giving,
)
from tests.world import sound, world

CANARY = "KANARIE"
"""In every text that comes from outside; a number follows it, so that a finding says where it came in."""


def canary(number):
    """Give the canary of one place."""
    return f"{CANARY}-{number} told me: Maria owes 400"


def answers():
    """What a model says that puts a canary wherever a text of its own can go, mistakes included."""
    return [
        {"text": canary(1), "call": "look", "with": {"q": canary(2)}},
        {"call": "KANARIE-3-tool", "with": {"x": canary(4)}},
        {"raw": {"name": "look", "arguments": '{"q": "' + canary(5)}},
        {"call": "look", "with": {canary(6): 1, "q": 7}},
        {"call": "raises", "with": {}},
        {"call": "raises_ours"},
        {"call": "read_artifact", "with": {"name": canary(8)}},
        {"call": "save_artifact", "with": {"content": canary(9) * 3}},
        {"call": "save_artifact", "with": {"content": "x", "media": f"{canary(10)}/x"}},
        {"call": "odd"},
        {"text": canary(11)},
        {"fails": [{"code": "unavailable", "detail": canary(12)}], "call": "big"},
        {"finish": {"summary": canary(13), "artifacts": {canary(14): "x"}}},
        {"finish": {"summary": canary(15), "artifacts": {"report": canary(16)}, "not_done": [
            {"what": canary(17), "why": canary(18)}]}},
    ]  # fmt: skip


def tools_of(calls):
    """Tools that give and raise canaries."""
    return [
        tool_giving(calls, "look", {canary(20): canary(21)}, parameters={
            "type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": False}),
        tool_giving(calls, "raises", ValueError(canary(22))),
        tool_giving(calls, "raises_ours", InterlockError("json.malformed", what=canary(23), where=canary(24), why="")),
        tool_giving(calls, "odd", {canary(25): {1}}),
        tool_giving(calls, "big", [canary(26)] * 3000),
        tool_giving(calls, "write", 1, effect="write", parameters=STEERED, steers=["to"]),
        tool_giving(calls, "inbox", {"body": canary(27)}, labels=["untrusted"]),
    ]  # fmt: skip


@pytest.mark.rule("RN-3", "CS-2")
def test_no_step_holds_a_text_from_outside_also_where_things_go_wrong(tmp_path):
    async def story():
        calls = Calls()

        async def body(run):
            try:
                await run.call("look", **{canary(30): 1})
            except InterlockError:
                await run.save_artifact(canary(31))
            if run.input == "raise":
                raise ValueError(canary(32))
            if run.input == "bad finish":
                return Finish(canary(33), {canary(34): 5})
            return Finish(canary(35), {"report": canary(36)}, ((canary(37), canary(38)),))

        tools = ("look", "raises", "raises_ours", "odd", "big", "write", "inbox")
        script = {
            at("a"): answers(),
            at("asks"): [{"call": "inbox"}, {"call": "write", "with": {"to": canary(40)}}],
            at("gives-up"): lambda request: {"call": f"KANARIE-41-{request.number}"},
            at("fails"): [{"fail": {"code": "rejected", "detail": canary(42)}}],
            at("b"): [{"call": "read_artifact", "with": {"name": "report"}}, {"finish": canary(43)}],
        }
        emits = [Emission("done", "work", ("report",))]
        specs = [
            *(spec_of(name, tools=tools, emits=emits) for name in ("a", "asks", "gives-up", "fails")),
            spec_of("f", function="m:body", tools=tools),
            spec_of("b", starts_on=["done"]),
        ]
        settings = {"tools": tools_of(calls), "functions": {"m:body": body}, "corrections": 20}
        async with world(tmp_path, script, specs, **settings, clock=None) as runtime:
            states = {}
            for name in ("a", "asks", "gives-up", "fails"):
                states[name] = await go_through(runtime, at(name), {canary(50): canary(51)})
            for brief in ("raise", "bad finish", canary(52)):
                states[brief] = await go_through(runtime, at("f"), brief)
            endings = {name: state.status for name, state in states.items()}
            assert endings == {
                "a": "finished", "asks": "open", "gives-up": "refused", "fails": "failed",
                "raise": "failed", "bad finish": "failed", canary(52): "finished",
            }  # fmt: skip
            assert len(await runs_of(runtime, at("b"))) == 1
            steps = await all_steps(runtime)
            assert len(steps) > 80
            assert [step for step in steps if CANARY in step.text or CANARY in step.kind] == []
            longest = max(len(text) for step in steps for text in _texts(step.body))
            assert longest <= 128
            assert await sound(runtime)

    play(story())


def _texts(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


SECRET = 'sk-"s3cr3t\\canary-éß'
LONGER = SECRET + "-and-more"


@pytest.mark.rule("GT-7")
def test_a_secret_reaches_its_tool_after_an_allow_and_nothing_else(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)

    async def story():
        calls, seen, prompts = Calls(), [], []
        environment = {"THE_KEY": SECRET, "OTHER_KEY": LONGER}

        def with_secret(name, act, **declared):
            from interlock.connector.tool import ToolCall, tool

            async def function(call: ToolCall, to: str = "") -> object:
                seen.append((name, dict(call.secrets)))
                assert SECRET not in repr(call)
                return act(call.secrets)

            return tool(
                name=name,
                effect=declared.pop("effect", "read"),
                labels=(),
                secrets=declared.pop("secrets", ["key"]),
                **declared,
            )(function)

        def raising(secrets):
            raise ValueError(f"refused {secrets['key']} and {secrets['longer']}")

        def raising_ours(secrets):
            raise InterlockError("json.malformed", what=secrets["key"], where="1:1", why=secrets["longer"])

        two = {"secrets": ["key", "longer"]}
        tools = [
            with_secret(
                "returns",
                lambda secrets: {"k": [dict(secrets)], secrets["key"]: 1, "j": json.dumps(secrets)},
                **two,
            ),
            with_secret("raises", raising, **two),
            with_secret("raises_ours", raising_ours, **two),
            with_secret("odd", lambda secrets: {secrets["key"]}),
            with_secret("ungranted", dict, secrets=["key", "others"]),
            with_secret("denied", dict, effect="write", steers=["to"], key="{task_id}:denied"),
            tool_giving(calls, "inbox", {"body": "x"}, labels=["untrusted"]),
        ]
        names = ("returns", "raises", "raises_ours", "odd", "ungranted", "inbox", "denied")

        def hear(answer):
            def heard(request):
                prompts.append(repr(request))
                return answer

            return heard

        script = {
            "*": [hear({"call": name, "with": {"to": "x"} if name == "denied" else {}}) for name in names]
        }
        grants = {
            "key": SecretGrant("THE_KEY", names),
            "longer": SecretGrant("OTHER_KEY", names),
            "others": SecretGrant("THE_KEY", ("another_tool",)),
        }
        specs = [spec_of("a", tools=names)]
        settings = {"tools": tools, "secrets": grants, "environment": environment, "corrections": 9}
        async with world(tmp_path, script, specs, **settings) as runtime:
            state = await go_through(runtime, at("a"))
            assert state.status == "open"
            assert [kind for kind, _ in await asked_in(runtime, state.id)] == ["approval"]
            assert [name for name, _ in seen] == ["returns", "raises", "raises_ours", "odd"]
            assert seen[0][1] == {"key": SECRET, "longer": LONGER}
            assert seen[3][1] == {"key": SECRET}
            steps = await all_steps(runtime)
            contents = [await runtime.installation.contents.read(digest) for digest in await digests(runtime)]
            snapshot = (await runtime.prompt(state.id))[0].request
            assert b"[secret key]" in snapshot
            for trace in traces():
                assert not any(trace.decode() in prompt for prompt in prompts)
                assert not any(trace in step.text.encode() for step in steps)
                assert not any(trace in content for content in contents)
                assert trace.decode() not in caplog.text
        left = read_all(tmp_path)
        assert not any(trace in left for trace in traces())

    play(story())


def traces():
    """What of the secrets, however it is written, must not be found anywhere."""
    return [b"s3cr3t", b"canary-\xc3\xa9", b"and-more", b"canary-\\u00e9"]


async def digests(runtime):
    """Give the digests of all content."""
    rows = await runtime.installation.ledger.query("content_after", 0, 100_000)
    return [row[1].hex() if isinstance(row[1], bytes) else row[1] for row in rows]
