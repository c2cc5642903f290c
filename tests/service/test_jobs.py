"""Jobs: run once, watched, cancelled, continued, found again."""

import contextlib
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from judgepanel.service import jobs as jobs_module
from judgepanel.service import ledger as ledger_module
from judgepanel.service import sql as work_module
from judgepanel.service.basics import ServerProblem
from judgepanel.service.sql import SqlWorkspace
from judgepanel.studies.contract import CHUNK_SPLITS, Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.votes import InputError
from tests.service import counting


def test_work_is_done_once_and_found_after_a_restart(home, votes):
    space = home()
    counter, job = counting.worked(space, votes)
    assert (job.status, job.done, job.total, job.result) == ("done", 4, 4, counting.Count(20, 20))
    for again in (space, home()):
        again.submit(counter.study, votes, counting.SPEC)
        stored = again.result(counter.study, votes.sha256, counting.SPEC)
        assert (stored.result, stored.current) == (counting.Count(20, 20), True)
    assert counter.calls == [0, 1, 2, 3]


def test_the_same_work_submitted_twice_at_once_is_done_once(space, votes):
    counter = counting.Counter()
    counter.hold(0)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: space.submit(counter.study, votes, counting.SPEC), range(16)))
    counting.let_go(space, counter, votes)
    assert counter.calls == [0, 1, 2, 3]


def test_another_spec_is_other_work(space, votes):
    counter = counting.Counter()
    for seed in (0, 1):
        counting.completed(space, counter, votes, counting.CountSpec(Settings(splits=5, seed=seed)))
    assert counter.calls == [0, 0]


def test_nothing_is_known_about_work_never_asked_for(space, votes):
    counter = counting.Counter()
    assert space.result(counter.study, votes.sha256, counting.CountSpec()) is None
    assert space.partial(counter.study, votes.sha256, counting.CountSpec()) is None
    space.cancel(counter.study, votes.sha256, counting.CountSpec())


def called_off_during(number, space, counter, votes, spec):
    """How work ends that is called off while this chunk is computed."""
    counter.hold(number)
    space.submit(counter.study, votes, spec)
    assert counter.started[number].wait(counting.LONG)
    space.cancel(counter.study, votes.sha256, spec)
    counter.gates[number].set()
    return counting.finish(space, counter.study, votes, spec)


def test_cancelled_work_keeps_what_was_done_and_goes_on_from_there(space, votes):
    counter = counting.Counter()
    job = called_off_during(2, space, counter, votes, counting.SPEC)
    assert (job.status, job.done, job.total) == ("cancelled", 3, 4)
    assert job.result.total == 3 * CHUNK_SPLITS
    assert space.result(counter.study, votes.sha256, counting.SPEC) is None
    assert counting.completed(space, counter, votes).status == "done"
    assert counter.calls == [0, 1, 2, 3]


def test_work_that_is_called_off_before_its_turn_computes_nothing(space, votes):
    counter = counting.Counter()
    specs = [counting.CountSpec(Settings(splits=20, seed=seed)) for seed in range(3)]
    counter.hold(0)
    for spec in specs:  # Two run at once; the third waits.
        space.submit(counter.study, votes, spec)
    assert counter.started[0].wait(counting.LONG)
    space.cancel(counter.study, votes.sha256, specs[2])
    job = counting.finish(space, counter.study, votes, specs[2])
    assert (job.status, job.done, job.result) == ("cancelled", 0, None)
    counter.gates[0].set()
    for spec in specs[:2]:
        counting.finish(space, counter.study, votes, spec)
    assert len(counter.calls) == 8


def test_work_asked_for_while_its_end_is_stored_starts_again(space, votes, monkeypatch):
    counter, spec, again = counting.Counter(), counting.CountSpec(), []

    def end(record, *args):
        stored(record, *args)
        again.append(threading.Thread(target=space.submit, args=(counter.study, votes, spec)))
        again[0].start()
        again[0].join(0.2)  # Whoever joins the work that is ending is back by then.

    stored = ledger_module.Ledger.end
    monkeypatch.setattr(ledger_module.Ledger, "end", end)
    counter.hold(1)
    space.submit(counter.study, votes, spec)
    assert counter.started[1].wait(counting.LONG)
    space.cancel(counter.study, votes.sha256, spec)
    counter.gates[1].set()
    for thread in list(space._jobs._threads):
        thread.join(counting.LONG)
    again[0].join(counting.LONG)
    assert counting.finish(space, counter.study, votes, spec).status == "done"
    assert counter.calls == [0, 1, 2, 3]


def test_work_called_off_during_its_last_part_is_done(space, votes):
    counter = counting.Counter()
    assert called_off_during(3, space, counter, votes, counting.SPEC).status == "done"
    assert space.result(counter.study, votes.sha256, counting.SPEC).result == counting.Count(20, 20)


def test_who_waits_is_called_at_the_first_result(space, votes):
    counter = counting.Counter()
    counter.hold(1)
    space.wait(counter.study, votes.sha256, counting.SPEC, counting.LONG)
    space.submit(counter.study, votes, counting.SPEC)
    space.wait(counter.study, votes.sha256, counting.SPEC, counting.LONG)
    job = space.partial(counter.study, votes.sha256, counting.SPEC)
    assert (job.status, job.done, job.result) == ("running", 1, counting.Count(CHUNK_SPLITS, 20))
    assert counting.let_go(space, counter, votes).status == "done"


def test_who_waits_is_not_kept_for_longer_than_asked(space, votes):
    counter = counting.held_at(space, votes, 0)
    space.wait(counter.study, votes.sha256, counting.SPEC, 0.01)
    assert space.partial(counter.study, votes.sha256, counting.SPEC).result is None
    assert counting.let_go(space, counter, votes).status == "done"


def test_a_closed_workspace_leaves_no_thread_not_even_one_that_renews(tmp_path, votes, monkeypatch):
    """One that comes back to the database later finds its connections gone, or leaves one open."""
    before, renewing = set(threading.enumerate()), threading.Event()

    def renew(ledger):
        renewing.set()
        ledger._ended.wait(counting.LONG)
        threading.Event().wait(0.2)  # On its way back from the database.

    monkeypatch.setattr(ledger_module, "LEASE_SECONDS", 0.01)
    monkeypatch.setattr(ledger_module.Ledger, "renew", renew)
    counter = counting.Counter()
    with contextlib.closing(SqlWorkspace(home=tmp_path)) as space:
        space.put_votes(votes)
        space.submit(counter.study, votes, counting.CountSpec())
        assert renewing.wait(counting.LONG)
    assert set(threading.enumerate()) <= before


def test_an_unknown_backend_is_refused_with_those_there_are(url):
    with pytest.raises(ServerProblem, match="'clouds'; it can be loky, threading, dask"):
        SqlWorkspace(url, backend="clouds")


def test_work_in_other_processes_gives_the_same_bits(tmp_path, votes):
    spec = PanelCurveSpec(settings=Settings(splits=10))
    result = []
    for backend in jobs_module.BACKENDS:
        url = f"sqlite:///{tmp_path / backend}.db"
        with contextlib.closing(SqlWorkspace(url, backend=backend)) as space:
            space.put_votes(votes)
            space.submit(PANEL_CURVE, votes, spec)
            assert counting.finish(space, PANEL_CURVE, votes, spec).status == "done"
            result.append(space.result(PANEL_CURVE, votes.sha256, spec).result)
    first, other = result
    pd.testing.assert_frame_equal(first.frame(), other.frame(), check_exact=True)


def test_votes_that_cannot_be_studied_fail_with_their_sentence(space, votes):
    _, job = counting.worked(space, votes, error=InputError("every label is the same", value=1))
    assert (job.status, job.message) == ("failed", "every label is the same (found '1').")


def test_a_mistake_of_ours_fails_without_its_traceback(space, votes, caplog):
    counter, job = counting.worked(space, votes, error=ZeroDivisionError("secret place"))
    assert job.status == "failed"
    assert "log has the details" in job.message
    assert "secret" not in job.message
    assert "Traceback" not in job.message
    assert "secret place" in caplog.text
    counter.error = None
    assert counting.completed(space, counter, votes).status == "done"


def test_a_result_of_an_older_engine_is_shown_as_such_and_can_be_redone(home, votes, monkeypatch):
    counter, _ = counting.worked(home(), votes)
    monkeypatch.setattr(work_module, "ENGINE", work_module.ENGINE + 1)
    newer = home()
    stored = newer.result(counter.study, votes.sha256, counting.SPEC)
    assert (stored.current, stored.engine) == (False, work_module.ENGINE - 1)
    counting.completed(newer, counter, votes)
    assert newer.result(counter.study, votes.sha256, counting.SPEC).current
    assert counter.calls == [0, 1, 2, 3] * 2


ENDS = """
import sys, threading
from pathlib import Path
from judgepanel.service.sql import SqlWorkspace
from tests.helpers import make_votes
from tests.service.counting import Counter, CountSpec

counter, space = Counter(), SqlWorkspace(home=Path(sys.argv[1]))
counter.hold(0)
counter.gates[0].wait = lambda _: threading.Event().wait()
space.put_votes(make_votes(1, 40, 4))
space.submit(counter.study, make_votes(1, 40, 4), CountSpec())
assert counter.started[0].wait(30)
print("ends in the middle of a chunk")
"""


def test_a_server_that_is_told_to_end_does_not_wait_for_its_work(tmp_path, votes):
    command = [sys.executable, "-c", ENDS, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.stdout == "ends in the middle of a chunk\n", result.stderr
    assert result.returncode == 0
    with contextlib.closing(SqlWorkspace(home=tmp_path)) as space:  # No lease is left.
        assert space.partial(counting.Counter().study, votes.sha256, counting.SPEC) is None
