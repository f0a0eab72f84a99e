"""The human queue on the command line: people see what waits, decide under their name, and are told what came of it."""

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.company import Company
from tests.cli.people import refused, waiting
from tests.processes import Processes

A, B, C = (f"{name}@acme/platform" for name in "abc")
SCRIPT: dict[str, Any] = {
    A: [
        {"call": "book", "with": {"order": "o7"}},
        {"call": "hand_over", "with": {"to": B, "goal": "close it", "facts": [], "remains": ["tell the customer"],
                                       "reason": "the front desk does that"}},
    ],
    B: [{"call": "ask", "with": {"to": "people@acme/platform", "text": "which \u001b[2J language?"}},
        {"finish": "told in French"}],
    C: [{"finish": "forty-two"}],
}  # fmt: skip
DECLARED: dict[str, dict[str, Any]] = {
    "a": {"tools": ["book"], "hands_to": [B, "people@acme/platform"]},
    "b": {"sends_to": ["people@acme/platform"]},
    "c": {"starts_on": [{"message": "question"}]},
}
ASK = [{"name": "seen", "verdict": "ask", "tool": "book"}]


@pytest.fixture
def company(commands: Processes, tmp_path: Path) -> Company:
    """A company whose bookings people must see first."""
    made = Company.made(tmp_path / "company", ("a", "b", "c"), script=SCRIPT, declared=DECLARED, policies=ASK)
    assert commands.run("publish", folder=made.folder).code == 0
    return made


@pytest.mark.rule("MS-8", "GT-4", "UI-1", "LP-7", "MS-9")
@pytest.mark.fault("F28")
def test_people_decide_from_the_command_line_to_the_end(commands: Processes, company: Company) -> None:
    run = commands.run("run", A, "book o7 and tell the customer", folder=company.folder)
    assert run.code == 1, "it waits"
    assert "Waits for a person: a@acme/platform wants to call book (order o7)" in run.text
    other = commands.run("run", A, "book o7, too", folder=company.folder)
    assert other.code == 1
    first, second = waiting(commands, company)
    assert f"interlock approve {first['id']}" in run.text
    assert (first["kind"], first["form"]["arguments"]) == ("approval", {"order": "o7"})
    whole = commands.run("queue", second["id"][:30], folder=company.folder)
    assert whole.code == 2 or 'order: "o7"' in whole.text
    shown = commands.run("queue", second["id"], folder=company.folder).text
    assert 'order: "o7"' in shown and "policy:" in shown and "area:acme/platform" in shown
    approved = commands.run("approve", second["id"], "--person", "joana", folder=company.folder)
    assert approved.code == 0 and "approved by joana" in approved.text
    assert company.effects == {"book": 1}, "only what was approved"
    refused(
        commands.run("approve", second["id"], "--person", "rosa", folder=company.folder),
        "queue.answered_already",
    )
    kinds = sorted(item["kind"] for item in waiting(commands, company))
    assert kinds == ["approval", "question"], "the first run still waits"
    question = next(item for item in waiting(commands, company) if item["kind"] == "question")
    listed = commands.run("queue", folder=company.folder).text
    assert "\x1b" not in listed and "language?" in listed, "nothing steers the terminal"
    answered = commands.run("answer", question["id"], "French", "--person", "joana", folder=company.folder)
    assert answered.code == 0 and "told in French" in answered.text
    said = commands.run(
        "refuse", first["id"], "--because", "not twice", "--person", "joana", folder=company.folder
    )
    assert said.code == 0
    exchange = commands.run("exchange", question["root"], folder=company.folder).text
    for words in ("joana approves book", "a@acme/platform did book", "hands the task over to b@acme/platform",
                  "b@acme/platform acknowledges the hand-off and has the task", "“French”", "told in French",
                  "What is open: nothing"):  # fmt: skip
        assert words in exchange, words
    assert (
        "joana aprova book"
        in commands.run("exchange", question["root"], "--lang", "pt-BR", folder=company.folder).text
    )
    assert commands.run("exchange", question["root"], "--mermaid", folder=company.folder).text.startswith(
        "sequenceDiagram"
    )
    assert commands.run("channels", question["root"], folder=company.folder).code == 0
    assert commands.run("verify", folder=company.folder).code == 0


@pytest.mark.rule("MS-8", "MS-6")
def test_a_task_is_taken_given_and_closed(commands: Processes, company: Company) -> None:
    assert commands.run("run", A, "go", "--no-wait", folder=company.folder).code == 0
    task = company.rows("SELECT id FROM task")[0][0]
    refused(commands.run("close", task, "--because", "x", folder=company.folder), "queue.not_yours")
    taken = commands.run("take", task, "--person", "joana", folder=company.folder)
    assert taken.code == 0 and "taken by joana" in taken.text
    assert company.rows("SELECT owner FROM task") == [("person:joana",)]
    refused(commands.run("take", task, "--person", "joana", folder=company.folder), "queue.yours_already")
    refused(
        commands.run("close", task, "--because", "x", "--person", "rosa", folder=company.folder),
        "queue.not_yours",
    )
    refused(
        commands.run("give", task, "nobody@acme", "--person", "joana", folder=company.folder), "agent.unknown"
    )
    given = commands.run(
        "give", task, C, "--note", "please finish it", "--person", "joana", folder=company.folder
    )
    assert given.code == 0 and "forty-two" in given.text, given
    refused(commands.run("close", task, "--because", "x", folder=company.folder), "queue.closed_already")
    exchange = commands.run("exchange", task, folder=company.folder).text
    assert "joana takes the task" in exchange and "please finish it" in exchange


@pytest.mark.rule("BI-1", "MS-8", "GT-4")
def test_wrong_input_is_named_and_changes_nothing(commands: Processes, company: Company) -> None:
    assert commands.run("run", A, "go", folder=company.folder).code == 1
    (item,) = waiting(commands, company)
    question, task = item["id"], item["task"]
    at = {"folder": company.folder}
    steps = company.rows("SELECT count(*) FROM step")
    refused(commands.run("approve", "nothing", **at), "queue.unknown")
    refused(commands.run("approve", question, "--person", "", **at), "run.bad_person")
    refused(commands.run("approve", "\u202e'; DROP TABLE", **at), "queue.unknown")
    refused(commands.run("answer", question, "yes", **at), "queue.not_a_question")
    refused(commands.run("approve", task, **at), "queue.not_an_approval")
    refused(commands.run("take", question, **at), "queue.not_a_task")
    refused(commands.run("close", question, "--because", "x", **at), "queue.not_closable")
    refused(commands.run("refuse", question, "--because", "x" * 9000, **at), "queue.too_long")
    refused(commands.run("exchange", "task_zz", **at), "task.unknown")
    refused(commands.run("exchange", "task_00", **at), "task.unknown")
    assert commands.run("refuse", question, **at).code == 2, "a refusal has a reason"
    assert company.rows("SELECT count(*) FROM step") == steps
    settings = company.folder / "interlock.yaml"
    settings.write_text(settings.read_text()[:-1] + ', "people": {"rosa": {"approver": ["acme/hr"]}}}')
    refused(commands.run("approve", question, "--person", "rosa", **at), "queue.no_role")
    refused(commands.run("approve", question, "--person", "joana", **at), "queue.no_role")
    assert company.rows("SELECT count(*) FROM step") == steps


@pytest.mark.rule("MS-5", "AC-1", "MS-7", "MS-9", "MS-10", "LP-7")
def test_the_refund_demo_shows_each_safeguard_at_work(commands: Processes, tmp_path: Path) -> None:
    form = commands.run("demo", "refund", "--home", str(tmp_path / "home"), "--json", folder=tmp_path).json()
    assert form["without"] == 2, "two functions refund twice"
    assert [form[part]["refunds"] for part in ("package", "ledger", "malformed", "queue")] == [1, 1, 1, 1]
    acted = {part: [entry["kind"] for entry in form[part]["exchange"]["entries"]].count("task.acted")
             for part in ("package", "ledger")}  # fmt: skip
    assert acted == {"package": 1, "ledger": 2}, "one does not ask, the other asks and is given the receipt"
    assert "message.rejected" in [entry["kind"] for entry in form["malformed"]["exchange"]["entries"]]
    assert [item["kind"] for item in form["queue"]["queue"]] == ["task"]
    assert form["queue"]["exchange"]["tasks"][0]["owner"] == "people@acme/desk"
    assert form["channels"] == [3, 2]
    assert form["findings"] == []
    told = commands.run(
        "demo", "refund", "--home", str(tmp_path / "other"), "--lang", "pt-BR", folder=tmp_path
    )
    assert told.code == 0 and "O que foi pedido" in told.text, told
