"""The wall: the one way to what an agent has seen and noted; it shows one perspective and refuses the rest (PX-1).

Each connection has, for every table of perspectives, an inner view under a name that nobody can guess, which keeps the
rows of the perspective that is set, and a view with the table's own name over it. SQLite's authorizer lets the inner
view alone read the table: a statement that names the table meets the view, whatever it tries, and sees the rows of one
perspective without naming it. Before a perspective is set there are none. One statement runs at a time, which only
reads and explains nothing, since EXPLAIN would print the inner names; and none that holds such a name runs: to SQLite,
a common table expression of the same name passes for the view.

The connection that writes is closed to reading these tables too, by `close_off`.
"""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from interlock.errors import InterlockError
from interlock.ledger.sql import queries

__all__ = ["TABLES", "Wall", "close_off"]

TABLES = (
    *("actor", "identity", "identity_link", "conversation", "participant", "message_event", "memory"),
    "foreign_artifact",
)
"""The tables whose key a perspective leads."""
READING = ("SELECT", "WITH", "VALUES")
FUNCTIONS = frozenset(
    {"count", "max", "min", "sum", "total", "length", "lower", "coalesce", "ifnull", "substr"}
)
"""The functions that a statement behind the wall may call, beside the wall's own."""


def close_off(db: apsw.Connection, writing: Callable[[], bool]) -> None:
    """Let a connection read these tables in no statement but those that are prepared while `writing()`, by which a
    projection says which rows it changes. It takes the place of the connection's authorizer."""

    def allows(action: int, one: str | None, two: str | None, base: str | None, source: str | None) -> int:
        closed = action == apsw.SQLITE_READ and one in TABLES and not writing()
        return apsw.SQLITE_DENY if closed else apsw.SQLITE_OK

    db.authorizer = allows


class Wall:
    """A connection for reading, behind which one perspective at a time can be seen."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self._path = path
        self._perspective = ""
        self._sql = queries("perspective.sql")
        self._db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        self._db.set_busy_timeout(int(busy_seconds * 1000))
        self._db.execute("PRAGMA trusted_schema = OFF")
        self._db.execute("PRAGMA temp_store = memory")
        self._db.execute("PRAGMA cache_size = -65536")
        self._inner = {table: f"inner_{secrets.token_hex(16)}" for table in TABLES}
        self._own = f"perspective_{secrets.token_hex(16)}"
        self._db.create_scalar_function(self._own, lambda *_: self._perspective, 0, deterministic=True)
        for table, inner in self._inner.items():
            self._raise_over(table, inner)
        self._names = frozenset(self._inner.values())
        self._db.authorizer = self._allows
        self._db.exec_trace = self._begins
        self._begun = False

    def _raise_over(self, table: str, inner: str) -> None:
        columns = [row[1] for row in self._db.execute(f"PRAGMA main.table_info({table})")]
        shown = ", ".join(columns)
        where = f"WHERE perspective = {self._own}()"
        self._db.execute(f"CREATE TEMP VIEW {inner} AS SELECT {shown} FROM main.{table} {where}")
        self._db.execute(f"CREATE TEMP VIEW {table} AS SELECT {shown} FROM {inner}")

    def _allows(
        self, action: int, one: str | None, two: str | None, base: str | None, source: str | None
    ) -> int:
        """Let only a wall's own view read a table. SQLite names in `source` the innermost view that reads."""
        if action in {apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE}:
            return apsw.SQLITE_OK
        if action == apsw.SQLITE_FUNCTION:
            known = two in FUNCTIONS or (two == self._own and source in self._names)
            return apsw.SQLITE_OK if known else apsw.SQLITE_DENY
        if action == apsw.SQLITE_READ:
            if base == "temp" or base is None:
                return apsw.SQLITE_OK if one in self._inner or one in self._names else apsw.SQLITE_DENY
            return apsw.SQLITE_OK if one in self._inner and source == self._inner[one] else apsw.SQLITE_DENY
        return apsw.SQLITE_DENY

    def _begins(self, cursor: apsw.Cursor, sql: str, values: Any) -> bool:
        """Let one statement run, which only reads."""
        first, self._begun = not self._begun, True
        return first and cursor.is_readonly and not cursor.is_explain

    def named(self, perspective: str, name: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Give the rows of a named query of `perspective.sql`, as this perspective has them.

        Raises InterlockError `ledger.query_writes` for an unknown name, and what `execute` says.
        """
        sql = self._sql.get(name)
        if sql is None:
            raise InterlockError("ledger.query_writes", name=name)
        return self.execute(perspective, sql, values)

    def execute(self, perspective: str, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Give the rows of a statement, as this perspective has them.

        Raises InterlockError `ledger.behind_wall` for what the wall refuses, `ledger.not_text`, or
        `ledger.unreadable`.
        """
        inner = self._own in sql or any(name in sql for name in self._names)
        if not perspective or inner or not sql.lstrip().upper().startswith(READING):
            raise InterlockError("ledger.behind_wall", why="SELECT, WITH, VALUES")
        self._perspective, self._begun = perspective, False
        try:
            return self._db.execute(sql, values).fetchall()
        except UnicodeEncodeError as error:
            raise InterlockError("ledger.not_text", value=error.object) from None
        except (apsw.AuthError, apsw.SQLError, apsw.ExecTraceAbort) as error:
            raise InterlockError("ledger.behind_wall", why=str(error)) from None
        except (apsw.Error, UnicodeDecodeError) as error:
            raise InterlockError("ledger.unreadable", file=str(self._path), why=str(error)) from None
        finally:
            self._perspective = ""

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()
