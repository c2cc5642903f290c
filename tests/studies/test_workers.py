"""Worker processes end with the process that started them; what comes next is computed ahead."""

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from joblib.externals.loky import reusable_executor
from threadpoolctl import threadpool_info, threadpool_limits

from judgepanel.studies import accumulate, contract, runner
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import ahead
from judgepanel.votes import VoteMatrix
from tests.helpers import make_votes

ROOT = Path(__file__).resolve().parents[2]
LONG = 30
SERVER = """
import os
from joblib import delayed
from judgepanel.studies import runner

runner.default_jobs = lambda: 2
runner.warm("loky", "json")
print(*set(runner._workers(2, "loky")(delayed(os.getpid)() for _ in range(8))), flush=True)
input()
"""


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text(encoding="ascii").split()[2] != "Z"


def test_workers_end_soon_after_their_server_was_killed():
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as server:
        workers = [int(pid) for pid in server.stdout.readline().split()]
        assert workers
        assert server.pid not in workers
        server.kill()
    pause = threading.Event()
    for _ in range(LONG * 20):
        if not any(is_alive(pid) for pid in workers):
            break
        pause.wait(0.05)
    assert not [pid for pid in workers if is_alive(pid)]


def test_long_work_goes_to_processes_and_short_work_to_threads_with_the_same_bits(monkeypatch):
    asked, ours = [], runner.Parallel

    def parallel(**options):
        asked.append(options["backend"])
        return ours(**options)

    monkeypatch.setattr(runner, "Parallel", parallel)
    votes, spec = make_votes(1, 40, 4), PanelCurveSpec(settings=contract.Settings(splits=15))
    result = []
    for repaid in (0.0, float("inf")):
        monkeypatch.setattr(runner, "_REPAID_SECONDS", repaid)
        result.append(runner.run(PANEL_CURVE, votes, spec, jobs=2, backend=runner.AUTO).frame())
    assert asked == ["loky", "threading"]
    pd.testing.assert_frame_equal(*result, check_exact=True)


def killed_in(number, marker, server, votes, spec, chunk):
    """The chunk of the panel curve; the worker that has it dies, once where there is a marker."""
    if chunk.number == number and os.getpid() != server and not (marker and marker.exists()):
        if marker:
            marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return PANEL_CURVE.run_chunk(votes, spec, chunk)


def test_a_worker_that_is_killed_is_replaced_and_the_bits_are_the_same(tmp_path):
    votes, spec = make_votes(1, 40, 4), PanelCurveSpec(settings=contract.Settings(splits=30))
    dies = partial(killed_in, 2, tmp_path / "killed", os.getpid())
    frames = [
        runner.run(study, votes, spec, jobs=2, backend="loky").frame()
        for study in (replace(PANEL_CURVE, run_chunk=dies), PANEL_CURVE)
    ]
    assert (tmp_path / "killed").exists()
    pd.testing.assert_frame_equal(*frames, check_exact=True)


def test_work_that_kills_every_worker_ends_with_a_sentence(monkeypatch):
    monkeypatch.setattr(runner, "_MOST_DEATHS", 2)
    votes, spec = make_votes(1, 40, 4), PanelCurveSpec(settings=contract.Settings(splits=30))
    deadly = replace(PANEL_CURVE, run_chunk=partial(killed_in, 2, None, os.getpid()))
    chunks = []
    with pytest.raises(runner.WorkersEnded, match="short of memory"):
        runner.run(
            deadly, votes, spec, jobs=2, backend="loky", on_progress=lambda p: chunks.append(p.done)
        )
    assert 1 <= len(chunks) < len(deadly.plan(spec))


def cells_of(votes, spec, chunk):
    return (votes.votes.size,)


def last_of(votes: VoteMatrix, spec: PanelCurveSpec, partial: accumulate.Tally) -> Any:
    return partial


def test_large_votes_reach_workers_where_shared_memory_is_full(tmp_path, monkeypatch):
    full = tmp_path / "full"
    full.touch()  # No folder can be made below a file.
    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(full))
    votes, spec = make_votes(1, 40_000, 30), PanelCurveSpec(settings=contract.Settings(splits=30))
    study = replace(PANEL_CURVE, run_chunk=cells_of, extend=lambda *_: None, merge=last_of)
    assert runner.run(study, votes, spec, jobs=2, backend="loky") == (1_200_000,)


def test_a_study_takes_the_workers_that_were_started_ahead(monkeypatch):
    monkeypatch.setattr(runner, "default_jobs", lambda: 2)
    runner.warm("loky", "json")
    ahead = reusable_executor._executor
    votes, spec = make_votes(1, 40, 4), PanelCurveSpec(settings=contract.Settings(splits=30))
    runner.run(PANEL_CURVE, votes, spec, jobs=2, backend="loky")
    assert ahead is not None
    assert reusable_executor._executor is ahead


def test_an_interrupt_while_workers_start_is_raised_once_they_have_started(monkeypatch):
    started = []
    ours = runner.Parallel

    def parallel(**options):
        def start(work):
            os.kill(os.getpid(), signal.SIGINT)
            results = ours(**options)(work)
            started.append(options["backend"])
            return results

        return start

    monkeypatch.setattr(runner, "Parallel", parallel)
    votes, spec = make_votes(1, 40, 4), PanelCurveSpec(settings=contract.Settings(splits=30))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            runner.run(PANEL_CURVE, votes, spec, jobs=2, backend="loky")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, handler)
    assert started == ["loky"]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def blas_threads():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_who_ends_first_leaves_others_with_one_thread_of_blas():
    votes, spec = make_votes(1, 40, 4), PanelCurveSpec(settings=contract.Settings(splits=10))
    with threadpool_limits(2):
        first, second = (runner.steps(PANEL_CURVE, votes, spec, jobs=1) for _ in range(2))
        next(first)
        next(second)
        first.close()
        assert blas_threads() == {1}
        second.close()
        assert blas_threads() == {2}


def test_results_are_merged_with_one_thread_of_blas():
    votes, spec = make_votes(1, 40, 4), PanelCurveSpec(settings=contract.Settings(splits=10))
    seen = []

    @wraps(PANEL_CURVE.merge)
    def merge(*given):
        seen.append(blas_threads())
        return PANEL_CURVE.merge(*given)

    study = replace(PANEL_CURVE, merge=merge)
    with threadpool_limits(2):
        runner.run(study, votes, spec, jobs=1)
        pieces = {c.number: study.run_chunk(votes, spec, c) for c in study.plan(spec)}
        runner.merged(study, votes, spec, pieces)
    assert seen == [{1}, {1}]


def test_work_in_another_thread_than_the_first_has_one_thread_of_blas_too():
    votes, spec = make_votes(1, 40, 4), PanelCurveSpec(settings=contract.Settings(splits=10))
    seen = []

    def chunk(*given):
        seen.append(blas_threads())
        return PANEL_CURVE.run_chunk(*given)

    study = replace(PANEL_CURVE, run_chunk=chunk)
    with threadpool_limits(2):
        runner.run(study, votes, spec, jobs=1)
        worker = threading.Thread(target=runner.run, args=(study, votes, spec), kwargs={"jobs": 1})
        worker.start()
        worker.join()
        assert blas_threads() == {2}
        runner.run(study, votes, spec, jobs=1)
        assert blas_threads() == {2}
    assert seen == 3 * len(study.plan(spec)) * [{1}]


PATIENCE = 30.0


def test_the_next_item_is_computed_while_one_is_used():
    second = threading.Event()

    def items():
        yield "first"
        second.set()
        yield "second"

    used = ahead(items())
    assert next(used) == "first"
    assert second.wait(PATIENCE)
    assert list(used) == ["second"]


def test_items_come_in_order_and_none_of_none():
    assert list(ahead(iter(range(20)))) == list(range(20))
    assert list(ahead(iter(()))) == []


def test_at_most_one_item_is_computed_ahead():
    begun = []

    def items():
        for number in range(5):
            begun.append(number)
            yield number

    for number in ahead(items()):
        assert begun[-1] <= number + 1


def test_what_goes_wrong_is_raised_where_the_items_are_used():
    def items():
        yield 1
        raise ValueError("no second item")

    used = ahead(items())
    assert next(used) == 1
    with pytest.raises(ValueError, match="no second item"):
        next(used)
