"""The message catalogue: every sentence a person reads, by id, in English and Brazilian Portuguese.

A message id is `domain.name`; the domain is the file under `locale/<language>/LC_MESSAGES/`.
Steps of the ledger keep an id with its parameters (never the sentence), so a trail is read in the
reader's language. Catalogues are gettext files: `.po` is written by people, `.mo` is made from it by
`python -m interlock.catalogue`.
"""

import gettext
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["LANGUAGES", "Text", "compile_catalogues", "language_of", "say"]

LANGUAGES = ("en", "pt-BR")
LOCALE = Path(__file__).parent / "locale"


class Text(dict[str, Any]):
    """A message as a step keeps it: `{"id": ..., "with": {...}}`, put into words when it is read."""

    def __init__(self, message: str, /, **params: Any) -> None:
        super().__init__({"id": message, "with": params} if params else {"id": message})


def language_of(wanted: str | None) -> str:
    """Give the supported language nearest to a tag such as `pt_BR.UTF-8`; English when there is none."""
    tag = (wanted or "").replace("_", "-").split(".")[0].lower()
    return "pt-BR" if tag.startswith("pt") else "en"


@cache
def _domain(domain: str, language: str) -> gettext.NullTranslations:
    return gettext.translation(domain, LOCALE, [language.replace("-", "_")], fallback=True)


class _Listed(list[Any]):
    """A list in a sentence, joined by a comma or by what the placeholder says: `{agents: → }`; a dash if empty."""

    def __format__(self, joint: str) -> str:
        return (joint or ", ").join(map(str, self)) or "–"


def _shown(value: Any, language: str) -> Any:
    if isinstance(value, dict) and "id" in value:
        return say(value, language)
    if isinstance(value, list | tuple):
        return _Listed(
            say(item, language) if isinstance(item, dict) and "id" in item else item for item in value
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if abs(value) < 1000 and isinstance(value, int):
        return value
    from babel.numbers import format_decimal  # noqa: PLC0415  costs 30 ms at start, needed for large numbers only

    return format_decimal(value, locale=language.replace("-", "_"))


def say(message: str | dict[str, Any], language: str = "en", /, **params: Any) -> str:
    """Put a message id, or a `Text` taken from a step, into words.

    An id that no catalogue has comes back as it is, with its parameters: a missing sentence must never
    hide what happened.
    """
    if isinstance(message, dict):
        params = {**message.get("with", {}), **params}
        message = str(message["id"])
    domain = message.partition(".")[0]
    template = _domain(domain, language).gettext(message)
    if template == message:
        return f"{message} {params}" if params else message
    try:
        return template.format_map({name: _shown(value, language) for name, value in params.items()})
    except (KeyError, IndexError, ValueError):
        return f"{template} {params}"


def compile_catalogues() -> list[Path]:
    """Write the `.mo` file beside every `.po` file, and give the paths written.

    The same `.po` gives the same bytes: the time of compiling, which the format has a place for, is left out.
    """
    from babel.messages.mofile import write_mo  # noqa: PLC0415  a tool of the developer, not of the run time
    from babel.messages.pofile import read_po  # noqa: PLC0415

    written = []
    for source in sorted(LOCALE.glob("*/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        with source.open("rb") as po, target.open("wb") as mo:
            sentences = read_po(po, abort_invalid=True)
            sentences.creation_date = sentences.revision_date = datetime.fromtimestamp(0, UTC)
            write_mo(mo, sentences)
        written.append(target)
    return written


if __name__ == "__main__":
    for path in compile_catalogues():
        print(path)
