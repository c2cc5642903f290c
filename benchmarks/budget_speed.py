"""Label budgets against the loop a user would write: split by split, budget by budget, arm by arm.

The loop ranks the judges, weighs them as one-coin does, fits betacal's calibrator, which is a
logistic regression of scikit-learn's, and computes the same metrics; own labels stay in.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.peers import betacal_map, metrics, ranked
from benchmarks.process import answer, job_text, measured
from benchmarks.real import real_votes
from benchmarks.report import Table, cores, say
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.splits import split
from judgepanel.studies.budget.label_budget import (
    LABEL_BUDGET,
    LabelBudgetSpec,
    label_sets,
    planned,
)
from judgepanel.studies.runner import run as run_study
from judgepanel.studies.settings import Settings, prepare

SPLITS = 200
TOP = 5
SAMPLE = 120
ROUNDS = 3
TARGETS = {"llmbar": 20.0, "rewardbench": 180.0}


@dataclass(frozen=True, slots=True)
class Job:
    real: str
    jobs: int = 2


def spec() -> LabelBudgetSpec:
    """9 budgets x 200 splits x {all, top-5} x beta."""
    return LabelBudgetSpec(Settings(splits=SPLITS), calibrators=("beta",), panels=(TOP,))


def speed() -> tuple[Table, list[str]]:
    """Times of the study and of the loop in the same run."""
    rows, lines = [], []
    for name, target in TARGETS.items():
        prepared = prepare(real_votes(name), spec().settings)
        budgets = planned(prepared, spec()).budgets
        fits = SPLITS * len(budgets) * 2
        ours, loops = [], []
        for number in range(ROUNDS):
            ours.append(measured("benchmarks.budget_speed", job_text(Job(name))))
            loops.append(fits * plain_loop(prepared.ballots, budgets, seed=number))
            say(f"{name}: {ours[-1]:.1f} s, the loop {loops[-1]:.0f} s")
        fastest = min(ours)
        met = "met" if fastest <= target else "MISSED"
        lines.append(
            f"{len(budgets)} budgets x {SPLITS} splits x 2 panels x beta on {name}: {fastest:.1f} "
            f"s on 2 workers (target {target:.0f} s: {met}), {min(loops) / fastest:.0f} times "
            "faster than the loop, best time against best time."
        )
        rows.append(
            (
                name,
                f"{prepared.ballots.n_items} x {prepared.ballots.n_judges}",
                f"{fits:,}",
                " / ".join(f"{one:.1f}" for one in ours),
                " / ".join(f"{one:.0f}" for one in loops),
            )
        )
    note = (
        f"Seconds of {ROUNDS} rounds, each ours and then the loop, extrapolated from {SAMPLE} "
        f"sampled fits; {cores()} cores, which other work may have shared. Ours includes "
        "intervals, bands, joint tests, learning curves and labels needed, and removes own labels "
        "from the scores that calibrate."
    )
    headings = ("votes", "shape", "fits", "ours, 2 workers", "plain loop, 1 thread")
    return Table("Time", headings, rows, note), lines


def plain_loop(ballots: Ballots, budgets: NDArray[np.int64], *, seed: int) -> float:
    """Mean seconds of one (split, budget, panel) of the loop, on a seeded sample of them."""
    rng = np.random.default_rng(seed)
    spent = 0.0
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(SAMPLE):
            one = split(ballots.units, int(rng.integers(SPLITS)))
            rows = label_sets(one, ballots.units, budgets, 0)[rng.integers(len(budgets))]
            k = int(rng.choice([TOP, ballots.n_judges]))
            labels = ballots.signs[rows] > 0
            if labels.all() or not labels.any():
                continue
            started = time.perf_counter()
            top, weights = ranked(ballots, rows)
            seen, held = (
                ballots.votes[part][:, top[:k]] @ weights[top[:k]]
                for part in (rows, one.evaluation)
            )
            metrics(betacal_map(seen, labels)(held), ballots.signs[one.evaluation] > 0)
            spent += time.perf_counter() - started
    return spent / SAMPLE


def here(job: Job) -> float:
    """Seconds of the study in this process."""
    votes = real_votes(job.real)
    started = time.perf_counter()
    run_study(LABEL_BUDGET, votes, spec(), jobs=job.jobs)
    return time.perf_counter() - started


if __name__ == "__main__":
    answer(here(Job(**json.loads(sys.argv[1]))))
