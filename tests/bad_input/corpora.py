"""The bad-input corpora, read in place from the folder that INTERLOCK_CASES names."""

import base64
import gzip
import json
import os
from functools import cache
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.form.yaml_text import read


def _folder() -> Path:
    folder = os.environ.get("INTERLOCK_CASES")
    if not folder:
        pytest.skip("INTERLOCK_CASES does not name the folder of cases")
    return Path(folder) / "bad_input"


@cache
def yaml_suite() -> list[str]:
    """Give every file of the YAML test suite, and every case inside each, with its visible marks undone."""
    texts = []
    with gzip.open(_folder() / "yaml_test_suite.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            source = json.loads(line)["src"]
            texts.append(source)
            texts += [_plain(case["yaml"]) for case in read(source, "suite", 1 << 20).value if "yaml" in case]
    return texts


def _plain(text: str) -> str:
    for mark, meant in (
        ("␣", " "),
        ("»", "\t"),
        ("—", ""),
        ("←", "\r"),
        ("⇔", "\ufeff"),
        ("↵", ""),
        ("∎\n", ""),
    ):
        text = text.replace(mark, meant)
    return text


@cache
def naughty_strings() -> list[str]:
    """Give the big list of naughty strings."""
    strings: list[str] = json.loads((_folder() / "blns.json").read_text("utf-8"))
    return strings


@cache
def json_suite() -> list[tuple[str, str, bytes]]:
    """Give name, expectation (`accept`, `reject`, `either`) and bytes of each case of the JSON test suite."""
    lines = (_folder() / "jsontestsuite.jsonl").read_text("utf-8").splitlines()
    cases = map(json.loads, lines)
    return [(case["name"], case["expect"], base64.b64decode(case["b64"])) for case in cases]


@cache
def look_alikes() -> dict[str, str]:
    """Give characters that look like an ASCII one, with that one."""
    found: dict[str, str] = json.loads((_folder() / "confusables_ascii.json").read_text("utf-8"))
    return found


def corpus() -> list[str | bytes]:
    """Give all inputs of all corpora."""
    return [*yaml_suite(), *naughty_strings(), *(raw for _, _, raw in json_suite()), *look_alikes()]


def refusal(error: InterlockError) -> str:
    """Check that an error can be told in both languages and as JSON, and give its English text."""
    for language in ("en", "pt-BR"):
        told = error.as_dict(language)
        assert json.dumps(told)
        for sentence in (error.what(language), error.remedy(language)):
            assert sentence, error.code
            assert error.code not in sentence, f"{error.code} has no sentence in {language}"
            assert str(error.params) not in sentence, f"a value is missing in {error.code}"
    assert error.what("en") != error.what("pt-BR"), error.code
    return str(error)
