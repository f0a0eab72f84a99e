"""A page of the documentation as a test reads it: its fences in order, its commands with what they are said to show."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# file: (\S+)\n")
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
TIME = re.compile(r"\\\+(?:\\ )+\d+(\\\.|,)\d{3}\\ s")
LEFT_OUT = "…"


@dataclass(frozen=True)
class Fence:
    """A fenced block: its language, its text, and the file that its first line names, if any."""

    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The file that the block is to be written to."""
        found = FILE.match(self.text)
        return found.group(1) if found else None


def pages() -> list[Path]:
    """Give all pages that people read."""
    found = [*ROOT.glob("README*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(found)


def fences(page: Path) -> Iterator[Fence]:
    """Give the fenced blocks of a page in their order."""
    for language, text in FENCE.findall(page.read_text()):
        yield Fence(language, text)


def commands(fence: Fence) -> Iterator[tuple[str, list[str]]]:
    """Give each command of a console block, and the lines that the page shows below it."""
    command, shown = "", []
    for line in fence.text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, shown
            command, shown = line[2:], []
        else:
            shown.append(line)
    if command:
        yield command, shown


def first_not_shown(shown: list[str], output: str) -> str | None:
    """Give the first line of a page that does not come in the output, in order; None when all do.

    `…` stands for anything. Times are not compared.
    """
    lines = iter(output.splitlines())
    for line in shown:
        if line.strip() in {"", LEFT_OUT}:
            continue
        pattern = TIME.sub(r"\\+ +\\d+\1\\d{3}\\ s", re.escape(line.rstrip())).replace(LEFT_OUT, ".*")
        if not any(re.fullmatch(pattern, item.rstrip()) for item in lines):
            return line
    return None


def anchors(page: Path) -> set[str]:
    """Give the anchors that a page's headings make."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
