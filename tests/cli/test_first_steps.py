"""Tests of what a newcomer meets first: publishing several files, naming runs, and why something failed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from interlock.cli import main
from tests.working_folder import working_in

Said = tuple[int, str, str]

AUDITOR = """
name: auditor
scope: acme
instructions: Read `visit` and say who came by.
starts_on:
  - event: visitor.greeted
"""


@pytest.fixture
def say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Said]]:
    """Give a command line in the folder of a first company."""

    def command(*arguments: str) -> Said:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    with working_in(tmp_path, monkeypatch):
        command("init")
        yield command


@pytest.mark.rule("LP-6", "AG-2")
def test_what_is_published_together_is_judged_together(say: Callable[..., Said]) -> None:
    code, out, _ = say("publish")
    assert code == 0
    assert "greeter@acme/desk: published as version 1" in out
    assert "  ! " not in out, "the listener stands in a later file of the same command"


@pytest.mark.rule("AG-2")
def test_nothing_is_published_when_one_file_has_a_mistake(say: Callable[..., Said]) -> None:
    Path("agents/zealot.yaml").write_text("name: zealot\nscope: acme\ninstructions: x\ntools: [no_such]\n")
    code, out, err = say("publish")
    assert (code, out, "no_such" in err) == (2, "", True)
    assert "No agent is published yet." in say("agents")[1]


@pytest.mark.rule("UI-1")
def test_an_agent_s_address_names_its_latest_run(say: Callable[..., Said]) -> None:
    say("publish")
    say("run", "greeter@acme/desk", "first")
    say("run", "greeter@acme/desk", "second")
    latest = say("trail")[1].splitlines()
    expected = next(line.split()[0] for line in latest if "greeter@acme/desk" in line)
    assert expected in say("trail", "greeter@acme/desk")[1].splitlines()[0]
    code, _, err = say("trail", "nobody@acme")
    assert (code, "run.none_of_agent" in err) == (2, True)


@pytest.mark.rule("RN-6")
def test_the_trail_says_what_a_provider_said(say: Callable[..., Said]) -> None:
    Path("agents/auditor.yaml").write_text(AUDITOR)
    say("publish")
    assert say("run", "auditor@acme")[0] == 1
    assert "the script has no answer for request 1 of auditor@acme" in say("trail", "auditor@acme")[1]


@pytest.mark.rule("RN-2", "CS-8")
def test_lost_content_is_not_told_as_a_lost_step(say: Callable[..., Said]) -> None:
    say("publish")
    say("run", "greeter@acme/desk")
    database = apsw.Connection(".interlock/ledger.db")
    database.execute("DELETE FROM content WHERE size = 24")
    database.close()
    code, out, _ = say("verify")
    assert code == 1
    assert "names content that is gone" in out
    assert "is missing" not in out


@pytest.mark.rule("CS-1", "CS-8")
def test_a_lost_key_is_not_replaced_by_a_new_one(say: Callable[..., Said]) -> None:
    say("publish")
    key = Path(".interlock/key")
    kept = key.read_text()
    key.unlink()
    for command in (("verify",), ("run", "greeter@acme/desk")):
        code, _, err = say(*command)
        assert (code, "content.key_lost" in err, key.exists()) == (3, True, False)
    key.write_text(kept)
    assert say("verify")[0] == 0
