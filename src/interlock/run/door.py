"""The door: the one place through which a proposed call passes, is judged, is made and is recorded (GT-1).

Both bodies use it, the model loop and the function. Whatever passes is gated, recorded and labelled here, so
that nobody can forget to.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.catalogue import Text, say
from interlock.connector.tool import ToolCall
from interlock.errors import InterlockError
from interlock.gate.budget import Usage
from interlock.gate.gate import decide
from interlock.gate.origin import NO_ORIGINS, Origins
from interlock.gate.proposal import Contract, Proposal, RunFacts
from interlock.gate.tool import Tool, leaves_of
from interlock.gate.verdict import Allow, Ask, Verdict
from interlock.ledger.content_store import Kept
from interlock.perspective.resolver import shown_slice
from interlock.run.installation import Installation
from interlock.run.platform_tools import READ_ARTIFACT, SAVE_ARTIFACT, declared_for, handle_of
from interlock.run.recorder import Recorder
from interlock.run.run import CallState, Run
from interlock.run.secret import redacted, resolve_secrets
from interlock.scope.barrier import barrier
from interlock.scope.label import NO_LABELS, UNTRUSTED, Labels, listed

__all__ = ["Door"]


class Door:
    """The door of one run under one claim."""

    def __init__(self, installation: Installation, recorder: Recorder, spec: Spec) -> None:
        self._installation, self._recorder, self._spec = installation, recorder, spec
        self.run: Run = recorder.run
        self._allowed: dict[str, tuple[Allow, Proposal]] = {}
        contract = self.run.opening.get("contract", {})
        self._contract = Contract(
            *(frozenset(contract[name]) if name in contract else None for name in ("tools", "effects"))
        )
        self._released = frozenset((label, to) for label, to in self.run.opening.get("released", ()))
        self._granted = frozenset(spec.tools)

    def repeatable(self, name: str) -> bool:
        """Tell whether a call may be made again when nobody recorded its result: only what has no effect
        outside the ledger may."""
        tool = self._declared(name)
        return tool is not None and (tool.effect == "read" or tool.platform)

    def known_name(self, name: str) -> str:
        """Give a tool's name as steps keep it: nothing for one that nobody declared, which is a model's text."""
        return name if self._declared(name) is not None else ""

    def _declared(self, name: str) -> Tool | None:
        return declared_for(name, self._installation.tools.declarations, self.run.scope)

    # Judging

    async def judge(
        self, call: CallState, name: str, arguments: Any, stored: Kept | None = None
    ) -> Verdict:
        """Put a call before the Gate and take its verdict down.

        `name` is the tool's as it was written, `arguments` the JSON value, or the raw text where a model wrote none. `stored` is their content,
        where no answer of a model holds it; `call.index` then says nothing and `call.answer` is the place.
        """
        tool = self._declared(name)
        proposal = self._proposal(call, name, arguments, tool)
        verdict = decide(proposal, await self._facts(tool, proposal))
        body: dict[str, Any] = {"call": call.id, "tool": call.tool, **verdict.as_dict()}
        contents = []
        if stored is not None:
            body |= {"place": call.answer, "arguments_content": stored.digest}
            contents.append(stored.row)
        if isinstance(verdict, Allow):
            self._allowed[call.id] = verdict, proposal
        else:
            told = self._keep_text(self._told(verdict))
            body["detail"] = told.digest
            contents.append(told.row)
        self._recorder.note("tool.judged", body, contents)
        return verdict

    def _proposal(self, call: CallState, name: str, arguments: Any, tool: Tool | None) -> Proposal:
        limit = self._installation.settings.sizes.arguments
        if tool is not None and tool.platform and tool.name != READ_ARTIFACT:
            limit = self._installation.settings.sizes.answer
        if isinstance(arguments, str):
            return Proposal.of_text(self.run.id, call.id, name, arguments, limit, tool=tool)
        return Proposal(
            self.run.id, call.id, name, arguments, tool, self._artifacts_in(arguments), Usage(tool_calls=1)
        )

    def _artifacts_in(self, arguments: Any) -> dict[str, Labels]:
        """The labels that arguments carry by naming an artifact, whether it was read or not (SC-6)."""
        if not (self.run.given or self.run.artifacts):
            return {}
        found = {}
        for path, leaf in leaves_of(arguments):
            item = self._artifact(leaf) if isinstance(leaf, str) and len(leaf) <= 256 else None
            if item is not None:
                found[path] = frozenset(item["labels"])
        return found

    def _artifact(self, name: str) -> dict[str, Any] | None:
        """An artifact that this very run was given or saved; nothing else exists for it (CS-5)."""
        item = self.run.artifacts.get(name) or self.run.given.get(name)
        return None if item is None or item.get("absent") else item

    async def _facts(self, tool: Tool | None, proposal: Proposal) -> RunFacts:
        run, settings = self.run, self._installation.settings
        tainted = UNTRUSTED in run.labels or any(UNTRUSTED in labels for labels in proposal.artifacts.values())
        needed = tainted and tool is not None and tool.effect != "read" and not tool.platform
        return RunFacts(
            run=run.id,
            agent=run.agent,
            scope=run.scope,
            labels=run.labels,
            granted=self._granted,
            contract=self._contract,
            released=self._released,
            budget=run.budget,
            used=run.usage,
            vocabulary=settings.vocabulary,
            policies=settings.policies,
            origins=await self._origins() if needed else NO_ORIGINS,
            arguments_limit=settings.sizes.arguments,
        )

    async def _origins(self) -> Origins:
        """Where this run's values came from, as they entered: the person's brief, and trusted fields."""
        run, contents = self.run, self._installation.contents
        found = []
        by_person = run.opening["opened_by"]["kind"] == "person" and UNTRUSTED not in run.opening["labels"]
        if by_person and "input" in run.opening:
            found.append(Origins.of_brief(json.loads(await contents.read(run.opening["input"]))))
        for call in run.calls.values():
            tool = self._declared(call.tool)
            if tool is not None and not tool.platform and call.done is not None and call.done.kind == "result":
                if any(UNTRUSTED not in labels for labels in (tool.labels, *tool.fields.values())):
                    result = json.loads(await contents.read(call.done.content or ""))
                    found.append(Origins.of_result(tool, call.id, result))
        return NO_ORIGINS.join(*found)

    def _told(self, verdict: Verdict) -> str:
        language = self._installation.settings.language
        if isinstance(verdict, Ask):
            return " ".join(say(item.text, language) for item in verdict.objections)
        return verdict.told(language) if not isinstance(verdict, Allow) else ""

    # Acting

    async def act(self, call: CallState, name: str, arguments: Any) -> None:
        """Make an allowed call and take its result down.

        A call that was allowed under an earlier claim is judged anew first: an `Allow` is not stored.
        """
        if call.id not in self._allowed:
            verdict = await self.judge(call, name, arguments)
            if not isinstance(verdict, Allow):
                return
        allow, proposal = self._allowed.pop(call.id)
        tool = proposal.tool
        if tool is None:
            raise InterlockError("tool.unknown", value=call.tool)
        if tool.platform:
            await self._platform_act(call, proposal, allow)
            return
        if tool.effect != "read" or tool.leaves:
            await self._recorder.flush()
        await self._outside_act(call, tool, proposal, allow)

    async def _outside_act(self, call: CallState, tool: Tool, proposal: Proposal, allow: Allow) -> None:
        installation = self._installation
        bound = installation.tools.get(tool.name)
        if bound is None:
            raise InterlockError("tool.unknown", value=tool.name)
        secrets: dict[str, str] = {}
        try:
            secrets = resolve_secrets(tool, installation.settings.secrets, installation.environment)
            timeout = self._timeout(tool)
            about = ToolCall(
                self.run.id, self.run.agent, self.run.root_task, installation.clock.now() + timeout, secrets
            )
            installation.reach("tool.before_call")
            allow.consume(proposal.digest)
            result = await asyncio.wait_for(bound(about, proposal.arguments), timeout / 1000)
            installation.reach("tool.after_call")
            await self._take_result(call, tool, redacted(result, secrets))
        except TimeoutError:
            self._fail(call, Text("tool.timed_out", tool=tool.name, ms=self._timeout(tool)))
        except InterlockError as error:
            self._fail(call, Text("tool.failed", tool=tool.name, code=error.code), redacted(str(error), secrets))
        except Exception as error:  # noqa: BLE001  a tool is somebody else's code, and may raise anything
            kind = type(error).__name__
            said = redacted(f"{kind}: {str(error)[:500]}", secrets)
            self._fail(call, Text("tool.raised", tool=tool.name, kind=kind), said)

    def _timeout(self, tool: Tool) -> int:
        left = self.run.budget.left(self.run.usage).wall_ms
        return tool.timeout_ms if left is None else max(1, min(tool.timeout_ms, left))

    async def _take_result(self, call: CallState, tool: Tool, result: Any) -> None:
        settings = self._installation.settings
        try:
            data = canonical.encode(result)
        except (TypeError, ValueError, RecursionError):
            self._fail(call, Text("tool.not_json", tool=tool.name))
            return
        if len(data) > settings.sizes.result:
            self._fail(
                call, Text("tool.result_too_large", tool=tool.name, size=len(data), limit=settings.sizes.result)
            )
            return
        labels = tool.labels_of(result)
        refusal = barrier(labels, self.run.scope, settings.vocabulary, frozenset(), self._released)
        if refusal is not None:
            self._fail(call, refusal.text)
            return
        kept = await self._installation.contents.keep_any(self.run.company, data)
        if len(data) > settings.sizes.shown:
            self._save(kept, "application/json", labels)
        self._answer(call, kept, labels)

    def _answer(self, call: CallState, kept: Kept, labels: Labels, cut: dict[str, int] | None = None) -> None:
        body: dict[str, Any] = {
            "call": call.id,
            "tool": call.tool,
            "result": kept.digest,
            "size": kept.size,
            "usage": self._usage(),
        }
        if labels:
            body["labels"] = listed(labels)
        if cut is not None:
            body["slice"] = cut
        self._recorder.note("tool.answered", body, [kept.row])

    def _usage(self) -> dict[str, int]:
        return Usage(tool_calls=1, wall_ms=self._recorder.elapsed()).as_dict()

    def _fail(self, call: CallState, reason: Text, told: str = "") -> None:
        kept = self._keep_text(told or say(reason, self._installation.settings.language))
        body = {"call": call.id, "tool": call.tool, "error": reason, "detail": kept.digest, "usage": self._usage()}
        self._recorder.note("tool.answered", body, [kept.row])

    def fail(self, call: CallState, reason: Text, told: str = "") -> None:
        """Take down that a call came to nothing; `told` is what the body hears, the reason unless given."""
        self._fail(call, reason, told)

    def _keep_text(self, text: str) -> Kept:
        return self._installation.contents.keep(self.run.company, text.encode(errors="backslashreplace"))

    # The platform's own tools

    async def _platform_act(self, call: CallState, proposal: Proposal, allow: Allow) -> None:
        allow.consume(proposal.digest)
        try:
            if call.tool == READ_ARTIFACT:
                await self._read_artifact(call, proposal.arguments)
            elif call.tool == SAVE_ARTIFACT:
                await self._save_artifact(call, proposal.arguments)
        except InterlockError as error:
            self._fail(call, Text("tool.failed", tool=call.tool, code=error.code), str(error))

    async def _read_artifact(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        item = self._artifact(arguments["name"])
        if item is None:
            raise InterlockError("artifact.not_given", value=arguments["name"], given=self._readable())
        data = await self._installation.contents.read(item["digest"])
        labels = frozenset(item["labels"])
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise InterlockError("artifact.not_text", value=arguments["name"], media=item["media"]) from None
        start = min(arguments.get("start", 0), len(text))
        end = len(text)
        if self._spec.function is None:
            start, end = shown_slice(text, start, self._installation.settings.sizes.shown)
        cut = {"start": start, "end": end, "total": len(text)}
        kept = await self._installation.contents.keep_any(self.run.company, data)
        self._answer(call, kept, labels, cut)

    def _readable(self) -> list[str]:
        given = [name for name, item in self.run.given.items() if not item.get("absent")]
        return sorted({*given, *self.run.artifacts})

    async def _save_artifact(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        data = text_bytes(arguments["content"], "content")
        limit = self._installation.settings.sizes.artifact
        if len(data) > limit:
            raise InterlockError("artifact.too_large", value=SAVE_ARTIFACT, size=len(data), limit=limit)
        kept = await self._installation.contents.keep_any(self.run.company, data)
        handle = self._save(kept, arguments.get("media", "text/plain"), self.run.labels)
        answer = await self._installation.contents.keep_any(self.run.company, canonical.encode({"handle": handle}))
        self._answer(call, answer, NO_LABELS)

    def _save(self, kept: Kept, media: str, labels: Labels) -> str:
        """Publish content under a handle of its own, once."""
        handle = handle_of(kept.digest)
        if handle not in self.run.artifacts:
            body = artifact_body(self.run, handle, kept, media, labels | self.run.labels)
            self._recorder.note("artifact.saved", body, [kept.row])
        return handle


def artifact_body(run: Run, name: str, kept: Kept, media: str, labels: Labels) -> dict[str, Any]:
    """Give an artifact as a step keeps it: name, ref, digest, size, media type and labels (CS-2)."""
    return {
        "name": name,
        "ref": f"{run.id}/{name}",
        "digest": kept.digest,
        "size": kept.size,
        "media": media,
        "labels": listed(labels),
    }


def text_bytes(text: str, name: str) -> bytes:
    """Give the UTF-8 of a text. Raises InterlockError `artifact.not_unicode` for a lone surrogate, with where."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        raise InterlockError("artifact.not_unicode", value=name, code=code, place=error.start) from None
