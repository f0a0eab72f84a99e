"""An attempt at a node within the run itself: what its edges let in, a function that does it, a join that brings
together what has come (WG-1, WG-3).

Whatever is let in passes the barrier, edge by edge (SC-6).
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock import canonical
from interlock.catalogue import Text, say
from interlock.errors import InterlockError
from interlock.ledger.content_store import Kept
from interlock.ledger.ledger import ContentRow
from interlock.message.merge import Contribution, merge
from interlock.message.result import Result
from interlock.run.finish import text_bytes
from interlock.run.foreign import Raised, code_of, foreign, within
from interlock.run.function import NodeInput
from interlock.run.installation import Installation
from interlock.run.run import Run
from interlock.scope.barrier import barrier
from interlock.scope.label import Labels, join, listed
from interlock.work_graph.edge import names_of
from interlock.work_graph.node import JOINED, JSON, RESULT, RESULT_MEDIA, Node
from interlock.work_graph.progress import Progress
from interlock.work_graph.work_graph import ARTIFACT_KEY

__all__ = ["Attempting", "Came", "is_json"]

LONGEST_MS = 86_400_000
"""How long a function may take in a run whose time nobody limits."""
SAID = 2000
"""How many characters of an exception's words are kept."""


@dataclass(slots=True)
class Came:
    """What came of an attempt: the body of the step that ends it, without its place, and the content that it names."""

    body: dict[str, Any]
    contents: list[ContentRow] = field(default_factory=list)


def is_json(media: str) -> bool:
    """Tell whether content of a media type is JSON."""
    plain = media.partition(";")[0].strip()
    return plain == JSON or plain.endswith("+json")


class Attempting:
    """Makes attempts within one run. `released` is what a person released for it."""

    def __init__(self, installation: Installation, run: Run, released: frozenset[tuple[str, str]]) -> None:
        self._installation, self._run, self._released = installation, run, released
        self._passed: set[Labels] = set()

    def let_in(self, node: Node, progress: Progress) -> list[dict[str, Any]] | Text:
        """Give what the node's edges let in, as a step keeps it: from where, the artifact, and the name under which
        the node knows it; or why the barrier lets one of them not in. What has not come is left out."""
        found = []
        for edge, name in names_of(node.needs).items():
            if edge.source:
                attempt = progress.result(edge.source)
                item = None if attempt is None else attempt.artifacts.get(edge.artifact)
            else:
                item = self._run.artifacts.get(edge.artifact) or self._run.given.get(edge.artifact)
            if item is None or item.get("absent"):
                continue
            if (refusal := self._refusal(frozenset(item["labels"]))) is not None:
                return refusal
            known = {key: item[key] for key in ("ref", "digest", "size", "media", "labels")}
            found.append({"from": edge.source, "artifact": edge.artifact, "name": name, **known})
        return found

    def _refusal(self, labels: Labels) -> Text | None:
        """Ask the barrier; the same labels are asked about once."""
        if labels in self._passed:
            return None
        vocabulary = self._installation.settings.vocabulary
        refusal = barrier(labels, self._run.scope, vocabulary, frozenset(), self._released)
        if refusal is None:
            self._passed.add(labels)
            return None
        return refusal.text

    async def values(self, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Give what was let in, by name: JSON as its value, text as text, anything else as bytes."""
        found: dict[str, Any] = {}
        for item in items:
            data = await self._installation.contents.read(item["digest"])
            if is_json(item["media"]):
                found[item["name"]] = json.loads(data)
            else:
                found[item["name"]] = data.decode() if item["media"].startswith("text/") else data
        return found

    def labels_of(self, items: Sequence[Mapping[str, Any]]) -> Labels:
        """Give the labels of what a node makes: those of the run and of all that was let in (WG-5)."""
        return join(self._run.labels, *(item["labels"] for item in items))

    # A function

    async def call_function(
        self, node: Node, number: int, items: Sequence[Mapping[str, Any]], revision: int
    ) -> Came:
        """Call the function and give what it made, or why it made nothing."""
        function = self._installation.functions.get(node.function)
        if function is None:
            return self.failed(Text("function.not_loaded", function=node.function))
        longest = self._run.time_left(LONGEST_MS) / 1000
        labels = self.labels_of(items)  # now: what the run reads while it works, it does not see
        given = NodeInput(node.name, number, node.objective, node.arguments, await self.values(items))
        try:
            made = await within(foreign(function.call(given)), longest)
        except TimeoutError:
            return self.failed(Text("work.timed_out"), outcome="timed_out")
        except InterlockError as error:
            return self.failed(Text("work.raised", function=node.function, kind=code_of(error)), str(error))
        except Raised as error:
            return self.failed(Text("work.raised", function=node.function, kind=error.kind), error.said)
        try:
            return await self._published(node, made, labels, revision)
        except InterlockError as error:
            return self.failed(Text("work.unusable", function=node.function, code=error.code), str(error))

    def failed(self, reason: Text, said: str = "", outcome: str = "failed") -> Came:
        """Give that an attempt came to nothing; `said` is what somebody else's code said."""
        if not said:
            return Came({"outcome": outcome, "reason": reason})
        words = said[:SAID].encode(errors="backslashreplace")
        kept = self._installation.contents.keep(self._run.company, words)
        return Came({"outcome": outcome, "reason": reason, "detail": kept.digest}, [kept.row])

    async def _published(self, node: Node, made: Any, labels: Labels, revision: int) -> Came:
        values = made if node.publishes else {RESULT: made}
        if not isinstance(values, Mapping) or set(values) != set(node.outputs):
            raise InterlockError("work.lacks_artifact", value=sorted(node.outputs))
        came = Came({"outcome": "done", "artifacts": []})
        for name, media in node.outputs.items():
            data = _encoded(name, media, values[name])
            limit = self._installation.settings.sizes.artifact
            if len(data) > limit:
                raise InterlockError("artifact.too_large", value=name, size=len(data), limit=limit)
            kept = await self._installation.contents.keep_any(self._run.company, data)
            came.body["artifacts"].append(self.artifact(node, name, kept.digest, kept.size, labels, revision))
            came.contents.append(kept.row)
        came.body["labels"] = listed(labels)
        return came

    def artifact(
        self, node: Node, name: str, digest: str, size: int, labels: Labels, revision: int
    ) -> dict[str, Any]:
        """Give what a node made within the run, as a step keeps it: an artifact of the run, named after the node."""
        own = f"{node.name}.{name}" + (f".{revision}" if revision > 1 else "")
        return {
            "name": name,
            "ref": f"{self._run.id}/{own}",
            "digest": digest,
            "size": size,
            "media": node.outputs[name],
            "labels": listed(labels),
        }

    # A join

    async def join_up(
        self,
        node: Node,
        items: Sequence[Mapping[str, Any]],
        missing: Sequence[str],
        why: Mapping[str, Text],
        revision: int,
    ) -> Came:
        """Bring together what has come, and say what has not: reports are merged by code, anything else stands side by
        side. With nothing at all it fails."""
        if not items:
            return self.failed(Text("work.nothing_came"), outcome="timed_out")
        language = self._installation.settings.language
        values = await self.values(items)
        form: dict[str, Any] = {"status": "partial" if missing else "complete"}
        form["missing"] = [{"from": name, "why": say(why[name], language)} for name in missing]
        if all(item["media"] == RESULT_MEDIA for item in items):
            form["merged"] = await self._merged(items, values, form["missing"])
        else:
            form["inputs"] = [_side_by_side(item, values[item["name"]]) for item in items]
        labels = self.labels_of(items)
        data = canonical.encode(form)
        limit = self._installation.settings.sizes.artifact
        if len(data) > limit:
            return self.failed(Text("artifact.too_large", value=JOINED, size=len(data), limit=limit))
        kept: Kept = await self._installation.contents.keep_any(self._run.company, data)
        item = self.artifact(node, JOINED, kept.digest, kept.size, labels, revision)
        body = {"outcome": "done", "artifacts": [item], "labels": listed(labels)}
        return Came(body | {"missing": list(missing)} if missing else body, [kept.row])

    async def _merged(
        self,
        items: Sequence[Mapping[str, Any]],
        values: Mapping[str, Any],
        missing: Sequence[Mapping[str, str]],
    ) -> dict[str, Any]:
        found = [
            Contribution(
                item["from"] or str(self._run.agent),
                Result.from_dict(
                    {"not_done": [], "findings": [], "summary": "", "tokens": 0, **values[item["name"]]}
                ),
                frozenset(item["labels"]),
            )
            for item in items
        ]
        for gap in missing:
            undone = [{"what": gap["from"], "why": gap["why"]}]
            form = {"status": "failed", "summary": "", "findings": [], "not_done": undone, "tokens": 0}
            found.append(Contribution(gap["from"], Result.from_dict(form)))
        merged = await asyncio.to_thread(merge, found)
        return merged.told(self._installation.settings.language)

    async def resolved(self, arguments: Any, items: Sequence[Mapping[str, Any]]) -> Any:
        """Give a tool node's arguments with the content of what was let in where they refer to it."""
        values = await self.values(items)

        def filled(value: Any) -> Any:
            if isinstance(value, Mapping):
                name = value.get(ARTIFACT_KEY)
                if len(value) == 1 and isinstance(name, str):
                    content = values[name]
                    return content.decode(errors="replace") if isinstance(content, bytes) else content
                return {key: filled(item) for key, item in value.items()}
            return [filled(item) for item in value] if isinstance(value, list | tuple) else value

        return filled(arguments)


def _side_by_side(item: Mapping[str, Any], value: Any) -> dict[str, Any]:
    form = {key: item[key] for key in ("from", "artifact", "media", "digest", "size")}
    return form if isinstance(value, bytes) else {**form, "content": value}


def _encoded(name: str, media: str, value: Any) -> bytes:
    if is_json(media):
        try:
            return canonical.encode_foreign(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise InterlockError("work.unfit_artifact", value=name, why=str(error)[:SAID]) from None
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return text_bytes(value, name)
    raise InterlockError("work.unfit_artifact", value=name, why=type(value).__name__)
