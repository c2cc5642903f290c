"""What a user would write with betacal, or with scipy, for each split and k in turn."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
from betacal import BetaCalibration
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from threadpoolctl import threadpool_limits

from judgepanel.arrays import Floats
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import MapFit, apply_map, fit
from judgepanel.kernels.maps import ALPHA, LAMBDA, softplus
from judgepanel.scoring.splits import Split, split

IDENTITY = np.array([1.0, -1.0, 0.0])
_SIDES = np.hstack([np.eye(3), -np.eye(3)])
# d = d+ - d-, both >= 0; these bounds keep a = 1 + d_a >= 0 and b = -1 + d_b <= 0.
_BOUNDS = [(0, None), (0, 1), (0, None), (0, 1), (0, None), (0, None)]


@dataclass(frozen=True, slots=True)
class Lap:
    """Mean seconds per (split, k) for the fit, and for all steps in wall-clock and CPU time.

    All steps are score, fit, predict and metrics.
    """

    fit: float
    whole: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Largest excess of the peer's objective over ours, and of ours over the peer's."""

    peer_above: float
    ours_above: float


def pairs(n: int, splits: int, n_judges: int, seed: int) -> list[tuple[int, int]]:
    """A seeded sample of (split, k), with k spread evenly over the panel sizes."""
    rng = np.random.default_rng(seed)
    ks = 1 + ((np.arange(n) + rng.random()) * n_judges / n).astype(int)
    return list(zip(rng.integers(0, splits, n).tolist(), ks.tolist(), strict=True))


def plain_loop(ballots: Ballots, sample: list[tuple[int, int]], peer: str) -> Lap:
    """Time the plain loop on these (split, k), with one BLAS thread, which suits it best."""
    fits = whole = cpu = 0.0
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, k in sample:
            one_split = split(ballots.units, number)
            top, weights = ranked(ballots, one_split.calibration)
            started, used = time.perf_counter(), time.process_time()
            seen, held = (
                ballots.votes[rows][:, top[:k]] @ weights[top[:k]]
                for rows in (one_split.calibration, one_split.evaluation)
            )
            labels = ballots.signs[one_split.calibration] > 0
            fitting = time.perf_counter()
            predict = betacal_map(seen, labels) if peer == "betacal" else _lbfgs(seen, labels)
            fits += time.perf_counter() - fitting
            metrics(predict(held), ballots.signs[one_split.evaluation] > 0)
            whole += time.perf_counter() - started
            cpu += time.process_time() - used
    return Lap(fits / len(sample), whole / len(sample), cpu / len(sample))


def agreement(ballots: Ballots, sample: list[tuple[int, int]]) -> Agreement:
    """Compare our beta fit with L-BFGS-B's on the same scores, by their common objective."""
    peer_above = ours_above = -np.inf
    for number, k in sample:
        one_split: Split = split(ballots.units, number)
        top, weights = ranked(ballots, one_split.calibration)
        raw = ballots.votes[one_split.calibration][:, top[:k]] @ weights[top[:k]]
        signs = ballots.signs[one_split.calibration].astype(np.float64)
        fitted = fit(("beta",), raw[None], signs)["beta"]
        assert isinstance(fitted, MapFit)
        ours = fitted.params[0]
        difference = _objective(elastic_net(raw, signs > 0), raw, signs) - _objective(
            ours, raw, signs
        )
        peer_above, ours_above = max(peer_above, difference), max(ours_above, -difference)
    return Agreement(float(peer_above), float(ours_above))


def elastic_net(raw: Floats, labels: NDArray[np.bool_]) -> Floats:
    """(a, b, c) by L-BFGS-B, with d split into its positive and negative part."""
    log_p, log_q = -softplus(-raw), -softplus(raw)
    features = np.stack([log_p, log_q, np.ones_like(raw)])
    signed = np.where(labels, 1.0, -1.0)

    def objective(parts: Floats) -> tuple[float, Floats]:
        d = _SIDES @ parts
        u = -signed * ((IDENTITY + d) @ features)
        slope = features @ (-signed * expit(u)) / len(raw) + 2 * LAMBDA * (1 - ALPHA) * d
        value = softplus(u).mean() + LAMBDA * (ALPHA * parts.sum() + (1 - ALPHA) * d @ d)
        return float(value), _SIDES.T @ slope + LAMBDA * ALPHA

    solution = minimize(objective, np.full(6, 0.01), jac=True, method="L-BFGS-B", bounds=_BOUNDS)
    return np.asarray(IDENTITY + _SIDES @ solution.x)


def _lbfgs(raw: Floats, labels: NDArray[np.bool_]):  # type: ignore[no-untyped-def]
    params = elastic_net(raw, labels)
    return lambda held: expit(apply_map(params[None], held[None])[0])


def betacal_map(raw: Floats, labels: NDArray[np.bool_]):  # type: ignore[no-untyped-def]
    chances = np.asarray(expit(raw))
    model = BetaCalibration("abm").fit(chances[:, None], labels.astype(int))
    return lambda held: model.predict(np.asarray(expit(held))[:, None])


def _objective(params: Floats, raw: Floats, signs: Floats) -> float:
    m = apply_map(params[None], raw[None])[0]
    d = params - IDENTITY
    penalty = LAMBDA * (ALPHA * np.abs(d).sum() + (1 - ALPHA) * d @ d)
    return float(softplus(-signs * m).mean() + penalty)


def ranked(ballots: Ballots, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats]:
    agreement_ = ballots.votes[rows] * ballots.signs[rows, None]
    right, voted = (agreement_ > 0).sum(axis=0), (agreement_ != 0).sum(axis=0)
    order = np.argsort(-(right + 1) / (voted + 2), kind="stable")
    return order, np.log((right + 1) / (voted - right + 1))


def metrics(p: Floats, labels: NDArray[np.bool_]) -> tuple[float, float, float, float]:
    p = np.clip(p, 0.001, 0.999)
    nll = -np.log(np.where(labels, p, 1 - p)).mean()
    hit = (p >= 0.5) == labels
    confidence = np.maximum(p, 1 - p)
    index = np.minimum((confidence * 10).astype(int), 9)
    ece = np.abs(np.bincount(index, weights=hit - confidence, minlength=10)).sum() / len(p)
    return float(nll), float(((p - labels) ** 2).mean()), float(hit.mean()), float(ece)
