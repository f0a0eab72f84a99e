"""`interlock send`: a person writes to an agent and is given the reply, or is told what it waits for."""

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.company import Company
from tests.cli.people import refused, waiting
from tests.processes import Processes

SAGE, WORKER, BROKEN = (f"{name}@acme/platform" for name in ("sage", "worker", "broken"))
SCRIPT: dict[str, Any] = {
    SAGE: [{"finish": "forty-two"}],
    WORKER: [
        {"call": "book", "with": {"order": "o7"}},
        {"call": "report", "with": {"status": "complete", "summary": "Booked.", "findings": [
            {"text": "o7 is booked", "sources": ["book"]}]}},
        {"finish": "done"},
    ],
    BROKEN: [{"fail": {"code": "rejected"}}],
}  # fmt: skip
DECLARED: dict[str, dict[str, Any]] = {
    "sage": {"starts_on": [{"message": ["question", "status"]}]},
    "worker": {"starts_on": [{"message": "request"}], "tools": ["book"]},
    "broken": {"starts_on": [{"message": "question"}]},
}
ASK = [{"name": "seen", "verdict": "ask", "tool": "book"}]


@pytest.fixture
def company(commands: Processes, tmp_path: Path) -> Company:
    """A company of three agents that people may write to."""
    made = Company.made(
        tmp_path / "company", DECLARED, script=SCRIPT, declared=DECLARED, policies=ASK, retries=0
    )
    assert commands.run("publish", folder=made.folder).code == 0
    return made


@pytest.mark.rule("MS-1", "MS-2", "MS-8", "UI-1")
def test_a_person_writes_to_an_agent_and_reads_the_reply(commands: Processes, company: Company) -> None:
    at = {"folder": company.folder}
    sent = commands.run("send", SAGE, "how many?", "--person", "joana", **at)
    assert sent.code == 0, sent
    assert "joana asks sage@acme/platform" in sent.text and "“forty-two”" in sent.text
    form = commands.run("send", SAGE, "how many?", "--json", **at).json()
    assert form["entries"][1]["says"]["text"] == "how many?"
    assert (form["reply"]["type"], form["reply"]["from"]) == ("result", SAGE)
    assert (form["reply"]["says"], form["waiting"]) == ({"text": "forty-two"}, [])
    assert form["message"].startswith("message_") and form["run"].startswith("run_")
    told = commands.run("send", SAGE, "we close at six", "--type", "status", "--json", **at)
    assert told.code == 0 and told.json()["reply"] is None, "no reply is awaited"
    below = commands.run("send", SAGE, "and there?", "--task", form["task"], "--json", **at).json()
    assert below["task"] == form["task"] and len(below["tasks"]) == 2
    assert len(company.rows("SELECT id FROM message WHERE sender GLOB 'person:*'")) == 4
    assert commands.run("verify", **at).code == 0


@pytest.mark.rule("MS-4", "GT-4", "MS-8")
def test_a_request_waits_for_a_person_and_is_answered_when_the_person_decides(
    commands: Processes, company: Company
) -> None:
    at = {"folder": company.folder}
    sent = commands.run("send", WORKER, "book o7", "--type", "request", "--person", "joana", **at)
    (item,) = waiting(commands, company)
    assert sent.code == 1 and f"interlock approve {item['id']}" in sent.text
    approved = commands.run("approve", item["id"], **at)
    assert approved.code == 0 and company.effects == {"book": 1}
    exchange = commands.run("exchange", item["root"], **at).text
    assert "o7 is booked" in exchange and "What is open: nothing" in exchange
    trail = commands.run("trail", WORKER, **at).text
    assert "opened by a request of joana" in trail and "report" in trail


@pytest.mark.rule("MS-4", "UI-1")
def test_a_failure_is_a_reply_and_what_is_queued_is_for_a_worker(
    commands: Processes, company: Company
) -> None:
    at = {"folder": company.folder}
    failed = commands.run("send", BROKEN, "?", "--json", **at)
    assert failed.code == 1 and failed.json()["reply"]["type"] == "error"
    queued = commands.run("send", SAGE, "?", "--no-wait", "--json", **at).json()
    assert company.rows("SELECT status FROM run WHERE agent GLOB 'sage*'") == [("open",)]
    assert commands.run("worker", "--drain", **at).code == 0
    assert company.rows("SELECT id, status FROM run WHERE agent GLOB 'sage*'") == [
        (queued["run"], "finished")
    ]


@pytest.mark.rule("MS-1", "BI-1", "SC-3")
def test_what_no_agent_may_be_sent_is_refused_and_opens_nothing(
    commands: Processes, company: Company
) -> None:
    at = {"folder": company.folder}
    refused(commands.run("send", SAGE, "count", "--type", "request", **at), "message.not_accepted")
    refused(commands.run("send", SAGE, "count", "--type", "order", **at), "cli.malformed")
    refused(commands.run("send", SAGE, "", **at), "message.malformed")
    refused(commands.run("send", SAGE, "x" * 2001, **at), "message.malformed")
    refused(commands.run("send", "nobody@acme/platform", "?", **at), "agent.unknown")
    refused(commands.run("send", SAGE, "?", "--label", "area:acme/finance", **at), "barrier.brief")
    refused(commands.run("send", SAGE, "?", "--label", "secret", **at), "label.undeclared")
    refused(commands.run("send", SAGE, "?", "--task", "task_00", **at), "queue.unknown")
    refused(commands.run("send", SAGE, "?", "--person", "a\0b", **at), "run.bad_person")
    assert commands.run("agents", "pause", SAGE, **at).code == 0
    refused(commands.run("send", SAGE, "?", **at), "run.not_started")
    assert company.rows("SELECT count(*) FROM run") == [(0,)]
    assert company.rows("SELECT count(*) FROM message") == [(0,)]
