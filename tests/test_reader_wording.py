"""The wording of the readers: both languages say the same with the same values, errors with a remedy."""

import string
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

import interlock.catalogue
from interlock.catalogue import LANGUAGES, say

DOMAINS = ("barrier", "form", "json", "label", "scope", "settings", "spec", "tool", "yaml")
WITHOUT_REMEDY = ("barrier.", "form.kind.", "form.accepts.", "yaml.why.", "json.why.")


def sentences(domain: str, language: str) -> dict[str, str]:
    folder = Path(interlock.catalogue.__file__).parent / "locale" / language.replace("-", "_") / "LC_MESSAGES"
    with (folder / f"{domain}.po").open("rb") as file:
        return {str(entry.id): str(entry.string) for entry in read_po(file) if entry.id}


def values(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


@pytest.mark.rule("AG-2", "BI-1")
@pytest.mark.parametrize("domain", DOMAINS)
def test_both_languages_say_the_same_with_the_same_values(domain: str) -> None:
    english, portuguese = (sentences(domain, language) for language in LANGUAGES)
    assert english.keys() == portuguese.keys()
    for code, sentence in english.items():
        assert values(sentence) == values(portuguese[code]), code
        assert code.startswith(f"{domain}.")
        params = dict.fromkeys(values(sentence), "x")
        assert say(code, "en", **params) != say(code, "pt-BR", **params), code
        assert code not in say(code, "pt-BR", **params), "the catalogue is not compiled"


@pytest.mark.rule("BI-1")
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_error_has_a_remedy(domain: str) -> None:
    found = sentences(domain, "en")
    for code in found:
        if not code.startswith(WITHOUT_REMEDY) and not code.endswith((".remedy", ".nearest")):
            assert f"{code}.remedy" in found
