"""The demo shows the whole path on the recorded log and on any other, and says so when it cannot."""

import os
import random
from pathlib import Path

import pytest

from tests.processes import Processes

RECORDED = "── 1.", "── 2.", "── 3.", "── 4.", "── 5.", "── 6.", "── 7."


@pytest.mark.rule("UI-1", "EV-2", "EV-4", "SC-7")
def test_the_demo_tells_the_whole_path_in_both_languages(commands: Processes, tmp_path: Path) -> None:
    for language, sound in (("en", "Everything fits"), ("pt-BR", "Tudo confere")):
        home = str(tmp_path / language)
        done = commands.run("demo", "--home", home, "--lang", language, folder=tmp_path)
        assert done.code == 0 and done.err == b"", done
        assert all(title in done.text for title in RECORDED)
        assert sound in done.text and "data_barrier" in done.text and "schema-migration" in done.text
        look = done.text.rstrip("\n").splitlines()[-1].partition("interlock ")[2].split()
        assert commands.run(*look, folder=tmp_path).code == 0


@pytest.mark.rule("UI-1", "RN-4")
def test_a_second_demo_on_one_home_shows_the_first_again(commands: Processes, tmp_path: Path) -> None:
    first, second = (
        commands.run("demo", "--home", "home", "--json", folder=tmp_path).json() for _ in range(2)
    )
    assert first == second
    assert [item["status"] for item in first["runs"]] == ["finished", "finished"]
    assert first["findings"] == [] and first["refused"][0]["rule"] == "data_barrier"
    said = commands.run("demo", "--home", "home", folder=tmp_path)
    assert "had this log before" in said.text
    (tmp_path / "other.log").write_text("2026-01-01T00:00:00Z ERROR other\n")
    other = commands.run("demo", "--home", "home", "--log", "other.log", "--json", folder=tmp_path).json()
    assert other["runs"][0]["run"] != first["runs"][0]["run"]


LOGS = {
    "nginx": b'10.0.0.1 - - [30/Nov/2026:20:47:50 +0000] "GET / HTTP/1.1" 502 157 "-" "curl/8"\n' * 400,
    "json": b'{"ts": "2026-11-30T20:47:50Z", "level": "error", "msg": "out of memory"}\n' * 400,
    "syslog": b"Nov 30 20:47:50 host kernel: Out of memory: Killed process 4711 (java)\n" * 50,
    "no format at all": b"\n".join(b"line %d" % number for number in range(1000)),
    "latin-1": "2026-11-30 20:47:50 ERROR conexão recusada\n".encode("latin-1") * 20,
    "with NUL and escapes": b"2026-11-30 20:47:50 ERROR a\x00b\x1b[31m\n" * 20,
    "one long line": b"x" * 3_000_000,
    "empty": b"",
}


@pytest.mark.rule("UI-1", "BI-1")
@pytest.mark.parametrize("kind", LOGS)
def test_the_demo_takes_any_log(kind: str, commands: Processes, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(LOGS[kind])
    done = commands.run("demo", "--log", "a.log", "--home", "home", folder=tmp_path)
    assert done.code == 0 and done.err == b"" and "\x1b" not in done.text, done
    assert "triage_summary" in done.text and "── 7." in done.text


@pytest.mark.rule("UI-1", "BI-1", "RN-6")
def test_a_file_that_is_no_log_ends_with_a_reason(commands: Processes, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(random.Random(7).randbytes(200_000))
    done = commands.run("demo", "--log", "binary", "--home", "home", folder=tmp_path)
    assert done.code in {0, 1} and "Traceback" not in done.text + done.errors, done
    if done.code == 1:
        assert "incident." in done.text or "binary" in done.text


@pytest.mark.rule("UI-1", "BI-1")
@pytest.mark.parametrize("name", ["missing", "folder", "pipe"])
def test_what_is_no_file_is_refused(name: str, commands: Processes, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    done = commands.run("demo", "--log", name, "--home", "home", folder=tmp_path)
    assert done.code == 2 and "(cli.demo.no_log)" in done.errors and not (tmp_path / "home").exists()
