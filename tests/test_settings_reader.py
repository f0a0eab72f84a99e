"""The reader of settings: defaults that are safe, faults told with their place, and no secret ever shown."""

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.errors import InterlockError
from interlock.form.amount import bytes_in, micro_units_in, milliseconds_in, money_text, time_text
from interlock.form.problem import FormError
from interlock.gate.budget import Budget
from interlock.scope.label import DeclaredLabel
from interlock.scope.scope import Scope
from interlock.settings import ConnectorChoice, ModelChoice, Policy, SecretGrant, Settings, Sizes
from interlock.settings_reader import SETTINGS_KEYS, read_settings
from tests.bad_input import corpora as bad_input
from tests.bad_input.corpora import refusal

WHOLE = """\
chain_limit: 12
lease: 45s
acknowledge: 10s
reply: 5m
answer: 2h
action_wait: 0s
retries: 3
report_words: 50
corrections: 2
listeners_at_once: 4
loops_named: 5
loop_edges: 1000
inline: 128KiB
synchronous: NORMAL
language: pt-BR
sizes: {artifact: 1GiB, text: 4096, artifacts_per_run: 7}
limits: {tool_calls: 10, wall_time: 2h}
task_budget: {money: "12.5"}
scope_budgets:
  acme: {tokens: 1000000}
  123/hr: {money: 3}
models:
  default: {provider: scripted, script: answers.yaml}
  strong:
    {provider: openai, model: gpt-5, key: OPENAI_API_KEY, base_url: "http://127.0.0.1:8000/v1", stream: true,
     timeout: 60s, max_output_tokens: 100, attempts: 2, price_in: 1.25, price_out: "10"}
labels:
  pii: {receivers: [acme/hr, "tool:crm_update", "connector:slack/hr"], role: curator}
  confidential:
secrets:
  pager: {variable: PAGER_TOKEN, tools: [page]}
policies:
  - {name: no-deletes, verdict: deny, scope: acme, effect: destructive}
  - {name: see-mail, verdict: ask, tool: mail}
people:
  joana: {approver: [acme/desk, globex], auditor: acme}
connectors:
  chat: {scope: acme/desk, key: CHAT_KEY, reply_to: "http://127.0.0.1:8001/answers", labels: [pii]}
history: 5
work_at_once: 3
work_nodes: 50
work_depth: 1
modules: [tools.py, company.triage]
"""


def problems(text: str) -> list[dict[str, Any]]:
    with pytest.raises(FormError) as caught:
        read_settings(text, "interlock.yaml")
    assert caught.value.code == "settings.invalid"
    refusal(caught.value)
    assert all(item["file"] == "interlock.yaml" and item["line"] >= 1 for item in caught.value.problems)
    return caught.value.problems


def test_every_setting_is_read() -> None:
    assert read_settings(WHOLE, "interlock.yaml") == Settings(
        chain_limit=12,
        lease_ms=45_000,
        acknowledge_ms=10_000,
        reply_ms=300_000,
        answer_ms=7_200_000,
        action_wait_ms=0,
        retries=3,
        report_words=50,
        corrections=2,
        listeners_at_once=4,
        loops_named=5,
        loop_edges=1000,
        inline_bytes=128 * 1024,
        synchronous="NORMAL",
        language="pt-BR",
        sizes=Sizes(artifact=1024**3, text=4096, artifacts_per_run=7),
        limits=Budget(10, 500_000, None, 7_200_000),
        task_budget=Budget(1000, 5_000_000, 12_500_000, 24 * 3_600_000),
        scope_budgets={"acme": Budget(tokens=1_000_000), "123/hr": Budget(money=3_000_000)},
        models={
            "default": ModelChoice("scripted", script="answers.yaml"),
            "strong": ModelChoice(
                provider="openai",
                model="gpt-5",
                base_url="http://127.0.0.1:8000/v1",
                key="OPENAI_API_KEY",
                stream=True,
                timeout_ms=60_000,
                max_output_tokens=100,
                attempts=2,
                price_in=1_250_000,
                price_out=10_000_000,
            ),
        },
        labels={
            "pii": DeclaredLabel(
                "pii", frozenset({"acme/hr", "tool:crm_update", "connector:slack/hr"}), "curator"
            ),
            "confidential": DeclaredLabel("confidential"),
        },
        secrets={"pager": SecretGrant("PAGER_TOKEN", ("page",))},
        policies=(
            Policy("no-deletes", "deny", "acme", None, "destructive"),
            Policy("see-mail", "ask", "*", "mail"),
        ),
        people={"joana": {"approver": (Scope("acme/desk"), Scope("globex")), "auditor": (Scope("acme"),)}},
        connectors={
            "chat": ConnectorChoice(
                Scope("acme/desk"), "CHAT_KEY", "http://127.0.0.1:8001/answers", labels=("pii",)
            )
        },
        history=5,
        work_at_once=3,
        work_nodes=50,
        work_depth=1,
        modules=("tools.py", "company.triage"),
    )


def test_the_whole_example_names_every_setting_that_exists() -> None:
    named = {line.partition(":")[0] for line in WHOLE.splitlines() if line[0] not in " -"}
    assert named == set(SETTINGS_KEYS)
    assert len(SETTINGS_KEYS) == len(fields(Settings))


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "{}", "limits:\nsizes: {}\nmodels:\n"])
def test_what_is_not_said_has_its_default(text: str) -> None:
    assert read_settings(text, "interlock.yaml") == Settings()


@pytest.mark.rule("AG-2", "BI-1", "BI-2")
@pytest.mark.parametrize(
    ("text", "code", "path", "place"),
    [
        ("5", "form.wrong_type", "", (1, 1)),
        ("chain_limt: 5", "form.unknown_key", "chain_limt", (1, 1)),
        ("chain_limit: 0", "form.malformed", "chain_limit", (1, 14)),
        ("chain_limit: eight", "form.wrong_type", "chain_limit", (1, 14)),
        ("lease: 30 parsecs", "form.malformed", "lease", (1, 8)),
        ("lease: 10ms", "form.malformed", "lease", (1, 8)),
        ("inline: 12XB", "form.malformed", "inline", (1, 9)),
        ("synchronous: off", "form.malformed", "synchronous", (1, 14)),
        ("language: fr", "form.malformed", "language", (1, 11)),
        ("sizes: {spec: 0}", "form.malformed", "sizes.spec", (1, 15)),
        ("sizes: {brif: 5}", "form.unknown_key", "sizes.brif", (1, 9)),
        ("limits: {tokens: '5'}", "form.wrong_type", "limits.tokens", (1, 18)),
        ("scope_budgets: {Acme: {tokens: 5}}", "form.malformed", "scope_budgets.Acme", (1, 23)),
        ("scope_budgets: [acme]", "form.wrong_type", "scope_budgets", (1, 16)),
        ("models: {a: {model: x}}", "form.missing_key", "models.a.provider", (1, 13)),
        ("models: {a: {provider: openai}}", "settings.incomplete_model", "models.a.model", (1, 13)),
        ("models: {a: {provider: scripted}}", "settings.incomplete_model", "models.a.script", (1, 13)),
        ("models: {a: {provider: x, model: y, stream: 1}}", "form.wrong_type", "models.a.stream", (1, 45)),
        (
            "models: {a: {provider: x, model: y, base_url: ftp://x}}",
            "form.malformed",
            "models.a.base_url",
            (1, 47),
        ),
        ("labels: {PII: }", "form.malformed", "labels.PII", (1, 14)),
        ("labels: {untrusted: }", "settings.built_in_label", "labels.untrusted", (1, 10)),
        ("labels: {pii: {receivers: [a/b/c]}}", "form.malformed", "labels.pii.receivers[0]", (1, 28)),
        ("labels: {pii: {receivers: ['tool:']}}", "form.malformed", "labels.pii.receivers[0]", (1, 28)),
        ("labels: {pii: {role: boss}}", "form.malformed", "labels.pii.role", (1, 22)),
        ("connectors: {chat: {key: K}}", "form.missing_key", "connectors.chat.scope", (1, 20)),
        ("connectors: {chat: {scope: a/b/c, key: K}}", "form.malformed", "connectors.chat.scope", (1, 28)),
        (
            "connectors: {chat: {scope: a, key: k k}}",
            "settings.not_a_variable",
            "connectors.chat.key",
            (1, 36),
        ),
        ("connectors: {CH AT: {scope: a, key: K}}", "form.malformed", "connectors.CH AT", (1, 21)),
        ("secrets: {pager: {tools: [page]}}", "form.missing_key", "secrets.pager.variable", (1, 18)),
        ("policies: [{name: a, verdict: allow}]", "form.malformed", "policies[0].verdict", (1, 31)),
        (
            "policies: [{name: a, verdict: ask}, {name: a, verdict: ask}]",
            "form.doubled",
            "policies[1].name",
            (1, 44),
        ),
        (
            "policies: [{name: a, verdict: ask, effect: send}]",
            "form.malformed",
            "policies[0].effect",
            (1, 44),
        ),
        ("modules: [a b]", "form.malformed", "modules[0]", (1, 11)),
    ],
)
def test_each_fault_is_named_with_its_place(text: str, code: str, path: str, place: tuple[int, int]) -> None:
    (problem,) = problems(text)
    assert (problem["code"], problem["path"]) == (code, path)
    assert (problem["line"], problem["column"]) == place


@pytest.mark.rule("GT-7")
@pytest.mark.parametrize(
    "secret",
    [
        *(
            "sk-proj-Zm9vYmFy1234567890abcdef",
            "AKIAIOSFODNN7EXAMPLE",
            "hunter2",
            "correct horse battery staple",
        ),
        *(
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "eyJhbGciOiJIUzI1NiJ9.e30.Et9HFtf9R3",
            "xoxb-17653672481-1987",
        ),
        *("ABCDEF0123456789ABCDEF0123456789", "Bearer abcdef", "4815162342"),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        'models: {a: {provider: openai, model: m, key: "%s"}}',
        'models: {a: {provider: openai, model: m, key: ["%s"]}}',
        'models: {a: "%s"}',
        'models: "%s"',
        'secrets: {pager: {variable: "%s"}}',
        'secrets: {pager: {variable: {x: "%s"}}}',
        'secrets: {pager: "%s"}',
        'secrets: {pager: ["%s"]}',
        'secrets: "%s"',
        'models: {a: {provider: openai, model: m, base_url: "https://me:%s@host/v1"}}',
    ],
)
def test_a_secret_pasted_where_its_name_belongs_is_refused_and_never_shown(text: str, secret: str) -> None:
    with pytest.raises(FormError) as caught:
        read_settings(text % secret, "interlock.yaml")
    error = caught.value
    for told in (
        str(error),
        error.what("pt-BR"),
        json.dumps(error.as_dict()),
        str(error.params),
        repr(error),
    ):
        assert secret not in told
        assert secret.lower() not in told


@pytest.mark.rule("GT-7")
@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "KEY", "_X", "AWS_SECRET_ACCESS_KEY_2", "INTERLOCKPAGERTOKENPRODUCTION"]
)
def test_the_name_of_a_variable_is_accepted(name: str) -> None:
    read = read_settings(f"secrets: {{pager: {{variable: {name}}}}}", "interlock.yaml")
    assert read.secrets["pager"].variable == name


@pytest.mark.rule("BI-1", "BI-2")
@pytest.mark.fault("F42")
def test_the_corpora_as_settings_give_settings_or_named_errors() -> None:
    for text in bad_input.corpus():
        try:
            read = read_settings(text, "interlock.yaml")
        except InterlockError as error:
            assert error.code == "settings.invalid" or error.code.startswith("yaml.")
            refusal(error)
        else:
            assert read == Settings()
    with pytest.raises(InterlockError, match=r"yaml\.too_large"):
        read_settings("#" * 101, "interlock.yaml", limit=100)


@pytest.mark.rule("BI-1")
@settings(max_examples=120, deadline=None)
@given(st.integers(0, len(WHOLE)), st.binary(max_size=6), st.integers(0, 12))
def test_settings_with_random_bytes_give_settings_or_a_named_error(at: int, noise: bytes, cut: int) -> None:
    source = WHOLE.encode()
    try:
        assert isinstance(read_settings(source[:at] + noise + source[at + cut :], "interlock.yaml"), Settings)
    except InterlockError as error:
        refusal(error)


@given(st.integers(0, 2**63 - 1))
def test_money_and_time_read_back_as_they_were_written(amount: int) -> None:
    assert micro_units_in(money_text(amount)) == amount
    assert milliseconds_in(time_text(amount)) == amount


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("1.50", 1_500_000),
        (1.5, 1_500_000),
        (0.1, 100_000),
        (2, 2_000_000),
        (1e-6, 1),
        ("0.000001", 1),
        (0, 0),
    ],
)
def test_money_is_exact(written: Any, amount: int) -> None:
    assert micro_units_in(written) == amount


@pytest.mark.parametrize(
    "written",
    [
        "",
        "1.",
        ".5",
        "-1",
        "1e3",
        "1_0",
        "١",
        " 1",
        "1\n",
        1e-7,
        1e300,
        float("inf"),
        True,
        None,
        [],
        "9" * 99,
    ],
)
def test_what_is_no_money_is_refused(written: Any) -> None:
    assert micro_units_in(written) is None


def test_time_and_sizes_have_units() -> None:
    assert [milliseconds_in(text) for text in ("250ms", "90s", "10m", "2h", "1d", 90, "2 h")] == [
        *(250, 90_000, 600_000, 7_200_000, 86_400_000, 90_000, 7_200_000)
    ]
    assert [bytes_in(text) for text in ("1B", "2KiB", "64MiB", "1 GiB", 4096)] == [
        *(1, 2048, 64 * 1024**2, 1024**3, 4096)
    ]
    for wrong in ("5", "5x", "-5s", "1.5h", True, 1.5, None, "9" * 30 + "s", -1, 2**63):
        assert milliseconds_in(wrong) is None
        assert bytes_in(wrong) is None
