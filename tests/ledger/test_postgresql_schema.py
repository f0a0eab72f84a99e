"""The wall on PostgreSQL: row-level security shows one perspective in one transaction, and raises without any."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any

import apsw
import pytest

from interlock.ledger.ledger import Row
from interlock.ledger.projection import project
from interlock.ledger.sql import numbered, queries, text_of
from interlock.ledger.wall import TABLES, Wall
from tests.ledger.postgresql import OWNER, Server, programs, running
from tests.ledger.test_wall import CANARY, ONE, OTHER, likely, seen
from tests.ledger.world import SqliteStore

asyncpg = pytest.importorskip("asyncpg", reason="the driver of PostgreSQL is not installed")

RAISED = "no perspective was entered in this transaction"
READING = [name for name, sql in queries("perspective.sql").items()]
RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")


@pytest.fixture(scope="module", params=["wheel", "system"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server with a database `wall`: the schema, owned by no superuser, and logins for reading and writing."""
    folder = programs().get(request.param)
    if folder is None:
        pytest.skip(f"no PostgreSQL of this kind here: {request.param}")
    try:
        with running(folder) as server:
            asyncio.run(prepared(server))
            yield server
    except LookupError as error:
        pytest.skip(str(error))


async def prepared(server: Server) -> None:
    """Make the roles and the database, load the schema, and let two agents see things."""
    root = await asyncpg.connect(**server.where(OWNER))
    for role in ("owner CREATEROLE", "reader", "writer"):
        await root.execute(f"CREATE ROLE {role.replace(' ', ' LOGIN ')}" + ("" if " " in role else " LOGIN"))
    await root.execute("CREATE DATABASE wall OWNER owner")
    await root.close()
    owner = await asyncpg.connect(**server.where("owner", "wall"))
    await owner.execute("CREATE SCHEMA interlock; ALTER DATABASE wall SET search_path = interlock")
    await owner.execute("SET search_path = interlock")
    async with owner.transaction():
        await owner.execute(text_of("postgresql_schema.sql"))
    await owner.execute("GRANT interlock_reader TO reader; GRANT interlock_writer TO writer")
    await owner.close()


@asynccontextmanager
async def connected(
    server: Server, user: str = "reader", perspective: str | None = None
) -> AsyncIterator[Any]:
    """Connect; with a perspective, a transaction is open in which it was entered."""
    db = await asyncpg.connect(**server.where(user, "wall"), statement_cache_size=0)
    try:
        if perspective is None:
            yield db
        else:
            begun = db.transaction()
            await begun.start()
            await db.execute("SELECT interlock_enter($1)", perspective)
            yield db
            await begun.rollback()
    finally:
        await db.close()


def steps(store: SqliteStore) -> list[tuple[str, int, str, int, str]]:
    """Give the steps of what two agents saw."""
    import json

    db = apsw.Connection(str(store.path))
    rows = db.execute("SELECT stream, seq, kind, at, body FROM step ORDER BY rowid").fetchall()
    return [(stream, seq, kind, at, json.loads(body)) for stream, seq, kind, at, body in rows]


def of_perspectives(sql: str) -> bool:
    """Whether a statement writes one of the tables behind the wall."""
    return re.search(rf"^(?:INSERT INTO|UPDATE|DELETE FROM)\s+(?:{'|'.join(TABLES)})\b", sql) is not None


async def fill(server: Server, store: SqliteStore) -> None:
    """Write the same projections with the same named statements, each with its own perspective entered."""
    await seen(store)
    written = queries("queries.sql")
    async with connected(server, "writer") as db:
        for stream, seq, kind, at, body in steps(store):
            rows: list[Row] = [
                row for row in project(stream, seq, kind, at, body) if of_perspectives(written[row[0]])
            ]
            for query, values, _ in rows:
                async with db.transaction():
                    await db.execute("SELECT interlock_enter($1)", _whose(body))
                    await db.execute(numbered(written[query]), *values)


def _whose(body: dict[str, Any]) -> str:
    return str((body.get("foreign") or body)["perspective"])


@pytest.fixture
def filled(server: Server, store: SqliteStore) -> Iterator[Server]:
    """The server, with what two agents saw; empty again afterwards."""
    asyncio.run(fill(server, store))
    yield server
    asyncio.run(emptied(server))


async def emptied(server: Server) -> None:
    async with connected(server, OWNER) as root:
        await root.execute(f"TRUNCATE {', '.join(f'interlock.{table}' for table in TABLES)}")


@pytest.mark.rule("PX-1", "WK-1")
def test_both_schemas_have_the_same_columns_and_keys(server: Server) -> None:
    sqlite = apsw.Connection("")
    sqlite.execute(text_of("sqlite_schema.sql"))
    kinds = {"TEXT": "text", "INTEGER": "bigint"}

    async def story() -> None:
        async with connected(server, "owner") as db:
            for table in TABLES:
                here = [
                    (name, kinds[kind], bool(required))
                    for _, name, kind, required, _, _ in sqlite.execute(f"PRAGMA table_info({table})")
                ]
                there = await db.fetch(
                    "SELECT column_name, data_type, is_nullable = 'NO' FROM information_schema.columns"
                    " WHERE table_schema = 'interlock' AND table_name = $1 ORDER BY ordinal_position", table,
                )  # fmt: skip
                assert [tuple(row) for row in there] == here, table
                keys = {
                    (
                        bool(unique),
                        tuple(name for _, _, name in sqlite.execute(f"PRAGMA index_info({index})")),
                    )
                    for _, index, unique, _, _ in sqlite.execute(f"PRAGMA index_list({table})")
                }
                found = await db.fetch(
                    "SELECT indisunique, array(SELECT attname::text FROM unnest(indkey) WITH ORDINALITY AS k (n, o)"
                    " JOIN pg_attribute ON attrelid = indrelid AND attnum = n ORDER BY o) FROM pg_index"
                    " WHERE indrelid = $1::regclass", table,
                )  # fmt: skip
                assert {(row[0], tuple(row[1])) for row in found} == keys, table
                assert all(row[1][0] == "perspective" for row in found), table
                walled = await db.fetchrow(
                    "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE oid = $1::regclass", table
                )
                assert tuple(walled) == (True, True), table
            roles = await db.fetch(
                "SELECT rolname FROM pg_roles WHERE (rolsuper OR rolbypassrls) AND rolname <> $1", OWNER
            )
            assert roles == []

    asyncio.run(story())


@pytest.mark.rule("PX-1", "WK-1")
def test_no_table_of_perspectives_is_missing() -> None:
    sqlite = apsw.Connection("")
    sqlite.execute(text_of("sqlite_schema.sql"))
    tables = [name for (name,) in sqlite.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    led = {
        table for table in tables
        if [row[1] for row in sqlite.execute(f"PRAGMA table_info({table})")][:1] == ["perspective"]
    }  # fmt: skip
    assert led - {"recall_audience"} == set(TABLES), (
        "what recall finds memories by holds digests, and has lists of its own"
    )


@pytest.mark.rule("PX-1", "WK-1")
def test_every_named_query_gives_the_same_rows_as_on_sqlite(filled: Server, store: SqliteStore) -> None:
    async def story() -> int:
        wall, found = Wall(store.path, 1), 0
        for who, word in ((ONE, "plain"), (OTHER, CANARY)):
            async with connected(filled, perspective=who) as db:
                for name in READING:
                    sql = queries("perspective.sql")[name]
                    for guess in ("plain", CANARY):
                        values = [likely(sql, place, guess) for place in range(sql.count("?"))]
                        here = wall.named(who, name, tuple(values))
                        there = [tuple(row) for row in await db.fetch(numbered(sql), *values)]
                        assert there == here, name
                        assert guess == word or guess not in repr(there), name
                        found += len(there)
        wall.close()
        return found

    assert asyncio.run(story()) > 30, "the own ones are seen"


WITHOUT = (
    "SELECT * FROM {table}",
    "SELECT count(*) FROM {table}",
    "SELECT 1 FROM {table} LIMIT 1",
    "SELECT * FROM {table} WHERE perspective = 'other@acme/desk'",
    "SELECT * FROM {table} AS a JOIN {table} AS b ON a.perspective = b.perspective",
    "WITH found AS MATERIALIZED (SELECT * FROM {table}) SELECT * FROM found",
    "TABLE {table}",
    "COPY {table} TO STDOUT",
    "COPY (SELECT * FROM {table}) TO STDOUT",
    "EXPLAIN ANALYZE SELECT * FROM {table} WHERE perspective = 'other@acme/desk'",
    "EXPLAIN ANALYZE SELECT * FROM {table}",
    "SELECT EXISTS (SELECT 1 FROM {table})",
    "SELECT md5(string_agg(t::text, '')) FROM {table} AS t",
    "PREPARE p{table} AS SELECT * FROM {table}; EXECUTE p{table}",
    "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM {table}; FETCH ALL FROM c",
    "CREATE TEMP TABLE taken AS SELECT * FROM {table}",
    "CREATE TEMP VIEW shown AS SELECT * FROM {table}; SELECT * FROM shown",
    "SET LOCAL interlock.perspective = 'other@acme/desk'; SELECT * FROM {table}",
    "SET interlock.perspective = 'other@acme/desk'; SET interlock.entered = 'on'; SELECT * FROM {table}",
    "SELECT set_config('interlock.perspective', 'other@acme/desk', false); SELECT * FROM {table}",
    "SELECT interlock_enter(''); SELECT * FROM {table}",
    "SELECT interlock_enter(NULL); SELECT * FROM {table}",
)


@pytest.mark.rule("PX-1")
@pytest.mark.parametrize("user", ["reader", "writer", "owner"])
def test_without_a_perspective_every_read_raises(filled: Server, user: str) -> None:
    async def story() -> None:
        async with connected(filled, user) as db:
            for table, sql in product(TABLES, WITHOUT):
                with pytest.raises(asyncpg.PostgresError) as raised:
                    async with db.transaction():
                        assert await _rows(db, sql.format(table=table)) == "nothing"
                assert RAISED in str(raised.value), (user, sql, raised.value)

    asyncio.run(story())


HOSTILE = (
    *("SELECT * FROM {table} WHERE perspective = 'other@acme/desk' OR true", "SELECT * FROM interlock.{table}"),
    "SELECT * FROM ONLY {table} UNION ALL SELECT * FROM {table}",
    "COPY {table} TO STDOUT",
    "COPY {table} TO PROGRAM 'cat'",
    "COPY (SELECT * FROM {table}) TO '/tmp/taken'",
    "SELECT most_common_vals::text, histogram_bounds::text FROM pg_stats WHERE tablename = '{table}'",
    "SELECT stavalues1::text FROM pg_statistic",
    "SELECT most_common_vals::text FROM pg_stats_ext",
    "SELECT query_to_xml('SELECT * FROM {table}', true, false, '')",
    "SELECT table_to_xml('{table}', true, false, '')",
    "SELECT pg_read_file('base/1/PG_VERSION')",
    "SELECT * FROM pg_ls_dir('.')",
    "SELECT lo_import('/etc/passwd')",
    "SET row_security = off; SELECT * FROM {table}",
    "SET ROLE owner; SELECT * FROM {table}",
    "SET ROLE postgres; SELECT * FROM {table}",
    "SET SESSION AUTHORIZATION postgres; SELECT * FROM {table}",
    "RESET ROLE; SELECT * FROM {table}",
    "RESET ALL; SELECT * FROM {table}",
    "RESET interlock.perspective; SELECT * FROM {table}",
    "SET LOCAL interlock.perspective = ''; SELECT * FROM {table}",
    "ALTER TABLE {table} DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY",
    "DROP POLICY one_perspective ON {table}",
    "CREATE POLICY mine ON {table} USING (true)",
    "CREATE OR REPLACE FUNCTION interlock_perspective() RETURNS text LANGUAGE sql AS 'SELECT ''other@acme/desk'''",
    "ALTER ROLE reader BYPASSRLS",
    "CREATE FUNCTION pg_temp.told(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS"
    " 'BEGIN RAISE WARNING ''seen: %'', $1; RETURN true; END'; SELECT * FROM {table} AS t WHERE pg_temp.told(t::text)",
    "CREATE FUNCTION pg_temp.told(text) RETURNS boolean LANGUAGE plpgsql LEAKPROOF AS 'BEGIN RETURN true; END'",
    "CREATE OPERATOR pg_temp.=== (leftarg = text, rightarg = text, function = texteq); SELECT * FROM {table}",
    "CREATE TEMP VIEW shown WITH (security_barrier = false) AS SELECT * FROM {table}; SELECT * FROM shown",
    "CREATE VIEW shown AS SELECT * FROM {table}",
    "CREATE FUNCTION leaked() RETURNS SETOF {table} LANGUAGE sql SECURITY DEFINER AS 'SELECT * FROM {table}'",
    "CREATE FUNCTION pg_temp.leaked() RETURNS SETOF interlock.{table} LANGUAGE sql SECURITY DEFINER AS"
    " 'SELECT * FROM interlock.{table}'; SELECT * FROM pg_temp.leaked()",
    "SELECT * FROM {table} AS t WHERE (t::text ~ '" + CANARY + "' AND 1 / 0 = 1)",
    "SELECT * FROM {table} AS t WHERE t::text::int = 1",
    "SELECT * FROM {table} TABLESAMPLE SYSTEM (100)",
    "SELECT * FROM {table} AS t FOR UPDATE",
    "SELECT * FROM {table}, LATERAL (SELECT * FROM {table}) AS more",
    "TRUNCATE {table}",
    "LOCK TABLE {table}; SELECT * FROM {table}",
    "ANALYZE {table}; SELECT most_common_vals::text FROM pg_stats",
    "EXPLAIN SELECT * FROM {table} WHERE perspective = 'other@acme/desk'",
    "EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM {table}",
    "UPDATE {table} SET perspective = 'one@acme/desk' WHERE perspective = 'other@acme/desk' RETURNING *",
    "UPDATE {table} SET perspective = 'other@acme/desk' RETURNING *",
    "DELETE FROM {table} WHERE perspective = 'other@acme/desk' RETURNING *",
    "INSERT INTO {table} SELECT * FROM {table} ON CONFLICT DO NOTHING RETURNING *",
    "MERGE INTO {table} AS t USING {table} AS s ON true WHEN MATCHED THEN DELETE",
    "DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM {table} LOOP RAISE WARNING '%', r; END LOOP; END $$",
    "GRANT ALL ON {table} TO PUBLIC; SELECT * FROM {table}",
    "CREATE TRIGGER told BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "CREATE TEMP TABLE child () INHERITS ({table}); SELECT * FROM child",
    "CREATE TEMP TABLE t (p text REFERENCES {table}); SELECT * FROM {table}",
    "CREATE EXTENSION dblink",
)  # fmt: skip


async def _rows(db: Any, sql: str) -> str:
    """Run statements one after the other, and give all that came back as text."""
    found: list[Any] = []

    async def take(data: bytes) -> None:
        found.append(data)

    if sql.startswith("COPY") and sql.endswith("STDOUT"):
        text = sql.removeprefix("COPY ").removesuffix(" TO STDOUT")
        if text.startswith("("):
            await db.copy_from_query(text[1:-1], output=take)
        else:
            await db.copy_from_table(text, output=take)
    elif sql.startswith("DO "):
        await db.execute(sql)
    else:
        for one in sql.split("; "):
            found += await db.fetch(one)
    return repr(found)


@pytest.mark.rule("PX-1")
@pytest.mark.fault("F15")
@pytest.mark.parametrize("user", ["reader", "writer"])
def test_within_a_perspective_no_statement_shows_another(filled: Server, user: str) -> None:
    async def story() -> None:
        async with connected(filled, user) as db:
            told: list[str] = []
            db.add_log_listener(lambda _, message: told.append(str(message.as_dict())))
            for table, sql in product(TABLES, HOSTILE):
                told.clear()
                begun = db.transaction()
                await begun.start()
                await db.execute("SELECT interlock_enter($1)", ONE)
                try:
                    told.append(await _rows(db, sql.format(table=table)))
                except asyncpg.PostgresError as error:
                    told.append(str(error.as_dict()))
                await begun.rollback()
                await asyncio.sleep(0)
                shown = " ".join(told).replace(f"~ '{CANARY}'", "")
                assert CANARY not in shown, (table, sql, shown)

    asyncio.run(story())
    asyncio.run(_unharmed(filled))


async def _unharmed(server: Server) -> None:
    """Nothing of the other's was changed, and the tables are behind the wall still."""
    async with connected(server, perspective=OTHER) as db:
        for table in TABLES:
            assert CANARY in repr(await db.fetch(f"SELECT * FROM {table}")), table
    async with connected(server, perspective=ONE) as db:
        for table in TABLES:
            assert len(await db.fetch(f"SELECT * FROM {table}")) == 1, table


@pytest.mark.rule("PX-1")
def test_nobody_writes_into_another_perspective(filled: Server) -> None:
    async def story() -> None:
        async with connected(filled, perspective=ONE) as db:
            for sql in ("INSERT INTO actor VALUES ('one@acme/desk', 'a', 'b')", "DELETE FROM actor"):
                with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied"):
                    async with db.transaction():
                        await db.execute(sql)
            asked = "SELECT has_table_privilege($1, $2, $3)"
            for user, table in product(("reader", "writer"), TABLES):
                had = [right for right in RIGHTS if await db.fetchval(asked, user, table, right)]
                assert had == list(RIGHTS[: 1 if user == "reader" else 4]), (user, table)
        async with connected(filled, "writer", ONE) as db:
            refused = (
                "INSERT INTO actor VALUES ('other@acme/desk', 'actor_canary', 'b')",
                "INSERT INTO actor VALUES ('other@acme/desk', 'new', 'b')",
                "UPDATE actor SET perspective = 'other@acme/desk'",
                "INSERT INTO actor VALUES ('other@acme/desk', 'actor_canary', 'b') ON CONFLICT DO NOTHING",
                "INSERT INTO actor VALUES ('other@acme/desk', 'actor_canary', 'b')"
                " ON CONFLICT (perspective, id) DO UPDATE SET name = 'mine'",
            )
            for sql in refused:
                with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security") as raised:
                    async with db.transaction():
                        await db.execute(sql)
                assert "already exists" not in str(raised.value.as_dict()), "nor told what is there"
            assert await db.execute("UPDATE actor SET name = 'mine' WHERE id = 'actor_canary'") == "UPDATE 0"
            assert await db.execute("DELETE FROM actor WHERE perspective = 'other@acme/desk'") == "DELETE 0"
            assert await db.execute("DELETE FROM actor") == "DELETE 1"

    asyncio.run(story())
    asyncio.run(_unharmed(filled))


@pytest.mark.rule("PX-1")
@pytest.mark.fault("F15")
def test_a_perspective_ends_with_its_transaction(filled: Server) -> None:
    """One connection, as a pool hands it out: what was entered is gone when the next one has it, whatever plans are
    kept and however the setting was made."""

    async def story() -> None:
        db = await asyncpg.connect(**filled.where("reader", "wall"))
        await db.execute("SET plan_cache_mode = force_generic_plan")
        statement = await db.prepare("SELECT name FROM actor WHERE id > $1")
        for who, word in ((ONE, "plain"), (OTHER, CANARY)) * 4:
            async with db.transaction():
                await db.execute("SELECT interlock_enter($1)", who)
                assert [row[0] for row in await statement.fetch("")] == [word]
            assert await db.fetchval("SELECT current_setting('interlock.perspective')") == ""
            with pytest.raises(asyncpg.PostgresError, match=RAISED):
                await statement.fetch("")
        with pytest.raises(asyncpg.PostgresError, match=RAISED):
            async with db.transaction():
                await db.fetch("SELECT * FROM actor")
        for rolled_back in (True, False):
            begun = db.transaction()
            await begun.start()
            await db.execute("SELECT interlock_enter($1)", OTHER)
            await db.execute("SET SESSION interlock.perspective = 'other@acme/desk'")
            mark = await db.fetchval("SELECT current_setting('interlock.entered')")
            await db.execute(f"SET SESSION interlock.entered = '{mark}'")
            await (begun.rollback() if rolled_back else begun.commit())
            with pytest.raises(asyncpg.PostgresError, match=RAISED):
                await db.fetch("SELECT * FROM actor")
        async with db.transaction():
            await db.execute("SELECT interlock_enter($1)", OTHER)
            with pytest.raises(asyncpg.PostgresError):
                async with db.transaction():
                    await db.execute("SELECT interlock_enter($1)", ONE)
                    await db.execute("SELECT 1 / 0")
            assert await db.fetchval("SELECT name FROM actor") == CANARY, (
                "a savepoint gives back what was entered"
            )
        await db.close()

    asyncio.run(story())


@pytest.mark.rule("PX-1")
def test_neither_statistics_nor_estimates_tell_what_others_hold(filled: Server) -> None:
    async def story() -> None:
        statistics = "SELECT 1 FROM pg_statistic WHERE starelid = 'interlock.actor'::regclass"
        async with connected(filled, "owner") as db:
            async with db.transaction():
                await db.execute("SELECT interlock_enter($1)", OTHER)
                await db.execute(
                    "INSERT INTO actor SELECT 'other@acme/desk', n::text, CASE WHEN n % 2 = 0 THEN 'canary' ELSE"
                    " n::text END FROM generate_series(1, 2000) AS n"
                )
            await db.execute("ANALYZE actor")
            async with db.transaction():
                await db.execute("SELECT interlock_enter($1)", ONE)
                told = "SELECT most_common_vals::text FROM pg_stats WHERE tablename = 'actor'"
                assert await db.fetch(told) == []
                plans = [
                    [row[0] for row in await db.fetch(f"EXPLAIN SELECT * FROM actor WHERE name = '{word}'")]
                    for word in ("canary", "nobody")
                ]
                assert [line.replace("canary", "nobody") for line in plans[0]] == plans[1]
        async with connected(filled, OWNER) as root:
            assert await root.fetch(statistics) == []

    asyncio.run(story())


@pytest.mark.rule("PX-1", "WK-1")
def test_every_read_goes_by_a_key_of_its_perspective(filled: Server) -> None:
    async def story() -> None:
        async with connected(filled, "owner", ONE) as db:
            for table in TABLES:
                await db.execute(await _many(db, table))
                await db.execute(f"ANALYZE {table}")
            await db.execute("SET LOCAL plan_cache_mode = force_generic_plan")
            for name in READING:
                sql = queries("perspective.sql")[name]
                values = [likely(sql, place, "plain") for place in range(sql.count("?"))]
                given = ", ".join(str(value) if isinstance(value, int) else f"'{value}'" for value in values)
                await db.execute(f"PREPARE {name} AS {numbered(sql)}")
                called = f"EXECUTE {name}({given})" if values else f"EXECUTE {name}"
                plan = "\n".join(row[0] for row in await db.fetch(f"EXPLAIN {called}"))
                assert "Seq Scan" not in plan, (name, plan)
                scans = re.findall(r"Index Cond: .*", plan)
                assert scans and all("perspective = " in scan and " AND " in scan for scan in scans), (
                    name,
                    plan,
                )

    asyncio.run(story())


async def _many(db: Any, table: str) -> str:
    """Give the statement that writes 5,000 rows of one perspective into a table."""
    named = {"perspective": "'one@acme/desk'", "way": "'engage'", "state": "'linked'"}
    columns = await db.fetch(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'interlock'"
        " AND table_name = $1 ORDER BY ordinal_position", table,
    )  # fmt: skip
    values = [named.get(name) or ("n::text" if kind == "text" else "n") for name, kind in columns]
    return f"INSERT INTO {table} SELECT {', '.join(values)} FROM generate_series(1, 5000) AS n"


@pytest.mark.rule("WK-1")
def test_placeholders_are_numbered_and_nothing_else_is_touched() -> None:
    assert numbered("SELECT ?, '?', \"a\", ? -- why?\nFROM t WHERE x = ?2") == (
        "SELECT $1, '?', \"a\", $2 -- why?\nFROM t WHERE x = $2"
    )
    assert numbered("SELECT 'it''s?' WHERE a = ?") == "SELECT 'it''s?' WHERE a = $1"
