"""How the tests are run, and the fixtures of all of them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.processes import Processes, processes

# How long an example takes says how busy the machine is: tests run beside each other.
settings.register_profile("beside_others", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("beside_others")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Run named files and tests in this process, where they start at once and may print, and folders on all cores."""
    paths = [Path(argument.partition("::")[0]) for argument in config.args]
    return None if any(path.is_dir() for path in paths) else 0


@pytest.fixture(scope="session")
def commands() -> Iterator[Processes]:
    """What starts `interlock` commands, each in a process of its own."""
    with processes() as found:
        yield found


@pytest.fixture(autouse=True)
def forgotten_modules() -> Iterator[None]:
    """Take out again what a test loaded as a module of an installation, and put back what stood in its place:
    installations name their modules alike."""
    before, path = dict(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if before.get(name) is module or not _of_an_installation(module):
            continue
        if name in before:
            sys.modules[name] = before[name]
        else:
            del sys.modules[name]


def _of_an_installation(module: object) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and (Path(file).parent / "interlock.yaml").is_file()
