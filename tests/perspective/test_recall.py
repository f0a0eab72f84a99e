"""Recall: who may be told comes before what fits, for every perspective, room and question."""

import asyncio
import random
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.ledger.ledger import Appended, Row
from interlock.ledger.search_index import CLEARED, SearchIndex, whole_list
from interlock.perspective import recall as recalling
from interlock.perspective.recall import Memorable, memorable_rows
from tests.ledger.world import in_loop
from tests.perspective.memories import (
    DAY,
    DESK,
    MINUTE,
    NOW,
    Counting,
    forget,
    found,
    ids,
    memory,
    remember,
    remembering,
)

PEOPLE = ("ana", "bia", "caio", "davi")
WORDS = ("violin", "garden", "salary", "Lisboa", "dentist", "lessons")
MANY = 10_000


# Who may be told


@pytest.mark.rule("ME-2")
@in_loop
async def test_a_private_fact_does_not_reach_a_wider_room_however_well_it_fits() -> None:
    private = memory("Ana's salary is 5000, the salary of Ana", "private")
    shared = memory("Somebody asked about a salary once", "shared", ("ana", "bia", "caio"))
    async with remembering(private, shared) as ledger:
        assert await ids(ledger, "Ana salary", "ana") == ["private", "shared"]
        assert await ids(ledger, "Ana salary", "ana", "bia") == ["shared"]
        assert await ids(ledger, "Ana salary", "ana", "davi") == []


@pytest.mark.rule("ME-2")
@in_loop
async def test_what_each_of_two_knows_alone_is_not_told_to_both() -> None:
    alone = [memory("a violin", "of_ana"), memory("a violin", "of_bia", ("bia",))]
    more = [memory("a violin", f"with_{other}", ("ana", other)) for other in ("caio", "davi")]
    async with remembering(*alone, *more) as ledger:
        for room in (("ana", "bia"), ("bia", "caio"), ("ana", "caio", "davi")):
            assert await ids(ledger, "violin", *room) == []
        assert await ids(ledger, "violin", "caio", "ana") == ["with_caio"]


@pytest.mark.rule("ME-2")
@in_loop
async def test_what_may_not_be_told_does_not_make_a_word_common_nor_a_text_long() -> None:
    told = [memory("the garden", "garden"), memory("the dentist, at length and in every detail", "dentist")]
    kept_back = [memory("garden lessons", f"m{number}", ("ana",)) for number in range(40)]
    both = [memory(one.text, one.id, ("ana", "bia")) for one in told]
    async with remembering(*both) as alone, remembering(*kept_back, *both) as ledger:
        asked = ("garden dentist", "ana", "bia")
        assert await found(ledger, *asked) == await found(alone, *asked)


@pytest.mark.rule("ME-2")
@in_loop
async def test_what_was_shared_with_everybody_reaches_every_room() -> None:
    async with remembering(memory("The office closes on Friday", audience=None)) as ledger:
        assert await ids(ledger, "office", *PEOPLE) == ["memory_1"]
        assert await ids(ledger, "office", "a stranger") == ["memory_1"]


@pytest.mark.rule("ME-2")
@in_loop
async def test_with_nobody_in_the_room_all_of_the_perspective_may_be_told_and_nothing_else() -> None:
    own = [
        memory("a violin", "of_ana"),
        memory("a violin", "of_nobody", ()),
        memory("a violin", "of_all", None),
    ]
    async with remembering(*own, memory("a violin", "foreign", perspective="other@acme")) as ledger:
        assert sorted(await ids(ledger, "violin")) == ["of_all", "of_ana", "of_nobody"]
        assert sorted(await ids(ledger, "violin", "ana")) == ["of_all", "of_ana"]


@pytest.mark.rule("ME-3")
@in_loop
async def test_a_subject_narrows_and_never_widens() -> None:
    both = ("ana", "bia")
    said = (
        memory("I play the violin", "by_ana", both, subject="ana", conversation="c"),
        memory(
            "I play the violin too", "by_bia", both, subject="bia", conversation="c", at=NOW - DAY + MINUTE
        ),
        memory("Ana hides her violin", "private", ("bia",), subject="ana"),
    )
    async with remembering(*said) as ledger:
        assert await ids(ledger, "violin", *both, subject="ana") == ["by_ana"]
        assert await ids(ledger, "", *both, subject="bia") == ["by_bia"]
        assert sorted(await ids(ledger, "violin", "bia", subject="ana")) == ["by_ana", "private"]
        assert await ids(ledger, "violin", *both, subject="caio") == []


memories = st.builds(
    lambda perspective, audience, words, subject, conversation, at: {
        "perspective": perspective, "audience": audience, "text": " ".join(words), "subject": subject,
        "conversation": conversation, "at": NOW - at * MINUTE,
    },
    st.sampled_from((DESK, DESK, "other@acme")),
    st.none() | st.sets(st.sampled_from(PEOPLE)),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    st.none() | st.sampled_from(PEOPLE),
    st.none() | st.sampled_from(("c1", "c2")),
    st.integers(0, 300),
)  # fmt: skip
rooms = st.sets(st.sampled_from((*PEOPLE, "a stranger")))


def eligible(one: Memorable, room: set[str]) -> bool:
    return one.perspective == DESK and (one.audience is None or room <= one.audience)


@pytest.mark.rule("ME-2", "ME-3", "PX-1")
@settings(max_examples=200, deadline=None)
@given(
    st.lists(memories, max_size=14), rooms, st.sets(st.sampled_from(WORDS)),
    st.none() | st.sampled_from(PEOPLE), st.sets(st.integers(0, 13)), st.sampled_from((2, 1000)),
)  # fmt: skip
def test_no_memory_reaches_a_room_in_which_somebody_could_not_have_observed_it(
    drawn, room, words, subject, gone, far
) -> None:
    """And what the room may not know moves nothing in it: with all of that away, the very same comes back."""
    kept = [memory(id_=f"m{number}", **one) for number, one in enumerate(drawn)]
    asked = " ".join(sorted(words))

    async def play() -> None:
        async with remembering(*kept) as ledger:
            for number in sorted(gone):
                for perspective in (DESK, "other@acme"):
                    if number < len(kept) and kept[number].perspective == perspective:
                        await forget(ledger, perspective, f"m{number}")
            left = [one for number, one in enumerate(kept) if number not in gone]
            allowed = [one for one in left if eligible(one, room)]
            came = await found(ledger, asked, *room, subject=subject, limit=MANY)
        fitting = {
            one.id for one in allowed
            if (subject is None or one.subject == subject) and (not words or words & set(one.text.split()))
        }  # fmt: skip
        told = {one.id for one in came}
        assert told <= {one.id for one in allowed if subject is None or one.subject == subject}
        if far > len(kept):
            assert fitting <= told
        async with remembering(*allowed) as alone:
            again = await found(alone, asked, *room, subject=subject, limit=MANY)
        if not gone:
            assert again == came

    with pytest.MonkeyPatch.context() as during:
        during.setattr(recalling, "FAR", far)
        asyncio.run(play())


@pytest.mark.fault("F15")
@pytest.mark.rule("PX-1", "ME-2")
@in_loop
async def test_ten_perspectives_that_remember_nearly_the_same_never_hear_of_each_other() -> None:
    perspectives = [f"agent{number}@acme/desk" for number in range(10)]
    forms = ("{n} keeps the spare key under the stone", "The spare key of {n} lies under a stone",
             "Under the stone there is the spare key, says {n}", "A chave reserva de {n} fica sob a pedra")  # fmt: skip
    everything = [
        memory(form.format(n="Ana"), f"{perspective}#{number}", audience, perspective=perspective, subject="ana",
               conversation="hall", at=NOW - number * MINUTE)
        for perspective in perspectives
        for number, form in enumerate(forms)
        for audience in [(None, ("ana",), ("ana", "bia"), ("ana", "bia", "caio"))[number]]
    ]  # fmt: skip
    chance = random.Random(15)
    chance.shuffle(everything)
    tokens = [
        "spare",
        "key",
        "stone",
        "Ana",
        "chave",
        "pedra",
        "*",
        '"',
        "OR",
        "NEAR(",
        "perspective:",
        *perspectives,
    ]
    async with remembering(*everything) as ledger:
        gone: set[str] = set()
        for number in range(1000):
            mine = chance.choice(perspectives)
            asked = " ".join(chance.choices(tokens, k=chance.randint(0, 6)))
            room = chance.sample(PEOPLE, chance.randint(0, 3))
            came = await ids(
                ledger, asked, *room, perspective=mine, limit=100, subject=chance.choice((None, "ana", mine))
            )
            assert all(one.startswith(f"{mine}#") for one in came), (mine, asked, came)
            assert not gone & set(came)
            if number % 100 == 0:
                one = f"{mine}#{chance.randrange(4)}"
                await forget(ledger, chance.choice([other for other in perspectives if other != mine]), one)
                await forget(ledger, mine, one)
                gone.add(one)
        index = SearchIndex(ledger)
        for mine in perspectives:
            left = {one.id for one in everything if one.perspective == mine} - gone
            assert set(await ids(ledger, "", perspective=mine, limit=100)) == left
            counted = await index.counts([whole_list(mine)])
            assert sum(count.memories for count in counted) == len(left)


# What fits


@pytest.mark.rule("ME-2")
@in_loop
async def test_rare_words_count_more_and_of_two_alike_the_newer_comes_first() -> None:
    kept = [memory("The garden is green", f"green{number}", at=NOW - number * DAY) for number in range(1, 9)]
    async with remembering(*kept, memory("The dentist has a garden", "dentist", at=NOW - 90 * DAY)) as ledger:
        came = await ids(ledger, "Which dentist, and is there a garden?", "ana")
    assert came == ["dentist", *(f"green{number}" for number in range(1, 9))]


@pytest.mark.rule("ME-2")
@in_loop
async def test_a_new_memory_is_ahead_of_an_old_one_that_fits_hardly_better_and_not_of_one_that_fits_better() -> (
    None
):
    old, long_ago = NOW - 300 * DAY, NOW - 40_000 * DAY
    kept = [
        memory("the garden is green outside", "new"),
        memory("the garden is green", "hardly better", at=old),
        memory("the garden, the garden, the garden is a green garden", "better", at=old),
        memory("the dentist is tall", "ages ago, later", at=long_ago + 1),
        memory("the dentist is tall", "ages ago", at=long_ago),
    ]
    async with remembering(*kept) as ledger:
        assert await ids(ledger, "garden", "ana") == ["better", "new", "hardly better"]
        assert await ids(ledger, "dentist", "ana") == ["ages ago, later", "ages ago"]


@pytest.mark.rule("ME-2")
@in_loop
async def test_an_answer_is_found_by_the_words_of_its_question_and_comes_before_it() -> None:
    talk = (
        memory("Where did you go on holiday?", "question", conversation="c", at=NOW - DAY),
        memory("To Lisboa, with my sister.", "answer", conversation="c", at=NOW - DAY + MINUTE),
        memory("It rained.", "later", conversation="c", at=NOW - MINUTE),
    )
    async with remembering(*talk) as ledger:
        assert set(await ids(ledger, "holiday", "ana")) == {"question", "answer"}
        assert (await ids(ledger, "holiday in Lisboa", "ana"))[0] == "answer"


@pytest.mark.rule("ME-2")
@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("She went to the doctors", "going to a doctor"),
        ("Comprou duas maçãs na feira", "maçã comprada"),
        ("As reuniões foram canceladas", "cancelar a reunião"),
        ("Nothing but the date tells it", "what was in November 2023"),
        ("Nothing but the date tells it", "o que houve em novembro?"),
        ("On 3 March we moved", "3rd of março"),
    ],
)
@in_loop
async def test_other_forms_of_a_word_are_found_in_both_languages(text, asked) -> None:
    async with remembering(memory(text, at=1_699_000_000_000), memory("green", "other", at=0)) as ledger:
        assert await ids(ledger, asked, "ana") == ["memory_1"]


@pytest.mark.rule("ME-2", "BI-1")
@pytest.mark.parametrize(
    "asked",
    [
        '"', '""', "violin*", '"violin', "violin OR", "NOT violin", "violin AND (", "tokens:violin", "^violin",
        "NEAR(violin garden, 2)", "{violin} : x", "violin\0garden", "\0",
        "\ud800violin \udfff", "'; DROP TABLE run; --",
        "-violin", "violin + garden", "\u202eviolin", "🎻", "%_%", "violin " * 300_000, "x" * 2_000_000, "ﬁ ß İ",
    ],
    ids=lambda asked: repr(asked[:20]),
)  # fmt: skip
@in_loop
async def test_nothing_in_a_question_is_a_query(asked) -> None:
    private = memory("a violin garden", "private", ("bia",))
    foreign = memory("a violin", "foreign", perspective="b@acme")
    async with remembering(memory("a violin", "own"), private, foreign) as ledger:
        assert await ids(ledger, asked, "ana") in (["own"], [])
        assert await ids(ledger, "violin", "ana") == ["own"]


@pytest.mark.rule("BI-1")
@pytest.mark.parametrize(
    "text", ["", "\0", "\ud800 violin", "violin\0" * 1000, "x" * 2_000_000, "a b c " * 300_000]
)
@in_loop
async def test_whatever_a_memory_says_can_be_remembered_and_forgotten(text) -> None:
    async with remembering(memory(text)) as ledger:
        assert await ids(ledger, "", "ana") == ["memory_1"]
        await forget(ledger, DESK, "memory_1")
        assert await ids(ledger, "", "ana") == []


# What it costs


@pytest.mark.rule("ME-2")
@in_loop
async def test_what_is_read_does_not_grow_with_the_memories_and_a_rare_word_is_found_among_many(
    monkeypatch,
) -> None:
    monkeypatch.setattr(recalling, "FAR", 50)
    oldest = memory("The dentist of the garden", "oldest", at=NOW - 400 * DAY)
    read = []
    for many in (300, 2400):
        kept = [
            memory(f"garden lessons {number}", f"m{number}", conversation="c", at=NOW - DAY + number * MINUTE)
            for number in range(many)
        ]
        async with remembering(oldest, *kept) as ledger:
            counting = Counting(ledger)
            assert (await ids(counting, "dentist in the garden lessons", "ana"))[0] == "oldest"
            read.append((counting.queries, counting.rows))
    assert read[0] == read[1]


# What stays, and what does not


@pytest.mark.rule("CS-7")
@in_loop
async def test_what_is_forgotten_leaves_no_bytes_in_the_file() -> None:
    secret = memory(
        "zanzibar", "memory_of_zanzibar", ("actor_of_bia",), subject="actor_of_bia", conversation="talk_9"
    )
    async with remembering(memory("a violin", "kept"), secret) as ledger:
        post, *_, entry = memorable_rows(secret)
        marks = [b"memory_of_zanzibar", b"actor_of_bia", b"talk_9", entry.values[-1][:5]]
        token = post.values[0].split()[1]
        files = (ledger.path, Path(f"{ledger.path}-wal"))
        assert words_in(ledger.path) >= {token}
        assert all(any(mark in file.read_bytes() for file in files) for mark in marks)
        await forget(ledger, DESK, "memory_of_zanzibar")
        with apsw.Connection(str(ledger.path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert token not in words_in(ledger.path)
        assert not [mark for mark in marks if any(mark in file.read_bytes() for file in files)]
        assert token[20:].encode() not in ledger.path.read_bytes()
        assert await ids(ledger, "violin", "ana") == ["kept"]


def words_in(path: Path) -> set[str]:
    """All that the index holds, list and word in one."""
    with apsw.Connection(str(path)) as db:
        db.execute("CREATE VIRTUAL TABLE temp.v USING fts5vocab('main', 'recall_word', 'row')")
        return {term for (term,) in db.execute("SELECT term FROM temp.v")}


@in_loop
async def test_what_is_added_twice_or_removed_twice_is_there_once_or_gone() -> None:
    one, other = memory("a violin", "one"), memory("a violin", "other")
    async with remembering(one, other) as ledger:
        once = await found(ledger, "violin", "ana")
        await remember(ledger, [one, other])
        assert await found(ledger, "violin", "ana") == once
        rows = await recalling.forgotten(ledger, DESK, ["one"])
        assert isinstance(await ledger.append((), rows=(*rows, *rows)), Appended)
        assert await ids(ledger, "violin", "ana") == ["other"]
        await forget(ledger, DESK, "one", "other", "never there")
        assert await ids(ledger, "violin", "ana") == []
        for table in ("recall_entry", "recall_list", "recall_audience"):
            with apsw.Connection(str(ledger.path)) as db:
                assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        assert words_in(ledger.path) == set()


@in_loop
async def test_the_index_can_be_made_anew_from_the_memories() -> None:
    kept = [memory(f"a violin and {word}", word, conversation="c", at=NOW - DAY) for word in WORDS]
    async with remembering(*kept) as ledger:
        before = await found(ledger, "violin dentist", "ana")
        assert isinstance(await ledger.append((), rows=CLEARED), Appended)
        assert await found(ledger, "violin dentist", "ana") == []
        await remember(ledger, kept)
        assert await found(ledger, "violin dentist", "ana") == before
        assert not [finding async for finding in ledger.verify()]


@in_loop
async def test_the_database_checks_the_index_against_itself() -> None:
    async with remembering(*(memory(word, word) for word in WORDS)) as ledger:
        await forget(ledger, DESK, WORDS[0])
        with apsw.Connection(str(ledger.path)) as db:
            db.execute("INSERT INTO recall_word (recall_word, rank) VALUES ('integrity-check', 0)")
        assert isinstance(await ledger.append((), rows=[Row("clear_recall_words", ())]), Appended)
