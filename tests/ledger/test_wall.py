"""The wall: what one agent has seen is read with its perspective, and nothing else comes through, whatever is asked."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.errors import InterlockError
from interlock.ledger.ledger import Write
from interlock.ledger.sql import queries
from interlock.ledger.step import Draft
from interlock.ledger.wall import TABLES, Wall
from tests.ledger.world import SqliteStore, in_loop

ONE, OTHER = "one@acme/desk", "other@acme/desk"
CANARY = "canary"
HOSTILE = (
    "SELECT * FROM main.{table}",
    "SELECT * FROM step",
    "SELECT * FROM content",
    "SELECT * FROM audience",
    "WITH {table} AS (SELECT * FROM main.{table}) SELECT * FROM {table}",
    "WITH inner_{table} AS (SELECT * FROM main.{table}) SELECT * FROM inner_{table}",
    "SELECT * FROM {table} UNION ALL SELECT * FROM main.{table}",
    "SELECT * FROM {table} WHERE perspective = 'other@acme/desk' OR 1",
    "SELECT (SELECT count(*) FROM main.{table})",
    "SELECT * FROM {table} JOIN main.{table} AS b ON 1",
    "SELECT * FROM {table} WHERE EXISTS (SELECT 1 FROM main.{table})",
    "VALUES ((SELECT perspective FROM main.{table} LIMIT 1))",
    "SELECT sql FROM sqlite_temp_schema",
    "SELECT sql FROM temp.sqlite_master",
    "SELECT sql FROM main.sqlite_schema",
    "SELECT * FROM pragma_table_info('{table}')",
    "SELECT * FROM json_each('[1]')",
    "SELECT load_extension('x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT fts3_tokenizer('simple')",
    "EXPLAIN SELECT * FROM {table}",
    "EXPLAIN QUERY PLAN SELECT * FROM {table}",
    "PRAGMA table_info({table})",
    "ATTACH 'x.db' AS x",
    "DELETE FROM {table}",
    "INSERT INTO {table} DEFAULT VALUES",
    "DROP VIEW {table}",
    "CREATE TEMP TABLE t AS SELECT * FROM {table}",
    "BEGIN IMMEDIATE",
    "/* */ SELECT * FROM {table}",
    "SELECT 1; SELECT * FROM main.{table}",
    "SELECT 1; EXPLAIN SELECT * FROM {table}",
    "VALUES (1); EXPLAIN QUERY PLAN SELECT * FROM {table} AS a JOIN {table} AS b",
    "WITH x AS (SELECT 1) DELETE FROM {table} RETURNING *",
    "WITH x AS (SELECT 1) UPDATE {table} SET perspective = 'one@acme/desk' RETURNING *",
    "WITH {table} AS (SELECT * FROM {table}) SELECT * FROM {table}",
    "SELECT rowid FROM {table}",
    "SELECT * FROM {table} NOT INDEXED",
    "SELECT nothing FROM {table}",
    "SELECT * FROM {table} ORDER BY 99",
    "SELECT 1; VACUUM INTO 'x.db'",
    *(
        f"SELECT * FROM {name}"
        for name in ("recall_entry", "recall_word", "recall_word_data", "recall_audience", "said")
    ),
    "SELECT * FROM bytecode('SELECT * FROM {table}')",
    "SELECT * FROM dbstat",
    "SELECT random()",
    "",
)


async def seen(store: SqliteStore) -> Path:
    """Let two agents see the same thing, one of them with a canary in each of its columns; give the file."""
    async with store.open() as ledger:
        for who, word in ((ONE, "plain"), (OTHER, CANARY)):
            mine = {"perspective": who}
            talk, thought = f"conversation_{word}", f"memory_{word}"
            await ledger.append(
                (
                    Write(who, None, (
                        Draft("actor.met", {**mine, "actor": f"actor_{word}", "name": word, "connector": "chat",
                                            "external": f"{word}_external"}),
                        Draft("identity.linked", {**mine, "one": f"actor_{word}", "other": f"actor_{word}_2",
                                                  "evidence": word, "by": who}),
                    )),
                    Write(talk, None, (
                        Draft("conversation.opened", {**mine, "connector": "chat", "thread": f"{word}_thread"}),
                        Draft("message.observed", {**mine, "event": f"event_{word}", "actor": f"actor_{word}",
                                                   "way": "engage", "external": f"{word}_1", "content": word,
                                                   "labels": [], "at": 1, "joined": [f"actor_{word}"]}),
                    )),
                    Write(thought, None, (
                        Draft("memory.written", {**mine, "revision": 1, "subject": f"actor_{word}", "labels": [],
                                                 "content": word, "source": {"run": f"run_{word}"}}),
                    )),
                ),
            )  # fmt: skip
            item = {"perspective": who, "ref": f"run_x/{word}"}
            answered = Draft("tool.answered", {"call": "call_1", "result": word, "foreign": item})
            await ledger.append((Write(f"task_{word}", None, (answered,)),))
    return store.path


@pytest.mark.rule("PX-1", "PX-2")
@pytest.mark.fault("F15")
@in_loop
async def test_every_named_query_shows_the_rows_of_one_perspective_alone(store: SqliteStore) -> None:
    await seen(store)
    async with store.open() as ledger:
        for who, other, word in ((ONE, CANARY, "plain"), (OTHER, "plain", CANARY)):
            found = 0
            for name, sql in queries("perspective.sql").items():
                for guess in (word, other):
                    values = [likely(sql, place, guess) for place in range(sql.count("?"))]
                    rows = await ledger.within(who, name, *values)
                    assert other not in repr(rows), (name, rows)
                    found += len(rows)
            assert found > 15, "the own ones are seen"


def likely(sql: str, place: int, word: str) -> object:
    """Give a value for a parameter that would find something."""
    before = re.split(r"\?", sql)[place].rstrip()
    column = re.findall(r"(\w+) *(?:=|<=|>=|<|>)?\Z", before)[0]
    if column in {"LIMIT", "place", "at"}:
        return 0 if before.endswith("place >") else 99
    if before.endswith(">"):
        return ""
    return {
        "connector": "chat", "thread": f"{word}_thread", "external": f"{word}_1", "actor": f"actor_{word}",
        "conversation": f"conversation_{word}", "run": f"task_{word}", "one": f"actor_{word}",
        "other": f"actor_{word}_2",
    }.get(column, f"memory_{word}" if "memory" in sql else f"actor_{word}")  # fmt: skip


@pytest.mark.rule("PX-1")
@in_loop
async def test_no_statement_passes_the_wall(store: SqliteStore) -> None:
    wall = Wall(await seen(store), 1)
    for table in TABLES:
        assert len(wall.execute(ONE, f"SELECT * FROM {table}")) == 1, table
        for sql in HOSTILE:
            try:
                shown = repr(wall.execute(ONE, sql.format(table=table)))
            except InterlockError as error:
                assert error.code == "ledger.behind_wall", (sql, error.code)
                shown = repr(error.params)
            assert CANARY not in shown and not re.search("[0-9a-f]{32}", shown), (sql, shown)
    assert wall.execute("nobody@acme", "SELECT * FROM actor") == []
    with pytest.raises(InterlockError, match="behind_wall"):
        wall.execute("", "SELECT * FROM actor")
    wall.close()


@pytest.mark.rule("PX-1")
@in_loop
async def test_who_knows_the_inner_names_still_sees_nothing(store: SqliteStore) -> None:
    """To SQLite, a common table expression passes for the view of the same name."""
    wall = Wall(await seen(store), 1)
    for table, inner in wall._inner.items():
        for name in (inner, f'"{inner}"', f"[{inner}]", inner.upper()):
            passing = "WITH {1} AS (SELECT * FROM main.{0}) SELECT * FROM {1}"
            for sql in ("SELECT * FROM {1}", passing, f"WITH t AS ({passing}) SELECT * FROM t"):
                with pytest.raises(InterlockError, match="behind_wall"):
                    assert CANARY not in repr(wall.execute(ONE, sql.format(table, name)))
    wall.close()


@pytest.mark.rule("PX-1")
@in_loop
async def test_the_connection_that_writes_reads_none_of_these_tables(store: SqliteStore) -> None:
    """Beside the wall there is one more connection, and a named query of its own could forget the perspective."""
    await seen(store)
    async with store.open() as ledger:
        for table in TABLES:
            for sql in (
                f"SELECT * FROM {table}",
                f"SELECT count(*) FROM {table}",
                f"SELECT * FROM step, {table}",
                f"UPDATE {table} SET perspective = 'x' WHERE perspective = 'other@acme/desk' RETURNING *",
                f"CREATE TEMP VIEW shown_{table} AS SELECT * FROM {table}; SELECT * FROM shown_{table}",
                f"CREATE TEMP TABLE taken_{table} AS SELECT * FROM {table}",
            ):
                ledger._reading["forgets"] = sql
                with pytest.raises(InterlockError, match="behind_wall"):
                    await ledger.query("forgets")
        assert len(await ledger.within(OTHER, "actors_after", "", 9)) == 1
    await seen_again(store)


async def seen_again(store: SqliteStore) -> None:
    """What was seen goes on: a projection still says which rows it changes."""
    async with store.open() as ledger:
        left = Draft("message.observed", {"perspective": OTHER, "event": "event_2", "actor": f"actor_{CANARY}",
                                          "way": "observe", "external": "2", "content": CANARY, "labels": [], "at": 2,
                                          "left": [f"actor_{CANARY}"]})  # fmt: skip
        await ledger.append((Write(f"conversation_{CANARY}", None, (left,)),))
        assert await ledger.within(OTHER, "participants_of", f"conversation_{CANARY}") == []
        assert [finding async for finding in ledger.verify()] == []


WORDS = st.sampled_from(
    ["SELECT", "*", "FROM", "main.", "actor", "memory", "message_event", "WITH", "AS", "(", ")", "UNION", "step", ",",
     "WHERE", "1", "=", "perspective", "'other@acme/desk'", "OR", "count(*)", "JOIN", "temp.", "RECURSIVE", "x"]
)  # fmt: skip


@pytest.mark.rule("PX-1")
def test_statements_made_by_chance_show_nothing_of_another(store: SqliteStore) -> None:
    made: list[Wall] = []

    @in_loop
    async def make() -> None:
        made.append(Wall(await seen(store), 1))

    make()

    @given(st.lists(WORDS, min_size=2, max_size=14))
    @settings(max_examples=2000, deadline=None)
    def play(words: list[str]) -> None:
        try:
            rows = made[0].execute(ONE, "SELECT " + " ".join(words).replace(". ", "."))
        except InterlockError:
            return
        assert CANARY not in repr(rows)

    play()
    made[0].close()


@pytest.mark.rule("PX-1")
def test_nothing_reads_these_tables_beside_the_wall() -> None:
    for name, sql in queries("queries.sql").items():
        if sql.startswith("SELECT"):
            assert not re.search(rf"\b(?:FROM|JOIN)\s+(?:{'|'.join(TABLES)})\b", sql), name


@pytest.mark.rule("PX-1")
@in_loop
async def test_every_read_goes_by_a_key_of_its_perspective(store: SqliteStore) -> None:
    wall = Wall(await seen(store), 1)
    wall._db.authorizer = wall._db.exec_trace = None
    for name, sql in queries("perspective.sql").items():
        values = tuple(likely(sql, place, "plain") for place in range(sql.count("?")))
        plan = [row[3] for row in wall._db.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        reads = [line for line in plan if line.startswith(("SEARCH", "SCAN"))]
        assert reads and all("(perspective=? AND " in line for line in reads), (name, plan)
    wall.close()


@pytest.mark.rule("PX-1", "RN-2")
@in_loop
async def test_what_is_seen_is_rebuilt_from_the_steps(store: SqliteStore) -> None:
    await seen(store)
    async with store.open() as ledger:
        assert [finding async for finding in ledger.verify()] == []
    store.meddle("UPDATE message_event SET labels = 'pii' WHERE content = 'canary'")
    async with store.open() as ledger:
        assert ("projection", "message_event") in [
            (item.problem, item.detail) async for item in ledger.verify()
        ]
