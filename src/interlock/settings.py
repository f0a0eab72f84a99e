"""The settings of an installation: limits, labels, models, tools and secrets by name. Values only.

They are read from `interlock.yaml` by `interlock.settings_reader`; every one has a default that is safe.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from interlock.gate.budget import Budget
from interlock.gate.policy import Policy
from interlock.scope.label import DeclaredLabel, Vocabulary
from interlock.scope.scope import Scope

__all__ = [
    "CompactionChoice",
    "ConnectorChoice",
    "MessageMapping",
    "ModelChoice",
    "Policy",
    "SecretGrant",
    "Settings",
    "Sizes",
]

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What a model role stands for.

    provider: `scripted`, `openai`, `anthropic`, or another that the model library knows.
    model: the provider's name of the model.
    base_url: another address that speaks the provider's wire format.
    key: the name of the environment variable that holds the key; the key itself is never stored.
    script: for `scripted`, the YAML file of answers, relative to the installation's folder.
    stream: whether answers are streamed.
    timeout_ms: how long one call may take; max_output_tokens: the longest answer asked for.
    context_tokens: how many tokens request and answer may have together; 0 when unknown.
    attempts: how often a call is tried in all on 429, 5xx and time-outs.
    price_in, price_out: micro-units of money per million tokens, for budgets; 0 when unknown.
    """

    provider: str
    model: str = ""
    base_url: str | None = None
    key: str | None = None
    script: str | None = None
    stream: bool = False
    timeout_ms: int = 120_000
    max_output_tokens: int = 4096
    context_tokens: int = 0
    attempts: int = 5
    price_in: int = 0
    price_out: int = 0


@dataclass(frozen=True, slots=True)
class CompactionChoice:
    """When and how older entries of a run are replaced by a summary (ME-4).

    role: the model role that writes the summary; without one it is made of the beginnings of the entries.
    percent: above how much of a prompt's size limit, from 10 to 90.
    """

    role: str | None = None
    percent: int = 75


@dataclass(frozen=True, slots=True)
class SecretGrant:
    """A secret by name (GT-7).

    variable: the name of the environment variable that holds it. tools: the tools that may use it.
    """

    variable: str
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MessageMapping:
    """Where the body of a message that a connector brings has what: a JSON pointer (`/message/id`) or names with dots
    between them (`message.id`) each.

    external: what the outside calls the message; a text or a whole number, like each id.
    thread: what the outside calls the conversation.
    sender: the id of who wrote it.
    sender_name: the name of who wrote it; it may be absent.
    text: what was said.
    at: when, as milliseconds since 1970 or as RFC 3339 has it; the time stamp of the signature where it is absent.
    room: the list of everybody who can read it; where it is absent, those who were known to be there.
    member: within an entry of that list, the id; an entry that is a text or a number is the id itself.
    member_name: within an entry of that list, the name.
    own: the id under which an agent's message went out, where the outside gives it back.
    answer: within what the outside answers to a message that goes out, what it calls that message.
    """

    external: str = "id"
    thread: str = "thread"
    sender: str = "sender.id"
    sender_name: str = "sender.name"
    text: str = "text"
    at: str = "at"
    room: str = "room"
    member: str = "id"
    member_name: str = "name"
    own: str = "own"
    answer: str = "id"


@dataclass(frozen=True, slots=True)
class ConnectorChoice:
    """A connector by name: where conversations come in from, and answers go out to (UI-5).

    scope: whose data comes in, which is labelled with its area.
    key: the environment variable that holds the secret with which messages are signed, both ways.
    reply_to: the address that answers are sent to; without one the connector only brings in.
    labels: further labels of what comes in, beside `untrusted`.
    further_keys: environment variables whose secrets count beside `key` while it is changed for another.
    mapping: where the body of a message has what.
    tolerance_ms: by how much the time stamp of a message may be off.
    timeout_ms: how long one message may take to come in, and one answer to be taken.
    takes_key: whether the outside takes a message that comes again under the same `webhook-id` only once; without that,
        an answer of which nobody knows whether it arrived is not sent again but put before people.
    attempts: how often an answer is sent in all, where that cannot double it; then people have it as a dead letter.
    """

    scope: Scope
    key: str
    reply_to: str | None = None
    labels: tuple[str, ...] = ()
    further_keys: tuple[str, ...] = ()
    mapping: MessageMapping = MessageMapping()
    tolerance_ms: int = 300_000
    timeout_ms: int = 15_000
    takes_key: bool = False
    attempts: int = 12


@dataclass(frozen=True, slots=True)
class Sizes:
    """The largest size of each thing that comes in, in bytes (BI-2).

    spec: a spec or the settings. brief: what a person opens a run with. artifact: the content of one.
    arguments: those of one call. answer: one of a model, with all that it comes in. result: one of a tool.
    shown: how much of a result or an artifact enters a prompt at once; the rest is read on request.
    prompt: a prompt's texts (a model's `context_tokens` may allow less, at three bytes a token).
    text: each text about what was not done. summary: a closing answer.
    message: the body of a message that a connector brings in.
    artifacts_per_run: how many artifacts a finish may publish.
    calls_per_answer: how many calls one answer of a model may make; of more, none is taken.
    """

    spec: int = 256 * KIB
    brief: int = MIB
    artifact: int = 64 * MIB
    arguments: int = 256 * KIB
    answer: int = 8 * MIB
    result: int = 64 * MIB
    shown: int = 64 * KIB
    prompt: int = 2 * MIB
    text: int = 8 * KIB
    summary: int = 32 * KIB
    message: int = 256 * KIB
    artifacts_per_run: int = 64
    calls_per_answer: int = 64


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one installation.

    chain_limit: the hop at which a chain of events stops (EV-6).
    lease_ms: how long a worker that stopped sounding keeps a run.
    corrections: how often a model is told about a mistake before its run ends (BI-3).
    acknowledge_ms: within which time the receiver of a hand-off must take it; then people have the task (MS-7).
    reply_ms: how long a run waits for the reply to a request at most; answer_ms: for a person's answer.
    action_wait_ms: how long a run waits for the result of an action that another run is doing.
    retries: how often work that somebody sent is tried again when its run failed.
    work_at_once: how many parts of a run's work graph are under way at a time; work_nodes: how many a graph may have;
    work_depth: how often a part of the work may be planned in parts again.
    report_words: how many words a report may have; more goes as an artifact (RS-1).
    listeners_at_once: up to so many listeners are opened in the closing transaction; more all go through the outbox.
    loops_named, loop_edges: the bounds of the search for loops (LP-2).
    inline_bytes: content up to this size lies in the database, larger content in the object store.
    synchronous: `FULL` survives the loss of power, `NORMAL` the end of the process alone.
    language: the language of prompts, `en` or `pt-BR`.
    sizes: the largest size of each thing that comes in.
    compaction: when and how older entries of a run are replaced by a summary.
    limits: what one run may use, unless its spec says less.
    task_budget: what one root task may use in all.
    scope_budgets: by scope, what its runs may use in a UTC day.
    models: what each model role stands for, by the role's name.
    labels: the labels that are declared, with their receivers and the role that may release them.
    secrets: by name, the environment variable that holds it and the tools that may use it.
    policies: rules of the installation's own, which ask or deny.
    people: by name, the roles that a person has, each with the scopes in which; without any, everybody has all.
    connectors: by name, where conversations come in from.
    history: how many messages of a conversation a turn is shown before those that engage it.
    modules: Python files or modules that declare tools and function bodies.
    """

    chain_limit: int = 8
    lease_ms: int = 30_000
    corrections: int = 3
    acknowledge_ms: int = 30_000
    reply_ms: int = 3_600_000
    answer_ms: int = 86_400_000
    action_wait_ms: int = 30_000
    retries: int = 1
    work_at_once: int = 8
    work_nodes: int = 2000
    work_depth: int = 2
    report_words: int = 200
    listeners_at_once: int = 16
    loops_named: int = 10
    loop_edges: int = 200_000
    inline_bytes: int = 256 * KIB
    synchronous: Literal["FULL", "NORMAL"] = "FULL"
    language: str = "en"
    sizes: Sizes = field(default_factory=Sizes)
    compaction: CompactionChoice = field(default_factory=CompactionChoice)
    limits: Budget = field(default_factory=lambda: Budget(tool_calls=100, tokens=500_000, wall_ms=3_600_000))
    task_budget: Budget = field(
        default_factory=lambda: Budget(tool_calls=1000, tokens=5_000_000, wall_ms=24 * 3_600_000)
    )
    scope_budgets: Mapping[str, Budget] = field(default_factory=dict)
    models: Mapping[str, ModelChoice] = field(default_factory=dict)
    labels: Mapping[str, DeclaredLabel] = field(default_factory=dict)
    secrets: Mapping[str, SecretGrant] = field(default_factory=dict)
    policies: tuple[Policy, ...] = ()
    people: Mapping[str, Mapping[str, tuple[Scope, ...]]] = field(default_factory=dict)
    connectors: Mapping[str, ConnectorChoice] = field(default_factory=dict)
    history: int = 40
    modules: tuple[str, ...] = ()

    def has_role(self, person: str, role: str, scope: Scope) -> bool:
        """Tell whether a person has a role in a scope. Where the settings name no people, whoever may open the
        installation's folder has all roles."""
        if not self.people:
            return True
        return any(place.reaches(scope) for place in self.people.get(person, {}).get(role, ()))

    @property
    def vocabulary(self) -> Vocabulary:
        """The labels this installation knows."""
        return Vocabulary(self.labels)
