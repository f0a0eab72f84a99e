"""`interlock connector` in real processes: served, stopped, killed at the worst moment, and what people then do."""

import json
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.company import Company
from tests.connector.http_world import ENVIRONMENT, JSON, KEY, Outside, count, message, outside, post, signed
from tests.processes import Process, Processes

DESK = "desk@acme/platform"
SCRIPT = {DESK: [{"finish": "an answer"}]}
DECLARED = {"desk": {"starts_on": [{"connector": "chat"}]}}


def company(folder: Path, commands: Processes, other: Outside | None, **more: Any) -> Path:
    """Give the folder of a company with an agent that attends a chat."""
    choice = {"scope": "acme/platform", "key": "CHAT_KEY", "timeout": "400ms"} | more
    choice |= {"reply_to": other.address} if other else {}
    made = Company.made(
        folder / "company", ["desk"], (), SCRIPT, DECLARED, connectors={"chat": choice}
    ).folder
    done = commands.run("publish", folder=made)
    assert done.code == 0, done
    return made


def serving(commands: Processes, folder: Path, **environment: str) -> tuple[Process, int]:
    """Start a server at a free port; give it and the port."""
    process = commands.start(
        "connector", "serve", "--port", "0", folder=folder, environment=ENVIRONMENT | environment
    )
    while b"listening at" not in process.written():
        assert not process.ended(0.05), process.wait()
    return process, int(process.written().split(b"/connectors/")[0].rpartition(b":")[2])


def bring(port: int, number: int = 1) -> tuple[int, Any]:
    """Bring a message."""
    body = message(number, thread=f"t{number}")
    return post(port, body, JSON | signed(body, f"d{number}"), "/connectors/chat")


def waits_until(holds: Any, seconds: float = 30) -> None:
    """Wait until something holds; a test that waits in vain fails."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


@pytest.mark.rule("UI-5", "UI-1")
def test_messages_come_in_and_answers_go_out_until_it_is_stopped(tmp_path: Path, commands: Processes) -> None:
    with outside() as other:
        folder = company(tmp_path, commands, other)
        process, port = serving(commands, folder)
        assert bring(port) == (202, {"status": "taken"})
        assert bring(port) == (200, {"status": "known"})
        waits_until(lambda: other.told)
        assert other.told[0].fits and other.told[0].json["text"] == "an answer"
        (line,) = commands.run("connector", "list", "--json", folder=folder, environment=ENVIRONMENT).json()
        assert (line["agents"], line["reply_to"], line["key"]) == ([DESK], other.address, True)
        process.send(signal.SIGTERM)
        done = process.wait()
        assert done.code == 0 and "stopped; runs brought to their end: 1" in done.text, done
        with pytest.raises(OSError):
            bring(port, 2)
        assert commands.run("verify", folder=folder).code == 0
        for written in (done.out, done.err):
            assert KEY.encode() not in written and b"hello" not in written


@pytest.mark.rule("UI-5", "AC-2", "RN-4", "MS-8")
@pytest.mark.fault("F5")
@pytest.mark.parametrize("point", ["outgoing.before_send", "outgoing.after_send"])
@pytest.mark.parametrize("takes_key", [False, True])
def test_a_kill_around_the_sending_doubles_nothing_and_loses_nothing(
    tmp_path: Path, commands: Processes, point: str, takes_key: bool
) -> None:
    with outside() as other:
        folder = company(tmp_path, commands, other, takes_key=takes_key)
        process, port = serving(commands, folder, INTERLOCK_FAULT=f"{point}:1")
        assert bring(port)[0] == 202
        assert process.wait().code == -signal.SIGKILL
        sent = len(other.told)
        assert sent == (point == "outgoing.after_send")
        process, port = serving(commands, folder)
        assert bring(port) == (200, {"status": "known"})
        waits_until(lambda: count(folder, "outgoing") == 0)
        if takes_key:
            assert len(other.told) == sent + 1
            assert len({(told.headers["webhook-id"], told.body) for told in other.told}) == 1
            assert commands.run("queue", "--json", folder=folder).json() == []
        else:
            assert len(other.told) == sent, "nobody knows whether it arrived, so it is not sent again"
            (item,) = commands.run("queue", "--json", folder=folder).json()
            assert item["kind"] == "delivery_in_doubt" and "may still arrive until" in item["line"]
            shown = commands.run("queue", item["id"], "--lang", "pt_BR", folder=folder)
            assert "ninguém sabe" in shown.text and "interlock connector resend" in shown.text
            again = commands.run("connector", "resend", item["id"], folder=folder, environment=ENVIRONMENT)
            assert again.code == 0, again
            waits_until(lambda: len(other.told) == sent + 1 and count(folder, "outgoing") == 0)
            assert commands.run("queue", "--json", folder=folder).json() == []
            twice = commands.run("connector", "resend", item["id"], folder=folder, environment=ENVIRONMENT)
            assert twice.code == 2
        process.send(signal.SIGTERM)
        assert process.wait().code == 0
        assert commands.run("verify", folder=folder).code == 0


@pytest.mark.rule("UI-5", "RN-4")
@pytest.mark.fault("F5")
def test_a_kill_while_a_message_is_taken_in_lets_it_be_brought_again(
    tmp_path: Path, commands: Processes
) -> None:
    folder = company(tmp_path, commands, None)
    for number, point in enumerate(("append.before_commit", "append.after_commit")):
        process, port = serving(commands, folder, INTERLOCK_FAULT=f"{point}:3")
        answers = []
        while not process.ended():
            try:
                answers.append(bring(port, 10 + number))
            except (OSError, EOFError, json.JSONDecodeError):
                break
            process.ended(0.05)
        process.send(signal.SIGKILL)
        process.wait()
        process, port = serving(commands, folder)
        assert bring(port, 10 + number)[0] in {200, 202}
        process.send(signal.SIGTERM)
        assert process.wait().code == 0
    assert count(folder, "message_event") >= 2
    runs = commands.run("worker", "--drain", folder=folder)
    assert runs.code == 0 and count(folder, "run") == 2
    assert commands.run("verify", folder=folder).code == 0


@pytest.mark.rule("UI-5", "UI-1", "GT-7")
def test_what_keeps_it_from_serving_is_told(tmp_path: Path, commands: Processes) -> None:
    folder = company(tmp_path, commands, None)
    done = commands.run("connector", "serve", "--port", "0", folder=folder)
    assert done.code == 2 and "CHAT_KEY" in done.errors and "interlock connector key" in done.errors
    done = commands.run("connector", "serve", folder=folder, environment={"CHAT_KEY": "sesame"})
    assert done.code == 2 and "sesame" not in done.errors + done.text
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = commands.run("connector", "serve", "--port", port, folder=folder, environment=ENVIRONMENT)
        assert done.code == 3 and port in done.errors
    done = commands.run("connector", "serve", "--port", "70000", folder=folder, environment=ENVIRONMENT)
    assert done.code == 2 and "70000" in done.errors
    shown = commands.run("connector", "list", folder=folder)
    assert shown.code == 0 and "CHAT_KEY" in shown.text and DESK in shown.text
    empty = Company.made(tmp_path / "empty", [], (), SCRIPT).folder
    assert commands.run("publish", folder=empty).code in {0, 2}
    assert commands.run("connector", "serve", folder=empty).code == 2
    first, second = (commands.run("connector", "key", folder=folder).text.strip() for _ in range(2))
    assert first != second and first.startswith("whsec_")
