"""Verifying a whole installation: the chain, the projections and every piece of content, down to prompts."""

from pathlib import Path

import pytest

from interlock.agent.spec import Spec
from interlock.scope.scope import Scope
from tests.ledger.world import SqliteStore, in_loop
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
        assert await sound(runtime)
