"""The severity of a log line: five degrees, and the many words and numbers by which logs mean them."""

import re

__all__ = ["DEGREES", "FAILING", "degree_of", "severity_in_text", "severity_of"]

DEGREES = ("debug", "info", "warning", "error", "fatal")
FAILING = frozenset({"error", "fatal"})

WORDS = {
    "debug": "debug trace verbose fine finer finest dbg debug1 debug2 debug3 debug4 debug5 silly d v 7",
    "info": "info information informational log notice note config ok inf i 5 6 registro",
    "warning": "warn warning wrn w 4 aviso alerta warnung attention",
    "error": "error err severe eror e 3 erro fehler erreur failure failed",
    "fatal": "fatal critical crit panic emerg emergency alert f c 0 1 2 pânico crítico dpanic critique",
}
MEANING = {word: degree for degree, words in WORDS.items() for word in words.split()}
TENS = {"10": "debug", "20": "debug", "30": "info", "40": "warning", "50": "error", "60": "fatal"}
"""The numbers of Bunyan and Pino; those below ten are syslog's (RFC 5424, 6.2.1)."""

MARKED = re.compile(
    r"(?:^|[\s\[(<|=:\"'])(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|SEVERE|CRIT(?:ICAL)?|FATAL|PANIC|"
    r"EMERG(?:ENCY)?|ALERT|ERRO|AVISO)(?=$|[\s\])>|:,\"'])"
)
FAILS = re.compile(
    r"\b(errors?|exception|fatal|panic|panicked|failed|failure|failing|cannot|could not|can't|couldn't|"
    r"unable to|refused|denied|timed out|timeout|segfault|segmentation fault|out of memory|oom|killed|"
    r"aborted|core dumped|traceback|no space left|unreachable|broken pipe|deadlock|corrupt(?:ed|ion)?|"
    r"falhou|falha|erro|recusada|negado)\b|\w(?:Error|Exception)\b",
    re.IGNORECASE,
)
DENIED = re.compile(
    r"\b(?:0|no|without|zero|sem) (?:errors?|failures?|exceptions?|erros?|falhas?)\b", re.IGNORECASE
)
WARNS = re.compile(
    r"\b(warn(?:ing)?|deprecated|retry(?:ing)?|degraded|slow|skipp(?:ed|ing))\b", re.IGNORECASE
)
LOOKED_AT = 400


def severity_of(word: object) -> str | None:
    """Give the degree that a level's word or number means (`WARN`, `err`, `3`), or None when it means
    none.
    """
    if isinstance(word, bool) or not isinstance(word, str | int):
        return None
    text = str(word)[:16].strip().strip("[]<>:").lower()
    return MEANING.get(text) or TENS.get(text)


def severity_in_text(text: str) -> str | None:
    """Give the degree that a text shows: by a level written in capitals, else by words of failure or
    warning.
    """
    head = text[:LOOKED_AT]
    marked = MARKED.search(head, 0, 100)
    if marked is not None:
        return MEANING[marked[1].lower()]
    if FAILS.search(head) and not DENIED.search(head):
        return "error"
    return "warning" if WARNS.search(head) else None


def degree_of(severity: str | None) -> int:
    """Give how grave a severity is, from 0 for debug to 4 for fatal; what is not known counts as info."""
    return DEGREES.index(severity) if severity in DEGREES else 1
