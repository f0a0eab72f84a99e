"""The reader of settings: `interlock.yaml` becomes checked `Settings`, and every problem is told at once.

Keys are the fields of `Settings` as a person writes them: `lease: 30s` for `lease_ms`, `inline: 256KiB` for
`inline_bytes`. Where the name of an environment variable belongs, nothing that is written is ever shown.
"""

import re
from dataclasses import fields, replace
from typing import Any, Literal, cast

from interlock.catalogue import LANGUAGES
from interlock.form.amount import bytes_in, micro_units_in, milliseconds_in
from interlock.form.budget import budget_of
from interlock.form.form import Form
from interlock.form.problem import Report, shown
from interlock.form.yaml_text import Path, read
from interlock.gate.budget import Budget
from interlock.scope.label import DECLARED, UNTRUSTED, DeclaredLabel
from interlock.scope.scope import NAME, Scope
from interlock.settings import (
    CompactionChoice,
    ConnectorChoice,
    MessageMapping,
    ModelChoice,
    Policy,
    SecretGrant,
    Settings,
    Sizes,
)

__all__ = ["RENAMED", "ROLES", "SETTINGS_KEYS", "read_settings"]

SETTINGS_BYTES = Sizes().spec
RENAMED = {
    "lease_ms": "lease",
    "acknowledge_ms": "acknowledge",
    "reply_ms": "reply",
    "answer_ms": "answer",
    "action_wait_ms": "action_wait",
    "inline_bytes": "inline",
}
"""The settings that people write under another name than the field has."""
SETTINGS_KEYS = tuple(RENAMED.get(item.name, item.name) for item in fields(Settings))
MODEL_KEYS = tuple({"timeout_ms": "timeout"}.get(item.name, item.name) for item in fields(ModelChoice))
CONNECTOR_KEYS = tuple(
    {"timeout_ms": "timeout", "tolerance_ms": "tolerance"}.get(item.name, item.name)
    for item in fields(ConnectorChoice)
)
COUNTED = ("artifacts_per_run", "calls_per_answer")
"""The sizes that count things and not bytes."""
ROLES = ("author", "approver", "curator", "auditor", "administrator")
EFFECTS = ("read", "write", "destructive")

WORD = re.compile(r"[a-z][a-z0-9_-]{0,62}\Z", re.ASCII)
TOOL = re.compile(r"[a-z0-9_-]{1,63}\Z", re.ASCII)
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,127}\Z", re.ASCII)
CAPITAL_KEY = re.compile(r"(?:AKIA|ASIA)[A-Z0-9]{12,}\Z|(?=[A-Z]*[0-9])[A-Z0-9]{20,}\Z", re.ASCII)
URL = re.compile(r"https?://[A-Za-z0-9.\[\]:_-]+(?:/[^\s?#]*)?\Z", re.ASCII)
MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z|[^\0\s][^\0\n]{0,250}\.py\Z", re.ASCII)
PLACE = re.compile(
    r"(?:/(?:[^~/\0\ud800-\udfff]|~[01]){0,128}){1,16}\Z"
    r"|[^\s./~\0\ud800-\udfff]{1,128}(?:\.[^\s./~\0\ud800-\udfff]{1,128}){0,15}\Z"
)
RECEIVER = re.compile(r"tool:[a-z0-9_-]{1,63}\Z|connector:[a-z0-9_-]+(?:/[A-Za-z0-9_.#@-]+)*\Z", re.ASCII)


def read_settings(text: str | bytes, file: str, *, limit: int = SETTINGS_BYTES) -> Settings:
    """Read settings from YAML of at most `limit` bytes; an empty file gives the defaults.

    Raises InterlockError of the domain `yaml` when the text is not one YAML document, and FormError
    `settings.invalid` with all problems of what it says.
    """
    marked = read(text, file, limit)
    report = Report(marked, _may_hold_a_secret)
    form = Form({} if marked.value is None else marked.value, report)
    settings = _settings(form) if form.fields(SETTINGS_KEYS) else Settings()
    if report:
        report.refuse("settings.invalid")
    return settings


def _may_hold_a_secret(path: Path) -> bool:
    return path[:1] in {("secrets",), ("models",), ("connectors",)} and (
        len(path) < 3 or path[2] in {"variable", "key", "further_keys"}
    )


def _settings(form: Form) -> Settings:
    usual = Settings()
    return Settings(
        chain_limit=form.at("chain_limit").whole(usual.chain_limit, 1, 1000),
        lease_ms=form.at("lease").amount(milliseconds_in, "time", usual.lease_ms, 1000),
        corrections=form.at("corrections").whole(usual.corrections, 0, 100),
        acknowledge_ms=form.at("acknowledge").amount(milliseconds_in, "time", usual.acknowledge_ms, 1000),
        reply_ms=form.at("reply").amount(milliseconds_in, "time", usual.reply_ms, 1000),
        answer_ms=form.at("answer").amount(milliseconds_in, "time", usual.answer_ms, 1000),
        action_wait_ms=form.at("action_wait").amount(milliseconds_in, "time", usual.action_wait_ms, 0),
        retries=form.at("retries").whole(usual.retries, 0, 100),
        work_at_once=form.at("work_at_once").whole(usual.work_at_once, 1, 10_000),
        work_nodes=form.at("work_nodes").whole(usual.work_nodes, 1, 100_000),
        work_depth=form.at("work_depth").whole(usual.work_depth, 0, 8),
        report_words=form.at("report_words").whole(usual.report_words, 1, 100_000),
        listeners_at_once=form.at("listeners_at_once").whole(usual.listeners_at_once, 0, 10_000),
        loops_named=form.at("loops_named").whole(usual.loops_named, 1, 10_000),
        loop_edges=form.at("loop_edges").whole(usual.loop_edges, 1),
        inline_bytes=form.at("inline").amount(bytes_in, "size", usual.inline_bytes),
        synchronous=_synchronous(form.at("synchronous")),
        language=form.at("language").choice(LANGUAGES, usual.language),
        sizes=_sizes(form.at("sizes")),
        compaction=_compaction(form.at("compaction")),
        limits=budget_of(form.at("limits"), usual.limits),
        task_budget=budget_of(form.at("task_budget"), usual.task_budget),
        scope_budgets=_scope_budgets(form.at("scope_budgets")),
        models=_named(form.at("models"), WORD, "model_role", _model),
        labels=_named(form.at("labels"), DECLARED, "label_name", _label),
        secrets=_named(form.at("secrets"), WORD, "secret_name", _secret),
        policies=_policies(form.at("policies")),
        people=_people(form.at("people")),
        connectors=_named(form.at("connectors"), NAME, "name", _connector),
        history=form.at("history").whole(usual.history, 0, 10_000),
        modules=form.at("modules").unique(lambda item: item.matching(MODULE, "module"), single=True),
    )


def _synchronous(form: Form) -> Literal["FULL", "NORMAL"]:
    return cast(Literal["FULL", "NORMAL"], form.choice(("FULL", "NORMAL"), "FULL"))


def _sizes(form: Form) -> Sizes:
    usual = Sizes()
    names = [item.name for item in fields(Sizes)]
    if form.value is None or not form.fields(names):
        return usual
    counts = {name: form.at(name).whole(getattr(usual, name), 1, 10_000) for name in COUNTED}
    sizes = {
        name: form.at(name).amount(bytes_in, "size", getattr(usual, name), 1)
        for name in names
        if name not in COUNTED
    }
    return replace(usual, **counts, **sizes)


def _compaction(form: Form) -> CompactionChoice:
    usual = CompactionChoice()
    if form.value is None or not form.fields(("role", "percent")):
        return usual
    role = form.at("role").matching(WORD, "model_role")
    return CompactionChoice(role, form.at("percent").whole(usual.percent, 10, 90))


def _scope_budgets(form: Form) -> dict[str, Budget]:
    found: dict[str, Budget] = {}
    for key, entry in form.entries():
        scope = Form(key, form.report, entry.path).made(Scope, "scope")
        budget = budget_of(entry)
        if scope is not None:
            found[str(scope)] = budget
    return found


def _named(form: Form, pattern: re.Pattern[str], accepted: str, read_entry: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, entry in form.entries():
        name = Form(key, form.report, entry.path).matching(pattern, accepted)
        value = read_entry(name or "", entry)
        if name is not None and value is not None:
            found[name] = value
    return found


def _model(name: str, form: Form) -> ModelChoice | None:
    if not form.fields(MODEL_KEYS, ("provider",)):
        return None
    usual = ModelChoice("")
    choice = ModelChoice(
        provider=form.at("provider").matching(WORD, "provider") or "",
        model=form.at("model").text(),
        base_url=_url(form.at("base_url")),
        key=_variable(form.at("key")),
        script=form.at("script").text() or None,
        stream=form.at("stream").flag(usual.stream),
        timeout_ms=form.at("timeout").amount(milliseconds_in, "time", usual.timeout_ms, 1),
        max_output_tokens=form.at("max_output_tokens").whole(usual.max_output_tokens, 1),
        context_tokens=form.at("context_tokens").whole(usual.context_tokens, 0),
        attempts=form.at("attempts").whole(usual.attempts, 1, 100),
        price_in=form.at("price_in").amount(micro_units_in, "money", usual.price_in),
        price_out=form.at("price_out").amount(micro_units_in, "money", usual.price_out),
    )
    needed = "script" if choice.provider == "scripted" else "model"
    if choice.provider and form.at(needed).value in (None, ""):
        form.at(needed).refuse("settings.incomplete_model", True, value=choice.provider, needed=needed)
    return choice


def _variable(form: Form) -> str | None:
    """Give the name of an environment variable. What stands there may be the secret itself: never show it."""
    name = form.value
    if name is None:
        return None
    if isinstance(name, str) and VARIABLE.match(name) and not CAPITAL_KEY.match(name):
        return name
    form.refuse("settings.not_a_variable")
    return None


def _url(form: Form) -> str | None:
    url = form.value
    if isinstance(url, str) and "@" in url:
        form.refuse("settings.password_in_address")
        return None
    return form.matching(URL, "address_of_service")


def _label(name: str, form: Form) -> DeclaredLabel | None:
    if name == UNTRUSTED:
        form.refuse("settings.built_in_label", True, value=name)
    if form.value is None:
        return DeclaredLabel(name)
    if not form.fields(("receivers", "role")):
        return None
    receivers = form.at("receivers").unique(lambda item: item.made(_receiver, "receiver"), single=True)
    return DeclaredLabel(name, frozenset(receivers), form.at("role").choice(ROLES, "administrator"))


def _receiver(text: str) -> str:
    if not RECEIVER.match(text):
        Scope(text)
    return text


def _secret(_name: str, form: Form) -> SecretGrant | None:
    if not form.fields(("variable", "tools"), ("variable",)):
        return None
    tools = form.at("tools").unique(lambda item: item.matching(TOOL, "tool"), single=True)
    return SecretGrant(_variable(form.at("variable")) or "", tools)


def _connector(_name: str, form: Form) -> ConnectorChoice | None:
    if not form.fields(CONNECTOR_KEYS, ("scope", "key")):
        return None
    scope = form.at("scope").made(Scope, "scope")
    usual = ConnectorChoice(scope or Scope("*"), "")
    choice = ConnectorChoice(
        scope=usual.scope,
        key=_variable(form.at("key")) or "",
        reply_to=_url(form.at("reply_to")),
        labels=form.at("labels").unique(lambda item: item.matching(DECLARED, "label_name")),
        further_keys=form.at("further_keys").unique(_variable, single=True),
        mapping=_mapping(form.at("mapping")),
        tolerance_ms=form.at("tolerance").amount(milliseconds_in, "time", usual.tolerance_ms, 1000),
        timeout_ms=form.at("timeout").amount(milliseconds_in, "time", usual.timeout_ms, 1),
        takes_key=form.at("takes_key").flag(usual.takes_key),
        attempts=form.at("attempts").whole(usual.attempts, 1, 100),
    )
    return None if scope is None else choice


def _mapping(form: Form) -> MessageMapping:
    usual = MessageMapping()
    names = [item.name for item in fields(MessageMapping)]
    if form.value is None or not form.fields(names):
        return usual
    given = {name: form.at(name).matching(PLACE, "place_in_body") for name in names}
    return replace(usual, **{name: place for name, place in given.items() if place is not None})


def _people(form: Form) -> dict[str, dict[str, tuple[Scope, ...]]]:
    found: dict[str, dict[str, tuple[Scope, ...]]] = {}
    for name, person in form.entries():
        if person.fields(ROLES):
            found[name] = {
                role: scopes
                for role in ROLES
                if (scopes := person.at(role).unique(lambda item: item.made(Scope, "scope"), single=True))
            }
    return found


def _policies(form: Form) -> tuple[Policy, ...]:
    found: dict[str, Policy] = {}
    for item in form.items():
        if not item.fields(("name", "verdict", "scope", "tool", "effect"), ("name", "verdict")):
            continue
        name = item.at("name").matching(NAME, "name")
        if name in found:
            item.at("name").refuse("form.doubled", value=shown(name))
        effect = item.at("effect")
        policy = Policy(
            name=name or "",
            verdict=cast(Literal["ask", "deny"], item.at("verdict").choice(("ask", "deny"), "deny")),
            scope=str(item.at("scope").made(Scope, "scope") or "*"),
            tool=item.at("tool").matching(TOOL, "tool"),
            effect=None if effect.value is None else effect.choice(EFFECTS, "write"),
        )
        found[policy.name] = policy
    return tuple(found.values())
