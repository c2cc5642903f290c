"""Chunks on the workers of a Dask scheduler: the same bits as one process, even after kills."""

import os
import signal
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest

from judgepanel.studies import runner
from judgepanel.studies import runner as cluster
from judgepanel.studies.contract import Cancelled, Gate, Settings, WorkersEnded
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.votes import InputError
from tests.dask_cluster import dask_cluster
from tests.helpers import make_votes

VOTES, SPEC = make_votes(1, 60, 5), PanelCurveSpec(settings=Settings(splits=60))


@pytest.fixture(scope="module")
def here():
    return runner.run(PANEL_CURVE, VOTES, SPEC, jobs=1).frame()


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A busy machine starts a scheduler late."""
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 120.0)
    monkeypatch.setattr(cluster, "RETURN_SECONDS", 120.0)


@pytest.fixture
def dask(tmp_path):
    with dask_cluster(tmp_path) as started:
        yield started


def spread(address, *, on_progress=lambda _: None, study=PANEL_CURVE):
    return runner.run(study, VOTES, SPEC, backend=address, on_progress=on_progress).frame()


def at(number, action):
    """Do something once, after so many chunks."""
    return lambda progress: action() if progress.done == number else None


def test_workers_of_a_cluster_give_the_same_bits_also_when_one_is_killed(dask, here):
    pd.testing.assert_frame_equal(spread(dask.address), here, check_exact=True)
    killing = at(3, dask.kill_worker)
    pd.testing.assert_frame_equal(spread(dask.address, on_progress=killing), here, check_exact=True)
    assert len(dask.workers) == 1


def test_as_many_splits_as_the_answer_needs_are_the_same_on_a_cluster_that_loses_a_worker(dask):
    spec = PanelCurveSpec(settings=Settings(splits=None))
    here = runner.run(PANEL_CURVE, VOTES, spec, jobs=1)
    killing = at(3, dask.kill_worker)
    there = runner.run(PANEL_CURVE, VOTES, spec, backend=dask.address, on_progress=killing)
    assert len(dask.workers) == 1
    assert there.n_splits == here.n_splits == there.planned_splits
    pd.testing.assert_frame_equal(there.frame(), here.frame(), check_exact=True)


def test_a_scheduler_that_is_started_again_takes_up_what_is_left(dask, here):
    def restart():
        dask.stop()
        dask.start()

    after = spread(dask.address, on_progress=at(4, restart))
    pd.testing.assert_frame_equal(after, here, check_exact=True)


class Closing(Gate):
    """Closed after three chunks until it is waited for, or called off then."""

    def __init__(self, *, call_off: bool) -> None:
        self.call_off, self.n_done, self.closed, self.open_again = call_off, 0, 0, False

    def is_open(self) -> bool:
        shut = self.n_done >= 3 and not self.open_again
        self.closed += shut
        return not shut

    def wait(self) -> None:
        self.open_again = self.n_done >= 3

    def cancelled(self) -> bool:
        return self.call_off and self.n_done >= 3


@pytest.mark.parametrize("call_off", [False, True])
def test_work_pauses_and_is_called_off_between_its_chunks(dask, here, call_off):
    gate, frames = Closing(call_off=call_off), []
    states = runner.steps(PANEL_CURVE, VOTES, SPEC, backend=dask.address, gate=gate)
    with pytest.raises(Cancelled) if call_off else nullcontext():
        for progress in states:
            gate.n_done = progress.done
            frames.append(progress.result().frame())
    if call_off:
        assert len(frames) == 3
    else:
        assert gate.closed
        pd.testing.assert_frame_equal(frames[-1], here, check_exact=True)


def killed(client, votes, spec, chunk):
    if chunk.number == 2 and os.getpid() != client:
        os.kill(os.getpid(), signal.SIGKILL)
    return PANEL_CURVE.run_chunk(votes, spec, chunk)


def test_a_chunk_that_ends_its_workers_ends_the_run_with_a_sentence(tmp_path):
    deadly = replace(PANEL_CURVE, run_chunk=partial(killed, os.getpid()))
    with (
        dask_cluster(tmp_path, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as started,
        pytest.raises(WorkersEnded, match="ended again and again: they may be short of memory"),
    ):
        spread(started.address, study=deadly)


def test_a_cluster_that_loses_all_workers_ends_the_run_with_a_sentence(dask, monkeypatch):
    def lose_all():
        monkeypatch.setattr(cluster, "RETURN_SECONDS", 2.0)
        dask.kill_worker()
        dask.kill_worker()

    with pytest.raises(InputError, match=r"has no workers .*; start one with: dask worker tcp://"):
        spread(dask.address, on_progress=at(2, lose_all))


def test_no_scheduler_is_a_sentence(monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(InputError, match=r"no Dask scheduler answers .*tcp://127\.0\.0\.1:9"):
        spread("tcp://127.0.0.1:9")


def versions(python="3.11.7.final.0", **packages):
    own = dict.fromkeys(("judgepanel", "numpy", "scipy", "numba", "sklearn", "pandas"), "1.2")
    return {"packages": {"python": python, **own, **packages}}


@pytest.mark.parametrize(
    ("theirs", "sentence"),
    [
        (versions(numpy="1.1"), "tcp://w of the Dask scheduler tcp://s has numpy 1.1; allowed: "),
        (versions(judgepanel=None), "lacks judgepanel; allowed: judgepanel 1.2, as here; install"),
        (versions(python="3.12.1.final.0"), "has Python 3.12; allowed: Python 3.11, as here"),
    ],
)
def test_workers_with_other_versions_are_refused(theirs, sentence):
    known = {"client": versions(), "workers": {"tcp://v": versions(), "tcp://w": theirs}}
    with pytest.raises(InputError) as caught:
        cluster._check_versions(known, "tcp://s")
    assert sentence in str(caught.value)
    cluster._check_versions({**known, "workers": {"v": versions("3.11.2.final.0")}}, "tcp://s")


def test_a_worker_of_another_engine_that_came_later_computes_nothing():
    with pytest.raises(InputError, match="a Dask worker has engine"):
        cluster._checked(-1, lambda: pytest.fail("it ran"))


@pytest.mark.parametrize(
    ("name", "scheduler", "sentence"),
    [
        ("dask", None, "needs the address of a scheduler; allowed: tcp://host:port or tls://"),
        ("dask", "host:8786", "needs the address of a scheduler (found 'host:8786')"),
        ("dask", "http://host:8786", "needs the address of a scheduler (found 'http://"),
        ("loky", "tcp://host:8786", "a scheduler is only for the backend dask"),
        ("clouds", None, "there is no such backend (found 'clouds'); allowed: auto, loky"),
    ],
)
def test_a_backend_that_cannot_be_is_refused(name, scheduler, sentence):
    with pytest.raises(InputError) as caught:
        cluster.backend_of(name, scheduler, runner.BACKENDS)
    assert sentence in str(caught.value)
