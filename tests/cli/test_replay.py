"""`interlock prompt replay`: both answers side by side, in both languages, and nothing of the run changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.company import SCRIPT, Company
from tests.processes import Processes

TRIAGE = "triage@acme/platform"
FORGED = "= calls book with:"
SAID = {
    "en": {
        "title": "call 1 again",
        "different": "the answer is different",
        "calls": "calls {tool} with:",
        "failed": "no answer: rate_limited, status 429",
        "listed": ("for rui: another answer", "for rui: no answer (rate_limited)"),
    },
    "pt-BR": {
        "title": "a chamada 1 de novo",
        "different": "a resposta é diferente",
        "calls": "chama {tool} com:",
        "failed": "sem resposta: rate_limited, status 429",
        "listed": ("para rui: outra resposta", "para rui: sem resposta (rate_limited)"),
    },
}


@pytest.fixture
def company(commands: Processes, tmp_path: Path) -> Company:
    """A company that ran once."""
    made = Company.made(tmp_path / "company", ("triage",))
    assert commands.run("publish", folder=made.folder).code == 0
    assert commands.run("run", TRIAGE, '{"order": "o7"}', folder=made.folder).code == 0
    return made


def answer(company: Company, entry: dict[str, Any]) -> None:
    """Let the model answer the first request otherwise from now on."""
    script = {**SCRIPT, TRIAGE: [entry, *SCRIPT[TRIAGE][1:]]}
    (company.folder / "answers.yaml").write_text(json.dumps(script))


@pytest.mark.rule("PS-2", "UI-1", "LP-7")
@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_both_answers_are_shown_with_their_marks(
    language: str, company: Company, commands: Processes
) -> None:
    words: dict[str, Any] = SAID[language]
    trail = commands.run("trail", TRIAGE, "--json", folder=company.folder).json()
    effects = company.effects
    replay = ("prompt", "replay", TRIAGE, "1", "--person", "rui", "--lang", language)
    same = commands.run(*replay, folder=company.folder)
    look = words["calls"].format(tool="look")
    assert same.code == 0 and words["title"] in same.text and " rui" in same.text
    assert [line for line in same.text.splitlines() if line[:2] in {"= ", "- ", "+ "}] == [f"= {look}"]

    text = f"I book.\n{FORGED}"
    answer(company, {"text": text, "call": "look", "with": {"order": "o7"}})
    other = commands.run(*replay, folder=company.folder)
    marked = [line for line in other.text.splitlines() if line[:2] in {"= ", "- ", "+ "}]
    assert other.code == 0 and words["different"] in other.text
    assert [line[0] for line in marked] == ["+", "="] and marked[1] == f"= {look}"
    assert f"    | {FORGED}" in other.text.splitlines()

    answer(company, {"call": "book", "with": {"order": "o7"}})
    third = commands.run(*replay, folder=company.folder).text.splitlines()
    assert f"- {look}" in third and f"+ {words['calls'].format(tool='book')}" in third

    answer(company, {"fail": {"code": "rate_limited", "status": 429, "detail": "slow\ndown"}})
    failed = commands.run(*replay, folder=company.folder)
    assert failed.code == 3 and f"+ {words['failed']}" in failed.text.splitlines()
    assert f"- {look}" in failed.text.splitlines() and "    | down" in failed.text.splitlines()

    shown = commands.run("prompt", "show", TRIAGE, "1", "--lang", language, folder=company.folder).text
    for listed in words["listed"]:
        assert listed in shown, shown
    assert commands.run("trail", TRIAGE, "--json", folder=company.folder).json() == trail
    assert company.effects == effects
    assert commands.run("verify", folder=company.folder).code == 0


@pytest.mark.rule("PS-2", "UI-1")
def test_as_json_it_has_both_answers(company: Company, commands: Processes) -> None:
    answer(company, {"text": "x", "calls": []})
    found = commands.run("prompt", "replay", TRIAGE, "1", "--json", folder=company.folder).json()
    assert found["same"] is False and found["failure"] is None and found["n"] == 1
    assert found["recorded"]["calls"] == [{"tool": "look", "arguments": {"order": "o7"}}]
    assert found["answer"] == {"text": "x", "calls": []}
    assert found["usage"]["tokens"] > 0 and found["bytes"] > 0
    answer(company, {"fail": {"code": "rejected"}})
    failed = commands.run("prompt", "replay", TRIAGE, "1", "--json", folder=company.folder)
    assert failed.code == 3 and failed.err == b""
    assert failed.json()["failure"]["code"] == "rejected" and failed.json()["answer"] is None


@pytest.mark.rule("PS-2", "UI-1", "AG-5")
def test_what_is_refused_says_why(company: Company, commands: Processes) -> None:
    def code_of(*arguments: str) -> str:
        done = commands.run("prompt", "replay", *arguments, folder=company.folder)
        assert done.code == 2, done
        return done.errors.rpartition("(")[2].strip(" )\n")

    assert code_of("run_f") == "run.unknown"
    assert code_of(TRIAGE, "9") == "prompt.none"
    assert code_of(TRIAGE, "1", "--person", "") == "run.bad_person"
    assert commands.run("agents", "stop", "acme/platform", folder=company.folder).code == 0
    assert code_of(TRIAGE, "1") == "prompt.scope_stopped"
    assert commands.run("agents", "resume", "acme/platform", folder=company.folder).code == 0
    (company.folder / "answers.yaml").rename(company.folder / "others.yaml")
    settings = company.folder / "interlock.yaml"
    settings.write_text(settings.read_text().replace("answers.yaml", "others.yaml"))
    assert code_of(TRIAGE, "1") == "prompt.other_model"
