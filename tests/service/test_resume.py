"""Finished chunks are stored: after kill -9 any server continues from them."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from judgepanel.service import ledger as ledger_module
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run
from tests.helpers import make_votes
from tests.service.counting import LONG, SPEC, Count, Counter, completed, finish, held_at, let_go

ROOT = Path(__file__).resolve().parents[2]
CURVE = PanelCurveSpec(settings=Settings(splits=12))
SERVER = """
import dataclasses, sys
from judgepanel.service.sql import SqlWorkspace
from judgepanel.studies import runner
from tests.helpers import make_votes
from tests.service.test_resume import CURVE, small

runner.default_jobs = lambda: 1

def run_chunk(votes, spec, chunk):
    if chunk.number == 3:
        print("three are kept", flush=True)
        sys.stdin.read()
    return small.run_chunk(votes, spec, chunk)

space = SqlWorkspace(sys.argv[1])
space.put_votes(make_votes(1, 40, 4))
space.submit(dataclasses.replace(small, run_chunk=run_chunk), make_votes(1, 40, 4), CURVE)
sys.stdin.read()
"""
EARLIER_FORM = b"x\x01c`\x00\x03&#\x03\x00\x00\xa4\x00e"
"""The number 20 as a compressed tree, which is how chunks were once kept."""
small = dataclasses.replace(PANEL_CURVE, chunk=2)


def ended(sql):
    """The lease of a server that has been dead for a while."""
    sql("UPDATE jobs SET lease_end = lease_end - 3600")


def counted(study):
    """The study, and the chunks that it computes."""
    calls = []

    def run_chunk(votes, spec, chunk):
        calls.append(chunk.number)
        return study.run_chunk(votes, spec, chunk)

    return dataclasses.replace(study, run_chunk=run_chunk), calls


@pytest.fixture
def server(url):
    """A server of its own process, in the middle of its fourth chunk."""
    command = [sys.executable, "-c", SERVER, url]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout.readline() == "three are kept\n"
        yield process
        process.kill()


def test_after_kill_9_work_goes_on_to_the_same_bits(home, server, votes, sql):
    server.kill()
    server.wait(LONG)
    space = home()
    assert space.partial(small, votes.sha256, CURVE).status == "running"
    ended(sql)
    assert space.partial(small, votes.sha256, CURVE) is None
    study, calls = counted(small)
    space.submit(study, votes, CURVE)
    assert finish(space, study, votes, CURVE).status == "done"
    assert calls == [3, 4, 5]
    result = home().result(small, votes.sha256, CURVE).result
    whole = run(small, votes, CURVE, jobs=1)
    pd.testing.assert_frame_equal(result.frame(), whole.frame(), check_exact=True)
    assert json.dumps(result.summary()) == json.dumps(whole.summary())
    assert sql("SELECT count(*) FROM partials") == sql("SELECT count(*) FROM jobs") == [(0,)]


def test_a_server_that_stops_hands_its_work_on(home, votes):
    first, second = home(), home()
    counter = held_at(first, votes, 2)
    first._ledger.stop()
    first._jobs.cancel(str(next(iter(first._jobs._states))))
    counter.gates[2].set()
    first.close()
    assert second.partial(counter.study, votes.sha256, SPEC) is None
    assert completed(second, counter, votes).result == Count(20, 20)
    assert counter.calls == [0, 1, 2, 3]


def test_a_process_that_ends_in_order_lets_go_of_its_work_at_once(home, votes):
    first, second = home(), home()
    counter = held_at(first, votes, 2)
    first._ledger._release()  # As Python does when it ends.
    assert second.partial(counter.study, votes.sha256, SPEC) is None
    counter.gates[2].set()
    first.close()
    assert completed(second, counter, votes).result == Count(20, 20)
    assert counter.calls == [0, 1, 2, 2, 3]


def test_two_servers_share_one_piece_of_work(home, votes):
    first, second = home(), home()
    counter = held_at(first, votes, 2)
    second.submit(counter.study, votes, SPEC)
    job = second.partial(counter.study, votes.sha256, SPEC)
    assert (job.status, job.done, job.total, job.result) == ("running", 2, 4, Count(10, 20))
    second.wait(counter.study, votes.sha256, SPEC, LONG)
    let_go(first, counter, votes)
    assert second.partial(counter.study, votes.sha256, SPEC) is None
    assert second.result(counter.study, votes.sha256, SPEC).result == Count(20, 20)
    second.submit(counter.study, votes, SPEC)
    assert counter.calls == [0, 1, 2, 3]


def test_work_of_one_server_is_called_off_from_another(home, votes):
    first, second = home(), home()
    counter = held_at(first, votes, 1)
    second.cancel(counter.study, votes.sha256, SPEC)
    assert let_go(first, counter, votes).status == "cancelled"
    job = second.partial(counter.study, votes.sha256, SPEC)
    assert (job.status, job.done, job.result) == ("cancelled", 2, Count(10, 20))
    assert completed(second, counter, votes).result == Count(20, 20)
    assert counter.calls == [0, 1, 2, 3]


def test_what_was_called_off_or_failed_is_known_after_a_restart(home, votes):
    counter = Counter(error=ZeroDivisionError("x"))
    failed = completed(home(), counter, votes)
    again = home().partial(counter.study, votes.sha256, SPEC)
    assert (again.status, again.message, again.result) == ("failed", failed.message, None)


def test_a_server_that_lost_its_lease_leaves_the_work_to_the_other(home, votes, sql):
    """One that stood still for long, and wakes up when another has taken its work over."""
    first, second = home(), home()
    slow = held_at(first, votes, 1)
    ended(sql)
    fast = Counter()
    assert completed(second, fast, votes).result == Count(20, 20)
    assert fast.calls == [1, 2, 3]
    slow.gates[1].set()
    first.close()
    assert slow.calls == [0, 1]
    assert first.partial(slow.study, votes.sha256, SPEC) is None
    assert sql("SELECT count(*) FROM results") == [(1,)]
    assert sql("SELECT count(*) FROM jobs") == [(0,)]


def test_leases_are_renewed_by_the_clock_of_the_database(home, votes, sql):
    space = home()
    counter = held_at(space, votes, 1)
    ended(sql)
    space._ledger.renew()
    assert home().partial(counter.study, votes.sha256, SPEC).status == "running"
    assert let_go(space, counter, votes).status == "done"


def test_a_lease_far_in_the_future_is_none(home, votes, sql):
    """The clock was set back: nobody could wait for its end."""
    first, second = home(), home()
    counter = held_at(first, votes, 1)
    sql("UPDATE jobs SET lease_end = lease_end + 100000")
    assert second.partial(counter.study, votes.sha256, SPEC) is None
    assert let_go(first, counter, votes).status == "done"


def test_work_that_ends_while_the_database_is_asked_has_ended(home, votes, sql, monkeypatch):
    """What the database said just before is no longer so."""
    space = home()
    counter = held_at(space, votes, 1)
    sql("UPDATE jobs SET lease_end = lease_end + 100000")
    find = space._interests.find

    def slow(*asked):
        entry = find(*asked)
        monkeypatch.setattr(space._interests, "find", find)
        counter.gates[1].set()
        assert finish(space, counter.study, votes, SPEC).status == "done"
        return entry

    monkeypatch.setattr(space._interests, "find", slow)
    assert space.partial(counter.study, votes.sha256, SPEC).status == "done"


@pytest.mark.parametrize(
    ("column", "value"),
    [("content", b"x"), ("content", EARLIER_FORM), ("first", 1), ("count", 4), ("chunk", 77)],
    ids=["damaged", "earlier form", "another first split", "fewer splits", "another number"],
)
def test_chunks_that_do_not_fit_are_computed_again(home, votes, sql, column, value):
    space = home()
    counter = held_at(space, votes, 2)
    space.cancel(counter.study, votes.sha256, SPEC)
    assert let_go(space, counter, votes).done == 3
    sql(f"UPDATE partials SET {column} = :value WHERE chunk = 1", value=value)  # noqa: S608
    assert completed(home(), counter, votes).result == Count(20, 20)
    assert counter.calls == [0, 1, 2, 1, 3]


def test_work_that_nobody_took_up_again_is_forgotten(home, votes, sql, monkeypatch):
    space = home()
    counter = held_at(space, votes, 2)
    running = held_at(space, votes, 1, name="running")
    space.cancel(counter.study, votes.sha256, SPEC)
    let_go(space, counter, votes)
    home()
    assert sql("SELECT count(*) FROM partials") == [(4,)]
    monkeypatch.setattr(ledger_module, "KEPT_SECONDS", -1.0)
    home()
    assert sql("SELECT study FROM jobs") == [("running",)]
    assert sql("SELECT count(*) FROM partials") == [(1,)]
    running.gates[1].set()


def test_more_work_than_workers_is_held_by_leases_too(home, votes):
    first, second = home(), home()
    counters = [Counter(f"work {number}") for number in range(3)]
    for counter in counters:
        counter.hold(0)
        first.submit(counter.study, votes, SPEC)
    for counter in counters:
        second.submit(counter.study, votes, SPEC)
        assert second.partial(counter.study, votes.sha256, SPEC).status == "running"
        counter.gates[0].set()
    for counter in counters:
        finish(first, counter.study, votes, SPEC)
        assert counter.calls == [0, 1, 2, 3]


def test_votes_used_by_the_kill_test_are_those_of_the_fixture(votes):
    assert votes.sha256 == make_votes(1, 40, 4).sha256
