"""Messages come in over HTTP: signed, in time, once; all else gets a code and a sentence, and leaves nothing."""

import asyncio
import json
import logging
import socket
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.settings import MessageMapping, Sizes
from tests.connector.http_world import JSON, KEY, chat, door, message, sees, signed
from tests.run.scene import at, drain, play, read_all, runs_of
from tests.world import sound, steps_of

AGAIN = {"*": lambda request: {"finish": "an answer"}}


@pytest.mark.rule("UI-5", "PX-2")
def test_a_signed_message_is_observed_by_all_and_engages_those_it_is_for(tmp_path):
    async def story():
        async with door(tmp_path, AGAIN, [sees("a"), sees("b", "observe")]) as there:
            body = message(
                1, "hello there", room=[{"id": "u1", "name": "Ana"}, "u2"], at="2026-03-01T09:30:00Z"
            )
            assert await there.send(body) == (202, {"status": "taken"})
            await drain(there.runtime)
            (run,) = await runs_of(there.runtime, at("a"))
            assert (await runs_of(there.runtime, at("b")), (await there.runtime.run(run)).status) == (
                [],
                "finished",
            )
            prompt = (await there.runtime.prompt(run))[0].request.decode()
            assert "hello there" in prompt and "untrusted" in (await there.runtime.run(run)).labels
            messages, actors, runs, *_ = await there.counts()
            assert (messages, actors, runs) == (3, 4, 1), (
                "two observed and one said; each agent knows two people"
            )
            assert await sound(there.runtime)

    play(story())


@pytest.mark.rule("UI-5")
def test_a_message_that_is_not_signed_as_it_must_be_is_refused_and_leaves_nothing(tmp_path):
    async def story():
        async with door(tmp_path, AGAIN, [sees("a")]) as there:
            body, now = message(1), int(time.time())
            right = JSON | signed(body)
            wrong = [
                (JSON, "connector.unsigned"),
                *(
                    ({key: value for key, value in right.items() if key != name}, "connector.unsigned")
                    for name in signed(body)
                ),
                (right | {"webhook-id": "d2"}, "connector.bad_signature"),
                (right | {"webhook-id": "d.1"}, "connector.unsigned"),
                (right | {"webhook-timestamp": str(now - 5)}, "connector.bad_signature"),
                (right | {"webhook-timestamp": f"{now}.0"}, "connector.unsigned"),
                (right | {"webhook-signature": "v1," + "A" * 44}, "connector.bad_signature"),
                (
                    right | {"webhook-signature": right["webhook-signature"].replace("v1,", "v2,")},
                    "connector.bad_signature",
                ),
                (right | {"webhook-signature": " ".join(["v1,x"] * 17)}, "connector.unsigned"),
                (JSON | signed(body + b" "), "connector.bad_signature"),
                (JSON | signed(body, key=bytes(32)), "connector.bad_signature"),
                (JSON | signed(body, at=now - 301), "connector.bad_time"),
                (JSON | signed(body, at=now + 302), "connector.bad_time"),
            ]
            before = await there.counts()
            for headers, code in wrong:
                status, told = await there.send(body, headers)
                assert (status, told["error"]["code"]) == (401, code), headers
                assert told["error"]["remedy"]
            assert await there.counts() == before
            assert (await there.send(body))[0] == 202
            assert (await there.counts())[0] == 1

    play(story())


@pytest.mark.rule("UI-5", "EV-5")
@pytest.mark.fault("F8")
def test_a_message_that_is_sent_again_changes_nothing_and_nothing_else_goes_under_its_id(tmp_path):
    async def story():
        async with door(tmp_path, AGAIN, [sees("a")]) as there:
            body = message(1)
            headers = JSON | signed(body)
            first = await asyncio.gather(*(there.send(body, headers) for _ in range(8)))
            assert {status for status, _ in first} <= {200, 202} and any(status == 202 for status, _ in first)
            await drain(there.runtime)
            before = await there.counts()
            assert await there.send(body, headers) == (200, {"status": "known"})
            later = JSON | signed(body, "d1", int(time.time()) + 1)
            assert await there.send(body, later) == (200, {"status": "known"}), (
                "signed anew, the same id and body"
            )
            assert await there.send(body, JSON | signed(body, "d9")) == (200, {"status": "known"}), (
                "its own id is known"
            )
            status, told = await there.send(message(2), JSON | signed(message(2), "d1"))
            assert (status, told["error"]["code"]) == (409, "connector.replayed")
            after = await there.counts()
            assert after[:4] == before[:4] and len(await runs_of(there.runtime, at("a"))) == 1

    play(story())


@pytest.mark.rule("UI-5")
def test_while_a_key_is_changed_the_old_one_counts_beside_the_new_one(tmp_path):
    async def story():
        environment = {"CHAT_KEY": "whsec_" + "B" * 43 + "=", "OLD_KEY": KEY}
        connectors = chat(further_keys=("OLD_KEY",))
        async with door(tmp_path, AGAIN, [sees("a")], connectors, environment=environment) as there:
            assert (await there.send(message(1)))[0] == 202
        async with door(tmp_path, AGAIN, [sees("a")], chat(), environment=environment) as there:
            assert (await there.bring(2))[0] == 401

    play(story())


BAD = {
    "no JSON": (b"hello", 400),
    "nothing": (b"", 400),
    "cut off": (message(1)[:-1], 400),
    "no UTF-8": (message(1, "x").replace(b'"x"', b'"\xff"'), 400),
    "a key twice": (b'{"id": "m1", ' + message(1)[1:], 400),
    "NaN": (message(1)[:-1] + b', "at": NaN}', 400),
    "deep": (message(1)[:-1] + b', "x": ' + b"[" * 5000 + b"]" * 5000 + b"}", 400),
    "a huge number": (message(1)[:-1] + b', "at": ' + b"9" * 5000 + b"}", 400),
    "half a character": (message(1, "x").replace(b'"x"', b'"\\ud800"'), 422),
    "half a character in an id": (message(1).replace(b'"m1"', b'"\\udc00"'), 422),
    "a list": (b"[]", 422),
    "null": (b"null", 422),
    "no text": (b'{"id": "m1", "thread": "t", "sender": {"id": "u"}}', 422),
    "an empty id": (message(1).replace(b'"m1"', b'""'), 422),
    "an id that is true": (message(1).replace(b'"m1"', b"true"), 422),
    "a sender that is a text": (
        json.dumps({"id": "m1", "thread": "t", "sender": "u", "text": "x"}).encode(),
        422,
    ),
    "a time without a zone": (message(1, at="2026-03-01T09:30:00"), 422),
    "a time before all": (message(1, at=-1), 422),
    "a room that is none": (message(1, room="everybody"), 422),
    "a room with nobody in it": (message(1, room=[{"name": "Ana"}]), 422),
    "a long id": (message(1).replace(b'"m1"', b'"' + b"m" * 513 + b'"'), 422),
    "a long text": (message(1, "x" * 65537), 422),
    "own that is no text": (message(1, own=["x"]), 422),
}


@pytest.mark.rule("BI-1", "UI-5")
def test_a_body_that_is_not_as_it_must_be_gets_a_code_and_a_sentence_and_leaves_nothing(tmp_path):
    async def story():
        async with door(tmp_path, AGAIN, [sees("a")], chat(mapping=MessageMapping())) as there:
            before = await there.counts()
            for name, (body, expected) in BAD.items():
                status, told = await there.send(body, JSON | signed(body))
                assert status == expected, (name, status, told)
                error = told["error"]
                assert error["what"] and error["remedy"] and error["code"], name
                assert await there.counts() == before, name
            assert (await there.send(message(1), JSON | signed(message(1))))[0] == 202, (
                "the id of one that was refused is free"
            )

    play(story())


@pytest.mark.rule("BI-1", "BI-2")
def test_what_is_no_message_for_a_connector_is_told_what_would_be(tmp_path):
    async def story():
        sizes = Sizes(message=2000)
        async with door(tmp_path, AGAIN, [sees("a")], sizes=sizes) as there:
            body, before = message(1), await there.counts()
            right = signed(body)
            odd = [
                ("/connectors/other", JSON | right, "POST", 404, "connector.not_here"),
                ("/connectors/chat/x", JSON | right, "POST", 404, "connector.not_here"),
                ("/connectors/%F0%9F%8E%84", JSON | right, "POST", 404, "connector.not_here"),
                ("/", JSON | right, "POST", 404, "connector.not_here"),
                ("/connectors/chat", JSON | right, "GET", 405, "connector.only_post"),
                ("/connectors/chat", JSON | right, "PUT", 405, "connector.only_post"),
                ("/connectors/chat", right, "POST", 415, "connector.not_json"),
                (
                    "/connectors/chat",
                    {"content-type": "text/plain"} | right,
                    "POST",
                    415,
                    "connector.not_json",
                ),
                (
                    "/connectors/chat",
                    {"content-type": "application/json; charset=latin-1"} | right,
                    "POST",
                    415,
                    "connector.not_json",
                ),
                (
                    "/connectors/chat",
                    JSON | {"content-encoding": "gzip"} | right,
                    "POST",
                    415,
                    "connector.not_json",
                ),
            ]
            for path, headers, method, status, code in odd:
                found, told = await there.send(body, headers, path, method)
                assert (found, told["error"]["code"]) == (status, code), (path, headers, method)
            long = message(1, "x" * 2000)
            found, told = await there.send(long)
            assert (found, told["error"]["code"]) == (413, "connector.too_large") and "sizes.message" in told[
                "error"
            ]["remedy"]
            in_parts = await asyncio.to_thread(chunked, there.port, signed(long), long)
            assert b" 413 " in in_parts.split(b"\r\n")[0]
            assert await there.counts() == before
            charset = {"content-type": 'Application/JSON; charset="UTF-8"'}
            assert (await there.send(body, charset | right))[0] == 202
            _, told = await there.send(b"x", JSON | {"accept-language": "pt-BR,en;q=0.5"})
            assert "mensagem" in told["error"]["what"]

    play(story())


def chunked(port, headers, body):
    """Send a body whose length is not told in advance, and give what comes back."""
    lines = [
        "POST /connectors/chat HTTP/1.1",
        "host: x",
        "content-type: application/json",
        "transfer-encoding: chunked",
    ]
    lines += [f"{key}: {value}" for key, value in headers.items()]
    with socket.create_connection(("127.0.0.1", port), 20) as line:
        line.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        for part in (body[:500], body[500:]):
            line.sendall(b"%x\r\n%b\r\n" % (len(part), part))
        line.sendall(b"0\r\n\r\n")
        return line.makefile("rb").read()


@pytest.mark.rule("BI-1")
def test_one_that_is_slow_or_goes_away_holds_up_nobody_and_leaves_nothing(tmp_path):
    async def story():
        async with door(tmp_path, AGAIN, [sees("a")], chat(timeout_ms=300)) as there:
            before = await there.counts()
            head = "POST /connectors/chat HTTP/1.1\r\nhost: x\r\n"
            head += "content-type: application/json\r\ncontent-length: 999\r\n"
            head += "".join(f"{key}: {value}\r\n" for key, value in signed(b"x").items()) + "\r\n{"
            lines = [socket.create_connection(("127.0.0.1", there.port), 20) for _ in range(20)]
            for line in lines:
                line.sendall(head.encode())
            lines[0].close()
            assert (await there.bring(1))[0] == 202, "served while twenty others say nothing"
            answer = await asyncio.to_thread(lines[1].makefile("rb").read)
            assert b" 408 " in answer.split(b"\r\n")[0] and b"connector.too_slow" in answer
            for line in lines:
                line.close()
            assert (await there.counts())[0] == before[0] + 1

    play(story())


@pytest.mark.rule("GT-7", "UI-5")
def test_a_key_is_found_nowhere_and_one_that_is_missing_closes_the_connector(tmp_path, caplog):
    async def story():
        secret = KEY.removeprefix("whsec_")
        with caplog.at_level(logging.DEBUG):
            async with door(tmp_path, AGAIN, [sees("a")]) as there:
                told = [await there.bring(1), await there.send(b"x"), await there.send(message(2), JSON)]
                await drain(there.runtime)
                (run,) = await runs_of(there.runtime, at("a"))
                prompt = (await there.runtime.prompt(run))[0].request.decode()
                steps = [await steps_of(there.runtime, name) for name in (run, at("a"))]
            for environment in ({}, {"CHAT_KEY": "whsec_short"}, {"CHAT_KEY": secret}):
                async with door(tmp_path, AGAIN, [sees("a")], environment=environment) as there:
                    status, why = await there.bring(3)
                    assert (status, why["error"]["code"]) == (503, "connector.closed")
                    assert "CHAT_KEY" not in json.dumps(why), (
                        "the outside is not told how this side is set up"
                    )
        assert "CHAT_KEY" in caplog.text
        for text in (
            json.dumps(told),
            prompt,
            repr(steps),
            caplog.text,
            read_all(tmp_path).decode("latin-1"),
        ):
            assert secret not in text and "whsec_short" not in text

    play(story())


@pytest.mark.rule("UI-5")
def test_a_mapping_finds_what_another_service_calls_otherwise(tmp_path):
    async def story():
        mapping = MessageMapping(
            external="/event/message/ts", thread="event.channel", sender="event.user", text="event.message.text",
            sender_name="event.names.0", room="event.members", member="uid", at="event.time",
        )  # fmt: skip
        body = {
            "event": {
                "channel": 17, "user": 23, "names": ["Ana"], "time": 1_700_000_000_000,
                "members": [{"uid": 23, "name": "Ana"}, {"uid": 24}],
                "message": {"ts": "1.2", "text": "mapped"},
            }
        }  # fmt: skip
        async with door(tmp_path, AGAIN, [sees("a")], chat(mapping=mapping)) as there:
            assert (await there.send(json.dumps(body).encode()))[0] == 202
            await drain(there.runtime)
            (run,) = await runs_of(there.runtime, at("a"))
            prompt = (await there.runtime.prompt(run))[0].request.decode()
            assert "mapped" in prompt and "Ana" in prompt
            body["event"]["channel"] = None
            status, told = await there.send(json.dumps(body).encode())
            assert status == 422 and "`event.channel`" in told["error"]["what"]

    play(story())


@pytest.mark.rule("UI-5")
def test_nobody_who_attends_is_said_and_is_no_mistake_of_the_outside(tmp_path):
    async def story():
        two = chat() | {"mail": chat()["chat"]}
        async with door(tmp_path, AGAIN, [sees("a", connector="mail")], two) as there:
            before = await there.counts()
            assert await there.bring(1) == (202, {"status": "unheard"})
            assert (await there.counts())[:4] == before[:4]

    play(story())


NAMES = st.sampled_from(["id", "thread", "sender", "text", "room", "own", "at", "name"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)


@pytest.mark.rule("BI-1", "UI-5")
def test_whatever_a_signed_body_holds_is_taken_or_refused_with_a_sentence(tmp_path):
    async def story():
        async with door(tmp_path, AGAIN, [sees("a", "observe")]) as there:
            loop, numbers = asyncio.get_running_loop(), iter(range(10**6))

            def bring(body):
                return asyncio.run_coroutine_threadsafe(
                    there.send(body, JSON | signed(body, f"j{next(numbers)}")), loop
                ).result(20)

            @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
            @given(st.binary(max_size=64) | JUNK.map(lambda value: json.dumps(value).encode()))
            def any_body(body):
                status, told = bring(body)
                assert status in {200, 202} or (status in {400, 422} and told["error"]["remedy"])

            await asyncio.to_thread(any_body)
            assert await sound(there.runtime)

    play(story())
