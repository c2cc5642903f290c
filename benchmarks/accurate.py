"""Very accurate panels: do intervals of NLL cover when hardly any wrong decision was observed?"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.report import Report, Table, cores, say
from benchmarks.scenarios import Scenario, draw, part
from judgepanel.arrays import Floats
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.scoring.descriptive import allow_difference, allow_level, between, one_more_error
from judgepanel.scoring.inference import Estimate, estimate
from judgepanel.scoring.metrics import CLIP
from judgepanel.scoring.splits import Split, split
from judgepanel.studies.common import errs_rarely
from judgepanel.studies.contract import Settings, prepare
from judgepanel.votes.simulate import SimulationSpec, simulate

N_DATA_SETS, N_SPLITS = 100, 10
TRUTH_PANELS, TRUTH_ITEMS = 100, 1_500
TOP = 3
CELLS = (
    *(
        (accuracy, n_judges, 100, difficulty)
        for accuracy in (0.85, 0.92, 0.95)
        for n_judges in (5, 9, 20)
        for difficulty in (0.0, 1.0)
    ),
    (0.92, 9, 300, 0.0),
    (0.92, 9, 300, 1.0),
    (0.92, 9, 1_000, 0.0),
    (0.75, 9, 300, 1.0),
)
RECIPE = Recipe("one_coin", ("temperature",))
_TARGET = 0.93
_SEED = 640_000
_LOWEST = -float(np.log(1.0 - CLIP))


@dataclass(frozen=True, slots=True)
class Row:
    """One cell: expected NLL of all judges, and the share of data sets with a warning.

    Coverage and mean width, (2, 3) each, are before and after the correction, for NLL(all), NLL of
    the top judges and their difference.
    """

    cell: tuple[float, int, int, float]
    nll: float
    warned: float
    covered: Floats
    width: Floats


def run() -> Report:
    """Run the benchmark."""
    started = time.monotonic()
    rows: list[Row] = Parallel(n_jobs=cores())(
        delayed(measure)(cell, _SEED + 10_000 * number) for number, cell in enumerate(CELLS)
    )
    before, after = (np.array([row.covered[side] for row in rows]) for side in (0, 1))
    say(f"{len(rows)} cells in {time.monotonic() - started:.0f} s")
    lines = []
    for column, name in enumerate(("NLL(all)", f"NLL(top-{TOP})", "their difference")):
        lowest = float(after[:, column].min())
        lines.append(
            f"{name}: covered in at least {lowest:.0%} of data sets in every cell, "
            f"{float(after[:, column].mean()):.1%} on average (target {_TARGET:.0%}: "
            f"{'met' if lowest >= _TARGET else 'MISSED'}); before {before[:, column].min():.0%}, "
            f"below {_TARGET:.0%} in {int((before[:, column] < _TARGET).sum())} of {len(rows)}."
        )
    headers = ("accuracy", "judges", "items", "difficulty sd", "NLL of all", "warned")
    headers += tuple(
        f"{name}: {what}"
        for name in ("all", f"top-{TOP}", "difference")
        for what in ("held", "width")
    )
    return Report(
        "Accurate panels: do intervals of NLL hold?",
        "Independent judges within .03 of an accuracy (items of one difficulty, or with a standard "
        "deviation of 1 on the logit scale), one-coin and temperature. Before and after intervals "
        "allow for one wrong decision more than was seen, where fewer than 10 were.",
        (
            Table(
                f"{N_DATA_SETS} data sets a row, {N_SPLITS} splits each",
                headers,
                [_shown(row) for row in rows],
                "Shares of data sets whose 95 % interval holds the expected value, before -> "
                "after, and mean widths in nats; warned: all judges decide fewer than 10 wrongly.",
            ),
        ),
        tuple(lines),
    )


def measure(cell: tuple[float, int, int, float], seed: int) -> Row:
    """Coverage and width in one cell; seeds depend only on the cell."""
    accuracy, n_judges, n_items, difficulty = cell
    spec = SimulationSpec(
        n_judges=n_judges,
        accuracies=tuple(np.linspace(accuracy - 0.03, accuracy + 0.03, n_judges).tolist()),
        difficulty_sd=difficulty,
        costs=False,
    )
    with threadpool_limits(1):
        truth = _truth(spec, n_items // 2, seed)
        wanted = np.array([truth[1], truth[0], truth[0] - truth[1]])
        held, widths, warned = [], [], 0
        for number in range(N_DATA_SETS):
            votes = simulate(replace(spec, n_items=n_items, seed=seed + 1 + number))
            prepared = prepare(votes, Settings())
            rare = errs_rarely(prepared)
            warned += rare
            ends = np.array(_intervals(prepared.ballots, rare=rare))
            held.append((ends[..., 0] <= wanted + 1e-9) & (wanted - 1e-9 <= ends[..., 1]))
            widths.append(ends[..., 1] - ends[..., 0])
    return Row(
        cell, float(truth[1]), warned / N_DATA_SETS, np.mean(held, axis=0), np.mean(widths, axis=0)
    )


def _nll(ballots: Ballots, one_split: Split) -> Floats:
    ks = np.array([TOP, ballots.n_judges])
    return evaluate_split(ballots, one_split, ks, RECIPE).evaluation["temperature"].nll


def _truth(spec: SimulationSpec, n_calibration: int, seed: int) -> Floats:
    """Expected NLL (2,) of panels fitted on fresh labels: top judges and all judges."""
    size = n_calibration + TRUTH_ITEMS
    ballots = draw(Scenario("truth", spec), TRUTH_PANELS * size, seed)
    one_split = Split(0, np.arange(n_calibration), np.arange(n_calibration, size))
    means = [
        _nll(part(ballots, slice(start, start + size)), one_split).mean(axis=1)
        for start in range(0, TRUTH_PANELS * size, size)
    ]
    return np.asarray(np.mean(means, axis=0))


def _intervals(ballots: Ballots, *, rare: bool) -> list[list[tuple[float, float]]]:
    """Ends of NLL(all), NLL(top) and their difference, before and after the correction."""
    n = ballots.n_items
    sums, times, means = np.zeros((2, n)), np.zeros(n), []
    for number in range(N_SPLITS):
        one_split = split(ballots.units, number)
        values = _nll(ballots, one_split)
        sums[:, one_split.evaluation] += values
        times[one_split.evaluation] += 1
        means.append(values.mean(axis=1))
    seen = times > 0
    items, splits, units = sums[:, seen] / times[seen], np.array(means), ballots.units[seen]
    level = estimate(items, splits, units, n // 2, n - n // 2)
    gap = estimate(items[:1] - items[1:], splits[:, :1] - splits[:, 1:], units, n // 2, n - n // 2)
    extra = one_more_error(items, units) * rare
    wide = allow_level(level, extra), allow_difference(gap, between(extra[:1], extra[1:]))
    return [_ends(*pair) for pair in ((level, gap), wide)]


def _ends(level: Estimate, gap: Estimate) -> list[tuple[float, float]]:
    lo = np.maximum(level.lo, _LOWEST)
    ends = [(float(lo[arm]), float(level.hi[arm])) for arm in (1, 0)]
    return [*ends, (float(gap.lo[0]), float(gap.hi[0]))]


def _shown(row: Row) -> tuple[str, ...]:
    accuracy, n_judges, n_items, difficulty = row.cell
    cells = [f"{accuracy:.2f}", str(n_judges), str(n_items), f"{difficulty:g}"]
    cells += [f"{row.nll:.4f}", f"{row.warned:.0%}"]
    for column in range(3):
        (held, wide), (was, now) = row.covered[:, column], row.width[:, column]
        cells += [f"{held:.0%} -> {wide:.0%}", f"{was:.3f} -> {now:.3f}"]
    return tuple(cells)
