"""What a command does to a terminal, to a pipe that closes, and to somebody in a hurry."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.company import Company
from tests.acceptance.test_workers import until
from tests.processes import Process, Processes

TRIAGE, HOLDER = "triage@acme/platform", "holder@acme/platform"
STEERING = "\x1b[2J\x1b]0;owned\x07\x9b31m\x08\x7f\u202e\u2066\r"
HARMFUL = "\x1b\x07\x9b\x08\x7f\u202e\u2066"


class Screen:
    """A terminal of our own: what is written to it is read here."""

    def __init__(self) -> None:
        self._master, self._slave = pty.openpty()
        os.set_blocking(self._master, False)
        self.path = Path(os.ttyname(self._slave))
        self._shown = b""

    @property
    def shown(self) -> str:
        """Everything that was written to it so far."""
        try:
            while data := os.read(self._master, 65536):
                self._shown += data
        except BlockingIOError:
            pass
        return self._shown.decode()

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._master, keys)

    def finish(self, process: Process) -> int:
        """Wait for a process that writes to it, reading on, so that it never waits for us; give its code."""
        while not process.ended(0.02):
            assert self.shown is not None
        assert self.shown is not None
        return process.wait().code


@pytest.fixture
def screen() -> Screen:
    """A terminal."""
    return Screen()


def steered(folder: Path, commands: Processes) -> tuple[Company, str]:
    """Give a company whose model writes what would steer a terminal, wherever a model may write."""
    script: dict[str, list[dict[str, Any]]] = {
        TRIAGE: [
            {"call": "look", "with": {"order": STEERING}},
            {"raw": {"name": f"no{STEERING}such", "arguments": "{}"}},
            {"finish": {"summary": f"Done {STEERING}.", "artifacts": {"findings": f"found {STEERING}"}}},
        ]
    }
    company = Company.made(folder, ("triage",), script=script)
    assert commands.run("publish", folder=folder).code == 0
    done = commands.run("run", TRIAGE, f"brief {STEERING}", "--person", "ana", folder=folder)
    assert done.code == 0 and not set(HARMFUL) & set(done.text), done
    ((run,),) = company.rows("SELECT id FROM run")
    return company, str(run)


@pytest.mark.rule("UI-1", "BI-1")
@pytest.mark.fault("F42")
def test_nothing_that_a_model_wrote_steers_a_terminal(
    commands: Processes, tmp_path: Path, screen: Screen
) -> None:
    company, run = steered(tmp_path / "company", commands)
    for arguments in (
        ["run", TRIAGE],
        ["trail"],
        ["trail", run],
        ["trail", run, "--content"],
        ["artifact", run],
        ["artifact", run, "findings"],
        ["prompt", "show", run],
        ["prompt", "show", run, "--parts"],
        ["event", run],
        ["verify"],
        ["run", TRIAGE, STEERING + "{", "--label", STEERING],
        [f"run{STEERING}"],
        ["trail", STEERING],
        ["publish", STEERING],
    ):
        shown = len(screen.shown)
        process = commands.start(*arguments, folder=company.folder, out=screen.path, err=screen.path)
        screen.finish(process)
        written = screen.shown[shown:].replace("\r\x1b[K", "").replace("\r\n", "\n")
        assert written.strip() and not set(HARMFUL + "\r") & set(written), (arguments, written)
    assert (
        commands.run("artifact", run, "findings", folder=company.folder).out.decode() == f"found {STEERING}"
    )


@pytest.mark.rule("UI-1", "CS-2")
@pytest.mark.parametrize("text", ["one", "two\n", "three\n\n", ""], ids=["bare", "ended", "twice", "empty"])
def test_an_artifact_ends_with_a_line_on_a_terminal_and_as_it_is_in_a_pipe(
    text: str, commands: Processes, tmp_path: Path, screen: Screen
) -> None:
    script = {TRIAGE: [{"finish": {"summary": "Done.", "artifacts": {"findings": text}}}]}
    company = Company.made(tmp_path / "company", ("triage",), script=script)
    assert commands.run("publish", folder=company.folder).code == 0
    assert commands.run("run", TRIAGE, folder=company.folder).code == 0
    arguments = ("artifact", TRIAGE, "findings")
    assert screen.finish(commands.start(*arguments, folder=company.folder, out=screen.path)) == 0
    assert screen.shown.replace("\r\n", "\n") == (text if text.endswith("\n") else f"{text}\n")
    assert commands.run(*arguments, folder=company.folder).text == text


@pytest.mark.rule("UI-1")
def test_long_work_shows_its_progress_on_a_terminal_and_nowhere_else(
    commands: Processes, tmp_path: Path, screen: Screen
) -> None:
    company = Company.made(tmp_path / "company", ("holder",))
    assert commands.run("publish", folder=company.folder).code == 0
    watched = commands.start("run", HOLDER, folder=company.folder, err=screen.path)
    until(lambda: company.effects["hold"], watched)
    ((run,),) = company.rows("SELECT id FROM run")
    until(lambda: run in screen.shown, watched)
    company.go()
    assert screen.finish(watched) == 0
    assert screen.shown.endswith("\r\x1b[K")
    piped = commands.run("run", HOLDER, folder=company.folder)
    assert piped.code == 0 and piped.err == b""
    shown = len(screen.shown)
    quiet = commands.start("run", HOLDER, "--json", folder=company.folder, err=screen.path)
    assert screen.finish(quiet) == 0 and screen.shown[shown:] == ""


@pytest.mark.rule("UI-1", "RN-4")
def test_control_c_at_a_terminal_ends_a_run_cleanly(
    commands: Processes, tmp_path: Path, screen: Screen
) -> None:
    company = Company.made(tmp_path / "company", ("holder",))
    assert commands.run("publish", folder=company.folder).code == 0
    process = commands.start(
        "run", HOLDER, folder=company.folder, stdin=screen.path, out=screen.path, err=screen.path
    )
    until(lambda: company.effects["hold"], process)
    screen.type(b"\x03")
    assert screen.finish(process) == 130
    assert "interlock worker --drain" in screen.shown and "Traceback" not in screen.shown
    company.go()
    assert commands.run("worker", "--drain", folder=company.folder).code == 0
    assert company.effects == {"hold": 2, "book": 1}


@pytest.fixture(scope="module")
def long_trail(commands: Processes, tmp_path_factory: pytest.TempPathFactory) -> tuple[Company, str]:
    """A company with a run whose trail and prompts are longer than a pipe holds."""
    calls = [{"call": "count"} for _ in range(60)]
    script = {"counter@acme/platform": [*({"calls": calls} for _ in range(10)), {"finish": "x" * 30_000}]}
    company = Company.made(
        tmp_path_factory.mktemp("long") / "company", ("counter",), script=script, limits={"tool_calls": 1000}
    )
    assert commands.run("publish", folder=company.folder).code == 0
    assert commands.run("run", "counter@acme/platform", folder=company.folder).code == 0
    ((run,),) = company.rows("SELECT id FROM run")
    return company, str(run)


@pytest.mark.rule("UI-1")
def test_a_reader_that_has_seen_enough_is_no_error(
    long_trail: tuple[Company, str], commands: Processes, tmp_path: Path
) -> None:
    company, run = long_trail
    for number, arguments in enumerate((["trail", run], ["trail", run, "--json"], ["--help"], ["agents"])):
        pipe = tmp_path / str(number)
        os.mkfifo(pipe)
        process = commands.start(*arguments, folder=company.folder, out=pipe)
        with pipe.open("rb") as reader:
            reader.read(1)
        done = process.wait()
        assert done.code == 0 and done.err == b"", (arguments, done)


@pytest.mark.rule("UI-1", "BI-1")
def test_an_output_that_is_full_is_told(long_trail: tuple[Company, str], commands: Processes) -> None:
    company, run = long_trail
    for arguments in (["trail", run], ["agents"], ["verify", "--json"]):
        done = commands.run(*arguments, folder=company.folder, out=Path("/dev/full"))
        assert done.code == 3 and "cli.output" in done.errors, done
        assert "Traceback" not in done.errors and "Exception ignored" not in done.errors


@pytest.mark.rule("UI-1", "BI-1")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_a_command_without_its_standard_streams_does_its_work(
    closed: str, commands: Processes, tmp_path: Path
) -> None:
    company = Company.made(tmp_path / "company", ("counter",))
    program = f'{sys.executable} -c "from interlock.cli import main; main()"'
    line = (
        f"{program} publish {closed}; {program} run counter@acme/platform {closed}; {program} verify {closed}"
    )
    done = subprocess.run(
        ["sh", "-ec", line], cwd=company.folder, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0 and b"Traceback" not in done.stderr, done
    assert company.effects == {"count": 1}


@pytest.mark.rule("UI-1")
def test_an_encoding_without_our_characters_stops_no_command(
    long_trail: tuple[Company, str], commands: Processes
) -> None:
    company, run = long_trail
    script = Path(sys.executable).with_name("interlock")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [str(script), "trail", run, "--lang", "pt-BR"],
        cwd=company.folder,
        env=environment,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0 and done.stderr == b"" and done.stdout.isascii(), done


@pytest.mark.rule("UI-1")
def test_help_loads_neither_the_ledger_nor_what_judges_models(commands: Processes) -> None:
    source = (
        "import sys\n"
        "from interlock.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in sys.modules if name.partition('.')[0] in sys.argv[1:]])\n"
    )
    heavy = ["apsw", "pydantic", "rustworkx", "jsonschema_rs", "asyncio", "babel", "ruamel", "pydantic_ai"]
    done = subprocess.run([sys.executable, "-c", source, *heavy], capture_output=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == b"[]", done.stdout


@pytest.mark.rule("UI-1", "RN-5")
def test_a_locked_home_is_waited_for(commands: Processes, tmp_path: Path) -> None:
    import apsw

    company = Company.made(tmp_path / "company", ("counter",))
    assert commands.run("publish", folder=company.folder).code == 0
    db = apsw.Connection(str(company.home / "ledger.db"))
    db.execute("BEGIN IMMEDIATE")
    process = commands.start("run", "counter@acme/platform", folder=company.folder)
    time.sleep(0.3)
    assert not process.ended()
    db.execute("ROLLBACK")
    db.close()
    assert process.wait().code == 0


@pytest.mark.rule("UI-1")
def test_a_stopped_reader_of_a_followed_trail_leaves_the_run_alone(
    commands: Processes, tmp_path: Path
) -> None:
    company = Company.made(tmp_path / "company", ("holder",))
    assert commands.run("publish", folder=company.folder).code == 0
    running = commands.start("run", HOLDER, folder=company.folder)
    until(lambda: company.effects["hold"], running)
    ((run,),) = company.rows("SELECT id FROM run")
    following = commands.start("trail", run, "--follow", folder=company.folder)
    until(lambda: b"hold" in following.written(), following)
    following.send(signal.SIGINT)
    done = following.wait()
    assert done.code == 130 and "Traceback" not in done.errors
    company.go()
    assert running.wait().code == 0
