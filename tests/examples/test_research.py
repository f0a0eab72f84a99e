"""The research example: each part sees what its edges let in alone, and the conflicts are found by code in what the
readers say."""

import asyncio
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlock.agent.reader import read_spec
from interlock.catalogue import LANGUAGES, say
from interlock.cli.sight import Sight, began_alike, sights_of
from interlock.connector.model.script import read_script
from interlock.run.work_picture import WorkPicture, pictures_of
from interlock.runtime import Runtime
from interlock.scope.scope import Address
from interlock.settings_reader import read_settings

FOLDER = Path(__file__).parents[2] / "examples" / "research"
RESEARCHER = Address("researcher@acme/library")
NAMES = ("area_2014", "ign_2007", "inpe_2008", "usgs")
SCRIPTS = {"en": "answers.yaml", "pt-BR": "answers.pt-BR.yaml"}


class Researched:
    """What came of the question: the answer, what the join made, the picture of the work, and what each part saw."""

    def __init__(self, answer: str, not_done: Any, joined: Any, picture: WorkPicture) -> None:
        self.answer, self.not_done, self.joined, self.picture = answer, not_done, joined, picture
        self.sights: list[Sight] = []
        self.prompts: dict[str, list[str]] = {}
        self.alike: dict[str, bool] = {}
        self.problems: list[Any] = []

    @property
    def conflicts(self) -> dict[str, Any]:
        """The conflicts by what they are about."""
        return {item["about"]: item for item in self.joined["merged"]["conflicts"]}


def research(home: Path, folder: Path = FOLDER, language: str = "en") -> Researched:
    """Have the example's question answered with what lies in a folder."""

    async def story() -> Researched:
        settings = read_settings((folder / "interlock.yaml").read_bytes(), "interlock.yaml")
        choice = replace(settings.models["default"], script=SCRIPTS[language])
        settings = replace(settings, language=language, models={"default": choice})
        async with await Runtime.open(folder, home=home, settings=settings) as runtime:
            spec = read_spec((folder / "agents" / "researcher.yaml").read_bytes(), "researcher.yaml")
            await runtime.publish(spec, "demo")
            brief = {"question": say("research.question", language), "language": language}
            async with runtime.worker() as worker:
                run = await runtime.open_run(RESEARCHER, "demo", brief, worker=worker)
                await worker.finished(run)
                await worker.idle()
            return await looked_at(runtime, run)

    return asyncio.run(story())


async def looked_at(runtime: Runtime, run: str) -> Researched:
    state, contents = await runtime.run(run), runtime.installation.contents
    [picture] = await pictures_of(runtime.installation, run)
    made = [item for tried in picture.tried["compare"] for item in tried.artifacts]
    joined = json.loads(await contents.read(made[0]["digest"])) if made else None
    closing = (await runtime.installation.ledger.read(run, 0, 1 << 20))[-1].body
    not_done = json.loads(await contents.read(closing["not_done_said"])) if "not_done_said" in closing else []
    answer = (await runtime.artifact(run, "final_answer"))[1].decode()
    assert state.status == "finished"
    found = Researched(answer, not_done, joined, picture)
    found.sights, found.alike = await sights_of(runtime, picture), await began_alike(runtime, picture)
    for sight in found.sights:
        numbers = range(1, sight.number + 1)
        texts = [(await runtime.prompt(sight.run, n))[0].request.decode() for n in numbers]
        found.prompts.setdefault(sight.node, []).extend(texts)
    found.problems = [finding async for finding in runtime.verify(None)]
    return found


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """Give a function that copies the example and changes files of it."""

    def copy(*changes: tuple[str, str, str]) -> Path:
        folder = tmp_path / "research"
        shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
        for file, old, new in changes:
            text = (folder / file).read_text()
            assert old in text, (file, old)
            (folder / file).write_text(text.replace(old, new))
        return folder

    return copy


@pytest.fixture(scope="module", params=LANGUAGES)
def researched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Researched:
    """The example as it is, in each language."""
    return research(tmp_path_factory.mktemp("home"), language=request.param)


@pytest.mark.rule("WG-2", "WG-4", "PX-4")
def test_each_part_sees_what_its_edges_let_in_and_nothing_else_of_the_work(researched: Researched) -> None:
    let_in = {item.node: [edge["name"] for edge in item.let_in] for item in researched.sights}
    assert let_in == {
        **{f"reader_{name}": [name] for name in NAMES},
        "write": ["joined"],
        "check": ["draft", "joined"],
    }
    made = {
        (node, item["name"]): item["digest"]
        for node, tried in researched.picture.tried.items()
        for item in tried[-1].artifacts
    }
    for sight in researched.sights:
        assert not sight.found and sight.looked_for > 50, sight
        for edge in sight.let_in:
            assert edge["digest"] == made[edge["from"], edge["artifact"]]
    assert not researched.problems


@pytest.mark.rule("WG-3")
def test_a_reader_fails_once_and_begins_anew_without_what_went_before(researched: Researched) -> None:
    outcomes = {node: [item.outcome for item in tried] for node, tried in researched.picture.tried.items()}
    assert outcomes.pop("reader_ign_2007") == ["failed", "done"]
    assert set(map(tuple, outcomes.values())) == {("done",)}
    assert researched.alike == {"reader_ign_2007": True}
    assert researched.joined["status"] == "complete"


@pytest.mark.rule("RS-2", "RS-3", "RS-4")
def test_the_join_finds_what_agrees_adds_and_contradicts(researched: Researched) -> None:
    merged = researched.joined["merged"]
    sides = [sorted(tuple(side["sources"]) for side in conflict["sides"]) for conflict in merged["conflicts"]]
    assert sorted(sides) == [
        [("area_2014",), ("ign_2007", "inpe_2008")],
        [("ign_2007",), ("inpe_2008",)],
        [("ign_2007",), ("inpe_2008",), ("usgs",)],
        [("ign_2007", "inpe_2008"), ("usgs",)],
    ]
    resolved = [item["resolution"] for item in merged["conflicts"] if item["resolution"]]
    assert len(resolved) == 2 and all(isinstance(item["reason"], str) for item in resolved)
    shared = [item for item in merged["findings"] if len({one["origin"] for one in item["evidence"]}) == 2]
    assert len(shared) == 2 and merged["incomplete"] and merged["sources"] == list(NAMES)


@pytest.mark.rule("RS-3")
def test_the_answer_states_every_open_conflict_gap_and_source(researched: Researched) -> None:
    said = " ".join(researched.answer.split())
    for conflict in researched.joined["merged"]["conflicts"]:
        if conflict["resolution"] is None:
            assert all(side["values"][0] in said for side in conflict["sides"]), conflict
    gaps = researched.joined["merged"]["gaps"]
    assert len(gaps) == 2 and all(gap["what"] in said for gap in gaps)
    assert [item["what"] for item in researched.not_done] == [gap["what"] for gap in gaps]
    assert all(f"- {name}: " in researched.answer for name in NAMES)


@pytest.mark.rule("RS-2")
def test_the_conflicts_come_from_what_the_readers_say(changed: Callable[..., Path], tmp_path: Path) -> None:
    before = research(tmp_path / "before")
    assert {"Amazon – length", "Amazon – source", "Nile – length"} < set(before.conflicts)
    agreeing = (
        ("answers.yaml", "6,852 km", "6,671 km"),
        ("answers.yaml", "in the Cordillera Rumi Cruz, in Peru", "at Nevado Mismi, in Peru"),
        ("answers.yaml", '"value": "Cordillera Rumi Cruz"', '"value": "Nevado Mismi"'),
        ("answers.yaml", '"value": "6.9 million km²"}', '"value": "7.4 million km²"}'),
    )
    after = research(tmp_path / "after", changed(*agreeing))
    assert set(after.conflicts) & set(before.conflicts) >= {"Amazon – length"}
    assert not {"Amazon – source", "Nile – length"} & set(after.conflicts)
    assert "Rumi Cruz” (" in before.answer and "Rumi Cruz” (" not in after.answer


@pytest.mark.rule("WG-2", "PX-4", "CS-5")
def test_a_canary_in_one_report_reaches_its_own_reader_alone(
    changed: Callable[..., Path], tmp_path: Path
) -> None:
    canaries = {name: f"CANARY-{name}-{name[::-1]}" for name in NAMES}
    folder = changed()
    for name, canary in canaries.items():
        path = folder / "reports" / "en" / f"{name}.md"
        path.write_text(f"{path.read_text()}\n{canary}\n")
    found = research(tmp_path / "home", folder)
    for name, canary in canaries.items():
        assert any(canary in text for text in found.prompts[f"reader_{name}"])
        for node, texts in found.prompts.items():
            if node != f"reader_{name}":
                assert not any(canary in text for text in texts), (name, node)
    assert not any(canary in found.answer for canary in canaries.values())


@pytest.mark.rule("WG-3", "RS-4", "RN-6")
def test_a_reader_that_fails_for_good_is_said_as_a_gap(changed: Callable[..., Path], tmp_path: Path) -> None:
    always = (
        "answers.yaml",
        "fails: [{code: unavailable, retryable: false, status: 503}]",
        "fail: {code: unavailable, retryable: false}\n    #",
    )
    folder = changed(always)
    script = (folder / "answers.yaml").read_text()
    begin, end = script.index("    # "), script.index("researcher@acme/library#reader_area_2014")
    (folder / "answers.yaml").write_text(script[:begin] + script[end:])
    found = research(tmp_path / "home", folder)
    assert found.joined["status"] == "partial"
    assert [item["from"] for item in found.joined["missing"]] == ["reader_ign_2007"]
    assert "reader_ign_2007" in found.answer and found.joined["merged"]["incomplete"]
    assert "reader_ign_2007" in [item["what"] for item in found.not_done]
    assert [item.outcome for item in found.picture.tried["reader_ign_2007"]] == ["failed", "failed"]


@pytest.mark.rule("WG-3")
def test_a_draft_that_the_verifier_does_not_pass_becomes_no_answer(
    changed: Callable[..., Path], tmp_path: Path
) -> None:
    found = research(tmp_path / "home", changed(("answers.yaml", '"passed": true', '"passed": false')))
    assert found.answer == say("research.no_answer", "en", question=say("research.question", "en"))
    assert {item["what"] for item in found.not_done} == {"check", "complete"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_scripted_readers_say_stands_in_their_reports(language: str) -> None:
    script = read_script(FOLDER / SCRIPTS[language])
    for name in NAMES:
        report = (FOLDER / "reports" / language / f"{name}.md").read_text()
        words = " ".join(report.split())
        finish = script[f"{RESEARCHER}#reader_{name}"][1]["finish"]
        said = json.loads(finish["artifacts"]["findings"])
        for finding in said["findings"]:
            assert finding["sources"] == [name]
            for figure in re.findall(r"\d[\d.,]*\d|\d+", finding["text"]):
                assert figure in words, (name, figure)
            for place in ("Nevado Mismi", "Rumi Cruz"):
                assert place not in finding["text"] or place in words
