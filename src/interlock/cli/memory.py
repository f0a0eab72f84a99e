"""`interlock memory`: what one agent knows of people, conversations and for later, and who is whom."""

from typing import Annotated, Any

from cyclopts import App, Parameter

from interlock.cli.layout import barred, one_line
from interlock.cli.moment import moment
from interlock.cli.terminal import DONE, Options, Terminal, account, perform
from interlock.perspective.perspective import Perspective
from interlock.run.brief import checked_person
from interlock.runtime import Runtime
from interlock.scope.scope import Address

__all__ = ["app"]

PAGE = 500
Agent = Annotated[Address, Parameter(help="cli.memory.agent")]
Actor = Annotated[str, Parameter(help="cli.memory.actor")]
Person = Annotated[str | None, Parameter(help="cli.run.person")]
Because = Annotated[str, Parameter(help="cli.memory.because")]

app = App(name="memory", help_format="plaintext", result_action="return_value")


@app.command(help="cli.memory.show.help")
def show(
    agent: Agent,
    /,
    *,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Show what an agent knows: people, conversations, memories."""
    return perform(_show(agent, options))


async def _show(agent: Address, options: Options) -> int:
    terminal = options.terminal
    async with await options.runtime(read_only=True) as runtime:
        await runtime.installation.current(agent)
        people = await _people(runtime, agent)
        talks = await _all(runtime, agent, "conversations_after")
        memories = await _memories(runtime, agent)
    for person in people:
        terminal.line(f"{person['actor']}  {one_line(person['name'])}")
        if person["linked"]:
            terminal.line(f"  {terminal.say('memory.linked', actors=person['linked'])}")
    for name, connector, _, place, *_ in talks:
        terminal.line(f"{name}  {terminal.say('memory.conversation', connector=connector, place=place)}")
    for item in memories:
        terminal.line(f"{item['id']}  {moment(terminal, item['at'])}")
        _show_memory(item, terminal)
    if not (people or talks or memories):
        terminal.tell("memory.empty", agent=agent)
    terminal.data(
        {
            "agent": agent,
            "people": people,
            "conversations": [
                {"id": name, "connector": connector, "steps": place}
                for name, connector, _, place, *_ in talks
            ],
            "memories": memories,
        }
    )
    return DONE


def _show_memory(item: dict[str, Any], terminal: Terminal) -> None:
    for line in barred(item["text"]):
        terminal.line(f"  {line}")
    for key in ("about", "run", "message", "labels"):
        if item[key]:
            shown = ", ".join(item[key]) if key == "labels" else item[key]
            terminal.line(f"  {terminal.say(f'memory.{key}')}: {shown}")


async def _people(runtime: Runtime, agent: Address) -> list[dict[str, Any]]:
    view, contents = Perspective(runtime.installation.ledger, agent), runtime.installation.contents
    return [
        {
            "actor": actor,
            "name": (await contents.read(digest)).decode(),
            "linked": [one for one in await view.same(actor) if one != actor],
        }
        for actor, digest in await _all(runtime, agent, "actors_after")
    ]


async def _memories(runtime: Runtime, agent: Address) -> list[dict[str, Any]]:
    contents = runtime.installation.contents
    return [
        {
            "id": name,
            "revision": revision,
            "about": subject,
            "run": run,
            "message": message,
            "conversation": conversation,
            "labels": labels.split(",") if labels else [],
            "at": at,
            "text": (await contents.read(content)).decode(),
        }
        for name, revision, subject, run, message, conversation, labels, content, at in await _all(
            runtime, agent, "memories_after"
        )
    ]


async def _all(runtime: Runtime, agent: Address, query: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    while rows := await runtime.installation.ledger.within(agent, query, found[-1][0] if found else "", PAGE):
        found += rows
    return found


@app.command(help="cli.memory.link.help")
def link(
    agent: Agent,
    one: Actor,
    other: Actor,
    /,
    *,
    because: Because,
    person: Person = None,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Say that two actors are one person."""
    return perform(_link(agent, one, other, because, person, options, linked=True))


@app.command(help="cli.memory.unlink.help")
def unlink(
    agent: Agent,
    one: Actor,
    other: Actor,
    /,
    *,
    because: Because,
    person: Person = None,
    options: Options = Options(),  # noqa: B008  frozen
) -> int:
    """Say that two actors are not one person after all."""
    return perform(_link(agent, one, other, because, person, options, linked=False))


async def _link(
    agent: Address, one: str, other: str, because: str, person: str | None, options: Options, *, linked: bool
) -> int:
    terminal, by = options.terminal, checked_person(person or account())
    async with await options.runtime() as runtime:
        await runtime.installation.current(agent)
        change = runtime.link if linked else runtime.unlink
        await change(agent, one, other, because, by)
    terminal.tell("memory.now_linked" if linked else "memory.now_unlinked", one=one, other=other)
    terminal.data({"agent": agent, "one": one, "other": other, "linked": linked, "by": by})
    return DONE
