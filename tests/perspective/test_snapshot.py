"""Snapshots: the exact bytes of each request, on disk before they leave, at the cost of what is new in each."""

import hashlib
import itertools
import random

import apsw
import pytest

from interlock.connector.model.choice import Models
from interlock.connector.model.model import Call
from interlock.connector.model.scripted import ScriptedModel
from interlock.errors import InterlockError
from interlock.gate.budget import Budget
from interlock.perspective.snapshot import COMPLETE_EVERY, load
from interlock.settings import ModelChoice, Sizes
from interlock.testing import ProviderServer, Reply
from tests.run.scene import (
    Calls,
    JumpingClock,
    at,
    drain,
    go_through,
    kinds,
    play,
    spec_of,
    tool_giving,
    trail,
)
from tests.world import sound, world

WIDE = Budget(tool_calls=1000, tokens=100_000_000)


class Watching(ScriptedModel):
    """A scripted model that keeps what left, and looks on the disk whether it was there before it left."""

    def __init__(self, script, database=None):
        super().__init__(script)
        self.database, self.sent, self.on_disk = database, [], []

    async def ask(self, request, before_send):
        async def watched(parts):
            await before_send(parts)
            self.sent.append(b"".join(parts))
            if self.database is not None:
                self.on_disk.append(self._look())

        return await super().ask(request, watched)

    def _look(self):
        other = apsw.Connection(str(self.database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            asked = other.execute("SELECT body FROM step WHERE kind = 'model.asked' ORDER BY seq").fetchall()
            digests = {digest.hex() for (digest,) in other.execute("SELECT digest FROM content")}
        finally:
            other.close()
        return [body for (body,) in asked], digests


def chatter(calls, size=5_500):
    """A tool that gives another text of that many characters each time, which compresses like prose."""
    words = [f"{random.Random(n).randrange(10**8):x}" for n in range(2_000)]
    chance = random.Random(7)
    return tool_giving(calls, "look", lambda **_: " ".join(chance.choices(words, k=size // 8)))


@pytest.mark.rule("PS-1", "GT-1")
def test_no_request_leaves_before_its_snapshot_is_on_disk(tmp_path):
    async def story():
        calls = Calls()
        fails = [{"code": "unavailable"}]
        model = Watching(
            {"*": [{"call": "look"}, {"fails": fails, "call": "look"}, {"finish": "done"}]},
            tmp_path / ".interlock" / "ledger.db",
        )
        specs = [spec_of("a", tools=("look",))]
        async with world(
            tmp_path, None, specs, tools=[chatter(calls)], model=model, clock=JumpingClock()
        ) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert state.status == "finished"
            asked = await trail(runtime, state.id, "model.asked")
            assert len(asked) == len(model.sent) == len(model.on_disk) == 4
            for number, (bodies, digests) in enumerate(model.on_disk, 1):
                assert len(bodies) == number
                assert asked[number - 1]["snapshot"] in digests
            for body, sent in zip(asked, model.sent, strict=True):
                snapshot = await load(runtime.installation.contents, body["snapshot"])
                assert snapshot.request == sent
                assert body["bytes"] == len(sent)
            assert await sound(runtime)

    play(story())


@pytest.mark.rule("PS-1")
def test_a_request_whose_snapshot_cannot_be_stored_does_not_leave(tmp_path):
    async def story():
        model = Watching({"*": [{"text": "done"}]})
        async with world(tmp_path, None, [spec_of("a")], model=model) as runtime:
            append = runtime.installation.ledger.append

            async def full(writes, **more):
                if any(draft.kind == "model.asked" for write in writes for draft in write.drafts):
                    raise InterlockError("ledger.unwritable", file="ledger.db", why="full")
                return await append(writes, **more)

            runtime.installation.ledger.append = full
            state = await go_through(runtime, at("a"), "go")
            assert model.sent == []
            assert state.status == "open"
            runtime.installation.ledger.append = append
            await drain(runtime)
            assert len(model.sent) == 1
            assert (await runtime.run(state.id)).status == "finished"

    play(story())


@pytest.mark.rule("PS-1", "PX-4")
def test_a_snapshot_says_whose_it_is_and_what_it_holds(tmp_path):
    async def story():
        calls = Calls()
        script = {
            at("a"): [{"call": "save_artifact", "with": {"content": "c"}},
                      {"finish": {"summary": "s", "artifacts": {"report": "r"}}}],
            at("b"): [{"call": "read_artifact", "with": {"name": "report"}}, {"finish": "ok"}],
        }  # fmt: skip
        specs = [spec_of("a", emits=["done"]), spec_of("b", starts_on=["done"])]
        async with world(tmp_path, script, specs, tools=[chatter(calls)]) as runtime:
            first = await go_through(runtime, at("a"), "the brief")
            (listener,) = [
                row[0]
                for row in await runtime.installation.ledger.query("runs_before", "run_~", 9)
                if row[1] == at("b")
            ]
            about = (await runtime.prompt(listener, 2))[0].about
            assert about["agent"] == at("b")
            assert (about["version"], about["run"], about["root_run"], about["call"]) == (
                1,
                listener,
                first.id,
                2,
            )
            assert (about["role"], about["provider"], about["model"]) == ("default", "scripted", "scripted")
            assert about["artifacts"] == ["report"]
            assert b"the brief" not in (await runtime.prompt(listener, 2))[0].request
            with pytest.raises(InterlockError, match=r"prompt\.none"):
                await runtime.prompt(listener, 3)

    play(story())


@pytest.mark.rule("PS-1")
@pytest.mark.fault("F3")
def test_a_hundred_snapshots_cost_what_is_new_in_each_and_give_their_exact_bytes(tmp_path):
    """100 calls, a context that grows to some 200,000 tokens, 5 KB of output each."""

    async def size_after(count):
        folder = tmp_path / str(count)
        folder.mkdir()
        model = Watching(
            {"*": lambda request: {"call": "look"} if request.number < count else {"finish": "done"}}
        )
        instructions = "You look at things. " + "Be exact about each of them. " * 1_500
        specs = [spec_of("a", tools=("look",), instructions=instructions)]
        settings = {"tools": [chatter(Calls())], "model": model, "limits": WIDE, "task_budget": WIDE}
        async with world(folder, None, specs, synchronous="NORMAL", **settings) as runtime:
            state = await go_through(runtime, at("a"), "go")
            assert state.status == "finished"
            asked = await trail(runtime, state.id, "model.asked")
            assert len(asked) == count
            snapshots = [await load(runtime.installation.contents, body["snapshot"]) for body in asked]
            assert [snapshot.request for snapshot in snapshots] == model.sent
            whole = [number for number, snapshot in enumerate(snapshots) if snapshot.kept == 0]
            assert whole == list(range(0, count, COMPLETE_EVERY))
        size = sum(path.stat().st_size for path in (folder / ".interlock").rglob("*") if path.is_file())
        return size, model.sent

    async def story():
        (after_50, _), (after_100, sent) = await size_after(50), await size_after(100)
        assert len(sent[-1]) > 500_000
        assert after_100 <= 2.3 * after_50
        assert after_100 < sum(map(len, sent)) / 20

    play(story())


@pytest.mark.rule("PS-1", "PX-6", "ME-4")
@pytest.mark.fault("F3")
@pytest.mark.parametrize("limit", [2 * 1024 * 1024, 160_000], ids=["all of it", "left out and summarised"])
def test_a_hundred_calls_cost_on_disk_what_is_new_and_the_provider_saw_exactly_these_bytes(tmp_path, limit):
    """The same over HTTP, with a provider on loopback that keeps what it received; and where a prompt has room for
    a third of it, so that results are left out and older entries summarised."""

    async def size_after(count):
        folder = tmp_path / str(count)
        folder.mkdir()
        numbers = itertools.count(1)

        def reply(_):
            number = next(numbers)
            call = ("look", "{}") if number < count else ("finish", '{"summary": "done"}')
            return Reply(calls=(Call(f"c{number}", *call),))

        with ProviderServer(reply) as server:
            choice = ModelChoice("openai", "gpt-4o", base_url=server.openai_url)
            settings = {"tools": [chatter(Calls())], "limits": WIDE, "task_budget": WIDE}
            settings |= {"models": {"default": choice}, "sizes": Sizes(prompt=limit)}
            specs = [spec_of("a", tools=("look",), instructions="Be exact about each. " * 2_000)]
            async with world(folder, None, specs, synchronous="NORMAL", **settings) as runtime:
                models = Models({"default": choice}, folder, {})
                runtime.installation.models = models
                state = await go_through(runtime, at("a"), "go")
                await models.close()
                assert state.status == "finished", state.reason
                asked = await trail(runtime, state.id, "model.asked")
                made = await trail(runtime, state.id, "context.compacted")
                assert bool(made) == (limit < 1_000_000)
                assert len(asked) == len(server.received) == count
                for body, received in zip(asked, server.received, strict=True):
                    snapshot = await load(runtime.installation.contents, body["snapshot"])
                    assert snapshot.request == received.body
        return sum(path.stat().st_size for path in (folder / ".interlock").rglob("*") if path.is_file())

    after_50, after_100 = play(size_after(50)), play(size_after(100))
    print(f"after 50 calls {after_50} bytes, after 100 {after_100}: {after_100 / after_50:.3f} times")
    assert after_100 <= 2.3 * after_50


@pytest.mark.rule("PS-1", "CS-8")
def test_a_damaged_part_of_a_snapshot_is_never_served(tmp_path):
    async def story():
        calls = Calls()
        model = Watching({"*": [{"call": "look"}, {"finish": "done"}]})
        specs = [spec_of("a", tools=("look",))]
        async with world(tmp_path, None, specs, tools=[chatter(calls)], model=model) as runtime:
            state = await go_through(runtime, at("a"), "go")
            digest = (await trail(runtime, state.id, "tool.answered"))[0]["result"]
        database = apsw.Connection(str(tmp_path / ".interlock" / "ledger.db"))
        database.execute(
            "UPDATE content SET body = zeroblob(length(body)), form = 0 WHERE digest = ?",
            (bytes.fromhex(digest),),
        )
        database.close()
        async with world(tmp_path, None, [], tools=[chatter(calls)], model=model) as runtime:
            assert b"go" in (await runtime.prompt(state.id, 1))[0].request
            findings = [finding async for finding in runtime.verify(state.id)]
            assert {finding.problem for finding in findings} == {"content.corrupt"}

    play(story())


REPLIES = [
    Reply(calls=(Call("c1", "look", '{"n": 1}'),)),
    Reply(status=503, text="later"),
    Reply(calls=(Call("c1", "look", '{"n": 2}'), Call("c2", "look", '{"n":3}'))),
    Reply(status=429, headers={"Retry-After": "2"}),
    Reply(calls=(Call("c1", "finish", '{"summary": "done"}'),)),
]


@pytest.mark.rule("PS-1", "WK-4")
@pytest.mark.fault("F54")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_what_the_provider_received_is_what_the_snapshot_has(tmp_path, provider, stream):
    async def story():
        calls, clock = Calls(), JumpingClock()
        look = tool_giving(calls, "look", lambda **given: {"found": "çã🦉" * given["n"]})
        with ProviderServer(REPLIES) as server:
            url = server.openai_url if provider == "openai" else server.anthropic_url
            name = "gpt-4o" if provider == "openai" else "claude-opus-5"
            choice = ModelChoice(provider, name, base_url=url, stream=stream)
            specs = [spec_of("a", tools=("look",))]
            settings = {"tools": [look], "models": {"default": choice}, "clock": clock}
            async with world(tmp_path, None, specs, **settings) as runtime:
                models = Models({"default": choice}, tmp_path, {})
                runtime.installation.models = models
                state = await go_through(runtime, at("a"), {"look": "at — “this”"})
                await models.close()
                assert state.status == "finished", state.reason
                assert [call["n"] for call in calls] == [1, 2, 3]
                asked = await trail(runtime, state.id, "model.asked")
                received = server.received
                assert len(asked) == len(received) == len(REPLIES)
                for body, request in zip(asked, received, strict=True):
                    snapshot = await load(runtime.installation.contents, body["snapshot"])
                    assert hashlib.sha256(snapshot.request).hexdigest() == request.digest
                    assert snapshot.request == request.body
                    assert (snapshot.about["provider"], snapshot.about["model"]) == (provider, name)
                order = [kind for kind in await kinds(runtime, state.id) if kind.startswith("model.")]
                assert order.count("model.failed") == 2
                waits = [item["wait_ms"] for item in await trail(runtime, state.id, "model.failed")]
                assert waits[1] >= 2_000
                assert state.usage.tokens > 0
                assert await sound(runtime)

    play(story())


@pytest.mark.rule("GT-5", "PS-1")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_request_that_the_budget_does_not_cover_reaches_no_provider(tmp_path, provider):
    async def story():
        with ProviderServer([Reply(text="never")]) as server:
            url = server.openai_url if provider == "openai" else server.anthropic_url
            choice = ModelChoice(
                provider, "gpt-4o" if provider == "openai" else "claude-opus-5", base_url=url
            )
            spec = spec_of("a", limits=Budget(tokens=1_000))
            async with world(tmp_path, None, [spec], models={"default": choice}) as runtime:
                models = Models({"default": choice}, tmp_path, {})
                runtime.installation.models = models
                state = await go_through(runtime, at("a"), "go")
                await models.close()
                assert (state.status, state.reason["id"]) == ("exhausted", "budget.run_used_up")
                assert await trail(runtime, state.id, "model.asked") == []
                assert server.received == ()

    play(story())
