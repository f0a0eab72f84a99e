"""Measure how well conflicts between findings are found, beside a naive rule, and print a table.

    python bench/conflict.py [--misses] [--json FILE]

Two sets. `own`: the findings of `bench/findings.jsonl` about one topic, in English and Portuguese, every pair of
them. What a finding says of each attribute is written there as letters: two findings are in conflict if of one
attribute they say no letter alike; `*` is compatible with everything. Attributes are split by their hash into a
tuned half and a held-out half; pairs of which both findings are of the held-out half were not looked at when rules
and thresholds were chosen, and `--misses` does not show them.

`public`: pairs of a claim and a sentence of evidence (FEVER-Symmetric v0.2, development part), read from the folder
that INTERLOCK_CASES names, and skipped without it. Taken are the pairs that differ in a number, a date, a negation
or a name, as a plain look at their words tells, whatever their label; a name at the beginning of a claim, its
subject, does not count. REFUTES is a conflict, SUPPORTS is none.

The naive rule says conflict wherever a number or a date of one is not in the other, or one alone negates; on the own
set it is asked only about pairs of which the shorter shares half of its words with the longer, since without any
condition it would call nearly every pair a conflict.
"""

import argparse
import gzip
import hashlib
import json
import os
import re
import time
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

from interlock.message.comparison import Comparison, compare
from interlock.message.result import Finding
from interlock.message.statement.overlay import EVEN, Weights
from interlock.message.statement.statement import read_statement

FINDINGS = Path(__file__).parent / "findings.jsonl"
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
COUNTING = """
two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand million
billion dozen second third fourth fifth sixth seventh eighth ninth tenth twice half
dois duas tres quatro cinco seis sete oito nove dez vinte trinta mil milhao milhoes bilhao
"""
NUMBER_WORDS = frozenset(COUNTING.split())
MONTHS = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)
NEGATION = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|unable|fail\w*|refus\w*|lack\w*|yet to|"
    r"nao|nunca|nenhum\w*|nem)\b|\w+n ?['’]t\b"
)
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "``": '"', "''": '"'}


def folded(text: str) -> str:
    """Give a text in lower case without accents."""
    return "".join(
        letter for letter in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(letter)
    )


def numbers(text: str) -> set[str]:
    """Give the numbers of a text, as they are written."""
    plain = folded(text)
    return set(NUMBER.findall(plain)) | (set(re.findall(r"[a-z]+", plain)) & NUMBER_WORDS)


def months(text: str) -> set[str]:
    """Give the months that a text names."""
    return (set(re.findall(r"[a-z]+", folded(text))) & MONTHS) | (
        {"may"} if re.search(r"\bMay\b", text) else set()
    )


def negates(text: str) -> bool:
    """Tell whether a text has a word that negates."""
    return bool(NEGATION.search(folded(text)))


def names(text: str) -> set[str]:
    """Give the capitalised words of a text that are not of the run it begins with."""
    tokens = re.findall(r"[^\W\d_][\w'’-]*|[^\w\s]", text)
    leading = next((place for place, token in enumerate(tokens) if token[0].islower()), len(tokens))
    subject = {folded(token) for token in tokens[:leading]}
    return {folded(token) for token in tokens[leading:] if token[0].isupper()} - subject


def differences(claim: str, evidence: str) -> set[str]:
    """Give in what a claim differs from its evidence: `number`, `date`, `negation`, `name`."""
    words = set(re.findall(r"[^\W_]+", folded(evidence)))
    found = {
        "number": bool(numbers(claim) - numbers(evidence)),
        "date": bool(months(claim) - months(evidence)),
        "negation": negates(claim) != negates(evidence),
        "name": bool(names(claim) - words),
    }
    return {kind for kind, differs in found.items() if differs}


def naive(first: str, second: str) -> bool:
    """Say conflict where numbers or months differ or one alone negates."""
    if negates(first) != negates(second):
        return True
    return any(
        bool(kind(first) - kind(second)) and bool(kind(second) - kind(first) or kind is months)
        for kind in (numbers, months)
    )


def share(first: str, second: str) -> float:
    """Give how much of the shorter text's words the longer has."""
    one, two = (set(re.findall(r"[a-z]{3,}", folded(text))) for text in (first, second))
    return len(one & two) / max(1, min(len(one), len(two)))


class Count:
    """How often a rule said conflict, rightly and wrongly, and how often it missed one."""

    def __init__(self) -> None:
        self.right = self.wrong = self.missed = 0

    def add(self, said: bool, true: bool) -> None:
        """Count one pair."""
        self.right += said and true
        self.wrong += said and not true
        self.missed += true and not said

    def row(self, name: str, rule: str) -> dict[str, Any]:
        """Give one row of the table."""
        precision = self.right / max(1, self.right + self.wrong)
        recall = self.right / max(1, self.right + self.missed)
        return {
            "set": name,
            "rule": rule,
            "conflicts": self.right + self.missed,
            "found": self.right,
            "wrong": self.wrong,
            "precision": round(precision, 3),
            "recall": round(recall, 3),
        }


def held_out(says: dict[str, str], number: int) -> bool:
    """Tell whether a finding is of the held-out half, by the hash of the first attribute it speaks of."""
    key = min(says, default=str(number))
    return hashlib.sha256(key.encode()).digest()[0] % 2 == 1


def in_conflict(first: dict[str, str], second: dict[str, str]) -> bool:
    """Tell by the written letters whether two findings are in conflict."""
    both = [(first[key], second[key]) for key in first.keys() & second.keys()]
    return any("*" not in one + two and not set(one) & set(two) for one, two in both)


def own(misses: bool) -> list[dict[str, Any]]:
    """Measure on every pair of the project's own findings."""
    rows = [json.loads(line) for line in FINDINGS.read_text("utf-8").splitlines()]
    findings = [Finding(row["text"], ("bench",)) for row in rows]
    weights = Weights(read_statement(finding.text) for finding in findings)
    counts = {
        (half, rule): Count()
        for half in ("own, tuned", "own, held out", "own, all")
        for rule in ("interlock", "naive")
    }
    start, pairs = time.perf_counter(), 0
    for (one, first), (two, second) in combinations(zip(rows, findings, strict=True), 2):
        held = held_out(one["says"], one["id"]) and held_out(two["says"], two["id"])
        parts = ("own, held out" if held else "own, tuned", "own, all")
        true, found = in_conflict(one["says"], two["says"]), compare(first, second, weights)
        plain = share(first.text, second.text) >= 0.5 and naive(first.text, second.text)
        for part in parts:
            counts[part, "interlock"].add(found.outcome == "conflict", true)
            counts[part, "naive"].add(plain, true)
        pairs += 1
        if misses and not held:
            tell(true, found, first.text, second.text)
    seconds = time.perf_counter() - start
    print(f"own: {len(rows)} findings, {pairs} pairs, {seconds / pairs * 1e6:.0f} µs a pair")
    return [count.row(*key) for key, count in counts.items()]


def public_pairs(path: Path) -> Iterator[tuple[str, str, bool]]:
    """Give claim, evidence and truth of the pairs that differ in a number, a date, a negation or a name."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            claim, evidence = untokenised(row["claim"]), untokenised(row["evidence"])
            if differences(claim, evidence):
                yield claim, evidence, row["label"] == "REFUTES"


def untokenised(text: str) -> str:
    """Give a text as people write it: without the spaces and the names of brackets of a treebank."""
    for token, sign in BRACKETS.items():
        text = text.replace(token, sign)
    return re.sub(r"\s+([.,;:?!)\]]|'s\b|n't)", r"\1", re.sub(r"([(\[])\s+", r"\1", text))


def public(path: Path, misses: bool) -> list[dict[str, Any]]:
    """Measure on the public pairs; a claim and its evidence are known to be about one thing."""
    ours, plain, total = Count(), Count(), 0
    for claim, evidence, true in public_pairs(path):
        found = compare(Finding(claim, ("claim",)), Finding(evidence, ("evidence",)), EVEN, known=True)
        ours.add(found.outcome == "conflict", true)
        plain.add(bool(differences(claim, evidence) - {"name"}), true)
        total += 1
        if misses:
            tell(true, found, claim, evidence)
    print(f"public: {total} pairs")
    return [ours.row("public", "interlock"), plain.row("public", "naive")]


def tell(true: bool, found: Comparison, first: str, second: str) -> None:
    """Show a pair that was judged wrongly."""
    if true != (found.outcome == "conflict"):
        print("missed" if true else f"wrong ({found.kind}, {found.score:.2f})", first, second, sep="\n    ")


def table(rows: Iterable[dict[str, Any]]) -> None:
    """Print the rows."""
    for number, row in enumerate(rows):
        if number == 0:
            print("  ".join(f"{name:>13}" for name in row))
        print("  ".join(f"{value!s:>13}" for value in row.values()))


def main() -> None:
    """Read the arguments, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--misses", action="store_true", help="show the pairs that were judged wrongly")
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    given = parser.parse_args()
    rows = own(given.misses)
    cases = os.environ.get("INTERLOCK_CASES")
    path = Path(cases or "") / "fever_symmetric_dev" / "dev.jsonl.gz"
    if cases and path.is_file():
        rows += public(path, given.misses)
    else:
        print("public: skipped, INTERLOCK_CASES does not name a folder that has it")
    table(rows)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
