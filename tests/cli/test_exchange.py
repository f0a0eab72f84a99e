"""The exchange and the channels on the command line: in words, as JSON and drawn, whatever became of the content."""

import fcntl
import json
import os
import pty
import re
import struct
import termios
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.acceptance.company import Company
from tests.processes import Done, Processes

A, B, C = (f"{name}@acme/platform" for name in "abc")
FORGED = "   9  +   0.000 s  b@acme/platform ends the task: finished"
LONG = "a long story " * 100
SCRIPT: dict[str, Any] = {
    A: [
        {"call": "ask", "with": {"to": C, "text": f"which?\n{FORGED}\n\x1b[2J; end"}},
        {"call": "book", "with": {"order": "o7"}},
        {"call": "hand_over", "with": {"to": B, "goal": "close it", "facts": [{"id": "f1", "fact": "booked"}],
                                       "remains": ["tell the customer"], "reason": LONG}},
    ],
    B: [{"call": "ask", "with": {"to": "people@acme/platform", "text": "in French?"}}, {"finish": "told"}],
    C: [{"finish": "forty-two"}],
}  # fmt: skip
DECLARED: dict[str, dict[str, Any]] = {
    "a": {"tools": ["book"], "sends_to": [C], "hands_to": [B, "people@acme/platform"]},
    "b": {"sends_to": ["people@acme/platform"]},
    "c": {"starts_on": [{"message": "question"}]},
}
IDS = re.compile(r"\b(?:run|message|question|handoff|action)_[0-9a-f]+|[0-9a-f]{40}")
SAID = {
    "en": ("Ana gives a@acme/platform a task", "hands the task over to b@acme/platform", "a@acme/platform did book",
           "a@acme/platform asks c@acme/platform (task 2)", "(task: open)", "What is open:",
           "remains: tell the customer",
           "the people of acme/platform are to answer b@acme/platform", "long texts are cut"),
    "pt-BR": ("Ana dá uma tarefa a a@acme/platform", "passa a tarefa a b@acme/platform", "a@acme/platform fez book",
              "a@acme/platform pergunta a c@acme/platform (tarefa 2)", "(tarefa: aberta)", "O que está em aberto:",
              "pessoas de acme/platform devem responder a b@acme/platform", "textos longos foram cortados"),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(commands: Processes, tmp_path_factory: pytest.TempPathFactory) -> Company:
    """A company in which a task was worked on by three agents, and waits for a person."""
    folder = tmp_path_factory.mktemp("exchange") / "company"
    company = Company.made(folder, ("a", "b", "c"), script=SCRIPT, declared=DECLARED)
    assert commands.run("publish", folder=folder).code == 0
    assert commands.run("run", A, "book o7", "--person", "Ana", folder=folder).code == 1
    return company


def root(company: Company) -> str:
    """Give the root task."""
    ((name,),) = company.rows("SELECT DISTINCT root FROM task")
    return str(name)


def meddled(company: Company, statement: str, folder: Path) -> Company:
    """Give a copy whose file somebody changed who drops what protects it."""
    copy = company.copy(folder)
    db = apsw.Connection(str(copy.home / "ledger.db"))
    for (trigger,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {trigger}")
    db.execute(statement)
    db.close()
    return copy


def told(done: Done) -> str:
    """Give what a command said that did what it was to do."""
    assert done.code == 0, done
    return done.text


@pytest.mark.rule("MS-9", "UI-1", "LP-7")
@pytest.mark.parametrize("language", SAID)
def test_an_exchange_is_told_in_words(commands: Processes, made: Company, language: str) -> None:
    text = told(commands.run("exchange", root(made), "--lang", language, folder=made.folder))
    for words in SAID[language]:
        assert words in text, words
    assert not IDS.search(text), "names, and no ids"
    assert "f1: “booked”" in text, "a fact with the id by which it is named"


@pytest.mark.rule("MS-9", "UI-1")
def test_a_task_is_named_by_its_id_its_beginning_one_of_its_runs_or_an_agent(
    commands: Processes, made: Company
) -> None:
    whole = told(commands.run("exchange", root(made), folder=made.folder))
    run = made.rows(f"SELECT id FROM run WHERE agent = '{C}'")[0][0]
    for name in (root(made)[:-2], run, run[:-2], B):
        assert told(commands.run("exchange", name, folder=made.folder)) == whole, name
    sub = made.rows("SELECT id FROM task WHERE parent IS NOT NULL")[0][0]
    assert told(commands.run("exchange", sub, folder=made.folder)) == whole, (
        "a sub-task's is that of the whole"
    )


@pytest.mark.rule("MS-9", "BI-1")
@pytest.mark.parametrize("command", ["exchange", "channels"])
@pytest.mark.parametrize(
    ("name", "code"),
    [("task_ff", "task.unknown"), ("task_é", "task.unknown"), ("task_0", "task.ambiguous"), ("run_ff", "run.unknown"),
     ("", "run.ambiguous"), ("x@acme/platform", "run.none_of_agent"), ("@", "scope.malformed_address")],
)  # fmt: skip
def test_a_task_that_is_not_there_is_refused_with_a_remedy(
    command: str, name: str, code: str, commands: Processes, made: Company
) -> None:
    done = commands.run(command, name, folder=made.folder)
    assert (done.code, done.out) == (2, b"")
    assert f"({code})" in done.errors and len(done.errors.splitlines()) == 3, done.errors


@pytest.mark.rule("MS-9", "UI-1")
def test_an_exchange_is_given_as_json_and_as_a_diagram(commands: Processes, made: Company) -> None:
    form = commands.run("exchange", root(made), "--json", folder=made.folder).json()
    assert form.keys() == {"task", "entries", "tasks", "mermaid"}
    assert [entry["seq"] for entry in form["entries"]] == list(range(1, len(form["entries"]) + 1))
    assert [(task["number"], task["state"]) for task in form["tasks"]] == [(1, "open"), (2, "finished")]
    assert form["entries"][0]["says"] == {"brief": "book o7"}
    (handed,) = (entry for entry in form["entries"] if entry["kind"] == "task.handed_over")
    assert handed["says"]["reason"] == LONG, "uncut"
    drawn = told(commands.run("exchange", root(made), "--mermaid", folder=made.folder))
    assert drawn == form["mermaid"] and drawn.startswith("sequenceDiagram\n")


@pytest.mark.rule("MS-9", "BI-1")
@pytest.mark.fault("F42")
def test_nothing_that_was_said_passes_for_what_happened(commands: Processes, made: Company) -> None:
    text = told(commands.run("exchange", root(made), "--whole", folder=made.folder))
    assert f"| {FORGED.strip()}" in text.replace("|    9", "| 9")
    assert not any(line.startswith(FORGED) for line in text.splitlines())
    assert "\x1b" not in text
    assert LONG.strip() in text and "long texts are cut" not in text
    assert "c@acme/platform begins task 2" in text, "what is aside"


@pytest.mark.rule("MS-9", "CS-8")
@pytest.mark.parametrize(
    ("statement", "words"),
    [("DELETE FROM content", "no longer there"),
     ("UPDATE content SET body = zeroblob(3), form = 0, size = 3", "changed since")],
)  # fmt: skip
def test_an_exchange_is_read_whatever_has_become_of_its_content(
    statement: str, words: str, commands: Processes, made: Company, tmp_path: Path
) -> None:
    company = meddled(made, statement, tmp_path / "company")
    text = told(commands.run("exchange", root(company), folder=company.folder))
    assert text.count(words) > 5 and "hands the task over to b@acme/platform" in text
    form = commands.run("exchange", root(company), "--json", folder=company.folder).json()
    assert words in form["entries"][0]["gone"]["brief"] and form["entries"][0]["says"] == {}
    told(commands.run("exchange", root(company), "--mermaid", folder=company.folder))


@pytest.mark.rule("MS-9", "UI-1")
def test_lines_are_wrapped_at_a_terminals_edge_and_nowhere_else(commands: Processes, made: Company) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    process = commands.start("exchange", root(made), folder=made.folder, out=Path(os.ttyname(slave)))
    shown = b""
    os.set_blocking(master, False)
    while not process.ended(0.02) or not shown:
        try:
            shown += os.read(master, 65536)
        except BlockingIOError:
            continue
    lines = shown.decode().replace("\r\n", "\n").splitlines()
    assert process.wait().code == 0
    assert all(len(line) <= 60 for line in lines if root(made) not in line), (
        "but what is to be copied is whole"
    )
    wrapped = lines.index(next(line for line in lines if "a long story" in line)) + 1
    assert lines[wrapped].startswith(" " * 20), "set in, so that it passes for no line of its own"
    whole = told(commands.run("exchange", root(made), folder=made.folder))
    assert max(map(len, whole.splitlines())) > 500


@pytest.mark.rule("MS-10", "UI-1", "LP-7")
def test_channels_are_counted_for_a_task_and_for_what_is_published(
    commands: Processes, made: Company
) -> None:
    used = told(commands.run("channels", root(made), folder=made.folder))
    assert used.splitlines() == [
        f"{A} – {B}  (hand-offs: 1)",
        f"{A} – {C}  (messages: 2)",
        f"{B} – the people of acme/platform  (messages: 1)",
        "4 talk over 3 channels; a coordinator would save none",
    ]
    declared = commands.run("channels", "--json", folder=made.folder).json()
    assert declared.keys() == {
        "channels",
        "participants",
        "now",
        "through_one",
        "coordinator",
        "saved",
        "mermaid",
    }
    assert (declared["now"], declared["participants"], declared["through_one"]) == (4, 4, 3)
    drawn = told(commands.run("channels", "--mermaid", folder=made.folder))
    assert drawn == declared["mermaid"] and drawn.startswith("graph LR\n") and drawn.count("---") == 4
    named = told(commands.run("channels", "--coordinator", C, "--lang", "pt-BR", folder=made.folder))
    assert "4 falam por 4 canais; se tudo passasse por c@acme/platform, seriam 3: 1 a menos" in named


@pytest.mark.rule("MS-10", "LP-4", "UI-3")
def test_channels_of_agents_outside_the_readers_access_go_unnamed(commands: Processes, made: Company) -> None:
    text = told(commands.run("channels", "--reader", "acme/finance", folder=made.folder))
    assert text == "Nobody talks to anybody.\n"
    bad = commands.run("channels", "--reader", "ACME", folder=made.folder)
    assert bad.code == 2


@pytest.mark.rule("MS-13", "UI-1", "LP-7")
def test_publishing_shows_what_one_more_agent_costs(
    commands: Processes, made: Company, tmp_path: Path
) -> None:
    company = made.copy(tmp_path / "company")
    spec = {
        "name": "d",
        "scope": "acme/platform",
        "instructions": "You are d.",
        "sends_to": [A],
        "hands_to": [A],
    }
    (company.folder / "agents" / "d.yaml").write_text(json.dumps(spec))
    before = company.rows("SELECT count(*) FROM step")
    checked = told(commands.run("publish", "agents/d.yaml", "--check", folder=company.folder))
    assert "d@acme/platform would be version 1; nothing was published" in checked
    assert company.rows("SELECT count(*) FROM step") == before
    text = told(commands.run("publish", "agents/d.yaml", folder=company.folder))
    assert text.splitlines()[1:] == checked.splitlines()[1:], "it is told before as it is told then"
    for words in (
        "= cost: channels added: 1 (with a@acme/platform)",
        "= cost: each of its prompts begins with about ",
        "= cost: agents that hand over to it: 0; that it hands over to: 1",
        "= cost: hand-offs on the longest path through it: 2",
    ):
        assert words in text, words
    again = commands.run("publish", "agents/d.yaml", "--json", folder=company.folder).json()
    assert again[0]["cost"] == [], "nothing is added"
