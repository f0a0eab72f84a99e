"""A resolver: puts a prompt together from one run's own view, by reference, and from nothing else."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.agent.spec import FINAL_ANSWER, Spec
from interlock.catalogue import say
from interlock.connector.model.model import Message, Request, ToolOffer
from interlock.gate.tool import Tool
from interlock.ledger.content_store import ContentStore
from interlock.ledger.ledger import Ledger
from interlock.perspective.compaction import Compaction, summary_of
from interlock.perspective.entry import Entry
from interlock.perspective.fitting import Fit, LeftOut, fit
from interlock.perspective.perspective import Perspective
from interlock.perspective.shown import Shower, Shown, groups_of_entries, together
from interlock.scope.scope import Address

__all__ = [
    "Resolved",
    "Resolver",
    "Sources",
    "instructions_of",
    "offer_of",
    "resolve",
    "resolve_work_node",
    "resolve_writing",
]

ROOM = 256
"""How many bytes are kept free for words of the platform."""


def instructions_of(spec: Spec, kind: str, words: int, language: str) -> str:
    """Give an agent's instructions with what the platform adds: how to finish, and what its input is. `kind` is what
    opened the run; `words` is how many a report may have (MS-12)."""
    own = spec.instructions.strip()
    parts = [*([own] if own else []), say("prompt.fence", language)]
    if kind == "event":
        parts.append(say("prompt.input_names_artifacts", language))
    elif kind == "request":
        parts.append(say("prompt.report_terms", language, words=words))
    elif kind in {"hand_off", "question", "status", "turn", "work"}:
        parts.append(say(f"prompt.by_{kind}", language))
    exposed = sorted(spec.exposed - {FINAL_ANSWER})
    parts.append(
        say("prompt.finish_with", language, names=exposed) if exposed else say("prompt.finish", language)
    )
    return "\n\n".join(parts)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A request with what it was made of: what was left out for lack of room, by which compaction its older entries
    are replaced (0 for none), which message events it shows, and which revisions of which memories."""

    request: Request
    left_out: tuple[LeftOut, ...] = ()
    compaction: int = 0
    message_events: tuple[str, ...] = ()
    memories: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """What prompts are made from, besides what opened the run: where to read, what every prompt begins with, how many
    bytes of one content are shown at once, and the language of the platform's words."""

    ledger: Ledger
    contents: ContentStore
    instructions: str
    offers: tuple[ToolOffer, ...]
    shown: int
    language: str


def resolve(agent: Address, turn: Mapping[str, Any], sources: Sources) -> "Resolver":
    """Give what makes the prompts of a turn, and the only thing that does (PX-5).

    turn: the body of the step that opened the run: the brief, message or event, or the batch of messages of a
    conversation, that engages the agent.
    """
    return Resolver(agent, agent, turn, sources)


def resolve_work_node(agent: Address, part: Mapping[str, Any], sources: Sources) -> "Resolver":
    """Give what makes the prompts of a node of a work graph, and the only thing that does (PX-5, WG-2).

    part: the body of the step that opened the node's run, which names the root run and the node. Nothing of the root
    run's history is among it.
    """
    return Resolver(agent, f"{agent}#{part['work']['place']['node']}", part, sources)


def resolve_writing(writer: str, number: int, instructions: str, text: str, longest: int) -> Request:
    """Give the prompt of a text that is written beside a run: a node without tools and history, whose one input is a
    `text` that the run has (RS-3, ME-4). `longest` is that of the answer, in tokens."""
    return Request(writer, number, instructions, (), (Message("user", text),), longest)


class Resolver:
    """Assembles the requests of one run; each call adds to the messages of the one before. Made by `resolve` or
    `resolve_work_node`."""

    def __init__(self, agent: Address, name: str, opening: Mapping[str, Any], sources: Sources) -> None:
        self._name, self._opened, self._sources = name, opening, sources
        self._shower = Shower(
            Perspective(sources.ledger, agent), sources.contents, sources.shown, sources.language
        )
        self._always = _size_of_head(sources.instructions, sources.offers)
        self._opening: Shown | None = None
        self._earlier: list[Shown] = []
        self.summary: Shown | None = None
        """The summary that stands for the entries a compaction replaced."""
        self._compaction: Compaction | None = None
        self.entries: list[Shown] = []
        """The run's entries as they are shown, from the first that no compaction replaces."""

    async def read(self, entries: Sequence[Entry], compaction: Compaction | None = None) -> None:
        """Take in all entries of the run so far, and its last compaction."""
        if self._opening is None:
            self._earlier = await self._shower.earlier(self._opened)
            self._opening = await self._shower.opening(self._opened)
        if compaction is not None and compaction != self._compaction:
            known = self._compaction.last if self._compaction else 0
            del self.entries[: compaction.last - known]
            self.summary = await summary_of(self._sources.contents, compaction, self._shower)
            self._compaction = compaction
        covered = self._compaction.last if self._compaction else 0
        for entry in entries[covered + len(self.entries) :]:
            self.entries.append(await self._shower.entry(entry))

    @property
    def opening(self) -> Shown:
        """What opened the run, as it is shown, once it was read."""
        if self._opening is None:
            raise AssertionError("nothing was read")
        return self._opening

    def resolve(self, number: int, max_output_tokens: int, limit: int) -> Resolved | None:
        """Give the request of the `number`-th call of a run, of what was read last, within `limit` bytes; None when
        what must be there does not fit."""
        groups = groups_of_entries(self.entries)
        language = self._shower.language
        pieces = [
            *(item.piece(None, language) for item in self._earlier),
            *(item.piece(group, language) for item, group in zip(self.entries, groups, strict=True)),
        ]
        found = fit(pieces, self.least, self._last_exchange(groups), limit)
        if found is None:
            return None
        kept = list(self._kept(found))
        seen = [recalled for item in kept for recalled in item.recalled]
        request = Request(
            self._name,
            number,
            self._sources.instructions,
            self._sources.offers,
            tuple(item.message for item in kept),
            max_output_tokens,
        )
        return Resolved(
            request,
            found.left_out,
            self._compaction.revision if self._compaction else 0,
            tuple(dict.fromkeys(name for name, revision in seen if not revision)),
            tuple(dict.fromkeys((name, revision) for name, revision in seen if revision)),
        )

    @property
    def needed(self) -> int:
        """How many bytes must be there at least, with the last answer and its results."""
        groups = groups_of_entries(self.entries)
        last = self._last_exchange(groups)
        pairs = zip(self.entries, groups, strict=True)
        return self.least + sum(item.size for item, group in pairs if group in last)

    def _last_exchange(self, groups: Sequence[int]) -> frozenset[int]:
        pairs = zip(self.entries, groups, strict=True)
        return frozenset([group for item, group in pairs if item.kind == "answer"][-1:])

    @property
    def least(self) -> int:
        """How many bytes instructions, tools, opening and summary take, which are always there."""
        return self._always + self.opening.size + (self.summary.size if self.summary else 0)

    def _kept(self, found: Fit) -> Iterator[Shown]:
        language, before = self._shower.language, len(self._earlier)
        said = [item for place, item in enumerate(self._earlier) if place not in found.gone]
        yield together([*said, self.opening])
        if self.summary is not None:
            yield self.summary
        gone = sum(place >= before for place in found.gone)
        if gone:
            yield Shown("note", "user", (say("prompt.older_left_out", language, count=gone),))
        for place, item in enumerate(self.entries, before):
            if place not in found.gone:
                yield item.shortened(language) if place in found.short else item


def _size_of_head(instructions: str, offers: tuple[ToolOffer, ...]) -> int:
    """How many bytes instructions and tools take; and the line that says that older entries are missing."""
    forms = [{"name": offer.name, "about": offer.description, "with": offer.parameters} for offer in offers]
    return len(instructions.encode(errors="surrogatepass")) + len(json.dumps(forms, default=dict)) + ROOM


def offer_of(tool: Tool) -> ToolOffer:
    """Give a tool as a model is told of it."""
    return ToolOffer(tool.name, tool.description, tool.parameters)
