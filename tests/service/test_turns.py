"""Order of work: what someone looks at goes first, other work pauses, scripts queue."""

import contextlib

import pandas as pd
import pytest

from judgepanel.service.jobs import WATCHED_SECONDS, Places, Turns
from judgepanel.service.sql import SqlWorkspace, _key
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run
from tests.service.counting import LONG, Clock, Count, Counter, CountSpec, finish, held_at, until

SPEC = CountSpec(Settings(splits=40))
CHUNKS = list(range(8))


@pytest.fixture
def clock():
    return Clock()


def line(clock, *keys, places=2):
    """Work in line that was asked for in this order, each by a user of its own."""
    turns = Turns(places, clock)
    for key in keys:
        turns.add(key, f"user of {key}")
    return turns


def ahead(turns, *keys):
    return [turns.ahead(key) for key in keys]


def test_who_is_looked_at_by_others_as_well_waits_for_those_that_were_first(clock):
    turns = line(clock, *"abcd")
    assert ahead(turns, *"abcd") == [0, 0, 2, 3]
    turns.remove("a")
    assert ahead(turns, *"bcd") == [0, 0, 2]


def test_with_nobody_looking_work_goes_in_the_order_it_was_asked_for(clock):
    turns = line(clock, *"abcd")
    clock.everybody_leaves()
    assert ahead(turns, *"abcd") == [0, 0, 2, 3]


def test_work_that_was_left_waits_for_all_that_is_looked_at(clock):
    turns = line(clock, *"abcd")
    clock.everybody_leaves()
    turns.look("d", "somebody")
    assert ahead(turns, *"dabc") == [0, 1, 2, 3]


def test_work_that_is_looked_at_again_has_its_old_place(clock):
    turns = line(clock, *"abc")
    clock.everybody_leaves()
    turns.look("c", "user of c")
    assert turns.look("a", "user of a")
    assert not turns.look("a", "another")
    assert ahead(turns, *"acb") == [0, 0, 2]


def test_work_counts_as_looked_at_for_a_few_seconds(clock):
    turns = line(clock, "a")
    clock.now += WATCHED_SECONDS
    assert turns.is_watched("a")
    clock.now += 0.1
    assert not turns.is_watched("a")


def test_work_is_looked_at_while_any_of_its_users_looks(clock):
    turns = line(clock, "a")
    clock.everybody_leaves()
    turns.look("a", "another")
    assert turns.is_watched("a")
    assert not turns.is_watched("a", "user of a")
    assert not turns.leave("a", "another")
    assert not turns.is_watched("a")
    assert turns.leave("a", "user of a")


@pytest.fixture(params=[1, 2])
def cores(request, monkeypatch):
    """A server that spreads work over so many cores."""
    monkeypatch.setattr("judgepanel.studies.runner.default_jobs", lambda: request.param)
    return request.param


@pytest.fixture
def space(url, votes, clock, cores):
    with contextlib.closing(SqlWorkspace(url, clock=clock)) as opened:
        opened.put_votes(votes)
        yield opened


def unwatched(space, counter, votes):
    """How far work is, asked by nobody that it would count as a look of."""
    return space._jobs.state(str(_key(counter.study, votes.sha256, SPEC)))


def reach(space, counter, votes, reached):
    """The state once it is so far, for those who do not look."""
    return until(lambda: unwatched(space, counter, votes), reached)


def held(space, votes, name, chunks=(1,)):
    """Work that stands still in these chunks."""
    return held_at(space, votes, *chunks, name=name, spec=SPEC)


def left_behind(space, votes, clock, cores):
    """Work that everybody left with a chunk under way on each core, and that of their new page.

    The chunks under way are finished when this returns, and the new page has its first result.
    """
    left = held(space, votes, "left", range(1, 1 + cores))
    clock.everybody_leaves()
    looked_at = held(space, votes, "looked at", range(1, 1 + cores))
    left.release()
    reach(space, left, votes, lambda state: state.done == 1 + cores)
    return left, looked_at


def test_work_that_was_left_is_paused_and_goes_on_where_it_was(space, votes, clock, cores):
    left, looked_at = left_behind(space, votes, clock, cores)
    paused = unwatched(space, left, votes)
    assert (paused.status, paused.ahead, paused.done) == ("running", 1, 1 + cores)
    first = unwatched(space, looked_at, votes)
    assert (first.done, first.ahead, first.result) == (1, 0, Count(5, 40))
    looked_at.release()
    assert finish(space, looked_at.study, votes, SPEC).status == "done"
    assert sorted(looked_at.calls) == CHUNKS
    assert finish(space, left.study, votes, SPEC).result == Count(40, 40)
    assert sorted(left.calls) == CHUNKS


def test_paused_work_computes_nothing_until_somebody_comes_back(space, votes, clock, cores):
    left, looked_at = left_behind(space, votes, clock, cores)
    assert sorted(left.calls) == CHUNKS[: 1 + cores]
    back = space.partial(left.study, votes.sha256, SPEC)
    assert (back.done, back.ahead) == (1 + cores, 0)
    assert finish(space, left.study, votes, SPEC).status == "done"
    assert unwatched(space, looked_at, votes).status == "running"
    looked_at.release()
    finish(space, looked_at.study, votes, SPEC)


def test_paused_work_can_be_cancelled_and_keeps_what_it_has(space, votes, clock, cores):
    left, looked_at = left_behind(space, votes, clock, cores)
    space.cancel(left.study, votes.sha256, SPEC)
    reach(space, left, votes, lambda state: state.status == "cancelled")
    assert sorted(left.calls) == CHUNKS[: 1 + cores]
    looked_at.release()
    finish(space, looked_at.study, votes, SPEC)
    space.submit(left.study, votes, SPEC)
    assert finish(space, left.study, votes, SPEC).status == "done"
    assert sorted(left.calls) == CHUNKS


def test_users_who_look_at_different_work_see_how_many_go_before(space, votes):
    counters = [held(space, votes, name) for name in ("first", "second")]
    for name in ("third", "fourth"):
        counters.append(Counter(name))
        space.submit(counters[-1].study, votes, SPEC)
    states = [space.partial(counter.study, votes.sha256, SPEC) for counter in counters]
    assert [state.ahead for state in states] == [0, 0, 2, 3]
    for counter in counters[:2]:
        counter.release()
    for counter in counters:
        job = finish(space, counter.study, votes, SPEC)
        assert (job.status, job.ahead) == ("done", 0)


def test_scripts_that_nobody_looks_at_are_worked_off_in_their_order(space, votes, clock):
    counters = [held(space, votes, name) for name in ("first", "second")]
    counters.append(Counter("third"))
    space.submit(counters[-1].study, votes, SPEC)
    clock.everybody_leaves()
    assert [unwatched(space, counter, votes).ahead for counter in counters] == [0, 0, 2]
    assert counters[2].calls == []
    for counter in counters[:2]:
        counter.release()
    for counter in counters:
        reach(space, counter, votes, lambda state: state.status == "done")
        assert sorted(counter.calls) == CHUNKS


def test_work_that_goes_on_later_says_at_once_what_it_has(url, votes, clock, monkeypatch):
    monkeypatch.setattr("judgepanel.studies.runner.default_jobs", lambda: 1)
    with contextlib.closing(SqlWorkspace(url, clock=clock)) as first:
        first.put_votes(votes)
        counter = held(first, votes, "count", [3])
        first.cancel(counter.study, votes.sha256, SPEC)
        counter.gates[3].set()
        n_done = finish(first, counter.study, votes, SPEC).done
    with contextlib.closing(SqlWorkspace(url, clock=clock)) as second:
        others = [held(second, votes, name) for name in ("other", "another")]
        second.submit(counter.study, votes, SPEC)
        second.wait(counter.study, votes.sha256, SPEC, LONG)
        job = second.partial(counter.study, votes.sha256, SPEC)
        assert (job.done, job.ahead, job.elapsed) == (n_done, 2, 0.0)
        assert job.result.total == 5 * n_done
        for other in others:
            other.release()
        assert finish(second, counter.study, votes, SPEC).status == "done"
    assert sorted(counter.calls) == CHUNKS


def test_a_study_that_is_paused_has_the_same_bits(space, votes, clock):
    spec = PanelCurveSpec(settings=Settings(splits=120))  # More than it can end with meanwhile.
    whole = run(PANEL_CURVE, votes, spec, jobs=1)
    space.submit(PANEL_CURVE, votes, spec)
    clock.everybody_leaves()
    looked_at = held(space, votes, "looked at")
    key = str(_key(PANEL_CURVE, votes.sha256, spec))
    assert space._jobs.state(key).ahead == 1
    looked_at.release()
    finish(space, looked_at.study, votes, SPEC)
    result = finish(space, PANEL_CURVE, votes, spec).result
    pd.testing.assert_frame_equal(result.frame(), whole.frame(), check_exact=True)


def test_two_users_have_places_and_the_third_waits_for_one():
    places = Places(2)
    first, second, third = (places.queue(name) for name in ("ann", "ben", "cy"))
    assert places.enter(second, 0)
    assert places.enter(first, 0)
    assert not places.enter(third, 0)
    places.leave(first)
    assert places.enter(third, 0)


def test_a_user_has_one_place_and_holds_up_nobody_else():
    places = Places(2)
    first, second, other = (places.queue(name) for name in ("ann", "ann", "ben"))
    assert places.enter(first, 0)
    assert not places.enter(second, 0)
    assert places.enter(other, 0)
    places.leave(first)
    assert places.enter(second, 0)


def test_who_came_first_goes_first_and_who_gives_up_is_skipped():
    places = Places(1)
    first, second, third = (places.queue(name) for name in ("ann", "ben", "cy"))
    assert not places.enter(second, 0)
    assert places.enter(first, 0)
    places.leave(second)
    places.leave(first)
    assert places.enter(third, 0)
