"""Users with equal votes: none can end, see or infer another's work."""

import threading

import pytest

from judgepanel.service import jobs as jobs_module
from judgepanel.service.basics import NotFound
from judgepanel.studies.contract import CHUNK_SPLITS, Settings
from tests.helpers import make_votes
from tests.service.counting import LONG, SPEC, Count, completed, finish, held_at, let_go, loaded


@pytest.fixture
def users(space, votes):
    """Two users, each with an analysis of the same votes."""
    both = tuple(space.owned_by(name) for name in ("alice", "bob"))
    for user in both:
        user.create(loaded(votes), Settings(splits=20), "mine")
    return both


def state(user, counter, votes):
    job = user.partial(counter.study, votes.sha256, SPEC)
    return None if job is None else job.status


def test_who_cancels_ends_nobody_elses_work(users, votes):
    alice, bob = users
    counter = held_at(alice, votes, 1)
    bob.submit(counter.study, votes, SPEC)
    alice.cancel(counter.study, votes.sha256, SPEC)
    assert (state(alice, counter, votes), state(bob, counter, votes)) == ("cancelled", "running")
    assert let_go(bob, counter, votes).status == "done"
    assert counter.calls == [0, 1, 2, 3]
    assert alice.result(counter.study, votes.sha256, SPEC).result == Count(20, 20)


def test_who_never_asked_for_work_cannot_end_it(users, space, votes):
    alice, bob = users
    counter = held_at(alice, votes, 1)
    bob.cancel(counter.study, votes.sha256, SPEC)
    with pytest.raises(NotFound):  # Who does not have these votes.
        space.owned_by("eve").cancel(counter.study, votes.sha256, SPEC)
    assert let_go(alice, counter, votes).status == "done"


def test_work_on_a_sample_is_ended_by_nobody_else(space):
    sample = make_votes(9, 40, 4)
    alice, bob = (space.owned_by(name) for name in ("alice", "bob"))
    space.publish(sample)
    counter = held_at(alice, sample, 1)
    for stranger in (bob, space):
        assert state(stranger, counter, sample) is None
        stranger.cancel(counter.study, sample.sha256, SPEC)
    assert let_go(alice, counter, sample).status == "done"


def test_the_last_to_leave_ends_the_work(users, votes):
    alice, bob = users
    counter = held_at(alice, votes, 1)
    bob.submit(counter.study, votes, SPEC)
    for user in users:
        user.cancel(counter.study, votes.sha256, SPEC)
    assert state(bob, counter, votes) == "running", "the chunk under way is finished"
    job = let_go(bob, counter, votes)
    assert (job.status, job.done, job.result.total) == ("cancelled", 2, 2 * CHUNK_SPLITS)
    assert counter.calls == [0, 1]


def test_nobody_sees_that_others_work_or_failed(users, space, votes):
    alice, bob = users
    reader = alice.for_readers(alice.share(alice.list()[0].id))
    counter = held_at(alice, votes, 1)
    for other in (bob, reader, space):
        assert state(other, counter, votes) is None
    counter.error = ZeroDivisionError("x")
    assert let_go(alice, counter, votes).status == "failed"
    for other in (bob, reader, space):
        assert state(other, counter, votes) is None


def test_what_was_cancelled_does_not_grow_when_others_go_on(home, users, votes):
    alice, bob = users
    counter = held_at(alice, votes, 1)
    bob.submit(counter.study, votes, SPEC)
    alice.cancel(counter.study, votes.sha256, SPEC)
    counter.hold(3)
    counter.gates[1].set()
    assert counter.started[3].wait(LONG)
    for server in (alice, home().owned_by("alice")):
        job = server.partial(counter.study, votes.sha256, SPEC)
        assert (job.status, job.done, job.result.total) == ("cancelled", 1, CHUNK_SPLITS)
    assert bob.partial(counter.study, votes.sha256, SPEC).done == 3
    assert let_go(bob, counter, votes).status == "done"


def test_who_comes_while_the_last_one_leaves_loses_nothing(users, votes):
    alice, bob = users
    counter = held_at(alice, votes, 1)
    alice.cancel(counter.study, votes.sha256, SPEC)
    bob.submit(counter.study, votes, SPEC)
    assert state(alice, counter, votes) == "cancelled"
    assert let_go(bob, counter, votes).status == "done"
    assert counter.calls == [0, 1, 2, 3]


def test_an_interest_that_no_page_looks_at_keeps_no_work_going(users, votes, sql, monkeypatch):
    alice, bob = users
    asked = threading.Event()

    def end(jobs, *args):
        assert asked.wait(LONG)
        ended(jobs, *args)

    ended = jobs_module.Jobs._end
    monkeypatch.setattr(jobs_module.Jobs, "_end", end)
    counter = held_at(bob, votes, 1)
    alice.submit(counter.study, votes, SPEC)
    sql("UPDATE interests SET seen = seen - 3600")
    assert state(alice, counter, votes) == "running", "to look at it renews it"
    alice.cancel(counter.study, votes.sha256, SPEC)
    assert let_go(alice, counter, votes).status == "cancelled"
    assert state(bob, counter, votes) is None, "even while its end is only in the database"
    asked.set()
    assert completed(bob, counter, votes).status == "done"
    assert counter.calls == [0, 1, 2, 3], "what was finished is not computed again"


def test_a_page_that_went_away_leaves_its_work_to_go_on(users, votes, sql):
    alice, _ = users
    counter = held_at(alice, votes, 1)
    sql("UPDATE interests SET seen = seen - 3600")
    counter.gates[1].set()
    for thread in list(alice._jobs._threads):
        thread.join(LONG)
    assert alice.result(counter.study, votes.sha256, SPEC) is not None


def test_interests_hold_across_servers(home, users, votes):
    alice, _ = users
    bob = home().owned_by("bob")
    counter = held_at(alice, votes, 1)
    assert state(bob, counter, votes) is None
    bob.submit(counter.study, votes, SPEC)
    assert state(bob, counter, votes) == "running"
    alice.cancel(counter.study, votes.sha256, SPEC)
    counter.gates[1].set()
    for thread in list(alice._jobs._threads):
        thread.join(LONG)
    assert bob.result(counter.study, votes.sha256, SPEC).result == Count(20, 20)
    assert counter.calls == [0, 1, 2, 3]


def test_who_deletes_their_analysis_ends_their_own_work_alone(users, votes, sql):
    alice, bob = users
    counter = held_at(alice, votes, 1)
    bob.submit(counter.study, votes, SPEC)
    alice.delete(alice.list()[0].id)
    assert state(bob, counter, votes) == "running"
    bob.delete(bob.list()[0].id)
    counter.gates[1].set()
    for thread in list(bob._jobs._threads):
        thread.join(LONG)
    assert counter.calls == [0, 1]
    assert sql("SELECT count(*) FROM interests") == [(0,)]


def test_one_users_work_is_put_off_and_stays_anothers(users, votes, monkeypatch):
    monkeypatch.setattr(jobs_module, "PER_USER", 1)
    alice, bob = users
    counter = held_at(alice, votes, 1)
    bob.submit(counter.study, votes, SPEC)
    monkeypatch.setattr(jobs_module, "WATCHED_SECONDS", -1.0)
    more = held_at(alice, votes, 1, name="more")
    assert (state(alice, counter, votes), state(bob, counter, votes)) == (None, "running")
    for entry in (counter, more):
        entry.gates[1].set()
    assert finish(bob, counter.study, votes, SPEC).status == "done"
    assert finish(alice, more.study, votes, SPEC).status == "done"
    assert counter.calls == [0, 1, 2, 3]


def test_the_database_names_nobody(users, votes, sql):
    counter = held_at(users[0], votes, 1)
    ((party,),) = sql("SELECT party FROM interests")
    assert len(party) == 64
    assert "alice" not in party
    counter.gates[1].set()
    assert finish(users[0], counter.study, votes, SPEC).status == "done"
