"""Label budgets against the loop a user would write: each split, budget and arm by itself.

The loop ranks the judges, weights them as one-coin does, fits betacal's calibrator (a logistic
regression in scikit-learn) and computes the same metrics; it does not remove own labels.
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
from benchmarks.report import Report, Table, cores, say
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.runner import run as run_study
from judgepanel.studies.trust.label_budget import LABEL_BUDGET, LabelBudgetSpec, label_sets, planned

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


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall-clock seconds and CPU seconds."""

    seconds: float
    cpu: float


def run() -> Report:
    """Time the study and the loop in the same run."""
    rows, lines = [], []
    for name, target in TARGETS.items():
        prepared = prepare(real_votes(name), spec().settings)
        budgets = planned(prepared, spec()).budgets
        fits = SPLITS * len(budgets) * 2
        ours, loops = [], []
        for number in range(ROUNDS):
            ours.append(Cost(**measured("benchmarks.budget_speed", job_text(Job(name)))))
            result = plain_loop(prepared.ballots, budgets, seed=number)
            loops.append(Cost(fits * result.seconds, fits * result.cpu))
            say(f"{name}: {ours[-1].seconds:.1f} s, the loop {loops[-1].seconds:.0f} s")
        lines.append(_verdict(name, f"{len(budgets)} budgets", target, ours, loops))
        for number, (own, loop) in enumerate(zip(ours, loops, strict=True), start=1):
            rows.append(
                (
                    name,
                    f"{prepared.ballots.n_items} x {prepared.ballots.n_judges}",
                    str(number),
                    *(f"{value:.1f}" for value in (own.seconds, own.cpu)),
                    *(f"{value:.1f}" for value in (loop.seconds, loop.cpu)),
                    f"{loop.seconds / own.seconds:.1f}",
                    f"{loop.cpu / own.cpu:.1f}",
                )
            )
    note = (
        f"Seconds; each round is ours and then the loop, extrapolated to all fits from {SAMPLE} "
        f"sampled ones. {cores()} cores, which other work may have shared. Ours includes "
        "intervals, bands, joint tests, learning curves and labels needed, and removes own labels "
        "from the scores that calibrate, which for the top 5 ranks the judges again for every item."
    )
    headings = (
        *("votes", "shape", "round", "ours", "its CPU", "plain loop", "its CPU"),
        *("ratio", "CPU ratio"),
    )
    return Report(
        "Label budgets: time",
        f"9 budgets x {SPLITS} splits x {{all, top-{TOP}}} x beta, on 2 workers, against the loop "
        "that a user would write over betacal (a logistic regression of scikit-learn's), refitting "
        "split by split, budget by budget and panel by panel, on one thread.",
        [Table("Paired rounds", headings, rows, note)],
        lines,
    )


def _verdict(name: str, budgets: str, target: float, ours: list[Cost], loops: list[Cost]) -> str:
    fastest = min(cost.seconds for cost in ours)
    ratio = min(loop.seconds for loop in loops) / fastest
    cpu = min(loop.cpu for loop in loops) / min(cost.cpu for cost in ours)
    return (
        f"{budgets} x {SPLITS} splits x 2 panels x beta on {name}: {fastest:.1f} s on 2 workers "
        f"(target {target:.0f} s: {'met' if fastest <= target else 'MISSED'}), {ratio:.1f} times "
        f"faster than the loop, best time against best time; CPU time against CPU time {cpu:.1f}."
    )


def plain_loop(ballots: Ballots, budgets: NDArray[np.int64], *, seed: int) -> Cost:
    """Mean cost of one (split, budget, panel) of the loop, over a seeded sample of them."""
    rng = np.random.default_rng(seed)
    seconds = cpu = 0.0
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(SAMPLE):
            one_split = split(ballots.units, int(rng.integers(SPLITS)))
            rows = label_sets(one_split, ballots.units, budgets, 0)[rng.integers(len(budgets))]
            k = int(rng.choice([TOP, ballots.n_judges]))
            labels = ballots.signs[rows] > 0
            if labels.all() or not labels.any():
                continue
            started, used = time.perf_counter(), time.process_time()
            top, weights = ranked(ballots, rows)
            seen, held = (
                ballots.votes[part][:, top[:k]] @ weights[top[:k]]
                for part in (rows, one_split.evaluation)
            )
            metrics(betacal_map(seen, labels)(held), ballots.signs[one_split.evaluation] > 0)
            seconds += time.perf_counter() - started
            cpu += time.process_time() - used
    return Cost(seconds / SAMPLE, cpu / SAMPLE)


def here(job: Job) -> Cost:
    """Cost of the study in this process, with threads as workers."""
    votes = real_votes(job.real)
    started, used = time.perf_counter(), time.process_time()
    run_study(LABEL_BUDGET, votes, spec(), jobs=job.jobs)
    return Cost(time.perf_counter() - started, time.process_time() - used)


if __name__ == "__main__":
    answer(here(Job(**json.loads(sys.argv[1]))))
