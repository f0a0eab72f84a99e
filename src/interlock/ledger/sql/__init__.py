"""SQL in named queries: `-- name: …` opens each one in a `.sql` file, with what it is for on the lines below."""

import re
from functools import cache
from importlib.resources import files

__all__ = ["queries", "text_of"]

NAMED = re.compile(r"^-- name: (\w+)\n((?:--[^\n]*\n)*)(.*?)(?=^-- name: |\Z)", re.MULTILINE | re.DOTALL)


def text_of(file: str) -> str:
    """Give the text of a file of this package."""
    return files(__package__).joinpath(file).read_text("utf-8")


@cache
def queries(*names: str) -> dict[str, str]:
    """Give the queries of some files by name; those of a later file replace an earlier one's."""
    found: dict[str, str] = {}
    for name in names:
        found |= {match[1]: match[3].strip().rstrip(";") for match in NAMED.finditer(text_of(name))}
    return found
