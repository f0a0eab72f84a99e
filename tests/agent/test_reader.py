"""The reader of specs: YAML and Python give the same spec, and every fault is told with its place."""

import copy
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.agent.reader import SPEC_KEYS, form_of, read_spec, spec_of
from interlock.agent.spec import Emission, Spec, Trigger
from interlock.errors import InterlockError
from interlock.form.problem import FormError
from interlock.gate.budget import Budget
from interlock.scope.scope import Address, Scope
from tests.bad_input import corpora as bad_input
from tests.bad_input.corpora import refusal

WHOLE = """\
name: triage
scope: acme/platform
instructions: |
  Read the report.
  Say no, on time.
model: strong
tools: [scan_log, page]
limits: {tool_calls: 20, tokens: 100000, money: "1.50", wall_time: 10m}
starts_on:
  - event: incident.opened
    from: [globex, acme/platform]
  - event: incident.reopened
    from: globex/support
emits:
  - event: incident.triaged
    context: incident
    artifacts: [triage_summary, final_answer]
    to: [acme/platform]
sends_to: [billing@acme/finance]
hands_to: ["steward@*"]
adds_labels: [pii, area:acme/platform, untrusted]
"""
FORM: dict[str, Any] = {
    "name": "triage",
    "scope": "acme/platform",
    "instructions": "Read the report.\nSay no, on time.\n",
    "model": "strong",
    "tools": ("scan_log", "page"),
    "limits": {"tool_calls": 20, "tokens": 100_000, "money": 1.5, "wall_time": 600},
    "starts_on": [
        {"event": "incident.opened", "from": ["globex", "acme/platform"]},
        {"event": "incident.reopened", "from": ["globex/support"]},
    ],
    "emits": [
        {
            "event": "incident.triaged",
            "context": "incident",
            "artifacts": ["triage_summary", "final_answer"],
            "to": "acme/platform",
        }
    ],
    "sends_to": ["billing@acme/finance"],
    "hands_to": ["steward@*"],
    "adds_labels": ["pii", "area:acme/platform", "untrusted"],
}
SMALL: dict[str, Any] = {"name": "a", "scope": "acme", "instructions": "Do it."}


def problems(text: str) -> list[dict[str, Any]]:
    with pytest.raises(FormError) as caught:
        read_spec(text, "a.yaml")
    refusal(caught.value)
    assert caught.value.code == "spec.invalid"
    assert caught.value.params["problems"] == caught.value.problems
    for problem in caught.value.problems:
        assert problem["file"] == "a.yaml"
        assert problem["line"] >= 1
        assert problem["column"] >= 1
    return caught.value.problems


def faults(**changes: Any) -> list[dict[str, Any]]:
    with pytest.raises(FormError) as caught:
        spec_of({**SMALL, **changes})
    refusal(caught.value)
    assert all("file" not in problem and problem["where"] for problem in caught.value.problems)
    return caught.value.problems


@pytest.mark.rule("AG-1")
def test_yaml_and_python_give_the_same_spec() -> None:
    from_yaml, from_python = read_spec(WHOLE, "triage.yaml"), spec_of(FORM)
    assert from_yaml == from_python
    assert from_yaml.digest == from_python.digest
    assert read_spec(WHOLE.encode(), "elsewhere.yml") == from_yaml
    assert from_yaml == Spec(
        name="triage",
        scope=Scope("acme/platform"),
        instructions="Read the report.\nSay no, on time.\n",
        model="strong",
        tools=("scan_log", "page"),
        limits=Budget(20, 100_000, 1_500_000, 600_000),
        starts_on=(
            Trigger("incident.opened", (Scope("globex"), Scope("acme/platform"))),
            Trigger("incident.reopened", (Scope("globex/support"),)),
        ),
        emits=(
            Emission(
                "incident.triaged", "incident", ("triage_summary", "final_answer"), (Scope("acme/platform"),)
            ),
        ),
        sends_to=(Address("billing@acme/finance"),),
        hands_to=(Address("steward@*"),),
        adds_labels=("pii", "area:acme/platform", "untrusted"),
    )


@pytest.mark.rule("AG-1", "AG-6")
def test_a_function_is_the_other_body() -> None:
    spec = read_spec("{name: a, scope: '*', function: 'triage:triage', instructions: }", "a.yaml")
    assert (spec.function, spec.instructions, spec.code_digest) == ("triage:triage", "", None)
    assert spec_of({"name": "a", "scope": "*", "function": "triage:triage"}) == spec
    assert spec.digest != spec_of({"name": "a", "scope": "*", "function": "triage:other"}).digest


@pytest.mark.rule("AG-2")
def test_every_problem_of_a_spec_is_told_at_once_with_its_place() -> None:
    found = problems(
        "nam: triage\n"
        "scope: Acme/Platform\n"
        "instructions: hi\n"
        "limits:\n"
        "  tool_calls: many\n"
        "  token: 5\n"
        "emits:\n"
        "  - event: Incident.Opened\n"
        "    context: incident\n"
        "    artifacts: [a, a]\n"
    )
    assert [(item["code"], item["line"], item["column"], item["path"]) for item in found] == [
        ("form.unknown_key", 1, 1, "nam"),
        ("form.malformed", 2, 8, "scope"),
        ("form.wrong_type", 5, 15, "limits.tool_calls"),
        ("form.unknown_key", 6, 3, "limits.token"),
        ("form.malformed", 8, 12, "emits[0].event"),
        ("form.doubled", 10, 20, "emits[0].artifacts[1]"),
    ]
    assert [item.get("nearest") for item in found] == [
        *("name", "acme/platform", None, "tokens", "incident.opened", None),
    ]
    assert found[2]["value"] == "many"
    assert found[0]["accepted"] == sorted(SPEC_KEYS)


@pytest.mark.rule("AG-2")
def test_the_sentences_say_file_line_value_and_what_would_be_accepted() -> None:
    with pytest.raises(FormError) as caught:
        read_spec("name: triage\nscop: acme\ninstructions: x\nlimits: {tool_calls: many}\n", "triage.yaml")
    assert str(caught.value) == (
        "spec.invalid: The spec from triage.yaml was not accepted. Problems found: 2.\n"
        "- triage.yaml:2:1 `scop`: `scop` is not a key that is known here. Did you mean `scope`? Known are: "
        f"{', '.join(sorted(SPEC_KEYS))}.\n"
        "- triage.yaml:4:22 `limits.tool_calls`: `many` is a text, where something else is expected. "
        "Write a whole number, 0 or more.\n"
        "Correct the problems and publish again; nothing was stored."
    )
    told = caught.value.what("pt-BR")
    assert "Você quis dizer `scope`?" in told
    assert (
        "`many` é um texto, mas aqui se espera outra coisa. Escreva um número inteiro, a partir de 0." in told
    )
    as_json = json.loads(json.dumps(caught.value.as_dict("pt-BR")))
    assert as_json["problems"][0]["what"].startswith("`scop` não é uma chave")


@pytest.mark.rule("AG-2", "BI-1")
@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"name": None}, "form.missing_key", "name"),
        ({"name": 5}, "form.wrong_type", "name"),
        ({"name": True}, "form.wrong_type", "name"),
        ({"name": "a" * 64}, "form.malformed", "name"),
        ({"name": "a_b"}, "form.malformed", "name"),
        ({"scope": ["acme"]}, "form.wrong_type", "scope"),
        ({"scope": "acme/a/b"}, "form.malformed", "scope"),
        ({"instructions": ["a"]}, "form.wrong_type", "instructions"),
        ({"instructions": "a\0b"}, "form.character", "instructions"),
        ({"instructions": "a\ud83db"}, "form.character", "instructions"),
        ({"instructions": " \n"}, "spec.no_body", "instructions"),
        ({"instructions": None}, "spec.no_body", "instructions"),
        ({"function": "triage:triage"}, "spec.two_bodies", "function"),
        ({"instructions": "", "function": "triage"}, "form.malformed", "function"),
        ({"instructions": "", "function": "os.system('x'):f"}, "form.malformed", "function"),
        ({"model": "De fault"}, "form.malformed", "model"),
        ({"tools": "scan_log"}, "form.wrong_type", "tools"),
        ({"tools": ["scan_log", "scan_log"]}, "form.doubled", "tools[1]"),
        ({"tools": [{"name": "x"}]}, "form.wrong_type", "tools[0]"),
        ({"tools": [None]}, "form.empty_item", "tools[0]"),
        ({"tools": ["final_answer"]}, "spec.final_answer", "tools[0]"),
        ({"limits": 5}, "form.wrong_type", "limits"),
        ({"limits": {"tool_calls": -1}}, "form.malformed", "limits.tool_calls"),
        ({"limits": {"tool_calls": 2**63}}, "form.malformed", "limits.tool_calls"),
        ({"limits": {"tool_calls": 10**6000}}, "form.malformed", "limits.tool_calls"),
        ({"limits": {"tool_calls": 1.5}}, "form.wrong_type", "limits.tool_calls"),
        ({"limits": {"tool_calls": True}}, "form.wrong_type", "limits.tool_calls"),
        ({"limits": {"money": "1,50"}}, "form.malformed", "limits.money"),
        ({"limits": {"money": "0.0000001"}}, "form.malformed", "limits.money"),
        ({"limits": {"money": -1}}, "form.malformed", "limits.money"),
        ({"limits": {"money": float("nan")}}, "form.malformed", "limits.money"),
        ({"limits": {"money": 10**5000}}, "form.malformed", "limits.money"),
        ({"limits": {"wall_time": "10 minutes"}}, "form.malformed", "limits.wall_time"),
        ({"limits": {"wall_time": 0}}, "form.malformed", "limits.wall_time"),
        ({"limits": {"wall_ms": 5}}, "form.unknown_key", "limits.wall_ms"),
        ({"starts_on": {"event": "a"}}, "form.wrong_type", "starts_on"),
        ({"starts_on": ["incident.opened"]}, "form.wrong_type", "starts_on[0]"),
        ({"starts_on": [{"from": "acme"}]}, "form.missing_key", "starts_on[0].event"),
        ({"starts_on": [{"event": "a", "from": "acme_x"}]}, "form.malformed", "starts_on[0].from"),
        ({"starts_on": [{"event": "a", "from": ["*", "*"]}]}, "form.doubled", "starts_on[0].from[1]"),
        ({"starts_on": [{"event": "a"}, {"event": "a"}]}, "form.doubled", "starts_on[1].event"),
        ({"starts_on": [{"event": "a..b"}]}, "form.malformed", "starts_on[0].event"),
        ({"starts_on": [{"event": "a" * 129}]}, "form.malformed", "starts_on[0].event"),
        ({"starts_on": [{"event": "final_answer"}]}, "spec.final_answer", "starts_on[0].event"),
        ({"starts_on": [{"schedule": "daily"}]}, "spec.unsupported_trigger", "starts_on[0].schedule"),
        ({"starts_on": [{"message": "x"}]}, "spec.message_type", "starts_on[0].message"),
        ({"starts_on": [{"message": ["result"]}]}, "spec.message_type", "starts_on[0].message[0]"),
        ({"name": "people"}, "spec.reserved_name", "name"),
        ({"starts_on": [{"connector": "X Y"}]}, "form.malformed", "starts_on[0].connector"),
        ({"starts_on": [{"connector": "x", "way": "lurk"}]}, "form.malformed", "starts_on[0].way"),
        ({"starts_on": [{"connector": "x"}, {"connector": "x"}]}, "form.doubled", "starts_on[1].connector"),
        ({"emits": [{"event": "a"}]}, "form.missing_key", "emits[0].context"),
        ({"emits": [{"event": "a", "context": "A"}]}, "form.malformed", "emits[0].context"),
        ({"emits": [{"event": "a", "context": "final_answer"}]}, "spec.final_answer", "emits[0].context"),
        ({"emits": [{"event": "final_answer", "context": "a"}]}, "spec.final_answer", "emits[0].event"),
        ({"sends_to": ["billing"]}, "form.malformed", "sends_to[0]"),
        ({"hands_to": ["a@acme", "a@acme"]}, "form.doubled", "hands_to[1]"),
        ({"adds_labels": ["PII"]}, "form.malformed", "adds_labels[0]"),
        ({"adds_labels": ["area:a/b/c"]}, "form.malformed", "adds_labels[0]"),
        ({"adds_labels": [""]}, "form.malformed", "adds_labels[0]"),
        ({"code_digest": "x"}, "form.unknown_key", "code_digest"),
        ({"starts-on": []}, "form.unknown_key", "starts-on"),
    ],
)
def test_each_fault_is_named_with_its_path(change: dict[str, Any], code: str, path: str) -> None:
    assert [(item["code"], item["path"]) for item in faults(**change)] == [(code, path)]


@pytest.mark.rule("AG-2", "BI-1")
@pytest.mark.fault("F42")
@pytest.mark.parametrize(
    "name",
    ["", ".a", "-a", "A", "a b", "a" * 65, "a\0", "a\ud83d", "é", "😀", "a/b", "a\n", 3, ["a"], {"a": "b"}],
)
def test_a_malformed_artifact_name_is_refused(name: object) -> None:
    (problem,) = faults(emits=[{"event": "a", "context": "a", "artifacts": [name]}])
    assert problem["path"] == "emits[0].artifacts[0]"


@pytest.mark.rule("CS-3")
@pytest.mark.parametrize(
    "meaning", [{"final_answer": "the whole log"}, {"name": "final_answer", "from": "x"}]
)
def test_the_final_answer_keeps_its_meaning(meaning: dict[str, str]) -> None:
    (problem,) = faults(emits=[{"event": "a", "context": "a", "artifacts": [meaning]}])
    assert problem["code"] == "spec.final_answer"
    spec = spec_of({**SMALL, "emits": [{"event": "a", "context": "a", "artifacts": ["final_answer"]}]})
    assert spec.exposed == {"final_answer"}


@pytest.mark.rule("AG-2", "BI-1")
@pytest.mark.parametrize("text", ["", "# nothing\n", "just text", "[a, b]", "5", "a: 1"])
def test_what_is_no_mapping_with_name_and_scope_is_no_spec(text: str) -> None:
    assert problems(text)


@pytest.mark.rule("AG-2")
def test_yaml_that_cannot_be_read_has_its_place_too() -> None:
    with pytest.raises(InterlockError) as caught:
        read_spec("name: a\nname: b\n", "a.yaml")
    assert caught.value.code == "yaml.doubled_key"
    assert (caught.value.params["line"], caught.value.params["column"]) == (2, 1)


@pytest.mark.rule("BI-2")
def test_the_limit_is_stated_for_yaml_and_for_python() -> None:
    for read in (
        lambda: read_spec("x" * 101, "a.yaml", limit=100),
        lambda: spec_of({**SMALL, "instructions": "x" * 500}, limit=500),
    ):
        with pytest.raises(InterlockError) as caught:
            read()
        assert caught.value.code in {"yaml.too_large", "spec.too_large"}
        assert caught.value.params["limit"] in {100, 500}
        refusal(caught.value)


@pytest.mark.rule("BI-1")
def test_thousands_of_problems_are_counted_and_some_told() -> None:
    with pytest.raises(FormError) as caught:
        read_spec("\n".join(f"k{number}: 1" for number in range(5000)), "a.yaml")
    assert len(caught.value.problems) == 50
    assert caught.value.params["count"] == 5003
    assert len(str(caught.value)) < 40_000


@pytest.mark.rule("AG-2", "BI-1")
def test_look_alikes_are_refused_as_names_and_their_twin_is_offered() -> None:
    offered = wanted = 0
    for letter, plain in bad_input.look_alikes().items():
        text = f"tri{letter}ge"
        with pytest.raises(FormError) as caught:
            spec_of({**SMALL, "name": text})
        (problem,) = caught.value.problems
        assert problem["code"] == "form.malformed"
        nearest = problem.get("nearest")
        if plain.lower() in "abcdefghijklmnopqrstuvwxyz0123456789-":
            wanted += 1
            offered += nearest == f"tri{plain.lower()}ge"
        assert nearest is None or nearest.isascii()
    assert offered / wanted > 0.8, f"{offered} of {wanted}"


@pytest.mark.rule("AG-2")
@pytest.mark.parametrize(
    ("name", "twin"),
    [("Triage", "triage"), ("tгiagе", "triage"), ("triáge", "triage"), ("triage bot", "triage-bot")],
)
def test_a_name_is_answered_with_its_twin(name: str, twin: str) -> None:
    assert faults(name=name)[0]["nearest"] == twin
    assert faults(scope=f"acme/{name}")[0]["nearest"] == f"acme/{twin}"


@pytest.mark.rule("GT-7")
def test_a_secret_in_the_wrong_place_is_not_repeated() -> None:
    secrets = ["sk-proj-abcdefghij1234567890", "ghp_abcDEF1234567890abcdef", "https://user:pass@host/"]
    for secret in secrets:
        with pytest.raises(FormError) as caught:
            spec_of({**SMALL, "name": secret, "scope": secret, "model": secret, secret: 1, "limits": secret})
        assert len(caught.value.problems) >= 2
        assert secret not in str(caught.value)
        assert secret not in json.dumps(caught.value.as_dict())
        assert secret.lower() not in str(caught.value.params)


@pytest.mark.rule("AG-2", "BI-1")
@pytest.mark.fault("F42")
def test_the_corpora_as_a_spec_and_as_every_field_give_named_errors() -> None:
    for text in bad_input.corpus():
        try:
            read_spec(text, "a.yaml")
        except InterlockError as error:
            assert error.code == "spec.invalid" or error.code.startswith("yaml.")
            refusal(error)
        else:
            pytest.fail(f"{text!r} is no spec")


@pytest.mark.rule("AG-2", "BI-1")
@pytest.mark.parametrize("key", SPEC_KEYS)
def test_naughty_strings_in_each_field_give_a_spec_or_a_named_error(key: str) -> None:
    for text in bad_input.naughty_strings():
        for value in (text, [text], {text: text}, [{"event": text, "context": text, "artifacts": [text]}]):
            try:
                spec = spec_of({**SMALL, key: value})
            except FormError as error:
                assert len(error.what("pt-BR")) < 12_000
            else:
                assert spec_of(form_of(spec)) == spec


NAMES = st.from_regex(r"[a-z0-9-]{1,12}", fullmatch=True)
ARTIFACTS = st.from_regex(r"[a-z0-9_][a-z0-9_.-]{0,9}", fullmatch=True)
EVENTS = st.from_regex(r"[a-z]{1,6}(\.[a-z0-9_-]{0,1}[a-z]{1,4}){0,2}", fullmatch=True).filter(
    lambda text: ".-" not in text and "._" not in text
)
SCOPES = st.one_of(st.just("*"), NAMES, st.builds("{}/{}".format, NAMES, NAMES)).map(Scope)
ADDRESSES = st.builds("{}@{}".format, NAMES, SCOPES).map(Address)
AMOUNTS = st.none() | st.integers(0, 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
    str.strip
)


def some(items: st.SearchStrategy[Any], by: Any = None) -> st.SearchStrategy[Any]:
    return st.lists(items, max_size=3, unique_by=by or (lambda item: item)).map(tuple)


SPECS = st.builds(
    Spec,
    name=NAMES,
    scope=SCOPES,
    instructions=TEXTS,
    model=st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True),
    tools=some(st.from_regex(r"[a-z0-9_-]{1,10}", fullmatch=True)),
    limits=st.builds(Budget, AMOUNTS, AMOUNTS, AMOUNTS, st.none() | st.integers(1, 2**63 - 1)),
    starts_on=some(st.builds(Trigger, EVENTS, some(SCOPES)), lambda item: item.event),
    emits=some(
        st.builds(Emission, EVENTS, ARTIFACTS, some(ARTIFACTS), some(SCOPES)), lambda item: item.event
    ),
    sends_to=some(ADDRESSES),
    hands_to=some(ADDRESSES),
    adds_labels=some(st.sampled_from(["pii", "untrusted", "area:acme", "area:acme/hr"])),
)


def _yaml(form: dict[str, Any]) -> str:
    """Write a form as YAML flow style, every character outside ASCII as an escape of YAML."""
    text = json.dumps(form, ensure_ascii=False)
    return "".join(letter if " " <= letter <= "~" else f"\\U{ord(letter):08x}" for letter in text)


@pytest.mark.rule("AG-1")
@settings(max_examples=80, deadline=None)
@given(SPECS)
def test_a_spec_written_as_a_form_reads_back_the_same(spec: Spec) -> None:
    form = form_of(spec)
    before = copy.deepcopy(form)
    assert spec_of(form) == spec
    assert form == before
    assert spec_of(form).digest == spec.digest == Spec.from_dict(spec.as_dict()).digest
    assert read_spec(_yaml(form), "a.yaml") == spec


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*SPEC_KEYS, "event", 3]), inner, max_size=4)
    ),
    max_leaves=10,
)


@pytest.mark.rule("BI-1")
@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(SPEC_KEYS), VALUES) | VALUES)
def test_any_python_value_gives_a_spec_or_a_named_error(form: Any) -> None:
    for given_form in (form, {**SMALL, **form} if isinstance(form, dict) else form):
        try:
            assert isinstance(spec_of(given_form), Spec)
        except FormError as error:
            refusal(error)


@pytest.mark.rule("BI-1")
@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(WHOLE)), st.binary(max_size=6), st.integers(0, 12))
def test_a_spec_with_random_bytes_in_it_gives_a_spec_or_a_named_error(
    at: int, noise: bytes, cut: int
) -> None:
    source = WHOLE.encode()
    for text in (source[:at] + noise + source[at + cut :], noise):
        try:
            assert isinstance(read_spec(text, "a.yaml"), Spec)
        except InterlockError as error:
            refusal(error)


def test_reading_specs_and_settings_loads_no_heavy_library() -> None:
    code = (
        "import sys, interlock.agent.reader, interlock.settings_reader;"
        "print([name for name in ('pydantic', 'babel', 'asyncio', 'pydantic_ai') if name in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )
