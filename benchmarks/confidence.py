"""Do the figures of Confidence hold? Intervals, chance levels and conformal promises, simulated."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from threadpoolctl import threadpool_limits

from benchmarks.report import Report, Table, cores, say
from benchmarks.scenarios import SCENARIOS, Scenario
from judgepanel.arrays import Floats
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Chunk, Settings
from judgepanel.studies.trust import conformal, reliability, selective
from judgepanel.studies.trust.probabilities import OutOfSample, evaluations
from judgepanel.votes import VoteMatrix
from judgepanel.votes.simulate import simulate

N_DATA_SETS = 120
N_STATED = 300
SPLITS = 20
N_FRESH = 2_000
CELLS = ((0, 400), (1, 400), (2, 400), (0, 120))
STATED_SIZES = ((100, 1), (400, 1), (400, 4))
LEVELS = (0.8, 0.9)
_CHUNK = 10
_TARGET = 0.93
_SETS = "held by 90 % sets"
_ASKED = 4  # The bin around 90 %.


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Values and interval ends of one quantity over data sets, (n,) each."""

    name: str
    value: Floats
    lo: Floats
    hi: Floats


def run() -> Report:
    started = time.monotonic()
    stated, sizes, worlds, promises = [], [], [], []
    with Parallel(n_jobs=cores()) as parallel:
        for n, per_unit in STATED_SIZES:
            result = parallel(
                delayed(_stated_chunk)(n, per_unit, first)
                for first in range(0, N_STATED, 10 * _CHUNK)
            )
            rows, size = _stated_rows(n, per_unit, [entry for part in result for entry in part])
            stated += rows
            sizes.append(size)
            say(f"calibrated scores, {n} items: {time.monotonic() - started:.0f} s")
        for which, n in CELLS:
            result = parallel(
                delayed(_world_chunk)(SCENARIOS[which], n, first)
                for first in range(0, N_DATA_SETS, _CHUNK)
            )
            sets = [entry for part in result for entry in part]
            worlds += _coverage_rows(SCENARIOS[which].name, n, sets)
            promises += _promise_rows(SCENARIOS[which].name, n, sets)
            say(f"{SCENARIOS[which].name}, {n} items: {time.monotonic() - started:.0f} s")
    return _report(stated, sizes, worlds, promises, time.monotonic() - started)


def _stated_chunk(n: int, per_unit: int, first: int) -> list[dict[str, Any]]:
    with threadpool_limits(1):
        return [_stated(first + i, n, per_unit) for i in range(10 * _CHUNK)]


def _stated(seed: int, n: int, per_unit: int) -> dict[str, Any]:
    """Results for one data set whose stated probabilities are right."""
    rng = np.random.default_rng(seed)
    level = np.repeat(rng.normal(0.0, 1.6, n // per_unit), per_unit)
    luck = np.repeat(rng.random(n // per_unit), per_unit)
    units = np.repeat(np.arange(n // per_unit), per_unit)
    signs = np.where(luck < 1 / (1 + np.exp(-level)), 1, -1).astype(np.int8)
    splits = [split(units, number, seed=seed) for number in range(SPLITS)]
    rows = np.concatenate([one_split.evaluation for one_split in splits])
    predictions = OutOfSample(
        numbers=np.arange(SPLITS),
        n_calibration=np.array([len(one_split.calibration) for one_split in splits]),
        n_evaluation=np.array([len(one_split.evaluation) for one_split in splits]),
        rows=rows,
        logits=np.stack([level[rows]] * 2),
        null=np.zeros(SPLITS),
        constant_nll=np.zeros(SPLITS),
        replaced=np.zeros(SPLITS, dtype=np.int64),
    )
    ballots = Ballots(np.zeros((n, 1), np.int8), signs, units)
    of = evaluations(predictions, SimpleNamespace(ballots=ballots))  # type: ignore[arg-type]
    slopes, errors = reliability.slopes(of), reliability.errors(of, seed)
    return {
        **{name: [float(end) for end in fitted[1]] for name, fitted in slopes.items()},
        "p": float(errors["ece_p"][1, 0]),
        "ece": float(errors["ece"].value[1, 0]),
        "corrected": float(errors["ece_corrected"][1, 0]),
        "null": float(errors["ece_null"].value[1, 0]),
    }


def _world_chunk(scenario: Scenario, n: int, first: int) -> list[dict[str, Any]]:
    with threadpool_limits(1):
        fresh = n // 2 + N_FRESH
        spec = replace(scenario.spec, n_items=_CHUNK * (n + fresh), seed=10_000 + first)
        votes = simulate(spec).with_task("pointwise")
        ends = np.cumsum([n, fresh] * _CHUNK)
        parts = [
            votes.with_items(np.arange(end - size, end))
            for end, size in zip(ends, [n, fresh] * _CHUNK, strict=True)
        ]
        settings = Settings(splits=2, fraction=(n // 2 + 0.5) / fresh)
        return [
            {
                **_analysed(data, Settings(splits=SPLITS), SPLITS),
                "panel": _analysed(other, settings, 1),
            }
            for data, other in zip(parts[::2], parts[1::2], strict=True)
        ]


def _analysed(votes: VoteMatrix, settings: Settings, splits: int) -> dict[str, Any]:
    """Results for one data set: [value, lo, hi] by name, and coverage of sets.

    With one split of a large data set, the values are those of a single panel on new items.
    """
    whole = Chunk(0, 0, splits)
    spec = reliability.ReliabilitySpec(settings)
    chunk = selective.run_chunk(votes, spec, whole)
    reliable = reliability.merge(votes, spec, chunk)
    sure = selective.merge(votes, selective.SelectiveSpec(settings), chunk)
    set_spec = conformal.ConformalSpec(settings, levels=LEVELS)
    sets = conformal.merge(votes, set_spec, conformal.run_chunk(votes, set_spec, whole))
    stated = reliable.binned("stated")
    limit = sure.confidences.index(0.8)
    own = {
        method: [
            (sets.coverage.value[m, :, g], sets.items[g])
            for g, way in enumerate(sets.groupings)
            if way == method
        ]
        for m, method in enumerate(sets.methods)
    }
    return {
        "slope": [float(end) for end in reliable.slope[1]],
        "right where it says 90 %": [float(end) for end in stated.accuracy[1, _ASKED]],
        "right where 80 % sure or more": [float(end) for end in sure.right[1, limit]],
        "AUAC": [float(end) for end in sure.auac[1]],
        _SETS: [float(end) for end in sets.coverage[0, 1, 0]],
        "sets": sets.coverage.value[:, :, 0],
        "methods": sets.methods,
        "within": own,
        "n_slice": sets.n_slice,
    }


def _stated_rows(
    n: int, per_unit: int, sets: Sequence[dict[str, Any]]
) -> tuple[list[tuple[str, ...]], float]:
    """Coverage of slope and intercept, and how often calibrated scores are called worse."""
    name = f"{n}" if per_unit == 1 else f"{n} in groups of {per_unit}"
    rows = []
    for field, truth in (("slope", 1.0), ("intercept", 0.0)):
        values = np.array([prediction_set[field] for prediction_set in sets])
        rows.append((name, field, *_covered(values[np.isfinite(values).all(axis=1)], truth)))
    size = float(np.mean([prediction_set["p"] < 0.05 for prediction_set in sets]))
    means = [
        float(np.mean([prediction_set[field] for prediction_set in sets]))
        for field in ("ece", "null", "corrected")
    ]
    rows.append(
        (
            name,
            "ECE",
            f"{100 * size:.1f}% at p < .05",
            "",
            "",
            f"{means[0]:.4f}, by chance {means[1]:.4f}, corrected {means[2]:.4f}",
        )
    )
    return rows, size


def _coverage_rows(name: str, n: int, sets: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    rows = []
    for field in (
        *("slope", "right where it says 90 %", "right where 80 % sure or more"),
        *("AUAC", _SETS),
    ):
        values = np.array([prediction_set[field] for prediction_set in sets])
        panels = np.array([prediction_set["panel"][field][0] for prediction_set in sets])
        known = np.isfinite(values).all(axis=1) & np.isfinite(panels)
        values, panels = values[known], panels[known]
        mean = float(values[:, 0].mean())
        share, limits, width, _ = _covered(values, panels)
        held = np.mean((values[:, 1] <= mean) & (mean <= values[:, 2]))
        rows.append(
            (name, str(n), field, share, limits, f"{held:.1%}", width, f"{panels.mean():.3f}")
        )
    return rows


def _covered(values: Floats, truth: float | Floats) -> tuple[str, str, str, str]:
    """Share of intervals (n, 3) that cover the truth, its limits, width over ideal, and the truth.

    The ideal is 2 x 1.96 x the spread of the estimates around the truth.
    """
    hits = (values[:, 1] <= truth) & (truth <= values[:, 2])
    limits = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci()
    width = (values[:, 2] - values[:, 1]).mean() / (2 * 1.96 * (values[:, 0] - truth).std(ddof=1))
    return (
        f"{hits.mean():.1%}",
        f"{limits.low:.1%} to {limits.high:.1%}",
        f"{width:.2f}",
        f"{np.mean(truth):.3f}",
    )


def _promise_rows(name: str, n: int, sets: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Mean coverage of every kind of set, over all items and within its groups."""
    rows = []
    most = max(len(prediction_set["methods"]) for prediction_set in sets)
    methods = next(
        prediction_set["methods"]
        for prediction_set in sets
        if len(prediction_set["methods"]) == most
    )
    for m, method in enumerate(methods):
        for level_row, level in enumerate(LEVELS):
            overall = np.array([prediction_set["sets"][m, level_row] for prediction_set in sets])
            groups = np.array(
                [
                    [part[0][level_row] for part in prediction_set["within"][method][:2]]
                    for prediction_set in sets
                ]
            )
            lowest = groups.mean(axis=0).min()
            rows.append(
                (
                    name,
                    str(n),
                    "all items" if method == "all" else f"within {method}",
                    f"{level:.0%}",
                    f"{overall.mean():.4f}",
                    f"{overall.std(ddof=1) / np.sqrt(len(overall)):.4f}",
                    f"{level + 1 / (sets[0]['n_slice'] + 1):.4f}" if method == "all" else "",
                    f"{lowest:.4f}",
                )
            )
    return rows


def _report(
    stated: list[tuple[str, ...]],
    sizes: list[float],
    worlds: list[tuple[str, ...]],
    promises: list[tuple[str, ...]],
    seconds: float,
) -> Report:
    means = [float(row[5].rstrip("%")) / 100 for row in worlds]
    single = {
        sets: min(float(r[3].rstrip("%")) / 100 for r in worlds if (r[2] == _SETS) == sets)
        for sets in (False, True)
    }
    own = [float(row[2].rstrip("%")) / 100 for row in stated if row[1] != "ECE"]
    short = [row for row in promises if float(row[4]) + 3 * float(row[5]) < _level(row[3])]
    return Report(
        "Confidence: do intervals, chance levels and promises hold?",
        "Scores that are calibrated by construction, and panels of 12 judges (one-coin, beta) on "
        "simulated votes; 20 splits each.",
        [
            Table(
                f"Scores that are calibrated by construction, {N_STATED:,} data sets a row",
                ("items", "figure", "covers", "95 % limits", "width / ideal", "truth"),
                stated,
                "The probabilities are given, so nothing is fitted. For the ECE: how often "
                "calibrated scores are called worse than chance, and its mean beside the mean of "
                "its chance level and of its corrected form (the truth is 0).",
            ),
            Table(
                f"Intervals of panels, {N_DATA_SETS:,} data sets a row",
                (
                    *("scenario", "items", "figure", "covers a panel", "95 % limits"),
                    *("covers the mean", "width / ideal", "mean panel"),
                ),
                worlds,
                "Half of the items calibrate. The truth is one panel fitted on as many fresh "
                f"labels and judged on {N_FRESH:,} fresh items, another for every data set; beside "
                "it the mean over the data sets. Width is the mean width over 2 x 1.96 x the "
                "spread of the estimate about its panel.",
            ),
            Table(
                f"Conformal promises, {N_DATA_SETS:,} data sets a row",
                (
                    *("scenario", "items", "sets", "level", "coverage", "its error"),
                    *("level + 1/(n + 1)", "lowest of its first two groups"),
                ),
                promises,
                "Mean coverage of new items and its Monte Carlo error; n is the size of the slice.",
            ),
        ],
        (
            f"Smallest coverage of the mean over panels, which intervals are for: {min(means):.1%} "
            f"(target at least {_TARGET:.0%}: {'met' if min(means) >= _TARGET else 'MISSED'}).",
            f"Smallest coverage of one new panel: {single[False]:.1%}, and {single[True]:.1%} for "
            "coverage of sets, whose spread is that of one slice; the page says it beside.",
            f"Smallest coverage of slope and intercept of calibrated scores: {min(own):.1%} "
            f"(target at least {_TARGET:.0%}: {'met' if min(own) >= _TARGET else 'MISSED'}).",
            f"Calibrated scores called worse than chance at p < .05: at most {max(sizes):.1%} "
            f"(target at most 8 %: {'met' if max(sizes) <= 0.08 else 'MISSED'}).",
            f"Conformal coverage below its level by more than 3 errors: {len(short)} of "
            f"{len(promises)} rows.",
            f"Simulated in {seconds / 60:.1f} minutes.",
        ),
    )


def _level(text: str) -> float:
    return float(text.rstrip("%")) / 100
