"""A verdict: what the Gate says to one proposal, `allow`, `ask` or `deny`, with its reasons (GT-2).

A step keeps a verdict as ids and numbers alone (RN-3); what quotes the arguments is told to the agent only.
"""

from dataclasses import dataclass
from typing import Any, NoReturn

from interlock.catalogue import Text, say
from interlock.errors import InterlockError

__all__ = ["Allow", "Ask", "Deny", "Objection", "Verdict"]

_SEAL = object()


@dataclass(frozen=True, slots=True)
class Objection:
    """A reason for which a person must decide: the rule, and the sentence."""

    rule: str
    text: Text

    def as_dict(self) -> dict[str, Any]:
        """Give the objection as a step keeps it."""
        return {"rule": self.rule, "reason": self.text}


class Allow:
    """Leave to make one call, once. Only `interlock.gate.gate.decide` makes one.

    It is bound to the proposal's digest, so that it fits no other call, no other arguments and no other run,
    and it cannot be copied, stored or extended.
    """

    __slots__ = ("_digest", "_reason", "_rule", "_uses")
    _digest: str
    _reason: Text | None
    _rule: str
    _uses: list[str]

    def __init__(self, seal: object, digest: str, reason: Text | None = None, rule: str = "approval") -> None:
        """Raise InterlockError `gate.forged_allow` unless the Gate itself is calling."""
        if seal is not _SEAL:
            raise InterlockError("gate.forged_allow")
        set_once = super().__setattr__
        set_once("_digest", digest)
        set_once("_reason", reason)
        set_once("_rule", rule)
        set_once("_uses", [digest])

    def consume(self, digest: str) -> None:
        """Use the leave up, for the call with `digest`, taken freshly from what is about to be sent.

        Raises InterlockError `gate.allow_of_another_call` for another digest, which leaves it unused, and
        `gate.allow_spent` the second time. Of several threads one succeeds: taking from a list is atomic.
        """
        if digest != getattr(self, "_digest", None):
            raise InterlockError("gate.allow_of_another_call")
        try:
            self._uses.pop()
        except IndexError:
            raise InterlockError("gate.allow_spent") from None

    @property
    def repeats(self) -> bool:
        """Whether it is leave to be given what another call did, and to do nothing."""
        return self._rule == "duplicate"

    def as_dict(self) -> dict[str, Any]:
        """Give the verdict as a step keeps it; the digest is not in it, since it is not keyed (RN-3)."""
        if self._reason is None:
            return {"verdict": "allow"}
        return {"verdict": "allow", "rule": self._rule, "reason": self._reason}

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise InterlockError("gate.forged_allow")

    def __reduce__(self) -> NoReturn:
        raise InterlockError("gate.forged_allow")

    def __init_subclass__(cls) -> NoReturn:
        raise InterlockError("gate.forged_allow")


@dataclass(frozen=True, slots=True)
class Ask:
    """A person must decide; every objection at once (GT-4)."""

    objections: tuple[Objection, ...]

    def as_dict(self) -> dict[str, Any]:
        """Give the verdict as a step keeps it; its rule is that of the first objection."""
        return {
            "verdict": "ask",
            "rule": self.objections[0].rule,
            "reason": self.objections[0].text,
            "objections": [objection.as_dict() for objection in self.objections],
        }


@dataclass(frozen=True, slots=True)
class Deny:
    """The call is not made. No approval releases this (GT-2).

    rule: the rule that denies. text: the reason, as a step keeps it. details: the reason as the agent is told
    it, where that may quote what it proposed; these never enter a step.
    """

    rule: str
    text: Text
    details: tuple[Text, ...] = ()

    def told(self, language: str = "en") -> str:
        """Give the reason in a form that the agent can act on."""
        return " ".join(say(text, language) for text in self.details or (self.text,))

    def as_dict(self) -> dict[str, Any]:
        """Give the verdict as a step keeps it."""
        return {"verdict": "deny", "rule": self.rule, "reason": self.text}


Verdict = Allow | Ask | Deny
