"""`interlock memory`: what one agent knows and remembers, and who is whom."""

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import told
from tests.perspective.test_conversation import ANA, BRUNO, CHAT, said, sees
from tests.perspective.test_memory import remember
from tests.processes import Processes
from tests.run.scene import drain, play
from tests.world import world

LIKES = {"porter@acme/platform": [remember("Ana likes tea.\nNot coffee."), {"finish": "ok"}]}


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation whose porter heard Ana in two rooms and noted something."""

    async def story():
        async with world(
            folder, LIKES, [sees("porter"), sees("other", "observe")], connectors=CHAT
        ) as runtime:
            await runtime.observe("chat", said(1, room=(ANA,)))
            await drain(runtime)
            await runtime.observe("chat", said(2, sender=BRUNO, thread="t2", room=(BRUNO,)))

    folder = tmp_path_factory.mktemp("memory")
    (folder / "interlock.yaml").write_text("models: {}\n")
    play(story())
    return folder


@pytest.mark.rule("UI-1", "ME-1", "PX-1")
def test_it_shows_whom_an_agent_knows_and_what_it_remembers(company: Path, commands: Processes) -> None:
    text = told(commands.run("memory", "show", "porter@acme/platform", folder=company))
    shown = json.loads(told(commands.run("memory", "show", "porter@acme/platform", "--json", folder=company)))
    assert [item["name"] for item in shown["people"]] == ["Ana", "Bruno"]
    [memory] = shown["memories"]
    for line in (
        "  Ana\n",
        "| Ana likes tea.\n  | Not coffee.",
        memory["run"],
        memory["message"],
        "untrusted",
    ):
        assert line in text, (line, text)
    other = told(commands.run("memory", "show", "other@acme/platform", folder=company))
    assert "Ana" in other and "tea" not in other
    assert not {item["actor"] for item in shown["people"]} & set(other.split())


@pytest.mark.rule("PX-2", "UI-1")
def test_people_are_linked_on_evidence_and_unlinked_again(company: Path, commands: Processes) -> None:
    def people():
        shown = told(commands.run("memory", "show", "porter@acme/platform", "--json", folder=company))
        return json.loads(shown)["people"]

    one, other = (item["actor"] for item in people())
    pair = ("porter@acme/platform", one, other, "--because", "one e-mail address")
    assert "are one person" in told(commands.run("memory", "link", *pair, folder=company))
    assert [item["linked"] for item in people()] == [[other], [one]]
    assert told(commands.run("memory", "unlink", *pair, "--lang", "pt-BR", folder=company))
    assert [item["linked"] for item in people()] == [[], []]


@pytest.mark.rule("BI-1", "PX-2")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", "nobody@acme/platform"), "agent.unknown"),
        (("show", "porter"), "scope."),
        (("link", "porter@acme/platform", "actor_x", "actor_y", "--because", "x"), "memory.unknown_actor"),
        (("link", "porter@acme/platform", "actor_x", "actor_y"), "--because"),
    ],
)
def test_what_cannot_be_is_said(
    company: Path, commands: Processes, words: tuple[str, ...], code: str
) -> None:
    done = commands.run("memory", *words, folder=company)
    assert done.code != 0 and code in done.errors, done
    assert "Traceback" not in done.errors
