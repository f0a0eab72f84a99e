"""What is hard to show: half characters, control characters, text that runs from right to left, very long lines;
kept as it is, and shown by the commands without steering the terminal."""

import asyncio
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import interlock.cli
from interlock.connector.model.model import Request
from interlock.connector.tool import tool
from interlock.gate.budget import Budget
from interlock.settings_reader import read_settings
from tests.bad_input.cases import READER, reader, run_all
from tests.world import world

LINE = "long " * (2 * 1024 * 1024 // 5)
HARD = {
    "nul": "a\x00b",
    "half": "\ud83d",
    "emoji": "😀👩‍👩‍👧‍👦",
    "right_to_left": "\u202eمرحبا\u202c",
    "steering": "\x1b[2J\x1b]0;owned\x07",
    "line": LINE,
}
MODELS = "models: {default: {provider: scripted, script: s.yaml}}\n"
SETTINGS = f"{MODELS}sizes: {{brief: 16MiB, arguments: 16MiB, prompt: 64MiB}}\n"


@tool(effect="read", labels=())
async def give(name: str) -> dict[str, Any]:
    """Give a hard text as value and as key."""
    return {"value": HARD[name], HARD[name]: "value"}


def command(capfdbinary: Any, folder: Path, *arguments: str) -> tuple[int, bytes]:
    """Run a command in this process; give its exit code and what it wrote to both outputs."""
    with pytest.raises(SystemExit) as ended:
        interlock.cli.main([*arguments, f"--folder={folder}"])
    out, err = capfdbinary.readouterr()
    assert b"Traceback" not in out + err
    return int(ended.value.code or 0), out + err


def make(folder: Path, name: str) -> tuple[str, str]:
    """Let a run meet the text in every place, and give its id and how it ended."""

    def answer(request: Request) -> Any:
        match request.number:
            case 1:
                return {"call": "give", "with": {"name": name}}
            case 2:
                return {"call": "give", "with": {"name": HARD[name]}}
            case 3:
                return {"finish": {"summary": "s", "artifacts": {HARD[name]: "named"}}}
            case 4:
                return {"finish": {"summary": "done", "artifacts": {"found": HARD[name]}}}
        return {"finish": {"summary": "done without"}}

    async def go() -> tuple[str, str]:
        (folder / "interlock.yaml").write_text(SETTINGS)
        spec = reader("found", tools=("give",))
        script = {"*": answer}
        sizes = read_settings(SETTINGS, "interlock.yaml").sizes
        settings: dict[str, Any] = {"sizes": sizes, "limits": Budget(), "task_budget": Budget()}
        async with world(folder, script, [spec], tools=[give], corrections=9, **settings) as runtime:
            (run,) = await run_all(runtime, [{HARD[name]: HARD[name]}])
            return run.id, run.status

    return asyncio.run(go())


@pytest.mark.rule("BI-1", "UI-1")
@pytest.mark.fault("F42")
@pytest.mark.parametrize("name", HARD)
def test_hard_text_is_kept_and_shown(tmp_path: Path, capfdbinary: Any, name: str) -> None:
    run, status = make(tmp_path, name)
    assert status == "finished"
    for arguments in (
        ["trail", run],
        ["trail", run, "--json"],
        ["trail", run, "--content"],
        ["trail", run, "--whole", "--json"],
        ["trail"],
        ["event", run],
        ["prompt", "show", run],
        ["prompt", "show", run, "--parts"],
    ):
        code, written = command(capfdbinary, tmp_path, *arguments)
        assert code == 0, written[:500]
        for steering in (b"\x1b", b"\x07", b"\x00", "\u202e".encode()):
            assert steering not in written
    code, written = command(capfdbinary, tmp_path, "artifact", run)
    assert code == 0
    code, written = command(capfdbinary, tmp_path, "artifact", run, "found")
    if name == "half":
        assert code == 2
    else:
        assert (code, written) == (0, HARD[name].encode()), "to a pipe go the exact bytes"
    code, written = command(capfdbinary, tmp_path, "artifact", run, HARD[name][:200])
    assert code == 2
    code, written = command(capfdbinary, tmp_path, "verify")
    assert code == 0, written


@pytest.mark.rule("BI-1", "UI-1")
@pytest.mark.parametrize("language", ["en", "pt-BR"])
@pytest.mark.parametrize(
    "text", ["\udcff", "a\x00b", "\x1b[31m", "%s{0}", "-", "x" * 5000, "🙂", "../../x", "@", "''"]
)
def test_hard_text_as_an_argument_of_every_command(
    tmp_path: Path, capfdbinary: Any, monkeypatch: pytest.MonkeyPatch, text: str, language: str
) -> None:
    make(tmp_path, "emoji")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe{")))
    for arguments in (
        ["run", text],
        ["run", READER, text, "--no-wait"],
        ["run", READER, "x", "--person", text, "--no-wait"],
        ["run", READER, "x", "--label", text, "--no-wait"],
        ["run", READER, "x", "--only-tool", text, "--no-wait"],
        ["run", READER, "x", "--only-effect", text, "--no-wait"],
        ["run", READER, "x", "--release", f"{text}={text}", "--no-wait"],
        ["run", READER, f"@{text}", "--no-wait"],
        ["publish", text],
        ["trail", text],
        ["trail", "--agent", text],
        ["trail", "--before", text],
        ["trail", "--limit", text],
        ["event", text],
        ["artifact", text, text],
        ["prompt", "show", text],
        ["cancel", text],
        ["verify", text],
        ["agents", "pause", text],
        ["agents", "resume", text],
        ["agents", "stop", text],
        [text],
        ["trail", f"--{text}"],
    ):
        code, written = command(capfdbinary, tmp_path, *arguments, f"--lang={language}")
        assert code in {0, 1, 2, 3}
        assert written
        for steering in (b"\x1b", b"\x00", b"\x07"):
            assert steering not in written, arguments
        if code == 0:
            assert {"run", "trail"} & {*arguments} or text == "-", arguments


@pytest.mark.rule("BI-1", "BI-2")
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\xff\xfe{", "cli.run.not_utf8"),
        (b'{"a":', "json.malformed"),
        (b'{"a":1,"a":2}', "json.malformed"),
        (b"[" * 100_000, "json.malformed"),
        (b"x" + ("é" * 9_000_000).encode(), "brief.too_large"),
    ],
)
def test_a_brief_from_a_file_or_the_standard_input_that_cannot_be_read(
    tmp_path: Path, capfdbinary: Any, monkeypatch: pytest.MonkeyPatch, content: bytes, code: str
) -> None:
    make(tmp_path, "emoji")
    (tmp_path / "brief.json").write_bytes(content)
    for brief in ("-", f"@{tmp_path / 'brief.json'}"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        exit_code, written = command(capfdbinary, tmp_path, "run", READER, brief, "--json")
        assert exit_code == 2
        assert json.loads(written)["error"]["code"] == code
