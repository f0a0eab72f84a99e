"""Wrong input on the command line: a code, what happened, what to do, the stated exit code; nothing is written and
nothing steers a terminal."""

import json
import os
from pathlib import Path

import pytest

from tests.acceptance.company import Company
from tests.processes import Done, Processes

TRIAGE = "triage@acme/platform"
ENGLISH = {
    " the ",
    " is ",
    " not ",
    " of ",
    " and ",
    " cannot ",
    " There ",
    "Commands",
    "Usage",
    "Error",
    " was ",
}
"""Words that no Portuguese sentence has."""


@pytest.fixture(scope="module")
def company(commands: Processes, tmp_path_factory: pytest.TempPathFactory) -> Company:
    """A company whose agents are published, and whose chain ran once."""
    made = Company.made(tmp_path_factory.mktemp("mistakes") / "company", ("triage", "listener"))
    assert commands.run("publish", folder=made.folder).code == 0
    assert commands.run("run", TRIAGE, folder=made.folder).code == 0
    (made.folder / "binary").write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff")
    (made.folder / "nul").write_bytes(b"name: a\x00b\n")
    (made.folder / "latin").write_bytes("name: caf\xe9\n".encode("latin-1"))
    (made.folder / "malformed").write_text("name: [\n")
    (made.folder / "doubled").write_text("name: a\nname: b\n")
    (made.folder / "empty").write_text("")
    (made.folder / "large").write_bytes(b"a" * (1024 * 1024 + 300 * 1024))
    return made


def files_of(folder: Path) -> dict[str, bytes]:
    """Give every file below a folder with its content; the log of the database is empty or not there, and its
    index of that log says nothing."""
    found = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {
        name: data
        for name, data in found.items()
        if not name.endswith("-shm") and (data or "-wal" not in name)
    }


def check_error(done: Done, code: int, name: str) -> None:
    """It is one error of three lines or more: what, remedy, code."""
    assert done.code == code, done
    assert done.out == b"", done
    assert "Traceback" not in done.errors
    lines = done.errors.rstrip("\n").split("\n")
    assert lines[0].startswith(("Error: ", "Erro: ")) and lines[-1] == f"  ({name})", done.errors
    assert len(lines) >= 3 and lines[1].strip(), done.errors
    assert "{" not in lines[0] + lines[1] and "cli." not in lines[0] + lines[1], done.errors


MISTAKES = {
    ("runn",): "cli.unknown_command_near",
    ("xyzzy",): "cli.unknown_command",
    ("agents", "pauze", TRIAGE): "cli.unknown_command_near",
    ("prompt", "shwo"): "cli.unknown_command_near",
    ("--versio",): "cli.unknown_option",
    ("trail", "--folow"): "cli.unknown_option_near",
    ("run", TRIAGE, "--labell", "pii"): "cli.unknown_option_near",
    ("run", TRIAGE, "--no-wiat"): "cli.unknown_option_near",
    ("verify", "--lang"): "cli.no_value",
    ("verify", "--lang", "fr"): "cli.unknown_language",
    ("run",): "cli.missing",
    ("artifact",): "cli.missing",
    ("event",): "cli.missing",
    ("cancel",): "cli.missing",
    ("prompt", "show"): "cli.missing",
    ("agents", "pause"): "cli.missing",
    ("run", TRIAGE, "a", "b"): "cli.too_many",
    ("trail", "a", "b"): "cli.too_many",
    ("graph", "a"): "cli.too_many",
    ("worker", "a"): "cli.too_many",
    ("worker", "--drain", "--concurrency", "many"): "cli.malformed",
    ("worker", "--drain", "--concurrency", "0"): "cli.malformed",
    ("prompt", "show", "run_0", "first"): "cli.malformed",
    ("prompt", "show", "run_0", "0"): "cli.malformed",
    ("run", "triage"): "scope.malformed_address",
    ("run", "Triage@acme"): "scope.malformed_address",
    ("run", "nobody@acme/platform"): "agent.unknown",
    ("run", TRIAGE, "@missing"): "runtime.unreadable",
    ("run", TRIAGE, "@agents"): "runtime.unreadable",
    ("run", TRIAGE, "@latin"): "cli.run.not_utf8",
    ("run", TRIAGE, "@binary"): "cli.run.not_utf8",
    ("run", TRIAGE, "@large"): "brief.too_large",
    ("run", TRIAGE, '{"order": '): "json.malformed",
    ("run", TRIAGE, "--person", ""): "run.bad_person",
    ("run", TRIAGE, "--person", "a\nb"): "run.bad_person",
    ("run", TRIAGE, "--label", "pii"): "label.undeclared",
    ("run", TRIAGE, "--only-tool", "lok"): "run.unknown_tool",
    ("run", TRIAGE, "--only-effect", "wirte"): "run.unknown_effect",
    ("run", TRIAGE, "--release", "pii"): "cli.run.bad_release",
    ("trail", "run_ffff"): "run.unknown",
    ("artifact", "run_ffff"): "run.unknown",
    ("event", "run_ffff"): "run.unknown",
    ("verify", "run_ffff"): "run.unknown",
    ("cancel", "run_ffff"): "run.unknown",
    ("prompt", "show", "run_ffff"): "run.unknown",
    ("agents", "pause", "nobody@acme"): "agent.unknown",
    ("agents", "pause", "acme"): "scope.malformed_address",
    ("agents", "stop", "ACME"): "scope.malformed",
    ("agents", "resume", "acme"): "cli.agents.not_stopped",
    ("publish", "missing.yaml"): "runtime.unreadable",
    ("publish", "binary"): "yaml.encoding",
    ("publish", "nul"): "yaml.character",
    ("publish", "latin"): "yaml.encoding",
    ("publish", "malformed"): "yaml.malformed",
    ("publish", "doubled"): "yaml.doubled_key",
    ("publish", "empty"): "spec.invalid",
    ("publish", "large"): "yaml.too_large",
    ("init", "."): "cli.init.exists",
    ("demo", "--log", "missing"): "cli.demo.no_log",
    ("demo", "--model", "gpt"): "cli.demo.bad_model",
    ("trail", "--folder", "missing"): "runtime.unreadable",
}


@pytest.mark.rule("UI-1", "BI-1", "LP-7")
@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_a_mistake_is_told_in_both_languages_and_writes_nothing(
    arguments: tuple[str, ...], company: Company, commands: Processes
) -> None:
    before = files_of(company.folder)
    english = commands.run(*arguments, folder=company.folder)
    check_error(english, 2, MISTAKES[arguments])
    if "--lang" not in arguments:
        portuguese = commands.run(*arguments, "--lang", "pt-BR", folder=company.folder)
        check_error(portuguese, 2, MISTAKES[arguments])
        found = [word for word in ENGLISH if word in portuguese.errors]
        assert not found, portuguese.errors
    assert files_of(company.folder) == before


@pytest.mark.rule("UI-1")
def test_an_error_with_json_is_one_document(company: Company, commands: Processes) -> None:
    done = commands.run("trail", "run_ffff", "--json", folder=company.folder)
    assert done.code == 2 and done.out == b""
    error = json.loads(done.err)["error"]
    assert error["code"] == "run.unknown" and error["what"] and error["remedy"]


@pytest.mark.rule("BI-1", "UI-1")
@pytest.mark.parametrize(
    ("stdin", "code"),
    [
        (b"\xff\xfe", "cli.run.not_utf8"),
        (b'{"a": 1, "a": 2}', "json.malformed"),
        (b'{"a": NaN}', "json.malformed"),
        (b"[" * 100_000, "json.malformed"),
        (b"x" * (1024 * 1024 + 1), "brief.too_large"),
    ],
    ids=["not UTF-8", "doubled key", "NaN", "deep", "large"],
)
def test_a_bad_brief_on_the_standard_input_opens_no_run(
    stdin: bytes, code: str, company: Company, commands: Processes
) -> None:
    before = company.rows("SELECT count(*) FROM run")
    done = commands.run("run", TRIAGE, "-", folder=company.folder, stdin=stdin)
    assert done.code == 2 and f"({code}" in done.errors, done
    assert "Traceback" not in done.errors
    assert company.rows("SELECT count(*) FROM run") == before


SETTINGS = {
    "modules: [": "yaml.malformed",
    "modulez: [tools.py]": "settings.invalid",
    "modules: [missing.py]": "module.missing",
    "modules: [broken.py]": "module.broken",
    "modules: [raising.py]": "module.broken",
    "lease: soon": "settings.invalid",
    "models: {default: {provider: scripted}}": "settings.invalid",
    "models: {default: {provider: scripted, script: missing.yaml}}": "model.script_unreadable",
    "models: {default: {provider: scripted, script: malformed}}": "yaml.malformed",
}


@pytest.mark.rule("BI-1", "UI-1", "AG-2")
@pytest.mark.parametrize("settings", SETTINGS)
def test_settings_that_do_not_fit_are_told_and_nothing_runs(
    settings: str, company: Company, commands: Processes, tmp_path: Path
) -> None:
    other = company.copy(tmp_path / "company")
    (other.folder / "broken.py").write_text("def (:\n")
    (other.folder / "raising.py").write_text("raise SystemError('no')\n")
    modules = "modules: [tools.py]\n" if settings.startswith("models") else ""
    (other.folder / "interlock.yaml").write_text(f"{modules}{settings}\n")
    before = files_of(other.home)
    done = commands.run("run", TRIAGE, folder=other.folder)
    assert done.code == 2 and f"({SETTINGS[settings]}" in done.errors, done
    assert files_of(other.home) == before
    assert "Traceback" not in done.errors + done.text


@pytest.mark.rule("UI-1", "RN-2")
def test_what_was_recorded_is_read_though_the_code_is_broken(
    company: Company, commands: Processes, tmp_path: Path
) -> None:
    other = company.copy(tmp_path / "company")
    (other.folder / "tools.py").write_text("def (:\n")
    run = other.rows("SELECT id FROM run ORDER BY id")[0][0]
    for arguments in (
        ["trail"],
        ["trail", run],
        ["artifact", run],
        ["event", run],
        ["prompt", "show", run],
        ["agents"],
        ["graph"],
        ["verify"],
    ):
        done = commands.run(*arguments, folder=other.folder)
        assert done.code == 0 and done.text.strip(), done
    check_error(commands.run("run", TRIAGE, folder=other.folder), 2, "module.broken")


@pytest.mark.rule("UI-1")
def test_without_an_installation_every_command_says_how_to_make_one(
    commands: Processes, tmp_path: Path
) -> None:
    for arguments in (["trail"], ["publish"], ["run", TRIAGE], ["verify"], ["agents"], ["graph"], ["worker"]):
        done = commands.run(*arguments, folder=tmp_path)
        check_error(done, 2, "runtime.no_installation")
        assert "interlock init" in done.errors
    assert files_of(tmp_path) == {}


@pytest.mark.rule("UI-1", "BI-1")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere: permissions prove nothing")
def test_a_home_that_cannot_be_written_is_told(company: Company, commands: Processes, tmp_path: Path) -> None:
    other = company.copy(tmp_path / "company")
    (other.home / "ledger.db").chmod(0o400)
    other.home.chmod(0o500)
    try:
        check_error(commands.run("run", TRIAGE, folder=other.folder), 3, "ledger.unreadable")
    finally:
        other.home.chmod(0o700)


@pytest.mark.rule("UI-1", "BI-1", "CS-8")
def test_a_home_that_cannot_be_used_is_told(company: Company, commands: Processes, tmp_path: Path) -> None:
    def changed(name: str) -> Company:
        return company.copy(tmp_path / name)

    no_folder = changed("no folder")
    check_error(
        commands.run("trail", "--home", "/proc/interlock", folder=no_folder.folder), 3, "runtime.no_home"
    )
    check_error(
        commands.run("trail", "--home", "agents/triage.yaml", folder=no_folder.folder), 3, "runtime.no_home"
    )
    no_database = changed("no database")
    (no_database.home / "ledger.db").write_bytes(b"This is no database. " * 500)
    for arguments in (["trail"], ["run", TRIAGE], ["worker", "--drain"]):
        check_error(commands.run(*arguments, folder=no_database.folder), 3, "ledger.unreadable")
    bad_key = changed("bad key")
    (bad_key.home / "key").write_text("no key")
    check_error(commands.run("run", TRIAGE, folder=bad_key.folder), 3, "content.bad_key")
    other_key = changed("other key")
    (other_key.home / "key").write_text("ab" * 32)
    check_error(commands.run("run", TRIAGE, folder=other_key.folder), 3, "content.corrupt")


@pytest.mark.rule("UI-1", "WK-3")
def test_a_home_of_another_format_is_left_alone(
    company: Company, commands: Processes, tmp_path: Path
) -> None:
    import apsw

    other = company.copy(tmp_path / "company")
    db = apsw.Connection(str(other.home / "ledger.db"))
    db.pragma("user_version", 99)
    db.close()
    before = (other.home / "ledger.db").read_bytes()
    check_error(commands.run("run", TRIAGE, folder=other.folder), 3, "ledger.other_format")
    assert (other.home / "ledger.db").read_bytes() == before


@pytest.mark.rule("UI-1", "BI-1")
def test_a_fault_of_the_program_itself_is_told_without_its_inside(
    company: Company, commands: Processes
) -> None:
    broken = {"INTERLOCK_FAULT": "run.opened:never"}
    done = commands.run("trail", folder=company.folder, environment=broken)
    check_error(done, 3, "cli.broke")
    shown = commands.run("trail", folder=company.folder, environment=broken | {"INTERLOCK_TRACEBACK": "1"})
    assert "Traceback" in shown.errors and shown.code == 1
