"""A result: what an agent gives back for a task: its status, findings with their sources, and what it did not do.

A finding without a source, a source that the run did not read, and a report above the word limit are
malformed (RS-1); the sender is told every problem at once and to save the bulk as an artifact.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, Self

from rapidfuzz import process

from interlock import canonical
from interlock.catalogue import Text
from interlock.errors import InterlockError
from interlock.form.form import Form
from interlock.form.problem import Report, looks_secret, shown

__all__ = ["REPORT_WORDS", "Finding", "Result", "Undone", "check_result", "result_of", "words_in"]

REPORT_WORDS = 200
"""How many words a report may have, unless the settings say otherwise."""

STATUSES = ("complete", "partial", "failed")
RESULT_KEYS = ("status", "summary", "findings", "not_done", "tokens")
FINDING_KEYS = ("text", "sources", "subject", "attribute", "value", "observed")
UNDONE_KEYS = ("what", "why")

RESULT_BYTES = 256 * 1024
TEXT_CHARACTERS = 4000
NAME_CHARACTERS = 200
LONG_WORD = 24
"""A run of characters without a space counts as a word for each so many, so that leaving spaces out saves none."""

FINDINGS = 200
SOURCES = 50
NAMED = 12
"""How many of the names that the run read are told to a sender who wrote another."""

Status = Literal["complete", "partial", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found out, in words, with the names of what says so.

    subject, attribute, value: what it is about, if the sender said so apart from the text; else empty.
    observed: when it was so, in UTC; None when that is not known.
    """

    text: str
    sources: tuple[str, ...]
    subject: str = ""
    attribute: str = ""
    value: str = ""
    observed: datetime | None = None

    def as_dict(self) -> dict[str, Any]:
        """Give the exact values, without those that are not known."""
        form: dict[str, Any] = {"text": self.text, "sources": list(self.sources)}
        form |= {"subject": self.subject, "attribute": self.attribute, "value": self.value}
        form["observed"] = self.observed.isoformat() if self.observed else None
        return {name: value for name, value in form.items() if value}

    @classmethod
    def from_dict(cls, form: dict[str, Any]) -> Self:
        """Read back what `as_dict` gave."""
        subject, attribute, value = (form.get(name, "") for name in ("subject", "attribute", "value"))
        observed = form.get("observed")
        moment = datetime.fromisoformat(observed) if observed else None
        return cls(form["text"], tuple(form["sources"]), subject, attribute, value, moment)


@dataclass(frozen=True, slots=True)
class Undone:
    """What was asked and not done, and why."""

    what: str
    why: str

    def as_dict(self) -> dict[str, str]:
        """Give both texts."""
        return {"what": self.what, "why": self.why}


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gives back. `tokens` is how many model tokens it used; `not_done` is empty only if complete."""

    status: Status
    findings: tuple[Finding, ...] = ()
    not_done: tuple[Undone, ...] = ()
    summary: str = ""
    tokens: int = 0

    @property
    def words(self) -> int:
        """How many words a reader is given; the names of sources are not counted."""
        texts = [self.summary]
        for finding in self.findings:
            texts += [finding.text, finding.subject, finding.attribute, finding.value]
        for undone in self.not_done:
            texts += [undone.what, undone.why]
        return sum(map(words_in, texts))

    def as_dict(self) -> dict[str, Any]:
        """Give the exact values."""
        return {
            "status": self.status,
            "summary": self.summary,
            "findings": [finding.as_dict() for finding in self.findings],
            "not_done": [undone.as_dict() for undone in self.not_done],
            "tokens": self.tokens,
        }

    @classmethod
    def from_dict(cls, form: dict[str, Any]) -> Self:
        """Read back what `as_dict` gave."""
        return cls(
            form["status"],
            tuple(map(Finding.from_dict, form["findings"])),
            tuple(Undone(item["what"], item["why"]) for item in form["not_done"]),
            form["summary"],
            form["tokens"],
        )


def words_in(text: str) -> int:
    """Count the words of a text; a word of more than 24 characters counts as several."""
    return sum(-(-len(word) // LONG_WORD) for word in text.split())


def check_result(
    written: str | bytes, read: Collection[str], *, words: int = REPORT_WORDS, tokens: int | None = None
) -> Result | InterlockError:
    """Check a result in JSON as a model wrote it, and give it, or the error that its sender is told.

    `read` names everything that the run read, `words` is the word limit. `tokens` is what the platform
    counted, which stands above what is written. The error is FormError `result.malformed` with field, reason
    and what would be accepted for every problem, or `json.malformed` or `json.too_large`.
    """
    try:
        form = canonical.parse(written, "result", RESULT_BYTES)
        return result_of(form, read, words=words, tokens=tokens)
    except InterlockError as error:
        return error


def result_of(
    form: Any, read: Collection[str], *, words: int = REPORT_WORDS, tokens: int | None = None
) -> Result:
    """Make a result of plain values that have the shape of the JSON. Raises FormError `result.malformed`."""
    report = Report()
    result = _result(Form(form, report), read, tokens)
    if result is not None and result.words > words:
        report.add("result.too_long", (), value=result.words, accepted=words)
    if report or result is None:
        report.refuse("result.malformed")
    return result


def _result(form: Form, read: Collection[str], tokens: int | None) -> Result | None:
    if not form.fields(RESULT_KEYS, ("status",)):
        return None
    status: Any = form.at("status").choice(STATUSES, "complete")
    not_done = form.at("not_done")
    undone = tuple(_undone(item) for item in _bounded(not_done, FINDINGS))
    if status != "complete" and not undone and not_done.value in (None, [], ()):
        not_done.refuse("result.no_reason", value=status)
    return Result(
        status,
        tuple(_finding(item, read) for item in _bounded(form.at("findings"), FINDINGS)),
        undone,
        _text(form.at("summary"), TEXT_CHARACTERS),
        form.at("tokens").whole(0) if tokens is None else tokens,
    )


def _finding(form: Form, read: Collection[str]) -> Finding:
    if not form.fields(FINDING_KEYS, ("text",)):
        return Finding("", ())
    subject, attribute = (_text(form.at(name), NAME_CHARACTERS) for name in ("subject", "attribute"))
    return Finding(
        _needed(form.at("text")),
        _sources(form.at("sources"), read),
        subject,
        attribute,
        _value(form.at("value")),
        _observed(form.at("observed")),
    )


def _undone(form: Form) -> Undone:
    if not form.fields(UNDONE_KEYS, UNDONE_KEYS):
        return Undone("", "")
    return Undone(_needed(form.at("what")), _needed(form.at("why")))


def _sources(form: Form, read: Collection[str]) -> tuple[str, ...]:
    items = _bounded(form, SOURCES, single=True)
    if not items and form.value in (None, [], ()):
        form.refuse("result.no_source", accepted=_some(read))
    found: dict[str, None] = {}
    for item in items:
        name = item.text().strip()
        if isinstance(item.value, str) and name not in read:
            _refuse_unread(item, name, read)
        found[name] = None
    return tuple(found)


def _refuse_unread(form: Form, name: str, read: Collection[str]) -> None:
    close = process.extractOne(name[:NAME_CHARACTERS], read, score_cutoff=70)
    wording: dict[str, Any] = {"nearest": close[0]} if close and not looks_secret(name) else {}
    form.refuse("result.unread_source", value=shown(name), accepted=_some(read), **wording)


def _some(names: Collection[str]) -> list[str | Text]:
    """Give a few names in order, and how many more there are."""
    told: list[str | Text] = [*map(shown, sorted(names)[:NAMED])]
    more = len(names) - NAMED
    return [*told, Text("result.more_names", count=more)] if more > 0 else told


def _bounded(form: Form, most: int, single: bool = False) -> list[Form]:
    items = form.items(single)
    if len(items) > most:
        form.refuse("result.too_many", value=len(items), accepted=most)
    return items[:most]


def _text(form: Form, most: int) -> str:
    """Give a text of at most `most` characters, in one line."""
    text = " ".join(form.text().split())
    if len(text) > most:
        form.refuse("result.long_text", value=len(text), accepted=most)
    return text[:most]


def _needed(form: Form) -> str:
    text = _text(form, TEXT_CHARACTERS)
    if not text and isinstance(form.value, str):
        form.refuse("result.empty_text")
    return text


def _value(form: Form) -> str:
    """Give a value as text, since models write `5`, `"5"` and `true` alike."""
    if isinstance(form.value, bool):
        return "true" if form.value else "false"
    if isinstance(form.value, int | float):
        return shown(form.value)
    return _text(form, NAME_CHARACTERS)


def _observed(form: Form) -> datetime | None:
    text = form.text()
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        form.not_accepted(Text("result.accepts_moment"), (str,))
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
