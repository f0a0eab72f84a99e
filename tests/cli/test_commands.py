"""Every command does what it says, in words and as JSON, in both languages, with the stated exit code."""

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from interlock.cli import COMMANDS
from tests.acceptance.company import Company
from tests.acceptance.test_workers import until
from tests.processes import Done, Processes

TRIAGE, LISTENER = "triage@acme/platform", "listener@acme/platform"
ENGLISH = (
    " the ",
    " is ",
    " not ",
    " of ",
    " was ",
    "There ",
    "Commands:",
    "Usage:",
    "Error:",
    " by ",
    " with ",
)
SETTINGS: dict[str, Any] = {"labels": {"pii": {"receivers": ["acme/platform"]}}}


@pytest.fixture(scope="module")
def company(commands: Processes, tmp_path_factory: pytest.TempPathFactory) -> Company:
    """A company whose agents are published, and whose chain ran once."""
    made = Company.made(tmp_path_factory.mktemp("commands") / "company", ("triage", "listener"), **SETTINGS)
    assert commands.run("publish", folder=made.folder).code == 0
    assert commands.run("run", TRIAGE, '{"order": "o7"}', folder=made.folder).code == 0
    return made


@pytest.fixture
def own(company: Company, tmp_path: Path) -> Company:
    """A copy of that company, for tests that change it."""
    return company.copy(tmp_path / "company")


def runs_of(company: Company) -> list[str]:
    """Give the ids of all runs, the first one first."""
    return [row[0] for row in company.rows("SELECT id FROM run ORDER BY id")]


def status_of(company: Company, run: str) -> str:
    """Give the status of a run."""
    return str(dict(company.rows("SELECT id, status FROM run"))[run])


def told(done: Done, code: int = 0) -> str:
    """Give what a command said, which ended as expected."""
    assert done.code == code, done
    return done.text


@pytest.mark.rule("UI-1")
def test_a_first_company_runs_as_a_newcomer_is_told(commands: Processes, tmp_path: Path) -> None:
    said = told(commands.run("init", "desk", folder=tmp_path))
    assert "interlock publish" in said and "interlock run greeter@acme/desk" in said
    folder = tmp_path / "desk"
    assert " ! " not in told(commands.run("publish", folder=folder))
    said = told(commands.run("run", "greeter@acme/desk", '{"name": "Ana"}', folder=folder))
    assert "greeter@acme/desk" in said and "scribe@acme/desk" in said and "visit" in said
    look = said.rstrip("\n").splitlines()[-1].partition("interlock ")[2].split()
    assert "open_orders" in told(commands.run(*look, folder=folder))
    assert commands.run("init", "desk", folder=tmp_path).code == 2
    assert "interlock publish" in told(commands.run("init", "--lang", "pt-BR", folder=_made(tmp_path / "pt")))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.rule("AG-2", "EV-11", "LP-6")
def test_publishing_says_what_is_new_and_warns(own: Company, commands: Processes) -> None:
    said = told(commands.run("publish", folder=own.folder))
    assert "nothing new was published" in said and "version 2" not in said
    spec = own.folder / "agents" / "triage.yaml"
    changed = json.loads(spec.read_text())
    changed["emits"][0]["event"] = "unheard"
    spec.write_text(json.dumps(changed))
    done = commands.run("publish", str(spec), "--author", "rui", "--json", folder=own.folder)
    (item,) = json.loads(told(done))
    assert (item["agent"], item["version"], item["new"]) == (TRIAGE, 2, True)
    assert "unheard" in item["warnings"][0]["text"]
    assert own.rows("SELECT author FROM version WHERE number = 2") == [("rui",)]
    listener = told(commands.run("publish", "agents/listener.yaml", folder=own.folder))
    assert "triaged" in listener


@pytest.mark.rule("AG-5")
def test_agents_are_listed_paused_resumed_retired_and_stopped(own: Company, commands: Processes) -> None:
    def states() -> dict[str, str]:
        listed = json.loads(told(commands.run("agents", "--json", folder=own.folder)))
        return {item["agent"]: item["state"] for item in listed}

    assert states() == {LISTENER: "active", TRIAGE: "active"}
    for change, who, state in (
        ("pause", TRIAGE, {TRIAGE: "paused", LISTENER: "active"}),
        ("resume", TRIAGE, {TRIAGE: "active", LISTENER: "active"}),
        ("stop", "acme", {TRIAGE: "stopped", LISTENER: "stopped"}),
        ("resume", "acme", {TRIAGE: "active", LISTENER: "active"}),
        ("retire", TRIAGE, {TRIAGE: "retired", LISTENER: "active"}),
    ):
        changed = commands.run("agents", change, who, "--json", folder=own.folder)
        assert json.loads(told(changed))["changed"] == who
        assert states() == state
    refused = commands.run("run", TRIAGE, folder=own.folder)
    assert refused.code == 2 and "run.not_started" in refused.errors


@pytest.mark.rule("UI-1")
def test_a_brief_is_text_json_a_file_or_the_standard_input(own: Company, commands: Processes) -> None:
    (own.folder / "brief.json").write_text('{"from": "file"}')
    for brief, stdin, shown in (
        ("plain text", b"", r"plain text"),
        ('{"from": "json"}', b"", r"{\"from\":\"json\"}"),
        ("@brief.json", b"", r"{\"from\":\"file\"}"),
        ("-", b'{"from": "stdin"}', r"{\"from\":\"stdin\"}"),
    ):
        queued = commands.run("run", TRIAGE, brief, "--no-wait", "--json", folder=own.folder, stdin=stdin)
        run = json.loads(told(queued))["run"]
        assert commands.run("worker", "--drain", folder=own.folder).code == 0
        raw = commands.run("prompt", "show", run, "1", "--raw", folder=own.folder)
        assert shown in raw.text, raw


@pytest.mark.rule("GT-6", "SC-3", "SC-8")
def test_a_run_carries_what_it_was_opened_with(own: Company, commands: Processes) -> None:
    run = json.loads(
        told(
            commands.run(
                *("run", TRIAGE, "x", "--no-wait", "--person", "Ana Maria", "--label", "pii"),
                *("--only-tool", "look", "--only-effect", "read", "--release", "pii=acme"),
                "--json",
                folder=own.folder,
            )
        )
    )["run"]
    opening = own.trails()[run][0].body
    assert opening["behalf"] == "Ana Maria"
    assert "pii" in opening["labels"]
    assert opening["contract"] == {"tools": ["look"], "effects": ["read"]}
    assert opening["released"] == [["pii", "acme"]]
    assert commands.run("worker", "--drain", folder=own.folder).code == 0
    assert own.effects["book"] == 1
    story = told(commands.run("trail", run, folder=own.folder))
    assert "Ana Maria" in story and "pii" in story and "look" in story


@pytest.mark.rule("RN-6")
def test_a_run_that_does_not_finish_exits_with_one_and_says_why(commands: Processes, tmp_path: Path) -> None:
    script = {"counter@acme/platform": [{"fail": {"code": "rejected", "detail": "no such model"}}]}
    company = Company.made(tmp_path / "company", ("counter",), script=script)
    assert commands.run("publish", folder=company.folder).code == 0
    said = told(commands.run("run", "counter@acme/platform", folder=company.folder), code=1)
    assert "failed" in said and "rejected" in said and "“no such model”" in said
    as_json = commands.run("run", "counter@acme/platform", "--json", folder=company.folder)
    assert as_json.code == 1 and as_json.json()[0]["status"] == "failed" and as_json.json()[0]["reason"]


@pytest.mark.rule("RN-6", "RN-5")
def test_a_cancelled_run_ends_before_its_next_move(own: Company, commands: Processes) -> None:
    run = json.loads(told(commands.run("run", TRIAGE, "--no-wait", "--json", folder=own.folder)))["run"]
    assert run in told(commands.run("cancel", run, "--person", "rui", folder=own.folder))
    assert commands.run("worker", "--drain", folder=own.folder).code == 0
    assert status_of(own, run) == "cancelled"
    assert "rui" in told(commands.run("trail", run, folder=own.folder))
    again = commands.run("cancel", run, folder=own.folder)
    assert again.code == 2 and "run.closed_already" in again.errors
    assert own.effects == {"look": 1, "book": 1}


@pytest.mark.rule("UI-1")
def test_the_trail_of_a_live_run_is_followed_to_its_end(commands: Processes, tmp_path: Path) -> None:
    company = Company.made(tmp_path / "company", ("holder",))
    assert commands.run("publish", folder=company.folder).code == 0
    running = commands.start("run", "holder@acme/platform", folder=company.folder)
    until(lambda: company.effects["hold"], running)
    (run,) = runs_of(company)
    following = commands.start("trail", run, "--follow", folder=company.folder)
    reading = commands.start("trail", run, "--follow", "--content", folder=company.folder)
    until(lambda: b"hold" in following.written() and b"hold" in reading.written(), following, running)
    company.go()
    assert running.wait().code == 0
    done = following.wait()
    numbers = [int(line[:4]) for line in done.text.splitlines() if line[:4].strip().isdigit()]
    assert done.code == 0 and numbers == sorted(set(numbers))
    assert len(numbers) == len(company.trails()[run]) or len(numbers) + 1 == len(company.trails()[run])
    assert "book" in done.text and "went on" not in done.text
    assert "| went on" in reading.wait().text
    as_json = commands.run("trail", run, "--follow", "--json", folder=company.folder).json()
    assert [step["kind"] for step in as_json] == [step.kind for step in company.trails()[run]]


@pytest.mark.rule("UI-1")
def test_runs_are_found_by_a_part_of_their_id(company: Company, commands: Processes) -> None:
    run = runs_of(company)[0]
    assert run in told(commands.run("trail", folder=company.folder))
    whole = told(commands.run("trail", run, folder=company.folder))
    unique = next(
        run[:end] for end in range(10, 40) if sum(r.startswith(run[:end]) for r in runs_of(company)) == 1
    )
    assert told(commands.run("trail", unique, folder=company.folder)) == whole
    ambiguous = commands.run("trail", "run_0", folder=company.folder)
    assert ambiguous.code == 2 and "run.ambiguous" in ambiguous.errors


@pytest.mark.rule("CS-2", "CS-3", "UI-1")
def test_artifacts_are_listed_shown_and_written_byte_for_byte(
    company: Company, commands: Processes, tmp_path: Path
) -> None:
    run = runs_of(company)[0]
    listed = json.loads(told(commands.run("artifact", run, "--json", folder=company.folder)))
    assert {item["name"] for item in listed} == {"findings", "final_answer"}
    expected = b"o7 " + b"finding " * 400
    assert commands.run("artifact", run, "findings", folder=company.folder).out == expected
    target = tmp_path / "out"
    assert commands.run("artifact", run, "findings", "--output", str(target), folder=company.folder).code == 0
    assert target.read_bytes() == expected
    shown = json.loads(told(commands.run("artifact", run, "findings", "--json", folder=company.folder)))
    assert shown["content"] == expected.decode() and shown["size"] == len(expected)
    nowhere = commands.run("artifact", run, "findings", "--output", "/proc/no", folder=company.folder)
    assert nowhere.code == 3 and "cli.unwritable" in nowhere.errors
    unknown = commands.run("artifact", run, "finding", folder=company.folder)
    assert unknown.code == 2 and "findings" in unknown.errors


@pytest.mark.rule("EV-4", "PS-2", "LP-1")
def test_events_prompts_and_the_graph_are_shown(company: Company, commands: Processes) -> None:
    run, listener = runs_of(company)
    (event,) = json.loads(told(commands.run("event", run, "--json", folder=company.folder)))
    assert event["deliveries"][0]["run"] == listener
    assert listener in told(commands.run("event", run, folder=company.folder))
    raw = commands.run("prompt", "show", run, "2", "--raw", folder=company.folder)
    parts = json.loads(told(commands.run("prompt", "show", run, "2", "--json", folder=company.folder)))[
        "parts"
    ]
    assert "".join(parts).encode() == raw.out and json.loads(raw.out)
    assert f"triaged → {LISTENER}" in told(commands.run("graph", folder=company.folder))
    assert told(commands.run("graph", "--mermaid", folder=company.folder)).startswith("flowchart")
    assert LISTENER in told(commands.run("graph", "--json", folder=company.folder))


@pytest.mark.rule("RN-2", "CS-8")
@pytest.mark.parametrize(
    ("damage", "seq"),
    [
        (
            "UPDATE step SET body = replace(body, 'look', 'lock') WHERE stream = :run AND kind = 'tool.judged'",
            4,
        ),
        ("DELETE FROM step WHERE stream = :run AND seq = 4", 4),
        ("UPDATE content SET body = zeroblob(length(body)) WHERE hex(digest) = upper(:artifact)", None),
    ],
    ids=["a changed step", "a removed step", "changed content"],
)
def test_damage_is_found_and_named(damage: str, seq: int | None, own: Company, commands: Processes) -> None:
    assert commands.run("verify", folder=own.folder).code == 0
    run = runs_of(own)[0]
    assert commands.run("verify", run, folder=own.folder).code == 0
    (artifact,) = own.rows("SELECT digest FROM artifact WHERE name = 'findings'")[0]
    db = apsw.Connection(str(own.home / "ledger.db"))
    triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    db.execute(damage, {"run": run, "artifact": artifact})
    for _, sql in triggers:
        db.execute(sql)
    db.close()
    for arguments in (["verify"], ["verify", run]):
        said = told(commands.run(*arguments, folder=own.folder), code=1)
        assert run in said, said
        found = commands.run(*arguments, "--json", folder=own.folder)
        assert found.code == 1
        places = {(item["stream"], item["seq"]) for item in found.json()["findings"]}
        assert any(stream == run and seq in {None, place} for stream, place in places), places
    if seq is None:
        shown = commands.run("artifact", run, "findings", folder=own.folder)
        assert shown.code == 3 and shown.out == b"" and "content.corrupt" in shown.errors


AS_JSON = [
    ("agents",),
    ("publish",),
    ("run", TRIAGE),
    ("run", TRIAGE, "--no-wait"),
    ("worker", "--drain"),
    ("trail",),
    ("trail", "RUN"),
    ("artifact", "RUN"),
    ("artifact", "RUN", "findings"),
    ("event", "RUN"),
    ("graph",),
    ("graph", "--mermaid"),
    ("verify",),
    ("verify", "RUN"),
    ("prompt", "show", "RUN"),
    ("prompt", "diff", "RUN"),
    ("prompt", "replay", "RUN", "1"),
    ("work", "show", "RUN"),
    ("agents", "pause", LISTENER),
    ("agents", "resume", LISTENER),
    ("init", "elsewhere"),
]


@pytest.mark.rule("PS-2")
def test_a_prompt_is_shown_against_the_one_before_it(own: Company, commands: Processes) -> None:
    run = runs_of(own)[0]
    first, second = (
        commands.run("prompt", "show", run, number, "--raw", folder=own.folder).out for number in "12"
    )
    found = commands.run("prompt", "diff", run, "2", "--json", folder=own.folder).json()
    assert found["gone"] == 0 and found["new"] == len(found["changes"]) > 0 and found["kept"] > 1
    for change in found["changes"]:
        assert (
            change["mark"] == "+" and json.dumps(change["text"], ensure_ascii=False)[1:-1].encode() in second
        )
    assert len(second) > len(first)
    alone = commands.run("prompt", "diff", run, "1", "--json", folder=own.folder).json()
    assert alone["kept"] == 0 and alone["new"] > 1


@pytest.mark.rule("UI-1", "LP-7")
def test_every_command_answers_in_json_and_in_portuguese(own: Company, commands: Processes) -> None:
    run = runs_of(own)[0]
    for line in AS_JSON:
        arguments = [run if word == "RUN" else word for word in line]
        document = commands.run(*arguments, "--json", folder=own.folder)
        assert document.code == 0 and document.err == b"", document
        assert document.out.count(b"\x1b") == 0 and document.json() is not None
        if arguments[:1] == ["init"]:
            arguments = ["init", "somewhere"]
        said = commands.run(*arguments, "--lang", "pt-BR", folder=own.folder)
        assert said.code == 0 and said.err == b"", said
        if line[0] not in {"prompt", "artifact"}:
            assert not [word for word in ENGLISH if word in said.text], (line, said.text)


@pytest.mark.rule("UI-1", "LP-7")
def test_every_command_has_help_in_both_languages(commands: Processes, tmp_path: Path) -> None:
    pages = [
        [],
        *([name] for name in COMMANDS),
        *(["agents", name] for name in ("pause", "resume", "retire", "stop")),
    ]
    for page in [*pages, ["prompt", "show"], ["prompt", "diff"], ["prompt", "replay"], ["work", "show"]]:
        english = told(commands.run(*page, "--help", folder=tmp_path))
        portuguese = told(commands.run(*page, "--help", "--lang", "pt-BR", folder=tmp_path))
        assert english.startswith("Usage: interlock") and portuguese.startswith("Uso: interlock")
        for said in (english, portuguese):
            assert "cli." not in said and "Traceback" not in said and "None" not in said, said
        assert len(english.splitlines()) == len(portuguese.splitlines())
        assert not [word for word in ENGLISH if word in portuguese], portuguese
        options = {word for word in english.split() if word.startswith("--")}
        assert options == {word for word in portuguese.split() if word.startswith("--")}


@pytest.mark.rule("UI-1")
def test_the_language_may_stand_before_the_command_and_in_the_environment(
    company: Company, commands: Processes
) -> None:
    expected = told(commands.run("agents", "--lang", "pt-BR", folder=company.folder))
    assert "ativo" in expected
    assert told(commands.run("--lang", "pt-BR", "agents", folder=company.folder)) == expected
    for name in ("INTERLOCK_LANG", "LC_ALL", "LANG"):
        said = commands.run("agents", folder=company.folder, environment={name: "pt_BR.UTF-8"})
        assert told(said) == expected
    assert told(commands.run("--lang", "pt-BR", folder=company.folder)).startswith("Uso:")
