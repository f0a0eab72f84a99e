"""`interlock work show`: the graph, its attempts, what was skipped, and what came into which prompt."""

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import ENGLISH, told
from tests.processes import Processes
from tests.run.scene import go_through, play
from tests.run.work_scene import PLANNER, agent_loop, child_of, working
from tests.work_graph.scene import function, join

NODES = [
    agent_loop("write", "Write it.", publishes=["notes"]),
    agent_loop("read", "Read it.", {"from": "write", "artifact": "notes"}),
    function("bad", attempts=2),
    function("next", "bad"),
    join("all", "read", "bad"),
]
SCRIPT = {
    f"{PLANNER}#write": [{"finish": {"summary": "s", "artifacts": {"notes": "NOTES"}}}],
    f"{PLANNER}#read": [{"call": "read_artifact", "with": {"name": "notes"}}, {"finish": {"summary": "s"}}],
}


async def breaks(node):
    """Fail."""
    raise ValueError


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """An installation in which a planner had its work done; its folder, the run, and the child run that read."""

    async def story():
        async with working(folder, NODES, {"work:do": breaks}, SCRIPT) as runtime:
            run = await go_through(runtime, PLANNER)
            return run.id, (await child_of(runtime, run, "read")).id

    folder = tmp_path_factory.mktemp("work")
    (folder / "interlock.yaml").write_text("models: {}\n")
    return folder, *play(story())


@pytest.mark.rule("WG-4", "UI-1")
def test_it_shows_which_edge_let_which_artifact_into_which_prompt(company, commands: Processes) -> None:
    folder, run, child = company
    text = told(commands.run("work", "show", run, folder=folder))
    for line in (
        f"Work of {run}, revision 1: partial (nodes 5, edges 4)",
        "✓ read  (agent_loop)",
        "← write: notes → notes, text/plain, 0.01 kB, ",
        f"in a run of its own: {child}",
        "prompt 1 names: notes\n",
        "prompt 2 names: notes; has the content of: notes\n",
        "✗ bad  (function)",
        "attempt 2: failed",
        "The function work:do raised ValueError.",
        "– next  (function)\n    ⇠ bad: result, application/json\n    It needs bad, which came to nothing.",
        "went on without: bad",
    ):
        assert line in text, (line, text)


@pytest.mark.rule("WG-4", "UI-1")
def test_it_says_the_same_as_json_and_draws_it(company, commands: Processes) -> None:
    folder, run, child = company
    [shown] = json.loads(told(commands.run("work", "show", run, "--json", folder=folder)))
    nodes = {node["node"]: node for node in shown["nodes"]}
    assert shown["status"] == "partial" and nodes["next"]["state"] == "skipped"
    assert [item["outcome"] for item in nodes["bad"]["attempts"]] == ["failed", "failed"]
    [attempt] = nodes["read"]["attempts"]
    assert attempt["run"] == child
    assert [(item["n"], item["named"], item["content"]) for item in attempt["prompts"]] == [
        (1, ["notes"], []),
        (2, ["notes"], ["notes"]),
    ]
    drawn = told(commands.run("work", "show", run, "--mermaid", folder=folder))
    assert drawn.startswith("flowchart LR") and '-->|"notes"|' in drawn and '-.->|"result"|' in drawn
    said = told(commands.run("work", "show", run, "--lang", "pt-BR", folder=folder))
    assert not [word for word in ENGLISH if word in said], said


@pytest.mark.rule("UI-1", "BI-1")
def test_what_is_not_there_is_said(company, commands: Processes) -> None:
    folder, run, child = company
    assert "planned no work graph" in told(commands.run("work", "show", child, folder=folder))
    assert (
        "work.no_revision" in commands.run("work", "show", run, "--revision", "2", folder=folder).err.decode()
    )
