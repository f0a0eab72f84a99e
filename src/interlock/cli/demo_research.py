"""`interlock demo research`: one question, four readers, a join, a writer and a verifier, with what each was allowed to
see beside what it was shown. Everything is read back from the ledger."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from interlock.cli.demo_part import Quiet, carry_out, heading, model_of
from interlock.cli.layout import barred, laid_out, one_line, wrapped
from interlock.cli.publish import publish_files
from interlock.cli.request import ReadRequest, Said
from interlock.cli.sight import Sight, began_alike, sights_of
from interlock.cli.terminal import DONE, FOUND, Terminal
from interlock.cli.verify import show_findings
from interlock.cli.work import show_picture
from interlock.event.event import shown_size
from interlock.perspective.fence import Fenced, read_fenced
from interlock.run.work_picture import WorkPicture, pictures_of
from interlock.runtime import SETTINGS_FILE, Runtime
from interlock.scope.scope import Address
from interlock.settings import ModelChoice, Settings
from interlock.settings_reader import read_settings

__all__ = ["demo_research"]

RESEARCHER = Address("researcher@acme/library")
PERSON = "demo"
WIDTH = 96
"""How many characters a line of a prompt or a text has at most, apart from its indent."""
LINES, SLACK = 22, 4
"""How many lines of one message are shown, and how many more if those are all; the rest is counted, with how to see
it."""


async def demo_research(folder: Path, home: Path, model: str | None, terminal: Terminal) -> int:
    """Have the question answered and tell how, part by part. Gives the exit code: whether all came out as it must."""
    language = terminal.language
    settings = read_settings((folder / SETTINGS_FILE).read_bytes(), SETTINGS_FILE)
    choice = _scripted(settings, language) if model is None else model_of(model)
    settings = replace(settings, language=language, models={**settings.models, "default": choice})
    question = terminal.say("research.question")
    async with await Runtime.open(folder, home=home, settings=settings) as runtime:
        agents = sorted((folder / "agents").glob("*.yaml"))
        await publish_files(runtime, agents, PERSON, Quiet(language, True))
        brief = {"question": question, "language": language}
        _told(terminal.say("demo.research.start", question=question), terminal)
        root = await carry_out(runtime, RESEARCHER, PERSON, brief, terminal, "demo.research.again")
        told = await _Telling(runtime, root, terminal).tell()
        heading(terminal, "demo.research.verify")
        told["findings"] = await show_findings(runtime, None, terminal)
        terminal.line()
        terminal.tell("demo.research.look", run=root, folder=str(folder), home=str(home))
        terminal.data({"folder": str(folder), "home": str(home), "question": question, **told})
        return DONE if _well(told) else FOUND


def _scripted(settings: Settings, language: str) -> ModelChoice:
    """A script answers in one language; the others lie beside it."""
    choice = settings.models["default"]
    if language == "en" or choice.script is None:
        return choice
    return replace(choice, script=choice.script.replace(".yaml", f".{language}.yaml"))


def _well(told: Mapping[str, Any]) -> bool:
    kept_apart = all(not item["found"] for item in told["prompts"])
    return bool(told["status"] == "finished" and kept_apart and not told["findings"])


def _told(text: str, terminal: Terminal, indent: str = "") -> None:
    for line in wrapped(text.split("\n"), WIDTH):
        terminal.line(f"{indent}{line}".rstrip())


class _Telling:
    """Tells of one run what its ledger says."""

    def __init__(self, runtime: Runtime, run: str, terminal: Terminal) -> None:
        self._runtime, self._run, self._terminal = runtime, run, terminal
        self._told_before: dict[Any, str] = {}

    async def tell(self) -> dict[str, Any]:
        """Tell all parts, and give what was told as plain values."""
        terminal = self._terminal
        [*_, picture] = await pictures_of(self._runtime.installation, self._run)
        heading(terminal, "demo.research.reports")
        await self._reports(picture)
        heading(terminal, "demo.research.work")
        show_picture(picture, terminal)
        heading(terminal, "demo.research.prompts")
        sights = await sights_of(self._runtime, picture)
        for sight in sights:
            self._sight(sight)
        fresh = await began_alike(self._runtime, picture)
        for node, same in fresh.items():
            said = "demo.research.fresh" if same else "demo.research.not_fresh"
            terminal.line()
            _told(terminal.say(said, node=node, count=len(picture.tried[node])), terminal)
        joined = await self._made(picture, "compare", "joined")
        heading(terminal, "demo.research.join")
        if joined is not None:
            self._join(joined)
        return {
            "run": self._run,
            "status": (await self._runtime.run(self._run)).status,
            "work": picture.as_dict(terminal.language),
            "prompts": [item.as_dict() for item in sights],
            "began_alike": fresh,
            "joined": joined,
            **await self._answer(picture),
        }

    async def _read(self, digest: str) -> str:
        return (await self._runtime.installation.contents.read(digest)).decode(errors="backslashreplace")

    async def _made(self, picture: WorkPicture, node: str, name: str) -> Any:
        """Give what a node published under a name in its last attempt: JSON as its value, text as it is; else None."""
        for item in picture.tried[node][-1].artifacts if picture.tried[node] else ():
            if item["name"] == name:
                text = await self._read(item["digest"])
                return json.loads(text) if item["media"].endswith("json") else text
        return None

    async def _reports(self, picture: WorkPicture) -> None:
        for item in picture.tried["hand_out"][-1].artifacts:
            head, source, *_ = (await self._read(item["digest"])).split("\n")
            self._terminal.line(f"{item['name']}: {head.removeprefix('# ')}")
            _told(source, self._terminal, "  ")

    # What each part saw

    def _sight(self, sight: Sight) -> None:
        terminal = self._terminal
        terminal.line()
        terminal.tell("demo.research.part", node=sight.node, kind=sight.kind, n=sight.attempt)
        for edge in sight.let_in:
            about = f"{edge['name']}, {edge['media']}, {shown_size(edge['size'])}"
            terminal.line(f"  {terminal.say('demo.research.let_in', source=edge['from'], about=about)}")
        _told(terminal.say("demo.research.kept_out", names=sight.kept_out), terminal, "  ")
        terminal.line(f"  {terminal.say('demo.research.saw', n=sight.number, bytes=sight.bytes)}")
        before = self._told_before.setdefault(sight.request, f"{sight.node}, {sight.attempt}")
        if before != f"{sight.node}, {sight.attempt}":
            node, _, n = before.rpartition(", ")
            terminal.line(f"    {terminal.say('demo.research.same_prompt', node=node, n=int(n))}")
        elif sight.request is not None:
            self._request(sight.request, sight)
        said = "demo.research.leaked" if sight.found else "demo.research.apart"
        _told(terminal.say(said, count=sight.looked_for, found=sight.found), terminal, "  ")

    def _request(self, request: ReadRequest, sight: Sight) -> None:
        terminal = self._terminal
        self._once("cli.prompt.instructions", request.instructions, sight.node)
        names = ", ".join(name for name, _ in request.tools)
        terminal.line(f"    {terminal.say('cli.prompt.tools')}: {names}")
        for message in request.messages:
            self._message(message, sight)

    def _once(self, head: str, text: str, node: str) -> None:
        """Show a text, or where it stands already."""
        terminal = self._terminal
        first = self._told_before.setdefault((head, text), node)
        if first != node:
            terminal.line(f"    {terminal.say(head)}: {terminal.say('demo.research.same', node=first)}")
            return
        terminal.line(f"    {terminal.say(head)}")
        self._under(barred(text))

    def _message(self, message: Said, sight: Sight) -> None:
        terminal = self._terminal
        terminal.line(f"    {terminal.say(f'cli.prompt.role_{message.role}', tool=one_line(message.tool))}")
        if message.text:
            lines = list(wrapped(_laid(message.text), WIDTH - 8))
            cut = len(lines) > LINES + SLACK
            self._under(lines[:LINES] if cut else lines)
            if cut:
                more = {"count": len(lines) - LINES, "run": sight.run, "n": sight.number}
                _told(terminal.say("demo.research.more", **more), terminal, "      ")
        for tool, arguments in message.calls:
            call = terminal.say("cli.content.call", tool=one_line(tool))
            terminal.line(f"      {call} {arguments}"[: WIDTH + 4])

    def _under(self, lines: Any) -> None:
        for line in wrapped(lines, WIDTH - 8):
            self._terminal.line(f"      {line}".rstrip())

    # What came of it

    def _join(self, joined: Mapping[str, Any]) -> None:
        terminal, merged = self._terminal, joined["merged"]
        terminal.tell("demo.research.joined", count=len(merged["findings"]))
        for item in merged["findings"]:
            sources = sorted({source["source"] for source in item["evidence"]})
            _told(f"{item['finding']['text']} ({', '.join(sources)})", terminal, "  ")
        terminal.tell("demo.research.conflicts", count=len(merged["conflicts"]))
        for number, conflict in enumerate(merged["conflicts"], 1):
            _told(f"{number}. {conflict['about']}", terminal, "  ")
            for side in conflict["sides"]:
                _told(f"- {side['values'][0]} ({', '.join(side['sources'])})", terminal, "     ")
            stands = conflict["resolution"]
            said = terminal.say("demo.research.open") if stands is None else stands["reason"]
            _told(f"→ {said}", terminal, "     ")
        terminal.tell("demo.research.gaps", count=len(merged["gaps"]))
        for gap in merged["gaps"]:
            _told(f"- {gap['what']} ({gap['origin']}: {gap['why']})", terminal, "  ")

    async def _answer(self, picture: WorkPicture) -> dict[str, Any]:
        terminal = self._terminal
        heading(terminal, "demo.research.verdict")
        verdict = await self._made(picture, "check", "verdict")
        if verdict is not None:
            said = "demo.research.passed" if verdict["passed"] else "demo.research.not_passed"
            _told(terminal.say(said, why=verdict["why"]), terminal)
        heading(terminal, "demo.research.answer")
        draft = await self._made(picture, "write", "draft") or ""
        answer = (await self._runtime.artifact(self._run, "final_answer"))[1].decode()
        written = set(draft.split("\n"))
        added = [line for line in answer.split("\n") if line and line not in written]
        for line in answer.split("\n"):
            mark = "+" if line in added else "|"
            for part in wrapped([line], WIDTH - 2):
                terminal.line(f"{mark} {part}".rstrip())
        return {"verdict": verdict, "draft": draft, "answer": answer, "added": added}


def _laid(text: str) -> list[str]:
    """Give a message line by line: JSON in a fence as its values, any other text behind a bar."""
    return [line for part in read_fenced(text) for line in _part(part)]


def _part(part: str | Fenced) -> Iterator[str]:
    try:
        value = json.loads(part.content) if isinstance(part, Fenced) else None
    except ValueError:
        value = None
    if not isinstance(value, dict | list):
        yield from barred(str(part))
        return
    first, *_, last = str(part).split("\n")
    yield from barred(first)
    yield from (f"  {line}" for line in _compact(value))
    yield from barred(last)


def _compact(value: Any) -> Iterator[str]:
    """Give the lines of a JSON value: one for each member that fits in one."""
    if not (value and isinstance(value, dict | list)):
        yield from laid_out(value)
        return
    for key, inner in value.items() if isinstance(value, dict) else ((None, item) for item in value):
        head = "-" if key is None else f"{key}:"
        line = f"{head} {json.dumps(inner, ensure_ascii=False)}"
        if len(line) <= WIDTH - 16 or not isinstance(inner, str | dict | list):
            yield line
            continue
        yield head
        for part in barred(inner) if isinstance(inner, str) else _compact(inner):
            yield f"  {part}"
