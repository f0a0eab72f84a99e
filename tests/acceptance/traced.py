"""Commands under `strace`, which counts system calls or kills the process at one of them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

__all__ = ["traced"]

PATIENCE = 120


def traced(*options: str, folder: Path, arguments: tuple[str, ...]) -> tuple[int, list[str]]:
    """Run `interlock` with arguments under strace; gives the exit code and the lines of the trace.

    Skips the test where strace is not installed or may not be used.
    """
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed: system calls cannot be counted")
    if subprocess.run([strace, "-qq", "-o", "/dev/null", "true"], check=False).returncode:
        pytest.skip("strace may not be used here: system calls cannot be counted")
    trace = folder / "trace"
    command = [sys.executable, "-c", "from interlock.cli import main; main()", *arguments]
    done = subprocess.run(
        [strace, "-f", "-qq", *options, "-o", str(trace), *command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    return done.returncode, trace.read_text(errors="replace").splitlines()
