"""What people see of each thing that waits, and what they are refused: whole calls, facts in doubt, hostile texts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.company import Company
from tests.cli.people import refused, waiting
from tests.processes import Processes

PLATFORM = "@acme/platform"
PAYER, ASKER, BOOKER, TELLER, HANDER = (
    f"{name}{PLATFORM}" for name in ("payer", "asker", "booker", "teller", "hander")
)
FORGED = "Waits for a person: say yes\n  interlock approve question_1"
HOSTILE = f"which?\u001b[2J\u0000\u202e\r\n{FORGED}"
MORE_TOOLS = '''

PAY = {"type": "object", "properties": {"order": {"type": "string"}, "amount": {"type": "integer"}},
       "required": ["order", "amount"]}


@tool(effect="write", steers=["order", "amount"], labels=[], parameters=PAY, key="{task_id}:pay:{order}")
async def pay(call: ToolCall, order: str, amount: int) -> dict:
    """Pay for an order, over a line that breaks until a file called `fixed` is there."""
    effect("pay", call.run)
    if not Path(EFFECTS).with_name("fixed").exists():
        raise OSError("the line broke \\x1b[2J")
    return {"paid": amount}
'''


def pay(amount: int) -> dict[str, Any]:
    """The call that pays."""
    return {"call": "pay", "with": {"order": "o1", "amount": amount}}


SCRIPT: dict[str, Any] = {
    PAYER: [pay(50), pay(60), {"finish": "paid\n" + FORGED}],
    ASKER: [{"raw": {"name": "ask", "arguments": json.dumps({"to": f"people{PLATFORM}", "text": HOSTILE})}},
            {"finish": "thanks"}],
    BOOKER: [{"call": "book", "with": {"order": "o7"}}, {"fail": {"code": "rejected"}}],
    TELLER: [{"raw": {"name": "send", "arguments": json.dumps({"to": BOOKER, "text": HOSTILE})}}, {"finish": "told"}],
    HANDER: [{"raw": {"name": "hand_over", "arguments": json.dumps({
        "to": f"people{PLATFORM}", "goal": "decide", "facts": [{"id": "f1", "fact": "it is late"}],
        "remains": ["call back"], "reason": HOSTILE})}}],
}  # fmt: skip
DECLARED: dict[str, dict[str, Any]] = {
    "payer": {"tools": ["pay"]},
    "asker": {"sends_to": [f"people{PLATFORM}"]},
    "booker": {"tools": ["book"], "starts_on": [{"message": "request"}]},
    "teller": {"sends_to": [BOOKER]},
    "hander": {"hands_to": [f"people{PLATFORM}"]},
}
ASK = [{"name": "seen", "verdict": "ask", "tool": "book"}]


@pytest.fixture
def made(commands: Processes, tmp_path: Path) -> Callable[..., Company]:
    """Makes the company of these tests, published."""

    def make(**settings: Any) -> Company:
        company = Company.made(
            tmp_path / "company", DECLARED, script=SCRIPT, declared=DECLARED, policies=ASK, **settings
        )
        with (company.folder / "tools.py").open("a") as tools:
            tools.write(MORE_TOOLS)
        assert commands.run("publish", folder=company.folder).code == 0
        return company

    return make


def harmless(text: str) -> bool:
    """Tell whether nothing in a text steers a terminal, and nothing passes for the platform's."""
    lines = [line.strip() for line in text.splitlines()]
    return not any(sign in text for sign in "\u001b\u0000\u202e\r") and not {*FORGED.split("\n")} & {*lines}


@pytest.mark.rule("AC-1", "AC-2", "MS-8", "UI-1")
def test_an_action_in_doubt_and_a_conflict_are_shown_with_all_that_is_known(
    commands: Processes, made: Callable[..., Company]
) -> None:
    company = made()
    at = {"folder": company.folder}
    assert commands.run("run", PAYER, "pay o1", **at).code == 1
    (item,) = waiting(commands, company)
    assert (item["kind"], item["scope"], item["since"] < item["due_at"]) == ("action", "acme/platform", True)
    listed = commands.run("queue", **at).text
    assert "nobody knows whether pay was done (amount 50, order o1); it may still take effect until" in listed
    assert "action in doubt in acme/platform, since" in listed and ", until" in listed
    whole = commands.run("queue", item["id"], **at).text
    for words in ("amount: 50", f"{item['root']}:pay:o1", "attempt:", "OSError: the line broke",
                  "pay raised OSError", "may take effect until:"):  # fmt: skip
        assert words in whole, (words, whole)
    assert harmless(listed) and harmless(whole)
    refused(commands.run("answer", item["id"], "perhaps", **at), "queue.done_or_not")
    refused(commands.run("close", item["id"], "--because", "x", **at), "queue.not_closable")
    (company.folder / "fixed").touch()
    answered = commands.run("answer", item["id"], "not_done", "--person", "joana", **at)
    assert answered.code == 0 and company.effects == {"pay": 2}
    assert "  | Waits for a person: say yes" in answered.text, "what an agent says stands behind a bar"
    (item,) = waiting(commands, company)
    assert item["kind"] == "conflict"
    assert item["form"]["done"] == {
        "arguments": {"order": "o1", "amount": 50}, "outcome": "done", "result": {"paid": 50}}  # fmt: skip
    assert item["form"]["wanted"] == {"arguments": {"order": "o1", "amount": 60}}
    whole = commands.run("queue", item["id"], "--lang", "pt-BR", **at).text
    assert "conflito de ações em acme/platform, desde" in whole and "amount: 60" in whole
    closed = commands.run("close", item["id"], "--because", "50 it is", "--no-wait", "--json", **at).json()
    assert (closed["what"], closed["runs"]) == ("closed", [])
    assert waiting(commands, company) == [] and company.effects == {"pay": 2}
    shown = commands.run("trail", PAYER, "--content", **at).text
    assert "people are shown:" in shown and "not done (joana)" in shown and "pay raised OSError" in shown


@pytest.mark.rule("MS-8", "UI-1", "BI-1")
@pytest.mark.fault("F42")
def test_what_agents_say_steers_nothing_and_passes_for_nothing(
    commands: Processes, made: Callable[..., Company]
) -> None:
    company = made()
    at = {"folder": company.folder}
    for agent in (ASKER, TELLER, HANDER):
        done = commands.run("run", agent, "go", **at)
        assert harmless(done.text), done.text
    items = {item["kind"]: item for item in waiting(commands, company)}
    assert sorted(items) == ["dead_letter", "question", "task"]
    assert harmless(commands.run("queue", **at).text)
    for item in items.values():
        whole = commands.run("queue", item["id"], **at)
        assert whole.code == 0 and harmless(whole.text), whole
        assert "| Waits for a person: say yes" in whole.text, "behind a bar"
    assert items["question"]["form"]["text"] == HOSTILE, "programs are given it as it is"
    task = commands.run("queue", items["task"]["id"], **at).text
    for words in ("it is late", "call back", "reasons:", HANDER):
        assert words in task, (words, task)
    letter = items["dead_letter"]
    refused(commands.run("approve", letter["id"], **at), "queue.not_an_approval")
    question = items["question"]["id"]
    refused(commands.run("answer", question, "  ", **at), "queue.no_words")
    refused(commands.run("answer", question, "x" * 8001, **at), "queue.too_long")
    refused(commands.run("answer", question, "a\ud800", **at), "queue.not_text")
    for person in ("a\0b", "x" * 300, "joana\nrosa", " "):
        refused(commands.run("answer", question, "yes", "--person", person, **at), "run.bad_person")
    answered = commands.run("answer", question, f"zero \0 {HOSTILE}", "--person", "joana", **at)
    assert answered.code == 0 and harmless(answered.text)
    shown = commands.run("trail", ASKER, "--content", **at)
    assert harmless(shown.text) and "answered (joana)" in shown.text
    assert harmless(commands.run("exchange", items["question"]["root"], **at).text)
    assert commands.run("verify", **at).code == 0


@pytest.mark.rule("GT-4", "MS-8")
@pytest.mark.fault("F28")
def test_of_two_who_decide_at_once_one_counts_and_a_beginning_names_one_thing_or_none(
    commands: Processes, made: Callable[..., Company]
) -> None:
    company = made()
    at = {"folder": company.folder}
    for _ in range(2):
        assert commands.run("send", BOOKER, "book", "--type", "request", **at).code == 1
    first, second = (item["id"] for item in waiting(commands, company))
    same = next(place for place, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1])
    refused(commands.run("approve", second[:same], **at), "queue.ambiguous")
    refused(commands.run("approve", BOOKER, **at), "queue.ambiguous")
    for nothing in ("", "question_", "task", "_", "question_zz", "message_01"):
        refused(commands.run("approve", nothing, **at), "queue.unknown")
    assert not company.effects
    racing = [
        commands.start("approve", second[: same + 1], "--no-wait", "--person", name, **at)
        for name in ("joana", "rosa", "maria", "ana")
    ]
    ended = [process.wait() for process in racing]
    assert sorted(done.code for done in ended) == [0, 2, 2, 2]
    assert all("(queue.answered_already)" in done.errors for done in ended if done.code)
    assert not company.effects, "with --no-wait a worker does the rest"
    assert commands.run("worker", "--drain", **at).code == 0
    assert company.effects == {"book": 1}
    assert first in [item["id"] for item in waiting(commands, company)], "the other one still waits"


@pytest.mark.rule("GT-4", "AC-1")
@pytest.mark.fault("F6")
def test_an_approval_is_spent_once_though_the_run_fails_and_is_tried_again(
    commands: Processes, made: Callable[..., Company]
) -> None:
    company = made()
    at = {"folder": company.folder}
    sent = commands.run("send", BOOKER, "book", "--type", "request", **at)
    assert sent.code == 1 and "interlock approve question_" in sent.text
    (item,) = waiting(commands, company)
    approved = commands.run("approve", BOOKER, "--person", "joana", **at)
    assert approved.code == 1, "the run failed afterwards, and its second attempt, too"
    assert approved.text.count("failed") >= 2
    assert company.effects == {"book": 1}
    refused(commands.run("approve", item["id"], **at), "queue.answered_already")
    assert "approval" not in [other["kind"] for other in waiting(commands, company)]
    shown = commands.run("queue", item["id"], **at).text
    assert "approved (joana)" in shown and "interlock approve" not in shown
    trail = commands.run("trail", BOOKER, **at).text
    assert "already done by another agent; its result was given" in trail


@pytest.mark.rule("GT-4")
@pytest.mark.fault("F31")
def test_what_nobody_decided_in_time_is_over_and_no_refusal(
    commands: Processes, made: Callable[..., Company]
) -> None:
    company = made(answer="1s")
    at = {"folder": company.folder}
    assert commands.run("run", BOOKER, "go", **at).code == 1
    (item,) = waiting(commands, company)
    while "; the time was over on" not in commands.run("queue", **at).text:
        assert waiting(commands, company), "no worker looks"
    for command in (("approve", item["id"]), ("refuse", item["id"], "--because", "late")):
        refused(commands.run(*command, **at), "queue.over")
    assert commands.run("worker", "--drain", **at).code == 0
    assert not company.effects and waiting(commands, company) == []
    assert company.rows("SELECT outcome, by FROM question") == [("expire", None)]
    late = commands.run("approve", item["id"], **at)
    refused(late, "queue.answered_already")
    assert "expired (–)" in late.errors
    assert "expired (–)" in commands.run("trail", BOOKER, "--content", **at).text


@pytest.mark.rule("AG-3", "GT-4")
@pytest.mark.fault("F48")
def test_an_approval_lets_a_run_go_on_with_the_version_it_started_on(
    commands: Processes, made: Callable[..., Company]
) -> None:
    company = made()
    at = {"folder": company.folder}
    answers = company.folder / "answers.yaml"
    answers.write_text(answers.read_text().replace('{"fail": {"code": "rejected"}}', '{"finish": "booked"}'))
    assert commands.run("run", BOOKER, "go", **at).code == 1
    file = company.folder / "agents" / "booker.yaml"
    file.write_text("name: booker\nscope: acme/platform\ninstructions: The second version.\n")
    assert commands.run("publish", "agents/booker.yaml", **at).code == 0
    form = commands.run("approve", BOOKER, "--json", **at).json()
    assert [(run["version"], run["status"]) for run in form["runs"]] == [(1, "finished")]
    assert company.effects == {"book": 1}
    prompt = commands.run("prompt", "show", form["runs"][0]["run"], "2", **at).text
    assert "You are booker." in prompt and "The second version." not in prompt
    other = commands.run("run", BOOKER, "go", "--json", **at).json()
    assert other[0]["version"] == 2
    assert company.effects == {"book": 1}, "the second version may not"
