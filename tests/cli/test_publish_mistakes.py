"""The mistakes of several files are told at once, each with its place, and nothing is published."""

from pathlib import Path

import pytest

from tests.processes import Processes

AGENT = "name: {name}\nscope: acme/desk\ninstructions: Work.\n"


def company(folder: Path, **agents: str) -> Path:
    """Write a company with agents whose files end with what is given for each."""
    (folder / "agents").mkdir(parents=True)
    (folder / "interlock.yaml").write_text(
        "modules: [tools.py]\nmodels:\n  default: {provider: scripted, script: answers.yaml}\n"
    )
    (folder / "answers.yaml").write_text("{}\n")
    (folder / "tools.py").write_text(
        "from interlock.connector.tool import tool\n\n\n"
        '@tool(effect="read", labels=[])\nasync def open_orders(customer: str) -> list[str]:\n'
        '    """List the open orders."""\n    return []\n'
    )
    for name, rest in agents.items():
        (folder / "agents" / f"{name}.yaml").write_text(AGENT.format(name=name) + rest)
    return folder


@pytest.mark.rule("AG-2", "BI-1")
def test_what_is_wrong_in_several_files_is_told_at_once_with_its_place(
    commands: Processes, tmp_path: Path
) -> None:
    folder = company(
        tmp_path / "desk",
        one="tools:\n  - open_orders\n  - open_order\n",
        two="model: strong\n",
        three="adds_labels: [pii]\n",
        four="tools: [open_orders]\n",
    )
    done = commands.run("publish", folder=folder)
    assert done.code == 2
    for place in ("one.yaml:6:5: ", "two.yaml:4:8: ", "three.yaml:4:15: "):
        assert f"agents/{place}" in done.errors, done.errors
    assert "open_orders" in done.errors
    assert "Mistakes found: 3. Nothing was published." in done.errors
    assert commands.run("agents", folder=folder).text.strip() == "No agent is published yet."
    told = commands.run("--json", "publish", folder=folder)
    assert told.out == b""
    assert told.errors.count('"code"') == 4
    portuguese = commands.run("publish", "--lang", "pt-BR", folder=folder)
    assert "Nada foi publicado" in portuguese.errors


@pytest.mark.rule("AG-2")
def test_files_that_cannot_be_read_are_told_together_too(commands: Processes, tmp_path: Path) -> None:
    folder = company(tmp_path / "desk", one="tool: [x]\n", two="limits: many\n")
    done = commands.run("publish", folder=folder)
    assert done.code == 2
    assert "one.yaml:4:1" in done.errors
    assert "two.yaml:4:9" in done.errors


@pytest.mark.rule("AG-2", "UI-1")
def test_a_folder_stands_for_the_agents_in_it(commands: Processes, tmp_path: Path) -> None:
    folder = company(tmp_path / "desk", one="", two="")
    assert commands.run("publish", str(folder / "agents"), folder=folder).code == 0
    assert len(commands.run("agents", folder=folder).text.splitlines()) == 2


@pytest.mark.rule("AG-5", "UI-1")
def test_the_brake_is_not_pulled_in_a_scope_where_nobody_lives(commands: Processes, tmp_path: Path) -> None:
    folder = company(tmp_path / "desk", one="")
    assert commands.run("publish", folder=folder).code == 0
    mistyped = commands.run("agents", "stop", "acme/dsk", folder=folder)
    assert mistyped.code == 2
    assert "acme/desk" in mistyped.errors
    assert commands.run("agents", "stop", "acme", folder=folder).code == 0
    assert "stopped as a whole: acme" in commands.run("agents", folder=folder).text


@pytest.mark.rule("UI-1", "BI-1")
def test_the_nearest_agent_is_offered(commands: Processes, tmp_path: Path) -> None:
    folder = company(tmp_path / "desk", greeter="")
    assert commands.run("publish", folder=folder).code == 0
    done = commands.run("run", "greter@acme/desk", folder=folder)
    assert done.code == 2
    assert "Did you mean greeter@acme/desk?" in done.errors
