"""A choice of model: from a role's settings to the model that serves it, opened once and closed together."""

from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path

from interlock.connector.model.model import Model
from interlock.connector.model.provider import ProviderModel
from interlock.connector.model.scripted import ScriptedModel
from interlock.errors import InterlockError
from interlock.settings import ModelChoice, Sizes

__all__ = ["Models", "open_model"]


def open_model(
    choice: ModelChoice, folder: Path, environment: Mapping[str, str], answer_limit: int = Sizes().answer
) -> Model:
    """Give the model a choice stands for.

    `folder` is the installation's, from which a script's path counts; `environment` holds the keys by the
    names that choices give; a provider's answer of more than `answer_limit` bytes is not taken. Connects to
    nothing yet. Raises InterlockError, such as `model.no_script` or `model.script_malformed`.
    """
    if choice.provider != "scripted":
        return ProviderModel(choice, environment, answer_limit=answer_limit)
    if choice.script is None:
        raise InterlockError("model.no_script")
    return ScriptedModel.from_file(
        folder / choice.script, model=choice.model, price_in=choice.price_in, price_out=choice.price_out
    )


class Models:
    """The models of an installation, by role. Each is opened when it is first wanted."""

    def __init__(
        self,
        choices: Mapping[str, ModelChoice],
        folder: Path,
        environment: Mapping[str, str],
        answer_limit: int = Sizes().answer,
    ) -> None:
        self._choices = choices
        self._folder = folder
        self._environment = environment
        self._answer_limit = answer_limit
        self._open: dict[str, Model] = {}

    def open(self, role: str) -> Model:
        """Give the model of a role. Raises InterlockError `model.unknown_role` and those of `open_model`."""
        if role not in self._open:
            choice = self._choice(role)
            self._open[role] = open_model(choice, self._folder, self._environment, self._answer_limit)
        return self._open[role]

    def _choice(self, role: str) -> ModelChoice:
        if role in self._choices:
            return self._choices[role]
        if not self._choices:
            raise InterlockError("model.no_roles", value=role)
        nearest = max(sorted(self._choices), key=lambda known: SequenceMatcher(None, role, known).ratio())
        raise InterlockError("model.unknown_role", value=role, nearest=nearest, known=sorted(self._choices))

    async def close(self) -> None:
        """Close every model that was opened, the others too when one fails to."""
        failures: list[Exception] = []
        while self._open:
            try:
                await self._open.popitem()[1].close()
            except Exception as error:  # noqa: BLE001  whatever one of them does, the others are closed
                failures.append(error)
        if failures:
            raise failures[0]
