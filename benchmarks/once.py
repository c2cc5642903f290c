"""One study in its own process: time and peak memory, as JSON on stdout."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.process import MIB, answer, job_text, measured, peak_bytes
from benchmarks.real import real_votes
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluation import evaluate_split
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Chunk, Settings, prepare
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run
from judgepanel.votes.simulate import SimulationSpec, simulate


@dataclass(frozen=True, slots=True)
class Job:
    """``real`` names a real matrix; without it, N x K votes are simulated.

    ``study`` is ``panel_curve``, at every k, or ``recommend``. ``whole`` runs the study. Otherwise
    only the work of a plain loop is done: every k of every split is ranked, weighted, calibrated
    and scored, without inner choice of k, intervals or tests.
    """

    real: str | None = None
    n_items: int = 1000
    n_judges: int = 50
    splits: int = 100
    jobs: int = 1
    backend: str = "threading"
    whole: bool = True
    study: str = "panel_curve"


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall-clock seconds of the study, CPU seconds and peak memory (MiB) of this process."""

    seconds: float
    cpu: float
    peak: float


def measure(job: Job) -> Cost:
    """Run a job in a fresh process."""
    return Cost(**measured("benchmarks.once", job_text(job)))


def here(job: Job) -> Cost:
    """Run a job in this process."""
    if job.real is None:
        simulated = SimulationSpec(
            n_items=job.n_items, n_judges=job.n_judges, difficulty_sd=1.0, costs=False
        )
        votes = simulate(simulated)
    else:
        votes = real_votes(job.real)
    settings = Settings(splits=job.splits)
    spec = PanelCurveSpec(settings, ks=())
    started, cpu = time.perf_counter(), time.process_time()
    if job.study == RECOMMEND.name:
        run(RECOMMEND, votes, RecommendSpec(settings), jobs=job.jobs, backend=job.backend)
    elif job.whole:
        run(PANEL_CURVE, votes, spec, jobs=job.jobs, backend=job.backend)
    else:
        ballots = prepare(votes, settings).ballots
        chunks = PANEL_CURVE.plan(spec)
        workers = Parallel(n_jobs=job.jobs, backend=job.backend)
        workers(delayed(_scores)(ballots, spec, chunk) for chunk in chunks)
    seconds, used = time.perf_counter() - started, time.process_time() - cpu
    return Cost(seconds, used, peak_bytes() / MIB)


def _scores(ballots: Ballots, spec: PanelCurveSpec, chunk: Chunk) -> np.ndarray:
    """Means (splits, calibrators, 4, K) of all metrics, for the splits of a chunk."""
    ks = np.arange(1, ballots.n_judges + 1)
    with threadpool_limits(1):
        mappings = [
            evaluate_split(ballots, split(ballots.units, number), ks, spec.recipe).evaluation
            for number in range(chunk.first, chunk.first + chunk.count)
        ]
    return np.array(
        [
            [
                [s.nll.mean(axis=1), s.brier.mean(axis=1), s.hit.mean(axis=1), s.ece]
                for s in scores.values()
            ]
            for scores in mappings
        ]
    )


if __name__ == "__main__":
    answer(here(Job(**json.loads(sys.argv[1]))))
