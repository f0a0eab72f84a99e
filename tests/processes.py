"""Processes for tests: real `interlock` commands, each a process of its own, started from one that has loaded
the code already.

A process that is forked costs a tenth of one that is started, and is as real: it is killed for good, holds its
own locks and has its own address. What a fork would hide (start-up, the installed script) is tested with
`subprocess`.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Done", "Process", "Processes", "processes"]

PATIENCE = 60
"""Seconds after which a process that should have ended counts as hanging."""

COMMANDS = (
    *("init", "publish", "agents", "run", "worker", "trail", "artifact", "event"),
    *("graph", "verify", "prompt", "demo", "exchange", "channels", "queue", "send", "connector"),
)
LOADED = (
    "babel.dates",
    "babel.numbers",
    "importlib.resources.readers",
    "interlock.runtime",
    "interlock.run.worker",
    "interlock.connector.model.scripted",
    *(f"interlock.cli.{name}" for name in COMMANDS),
)


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a process: its exit code (negative: the signal that ended it) and what it wrote."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """What it wrote to its standard output."""
        return self.out.decode()

    @property
    def errors(self) -> str:
        """What it wrote to its standard error."""
        return self.err.decode()

    def json(self) -> Any:
        """The one JSON document on its standard output."""
        return json.loads(self.out)


class Process:
    """A process that was started. `pid` is real: send it signals."""

    def __init__(self, owner: "Processes", pid: int, out: Path, err: Path) -> None:
        self._owner, self.pid, self._out, self._err = owner, pid, out, err
        self._watch = os.pidfd_open(pid)
        self._done: Done | None = None

    @property
    def waited(self) -> bool:
        """Whether somebody has taken in its end."""
        return self._done is not None

    def ended(self, seconds: float = 0) -> bool:
        """Tell whether it has ended, waiting up to `seconds` for that."""
        return self._done is not None or bool(select.select([self._watch], [], [], seconds)[0])

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._watch, number)

    def written(self) -> bytes:
        """What it has written to its standard output so far."""
        return _content(self._out)

    def wait(self, seconds: float = PATIENCE) -> Done:
        """Wait for its end and give what came of it; a process that hangs is killed and fails the test."""
        if self._done is None:
            hung = not self.ended(seconds)
            if hung:
                self.send(signal.SIGKILL)
            code = self._owner.reap(self.pid)
            os.close(self._watch)
            self._done = Done(code, _content(self._out), _content(self._err))
            assert not hung, f"it did not end: {self._done}"
        return self._done


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


class Processes:
    """Starts commands of the command line, each in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._started = folder, list[Process]()
        root = Path(__file__).parents[1]
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.processes"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def start(
        self,
        *arguments: str,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        stdin: bytes | Path = b"",
        out: Path | None = None,
        err: Path | None = None,
    ) -> Process:
        """Start `interlock` with arguments in a folder. `out` and `err` may name a pipe or a terminal."""
        files = [self._folder / f"{len(self._started)}.{name}" for name in ("in", "out", "err")]
        if isinstance(stdin, bytes):
            files[0].write_bytes(stdin)
        else:
            files[0] = stdin
        files[1], files[2] = out or files[1], err or files[2]
        kept = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self._folder), "USER": "ana"}
        pid = self._ask(
            {
                "arguments": arguments,
                "folder": str(folder),
                "environment": kept | dict(environment or {}),
                "files": [str(file) for file in files],
            }
        )
        self._started.append(Process(self, pid, files[1], files[2]))
        return self._started[-1]

    def run(self, *arguments: str, folder: Path, **more: Any) -> Done:
        """Run `interlock` with arguments in a folder to its end."""
        return self.start(*arguments, folder=folder, **more).wait()

    def reap(self, pid: int) -> int:
        """Give the exit code of a process that has ended."""
        return self._ask({"reap": pid})

    def close(self) -> None:
        """End what a test left running, and the process that starts the others."""
        for process in self._started:
            if not process.waited:
                process.send(signal.SIGKILL)
                process.wait()
        if self._server.stdin is not None:
            self._server.stdin.close()
        self._server.wait(PATIENCE)

    def _ask(self, request: dict[str, Any]) -> int:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps(request).encode() + b"\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())


@contextlib.contextmanager
def processes() -> Iterator[Processes]:
    """Give what starts processes, and end it."""
    with tempfile.TemporaryDirectory(prefix="interlock-test-") as folder:
        found = Processes(Path(folder))
        try:
            yield found
        finally:
            found.close()


# The process that starts the others


def _serve() -> list[str]:
    """Start and reap processes as asked. Returns in each started process, with its arguments."""
    while line := os.fdopen(os.dup(0), "rb", 0).readline():
        request = json.loads(line)
        if "reap" in request:
            _, status = os.waitpid(request["reap"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork()
            if answer == 0:
                _become(request)
                return list(request["arguments"])
        os.write(1, b"%d\n" % answer)
    os._exit(0)


def _become(request: dict[str, Any]) -> None:
    os.setsid()
    # Whoever runs the tests in the background may have them ignore it, and a process of its own does not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, (path, flags) in enumerate(
        zip(
            request["files"],
            (os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_APPEND, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
            strict=True,
        )
    ):
        descriptor = os.open(path, flags, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        mode, buffering = ("r", -1) if number == 0 else ("w", 1 if number == 2 or os.isatty(number) else -1)
        file = os.fdopen(number, mode, buffering, encoding="utf-8", closefd=False)
        setattr(sys, name, file)
    sys.argv = ["interlock", *request["arguments"]]


if __name__ == "__main__":
    for module in LOADED:
        importlib.import_module(module)
    from interlock.cli import main
    from interlock.ledger.sql import queries

    queries("queries.sql")
    gc.freeze()
    main(_serve())
