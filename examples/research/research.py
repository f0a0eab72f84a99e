"""A researcher: one question, a reader for each report, a join that finds where they conflict, a writer, a verifier."""

import json
from pathlib import Path
from typing import Any

from interlock import Finish, FunctionRun, Merged, NodeInput, complete_text, tool
from interlock.catalogue import say

REPORTS = Path(__file__).parent / "reports"
RESULT = "application/vnd.interlock.result+json"
MARKDOWN, JSON = "text/markdown", "application/json"


@tool(effect="read", labels=["untrusted"], fields={"[].name": []})
async def list_reports(language: str) -> list[dict[str, str]]:
    """List the reports that there are in a language: the name, the title and the source of each."""
    return [
        {"name": path.stem, **dict(zip(("title", "source"), heads(path.read_text()), strict=True))}
        for path in sorted((REPORTS / language).glob("*.md"))
    ]


def heads(report: str) -> tuple[str, str]:
    """Give the title of a report, and its source: its first two lines, without what marks them."""
    title, source, *_ = report.splitlines()
    return title.removeprefix("# "), source.partition(": ")[2]


async def researcher(run: FunctionRun) -> Finish:
    """Divide the work, have it done, and give the answer with what is not known."""
    question, language = run.input["question"], run.input["language"]
    reports = await run.call("list_reports", language=language)
    names = [report["name"] for report in reports]
    done = await run.call("plan_work", nodes=work(question, names, language), at_once=4)
    if "answer" not in done["artifacts"]:
        undone = tuple((item["what"], item["why"]) for item in done["not_done"])
        return Finish(say("research.no_answer", language, question=question), not_done=undone)
    gaps = json.loads(await run.read_artifact("gaps"))
    return Finish(
        await run.read_artifact("answer"), not_done=tuple((gap["what"], gap["why"]) for gap in gaps)
    )


def work(question: str, names: list[str], language: str) -> list[dict[str, Any]]:
    """Give the parts of the work. What a part needs is all that it sees: no reader needs another one."""
    joined = {"from": "compare", "artifact": "joined", "type": JSON}
    draft = {"from": "write", "artifact": "draft", "type": MARKDOWN}
    return [
        {
            "name": "hand_out",
            "kind": "function",
            "function": "research:hand_out",
            "arguments": {"language": language, "names": names},
            "publishes": dict.fromkeys(names, MARKDOWN),
        },
        *(
            {
                "name": f"reader_{name}",
                "kind": "agent_loop",
                "objective": say("research.read", language, question=question, name=name),
                "needs": [{"from": "hand_out", "artifact": name, "type": MARKDOWN}],
                "publishes": {"findings": RESULT},
                "attempts": 2,
            }
            for name in names
        ),
        {
            "name": "compare",
            "kind": "join",
            "needs": [{"from": f"reader_{name}", "artifact": "findings", "type": RESULT} for name in names],
        },
        {
            "name": "write",
            "kind": "agent_loop",
            "objective": say("research.write", language, question=question),
            "needs": [joined],
            "publishes": {"draft": MARKDOWN},
        },
        {
            "name": "check",
            "kind": "verify",
            "rubric": say("research.rubric", language),
            "needs": [draft, joined],
        },
        {
            "name": "complete",
            "kind": "function",
            "function": "research:complete",
            "arguments": {"language": language},
            "needs": [draft, joined, {"from": "check", "artifact": "verdict", "type": JSON}],
            "publishes": {"answer": MARKDOWN, "gaps": JSON},
        },
    ]


async def hand_out(node: NodeInput) -> dict[str, str]:
    """Put each report where its reader, and nobody else, gets it."""
    folder = REPORTS / node.arguments["language"]
    return {name: (folder / f"{name}.md").read_text() for name in node.arguments["names"]}


async def complete(node: NodeInput) -> dict[str, Any]:
    """Add what the draft does not say: the conflicts that are open, the gaps, and the sources."""
    language = node.arguments["language"]
    merged = Merged.from_dict(node.inputs["joined"]["merged"])
    completed = complete_text(node.inputs["draft"], merged, language)
    lines = [completed.text.rstrip(), "", say("research.sources", language)]
    for name in completed.sources:
        title, source = heads((REPORTS / language / f"{name}.md").read_text())
        lines.append(f"- {name}: {title} ({source})")
    return {"answer": "\n".join(lines), "gaps": [gap.as_dict() for gap in merged.gaps]}
