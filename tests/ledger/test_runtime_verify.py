"""Verifying a whole installation: the chain, the projections and every piece of content, down to prompts."""

from pathlib import Path
from typing import Any

import pytest

from interlock.agent.spec import Spec
from interlock.ledger.ledger import Finding, Row, Write
from interlock.ledger.step import Draft
from interlock.run.dispatcher import Dispatcher
from interlock.scope.scope import Scope
from tests.ledger.world import SqliteStore, in_loop
from tests.run.scene import go_through, spec_of
from tests.world import sound, world

SPEC = Spec("triage", Scope("acme/platform"), "Triage what comes in. " * 100)
LONG = "the same finding, told at length; " * 100


@pytest.mark.rule("RN-2", "CS-8", "PS-1")
@in_loop
async def test_every_piece_of_content_that_is_changed_is_named_by_a_step_of_the_run(tmp_path: Path) -> None:
    script = {SPEC.address: [{"finish": {"summary": "done", "artifacts": {"findings": LONG}}}]}
    async with world(tmp_path, script, [SPEC]) as runtime:
        async with runtime.worker() as worker:
            run = await runtime.open_run(SPEC.address, "maria", {"order": 7, "text": LONG}, worker=worker)
            await worker.idle()
        assert await sound(runtime)
        store = SqliteStore(runtime.home)
        store.meddle()
        outside = store.outside()
        rows = outside.execute("SELECT digest, body FROM content").fetchall()
        assert len(rows) >= 5, "the brief, the spec, the prompt in parts, the answer and the artifact"
        of_run = 0
        for digest, body in rows:
            change = "UPDATE content SET body = ? WHERE digest = ?"
            outside.execute(change, (body[:-1] + bytes([body[-1] ^ 1]), digest))
            for stream in (None, run):
                named = [item async for item in runtime.verify(stream) if item.detail == digest.hex()]
                assert {item.problem for item in named} <= {"content.corrupt"}
                if stream is None:
                    assert named
                    assert named[0].stream != "*", "some step leads to it"
                else:
                    of_run += bool(named)
            outside.execute(change, (body, digest))
        assert of_run >= len(rows) - 1, "all but the agent's spec belong to the run"
        store.mend()
        assert await sound(runtime)


@pytest.mark.rule("EV-10", "RN-2")
@in_loop
async def test_listeners_that_were_forgotten_are_named(tmp_path: Path) -> None:
    """Of one run's listeners all are opened or noted; of the other's, one was left when the outbox lost its row."""
    source = spec_of("a", emits=("done",))
    listeners = [spec_of(name, starts_on=("done",)) for name in ("b", "c", "d")]
    script = {"*": [{"finish": {"summary": "done", "artifacts": {"report": "r"}}}]}
    async with world(tmp_path, script, [source, *listeners], listeners_at_once=0) as runtime:
        ledger, paused = runtime.installation.ledger, listeners[1].address
        handled = await go_through(runtime, source.address, until_idle=False)
        assert await sound(runtime), "all are owed"
        await ledger.append((Write(paused, None, (Draft("agent.paused", {"agent": paused}),)),))
        assert await Dispatcher(runtime.installation).sweep() == 1
        assert await ledger.query("owed_of_run", handled.id) == []
        assert await sound(runtime), "two were opened, and one was noted"

        forgotten = await go_through(runtime, source.address, until_idle=False)
        dispatcher = Dispatcher(runtime.installation)
        open_one = dispatcher._open

        async def open_some(run: Any, event: Any, delivery: Any, *more: Any) -> bool:
            return delivery.listener.name != "d" and await open_one(run, event, delivery, *more)

        dispatcher._open = open_some  # type: ignore[method-assign]
        assert await dispatcher.sweep() == 0
        assert await sound(runtime), "one is owed still"
        await ledger.append((), rows=(Row("settle_owed", (forgotten.id,)),))
        wanted = [Finding("not_owed", forgotten.id, forgotten.head.seq)]
        for stream in (None, forgotten.id):
            assert [item async for item in runtime.verify(stream)] == wanted
        assert [item async for item in runtime.verify(handled.id)] == []
