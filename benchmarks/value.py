"""What judges are worth: fast refits against exact ones, time, and coverage of intervals."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.real import real_votes
from benchmarks.report import Report, Table, say
from judgepanel.arrays import Floats
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.joint import joint
from judgepanel.kernels.panels import choice_folds, held_joints
from judgepanel.kernels.prefixes import Fit
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.metrics import item_nll
from judgepanel.scoring.splits import fold_of, split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.decide.value import VALUE, Value, ValueSpec
from judgepanel.studies.runner import run as run_study
from judgepanel.votes.simulate import SimulationSpec, simulate

REFITTED = {"llmbar": (3, 65), "rewardbench": (1, 24)}
"""Splits, and the number of judges refitted exactly in each."""
SPLITS = 20
TARGETS = {"llmbar": 30.0, "rewardbench": 300.0}
WORLDS = 60
WORLD = SimulationSpec(240, 7, accuracies=(0.8, 0.8, 0.75, 0.75, 0.7, 0.5, 0.5))
NOISE = 2


def run() -> Report:
    with threadpool_limits(1):
        refits, lines = _refits()
        times, more = _times()
        covered, last = _covered()
    return Report(
        "What judges are worth",
        "Joint panels without a judge, refitted quickly and exactly; CPU seconds of one thread of "
        f"the whole study under joint, {SPLITS} splits; and simulated panels of "
        f"{WORLD.n_judges} judges, {NOISE} of them noise, {WORLD.n_items} items, one-coin and "
        "temperature.",
        [refits, times, covered],
        [*lines, *more, *last],
    )


def _refits() -> tuple[Table, list[str]]:
    rows, lines = [], []
    for name, (splits, most) in REFITTED.items():
        ballots = prepare(real_votes(name), Settings()).ballots
        result = [_one_split(ballots, number, most) for number in range(splits)]
        quick, exact = (np.array([part[i] for part in result]) for i in (0, 1))
        seconds = [float(np.mean([part[i] for part in result])) for i in (2, 3)]
        error = np.sqrt(np.mean((quick - exact) ** 2))
        correlation = float(np.corrcoef(quick.ravel(), exact.ravel())[0, 1])
        ratio = seconds[1] / seconds[0]
        rows.append(
            (
                name,
                f"{splits}",
                f"{exact.shape[1]}",
                f"{exact.std():.5f}",
                f"{error:.5f}",
                f"{np.mean(quick - exact):+.5f}",
                f"{correlation:.3f}",
                f"{1000 * seconds[0]:.0f}",
                f"{1000 * seconds[1]:.0f}",
                f"{ratio:.0f}",
            )
        )
        say(f"{name}: correlation {correlation:.3f}, {ratio:.0f} times as fast")
        lines.append(
            f"{name}: quick refits correlate {correlation:.3f} with exact ones (root mean square "
            f"error {error:.5f} NLL, values spread {exact.std():.5f}), {ratio:.0f} times as fast."
        )
    headings = (
        "votes",
        "splits",
        "judges",
        "sd of values",
        "rms error",
        "mean error",
        "correlation",
        "ms per judge",
        "exact, ms",
        "ratio",
    )
    return Table("Leave-one-out values under joint, NLL", headings, rows), lines


def _one_split(ballots: Ballots, number: int, most: int) -> tuple[Floats, Floats, float, float]:
    """Values of some judges, fast and exact, and CPU seconds per judge of each."""
    one_split = split(ballots.units, number)
    fold = fold_of(choice_folds(ballots, one_split, 0), ballots.n_items)[one_split.calibration]
    fit = Fit(one_split.calibration, one_split.evaluation, fold)
    signs = ballots.signs[one_split.evaluation].astype(np.float64)
    (held,) = held_joints(ballots, [fit])
    started = time.process_time()
    less = item_nll(held.without_each(one_split.evaluation), signs)
    quick_seconds = (time.process_time() - started) / ballots.n_judges
    quick = (less - item_nll(held.all_judges(one_split.evaluation), signs)).mean(axis=1)
    judges = np.random.default_rng(number).permutation(ballots.n_judges)[:most]
    full = _exact(ballots, fit, np.arange(ballots.n_judges), signs)
    started = time.process_time()
    exact = [
        _exact(ballots, fit, np.delete(np.arange(ballots.n_judges), j), signs) - full
        for j in judges
    ]
    seconds = (time.process_time() - started) / len(judges)
    return quick[judges], np.array(exact), quick_seconds, seconds


def _exact(ballots: Ballots, fit: Fit, judges: NDArray[np.int64], signs: Floats) -> float:
    fewer = replace(ballots, votes=ballots.votes[:, judges], unlabelled=None)
    (panel,) = joint.panels(fewer, [fit], len(judges))
    return float(item_nll(panel.logits(fewer.votes[fit.score]), signs).mean())


def _times() -> tuple[Table, list[str]]:
    rows, lines = [], []
    for name, target in TARGETS.items():
        started = time.process_time()
        study = run_study(VALUE, real_votes(name), ValueSpec(Settings(splits=SPLITS)), jobs=1)
        seconds = time.process_time() - started
        met = "met" if seconds < target else "MISSED"
        rows.append((name, f"{study.n_judges}", f"{seconds:.0f}", met, f"{study.droppable}"))
        say(f"{name}: {seconds:.0f} s")
        lines.append(
            f"The study on {name}, {SPLITS} splits: {seconds:.0f} s (target {target:.0f} s: {met})."
        )
    headings = ("votes", "judges", "seconds", "target", "can go")
    return Table("The study under joint", headings, rows), lines


def _covered() -> tuple[Table, list[str]]:
    results = [_world(seed) for seed in range(WORLDS)]
    rows = []
    for name in ("value", "shapley"):
        value, lo, hi = Interval.stacked(
            Interval.stacked(getattr(judge, name) for judge in world.judges) for world in results
        )
        truth = value.mean(axis=0)
        inside = (lo <= truth) & (truth <= hi)
        above = lo > 0.0
        rows.append(
            (
                name,
                f"{100 * inside.mean():.1f} %",
                f"{np.mean(hi - lo):.4f}",
                f"{3.92 * value.std(axis=0, ddof=1).mean():.4f}",
                f"{100 * above[:, :-NOISE].mean():.0f} %",
                f"{100 * above[:, -NOISE:].mean():.1f} %",
            )
        )
    gone = [set(world.droppable_judges) for world in results]
    noise = {f"judge{j:02d}" for j in range(WORLD.n_judges - NOISE + 1, WORLD.n_judges + 1)}
    wrong = float(np.mean([bool(entry - noise) for entry in gone]))
    right = float(np.mean([bool(entry & noise) for entry in gone]))
    lines = [
        f"Intervals over {WORLDS} simulated panels cover {rows[0][1]} (left out) and {rows[1][1]} "
        "(Shapley) of the time.",
        f"Noise is let go in {100 * right:.0f} % of them, a useful judge in {100 * wrong:.1f} %.",
    ]
    headings = (
        "value",
        "95 % covers",
        "width",
        "3.92 sd of estimates",
        "above 0: useful",
        "above 0: noise",
    )
    note = "The truth is the mean of the estimates over all panels."
    return Table("Intervals", headings, rows, note), lines


def _world(seed: int) -> Value:
    votes = simulate(replace(WORLD, seed=seed))
    spec = ValueSpec(
        Settings(splits=SPLITS), aggregator="one_coin", calibrator="temperature", permutations=16
    )
    return run_study(VALUE, votes, spec, jobs=1)
