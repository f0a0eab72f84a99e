"""SQL in named queries: `-- name: …` opens each one in a `.sql` file, with what it is for on the lines below.

They are written with SQLite's placeholders, `?` or `?1`; `numbered` gives those of PostgreSQL.
"""

import re
from functools import cache
from importlib.resources import files
from itertools import count

__all__ = ["numbered", "queries", "text_of"]

NAMED = re.compile(r"^-- name: (\w+)\n((?:--[^\n]*\n)*)(.*?)(?=^-- name: |\Z)", re.MULTILINE | re.DOTALL)
APART = re.compile(r"('(?:[^']|'')*'|--[^\n]*)|\?(\d*)")
"""What is no placeholder though it may hold a question mark, or a placeholder."""


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


def numbered(sql: str) -> str:
    """Give a statement with the placeholders of PostgreSQL: `$1` for `?1`, and for each `?` the next number."""
    numbers = count(1)
    return APART.sub(lambda found: found[1] or f"${found[2] or next(numbers)}", sql)
