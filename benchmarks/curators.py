"""Searches among panels against loops that refit one candidate at a time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.real import real_votes
from benchmarks.report import Report, Table, say
from judgepanel.arrays import Bools, Floats
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.maps import ALPHA, LAMBDA
from judgepanel.kernels.subsets import (
    Comparison,
    SearchResult,
    backward,
    by_folds,
    exhaustive,
    found_groups,
)
from judgepanel.scoring.metrics import CLIP
from judgepanel.scoring.splits import Split, split
from judgepanel.studies.contract import Settings, prepare

FOLDS = 5
ROUNDS = 3
SAMPLED = 15
GROUPS = 9
SPLITS = 20
TARGET_RATIO = 10.0
TARGET_SECONDS = 10.0
START = np.array([1.0, -1.0, 0.0])


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """What a plain loop can compute once per fold; weights for fitting leave out own votes."""

    learn: Floats
    held: Floats
    labels: Bools
    truth: Bools


def run() -> Report:
    with threadpool_limits(1):
        ballots = prepare(real_votes("rewardbench"), Settings()).ballots
        rounds, lines = _elimination(ballots)
        unions, more = _unions()
    return Report(
        "Curators: searches among panels",
        f"Backward elimination from all {ballots.n_judges} judges of rewardbench, one split "
        f"({len(split(ballots.units, 0).calibration)} calibration rows), one-coin, every panel "
        f"refitted in {FOLDS} inner folds; and every union of {GROUPS} groups over {SPLITS} "
        "splits. Times are CPU seconds of one thread, so that other work on the machine does not "
        "count.",
        [rounds, unions],
        [*lines, *more],
    )


def _elimination(ballots: Ballots) -> tuple[Table, list[str]]:
    one_split = split(ballots.units, 0)
    n_judges = ballots.n_judges
    panels = n_judges * (n_judges + 1) // 2
    rows, lines = [], []
    peers: tuple[tuple[Calibrator, str, Callable[[Learnt, Bools], float]], ...] = (
        ("beta", "scipy L-BFGS-B", _scipy_beta),
        ("platt", "scikit-learn LogisticRegression", _sklearn_platt),
        ("temperature", "scipy L-BFGS-B", _scipy_temperature),
    )
    for calibrator, name, peer in peers:
        ratios, worst = [], 0.0
        for number in range(ROUNDS):
            seconds, outcome, compared = _ours(ballots, one_split, calibrator)
            learnt = [_learnt(ballots, trial.split) for trial in compared.trials]
            sample = _sample(outcome, number)
            each, nll = _theirs(learnt, sample, peer)
            worst = max(worst, float(np.abs(nll - compared(sample).nll).max()))
            ratios.append(each * panels / seconds)
            rows.append(
                (
                    calibrator,
                    name,
                    f"{number + 1}",
                    f"{seconds:.1f}",
                    f"{1e3 * each:.1f}",
                    f"{each * panels:.0f}",
                    f"{ratios[-1]:.1f}",
                    f"{outcome.best.sum()}",
                )
            )
            say(f"{calibrator}, round {number + 1}: {ratios[-1]:.1f} times faster")
        ratio = float(np.median(ratios))
        met = "met" if ratio >= TARGET_RATIO else "MISSED"
        lines.append(
            f"{calibrator}: {ratio:.1f} times faster than {name} (median of {ROUNDS} rounds, "
            f"target {TARGET_RATIO:.0f}: {met}); NLLs of the sampled panels agree to {worst:.0e}."
        )
    headings = (
        *("calibrator", "peer", "round", "ours, s", "peer, ms per panel", "peer, s in all"),
        *("ratio", "judges kept"),
    )
    note = (
        f"The search compares {panels:,} panels. The peer loop is timed on {SAMPLED} of them a "
        "round, drawn from the steps of the search just made, each step as often as it has panels "
        "to compare, and extrapolated to all. For every panel and fold it sums ready-made columns "
        "of what votes add, fits the calibrator and scores the held-out rows; it does not count "
        "votes again. Its times are CPU seconds, too."
    )
    return Table("Backward elimination", headings, rows, note), lines


def _ours(
    ballots: Ballots, one_split: Split, calibrator: Calibrator
) -> tuple[float, SearchResult, Comparison]:
    started = time.process_time()
    compared = by_folds(
        ballots, one_split.calibration, "one_coin", calibrator, n_folds=FOLDS, seed=0, key=(0, 1)
    )
    outcome = backward(compared, np.ones(ballots.n_judges, dtype=bool))
    return time.process_time() - started, outcome, compared


def _sample(outcome: SearchResult, number: int) -> Bools:
    """A sample of panels that the search compared; a step counts by its number of comparisons."""
    rng = np.random.default_rng(number)
    sizes = outcome.path.sum(axis=1).astype(np.float64)
    large = np.flatnonzero(sizes > 1)
    steps = rng.choice(large, SAMPLED, p=sizes[large] / sizes[large].sum())
    masks: Bools = outcome.path[steps].copy()
    for mask in masks:
        mask[rng.choice(np.flatnonzero(mask))] = False
    return masks


def _learnt(ballots: Ballots, one_split: Split) -> Learnt:
    """The fold as a user would write it: counts, and weights without the item's own vote."""
    votes, signs = ballots.votes[one_split.calibration], ballots.signs[one_split.calibration, None]
    agree = votes * signs
    right, voted = (agree > 0).sum(axis=0), (agree != 0).sum(axis=0)
    own_right, own_voted = right - (agree > 0), voted - (agree != 0)
    own = np.log((own_right + 1) / (own_voted - own_right + 1))
    weights = np.log((right + 1) / (voted - right + 1))
    return Learnt(
        learn=votes * own,
        held=ballots.votes[one_split.evaluation] * weights,
        labels=ballots.signs[one_split.calibration] > 0,
        truth=ballots.signs[one_split.evaluation] > 0,
    )


def _theirs(
    learnt: list[Learnt], masks: Bools, peer: Callable[[Learnt, Bools], float]
) -> tuple[float, Floats]:
    """CPU seconds per panel, and the NLL (n_masks,) of each."""
    nll = np.zeros(len(masks))
    items = sum(len(fold.truth) for fold in learnt)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, mask in enumerate(masks):
            nll[place] = sum(peer(fold, mask) for fold in learnt) / items
    return (time.process_time() - started) / len(masks), nll


def _loss(p: Floats, truth: Bools) -> float:
    p = np.clip(p, CLIP, 1.0 - CLIP)
    return float(-np.log(np.where(truth, p, 1.0 - p)).sum())


def _scipy_beta(fold: Learnt, mask: Bools) -> float:
    """Summed NLL of beta calibration by L-BFGS-B; d is split into its signed parts."""
    raw = fold.learn[:, mask].sum(axis=1)
    log_p, log_q = log_expit(raw), log_expit(-raw)
    signs = np.where(fold.labels, 1.0, -1.0)
    design = np.stack([log_p, log_q, np.ones_like(raw)])
    sides = np.concatenate([np.eye(3), -np.eye(3)])

    def objective(x: Floats) -> tuple[float, Floats]:
        d = x @ sides
        m = (START + d) @ design
        loss = -log_expit(signs * m).mean() + LAMBDA * (ALPHA * x.sum() + (1 - ALPHA) * d @ d)
        slope = design @ (-signs * expit(-signs * m)) / len(raw) + 2 * LAMBDA * (1 - ALPHA) * d
        return float(loss), sides @ slope + LAMBDA * ALPHA

    bounds = [(0, None)] * 3 + [(0, 1), (0, None), (0, None)]
    bounds[1] = (0, 1)  # Keeps b <= 0 and a >= 0.
    solution = minimize(objective, np.zeros(6), jac=True, method="L-BFGS-B", bounds=bounds)
    a, b, c = START + solution.x @ sides
    held = fold.held[:, mask].sum(axis=1)
    return _loss(expit(a * log_expit(held) + b * log_expit(-held) + c), fold.truth)


def _scipy_temperature(fold: Learnt, mask: Bools) -> float:
    raw = fold.learn[:, mask].sum(axis=1) * np.where(fold.labels, 1.0, -1.0)

    def objective(x: Floats) -> tuple[float, Floats]:
        return float(-log_expit(x * raw).mean()), np.array([-(raw * expit(-x * raw)).mean()])

    solution = minimize(objective, np.ones(1), jac=True, method="L-BFGS-B", bounds=[(0, None)])
    return _loss(expit(solution.x[0] * fold.held[:, mask].sum(axis=1)), fold.truth)


def _sklearn_platt(fold: Learnt, mask: Bools) -> float:
    raw = fold.learn[:, mask].sum(axis=1)
    model = LogisticRegression(C=1e10).fit(raw[:, None], fold.labels)
    return _loss(model.predict_proba(fold.held[:, mask].sum(axis=1)[:, None])[:, 1], fold.truth)


def _unions() -> tuple[Table, list[str]]:
    rows, lines = [], []
    for name in ("llmbar", "rewardbench"):
        ballots = prepare(real_votes(name), Settings()).ballots
        for calibrator in ("temperature", "beta"):
            started = time.process_time()
            sizes = [_every_union(ballots, number, calibrator) for number in range(SPLITS)]
            seconds = time.process_time() - started
            met = "met" if seconds < TARGET_SECONDS else "MISSED"
            text = f"{np.mean(sizes):.0f} of {ballots.n_judges}"
            rows.append((name, calibrator, f"{2**GROUPS - 1}", f"{seconds:.1f}", met, text))
            say(f"{name}, {calibrator}: {seconds:.1f} s")
            lines.append(
                f"Every union of {GROUPS} groups on {name}, {SPLITS} splits, {calibrator}: "
                f"{seconds:.1f} s (target {TARGET_SECONDS:.0f} s: {met})."
            )
    headings = ("votes", "calibrator", "panels per split", "seconds", "target", "judges kept, mean")
    note = (
        f"Groups are found from the calibration rows of each split; every panel is refitted in "
        f"{FOLDS} inner folds."
    )
    return Table(f"Exhaustive search, {SPLITS} splits", headings, rows, note), lines


def _every_union(ballots: Ballots, number: int, calibrator: Calibrator) -> int:
    rows = split(ballots.units, number).calibration
    seen = Ballots(ballots.votes[rows], ballots.signs[rows], ballots.units[rows])
    compared = by_folds(
        seen,
        np.arange(len(rows)),
        "one_coin",
        calibrator,
        n_folds=FOLDS,
        seed=0,
        key=(number, 1),
    )
    return int(exhaustive(compared, found_groups(seen, GROUPS)).best.sum())
