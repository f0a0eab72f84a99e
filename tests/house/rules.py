"""The page of rules: `python -m tests.house.rules` writes into it where each rule is tested."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

from tests.house.project import ROOT, sources, tree_of

__all__ = ["PAGE", "current", "listed", "proved"]

PAGE = ROOT / "docs" / "rules.md"
ROW = re.compile(r"^\| ((?:[A-Z]{2}-|F)\d+) \| (.+?) \| (.*?) \|$", re.MULTILINE)


@cache
def proved() -> dict[str, list[str]]:
    """Give each id that a test carries, with the files of those tests."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in sources("tests"):
        for node in ast.walk(tree_of(path)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr in {"rule", "fault"} and ast.unparse(node.func.value).endswith("mark"):
                for argument in node.args:
                    found[ast.literal_eval(argument)].add(path.relative_to(ROOT / "tests").as_posix())
    return {rule: sorted(files) for rule, files in found.items()}


def listed(text: str) -> dict[str, str]:
    """Give each id on the page with its sentence."""
    return {rule: sentence for rule, sentence, _ in ROW.findall(text)}


def current(text: str) -> str:
    """Give the page with the tests that there are now."""
    where = proved()

    def row(found: re.Match[str]) -> str:
        files = ", ".join(f"`{name}`" for name in where.get(found[1], ()))
        return f"| {found[1]} | {found[2]} | {files} |"

    return ROW.sub(row, text)


if __name__ == "__main__":
    Path(PAGE).write_text(current(PAGE.read_text("utf-8")), "utf-8")
