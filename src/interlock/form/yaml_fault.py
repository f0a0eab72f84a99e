"""A fault of YAML text: what cannot be decoded or parsed, as an error with file, line and column."""

import re
from typing import Any

from ruamel.yaml.error import MarkedYAMLError, YAMLError

from interlock.catalogue import Text
from interlock.errors import InterlockError

__all__ = ["PARSER_FAULTS", "decoded", "malformed", "named", "place_in", "yaml_error"]

# What the parser is known to raise on odd input besides its own errors; all of it means "not YAML".
PARSER_FAULTS = (
    YAMLError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    OverflowError,
    RecursionError,
    NotImplementedError,
    StopIteration,
)

LINE_END = re.compile("\r\n|\n|\r")


def decoded(text: str | bytes, file: str, limit: int) -> str:
    """Give the text, from UTF-8 where it is bytes, without a byte order mark; at most `limit` bytes.

    Raises InterlockError `yaml.too_large` or `yaml.encoding`.
    """
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > limit:
        raise yaml_error("yaml.too_large", file, (1, 1), size=size, limit=limit)
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode("utf-8")
            place = place_in(before, len(before))
            byte = f"0x{error.object[error.start]:02X}"
            raise yaml_error("yaml.encoding", file, place, value=byte) from None
    return text.removeprefix("\ufeff")


def place_in(text: str, position: int) -> tuple[int, int]:
    """Give line and column, both from 1, of the character at `position`."""
    ends = [found.end() for found in LINE_END.finditer(text, 0, position)]
    return len(ends) + 1, position - (ends[-1] if ends else 0) + 1


def named(character: str) -> str:
    """Give a character by its number, such as `U+0000`."""
    return f"U+{ord(character):04X}"


def yaml_error(code: str, file: str, place: tuple[int, int], **params: Any) -> InterlockError:
    """Give the error `code` with the file, the line and the column of the fault."""
    line, column = place
    where = f"{file}:{line}:{column}"
    return InterlockError(code, file=file, line=line, column=column, where=where, **params)


# How the parser's commonest complaints begin, and the sentence of ours that says what they mean.
REASONS = (
    ("mapping values are not allowed", "yaml.why.colon"),
    ("found character '\\t'", "yaml.why.tab"),
    ("expected <block end>", "yaml.why.indent"),
    ("found unexpected end of stream", "yaml.why.quote"),
    ("could not find expected ':'", "yaml.why.no_colon"),
    ("expected the node content", "yaml.why.value"),
    ("expected ',' or", "yaml.why.bracket"),
    ("found character", "yaml.why.start"),
    ("found unexpected document separator", "yaml.why.quote"),
    ("expected '<document start>'", "yaml.why.outside"),
    ("found non-comment content", "yaml.why.outside"),
    ("sequence entries are not allowed", "yaml.why.sequence"),
    ("expected alphabetic or numeric", "yaml.why.name"),
    ("expected escape sequence", "yaml.why.escape"),
    ("found unknown escape", "yaml.why.escape"),
    ("expected chomping", "yaml.why.block"),
    ("expected indentation indicator", "yaml.why.block"),
    ("more indented follow up line", "yaml.why.block"),
)


def malformed(fault: BaseException, file: str, place: tuple[int, int]) -> InterlockError:
    """Give the error for what the parser raised; `place` serves where the parser names none itself."""
    problem = ""
    if isinstance(fault, MarkedYAMLError):
        problem = " ".join(str(fault.problem or fault.context or "").split())
        if fault.problem_mark is not None:
            place = (fault.problem_mark.line + 1, fault.problem_mark.column + 1)
    for beginning, message in REASONS:
        if problem.startswith(beginning):
            return yaml_error("yaml.malformed", file, place, why=Text(message))
    why = Text("yaml.why.parser", told=problem[:120]) if problem else Text("yaml.why.other")
    return yaml_error("yaml.malformed", file, place, why=why)
