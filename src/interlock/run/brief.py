"""A brief: what a person opens a run with, checked before anything of it is kept (BI-1)."""

import re
from collections.abc import Collection
from typing import Any

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.connector.tool import Toolbox
from interlock.errors import InterlockError
from interlock.run.opening import Brief
from interlock.scope.label import Vocabulary
from interlock.scope.scope import Scope

__all__ = ["EFFECTS", "checked_brief", "checked_person", "encoded_brief"]

PERSON = 128
"""How many characters a person's name may have."""

EFFECTS = ("read", "write", "destructive")
RECEIVER = re.compile(r"(?:tool|connector):[A-Za-z0-9_.#@/-]{1,200}\Z", re.ASCII)


def checked_person(name: Any) -> str:
    """Give the name of a person. Raises InterlockError `run.bad_person` for what no page could show."""
    if not isinstance(name, str) or not name.strip() or len(name) > PERSON or not name.isprintable():
        raise InterlockError("run.bad_person", value=str(name))
    return name


def encoded_brief(brief: Any, limit: int) -> bytes:
    """Give the canonical JSON of a brief. Raises InterlockError `brief.not_json` or `brief.too_large`."""
    try:
        data = canonical.encode_foreign(brief)
    except (TypeError, ValueError, RecursionError) as error:
        raise InterlockError("brief.not_json", why=str(error)) from None
    if len(data) > limit:
        raise InterlockError("brief.too_large", size=len(data), limit=limit)
    return data


def checked_brief(
    person: str,
    content: str | None,
    spec: Spec,
    toolbox: Toolbox,
    vocabulary: Vocabulary,
    labels: Collection[str],
    tools: Collection[str] | None,
    effects: Collection[str] | None,
    released: Collection[tuple[str, str]],
) -> Brief:
    """Give the brief with what goes with it: labels, contract and declared releases. `content` is its digest.

    Raises InterlockError `label.undeclared`, `run.unknown_tool`, `run.unknown_effect` or `run.bad_receiver`.
    """
    known = {*spec.tools, *toolbox.declarations}
    return Brief(
        person,
        content,
        vocabulary.check(labels),
        None if tools is None else _named(tools, known, "run.unknown_tool"),
        None if effects is None else _named(effects, EFFECTS, "run.unknown_effect"),
        tuple(sorted((label, _receiver(to)) for label, to in released if vocabulary.check((label,)))),
    )


def _named(names: Collection[str], known: Collection[str], code: str) -> tuple[str, ...]:
    for name in names:
        if name not in known:
            raise InterlockError(code, value=str(name), known=sorted(known) or ["-"])
    return tuple(sorted(names))


def _receiver(name: str) -> str:
    if isinstance(name, str) and RECEIVER.match(name):
        return name
    try:
        return Scope(name)
    except InterlockError:
        raise InterlockError("run.bad_receiver", value=str(name)) from None
