"""The recorder of `postgres.log`: a real PostgreSQL server, a shop that works on it, and faults done to both.

It starts a server of its own, lets four applications work on an orders database, and then does to it what
breaks such databases in earnest: a schema migration that keeps its lock, a pool that grows until the
server is full, an operator who terminates connections, two jobs that lock rows in opposite order, and a
backend that is killed. Nothing in the log is written by this file; it is what the server said.

    pip install asyncpg
    python record_log.py --binaries /usr/lib/postgresql/15/bin --user postgres --out postgres.log
"""

import argparse
import asyncio
import contextlib
import os
import pwd
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncpg

FOLDER = Path("/tmp/orders-db")
PORT = 54329
SETTINGS = {
    "port": str(PORT),
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "20",
    "superuser_reserved_connections": "0",
    "shared_buffers": "16MB",
    "log_line_prefix": "%m [%p] %q%u@%d/%a ",
    "log_timezone": "UTC",
    "timezone": "UTC",
    "lc_messages": "C",
    "log_connections": "on",
    "log_disconnections": "on",
    "log_checkpoints": "on",
    "log_lock_waits": "on",
    "log_min_duration_statement": "250ms",
    "deadlock_timeout": "1s",
    "checkpoint_timeout": "30s",
    "autovacuum_naptime": "20s",
    "log_autovacuum_min_duration": "0",
}
TABLES = """
create table customer (id int primary key, name text not null);
create table stock (sku int primary key, left_over int not null check (left_over >= 0));
create table orders (id bigserial primary key, customer int not null references customer, sku int not null,
                     amount numeric(10,2) not null, state text not null default 'open');
create table payment (order_id bigint primary key references orders, reference text not null unique);
insert into customer select n, 'customer ' || n from generate_series(1, 500) n;
insert into stock select n, 1000000 from generate_series(1, 200) n;
insert into orders (customer, sku, amount) select 1 + n % 500, 1 + n % 200, n from generate_series(1, 5000) n;
"""
FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
"""What an application survives: the server's errors, a connection that is gone, nobody listening."""


class Server:
    """A PostgreSQL server in a folder of its own, run as a user that is not root."""

    def __init__(self, binaries: Path, user: str, log: Path) -> None:
        self.binaries, self.log = binaries, log
        # PostgreSQL refuses to run as root, and nobody but root can become another user.
        account = pwd.getpwnam(user) if os.getuid() == 0 else None
        self.user = account.pw_uid if account else None
        self.group = account.pw_gid if account else None
        self.process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Make an empty cluster."""
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(mode=0o700)
        if self.user is not None and self.group is not None:
            os.chown(FOLDER, self.user, self.group)
        command: list[Path | str] = [
            self.binaries / "initdb",
            "-D",
            FOLDER / "data",
            "-U",
            "operator",
            "-A",
            "trust",
            "-E",
            "UTF8",
        ]
        command += ["--locale=C", "--no-sync"]
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, cwd=FOLDER, user=self.user, group=self.group
        )

    def start(self) -> None:
        """Start the server; what it writes to stderr is the log."""
        command: list[Path | str] = [self.binaries / "postgres", "-D", FOLDER / "data"]
        for name, value in SETTINGS.items():
            command += ["-c", f"{name}={value}"]
        environment = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "LC_ALL": "C"}
        with self.log.open("wb") as stderr:
            self.process = subprocess.Popen(
                command,
                stderr=stderr,
                stdout=stderr,
                cwd=FOLDER,
                env=environment,
                user=self.user,
                group=self.group,
            )

    def stop(self) -> None:
        """Ask for a fast shutdown, wait for it, and remove the folder."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)
        shutil.rmtree(FOLDER, ignore_errors=True)


async def connect(application: str, user: str = "shop", statement_timeout: str = "0") -> asyncpg.Connection:
    """Open one connection as an application of the shop."""
    return await asyncpg.connect(
        host="127.0.0.1",
        port=PORT,
        user=user,
        database="postgres" if user == "operator" else "orders",
        timeout=10,
        statement_cache_size=0,
        server_settings={"application_name": application, "statement_timeout": statement_timeout},
    )


async def fill() -> None:
    """Make the shop's user, database and tables."""
    operator = await connect("setup", "operator")
    await operator.execute("create user shop")
    await operator.execute("create database orders owner shop")
    await operator.close()
    shop = await connect("setup")
    await shop.execute(TABLES)
    await shop.close()


class Shop:
    """The applications: each opens a connection when it needs one, and tries again when something fails."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.load = 1.0
        self.open = True

    async def visit(
        self, application: str, limit: str, work: Callable[[asyncpg.Connection], Awaitable[None]]
    ) -> None:
        """Do one piece of work on a connection of its own."""
        with contextlib.suppress(*FAILURES):
            connection = await connect(application, statement_timeout=limit)
            try:
                await work(connection)
            finally:
                await connection.close(timeout=5)

    async def order(self, connection: asyncpg.Connection) -> None:
        """Take an order and count down the stock."""
        for _ in range(self.chance.randint(1, 4)):
            customer, sku = self.chance.randint(1, 500), self.chance.randint(1, 200)
            async with connection.transaction():
                await connection.execute(
                    "insert into orders (customer, sku, amount) values ($1, $2, $3)", customer, sku, sku * 3
                )
                await connection.execute("update stock set left_over = left_over - 1 where sku = $1", sku)
            await asyncio.sleep(self.chance.random() / 5)

    async def pay(self, connection: asyncpg.Connection) -> None:
        """Pay an order; now and then the payment provider repeats a notification, which the key refuses."""
        order = await connection.fetchval("select max(id) from orders where state = 'open'")
        repeated = self.chance.random() < 0.04
        reference = "ref-1" if repeated else f"ref-{self.chance.getrandbits(48):012x}"
        statement = "insert into payment (order_id, reference) values ($1, $2)"
        await connection.execute(statement, self.chance.randint(1, order), reference)

    async def report(self, connection: asyncpg.Connection) -> None:
        """Add up the day's sales, slowly."""
        await connection.fetch("select sku, sum(amount), pg_sleep(0.002) from orders group by sku")

    async def visitors(
        self, application: str, every: float, limit: str, work: Callable[..., Awaitable[None]]
    ) -> None:
        """Let visits begin every so many seconds on the average, whether or not earlier ones have ended."""
        async with asyncio.TaskGroup() as group:
            while self.open:
                group.create_task(self.visit(application, limit, work))
                await asyncio.sleep(self.chance.expovariate(self.load / every))


async def migrate(hold: float) -> None:
    """Change a table in a transaction that then stays open, keeping its lock from everybody."""
    with contextlib.suppress(*FAILURES):
        migration = await connect("schema-migration")
        await migration.execute("begin")
        await migration.execute("alter table orders add column channel text default 'web'")
        await asyncio.sleep(hold)
        await migration.execute("commit")


async def terminate(operator: asyncpg.Connection) -> None:
    """Terminate what waits and what it waits for, as an operator does who wants the server back.

    The operator's session has been open all along: a server that is full would not let a new one in.
    """
    await operator.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = 'orders'")
    await operator.close()


async def lock_two(first: int, second: int) -> None:
    """Lock two rows one after the other; two of these in opposite order wait for each other."""
    with contextlib.suppress(*FAILURES):
        job = await connect("stock-sync")
        async with job.transaction():
            for sku in (first, second):
                await job.execute("update stock set left_over = left_over + 10 where sku = $1", sku)
                await asyncio.sleep(0.4)
        await job.close()


async def kill_backend() -> None:
    """Kill a working backend with signal 9, as the kernel does when memory runs out."""
    victim = await connect("sales-report")
    process = await victim.fetchval("select pg_backend_pid()")
    query = asyncio.create_task(victim.execute("select pg_sleep(30)"))
    await asyncio.sleep(0.5)
    os.kill(process, signal.SIGKILL)
    with contextlib.suppress(*FAILURES):
        await query


async def incident(shop: Shop, healthy: float) -> None:
    """Let the shop work, then do the faults one after the other, then let it work again."""
    operator = await connect("psql", "operator")
    await asyncio.sleep(healthy)
    migration = asyncio.create_task(migrate(60))
    await asyncio.sleep(4)
    shop.load = 3.0  # customers try again when a page hangs, so visits multiply
    await asyncio.sleep(26)
    await terminate(operator)
    await migration
    shop.load = 1.0
    await asyncio.sleep(12)
    for pair in ((3, 4), (11, 12)):
        await asyncio.gather(lock_two(*pair), lock_two(*reversed(pair)))
    await asyncio.sleep(12)
    await kill_backend()
    await asyncio.sleep(healthy / 3)
    shop.open = False


async def record(server: Server, healthy: float, seed: int) -> None:
    """Record one incident from start to shutdown."""
    server.start()
    for _ in range(100):
        await asyncio.sleep(0.1)
        with contextlib.suppress(*FAILURES):
            await (await connect("setup", "operator")).close()
            break
    await fill()
    shop = Shop(seed)
    async with asyncio.TaskGroup() as group:
        group.create_task(shop.visitors("storefront", 0.4, "4s", shop.order))
        group.create_task(shop.visitors("payments", 0.7, "3s", shop.pay))
        group.create_task(shop.visitors("sales-report", 9.0, "0", shop.report))
        group.create_task(incident(shop, healthy))


def main() -> None:
    """Read the arguments, record, and say what was recorded."""
    reader = argparse.ArgumentParser(description="Record a PostgreSQL log under real faults.")
    reader.add_argument("--binaries", type=Path, default=Path("/usr/lib/postgresql/15/bin"))
    reader.add_argument("--user", default="postgres", help="who runs the server when you are root")
    reader.add_argument("--out", type=Path, default=Path(__file__).with_name("postgres.log"))
    reader.add_argument("--healthy", type=float, default=75.0, help="seconds before the first fault")
    reader.add_argument("--seed", type=int, default=20)
    wanted = reader.parse_args()
    server = Server(wanted.binaries, wanted.user, wanted.out)
    began = time.monotonic()
    server.prepare()
    try:
        asyncio.run(record(server, wanted.healthy, wanted.seed))
    finally:
        server.stop()
    print(f"{wanted.out}: {wanted.out.stat().st_size} bytes in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
