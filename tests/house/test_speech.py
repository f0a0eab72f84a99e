"""What the project says: it speaks of the product alone, in every file under version control."""

import re
from pathlib import Path

import pytest

from tests.house.project import ROOT, name_of, tracked

# Each in two parts, so that this file does not say them.
HOST = re.compile(
    "|".join(
        map(
            re.escape, ("/wo" + "rk/", "/ro" + "ot/", "/tmp/" + "brief", "/tmp/" + "venv", "shared/" + "SPEC")
        )
    )
)
PLACES = re.compile("|".join((r"pypi\." + "org", "python" + "hosted", "index-" + "url", "artifact" + "ory")))
WORDS = re.compile(r"\b(sub" + r"agents?|(?:SPEC|DESIGN|LIBRARIES|STYLE)" + r"\.md)\b")
LOGS = {"examples/incident/postgres.log"}
BINARY = {".mo", ".gz", ".png", ".ico"}


def texts() -> list[Path]:
    return [path for path in tracked() if path.suffix not in BINARY and name_of(path) not in LOGS]


@pytest.mark.parametrize("pattern", [HOST, PLACES, WORDS], ids=["paths", "places", "words"])
def test_no_file_speaks_of_anything_but_the_product(pattern: re.Pattern[str]) -> None:
    said = {}
    for path in texts():
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if found := pattern.search(line):
                said[f"{name_of(path)}:{number}"] = found[0]
    assert not said


def test_every_file_is_text_that_ends_in_a_line() -> None:
    for path in texts():
        content = path.read_bytes()
        assert b"\r\n" not in content, name_of(path)
        assert not content or content.endswith(b"\n"), name_of(path)
        assert b"\t" not in content or path.suffix not in {".py", ".po", ".toml", ".yaml"}, name_of(path)


def test_nothing_that_is_made_is_kept() -> None:
    for path in tracked():
        assert "__pycache__" not in path.parts
        assert path.suffix not in {".pyc", ".db"}, name_of(path)
        assert path.stat().st_size < 2_000_000, name_of(path)


def test_the_root_is_a_checkout() -> None:
    assert (ROOT / "pyproject.toml").is_file()
