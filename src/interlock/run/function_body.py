"""A function body's run: the function is called anew on every resume, and each of its calls is either taken
from the trail or made now (AG-6).

A call has its place, its name and the digest of its arguments. A replay that differs in any of them ends the
run, saying where. Time, identifiers and chance are taken from the run, so that a replay has the same.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from interlock import canonical
from interlock.agent.spec import Spec
from interlock.catalogue import Text
from interlock.errors import InterlockError
from interlock.gate.verdict import Allow
from interlock.run.allowance import draw_for_call
from interlock.run.door import Door
from interlock.run.foreign import WAITING, Ended, Raised, code_of, foreign, within
from interlock.run.function import Finish
from interlock.run.installation import Installation
from interlock.run.move import End, Judge, Receive, Wait, Working, ending, move_of_call
from interlock.run.platform_tools import READ_ARTIFACT, SAVE_ARTIFACT
from interlock.run.recorder import Recorder
from interlock.run.run import CallState

__all__ = ["FunctionBody"]

SAID = 2000
"""How many characters of an exception's words are kept."""
SHOWN = 200
"""How many characters of an artifact's name are repeated when it is refused."""


class FunctionBody:
    """One execution of a function; it is the `FunctionRun` that the function is given."""

    def __init__(
        self,
        installation: Installation,
        recorder: Recorder,
        door: Door,
        spec: Spec,
        take_signals: Callable[[], Awaitable[bool]],
    ) -> None:
        self._installation, self._recorder, self._door, self._spec = installation, recorder, door, spec
        self._take_signals = take_signals
        self._run = recorder.run
        self._place = 0
        self._drawn = 0
        self._now = self._run.opened_at
        self._one_at_a_time = asyncio.Lock()
        self._input: Any = None
        self._ended: Ended | None = None
        self._over = False

    async def go(self) -> dict[str, Any]:
        """Run the function and give its finish as the arguments of the platform tool `finish`.

        Raises Ended when the run ends otherwise.
        """
        name = self._spec.function or ""
        function = self._installation.functions.get(name)
        if function is None:
            raise Ended("failed", Text("function.not_loaded", function=name))
        if function.code_digest != self._spec.code_digest and not self._run.calls:
            raise Ended("failed", Text("function.code_changed", function=name, agent=self._run.agent))
        self._input = await self._opening_input()
        try:
            finish = await self._finish_given(function.call)
        except InterlockError as error:
            status = "refused" if error.code == "gate.denied" else "failed"
            raise Ended(
                status, Text("function.raised", kind=code_of(error), place=self._place), str(error)
            ) from None
        except Raised as error:
            reason = Text("function.raised", kind=error.kind, place=self._place)
            raise Ended("failed", reason, error.said[:SAID]) from None
        return self._finish_of(finish)

    async def _finish_given(self, function: Callable[[Any], Awaitable[Any]]) -> Any:
        """Await the function, as long as the run has time. Once the run is at its end, nothing that the function
        makes of that counts."""
        left = self._run.budget.left(self._run.committed).wall_ms
        try:
            return await within(foreign(function(self)), None if left is None else left / 1000)
        except TimeoutError:
            raise self._end("exhausted", Text("budget.run_used_up", amount="wall_ms")) from None
        except BaseExceptionGroup as group:
            if self._ended is None:
                raise Raised(group) from None
        finally:
            self._over = True
            async with self._one_at_a_time:  # a call that the function left behind is brought to its end
                pass
            if self._ended is not None:
                raise self._ended from None

    def _end(self, status: str, reason: Text) -> Ended:
        self._ended = Ended(status, reason)
        return self._ended

    def _finish_of(self, finish: Any) -> dict[str, Any]:
        recorded = sum(not call.node for call in self._run.calls.values())
        if recorded > self._place:
            raise Ended("failed", Text("function.ended_early", place=self._place, recorded=recorded))
        if not isinstance(finish, Finish) or not isinstance(finish.summary, str):
            raise Ended("failed", Text("function.no_finish", kind=type(finish).__name__))
        try:
            artifacts = dict(finish.artifacts)
            not_done = [{"what": str(what), "why": str(why)} for what, why in finish.not_done]
        except (TypeError, ValueError) as error:
            raise Ended("failed", Text("function.bad_finish"), str(error)) from None
        for place, (name, content) in enumerate(artifacts.items(), 1):
            if not isinstance(name, str) or not isinstance(content, str | bytes):
                kind = type(content).__name__
                detail = f"{str(name)[:SHOWN]}: {kind}"
                raise Ended("failed", Text("function.bad_artifact", place=place, kind=kind), detail)
        return {"summary": finish.summary, "artifacts": artifacts, "not_done": not_done}

    async def _opening_input(self) -> Any:
        opening = self._run.opening
        if "given" in opening:
            given = opening["given"]
            said = json.loads(await self._installation.contents.read(given["body"]))
            return {**given, **said}
        if "event" in opening:
            return opening["event"]
        if "input" not in opening:
            return None
        return json.loads(await self._installation.contents.read(opening["input"]))

    # What the function is given

    @property
    def input(self) -> Any:
        """What opened the run: the brief of a person, or the event with the artifacts it names."""
        return self._input

    def now(self) -> int:
        """Give the time of the last thing the run recorded, in milliseconds since the Unix epoch."""
        return self._now

    def new_id(self, kind: str) -> str:
        """Give an identifier that a replay gives again."""
        return f"{kind}_{self._chance(kind).hex()[:32]}"

    def chance(self) -> float:
        """Give a number in [0, 1) that a replay gives again."""
        return (int.from_bytes(self._chance("chance")[:8]) >> 11) / (1 << 53)

    def _chance(self, kind: str) -> bytes:
        self._drawn += 1
        return hashlib.sha256(f"{self._run.id} {self._drawn} {kind}".encode()).digest()

    async def read_artifact(self, name: str) -> str:
        """Read an artifact by the name it was given under."""
        text: str = await self.call(READ_ARTIFACT, name=name)
        return text

    async def save_artifact(self, content: str, media: str = "text/plain") -> str:
        """Store something large and give its handle."""
        handle: str = (await self.call(SAVE_ARTIFACT, content=content, media=media))["handle"]
        return handle

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """Call a tool and give its result. A call that the Gate denies raises InterlockError `gate.denied`,
        one that fails InterlockError `tool.no_result`."""
        async with self._one_at_a_time:
            self._check_open()
            self._place += 1
            state = await self._state_of(name, arguments)
            while state.done is None:
                await self._go_on(state, arguments)
            await self._recorder.settle()
            self._now = self._run.times.get(state.id, self._now)
            return await self._result(state)

    async def together(self, *calls: tuple[str, Mapping[str, Any]]) -> list[Any]:
        """Make several calls and wait for all of them; gives for each its result or its InterlockError."""
        async with self._one_at_a_time:
            self._check_open()
            states = []
            for name, arguments in calls:
                self._place += 1
                states.append((await self._state_of(name, dict(arguments)), dict(arguments)))
            while waiting := [pair for pair in states if pair[0].done is None]:
                await self._go_on_with_any(waiting)
            await self._recorder.settle()
            self._now = max(
                (self._run.times.get(state.id, self._now) for state, _ in states), default=self._now
            )
            return [await self._outcome(state) for state, _ in states]

    async def _go_on_with_any(self, waiting: list[tuple[CallState, dict[str, Any]]]) -> None:
        """Bring on what does not wait for others; when all of it does, the function is put aside."""
        await self._take_signals()
        ready = [pair for pair in waiting if not isinstance(move_of_call(self._run, pair[0]), Wait)]
        for state, arguments in ready or waiting[:1]:
            await self._go_on(state, arguments)

    async def _outcome(self, state: CallState) -> Any:
        try:
            return await self._result(state)
        except InterlockError as error:
            return error

    def _check_open(self) -> None:
        if self._ended is not None or self._over:
            raise self._ended or Ended("failed", Text("function.over"))

    async def _state_of(self, name: str, arguments: dict[str, Any]) -> CallState:
        try:
            encoded = canonical.encode_foreign(arguments)
        except (TypeError, ValueError, RecursionError):
            raise InterlockError("function.bad_arguments", tool=name, place=self._place) from None
        recorded = self._run.calls.get(f"call_{self._place}")
        if recorded is None:
            state = CallState(f"call_{self._place}", name, self._place, 0)
            await self._judge(state, arguments, encoded)
            return self._run.calls[state.id]
        digest = self._installation.contents.digest(self._run.company, encoded)
        if (recorded.tool, recorded.arguments) != (name, digest):
            reason = Text("function.replay_differs", place=self._place, recorded=recorded.tool, now=name)
            raise self._end("failed", reason)
        return recorded

    async def _judge(self, state: CallState, arguments: dict[str, Any], encoded: bytes) -> None:
        self._check_end()
        if self._installation.settings.scope_budgets:
            reason = await draw_for_call(self._installation, self._recorder, state.tool)
            if reason is not None:
                raise self._end("exhausted", reason)
        kept = await self._installation.contents.keep_any(self._run.company, encoded)
        await self._door.judge(state, state.tool, arguments, kept)

    def _check_end(self) -> None:
        corrections = self._installation.settings.corrections
        if isinstance(end := ending(self._run, corrections), End):
            raise self._end(end.status, Text(end.reason["id"], **end.reason.get("with", {})))

    async def _go_on(self, state: CallState, arguments: dict[str, Any]) -> None:
        await self._take_signals()
        self._check_end()
        move = move_of_call(self._run, state)
        if isinstance(move, Wait):
            raise self._end(WAITING, Text("run.waits"))
        if isinstance(move, Judge):
            verdict = await self._door.judge(state, state.tool, arguments)
            if not isinstance(verdict, Allow):
                return
        if isinstance(move, Working):
            await self._door.working.go_on(state)
        elif isinstance(move, Receive):
            await self._door.receive(state)
        else:
            await self._door.act(state, state.tool, arguments)
        # No model call comes after it, with which the result could be written: a crash would lose them all.
        await self._recorder.flush(durable=False)

    async def _result(self, state: CallState) -> Any:
        entry = state.done
        if entry is None or entry.content is None:
            raise InterlockError("tool.no_result", tool=state.tool, why="")
        data = await self._installation.contents.read(entry.content)
        if entry.kind == "told":
            self._check_end()
            if state.verdict != "allow":
                raise InterlockError("gate.denied", tool=state.tool, rule=state.rule or "", why=data.decode())
            raise InterlockError("tool.no_result", tool=state.tool, why=data.decode())
        if entry.kind == "artifact":
            return data.decode()[entry.start : entry.end]
        return json.loads(data)
