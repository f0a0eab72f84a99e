"""Tests of the choice: roles are found or explained, models are opened once and all closed."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.catalogue import LANGUAGES, say
from interlock.connector.model.choice import Models, open_model
from interlock.connector.model.model import ModelFailure
from interlock.connector.model.provider import ProviderModel
from interlock.connector.model.scripted import ScriptedModel
from interlock.errors import InterlockError
from interlock.modules import Loaded
from interlock.runtime import Runtime
from interlock.settings import ModelChoice, Settings, Sizes
from interlock.testing import ProviderServer, Reply
from tests.connector.provider_world import Seen, request

SCRIPTED = ModelChoice("scripted", script="models/answers.yaml", price_in=4_000_000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "answers.yaml").write_text("'*':\n  - text: hello\n")
    return tmp_path


def test_a_scripted_role_reads_its_file_from_the_folder(folder: Path) -> None:
    models = Models({"default": SCRIPTED}, folder, {})
    model = models.open("default")
    assert isinstance(model, ScriptedModel)
    assert models.open("default") is model
    answer = asyncio.run(model.ask(request(), Seen()))
    assert answer.text == "hello"
    assert answer.usage.money >= 4


def test_a_provider_role_is_opened_without_its_key_or_its_library(folder: Path) -> None:
    model = open_model(ModelChoice("openai", "gpt-4o", key="NO_SUCH"), folder, {})
    assert isinstance(model, ProviderModel)
    assert (model.provider, model.model) == ("openai", "gpt-4o")


def test_the_model_library_is_not_imported_until_a_model_is_asked() -> None:
    heavy = "{'pydantic_ai', 'httpx2', 'openai', 'anthropic'}"
    check = f"import sys, interlock.connector.model.choice; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)


@pytest.mark.rule("BI-2")
def test_the_limit_on_answers_is_the_one_that_is_set(folder: Path) -> None:
    with ProviderServer([Reply("x" * 5000)]) as server:
        choice = ModelChoice("openai", "gpt-4o", base_url=server.openai_url)
        model = Models({"default": choice}, folder, {}, answer_limit=4000).open("default")
        with pytest.raises(ModelFailure) as caught:
            asyncio.run(model.ask(request(), Seen()))
    assert "4000 bytes" in caught.value.detail


@pytest.mark.rule("BI-2")
def test_an_installation_s_models_take_answers_up_to_its_setting(folder: Path) -> None:
    async def asked(url: str) -> None:
        choice = ModelChoice("openai", "gpt-4o", base_url=url)
        settings = Settings(models={"default": choice}, sizes=Sizes(answer=4000))
        async with await Runtime.open(folder, settings=settings, loaded=Loaded()) as runtime:
            await runtime.installation.models.open("default").ask(request(), Seen())

    with ProviderServer([Reply("x" * 5000)]) as server, pytest.raises(ModelFailure) as caught:
        asyncio.run(asked(server.openai_url))
    assert "4000 bytes" in caught.value.detail


@pytest.mark.rule("BI-1")
def test_an_unknown_role_is_told_the_nearest(folder: Path) -> None:
    models = Models({"default": SCRIPTED, "writer": SCRIPTED, "judge": SCRIPTED}, folder, {})
    with pytest.raises(InterlockError) as caught:
        models.open("writter")
    assert caught.value.code == "model.unknown_role"
    assert "Did you mean writer?" in caught.value.remedy()
    assert "default, judge, writer" in caught.value.remedy("pt-BR")


@pytest.mark.rule("BI-1")
def test_no_roles_and_no_script_are_explained(folder: Path) -> None:
    with pytest.raises(InterlockError) as caught:
        Models({}, folder, {}).open("default")
    assert caught.value.code == "model.no_roles"
    with pytest.raises(InterlockError) as caught:
        open_model(ModelChoice("scripted"), folder, {})
    assert caught.value.code == "model.no_script"


class Closing(ScriptedModel):
    """A model that keeps account of its closing, and may fail at it."""

    def __init__(self, closed: list[str], name: str, fails: bool) -> None:
        super().__init__({}, model=name)
        self._closed, self._fails = closed, fails

    async def close(self) -> None:
        self._closed.append(self.model)
        if self._fails:
            raise OSError(self.model)


def test_all_are_closed_though_one_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr(
        "interlock.connector.model.choice.open_model",
        lambda choice, *_: Closing(closed, choice.model, choice.model == "b"),
    )
    models = Models({name: ModelChoice("scripted", name) for name in "abc"}, folder, {})
    for name in "abc":
        models.open(name)
    with pytest.raises(OSError, match="b"):
        asyncio.run(models.close())
    assert sorted(closed) == ["a", "b", "c"]
    asyncio.run(models.close())
    assert len(closed) == 3


@pytest.mark.rule("LP-7")
def test_every_error_has_its_words_in_both_languages() -> None:
    source = Path(sys.modules["interlock.connector.model.choice"].__file__ or "").parent
    text = "".join(path.read_text() for path in source.glob("*.py"))
    codes = {piece.split('"')[0] for piece in text.split('InterlockError("')[1:]}
    assert len(codes) > 10
    for code in codes:
        for language in LANGUAGES:
            assert say(code, language) != code
            assert say(f"{code}.remedy", language) != f"{code}.remedy"
    assert {say(code) for code in codes}.isdisjoint(say(code, "pt-BR") for code in codes)
