"""What the commands say of a damaged run: the workers name it, whoever reads it is told, `verify` says more."""

import json
from pathlib import Path

import apsw
import pytest

from tests.acceptance.company import Company
from tests.processes import Processes

TRIAGE = "triage@acme/platform"
SCRIPT = {TRIAGE: [{"finish": {"summary": "Triaged."}}]}
SAID = {
    "en": ("is damaged: step 1", "set aside because their trails are damaged", "not as Interlock made it"),
    "pt-BR": ("está danificada: o passo 1", "deixadas de lado", "não está como o Interlock o criou"),
}


@pytest.mark.rule("UI-1", "LP-7", "WK-4", "RN-2")
@pytest.mark.parametrize("language", SAID)
def test_a_damaged_run_is_named_and_cannot_be_read(
    language: str, commands: Processes, tmp_path: Path
) -> None:
    damaged, aside, schema = SAID[language]
    company = Company.made(tmp_path / "company", ("triage",), script=SCRIPT)
    assert commands.run("publish", folder=company.folder).code == 0
    bad, good = [
        json.loads(commands.run("run", TRIAGE, "--no-wait", "--json", folder=company.folder).text)["run"]
        for _ in range(2)
    ]
    db = apsw.Connection(str(company.home / "ledger.db"))
    db.execute("DROP TRIGGER step_is_never_changed")
    db.execute("UPDATE step SET body = substr(body, 2) WHERE stream = ?", (bad,))
    db.close()

    done = commands.run("worker", "--drain", "--lang", language, folder=company.folder)
    assert done.code == 0
    assert aside in done.text and bad in done.text and good not in done.text
    told = json.loads(commands.run("worker", "--drain", "--json", folder=company.folder).text)
    assert (told["runs"], told["set_aside"]) == (0, [bad])
    for command in (["trail", bad], ["trail", bad, "--content"], ["event", bad]):
        done = commands.run(*command, "--lang", language, folder=company.folder)
        assert done.code == 3, done
        assert damaged in done.errors and bad in done.errors and "interlock verify" in done.errors
    assert commands.run("trail", good, folder=company.folder).code == 0
    done = commands.run("verify", "--lang", language, folder=company.folder)
    assert done.code == 1
    assert bad in done.text and schema in done.text and "step_is_never_changed" in done.text
