"""A sight: what a part of a run's work was allowed to see, what it was shown, and whether anything else stood in it.

What is allowed are the admitted edges, as the ledger keeps them; what was shown are the exact bytes of the request.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.cli.request import ReadRequest, read_request
from interlock.run.attempting import is_json
from interlock.run.work_picture import Tried, WorkPicture
from interlock.runtime import Runtime

__all__ = ["Sight", "began_alike", "sights_of"]

Made = tuple[str, dict[str, Any]]
"""A node, and an artifact that it made."""
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
SHORTEST = 25
"""A passage of fewer characters may stand in two texts by chance."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What one attempt at a part saw in the last prompt of its run, which has all that went before.

    let_in: its edges. kept_out: what else the work made, by node and name; by node alone where that is all of it.
    looked_for: how many passages of that were looked for in the prompt; found: those that stood in it. request: the
    prompt as a person reads it, None for a form that is not known.
    """

    node: str
    kind: str
    attempt: int
    run: str
    number: int
    bytes: int
    let_in: tuple[dict[str, Any], ...]
    kept_out: tuple[str, ...]
    looked_for: int
    found: tuple[str, ...]
    request: ReadRequest | None

    def as_dict(self) -> dict[str, Any]:
        """Give it for programs; the prompt itself is named, by run and number."""
        return {
            "node": self.node,
            "attempt": self.attempt,
            "run": self.run,
            "prompt": self.number,
            "let_in": [{"from": item["from"], "name": item["name"]} for item in self.let_in],
            "kept_out": list(self.kept_out),
            "looked_for": self.looked_for,
            "found": list(self.found),
        }


async def sights_of(runtime: Runtime, picture: WorkPicture) -> list[Sight]:
    """Give the sight of each attempt that ran as a run of its own and asked a model, in the order of the graph."""
    made = [(node, item) for node, tried in picture.tried.items() for one in tried for item in one.artifacts]
    texts = {item["digest"]: await _text(runtime, item) for _, item in made}
    return [
        await _sight(runtime, picture, node.name, node.kind, tried, made, texts)
        for node in picture.graph.nodes
        for tried in picture.tried[node.name]
        if tried.run and tried.prompts
    ]


async def _sight(
    runtime: Runtime,
    picture: WorkPicture,
    node: str,
    kind: str,
    tried: Tried,
    made: Sequence[Made],
    texts: Mapping[str, str],
) -> Sight:
    snapshot, asked = await runtime.prompt(tried.run)
    allowed = {edge["digest"] for edge in tried.edges}
    others = [(name, item) for name, item in made if name != node and item["digest"] not in allowed]
    own = [texts[item["digest"]] for name, item in made if name == node]
    known = _plain("\n".join([*own, *(texts[digest] for digest in allowed)]))
    shown = _shown(snapshot.request)
    wanted = {
        passage for _, item in others for passage in _passages(texts[item["digest"]]) if passage not in known
    }
    return Sight(
        node,
        kind,
        tried.number,
        tried.run,
        asked["n"],
        len(snapshot.request),
        tuple(tried.edges),
        tuple(_kept_out(others, made)),
        len(wanted),
        tuple(sorted(passage for passage in wanted if passage in shown)),
        read_request(snapshot.request),
    )


async def began_alike(runtime: Runtime, picture: WorkPicture) -> dict[str, bool]:
    """Give for each part that was tried more than once whether every attempt began with the same bytes."""
    found = {}
    for node, tried in picture.tried.items():
        runs = [item.run for item in tried if item.run and item.prompts]
        if len(runs) > 1:
            found[node] = len({(await runtime.prompt(run, 1))[0].request for run in runs}) == 1
    return found


def _kept_out(others: Sequence[Made], made: Sequence[Made]) -> Iterator[str]:
    """Give what was kept out: a node's name alone where all that it made was."""
    for node in dict.fromkeys(name for name, _ in others):
        out = {item["name"] for name, item in others if name == node}
        if out == {item["name"] for name, item in made if name == node}:
            yield node
        else:
            yield from (f"{node}.{name}" for name in sorted(out))


async def _text(runtime: Runtime, item: Mapping[str, Any]) -> str:
    """Give the words of an artifact: of JSON, each text in it in a line of its own."""
    text = (await runtime.installation.contents.read(item["digest"])).decode(errors="backslashreplace")
    return "\n".join(_leaves(json.loads(text))) if is_json(item["media"]) else text


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(inner)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _passages(text: str) -> Iterator[str]:
    """Give each sentence of a text, and each line of it, that is long enough to be nobody else's."""
    pieces = [*SENTENCE.split(text), *SENTENCE.split(_plain(text))]
    yield from (plain for piece in pieces if len(plain := _plain(piece)) >= SHORTEST)


def _shown(request: bytes) -> str:
    """Give all words of a request, however deep they stand in JSON within JSON."""
    found = [request.decode(errors="backslashreplace")]
    waiting: list[Any] = [json.loads(request)]
    while waiting:
        for text in _leaves(waiting.pop()):
            found.append(text)
            if text[:1] in {"{", "["}:
                try:
                    waiting.append(json.loads(text))
                except ValueError:
                    continue
    return _plain("\n".join(found))
