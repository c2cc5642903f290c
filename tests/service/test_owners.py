"""Only the owner can rename, delete and decide, and what is deleted is gone."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from judgepanel.service.basics import NotFound
from judgepanel.studies.contract import Settings
from tests.helpers import make_votes
from tests.service import counting

TABLES = ("votes", "analyses", "results", "jobs", "partials", "shares", "decisions")
HOSTILE = (
    "'; DROP TABLE analyses; --", '" OR 1=1 --', "%", "_", "\x00", "\ud83d", "🦜 شكرا",
    "<script>alert(1)</script>", "x" * 5_000, "",
)  # fmt: skip


def rows(sql):
    return {table: sql(f"SELECT count(*) FROM {table}")[0][0] for table in TABLES}  # noqa: S608


def test_any_text_is_a_name_a_decision_and_no_sql(home, votes):
    space, again = home(), home()
    other = space.create(counting.loaded(votes), Settings(), "other")
    for text in HOSTILE:
        made = space.create(counting.loaded(votes), Settings(), "before")
        assert space.rename(made.id, text).name == text
        decided = space.decide(made.id, text, text, text)
        assert again.open(made.id).name == text
        assert (decided.what, decided.by, decided.why) == (text, text, text)
        assert again.decisions(made.id) == (decided,)
        assert again.owned_by(text).list() == (again.list() if text == "" else ())
    assert (again.open(other.id).name, again.decisions(other.id)) == ("other", ())


def test_renaming_changes_nothing_else(space, votes):
    made = space.create(counting.loaded(votes), Settings(seed=3), "before")
    renamed = space.rename(made.id, "after")
    assert renamed == space.open(made.id)
    assert (renamed.created, renamed.settings) == (made.created, made.settings)


def test_decisions_come_in_the_order_they_were_made(space, votes):
    made = space.create(counting.loaded(votes), Settings(), "x")
    for number in range(5):
        space.decide(made.id, f"keep {number}", "me", "because")
    decisions = space.decisions(made.id)
    assert [decision.what for decision in decisions] == [f"keep {number}" for number in range(5)]
    made_at = [decision.made for decision in decisions]
    assert made_at == sorted(made_at)


def operations(space, analysis, analysis_id):
    """All that an id opens or changes."""
    return {
        "open": lambda: space.open(analysis_id),
        "rename": lambda: space.rename(analysis_id, "mine now"),
        "delete": lambda: space.delete(analysis_id),
        "decide": lambda: space.decide(analysis_id, "what", "who", "why"),
        "decisions": lambda: space.decisions(analysis_id),
        "with_settings": lambda: space.with_settings(analysis, Settings(seed=9)),
    }


OTHERS = ("", "eve", "al_ce", "%", "alice ", "ALICE", "alice\x00", "a")
FORGED = (
    *("%", "_" * 22, "*" * 22, "' OR ''='", "\0", "", "../x" * 6, "x' OR 'x'='x'; --xxxx"),
    *("abcdefghijklmnop%", "\ud800" * 20),
)


@pytest.mark.parametrize("operation", operations(None, None, None))
def test_another_owner_has_no_such_analysis(space, votes, operation):
    alice = space.owned_by("alice")
    made = alice.create(counting.loaded(votes), Settings(), "secret")
    alice.decide(made.id, "keep", "alice", "why")
    for other in map(space.owned_by, OTHERS):
        with pytest.raises(NotFound) as theirs:
            operations(other, made, made.id)[operation]()
        unknown = replace(made, id="unknown-but-well-formed")
        with pytest.raises(NotFound) as nobodys:
            operations(other, unknown, unknown.id)[operation]()
        assert str(theirs.value) == str(nobodys.value)
        assert other.list() == ()
    assert (alice.list(), len(alice.decisions(made.id))) == ((made,), 1)


@pytest.mark.parametrize("operation", ["rename", "delete", "decide", "decisions"])
def test_a_forged_id_does_nothing(space, votes, operation):
    made = space.create(counting.loaded(votes), Settings(), "x")
    for forged in FORGED:
        with pytest.raises(NotFound):
            operations(space, made, forged)[operation]()
    assert space.list() == (made,)


def test_what_is_deleted_is_gone(home, votes, sql):
    space = home()
    made = space.create(counting.loaded(votes), Settings(splits=20), "x")
    space.decide(made.id, "keep", "me", "why")
    counter, _ = counting.worked(space, votes)
    counting.worked(space, votes, error=ZeroDivisionError("x"), name="failed")
    once = {"votes", "analyses", "results", "jobs", "decisions"}
    assert {table for table, n in rows(sql).items() if n == 1} == once
    space.delete(made.id)
    assert set(rows(sql).values()) == {0}
    for look in (space, home()):
        assert (look.list(), look.result(counter.study, votes.sha256, counting.SPEC)) == ((), None)
        assert look.partial(counter.study, votes.sha256, counting.SPEC) is None
        with pytest.raises(NotFound):
            look.votes(votes.sha256)
        with pytest.raises(NotFound):
            look.delete(made.id)


def test_what_another_analysis_uses_stays(space, votes, sql):
    first, other = (space.owned_by(name) for name in ("alice", "bob"))
    mine = first.create(counting.loaded(votes), Settings(splits=20), "mine")
    same = other.create(counting.loaded(votes), Settings(splits=20), "same")
    seeded = other.create(counting.loaded(votes), Settings(splits=20, seed=5), "seeded")
    specs = [counting.CountSpec(analysis.settings) for analysis in (mine, seeded)]
    counters = [counting.worked(space, votes, spec)[0] for spec in specs]

    def stored():
        asked = zip(counters, specs, strict=True)
        return [space.result(c.study, votes.sha256, spec) is not None for c, spec in asked]

    first.delete(mine.id)
    assert stored() == [True, True]
    other.delete(same.id)
    assert stored() == [False, True]
    assert space.votes(votes.sha256).sha256 == votes.sha256
    other.delete(seeded.id)
    assert stored() == [False, False]
    assert set(rows(sql).values()) == {0}


def test_running_work_of_a_deleted_analysis_leaves_nothing(space, votes, sql):
    made = space.create(counting.loaded(votes), Settings(splits=20), "x")
    counter = counting.held_at(space, votes, 2)
    assert rows(sql)["partials"] == 2
    space.delete(made.id)
    counter.gates[2].set()
    space.close()
    assert set(rows(sql).values()) == {0}
    assert counter.calls == [0, 1, 2]


def test_work_that_ends_while_its_analysis_is_deleted_keeps_no_result(space, votes, sql):
    space.create(counting.loaded(votes), Settings(splits=20), "x")
    counter = counting.held_at(space, votes, 3)
    sql("DELETE FROM analyses")
    sql("DELETE FROM votes")
    counter.gates[3].set()
    space.close()
    assert set(rows(sql).values()) == {0}


def test_the_shares_of_an_analysis_go_with_it(space, votes, sql):
    made = space.create(counting.loaded(votes), Settings(), "x")
    sql(
        "INSERT INTO shares (token_sha256, analysis_id, signed_in_only, created) "
        "VALUES ('0', :id, false, 0)",
        id=made.id,
    )
    space.delete(made.id)
    assert rows(sql)["shares"] == 0


def test_deleting_and_bringing_the_same_votes_at_once_loses_none(home, votes):
    """Whoever comes second sees what the first has done, and no analysis is without votes."""
    spaces = [home(), home()]

    def bring_and_delete(number):
        space = spaces[number % 2]
        made = space.create(counting.loaded(votes), Settings(seed=number), f"n{number}")
        if number % 3:
            space.delete(made.id)
        return made.id

    with ThreadPoolExecutor(6) as pool:
        ids = list(pool.map(bring_and_delete, range(24)))
    fresh = home()
    assert {analysis.id for analysis in fresh.list()} == set(ids[::3])
    assert fresh.votes(votes.sha256).sha256 == votes.sha256


def test_concurrent_writers_of_one_row_all_succeed(home):
    spaces = [home(), home()]
    made = make_votes(2, 30, 3)
    with ThreadPoolExecutor(8) as pool:
        hashes = list(pool.map(lambda n: spaces[n % 2].put_votes(made), range(32)))
    assert set(hashes) == {made.sha256}
    analysis = spaces[0].create(counting.loaded(made), Settings(), "x")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: spaces[n % 2].rename(analysis.id, f"n{n}"), range(32)))
    assert spaces[0].open(analysis.id) == spaces[1].open(analysis.id)
    with contextlib.suppress(NotFound):
        spaces[0].delete(analysis.id)
    with pytest.raises(NotFound):
        spaces[1].rename(analysis.id, "gone")


def test_what_was_deleted_does_not_come_back_with_a_page_that_is_still_open(home, votes, sql):
    space, other = home(), home()
    made = space.create(counting.loaded(votes), Settings(), "gone")
    for server in (space, other):
        server.votes(votes.sha256)
    space.delete(made.id)
    for server in (space, other):
        with pytest.raises(NotFound, match="no such votes"):
            server.submit(counting.Counter().study, votes, counting.CountSpec())
    assert rows(sql) == dict.fromkeys(TABLES, 0)


def test_everybody_works_on_a_sample_whether_or_not_it_is_kept(home, votes):
    space, sample, counter = home(), make_votes(9, 40, 4), counting.Counter()
    mine = space.create(counting.loaded(votes), Settings(), "mine")
    bob, reader = space.owned_by("bob"), space.for_readers(space.share(mine.id))
    for number, user in enumerate((reader, bob, space)):
        spec = counting.CountSpec(Settings(splits=20, seed=number))
        with pytest.raises(NotFound, match="no such votes"):
            user.submit(counter.study, make_votes(8, 40, 4), spec)
        user.publish(sample)
        assert counting.completed(user, counter, sample, spec).status == "done"
        assert user.result(counter.study, sample.sha256, spec).current
        space.delete(space.create(counting.loaded(sample), Settings(), "a copy of my own").id)
    counter = counting.held_at(bob, sample, 1)
    bob.cancel(counter.study, sample.sha256, counting.SPEC)
    assert counting.let_go(bob, counter, sample).status == "cancelled"
