"""Dawid-Skene against crowd-kit on real votes; time and memory on sparse panels."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from crowdkit.aggregation import DawidSkene as CrowdKit
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.process import GIB, answer, measured, peak_bytes
from benchmarks.real import real_votes
from benchmarks.report import Report, Table, say
from judgepanel.arrays import Floats
from judgepanel.kernels.dawid_skene import dawid_skene
from judgepanel.kernels.prefixes import cross_fitted
from judgepanel.models.aggregators import DawidSkene
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.votes import MISSING, VoteMatrix
from judgepanel.votes.simulate import SimulationSpec, simulate

ROUNDS = 5
TARGET_RATIO = 5.0
TARGET_DIFFERENCE = 1e-4
TARGET_GIB = 4.0
PANEL_SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 1800)
SPARSE = {
    "sentpop": None,
    "simulated": SimulationSpec(n_items=30_000, n_judges=1_800, votes_per_item=18, costs=False),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """One process: shape and missing share of the votes, seconds, accuracy, peak memory in GiB."""

    n_items: int
    n_judges: int
    missing: float
    seconds: float
    steps: int
    accuracy: float
    panels_seconds: float
    peak: float


def run() -> Report:
    compared, lines = _against_crowd_kit()
    costs = {name: _measure(name) for name in SPARSE}
    rows = [
        (
            name,
            f"{cost.n_items} x {cost.n_judges}",
            f"{100 * cost.missing:.1f} %",
            f"{cost.seconds:.2f}",
            str(cost.steps),
            f"{100 * cost.accuracy:.1f} %",
            f"{cost.panels_seconds:.1f}",
            f"{cost.peak:.2f}",
        )
        for name, cost in costs.items()
    ]
    headings = ("votes", "shape", "missing", "fit s", "steps", "accuracy", "panels s", "peak GiB")
    note = (
        "'fit' is the unsupervised estimator on all items, validation included; 'panels' a split's "
        "cross-fitted scores of up to 12 panel sizes (6 fits each). Peak memory is the whole "
        "process, the making or reading of the votes included."
    )
    largest = max(cost.peak for cost in costs.values())
    lines.append(
        f"Sparse panels: peak memory {largest:.2f} GiB (target {TARGET_GIB:.0f} GiB: "
        f"{_met(largest <= TARGET_GIB)})."
    )
    return Report(
        "Dawid-Skene: EM as matrix products against crowd-kit",
        "2985 x 148 real votes (rewardbench), unsupervised maximum likelihood (smoothing 0), both "
        "from the majority vote, BLAS held to one thread; crowd-kit is `DawidSkene(100)`.",
        [compared, Table("Sparse panels", headings, rows, note)],
        lines,
    )


def crowd_kit(answers: pd.DataFrame, tol: float = 1e-5) -> tuple[Floats, int]:
    """P(z = 1) of every item, and the number of steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CrowdKit(100, tol=tol).fit(answers)
    return model.probas_.sort_index()[1].to_numpy(), len(model.loss_history_)


def ours(X: Floats, **options: Any) -> tuple[Floats, int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = DawidSkene(smoothing=0.0, **options).fit(X)
    return model.posterior_, model.n_iter_


def _against_crowd_kit() -> tuple[Table, list[str]]:
    votes = real_votes("rewardbench").votes
    task, worker = np.nonzero(votes != MISSING)
    answers = pd.DataFrame({"task": task, "worker": worker, "label": votes[task, worker]})
    X = _table(votes)
    _, steps = crowd_kit(answers)
    cases = (
        ("as it stops", lambda: crowd_kit(answers), lambda: ours(X, max_iter=steps, tol=0.0)),
        ("as it stops", lambda: crowd_kit(answers), lambda: ours(X)),
        ("all 100 steps", lambda: crowd_kit(answers, tol=-1.0), lambda: ours(X)),
    )
    rows, lines = [], []
    for (name, theirs, mine), what in zip(
        cases, ("same steps", "to convergence", "to convergence"), strict=True
    ):
        (peer, wanted, peer_steps), (fast, result, our_steps), ratio = _paired(theirs, mine)
        difference = float(np.abs(result - wanted).max())
        say(f"crowd-kit {name}, ours {what}: {peer / fast:.0f} times faster")
        rows.append(
            (
                f"{name} ({peer_steps})",
                f"{what} ({our_steps})",
                f"{1e3 * peer:.0f}",
                f"{1e3 * fast:.1f}",
                f"{peer / fast:.0f}",
                f"{ratio:.0f}",
                f"{difference:.0e}",
            )
        )
        if (name, what) == ("as it stops", "to convergence"):
            lines.append(
                f"crowd-kit `DawidSkene(100)` stops after {peer_steps} steps, ours after "
                f"{our_steps}: {peer / fast:.0f} times faster all the same (target "
                f"{TARGET_RATIO:.0f}: {_met(peer / fast >= TARGET_RATIO)}); stopped that early, "
                f"crowd-kit's posteriors are up to {difference:.2f} from the converged ones."
            )
        else:
            good = difference <= TARGET_DIFFERENCE and peer / fast >= TARGET_RATIO
            lines.append(
                f"crowd-kit {name}, ours {what}: {peer / fast:.0f} times faster, posteriors "
                f"differ by at most {difference:.0e} (targets {TARGET_RATIO:.0f} and "
                f"{TARGET_DIFFERENCE:.0e}: {_met(good)})."
            )
    headings = (
        "crowd-kit (steps)",
        "ours (steps)",
        "ms",
        "our ms",
        "ratio",
        "paired",
        "difference",
    )
    note = (
        f"Best of {ROUNDS} alternating rounds each; 'paired' is the median ratio of a round. Ours "
        "is the estimator on a float matrix with NaN, theirs on its table of answers."
    )
    return Table("Against crowd-kit", headings, rows, note), lines


Timed = tuple[float, Floats, int]


def _paired(
    theirs: Callable[[], tuple[Floats, int]], mine: Callable[[], tuple[Floats, int]]
) -> tuple[Timed, Timed, float]:
    """Best time, posteriors and steps of both; the median ratio over rounds."""
    rounds: list[tuple[Timed, Timed]] = []
    with threadpool_limits(1):
        for _ in range(ROUNDS):
            rounds.append((_timed(theirs), _timed(mine)))
    ratio = float(np.median([peer[0] / fast[0] for peer, fast in rounds]))
    return (
        min((p for p, _ in rounds), key=_seconds),
        min((m for _, m in rounds), key=_seconds),
        ratio,
    )


def _timed(work: Callable[[], tuple[Floats, int]]) -> Timed:
    started = time.perf_counter()
    posterior, steps = work()
    return time.perf_counter() - started, posterior, steps


def _seconds(timed: Timed) -> float:
    return timed[0]


def _met(good: bool) -> str:
    return "met" if good else "MISSED"


def _table(votes: NDArray[np.int8]) -> Floats:
    X = votes.astype(np.float64)
    X[votes == MISSING] = np.nan
    return X


def _measure(name: str) -> Cost:
    """Run one sparse panel in a fresh process, so that its peak memory is its own."""
    cost = Cost(**measured("benchmarks.dawid_skene", name))
    say(f"{name}: {cost.seconds:.2f} s, {cost.peak:.2f} GiB")
    return cost


def _here(name: str) -> Cost:
    spec = SPARSE[name]
    votes: VoteMatrix = real_votes(name) if spec is None else simulate(spec)
    with threadpool_limits(1):
        X = _table(votes.votes)
        started = time.perf_counter()
        model = DawidSkene().fit(X)
        seconds = time.perf_counter() - started
        accuracy = float(np.mean((model.posterior_ >= 0.5) == (votes.labels == 1)))
        del X
        ballots = prepare(votes, Settings()).ballots
        ks = np.array([k for k in PANEL_SIZES if k < ballots.n_judges] + [ballots.n_judges])
        started = time.perf_counter()
        cross_fitted(
            ballots,
            split(ballots.units, 0),
            ks,
            dawid_skene,
            ranking="accuracy",
            own_label="removed",
            seed=0,
            key=(0, 4),
        )
        panels = time.perf_counter() - started
    missing = float(np.mean(votes.votes == MISSING))
    return Cost(
        n_items=votes.n_items,
        n_judges=votes.n_judges,
        missing=missing,
        seconds=seconds,
        steps=model.n_iter_,
        accuracy=accuracy,
        panels_seconds=panels,
        peak=peak_bytes() / GIB,
    )


if __name__ == "__main__":
    answer(_here(sys.argv[1]))
