"""The body of `triage@acme/platform`: it reads a log through `scan_log` and says what fails and what may have
caused it.

Everything that steers it comes from the brief and from the tool's result, so that a replay takes the same
path.
"""

from collections.abc import Mapping

from log_finding import findings_of
from log_report import Report

from interlock.catalogue import language_of
from interlock.errors import InterlockError
from interlock.run.function import Finish, FunctionRun

__all__ = ["triage"]


async def triage(run: FunctionRun) -> Finish:
    """Triage the log that the brief names: `{"log": "<path>"}`, and `"language": "pt-BR"` for Portuguese.

    Finishes with the artifacts `triage_summary` (Markdown) and `suspected_cause`. Raises InterlockError
    `incident.brief_without_log`, and whatever `scan_log` says of a file that cannot be read.
    """
    brief = run.input
    path = brief.get("log") if isinstance(brief, Mapping) else None
    if not isinstance(path, str) or not path:
        raise InterlockError("incident.brief_without_log", value=str(brief))
    scanned = await run.call("scan_log", path=path)
    language = brief.get("language")
    report = Report(
        scanned, findings_of(scanned), language_of(language if isinstance(language, str) else None)
    )
    return Finish(
        summary=report.headline(),
        artifacts={"triage_summary": report.triage_summary(), "suspected_cause": report.suspected_cause()},
        not_done=tuple(_not_done(report)),
    )


def _not_done(report: Report) -> list[tuple[str, str]]:
    """Give what of the log was asked for and not looked into, each with the reason."""
    scanned = report.scanned
    gaps = []
    if scanned["broken"]:
        gaps.append((report.say("gap_rest"), report.say("note_broken", why=scanned["broken"])))
    if scanned["overflow_entries"]:
        gaps.append(
            (
                report.say("gap_templates"),
                report.say("note_overflow_entries", count=scanned["overflow_entries"]),
            )
        )
    return gaps
