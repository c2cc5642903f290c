"""The method grid: time on real votes, time and memory on sparse votes."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass

from benchmarks.process import GIB, answer, job_text, measured, peak_bytes
from benchmarks.real import real_votes
from benchmarks.report import Report, Table, cores, say
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run as run_study
from judgepanel.studies.understand.method_grid import METHOD_GRID, MethodGrid, MethodGridSpec
from judgepanel.votes.simulate import SimulationSpec, simulate

TARGET_SECONDS = 30.0
TARGET_GIB = 4.0
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Job:
    """``real`` names a real matrix; without it, sparse votes are simulated."""

    name: str
    splits: int
    real: str | None = None
    form: str = "cross_fitted"
    n_items: int = 30_000
    n_judges: int = 1_800
    votes_per_item: int = 18


@dataclass(frozen=True, slots=True)
class Cost:
    """Shape of the votes, seconds of the study, peak memory of its process in GiB, its answer."""

    n_items: int
    n_judges: int
    missing: float
    seconds: float
    peak: float
    best: str
    nll: float
    null: float


JOBS = (
    Job("llmbar", 20, "llmbar"),
    Job("llmbar, nested", 20, "llmbar", "nested"),
    Job("sentence polarity", 20, "sentpop"),
    Job("mozafari", 20, "mozafari"),
    Job("rewardbench", 2, "rewardbench"),
    Job("simulated", 2),
)


def run() -> Report:
    rows, lines = [], []
    for job in JOBS:
        costs = [measure(job) for _ in range(ROUNDS if job is JOBS[0] else 1)]
        cost = min(costs, key=lambda result: result.seconds)
        say(f"{job.name}: {cost.seconds:.1f} s, {cost.peak:.2f} GiB")
        rows.append(
            (
                job.name,
                f"{cost.n_items} x {cost.n_judges}",
                f"{100 * cost.missing:.0f} %",
                str(job.splits),
                f"{cost.seconds:.1f}",
                f"{cost.peak:.2f}",
                cost.best,
                f"{cost.nll:.3f}",
                f"{cost.null:.3f}",
            )
        )
        if job is JOBS[0]:
            met = "met" if cost.seconds <= TARGET_SECONDS else "MISSED"
            lines.append(
                f"{job.splits} splits on LLMBar with {cores()} workers: {cost.seconds:.1f} s (best "
                f"of {ROUNDS}; target at most {TARGET_SECONDS:.0f} s: {met})."
            )
        if job.name in ("sentence polarity", "simulated"):
            met = "met" if cost.peak <= TARGET_GIB else "MISSED"
            lines.append(
                f"Sparse votes, {job.name}: peak memory {cost.peak:.2f} GiB (target at most "
                f"{TARGET_GIB:.0f} GiB: {met})."
            )
    headings = (
        *("votes", "shape", "missing", "splits", "seconds", "peak GiB"),
        *("lowest cell", "NLL", "null"),
    )
    note = (
        "All ten aggregators under nine calibrators, on all judges, with the cross-validated "
        "choice of a cell; workers are threads. Peak memory is that of the whole process, the "
        "making or reading of the votes included."
    )
    return Report(
        "Method grid: every aggregator and calibrator",
        "How long the grid takes, and what it needs where nearly all votes are missing.",
        [Table("Time and memory", headings, rows, note)],
        lines,
    )


def measure(job: Job) -> Cost:
    """Run a job in a fresh process."""
    return Cost(**measured("benchmarks.methods", job_text(job)))


def here(job: Job) -> Cost:
    """Run a job in this process."""
    if job.real is None:
        votes = simulate(
            SimulationSpec(
                n_items=job.n_items,
                n_judges=job.n_judges,
                votes_per_item=job.votes_per_item,
                costs=False,
            )
        )
    else:
        votes = real_votes(job.real)
    spec = MethodGridSpec(Settings(splits=job.splits), form=job.form)  # type: ignore[arg-type]
    started = time.perf_counter()
    grid: MethodGrid = run_study(METHOD_GRID, votes, spec)
    seconds = time.perf_counter() - started
    a, c = grid.best
    return Cost(
        n_items=votes.n_items,
        n_judges=votes.n_judges,
        missing=float((votes.votes < 0).mean()),
        seconds=seconds,
        peak=peak_bytes() / GIB,
        best=f"{grid.aggregators[a]}, {grid.calibrators[c]}",
        nll=float(grid.nll.value[grid.best]),
        null=grid.null_nll,
    )


if __name__ == "__main__":
    answer(here(Job(**json.loads(sys.argv[1]))))
