"""Does the interval of delta cover? Coverage, width and verdicts in simulated worlds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import stats
from threadpoolctl import threadpool_limits

from benchmarks.controls import controls
from benchmarks.report import Report, Table, cores, say
from benchmarks.scenarios import (
    N_ITEMS,
    N_SPLITS,
    SCENARIOS,
    DataSet,
    Scenario,
    analyse,
    draw,
    expected_delta,
    part,
)
from judgepanel.arrays import Floats
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.inference import MARGIN, Estimate, estimate, verdict
from judgepanel.scoring.splits import Sides
from judgepanel.studies.contract import FEWEST, LOOKS, same_verdicts

Interval = tuple[float, float]

N_DATA_SETS = 1_000
N_CALIBRATION = (20, 40, 100, 200)
TRUTH_REPEATS = 6_000
TRUTH_ITEMS = 500
RESAMPLES = 1_000
_CHUNK = 50
_TARGET = 0.93
_WIDEST = 1.3
_MARGINS = (5, 9)
_SPREAD = "true spread"
_AUTO = "ours, auto"
_LOOKS = tuple(n for n in LOOKS if n >= FEWEST)


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One scenario with one number of calibration labels.

    ``settled`` are the data sets with as many splits as `auto` takes.
    """

    scenario: Scenario
    n_calibration: int
    truth: float
    truth_error: float
    data_sets: Sequence[DataSet]
    settled: Sequence[DataSet]

    def of(self, name: str) -> Sequence[DataSet]:
        """The data sets to which a method is applied."""
        return self.settled if name == _AUTO else self.data_sets


def ours(data: DataSet, n_calibration: int) -> Interval:
    """The interval on which decisions rest."""
    return _ends(_estimated(data, n_calibration, data.sides))


def roles_unknown(data: DataSet, n_calibration: int) -> Interval:
    """The same if it were not known which items calibrated."""
    return _ends(_estimated(data, n_calibration, None))


def nadeau_bengio(data: DataSet, n_calibration: int) -> Interval:
    """Corrected resampled t interval: s^2 (1/S + n_eval/n_cal), S - 1 degrees of freedom."""
    reuse = 1.0 / N_SPLITS + (N_ITEMS - n_calibration) / n_calibration
    se = float(np.sqrt(data.split_means.var(ddof=1) * reuse))
    return _around(float(data.split_means.mean()), se, N_SPLITS - 1)


def item_level(data: DataSet, _n_calibration: int) -> Interval:
    """Items as the only sample: the clustered standard error of the mean over items."""
    value = float(data.item_means.mean())
    sums = np.bincount(data.units, weights=data.item_means - value)
    n_units = len(sums)
    se = float(np.sqrt((sums @ sums) * n_units / (n_units - 1))) / len(data.item_means)
    return _around(value, se, n_units - 1)


def split_bootstrap(data: DataSet, _n_calibration: int) -> Interval:
    """The paper's interval: percentiles of the mean over resampled splits."""
    rng = np.random.default_rng(0)
    picks = rng.integers(0, N_SPLITS, (RESAMPLES, N_SPLITS))
    lo, hi = np.quantile(data.split_means[picks].mean(axis=1), (0.025, 0.975))
    return float(lo), float(hi)


METHODS: dict[str, Callable[[DataSet, int], Interval]] = {
    "ours": ours,
    _AUTO: ours,
    "roles unknown": roles_unknown,
    "Nadeau-Bengio": nadeau_bengio,
    "items only": item_level,
    "split bootstrap (paper)": split_bootstrap,
}


POWER = ("ours", _AUTO, "roles unknown", _SPREAD)


def run(data_sets: int = N_DATA_SETS) -> Report:
    started = time.monotonic()
    cells = []
    with Parallel(n_jobs=cores()) as parallel:
        for scenario in SCENARIOS:
            for n_calibration in N_CALIBRATION:
                cells.append(simulate_cell(scenario, n_calibration, parallel, data_sets))
                say(f"{scenario.name}, {n_calibration} labels: {time.monotonic() - started:.0f} s")
    return report(cells, time.monotonic() - started)


def simulate_cell(
    scenario: Scenario, n_calibration: int, parallel: Parallel, data_sets: int
) -> Cell:
    """The first of 1,000 data sets and the truth; seeds depend only on the cell."""
    seed = 1_000_000 * (1 + SCENARIOS.index(scenario)) + 1_000 * n_calibration
    firsts = range(0, data_sets, _CHUNK)
    repeats = TRUTH_REPEATS // len(firsts)
    pieces = parallel(
        delayed(_chunk)(scenario, n_calibration, seed + number, repeats)
        for number in range(len(firsts))
    )
    pairs = [pair for result, _, _ in pieces for pair in result]
    truths = np.array([truth for _, truth, _ in pieces])
    errors = np.array([error for _, _, error in pieces])
    error = float(np.sqrt((errors**2).sum())) / len(errors)
    fixed, settled = zip(*pairs, strict=True)
    return Cell(scenario, n_calibration, float(truths.mean()), error, fixed, settled)


def _chunk(
    scenario: Scenario, n_calibration: int, seed: int, repeats: int
) -> tuple[list[tuple[DataSet, DataSet]], float, float]:
    with threadpool_limits(1):
        ballots = draw(scenario, _CHUNK * N_ITEMS, 2 * seed)
        data_sets = [
            _both(scenario, part(ballots, slice(i, i + N_ITEMS)), n_calibration)
            for i in range(0, _CHUNK * N_ITEMS, N_ITEMS)
        ]
        truth, error = expected_delta(
            scenario, n_calibration, repeats=repeats, n_evaluation=TRUTH_ITEMS, seed=2 * seed + 1
        )
    return data_sets, truth, error


def _both(scenario: Scenario, ballots: Ballots, n_calibration: int) -> tuple[DataSet, DataSet]:
    """A data set with ``N_SPLITS`` splits, and with as many as `auto` takes."""
    fixed: DataSet | None = None
    settled: DataSet | None = None
    for data in analyse(scenario, ballots, n_calibration, sorted({N_SPLITS, *_LOOKS})):
        n_splits = len(data.split_means)
        if n_splits == N_SPLITS:
            fixed = data
        if settled is None and n_splits in _LOOKS:
            fitted = _estimated(data, n_calibration, data.sides)
            if n_splits == _LOOKS[-1] or same_verdicts(fitted, data.nll):
                settled = data
        if fixed is not None and settled is not None:
            break
    assert fixed is not None
    assert settled is not None
    return fixed, settled


def report(cells: Sequence[Cell], seconds: float) -> Report:
    rows, equal = [], []
    shares: dict[str, list[float]] = {"ours": [], _AUTO: []}
    widths: dict[str, list[float]] = {name: [] for name in METHODS}
    for cell in cells:
        values = np.array([data.split_means.mean() for data in cell.data_sets])
        spread = float(values.std(ddof=1))
        for name, method in METHODS.items():
            result = np.array([method(data, cell.n_calibration) for data in cell.of(name)])
            widths[name].append(_width(result) / (2 * 1.96 * spread))
            rows.append(_coverage_row(cell, name, result, widths[name][-1]))
            if name in shares:
                shares[name].append(float(_covered(result, cell.truth).mean()))
            if cell.scenario.halves:
                equal.append(_verdict_row(cell, name, result))
    worst, wide = min(min(each) for each in shares.values()), float(np.mean(widths["ours"]))
    most = max(float(row[3].rstrip("%")) for row in equal if row[2] in shares)
    n_splits = np.concatenate([[len(data.split_means) for data in cell.settled] for cell in cells])
    controlled, as_expected = controls()
    return Report(
        "Inference: does the interval of delta hold?",
        "Data sets of 400 items, 12 judges, 40 splits, one-coin and temperature: the top 3 against "
        "all judges, or (equal arms) one half of exchangeable judges against the other. The truth "
        "is the expected delta of panels fitted on as many fresh labels, judged on fresh items.",
        [
            Table(
                f"Coverage of 95 % intervals, {len(cells[0].data_sets):,} data sets a row",
                (
                    *("scenario", "labels", "interval", "covers", "95 % limits", "width / ideal"),
                    *("truth", "its error"),
                ),
                rows,
                "Width is the mean width over 2 x 1.96 x the spread of the estimate over data "
                "sets; 95 % limits are Clopper-Pearson's for the share of data sets; the truth's "
                "error is the Monte Carlo standard error (0 where it is known).",
            ),
            Table(
                "Equal arms: how often is something decided?",
                ("scenario", "labels", "interval", "keep or curate", "interval without 0"),
                equal,
                f"Verdicts against a margin of {MARGIN:.0%} of the NLL; at most 5 % may decide.",
            ),
            Table(
                "Power: how often is a true difference decided?",
                ("interval", "width / ideal", *(f"{m} margins" for m in _MARGINS)),
                [_power_row(cells, name, widths.get(name, [])) for name in POWER],
                "Mean over all rows of the first table, with every interval moved so that the "
                f"truth is that many margins of {MARGIN:.0%} of the NLL; decided is 'keep all'. "
                "The last row has the spread of the estimate over data sets, which nobody knows.",
            ),
            controlled,
        ],
        (
            f"Smallest coverage of ours over {len(cells)} cells, with {N_SPLITS} splits or as many "
            f"as `auto` takes: {worst:.1%} "
            f"(target at least {_TARGET:.0%}: {'met' if worst >= _TARGET else 'MISSED'}).",
            f"Mean width of ours: {wide:.2f} x ideal "
            f"(target at most {_WIDEST}: {'met' if wide <= _WIDEST else 'MISSED'}).",
            f"Most keep or curate verdicts of ours with equal arms: {most:.1f}% "
            f"(target at most 5%: {'met' if most <= 5 else 'MISSED'}).",
            f"Splits that `auto` takes: {n_splits.mean():.0f} on average, "
            f"{(n_splits == _LOOKS[0]).mean():.0%} end after {_LOOKS[0]}, "
            f"{(n_splits == _LOOKS[-1]).mean():.0%} take {_LOOKS[-1]}.",
            f"Real controls: {'all as expected' if as_expected else 'NOT as expected'}.",
            f"Simulated in {seconds / 60:.1f} minutes.",
        ),
    )


def _estimated(data: DataSet, n_calibration: int, sides: Sides | None) -> Estimate:
    return estimate(
        data.item_means[None],
        data.split_means[:, None],
        data.units,
        n_calibration,
        N_ITEMS - n_calibration,
        sides=sides,
        joint=False,
    )


def _ends(fitted: Estimate) -> Interval:
    return float(fitted.lo[0]), float(fitted.hi[0])


def _around(value: float, se: float, df: int) -> Interval:
    reach = float(stats.t.ppf(0.975, df)) * se
    return value - reach, value + reach


def _covered(result: Floats, truth: float) -> NDArray[np.bool_]:
    return np.asarray((result[:, 0] <= truth) & (truth <= result[:, 1]))


def _width(result: Floats) -> float:
    return float((result[:, 1] - result[:, 0]).mean())


def _coverage_row(cell: Cell, name: str, result: Floats, width: float) -> tuple[str, ...]:
    covered = _covered(result, cell.truth)
    limits = stats.binomtest(int(covered.sum()), len(covered)).proportion_ci()
    return (
        cell.scenario.name,
        str(cell.n_calibration),
        name,
        f"{covered.mean():.1%}",
        f"{limits.low:.1%} to {limits.high:.1%}",
        f"{width:.2f}",
        f"{cell.truth:+.4f}",
        f"{cell.truth_error:.4f}",
    )


def _power_row(cells: Sequence[Cell], name: str, widths: Sequence[float]) -> tuple[str, ...]:
    shares = [[_decided(cell, name, margins) for cell in cells] for margins in _MARGINS]
    width = "1.00" if name == _SPREAD else f"{np.mean(widths):.2f}"
    return (name, width, *(f"{np.mean(share):.0%}" for share in shares))


def _decided(cell: Cell, name: str, margins: int) -> float:
    """Share of data sets whose interval says 'keep all' if the truth is ``margins`` margins."""
    nll = np.array([data.nll for data in cell.of(name)])
    if name == _SPREAD:
        values = np.array([data.split_means.mean() for data in cell.data_sets])
        lo = values - 1.96 * values.std(ddof=1)
    else:
        lo = np.array([METHODS[name](data, cell.n_calibration)[0] for data in cell.of(name)])
    return float((lo - cell.truth + margins * MARGIN * nll > MARGIN * nll).mean())


def _verdict_row(cell: Cell, name: str, result: Floats) -> tuple[str, ...]:
    decided = np.mean(
        [
            verdict(lo, hi, MARGIN * data.nll) in ("keep all", "curate")
            for (lo, hi), data in zip(result.tolist(), cell.of(name), strict=True)
        ]
    )
    outside = 1.0 - _covered(result, 0.0).mean()
    return (
        cell.scenario.name,
        str(cell.n_calibration),
        name,
        f"{decided:.1%}",
        f"{outside:.1%}",
    )
