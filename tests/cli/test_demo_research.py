"""The demo of the research example: all that it prints stands in the ledger, in both languages, and a stranger can read
it."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import ENGLISH
from tests.processes import Done, Processes

READERS = ("area_2014", "ign_2007", "inpe_2008", "usgs")
HEADINGS = "── 1.", "── 2.", "── 3.", "── 4.", "── 5.", "── 6.", "── 7."


@pytest.fixture(scope="module", params=["en", "pt-BR"])
def told(
    request: pytest.FixtureRequest, commands: Processes, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, Done, Any]:
    """The demo in a language, in words and as JSON, in a folder that has nothing to do with the example."""
    folder = tmp_path_factory.mktemp("anywhere")
    run = ("demo", "research", "--home", "home", "--lang", request.param)
    words = commands.run(*run, folder=folder)
    return request.param, folder, words, commands.run(*run, "--json", folder=folder).json()


@pytest.mark.rule("UI-1", "WG-4", "RS-3")
def test_it_tells_the_whole_case(told) -> None:
    language, _, done, shown = told
    assert done.code == 0 and done.err == b"", done
    assert all(title in done.text for title in HEADINGS)
    for line in done.text.splitlines()[:-1]:  # the last one names folders, which may be long
        assert len(line) <= 100, line
    assert shown["status"] == "finished" and not shown["findings"] and shown["verdict"]["passed"]
    for conflict in shown["joined"]["merged"]["conflicts"]:
        assert conflict["about"] in done.text.replace("\n    ", " ")
    assert shown["draft"] in shown["answer"] and len(shown["added"]) >= 5
    if language != "en":
        assert not [word for word in ENGLISH if word in done.text], done.text


@pytest.mark.rule("WG-2", "WG-4", "PX-4")
def test_it_shows_beside_each_prompt_what_was_allowed_and_that_nothing_else_is_in_it(told) -> None:
    _, _, done, shown = told
    seen = {(item["node"], item["attempt"]): item for item in shown["prompts"]}
    for name in READERS:
        for attempt in (1, 2) if name == "ign_2007" else (1,):
            item = seen[f"reader_{name}", attempt]
            assert item["let_in"] == [{"from": "hand_out", "name": name}]
            others = {f"hand_out.{other}" for other in READERS if other != name}
            assert others | {f"reader_{other}" for other in READERS if other != name} < set(item["kept_out"])
            assert item["found"] == [] and item["looked_for"] > 50
    assert seen["write", 1]["let_in"] == [{"from": "compare", "name": "joined"}]
    assert shown["began_alike"] == {"reader_ign_2007": True}
    assert len(seen) == 7 and done.text.count("✓ ") >= 7


@pytest.mark.rule("WG-4", "PS-2", "UI-1")
def test_what_it_prints_is_what_the_commands_read_from_the_ledger(told, commands: Processes) -> None:
    language, folder, done, shown = told
    look = done.text.rstrip("\n").splitlines()[-1].partition("interlock ")[2].split()
    work = commands.run(*look, "--lang", language, folder=folder)
    assert work.code == 0 and work.text in done.text
    [graph] = commands.run(*look, "--lang", language, "--json", folder=folder).json()
    assert graph == shown["work"]
    rest = look[look.index("--folder") :]
    exact = commands.run("prompt", "show", shown["prompts"][0]["run"], "--raw", *rest, folder=folder)
    words = " ".join(exact.text.replace("\\n", " ").split())
    barred = [
        line.strip()
        for line in done.text.partition("── 3.")[2].partition("✓")[0].splitlines()
        if line.startswith("      | ")
    ]
    assert len(barred) > 10
    for line in barred:
        assert line.removeprefix("| ") in words, line


@pytest.mark.rule("UI-1", "RN-4")
def test_a_second_demo_on_one_home_shows_the_first_again(told, commands: Processes) -> None:
    language, folder, done, shown = told
    again = commands.run("demo", "research", "--home", "home", "--lang", language, folder=folder)
    assert shown["run"] in done.text and shown["run"] in again.text and again.code == 0
    assert again.text.partition("── 1.")[2] == done.text.partition("── 1.")[2]
