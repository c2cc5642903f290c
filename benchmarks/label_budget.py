"""Label budgets: size and power of the joint test, coverage of the intervals."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import stats
from threadpoolctl import threadpool_limits

from benchmarks.budget_worlds import (
    APART,
    BUDGETS,
    CURVES,
    EQUAL,
    GRID,
    N_ITEMS,
    Analyst,
    check,
    data_sets,
    expected_levels,
)
from benchmarks.report import Report, Table, cores, say
from benchmarks.scenarios import Scenario
from judgepanel.arrays import Floats
from judgepanel.scoring.descriptive import first_reached
from judgepanel.studies.trust.label_budget import NEXT, LabelBudget

T = TypeVar("T")

SPLITS = 20
MANY_SPLITS = 200
N_EQUAL = 1_000
N_MANY = 200
N_APART = 300
N_CURVES = 1_000
TRUTH_REPEATS = 2_000
TARGET_SIZE = 0.065
ALPHA = 0.05
_CHUNK = 25


def run() -> Report:
    started = time.monotonic()
    check(CURVES[1], next(data_sets(CURVES[1], 1, seed=0)))
    tests, largest, paper = test_table()
    covered, lowest = coverage_table()
    minutes = (time.monotonic() - started) / 60
    return Report(
        "Label budgets: size, power, coverage",
        f"Data sets of {N_ITEMS} items and 12 judges, one-coin and temperature, budgets "
        f"{', '.join(map(str, BUDGETS.tolist()))}, {SPLITS} splits unless said. Every data set is "
        "analysed by the code of the study.",
        [tests, covered],
        (
            f"Largest size of the max-t joint test with equal arms: {largest:.1%} (target at most "
            f"{TARGET_SIZE:.1%}: {'met' if largest <= TARGET_SIZE else 'MISSED'}).",
            f"The paper's test on the same data sets rejects equal arms in {paper[0]:.0%} to "
            f"{paper[1]:.0%} of them; its size grows with the number of splits.",
            f"Smallest coverage of the simultaneous band and of labels needed: {lowest:.1%}.",
            f"Simulated in {minutes:.1f} minutes.",
        ),
    )


def chunked(work: Callable[[int, int], list[T]], n: int) -> list[T]:
    """``work(count, seed)`` in pieces over all cores; seeds depend only on the piece."""
    with Parallel(n_jobs=cores()) as parallel:
        pieces = parallel(
            delayed(_quiet)(work, min(_CHUNK, n - first), number)
            for number, first in enumerate(range(0, n, _CHUNK))
        )
    return [entry for piece in pieces for entry in piece]


def _quiet(work: Callable[[int, int], list[T]], count: int, seed: int) -> list[T]:
    with threadpool_limits(1):
        return work(count, seed)


def p_values(world: Scenario, n: int, splits: int, seed: int) -> Floats:
    """Joint p-values (n, 2) of every data set: ours and the paper's."""

    def work(count: int, piece: int) -> list[tuple[float, float]]:
        analyst = Analyst.with_splits(splits)
        result = [
            analyst.scores(world, ballots)
            for ballots in data_sets(world, count, seed=10_000 * seed + piece)
        ]
        return [(float(entry.joint_p[0, 0]), float(entry.paper_p[0, 0])) for entry in result]

    return np.array(chunked(work, n))


def test_table() -> tuple[Table, float, tuple[float, float]]:
    """Size with equal arms and power with unequal arms, for both tests."""
    runs = [("equal", world, N_EQUAL, SPLITS) for world in EQUAL]
    runs += [("equal", EQUAL[0], N_MANY, MANY_SPLITS)]
    runs += [("differ", world, N_APART, SPLITS) for world in APART]
    rows, sizes, papers = [], [], []
    for seed, (arms, world, n, splits) in enumerate(runs):
        rejected = (p_values(world, n, splits, seed) < ALPHA).mean(axis=0)
        if arms == "equal":
            papers.append(float(rejected[1]))
            sizes += [float(rejected[0])] * (n == N_EQUAL)
        rows.append(
            (
                arms,
                world.name,
                f"{n:,}",
                str(splits),
                *(f"{share:.1%} {_limits(share, n)}" for share in rejected.tolist()),
            )
        )
        say(f"{arms}, {world.name}, {splits} splits: ours {rejected[0]:.1%}")
    return (
        Table(
            f"How often the joint p is below {ALPHA:g}",
            ("arms", "world", "data sets", "splits", "max-t on our variance", "paper's (invalid)"),
            rows,
            "Equal arms are two halves of exchangeable judges, each ranked, weighted and "
            "calibrated on its own votes: they differ on every data set and in expectation not at "
            "all. Brackets: Clopper-Pearson 95 %. The paper's test takes splits for independent "
            "samples, so it finds equal arms different the more often, the more splits there are.",
        ),
        max(sizes),
        (min(papers), max(papers)),
    )


def truths(world: Scenario, seed: int) -> tuple[Floats, Floats]:
    """Expected NLL (2, len(GRID)) of both arms, and its Monte Carlo error."""

    def work(count: int, piece: int) -> list[Floats]:
        return list(expected_levels(world, count, seed=900_000 + 10_000 * seed + piece))

    result = np.array(chunked(work, TRUTH_REPEATS))
    return result.mean(axis=0), result.std(axis=0, ddof=1) / np.sqrt(len(result))


def readings(world: Scenario, n: int, target: float, seed: int) -> list[LabelBudget]:
    """The study's results for ``n`` data sets."""

    def work(count: int, piece: int) -> list[LabelBudget]:
        analyst = Analyst.with_splits(SPLITS)
        return [
            analyst.reading(world, ballots, target)
            for ballots in data_sets(world, count, seed=500_000 + 10_000 * seed + piece)
        ]

    return chunked(work, n)


def coverage_table() -> tuple[Table, float]:
    """How often intervals cover the truth in worlds with known learning curves."""
    rows, lowest = [], 1.0
    for seed, world in enumerate(CURVES):
        truth, error = truths(world, seed)
        tried = BUDGETS[-1] >= GRID
        curve = truth[1, tried]
        goal = 1.05 * curve[-1]
        target = float(truth[1, GRID == 43][0])
        results = readings(world, N_CURVES, target, seed)
        shares = coverage(results, truth, _reached(GRID[tried], curve, goal))
        lowest = min(lowest, *(shares[name] for name in _PROMISED))
        rows.append(
            (
                world.name,
                f"{truth[1, 0]:.3f} to {curve[-1]:.3f}",
                f"{error.max():.4f}",
                *(f"{shares[name]:.1%}" for name in _PROMISED),
                f"{shares['gain']:.1%}",
            )
        )
        say(f"coverage, {world.name}: {shares}")
    note = (
        f"{N_CURVES} data sets a row. The truth is the expected NLL of panels fitted on that many "
        "fresh labels, on fresh items; its error is the Monte Carlo standard error. Labels needed "
        "are read off the true curve between 20 and 80 labels, within 5 % of the NLL at 80, and "
        f"at the NLL of 43. The last column is the fall of the true curve from {N_ITEMS} to "
        f"{N_ITEMS + NEXT} labels, which the study extrapolates from 80: no coverage is promised."
    )
    headings = (
        *("world", "NLL of all, 20 to 80 labels", "its error"),
        *("band of the difference", "labels to the plateau", "labels to a target"),
        f"next {NEXT} labels",
    )
    return Table("Coverage of 95 % intervals", headings, rows, note), lowest


_PROMISED = ("band", "plateau", "target")


def coverage(results: Sequence[LabelBudget], truth: Floats, plateau: float) -> dict[str, float]:
    """Share of data sets whose intervals cover the quantity that they estimate."""
    at = np.isin(GRID, BUDGETS)
    gap = truth[0, at] - truth[1, at]
    gain = truth[1, GRID == N_ITEMS] - truth[1, GRID == N_ITEMS + NEXT]
    needed = {"plateau": plateau, "target": 43.0}
    held: dict[str, list[bool]] = {"band": [], "gain": [], **{kind: [] for kind in needed}}
    for result in results:
        band, price = result.band[0, 0], result.gain[0, 1, -1]
        held["band"].append(bool(((band.lo <= gap) & (gap <= band.hi)).all()))
        held["gain"].append(bool(price.lo <= gain[0] <= price.hi))
        for kind, n in needed.items():
            need = result.needed_for("temperature", result.arms[-1], kind)
            if need is None:
                raise RuntimeError("labels needed are missing")
            _, lo, hi = need.n
            held[kind].append(bool(lo <= n <= (hi if np.isfinite(hi) else np.inf)))
    return {name: float(np.mean(values)) for name, values in held.items()}


def _reached(grid: NDArray[np.int64], curve: Floats, goal: float) -> float:
    return float(first_reached(grid.astype(np.float64), curve[None], np.array([goal]))[0])


def _limits(share: float, n: int) -> str:
    result = stats.binomtest(round(share * n), n).proportion_ci()
    return f"[{result.low:.1%}, {result.high:.1%}]"
