"""The door: the one place through which a proposed call passes, is judged, is made and is recorded (GT-1).

Both bodies use it, the model loop and the function. Whatever passes is gated, recorded and labelled here, so
that nobody can forget to.
"""

from collections.abc import Mapping
from typing import Any

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.catalogue import Text, say
from interlock.connector.tool import BoundTool, ToolCall
from interlock.errors import InterlockError
from interlock.gate.gate import decide
from interlock.gate.proposal import Proposal
from interlock.gate.tool import Tool
from interlock.gate.verdict import Allow, Ask, Verdict
from interlock.ledger.content_store import Kept
from interlock.perspective.resolver import shown_slice
from interlock.run.finish import text_bytes
from interlock.run.foreign import Raised, code_of, foreign, within
from interlock.run.installation import Installation
from interlock.run.judgement import Judgement
from interlock.run.outcome import Outcomes
from interlock.run.platform_tools import READ_ARTIFACT, SAVE_ARTIFACT
from interlock.run.recorder import Recorder
from interlock.run.run import CallState, Run
from interlock.run.secret import redacted, resolve_secrets
from interlock.scope.label import NO_LABELS

__all__ = ["Door"]

SAID = 2000
"""How many characters of a failing tool's words are kept."""


class Door:
    """The door of one run under one claim."""

    def __init__(self, installation: Installation, recorder: Recorder, spec: Spec) -> None:
        self._installation, self._recorder, self._spec = installation, recorder, spec
        self.run: Run = recorder.run
        self._judgement = Judgement(installation, self.run, spec)
        self.outcomes = Outcomes(installation, recorder, self._judgement.released)
        self._allowed: dict[str, tuple[Allow, Proposal]] = {}

    def repeatable(self, name: str) -> bool:
        """Tell whether a call may be made again when nobody recorded its result: only what has no effect
        outside the ledger may."""
        tool = self._judgement.declared(name)
        return tool is not None and (tool.effect == "read" or tool.platform)

    def known_name(self, name: str) -> str:
        """Give a tool's name as steps keep it: nothing for one that nobody declared, which is a model's text."""
        return name if self._judgement.declared(name) is not None else ""

    async def judge(self, call: CallState, name: str, arguments: Any, stored: Kept | None = None) -> Verdict:
        """Put a call before the Gate and take its verdict down.

        `name` is the tool's as it was written, `arguments` the JSON value, or the raw text where a model
        wrote none. `stored` is their content where no answer of a model holds it; `call.answer` is then the
        place of the call in a function.
        """
        proposal = self._judgement.proposal(call, name, arguments)
        verdict = decide(proposal, await self._judgement.facts(proposal))
        body: dict[str, Any] = {"call": call.id, "tool": call.tool, **verdict.as_dict()}
        contents = []
        if stored is not None:
            body |= {"place": call.answer, "arguments_content": stored.digest}
            contents.append(stored.row)
        if isinstance(verdict, Allow):
            self._allowed[call.id] = verdict, proposal
        else:
            told = self.outcomes.keep_text(self._told(verdict))
            body["detail"] = told.digest
            contents.append(told.row)
        self._recorder.note("tool.judged", body, contents)
        return verdict

    def _told(self, verdict: Verdict) -> str:
        language = self._installation.settings.language
        if isinstance(verdict, Ask):
            return " ".join(say(item.text, language) for item in verdict.objections)
        return "" if isinstance(verdict, Allow) else verdict.told(language)

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
            raise InterlockError("tool.unknown", value=name)
        if tool.platform:
            await self._act_inside(call, proposal, allow)
            return
        if tool.effect != "read" or tool.leaves:
            await self._recorder.flush()
        await self._act_outside(call, tool, proposal, allow)
        if tool.effect != "read":
            # Were it lost, what is known to have been done would be in doubt.
            await self._recorder.flush(durable=False)

    async def _act_outside(self, call: CallState, tool: Tool, proposal: Proposal, allow: Allow) -> None:
        bound = self._installation.tools.get(tool.name)
        if bound is None:
            raise InterlockError("tool.unknown", value=tool.name)
        settings = self._installation.settings
        try:
            secrets = resolve_secrets(tool, settings.secrets, self._installation.environment)
        except InterlockError as error:
            self.outcomes.fail(call, Text("tool.failed", tool=tool.name, code=error.code), str(error))
            return
        try:
            result = await self._reach_out(bound, tool, proposal, allow, secrets)
        except TimeoutError:
            self.outcomes.fail(call, Text("tool.timed_out", tool=tool.name, ms=self._timeout(tool)))
        except InterlockError as error:
            reason = Text("tool.failed", tool=tool.name, code=code_of(error))
            self.outcomes.fail_saying(call, tool, reason, redacted(str(error), secrets)[:SAID])
        except Raised as error:
            reason = Text("tool.raised", tool=tool.name, kind=error.kind)
            self.outcomes.fail_saying(call, tool, reason, redacted(error.said, secrets)[:SAID])
        else:
            await self._take(call, tool, result, secrets)

    async def _take(self, call: CallState, tool: Tool, result: Any, secrets: Mapping[str, str]) -> None:
        try:
            cleaned = redacted(result, secrets)
        except RecursionError:
            self.outcomes.fail(call, Text("tool.not_json", tool=tool.name))
        else:
            await self.outcomes.take(call, tool, cleaned)

    async def _reach_out(
        self, bound: BoundTool, tool: Tool, proposal: Proposal, allow: Allow, secrets: Mapping[str, str]
    ) -> Any:
        installation, timeout = self._installation, self._timeout(tool)
        deadline = installation.clock.now() + timeout
        about = ToolCall(self.run.id, self.run.agent, self.run.root_task, deadline, secrets)
        installation.reach("tool.before_call")
        allow.consume(proposal.digest)
        result = await within(foreign(bound(about, proposal.arguments)), timeout / 1000)
        installation.reach("tool.after_call")
        return result

    def _timeout(self, tool: Tool) -> int:
        return self.run.time_left(tool.timeout_ms)

    # The platform's own tools

    async def _act_inside(self, call: CallState, proposal: Proposal, allow: Allow) -> None:
        allow.consume(proposal.digest)
        try:
            if call.tool == READ_ARTIFACT:
                await self._read_artifact(call, proposal.arguments)
            elif call.tool == SAVE_ARTIFACT:
                await self._save_artifact(call, proposal.arguments)
        except InterlockError as error:
            reason = Text("tool.failed", tool=call.tool, code=error.code)
            self.outcomes.fail(call, reason, str(error))

    async def _read_artifact(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        name = arguments["name"]
        item = self._judgement.artifact(name)
        if item is None:
            raise InterlockError("artifact.not_given", value=name, given=self._readable())
        data = await self._installation.contents.read(item["digest"])
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise InterlockError("artifact.not_text", value=name, media=item["media"]) from None
        # JSON Schema takes 1.0 for a whole number.
        start, end = min(int(arguments.get("start", 0)), len(text)), len(text)
        if self._spec.function is None:
            start, end = shown_slice(text, start, self._installation.settings.sizes.shown)
        kept = await self._installation.contents.keep_any(self.run.company, data)
        cut = {"start": start, "end": end, "total": len(text)}
        self.outcomes.answer(call, kept, frozenset(item["labels"]), cut)

    def _readable(self) -> list[str]:
        given = [name for name, item in self.run.given.items() if not item.get("absent")]
        return sorted({*given, *self.run.artifacts})

    async def _save_artifact(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        contents, limit = self._installation.contents, self._installation.settings.sizes.artifact
        data = text_bytes(arguments["content"], "content")
        if len(data) > limit:
            raise InterlockError("artifact.too_large", value=SAVE_ARTIFACT, size=len(data), limit=limit)
        kept = await contents.keep_any(self.run.company, data)
        handle = self.outcomes.save(kept, arguments.get("media", "text/plain"), self.run.labels)
        answer = await contents.keep_any(self.run.company, canonical.encode({"handle": handle}))
        self.outcomes.answer(call, answer, NO_LABELS)
