"""Measure recall: whether it brings what a question is about, and what one recall costs as memories grow.

    python bench/recall.py [--most 1000000] [--rounds 60] [--perspectives 1 1000] [--misses] [--json FILE]
                           [--where FOLDER]

What it brings. Three dialogues of LoCoMo (CC BY-NC 4.0), read from the folder that INTERLOCK_CASES names, and skipped
without it: two people in one agent's perspective, each turn a memory about who said it. Each question names the turns
that hold its evidence; recall@5 and @10 are the shares of them among the first 5 and 10 that come back. Weights were
chosen on the first two dialogues; the third stands apart. Beside it stands the best plain FTS5 set-up that was found,
over the same texts: Porter's stems, the speaker's name before each text, words without meaning left out. Then the
questions that ask one person about what the other said are asked with recall limited to that person: how often the
other's words came back.

What it costs. Memories of 15 words of a made-up vocabulary, as frequent as words are (the n-th a part of 1/n), of a
hundred people: in one perspective, read at some sizes as it grows; and in a thousand perspectives. Questions are 5
such words. Beside it stands plain FTS5 over the same memories with the perspective as a word of the query and the
audience looked up for each row. Filling the largest takes some ten minutes. Ratios are to the first row: read those;
the times are of this machine.
"""

import argparse
import asyncio
import gzip
import itertools
import json
import os
import random
import re
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from interlock.ledger.ledger import Row
from interlock.ledger.sqlite import SqliteLedger
from interlock.message.statement.word import TOKEN
from interlock.perspective.recall import Memorable, memorable_rows, recall

AGENT, TALK = "listener@acme", "talk"
CHOSEN_ON = 2
SIZES = (1_000, 10_000, 100_000, 1_000_000)
PEOPLE, VOCABULARY, WORDS, ASKED = 100, 50_000, 15, 5
BEGIN, STEP = 1_600_000_000_000, 20_000
CLEARLY_LATER = BEGIN + STEP * 2_000_000
BATCH = 500
Score = tuple[float, float]


# What it brings


@dataclass(frozen=True)
class Question:
    """A question, the turns that hold its evidence, and its category."""

    text: str
    evidence: frozenset[str]
    category: int


def turns_of(dialogue: dict[str, Any]) -> Iterator[Memorable]:
    """Give the turns of a dialogue as memories; a picture that was shown is told by its caption."""
    talk = dialogue["conversation"]
    both = frozenset({talk["speaker_a"], talk["speaker_b"]})
    for session in itertools.takewhile(
        lambda name: name in talk, (f"session_{n}" for n in itertools.count(1))
    ):
        begin = datetime.strptime(talk[f"{session}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for number, turn in enumerate(talk[session]):
            shown = f" [{turn['blip_caption']}]" if "blip_caption" in turn else ""
            who, at = turn["speaker"], int(begin.timestamp() * 1000) + number * 1000
            yield Memorable(AGENT, turn["dia_id"], both, at, turn["text"] + shown, who, who, TALK)


def questions_of(dialogue: dict[str, Any]) -> Iterator[Question]:
    """Give the questions of a dialogue that name any evidence."""
    for one in dialogue["qa"]:
        evidence = frozenset(found for named in one["evidence"] for found in re.findall(r"D\d+:\d+", named))
        if evidence:
            yield Question(one["question"], evidence, one["category"])


class Plain:
    """Plain FTS5 over some memories: all words of a question but the plain ones, ranked by BM25."""

    def __init__(self, memories: list[Memorable]) -> None:
        self._db = apsw.Connection("")
        self._db.execute("CREATE VIRTUAL TABLE plain USING fts5 (text, tokenize = 'porter')")
        self._ids = [one.id for one in memories]
        self._db.executemany(
            "INSERT INTO plain VALUES (?)", [(f"{one.names}: {one.text}",) for one in memories]
        )

    async def ask(self, words: str) -> list[str]:
        """Give the ten best."""
        match = " OR ".join(f'"{word}"' for word in asked_for(words))
        found = self._db.execute(
            "SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT 10", (match,)
        )
        return [self._ids[number - 1] for (number,) in found]


MEANINGLESS = """
what did does do is the a an of to in on for and when where who how why which with has have was were are s at by from
her his their its it that this would be
"""
"""What the plain set-up leaves out; it found less with longer lists."""


def asked_for(words: str) -> list[str]:
    """Give the words of a question without the meaningless ones."""
    every = dict.fromkeys(found[0].lower() for found in TOKEN.finditer(words))
    return [word for word in every if word not in MEANINGLESS.split()] or list(every)


def score(question: Question, found: list[str]) -> Score:
    """Give the shares of the evidence among the first 5 and the first 10."""
    shares = [len(question.evidence & set(found[:many])) / len(question.evidence) for many in (5, 10)]
    return shares[0], shares[1]


async def brought(path: Path, misses: bool) -> list[dict[str, Any]]:
    """Ask all questions of all dialogues, and give a row for each part."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        dialogues = json.load(file)
    parts: defaultdict[str, list[tuple[Score, Score]]] = defaultdict(list)
    foreign = limited = 0
    for number, dialogue in enumerate(dialogues):
        memories = list(turns_of(dialogue))
        room, now, plain = memories[0].audience or frozenset(), memories[-1].at, Plain(memories)
        who = {one.id: one.subject for one in memories}
        async with filled(memories, None) as ledger:
            for question in questions_of(dialogue):
                found = [one.id for one in await recall(ledger, AGENT, question.text, room, now=now)]
                pair = score(question, found), score(question, await plain.ask(question.text))
                if misses and pair[0][1] < 1 and number < CHOSEN_ON:
                    print(
                        f"  {question.category} {pair[0][1]:.2f} {question.text} {sorted(question.evidence)}"
                    )
                apart = "chosen on (two dialogues)" if number < CHOSEN_ON else "apart (the third)"
                for part in (apart, f"category {question.category}", "in all"):
                    parts[part].append(pair)
                for subject in sorted(room) if question.category == 5 else ():
                    only = await recall(ledger, AGENT, question.text, room, now=now, subject=subject)
                    limited += len(only)
                    foreign += sum(who[one.id] != subject for one in only)
    print(f"Limited to one person, {limited} turns came back, {foreign} of them the other's.\n")
    return [part_row(name, pairs) for name, pairs in sorted(parts.items())]


def part_row(name: str, pairs: list[tuple[Score, Score]]) -> dict[str, Any]:
    """Give the means of one part of the questions."""
    row: dict[str, Any] = {"questions": name, "count": len(pairs)}
    for at, who in enumerate(("interlock", "plain")):
        for place, many in enumerate((5, 10)):
            row[f"{who} @{many}"] = f"{statistics.fmean(pair[at][place] for pair in pairs):.3f}"
    return row


# What it costs


class filled:  # noqa: N801
    """A ledger in a folder of its own with some memories, closed and removed at the end."""

    def __init__(self, memories: list[Memorable], where: Path | None) -> None:
        self._memories, self._folder = memories, Path(tempfile.mkdtemp(dir=where))

    async def __aenter__(self) -> SqliteLedger:
        self._ledger = await SqliteLedger.open(self._folder / "ledger.db")
        await remember(self._ledger, self._memories)
        return self._ledger

    async def __aexit__(self, *_: object) -> None:
        await self._ledger.close()
        shutil.rmtree(self._folder)


async def remember(ledger: SqliteLedger, memories: list[Memorable]) -> None:
    """Index memories, many in one transaction."""
    for begin in range(0, len(memories), BATCH):
        rows: list[Row] = [row for one in memories[begin : begin + BATCH] for row in memorable_rows(one)]
        await ledger.append((), rows=rows)


class Invented:
    """Memories and questions made of a vocabulary in which the n-th word is as frequent as 1/n."""

    def __init__(self) -> None:
        self._chance = random.Random(5)
        self._words = [self._word(number) for number in range(50, VOCABULARY + 50)]
        self._often = list(itertools.accumulate(1 / number for number in range(3, VOCABULARY + 3)))

    @staticmethod
    def _word(number: int) -> str:
        made = ""
        while number:
            number, consonant = divmod(number, 13)
            number, vowel = divmod(number, 4)
            made += "bdfgklmnprtvz"[consonant] + "aiou"[vowel]
        return made + "k"

    def text(self, many: int) -> str:
        """Give a text of so many words."""
        return " ".join(self._chance.choices(self._words, cum_weights=self._often, k=many))

    def memories(self, begin: int, end: int, perspectives: int) -> list[Memorable]:
        """Give the memories of those numbers: a third of two people, the others of one, some shared with everybody."""
        made = []
        for number in range(begin, end):
            who = self._chance.randrange(PEOPLE)
            names = [f"person{who}"] if number % 3 else [f"person{who}", f"person{(who + 1) % PEOPLE}"]
            made.append(
                Memorable(
                    f"agent{number % perspectives}@acme", f"m{number}", frozenset(names) if number % 50 else None,
                    BEGIN + number * STEP, self.text(WORDS), names[0], names[0], "_".join(names),
                )
            )  # fmt: skip
        return made


class PlainMany:
    """Plain FTS5 over the memories of many perspectives: perspective as a word, audience looked up in each row."""

    def __init__(self, folder: Path) -> None:
        self._db = apsw.Connection(str(folder / "plain.db"))
        self._db.execute("PRAGMA cache_size = -65536")
        self._db.execute("CREATE VIRTUAL TABLE plain USING fts5 (perspective, text, tokenize = 'porter')")
        self._db.execute("CREATE TABLE may (row INTEGER, who TEXT, PRIMARY KEY (row, who)) WITHOUT ROWID")
        self._count = 0

    def remember(self, memories: list[Memorable]) -> None:
        """Index memories in one transaction."""
        with self._db:
            for one in memories:
                self._count += 1
                whose = one.perspective.partition("@")[0]
                self._db.execute(
                    "INSERT INTO plain (rowid, perspective, text) VALUES (?, ?, ?)",
                    (self._count, whose, one.text),
                )
                self._db.executemany(
                    "INSERT INTO may VALUES (?, ?)", [(self._count, who) for who in one.audience or ("*",)]
                )

    async def ask(self, words: str) -> list[Any]:
        """Give the ten best of the first perspective that the first person may be told."""
        match = f"perspective:agent0 AND text:({' OR '.join(words.split())})"
        return self._db.execute(
            "SELECT rowid FROM plain WHERE plain MATCH ? AND EXISTS"
            " (SELECT 1 FROM may WHERE row = plain.rowid AND who IN ('person0', '*')) ORDER BY rank LIMIT 10",
            (match,),
        ).fetchall()


async def cost(most: int, rounds: int, among: list[int], where: Path | None) -> list[dict[str, Any]]:
    """Fill ledgers of some perspectives each, and time recalls at each size."""
    rows: list[dict[str, Any]] = []
    for perspectives in among:
        invented, done = Invented(), 0
        folder = Path(tempfile.mkdtemp(dir=where))
        plain = PlainMany(folder)
        try:
            async with filled([], where) as ledger:
                for size in (size for size in SIZES if perspectives < size <= most):
                    began = time.perf_counter()
                    for begin in range(done, size, BATCH * 20):
                        made = invented.memories(begin, min(size, begin + BATCH * 20), perspectives)
                        await remember(ledger, made)
                        plain.remember(made)
                    print(f"filled {size} in {perspectives}: {time.perf_counter() - began:.0f} s", flush=True)
                    done = size
                    rows.append(await timed(ledger, plain, invented, size, perspectives, rounds))
                    print("  " + json.dumps(rows[-1]), flush=True)
        finally:
            shutil.rmtree(folder)
    for row in rows:
        for name in KINDS:
            row[f"{name} ratio"] = f"{row[name] / rows[0][name]:.1f}"
    return rows


KINDS = ("one", "two", "nobody", "subject", "plain")
"""What is timed: a room of one, of two, of nobody; limited to one subject; plain FTS5 for a room of one."""


async def timed(
    ledger: SqliteLedger, plain: PlainMany, invented: Invented, size: int, perspectives: int, rounds: int
) -> dict[str, Any]:
    """Give the median milliseconds of each kind of recall."""

    def ask(*room: str, subject: str | None = None) -> Callable[[str], Awaitable[Any]]:
        return lambda words: recall(
            ledger, "agent0@acme", words, frozenset(room), now=CLEARLY_LATER, subject=subject
        )

    kinds = {
        "one": ask("person0"), "two": ask("person0", "person1"), "nobody": ask(),
        "subject": ask("person0", subject="person0"), "plain": plain.ask,
    }  # fmt: skip
    took: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(rounds):
        words = invented.text(ASKED)
        for name, one in kinds.items():
            if name == "plain" and number >= max(5, rounds // 6):
                continue
            began = time.perf_counter()
            await one(words)
            took[name].append((time.perf_counter() - began) * 1000)
    return {"memories": size, "perspectives": perspectives} | {
        name: round(statistics.median(times), 2) for name, times in took.items()
    }


def table(rows: list[dict[str, Any]]) -> None:
    """Print the rows."""
    if rows:
        wide = {name: max(len(name), *(len(str(row[name])) for row in rows)) for name in rows[0]}
        for row in ({name: name for name in wide}, *rows):
            print("  ".join(f"{row[name]!s:>{width}}" for name, width in wide.items()))
        print()


def main() -> None:
    """Read the arguments, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--most", type=int, default=SIZES[-1], help="how many memories to go up to; 0: no times"
    )
    parser.add_argument("--rounds", type=int, default=60, help="how many questions are timed at each size")
    parser.add_argument(
        "--perspectives", type=int, nargs="+", default=[1, 1000], help="among how many memories are spread"
    )
    parser.add_argument(
        "--misses", action="store_true", help="show what was missed of the dialogues chosen on"
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    parser.add_argument("--where", type=Path, help="the folder for what is written meanwhile")
    given = parser.parse_args()
    path = Path(os.environ.get("INTERLOCK_CASES", "")) / "locomo_dev" / "locomo3.json.gz"
    quality: list[dict[str, Any]] = []
    if "INTERLOCK_CASES" in os.environ and path.is_file():
        quality = asyncio.run(brought(path, given.misses))
    else:
        print("dialogues: skipped, INTERLOCK_CASES does not name a folder that has them")
    table(quality)
    times = (
        asyncio.run(cost(given.most, given.rounds, given.perspectives, given.where))
        if given.most >= SIZES[0]
        else []
    )
    table(times)
    if given.json:
        given.json.write_text(json.dumps(quality + times, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
