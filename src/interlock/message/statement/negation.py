"""A negation: the part of a sentence that is said not to be so, in English or Portuguese."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from interlock.message.statement.word import Word

__all__ = ["DENIALS", "Negation", "negations_in"]

NOT = re.compile(
    r"(?<!\w)(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|\w+n['’]t|nao|nunca|jamais|nem|nenhum[a]?|"
    r"sem|ninguem|nada|tampouco|(?:fail(?:s|ed|ing)?|refus(?:es|ed|ing)?|declin(?:es|ed)|unable|yet|neglected) to|"
    r"(?:lack(?:s|ed|ing)?|den(?:y|ies|ied)|avoid(?:s|ed)?|ruled out|stayed away from|free of|absent from)|"
    r"(?:deixou|deixaram|deixa) de|(?:recus(?:ou|a|aram)-se|recus(?:ou|a|aram)) a|(?:neg(?:ou|a|am|aram))|"
    r"(?:falta|ausencia) de|isento de|livre de|zero|\w{4,}less|"
    r"(?:other|rather) than|outside of|instead of|away from|fora d[eoa]|em vez de|exceto)(?!\w)"
)
"""What negates. Opposites such as "open" and "closed" are read apart, in `opposite.py`, since they oppose only
sentences that are else alike."""

NO_NEGATION = re.compile(
    r"(?<!\w)(?:not only|not just|not merely|no less than|no fewer than|no more than|not more than|not less than|"
    r"not until|no longer than|no later than|no\. ?\d|no one (?:less|other)|without doubt|no doubt|not (?:all|always)|"
    r"whether or not|if not|unless|regardless|nonetheless|nevertheless|wireless|seamless|stainless|"
    r"nao so|nao apenas|nao somente|nao menos (?:de|que)|nao mais (?:de|que)|sem duvida|nada menos|se nao|"
    r"nem (?:todos|todas|sempre))"
)
"""What looks like a negation and is none."""

DENYING = """
against rejected rejects refused refuses declined denied denies dismissed prohibited forbidden forbids banned
bans cancelled canceled abandoned vetoed blocked stopped ceased halted suspended missing absent failed unable
ended withdrew withdrawn unlicensed unpaid unchanged untouched unfinished incomplete contra rejeitou rejeitado
rejeitada recusou recusado recusada negou negado negada proibiu proibido proibida vetou vetado vetada cancelou
cancelado cancelada suspendeu suspenso suspensa indeferiu indeferido ausente parou cessou abandonou inacabado
inacabada incompleto incompleta inalterado inalterada desistiu
"""
DENIALS = frozenset(DENYING.split())
"""Words that deny by what they mean: what "was rejected" agrees with what "was not approved"."""

CLAUSE_END = re.compile(
    r"[.;:,()]|(?<!\w)(?:but|although|though|while|whereas|mas|embora|porem|enquanto)(?!\w)"
)


@dataclass(frozen=True, slots=True)
class Negation:
    """What negates, from `start` to `end` in the text, and the place up to which it may reach."""

    text: str
    start: int
    end: int
    reach: int


def negations_in(text: str, low: str, words: Sequence[Word], portuguese: bool) -> list[Negation]:
    """Give the negations of a text in order. In Portuguese "no" stands for "in the" and negates nothing."""
    spared = [found.span() for found in NO_NEGATION.finditer(low)]
    found = []
    for item in NOT.finditer(low):
        if any(start <= item.start() < end for start, end in spared) or (portuguese and item[0] == "no"):
            continue
        end = CLAUSE_END.search(low, item.end())
        found.append(
            Negation(text[item.start() : item.end()], *item.span(), end.start() if end else len(low))
        )
    return found
