"""The reader of specs: YAML text or plain Python values become the same checked spec (AG-1, AG-2).

Every problem of a spec is told at once, with file, line, column, the offending value and what would be
accepted.
"""

import re
from collections.abc import Mapping
from typing import Any

from interlock import canonical
from interlock.agent.spec import FINAL_ANSWER, Attendance, Emission, Spec, Trigger
from interlock.errors import InterlockError
from interlock.form.budget import budget_of, form_of_budget
from interlock.form.form import Form
from interlock.form.problem import Report, shown
from interlock.form.yaml_text import read
from interlock.scope.label import DECLARED, UNTRUSTED, Vocabulary
from interlock.scope.scope import INSTALLATION, NAME, Address, Scope
from interlock.settings import Sizes

__all__ = ["SPEC_KEYS", "form_of", "read_spec", "spec_of"]

SPEC_KEYS = (
    "name",
    "scope",
    "instructions",
    "function",
    "model",
    "tools",
    "functions",
    "limits",
    "starts_on",
    "emits",
    "sends_to",
    "hands_to",
    "adds_labels",
)
SPEC_BYTES = Sizes().spec
LATER_TRIGGERS = frozenset({"schedule"})
WAYS = ("engage", "observe")
MESSAGES = ("request", "question", "status")
"""The types of messages that may start an agent; the others close or answer something."""
PEOPLE = "people"
"""The name of every human queue."""

TOOL = re.compile(r"[a-z0-9_-]{1,63}\Z", re.ASCII)
EVENT = re.compile(r"(?=.{1,128}\Z)[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9][a-z0-9_-]*)*\Z", re.ASCII)
ARTIFACT = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,63}\Z", re.ASCII)
ROLE = re.compile(r"[a-z][a-z0-9_-]{0,62}\Z", re.ASCII)
WORDS = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*"
FUNCTION = re.compile(rf"(?=.{{1,255}}\Z){WORDS}:{WORDS}\Z", re.ASCII)


def read_spec(text: str | bytes, file: str, *, limit: int = SPEC_BYTES) -> Spec:
    """Read a spec from YAML of at most `limit` bytes; `file` names it in errors.

    Raises InterlockError of the domain `yaml` when the text is not one YAML document, and FormError
    `spec.invalid` with all problems of what it says.
    """
    marked = read(text, file, limit)
    return _spec(Form(marked.value, Report(marked)))


def spec_of(form: Mapping[str, Any], *, limit: int = SPEC_BYTES) -> Spec:
    """Make a spec of plain Python values that have the same shape as the YAML, with the same checks.

    Raises FormError `spec.invalid`, and InterlockError `spec.too_large` for more than `limit` bytes.
    """
    spec = _spec(Form(form, Report()))
    size = len(canonical.encode(spec.as_dict()))
    if size > limit:
        raise InterlockError("spec.too_large", value=spec.address, size=size, limit=limit)
    return spec


def form_of(spec: Spec) -> dict[str, Any]:
    """Write a spec in the shape that people write; `spec_of` reads it back as the same spec.

    The digest of a function's code is no part of it: whoever publishes takes that from the code.
    """
    form = {**spec.as_dict(), "limits": form_of_budget(spec.limits)}
    accepts = form.pop("accepts")
    form["starts_on"] += [{"message": accepts}] if accepts else []
    form["starts_on"] += form.pop("attends", [])
    del form["code_digest"]
    return form


def _spec(form: Form) -> Spec:
    report = form.report
    if not form.fields(SPEC_KEYS, ("name", "scope")):
        report.refuse("spec.invalid")
    spec = Spec(
        name=_name(form.at("name")),
        scope=form.at("scope").made(Scope, "scope") or INSTALLATION,
        instructions=form.at("instructions").text(),
        function=form.at("function").matching(FUNCTION, "function"),
        model=form.at("model").matching(ROLE, "model_role") or "default",
        tools=form.at("tools").unique(_tool),
        limits=budget_of(form.at("limits")),
        starts_on=_triggers(form.at("starts_on")),
        emits=_emissions(form.at("emits")),
        sends_to=form.at("sends_to").unique(lambda item: item.made(Address, "address")),
        hands_to=form.at("hands_to").unique(lambda item: item.made(Address, "address")),
        adds_labels=form.at("adds_labels").unique(_label),
        accepts=_accepted(form.at("starts_on")),
        attends=_attended(form.at("starts_on")),
        functions=form.at("functions").unique(lambda item: item.matching(FUNCTION, "function")),
    )
    _check_body(form)
    if report:
        report.refuse("spec.invalid")
    return spec


def _name(form: Form) -> str:
    name = form.matching(NAME, "name") or ""
    if name == PEOPLE:
        form.refuse("spec.reserved_name", value=name)
    return name


def _accepted(form: Form) -> tuple[str, ...]:
    found: list[str] = []
    if not isinstance(form.value, list | tuple):
        return ()  # told by the triggers already
    for item in (Form(value, form.report, (*form.path, index)) for index, value in enumerate(form.value)):
        if (
            isinstance(item.value, Mapping)
            and "message" in item.value
            and item.fields(("message",), ("message",))
        ):
            found += [
                kind for kind in item.at("message").unique(_message_type, single=True) if kind not in found
            ]
    return tuple(sorted(found, key=MESSAGES.index))


def _attended(form: Form) -> tuple[Attendance, ...]:
    found: dict[str, Attendance] = {}
    if not isinstance(form.value, list | tuple):
        return ()  # told by the triggers already
    for index, value in enumerate(form.value):
        item = Form(value, form.report, (*form.path, index))
        if not isinstance(value, Mapping) or "connector" not in value or "message" in value:
            continue
        if item.fields(("connector", "way"), ("connector",)):
            name = item.at("connector").matching(NAME, "name")
            way = item.at("way").choice(WAYS, "engage")
            if name in found:
                item.at("connector").refuse("form.doubled", value=name)
            elif name is not None:
                found[name] = Attendance(name, way)
    return tuple(found.values())


def _message_type(item: Form) -> str | None:
    if isinstance(item.value, str) and item.value in MESSAGES:
        return item.value
    item.refuse("spec.message_type", value=shown(item.value), known=list(MESSAGES))
    return None


def _check_body(form: Form) -> None:
    instructions, function = form.at("instructions"), form.at("function")
    written = isinstance(instructions.value, str) and bool(instructions.value.strip())
    if written and function.value is not None:
        function.refuse("spec.two_bodies", at_key=True, value=shown(function.value))
    elif function.value is None and not written and isinstance(instructions.value, str | None):
        instructions.refuse("spec.no_body", at_key=True)


def _tool(item: Form) -> str | None:
    return item.matching(TOOL, "tool") if _keeps_meaning(item) else None


def _keeps_meaning(item: Form) -> bool:
    """Refuse `final_answer` where it would mean something else than the run's closing answer (CS-3)."""
    if isinstance(item.value, str) and item.value == FINAL_ANSWER:
        item.refuse("spec.final_answer", value=FINAL_ANSWER)
        return False
    return True


def _label(item: Form) -> str | None:
    return item.made(_well_formed_label, "label")


def _well_formed_label(text: str) -> str:
    """Give a label of any well-formed kind; whether it is declared is known where the spec is published."""
    if not isinstance(text, str) or not (
        text == UNTRUSTED or DECLARED.match(text) or Vocabulary().origin(text)
    ):
        raise InterlockError("label.undeclared", value=str(text), known=[])
    return str(text)


def _scopes(form: Form) -> tuple[Scope, ...]:
    return form.unique(lambda item: item.made(Scope, "scope"), single=True)


def _triggers(form: Form) -> tuple[Trigger, ...]:
    found: dict[str, Trigger] = {}
    for item in form.items():
        if isinstance(item.value, Mapping) and (later := sorted(LATER_TRIGGERS & set(item.value))):
            item.at(later[0]).refuse("spec.unsupported_trigger", at_key=True, value=later[0])
        elif isinstance(item.value, Mapping) and ("message" in item.value or "connector" in item.value):
            continue
        elif item.fields(("event", "from"), ("event",)):
            event = _event(item.at("event"), found)
            heard_from = _scopes(item.at("from"))
            if event is not None:
                found[event] = Trigger(event, heard_from)
    return tuple(found.values())


def _event(form: Form, found: Mapping[str, Any]) -> str | None:
    event = form.matching(EVENT, "event") if _keeps_meaning(form) else None
    if event in found:
        form.refuse("form.doubled", value=event)
        return None
    return event


def _emissions(form: Form) -> tuple[Emission, ...]:
    found: dict[str, Emission] = {}
    for item in form.items():
        if not item.fields(("event", "context", "artifacts", "to"), ("event", "context")):
            continue
        event = _event(item.at("event"), found)
        context = item.at("context")
        name = context.matching(ARTIFACT, "context") if _keeps_meaning(context) else None
        artifacts = item.at("artifacts").unique(_artifact)
        to = _scopes(item.at("to"))
        if event is not None:
            found[event] = Emission(event, name or "", artifacts, to)
    return tuple(found.values())


def _artifact(item: Form) -> str | None:
    meaning = item.value
    if isinstance(meaning, Mapping) and (FINAL_ANSWER in meaning or FINAL_ANSWER in meaning.values()):
        item.refuse("spec.final_answer", value=FINAL_ANSWER)
        return None
    return item.matching(ARTIFACT, "artifact")
