"""The report on a log: the two texts that the triage publishes, in English or Brazilian Portuguese."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from log_finding import Finding, onset_of

from interlock.catalogue import say

__all__ = ["Report"]

REPORTED = 12
ROWS = 24
BAR = 40
CONSEQUENCES_NAMED = 4


def _code(text: str, limit: int = 300) -> str:
    """Give a piece of the log as inline code that nothing in it can leave."""
    text = text.replace("`", "'").strip() or "-"
    return f"`{text[:limit]}…`" if len(text) > limit else f"`{text}`"


class Report:
    """The report on one scanned log.

    scanned: what `scan_log` gave. findings: what `findings_of` made of it. language: `en` or `pt-BR`.
    """

    def __init__(self, scanned: Mapping[str, Any], findings: Sequence[Finding], language: str) -> None:
        self.scanned, self.findings, self.language = scanned, findings, language
        self.onset = onset_of(scanned["buckets"])
        self.name = PurePath(scanned["path"].replace("\\", "/")).name or scanned["path"]

    def say(self, sentence: str, **params: Any) -> str:
        """Put a sentence of the catalogue into the reader's language."""
        return say(f"incident.{sentence}", self.language, **params)

    def where(self, place: Mapping[str, Any]) -> str:
        """Say where something is: its line, and its time when the log has times."""
        return self.say("place" if place["time"] else "place_line", line=place["line"], time=place["time"])

    def fault(self, finding: Finding) -> str:
        """Say what a finding is: the known fault in words, or its template."""
        return self.say(f"fault_{finding.name}") if finding.name else _code(finding.text, 160)

    def opening(self, finding: Finding) -> str:
        """Say what a finding is at the beginning of a sentence."""
        fault = self.fault(finding)
        return fault[:1].upper() + fault[1:]

    @property
    def causes(self) -> list[Finding]:
        """The findings that look like causes, the first to occur first."""
        return [finding for finding in self.findings if finding.role == "cause"]

    def consequences(self, cause: Finding) -> list[Finding]:
        """Give the findings that follow a cause, at once or through one another."""
        names, found = {cause.name}, []
        for finding in sorted(self.findings, key=lambda finding: finding.first["line"]):
            if finding.follows in names and finding.follows is not None:
                names.add(finding.name)
                found.append(finding)
        return found

    # The three texts

    def headline(self) -> str:
        """Give the run's summary: one paragraph."""
        if not self.findings:
            return self.say("headline_nothing", log=self.name, lines=self.scanned["lines"])
        count = len(self.findings)
        begins = self._since() if self.onset is not None else self.say("no_onset")
        cause = self.causes[:1]
        tail = (
            self.say("headline_cause", fault=self.fault(cause[0])) if cause else self.say("headline_no_cause")
        )
        return " ".join([self.say("headline", log=self.name, count=count), begins, tail])

    def triage_summary(self) -> str:
        """Give the long text, as Markdown: what fails, since when, how often, and what is not known."""
        parts = [f"# {self.say('title', log=_code(self.name))}", self._about()]
        parts.append(f"## {self.say('since_when')}")
        parts.append(self._since() if self.onset is not None else self.say("no_onset"))
        parts.append(f"## {self.say('what_fails')}")
        parts += self._listed() or [self.say("nothing_fails")]
        parts += [f"## {self.say('rate')}", self._rate()]
        if self.findings:
            parts += [f"## {self.say('cause_or_consequence')}", self._order()]
        parts += [f"## {self.say('not_known')}", "\n".join(f"- {line}" for line in self._unknown())]
        return "\n\n".join(parts) + "\n"

    def suspected_cause(self) -> str:
        """Give the short text: the likeliest cause, how sure that is, on which lines it rests, and what
        stands apart.
        """
        if not self.causes:
            key = "cause_none" if self.findings else "cause_nothing"
            return self.say(key, log=self.name) + "\n"
        cause, *others = self.causes
        parts = [self.say("cause", fault=self.fault(cause), where=self.where(cause.first), count=cause.count)]
        parts += self._held(cause)
        following = self.consequences(cause)
        if following:
            named = "; ".join(
                self.say("followed_item", fault=self.fault(item), where=self.where(item.first))
                for item in following[:CONSEQUENCES_NAMED]
            )
            parts.append(self.say("followed_by", faults=named))
        parts.append(self._confidence(cause, following))
        parts.append(self.say("evidence", lines=self._lines([cause, *following])))
        parts += [
            self.say("apart", fault=self.fault(item), where=self.where(item.first)) for item in others[:5]
        ]
        parts.append(self.say("order_is_not_cause"))
        return "\n".join(parts) + "\n"

    # Their pieces

    def _about(self) -> str:
        scanned = self.scanned
        form = self.say(f"format_{scanned['format'].lower().replace(' ', '_')}")
        parts = [self.say("about", format=form, lines=scanned["lines"], entries=scanned["entries"])]
        if scanned["timed"]:
            parts.append(self.say("about_time", first=scanned["first_time"], last=scanned["last_time"]))
        counts = ", ".join(
            f"{self.say(f'severity_{name}')} {say_number(count, self.language)}"
            for name, count in scanned["severities"].items()
        )
        if counts:
            parts.append(self.say("about_severity", counts=counts))
        return " ".join(parts)

    def _since(self) -> str:
        onset = self.onset or 0
        buckets, width = self.scanned["buckets"], self.scanned["bucket_width"]
        before = sum(bucket["failures"] + bucket["warnings"] for bucket in buckets[:onset])
        after = sum(bucket["failures"] + bucket["warnings"] for bucket in buckets[onset:])
        unit = self.say("per_minute" if self.scanned["timed"] else "per_thousand_lines")
        scale = (60 if self.scanned["timed"] else 1000) / width
        if onset == 0:
            return self.say("since_start", after=round(after * scale / max(1, len(buckets)), 1), unit=unit)
        peak = max(bucket["failures"] + bucket["warnings"] for bucket in buckets[onset:])
        key = "since" if self.scanned["timed"] else "since_line"
        return self.say(
            key,
            begins=buckets[onset]["begins"],
            before=round(before * scale / onset, 1),
            peak=round(peak * scale, 1),
            unit=unit,
        )

    def _listed(self) -> list[str]:
        parts = [self._one(number, finding) for number, finding in enumerate(self.findings[:REPORTED], 1)]
        if len(self.findings) > REPORTED:
            parts.append(self.say("more_findings", count=len(self.findings) - REPORTED))
        return parts

    def _one(self, number: int, finding: Finding) -> str:
        lines = [f"### {number}. {self.opening(finding)}", ""]
        degree = self.say(f"severity_{finding.severity}")
        unsure = "_unsure" if finding.role == "cause" and self.onset is None else ""
        lines.append(f"- {self.say(f'role_{finding.role}{unsure}')} ({degree})")
        lines.append(
            "- "
            + self.say(
                "counted", count=finding.count, first=self.where(finding.first), last=self.where(finding.last)
            )
        )
        lines += [f"- {text}" for text in self._held(finding)]
        for template in finding.templates[:3]:
            lines.append(f"- {self.say('example', count=template['count'])} {_code(template['example'])}")
        for kind in ("source", "statement", "detail", "trace", "error"):
            seen = [(value, count) for value, count in finding.tallied(kind) if value != "…"][:3]
            if seen:
                values = ", ".join(
                    f"{_code(value, 140)} ({say_number(count, self.language)})" for value, count in seen
                )
                lines.append(f"- {self.say(f'tally_{kind}')} {values}")
        return "\n".join(lines)

    def _held(self, finding: Finding) -> list[str]:
        holders = finding.tallied("holder")
        if not holders or finding.name != "lock_wait":
            return []
        (holder, count), total = holders[0], sum(times for _, times in holders)
        return [self.say("held_by", holder=_code(holder, 80), count=count, total=total)]

    def _rate(self) -> str:
        buckets = self.scanned["buckets"]
        step = -(-len(buckets) // ROWS)
        rows = [buckets[index : index + step] for index in range(0, len(buckets), step)]
        counts = [sum(item["failures"] for item in row) for row in rows]
        most = max([1, *counts])
        width = max(len(str(row[0]["begins"])) for row in rows)
        lines = [
            f"{row[0]['begins']!s:>{width}}  {count:>7} / {sum(item['entries'] for item in row):>7}  "
            f"{'#' * -(-count * BAR // most)}".rstrip()
            for row, count in zip(rows, counts, strict=True)
        ]
        key = "rate_time" if self.scanned["timed"] else "rate_line"
        return (
            self.say(key, width=step * self.scanned["bucket_width"])
            + "\n\n```text\n"
            + "\n".join(lines)
            + "\n```"
        )

    def _order(self) -> str:
        lines = []
        for cause in self.causes[:6]:
            lines.append(
                f"- {self.say('order_cause', fault=self.fault(cause), where=self.where(cause.first))}"
            )
        by_name = {finding.name: finding for finding in self.findings if finding.name}
        for finding in self.findings[:REPORTED]:
            if finding.follows is not None:
                key = "order_response" if finding.role == "response" else "order_follows"
                followed = self.fault(by_name[finding.follows])
                said = self.say(
                    key, fault=self.opening(finding), where=self.where(finding.first), cause=followed
                )
                lines.append(f"- {said}")
            elif finding.role in {"response", "single", "background"}:
                key = f"order_{finding.role}_alone"
                lines.append(f"- {self.say(key, fault=self.opening(finding), count=finding.count)}")
        return "\n".join(lines)

    def _unknown(self) -> list[str]:
        scanned = self.scanned
        lines = [self.say("order_is_not_cause")]
        if any(finding.signature and finding.signature.deliberate for finding in self.findings):
            lines.append(self.say("who_asked"))
        if not scanned["timed"]:
            lines.append(self.say("no_times"))
        elif not scanned["zone_stated"]:
            lines.append(self.say("no_zone"))
        if self.onset == 0 and self.findings:
            lines.append(self.say("begins_failing"))
        for key in (
            "overflow_entries",
            "templates_not_listed",
            "cut_lines",
            "nul_bytes",
            "backwards",
            "strays",
        ):
            if scanned[key]:
                lines.append(self.say(f"note_{key}", count=scanned[key]))
        if scanned["broken"]:
            lines.append(self.say("note_broken", why=scanned["broken"]))
        return lines

    def _confidence(self, cause: Finding, following: list[Finding]) -> str:
        if self._held(cause):
            return self.say("confidence_named")
        if following:
            return self.say("confidence_fair")
        return self.say("confidence_low" if self.onset is not None else "confidence_very_low")

    def _lines(self, findings: list[Finding]) -> str:
        numbers = [template["first"]["line"] for finding in findings for template in finding.templates[:2]]
        return ", ".join(str(number) for number in sorted(set(numbers))[:10])


def say_number(number: int, language: str) -> str:
    """Write a whole number as the reader's language does."""
    return say("incident.number", language, number=number)
