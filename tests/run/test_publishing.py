"""A publication of a spec made in Python: it meets the checks of one that is written."""

from pathlib import Path
from typing import Any

import pytest

from interlock.agent.spec import Emission, Spec, Trigger
from interlock.errors import InterlockError
from interlock.form.problem import FormError
from interlock.gate.budget import Budget
from interlock.run.publishing import NotPublishedError
from interlock.scope.scope import Scope
from tests.run.scene import at, play, spec_of
from tests.world import world


def emitting(*emissions: Emission) -> dict[str, Any]:
    return {"emits": emissions}


ILL_FORMED: dict[str, tuple[str, dict[str, Any]]] = {
    "negative calls": ("a", {"limits": Budget(tool_calls=-5)}),
    "limit without measure": ("a", {"limits": Budget(tokens=10**30)}),
    "negative money": ("a", {"limits": Budget(money=-1)}),
    "negative time": ("a", {"limits": Budget(wall_ms=-1)}),
    "name with a blank": ("a b", {}),
    "lone surrogate": ("a", {"instructions": "i\ud800"}),
    "event over two lines": ("a", emitting(Emission("e\n", "c", ("r",)))),
    "artifact's name": ("a", emitting(Emission("e", "c", ("Bad Name",)))),
    "artifact twice": ("a", emitting(Emission("e", "c", ("r", "r")))),
    "event emitted twice": ("a", emitting(Emission("e", "c", ("r",)), Emission("e", "d", ("q",)))),
    "event heard twice": ("a", {"starts_on": (Trigger("e"), Trigger("e", (Scope("acme"),)))}),
    "no body": ("a", {"instructions": " "}),
}


@pytest.mark.rule("AG-1", "AG-2", "BI-3")
@pytest.mark.parametrize("case", ILL_FORMED)
def test_a_spec_made_in_python_meets_the_readers_checks(tmp_path: Path, case: str) -> None:
    name, parts = ILL_FORMED[case]
    spec = spec_of(name, **parts)

    async def story() -> None:
        async with world(tmp_path) as runtime:
            with pytest.raises(FormError) as caught:
                await runtime.publish(spec, "maria")
            assert caught.value.code == "spec.invalid"
            with pytest.raises(NotPublishedError) as several:
                await runtime.publish_together([spec_of("sound"), spec], "maria")
            assert [of for of, _ in several.value.mistakes] == [spec]
            with pytest.raises(InterlockError) as unknown:
                await runtime.installation.current(at("sound"))
            assert unknown.value.code == "agent.unknown"

    play(story())


@pytest.mark.rule("AG-2")
def test_what_is_published_is_the_spec_that_was_made(tmp_path: Path) -> None:
    spec: Spec = spec_of(
        "a", emits=("done",), starts_on=("asked",), limits=Budget(3, 10**12, 1_500_000, 61_000)
    )

    async def story() -> None:
        async with world(tmp_path) as runtime:
            assert (await runtime.publish(spec, "maria")).digest == spec.digest

    play(story())
