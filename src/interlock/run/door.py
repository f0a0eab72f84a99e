"""The door: the one place through which a proposed call passes, is judged, is made and is recorded (GT-1).

Both bodies use it, the model loop and the function. Whatever passes is gated, recorded and labelled here, so
that nobody can forget to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.catalogue import Text, say
from interlock.connector.tool import BoundTool, ToolCall
from interlock.errors import InterlockError
from interlock.gate.gate import decide
from interlock.gate.proposal import Proposal, Response, RunFacts
from interlock.gate.rule import APPROVAL, DUPLICATE
from interlock.gate.schema import judge_arguments
from interlock.gate.tool import Tool
from interlock.gate.verdict import Allow, Ask, Deny, Verdict
from interlock.ledger.content_store import Kept
from interlock.perspective.shown import shown_slice
from interlock.run.acting import Acting, Make
from interlock.run.approval import Approvals
from interlock.run.asking import Asking
from interlock.run.concluding import Concluding
from interlock.run.finish import text_bytes
from interlock.run.foreign import Raised, UnansweredError, code_of, foreign, within
from interlock.run.installation import Installation
from interlock.run.judgement import Judgement
from interlock.run.outcome import Outcomes
from interlock.run.planning import Planning
from interlock.run.platform_tools import (
    ASK,
    CONCLUDE,
    PLAN_WORK,
    READ_ARTIFACT,
    RECALL,
    REMEMBER,
    SAVE_ARTIFACT,
    TALKING,
)
from interlock.run.recorder import Recorder
from interlock.run.remembering import Remembering
from interlock.run.run import CallState, Run
from interlock.run.secret import redacted, resolve_secrets
from interlock.run.signal import Signals
from interlock.run.talking import Talking
from interlock.run.working import Working
from interlock.scope.label import NO_LABELS

__all__ = ["Door"]

SAID = 2000
"""How many characters of a failing tool's words are kept."""
NO_JSON: Any = object()
"""In place of a result that lies inside itself."""


class Door:
    """The door of one run under one claim."""

    def __init__(self, installation: Installation, recorder: Recorder, spec: Spec, asking: Asking) -> None:
        self._installation, self._recorder, self._spec = installation, recorder, spec
        self.run: Run = recorder.run
        self.judgement = Judgement(installation, self.run, spec)
        self.outcomes = Outcomes(installation, recorder, self.judgement.released)
        self._approvals = Approvals(installation, recorder)
        self._acting = Acting(installation, recorder, self.outcomes)
        self._talking = Talking(installation, recorder, spec, self.judgement, self.outcomes)
        self._signals = Signals(installation, recorder)
        self._remembering = Remembering(installation, recorder, self.outcomes)
        self._concluding = Concluding(installation, recorder, self.outcomes, asking)
        self._planning = Planning(installation, recorder, spec, self.outcomes)
        self.working = Working(installation, recorder, spec, self)
        self._allowed: dict[str, tuple[Allow, Proposal]] = {}

    def repeatable(self, name: str) -> bool:
        """Tell whether a call may be made again when nobody recorded its result: only what has no effect
        outside the ledger may."""
        tool = self.judgement.declared(name)
        return tool is not None and (tool.effect == "read" or tool.platform)

    def known_name(self, name: str) -> str:
        """Give a tool's name as steps keep it: nothing for one that nobody declared, which is a model's text."""
        return name if self.judgement.declared(name) is not None else ""

    async def judge(self, call: CallState, name: str, arguments: Any, stored: Kept | None = None) -> Verdict:
        """Put a call before the Gate and take its verdict down.

        `name` is the tool's as it was written, `arguments` the JSON value, or the raw text where a model
        wrote none. `stored` is their content where no answer of a model holds it; `call.answer` is then the
        place of the call in a function.
        """
        proposal = self.judgement.proposal(call, name, arguments)
        answers = await self._approvals.responses(call)
        verdict = decide(proposal, await self._facts(call, proposal), answers)
        body: dict[str, Any] = {"call": call.id, "tool": call.tool, **verdict.as_dict()}
        contents = []
        if stored is not None:
            body |= {"place": call.answer, "arguments_content": stored.digest}
            contents.append(stored.row)
        if isinstance(verdict, Allow):
            self._allowed[call.id] = verdict, proposal
        else:
            told = self.outcomes.keep_text(await self._told(call, verdict, answers))
            body["detail"] = told.digest
            contents.append(told.row)
        self._recorder.note("tool.judged", body, contents)
        if isinstance(verdict, Ask):
            await self._approvals.ask(self.run.calls[call.id], proposal, verdict)
        elif isinstance(verdict, Deny):
            await self._denied(call, proposal, verdict, told)
        return verdict

    async def _facts(self, call: CallState, proposal: Proposal) -> RunFacts:
        """What the Gate must know; how the action stands is looked up where the call could be one."""
        facts, tool = await self.judgement.facts(proposal), proposal.tool
        if (
            tool is None
            or tool.platform
            or tool.effect == "read"
            or judge_arguments(tool, proposal.arguments, facts.arguments_limit)
        ):
            return facts
        return replace(facts, action=await self._acting.facts(call, tool, proposal.arguments))

    async def _denied(self, call: CallState, proposal: Proposal, verdict: Deny, told: Kept) -> None:
        """What people must see of a denial: a message that was rejected, or two calls that want different things."""
        if call.tool in TALKING:
            self._note_rejected(call, verdict, told)
        elif verdict.rule == DUPLICATE and proposal.tool is not None:
            await self._acting.denied(call, proposal.tool, proposal.arguments)

    async def _told(self, call: CallState, verdict: Verdict, answers: Sequence[Response]) -> str:
        language = self._installation.settings.language
        if isinstance(verdict, Ask):
            return " ".join(say(item.text, language) for item in verdict.objections)
        if isinstance(verdict, Allow):
            return ""
        told = verdict.told(language)
        if answers and verdict.rule == APPROVAL and (said := await self._approvals.said(call)):
            return f"{told} {said}"
        if call.tool in TALKING and verdict.rule == "arguments":
            return f"{told} {say('message.longer_as_artifact', language)}"
        return told

    def _note_rejected(self, call: CallState, verdict: Deny, told: Kept) -> None:
        """A message that is not what it must be is recorded where its task's others are (MS-1)."""
        body = {
            "task": self.run.task,
            "from": self.run.agent,
            "run": self.run.id,
            "type": call.tool,
            "rule": verdict.rule,
            "reason": verdict.text,
            "detail": told.digest,
        }
        self._recorder.note_beside(self.run.root_task, "message.rejected", body)

    async def receive(self, call: CallState) -> None:
        """Take in the reply that a call waited for; its labels join the run's, and its attachments can be read."""
        envelope = await self._signals.envelope(self.run.replies[call.message or ""])
        language = self._installation.settings.language
        warnings = [say(text, language) for text in call.warnings]
        kept, given = await self._signals.shown(envelope, {"warnings": warnings} if warnings else {})
        self.outcomes.answer(call, kept, envelope.labels, given=given)

    async def act(self, call: CallState, name: str, arguments: Any) -> None:
        """Make an allowed call and take its result down.

        A call that was allowed under an earlier claim is judged anew first: an `Allow` is not stored.
        """
        if call.question is not None and call.tool == ASK:
            await self._hear(call)
            return
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
        await self._act_outside(call, tool, proposal, allow)

    async def _hear(self, call: CallState) -> None:
        """Take in what a person answered to a question, or that nobody did in time."""
        row = (await self._installation.ledger.query("question_by_id", call.question))[0]
        outcome, by, said = row[9], row[10], row[11]
        if said is None:
            self.outcomes.fail(call, Text(f"message.person_{'expired' if outcome == 'expire' else 'silent'}"))
            return
        words = (await self._installation.contents.read(said)).decode()
        answer = canonical.encode({"type": "result", "from": by, "text": words})
        self.outcomes.answer(
            call, await self._installation.contents.keep_any(self.run.company, answer), NO_LABELS
        )

    async def _act_outside(self, call: CallState, tool: Tool, proposal: Proposal, allow: Allow) -> None:
        installation = self._installation
        bound = installation.tools.get(tool.name)
        if bound is None:
            raise InterlockError("tool.unknown", value=tool.name)
        try:
            secrets = resolve_secrets(tool, installation.settings.secrets, installation.environment)
        except InterlockError as error:
            self.outcomes.fail(call, Text("tool.failed", tool=tool.name, code=error.code), str(error))
            return

        async def make(key: str) -> Any:
            return await self._reach_out(bound, tool, proposal, allow, secrets, key)

        if tool.effect == "read":
            await self._read(call, tool, make)
        else:
            await self._acting.act(call, tool, proposal.arguments, make, allow.repeats)

    async def _read(self, call: CallState, tool: Tool, make: Make) -> None:
        if tool.leaves:
            await self._recorder.flush()
        try:
            await self.outcomes.take(call, tool, await make(""))
        except UnansweredError as error:
            self.outcomes.fail_saying(call, tool, error.reason, error.said)

    async def _reach_out(
        self,
        bound: BoundTool,
        tool: Tool,
        proposal: Proposal,
        allow: Allow,
        secrets: Mapping[str, str],
        key: str,
    ) -> Any:
        """Make the call. Whatever comes back is cleared of secrets. Raises UnansweredError."""
        installation, timeout = self._installation, self._timeout(tool)
        deadline = installation.clock.now() + timeout
        about = ToolCall(self.run.id, self.run.agent, self.run.root_task, deadline, key, secrets)
        installation.reach("tool.before_call")
        allow.consume(proposal.digest)
        try:
            result = await within(foreign(bound(about, proposal.arguments)), timeout / 1000)
        except TimeoutError:
            raise UnansweredError(Text("tool.timed_out", tool=tool.name, ms=timeout)) from None
        except InterlockError as error:
            reason = Text("tool.failed", tool=tool.name, code=code_of(error))
            raise UnansweredError(reason, redacted(str(error), secrets)[:SAID]) from None
        except Raised as error:
            reason = Text("tool.raised", tool=tool.name, kind=error.kind)
            raise UnansweredError(reason, redacted(error.said, secrets)[:SAID], error.undone) from None
        installation.reach("tool.after_call")
        try:
            return redacted(result, secrets)
        except RecursionError:
            return NO_JSON

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
            elif call.tool in {REMEMBER, RECALL}:
                await self._remembering.act(call, proposal.arguments)
            elif call.tool == PLAN_WORK:
                await self._planning.act(call, proposal.arguments)
            elif call.tool == CONCLUDE:
                await self._concluding.act(call, proposal.arguments)
            else:
                await self._talking.act(call, proposal.arguments)
        except InterlockError as error:
            reason = Text("tool.failed", tool=call.tool, code=error.code)
            self.outcomes.fail(call, reason, str(error))

    async def _read_artifact(self, call: CallState, arguments: Mapping[str, Any]) -> None:
        name = arguments["name"]
        item = self.judgement.artifact(name)
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
        foreign: dict[str, Any] = {} if name in self.run.artifacts else {"foreign": self._foreign(item)}
        self.outcomes.answer(call, kept, frozenset(item["labels"]), cut, artifact=name, **foreign)

    def _foreign(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """What somebody else made and this agent has read is from now on a row of its perspective, too (PX-3)."""
        return {"perspective": self.run.agent, "ref": item["ref"]}

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
