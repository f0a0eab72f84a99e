"""The pages are tests: every command is run, every block of Python executed, every file read, every link followed."""

import os
import shlex
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlock.agent.reader import read_spec
from interlock.cli import main
from interlock.connector.model.script import compiled, read_script
from interlock.settings_reader import read_settings
from interlock.work_graph.reader import read_graph
from tests.docs.page import LINK, ROOT, Fence, anchors, commands, fences, first_not_shown, pages
from tests.working_folder import working_in

PAGES = [page.relative_to(ROOT).as_posix() for page in pages()]
PORT = "8322"
"""The port at which a page lets a service of its reader listen."""
RUN = [
    page
    for page in PAGES
    if any(fence.language in {"console", "python", "yaml"} for fence in fences(ROOT / page))
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in."""
    with working_in(tmp_path, monkeypatch):
        yield tmp_path


def free_port() -> str:
    """Give a port where nobody listens, so that pages can be tried beside each other."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return str(found.getsockname()[1])


def carry_out(
    command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """Run a command and give its exit code and all that it wrote; `interlock` itself runs in this process."""
    words = shlex.split(command.removesuffix(" || true"))
    with monkeypatch.context() as during:
        while words and "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            during.setenv(name, value)
        if words[0] != "interlock":
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr
        with pytest.raises(SystemExit) as ended:
            main(words[1:])
    written = capfd.readouterr()
    code = 0 if command.endswith(" || true") else int(ended.value.code or 0)
    return code, written.out + written.err


def take_in(fence: Fence, folder: Path) -> None:
    """Write the file that a block is, and check that it is what it says."""
    if fence.file is None:
        return
    path = folder / fence.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(fence.text)
    if path.parent.name == "agents":
        read_spec(fence.text, fence.file)
    elif path.name == "interlock.yaml":
        read_settings(fence.text, fence.file)
    elif path.parent.name == "work":
        read_graph(fence.text, fence.file)
    elif path.suffix == ".yaml":
        compiled(read_script(path))


def execute(fence: Fence, page: str, folder: Path) -> None:
    """Execute a block of Python, and the tests in it when it is a file of tests."""
    names: dict[str, Any] = {"__name__": "page", "__file__": str(folder / (fence.file or page))}
    exec(compile(fence.text, fence.file or page, "exec"), names)
    if (fence.file or "").startswith("test_"):
        tests = [name for name in names if name.startswith("test_")]
        assert tests, fence.file
        for name in tests:
            names[name](folder / "homes" / name)


@pytest.mark.parametrize("page", RUN)
def test_a_page_does_what_it_says(
    page: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    for written in fences(ROOT / page):
        fence = replace(written, text=written.text.replace(PORT, port))
        take_in(fence, folder)
        if fence.language == "python":
            execute(fence, page, folder)
        for command, shown in commands(fence) if fence.language == "console" else ():
            if command.startswith("export "):
                name, _, value = command.removeprefix("export ").partition("=")
                monkeypatch.setenv(name, value)
                continue
            code, output = carry_out(command, monkeypatch, capfd)
            assert code in {0, 1}, f"{command}\n{output}"
            missing = first_not_shown(shown, output)
            assert missing is None, f"{command}\ndoes not show {missing!r} but\n{output}"


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    for target, anchor in LINK.findall((ROOT / page).read_text()):
        aimed = (ROOT / page).parent / target if target else ROOT / page
        assert aimed.exists(), f"{page} links to {target}"
        if anchor:
            assert anchor in anchors(aimed), f"{page} links to {target}#{anchor}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.startswith("docs/why/") and "README" not in page]
)
def test_a_decision_says_what_was_asked_chosen_and_paid(page: str) -> None:
    text = (ROOT / page).read_text()
    places = [
        text.find(part)
        for part in ("**Question.**", "**Choice.**", "**What it costs.**", "**What would change it.**")
    ]
    assert -1 not in places and places == sorted(places)
    assert len(text.splitlines()) <= 60
    assert f"({Path(page).name})" in (ROOT / "docs/why/README.md").read_text()


def test_both_readmes_have_the_same_fences() -> None:
    def shape(name: str) -> list[tuple[str, str | None, list[str]]]:
        return [
            (
                fence.language,
                fence.file,
                [command for command, _ in commands(fence) if "export" not in command],
            )
            for fence in fences(ROOT / name)
        ]

    def files(name: str) -> list[str]:
        return [fence.text for fence in fences(ROOT / name) if fence.language in {"yaml", "python"}]

    assert shape("README.md") == shape("README.pt-BR.md")
    assert files("README.md") == files("README.pt-BR.md")


def test_the_pages_speak_of_nothing_but_the_product() -> None:
    for page in PAGES:
        assert os.sep + "work" + os.sep not in (ROOT / page).read_text(), page
