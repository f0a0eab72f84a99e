"""A world for tests: an installation in a folder, opened in this process, with a scripted model and tools."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from interlock.agent.spec import Spec
from interlock.connector.model.model import Model
from interlock.connector.model.scripted import ScriptedModel
from interlock.connector.tool import BoundTool, Toolbox
from interlock.ledger.step import Step
from interlock.modules import Loaded
from interlock.run.installation import Function
from interlock.run.run import TRAIL
from interlock.runtime import Runtime
from interlock.settings import ModelChoice, Settings

CODE = "0" * 64
"""The digest of the code of every function body in these worlds."""


class OneModel:
    """The same model for every role."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def open(self, role: str) -> Model:
        return self._model

    async def close(self) -> None:
        """Nothing is open."""


@asynccontextmanager
async def world(
    folder: Path,
    script: Mapping[str, Any] | None = None,
    specs: Iterable[Spec] = (),
    *,
    tools: Iterable[BoundTool] = (),
    functions: Mapping[str, Any] | None = None,
    model: Model | None = None,
    clock: Any = None,
    environment: Mapping[str, str] | None = None,
    **settings: Any,
) -> AsyncIterator[Runtime]:
    """Open an installation with its agents published. `settings` are fields of `Settings`."""
    loaded = Loaded(Toolbox(tools), {name: Function(body, CODE) for name, body in (functions or {}).items()})
    settings.setdefault("models", {"default": ModelChoice("scripted")})
    opened = await Runtime.open(
        folder,
        settings=Settings(**settings),
        loaded=loaded,
        models=OneModel(model or ScriptedModel(script or {})),
        clock=clock,
        environment=environment or {},
    )
    async with opened as runtime:
        for spec in specs:
            await runtime.publish(spec, "maria")
        yield runtime


async def steps_of(runtime: Runtime, stream: str) -> list[Step]:
    """Give all steps of a stream."""
    return await runtime.installation.ledger.read(stream, 0, TRAIL)


async def sound(runtime: Runtime) -> bool:
    """Tell whether the whole ledger verifies; what does not fit is shown by the assertion."""
    findings = [finding async for finding in runtime.verify()]
    assert not findings, findings[:5]
    return True
