"""Calibration maps fitted for many score columns at once.

Every map here is m = a log p + b log(1 - p) + c on the raw logit l, with
log p = -softplus(-l) and log(1 - p) = -softplus(l) (beta calibration, Kull et al. 2017,
doi:10.1214/17-EJS1338SI; the paper's section 2.3). Temperature is a = -b >= 0, c = 0; Platt is
a = -b of either sign with c free. Fits are damped Newton iterations in at most three parameters,
run for all columns together: scores are (B, n), parameters (B, 3), one column a panel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judgepanel.votes.errors import InputError

Floats = NDArray[np.float64]
Calibrator = Literal["none", "temperature", "platt", "beta", "beta_clipped"]

CALIBRATORS: tuple[Calibrator, ...] = ("none", "temperature", "platt", "beta", "beta_clipped")
LAMBDA = 0.01
ALPHA = 0.5
INPUT_CLIP = float(np.log(0.999 / 0.001))
MAX_SLOPE = 1e3
IDENTITY = np.array([1.0, -1.0, 0.0])
_TOLERANCE = 1e-10
_MAX_ITERATIONS = 60
_BLOCK = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationFit:
    """Fitted maps: ``params`` (B, 3) holds a, b, c; ``replaced`` (B,) marks the columns whose
    calibrator could not be fitted and for which temperature stands in.
    """

    params: Floats
    replaced: NDArray[np.bool_]
    clip: float | None = None

    def __call__(self, logits: Floats) -> Floats:
        """Calibrated logits of raw logits (B, n)."""
        return apply_map(self.params, logits, self.clip)


def softplus(x: Floats) -> Floats:
    """log(1 + exp(x)) without overflow."""
    tail = np.abs(x)
    np.negative(tail, out=tail)
    np.exp(tail, out=tail)
    np.log1p(tail, out=tail)
    tail += np.maximum(x, 0.0)
    return tail


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + exp(-x)) without overflow."""
    return np.asarray(np.exp(-softplus(-x)))


def apply_map(params: Floats, logits: Floats, clip: float | None = None) -> Floats:
    """m = a log p + b log(1 - p) + c; exact a l + c where the slopes are tied."""
    if clip is not None:
        logits = np.clip(logits, -clip, clip)
    a, b, c = (params[..., i, None] for i in range(3))
    if np.array_equal(params[..., 0], -params[..., 1]):
        return np.asarray(a * logits + c)
    log_p = -softplus(-logits)
    return np.asarray((a + b) * log_p - b * logits + c)


def fit(
    names: tuple[Calibrator, ...],
    logits: Floats,
    signs: Floats,
    weights: Floats | None = None,
    *,
    symmetric: bool = False,
) -> dict[Calibrator, CalibrationFit]:
    """Fit calibrators to every column of raw logits; the temperature fit starts the others.

    Parameters
    ----------
    logits : float (B, n), raw logits that do not know the item's own label.
    signs : float (n,) or (B, n), +1 for label 1 and -1 for label 0.
    weights : float (B, n), or None for ones; 0 leaves an item out.
    symmetric : fit on every item and its swap; then c = 0 and a = -b for every calibrator.

    Raises
    ------
    InputError
        An unknown calibrator.
    """
    for name in names:
        if name not in CALIBRATORS:
            raise InputError("unknown calibrator", value=name, allowed=", ".join(CALIBRATORS))
    signs = np.broadcast_to(signs, logits.shape)
    params = {name: np.empty((len(logits), 3)) for name in names}
    replaced = {name: np.zeros(len(logits), dtype=bool) for name in names}
    for block in column_blocks(*logits.shape):
        chosen = None if weights is None or weights[block].all() else weights[block]
        start = _tied(fit_scale(logits[block], signs[block], chosen))
        for name in names:
            params[name][block], replaced[name][block] = _fit_block(
                name, logits[block], signs[block], chosen, symmetric, start
            )
    return {
        name: CalibrationFit(
            params[name], replaced[name], INPUT_CLIP if name == "beta_clipped" else None
        )
        for name in names
    }


def column_blocks(columns: int, n: int) -> list[slice]:
    """Column slices whose arrays stay in a core's cache."""
    step = max(1, _BLOCK // max(n, 1))
    return [slice(start, start + step) for start in range(0, columns, step)]


def _fit_block(
    name: Calibrator,
    logits: Floats,
    signs: Floats,
    weights: Floats | None,
    symmetric: bool,
    temperature: Floats,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Parameters (B, 3) of one calibrator, and which columns fell back to temperature (B,)."""
    never = np.zeros(len(logits), dtype=bool)
    if name == "none":
        return np.tile(IDENTITY, (len(logits), 1)), never
    if name == "beta_clipped":
        logits = np.clip(logits, -INPUT_CLIP, INPUT_CLIP)
    if symmetric and name in ("beta", "beta_clipped"):
        return _tied(fit_scale(logits, signs, weights, penalty=LAMBDA)), never
    if symmetric or name == "temperature":
        return temperature, never
    if name == "platt":
        params, fitted = fit_platt(logits, signs, weights, start=temperature)
    else:
        bounded = name == "beta"
        params, fitted = fit_beta(logits, signs, weights, bounded=bounded, start=temperature)
    return np.where(fitted[:, None], params, temperature), ~fitted


def _tied(slope: Floats) -> Floats:
    return np.stack([slope, -slope, np.zeros_like(slope)], -1)


def fit_scale(
    logits: Floats, signs: Floats, weights: Floats | None = None, *, penalty: float = 0.0
) -> Floats:
    """Slope a in [0, MAX_SLOPE] minimising mean softplus(-s a l) + the tied elastic net, (B,).

    ``penalty`` is lambda of the elastic net on d = (a - 1, -(a - 1), 0), the symmetric form of
    the beta calibrator: lambda [2 alpha |a - 1| + 2 (1 - alpha) (a - 1)^2]; 0 is temperature.
    """
    margin = logits * signs
    total = _total(weights, margin)
    weighted = margin if weights is None else margin * weights
    square = margin * weighted
    lasso, ridge = 2.0 * penalty * ALPHA, 2.0 * penalty * (1.0 - ALPHA)

    def evaluate(x: Floats) -> tuple[Floats, Floats]:
        m = margin * -x
        loss = softplus(m)
        data = loss.sum(-1) if weights is None else np.vecdot(loss, weights)
        d = x[:, 0] - 1.0
        return data / total + lasso * np.abs(d) + ridge * d * d, m

    def step(x: Floats, m: Floats) -> Floats:
        a = x[:, 0]
        wrong = _inverse_logit(m)
        slope = -np.vecdot(weighted, wrong) / total + 2.0 * ridge * (a - 1.0)
        wrong -= wrong * wrong
        bend = np.maximum(np.vecdot(square, wrong) / total + 2.0 * ridge, 1e-12)
        target = _shrink(a - slope / bend - 1.0, lasso / bend) + 1.0
        return np.clip(target, 0.0, MAX_SLOPE)[:, None]

    mean_square = np.maximum(square.sum(-1), 1e-12)
    start = np.clip(2.0 * weighted.sum(-1) / mean_square, 1e-3, 1.0)
    return _descend(start[:, None], evaluate, step)[0][:, 0]


def fit_platt(
    logits: Floats, signs: Floats, weights: Floats | None, *, start: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Platt scaling without penalty, a l + c; parameters (B, 3) as (a, -a, c), and fitted (B,).

    One-class labels and perfect separation have no finite optimum; they are reported unfitted.
    """
    positive = signs > 0
    total = _total(weights, logits)

    def evaluate(x: Floats) -> tuple[Floats, Floats]:
        m = logits * x[:, :1] + x[:, 1:]
        loss = softplus(-signs * m)
        return (loss.sum(-1) if weights is None else np.vecdot(loss, weights)) / total, m

    def step(x: Floats, m: Floats) -> Floats:
        p = _inverse_logit(m)
        residual, bend = p - positive, p * (1.0 - p)
        if weights is not None:
            residual, bend = residual * weights, bend * weights
        slope, level = np.vecdot(logits, residual) / total, residual.sum(-1) / total
        cross = logits * bend
        aa, ac = np.vecdot(logits, cross) / total + 1e-12, cross.sum(-1) / total
        cc = bend.sum(-1) / total + 1e-12
        det = np.maximum(aa * cc - ac * ac, 1e-24)
        move = np.stack([cc * slope - ac * level, aa * level - ac * slope], -1) / det[:, None]
        return np.asarray(np.clip(x - move, -2.0 * MAX_SLOPE, 2.0 * MAX_SLOPE))

    x, done = _descend(start[:, [0, 2]], evaluate, step)
    slope, level = x[:, 0], x[:, 1]
    nll, _ = evaluate(x)
    seen = positive if weights is None else positive & (weights > 0)
    voted = logits.shape[-1] if weights is None else np.count_nonzero(weights, axis=-1)
    both = (seen.sum(-1) > 0) & (seen.sum(-1) < voted)
    fitted = done & both & (nll > 1e-6) & (np.abs(x).max(-1) < MAX_SLOPE)
    return np.stack([slope, -slope, level], -1), fitted


def fit_beta(
    logits: Floats,
    signs: Floats,
    weights: Floats | None,
    *,
    start: Floats,
    penalty: float = LAMBDA,
    bounded: bool = True,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Beta calibration: mean NLL + lambda [alpha |d|_1 + (1 - alpha) |d|^2], d = (a-1, b+1, c).

    ``bounded`` keeps a >= 0 and b <= 0, so that the map is monotone. Returns the parameters
    (B, 3) and whether each column converged (B,).
    """
    log_p = -softplus(-logits)
    log_q = log_p - logits
    positive = signs > 0
    total = _total(weights, logits)
    lasso, ridge = penalty * ALPHA, penalty * (1.0 - ALPHA)
    free = np.full(3, np.inf)
    low = np.array([0.0, -np.inf, -np.inf]) if bounded else -free
    high = np.array([np.inf, 0.0, np.inf]) if bounded else free

    def evaluate(x: Floats) -> tuple[Floats, Floats]:
        m = log_p * x[:, :1]
        m += log_q * x[:, 1:2]
        m += x[:, 2:]
        loss = softplus(-signs * m)
        data = loss.sum(-1) if weights is None else np.vecdot(loss, weights)
        d = x - IDENTITY
        return data / total + lasso * np.abs(d).sum(-1) + ridge * (d * d).sum(-1), m

    def step(x: Floats, m: Floats) -> Floats:
        p = _inverse_logit(m)
        residual, bend = p - positive, p * (1.0 - p)
        if weights is not None:
            residual, bend = residual * weights, bend * weights
        gradient = np.stack(
            [np.vecdot(log_p, residual), np.vecdot(log_q, residual), residual.sum(-1)], -1
        )
        bend_p, bend_q = log_p * bend, log_q * bend
        aa, ab, bb = np.vecdot(log_p, bend_p), np.vecdot(log_p, bend_q), np.vecdot(log_q, bend_q)
        ac, bc = bend_p.sum(-1), bend_q.sum(-1)
        hessian = np.stack([aa, ab, ac, ab, bb, bc, ac, bc, bend.sum(-1)], -1) / total[:, None]
        gradient = gradient / total[:, None] + 2.0 * ridge * (x - IDENTITY)
        curvature = hessian.reshape(-1, 3, 3) + (2.0 * ridge + 1e-12) * np.eye(3)
        return _elastic_newton(x, gradient, curvature, lasso, low, high)

    inside = np.clip(start, np.maximum(low, -MAX_SLOPE), np.minimum(high, MAX_SLOPE))
    return _descend(inside, evaluate, step)


def _elastic_newton(
    x: Floats, gradient: Floats, hessian: Floats, lasso: float, low: Floats, high: Floats
) -> Floats:
    """Minimise the quadratic model plus lasso |y - identity|_1 in the box, by cyclic descent."""
    y = x.copy()
    slope = gradient.copy()
    for _ in range(200):
        largest = 0.0
        for i in range(3):
            bend = hessian[:, i, i]
            target = _shrink(y[:, i] - slope[:, i] / bend - IDENTITY[i], lasso / bend)
            target = np.clip(target + IDENTITY[i], low[i], high[i])
            move = target - y[:, i]
            y[:, i] = target
            slope += hessian[:, i] * move[:, None]
            largest = max(largest, float(np.abs(move).max(initial=0.0)))
        if largest < 1e-11:
            break
    return y


def _descend(
    start: Floats,
    evaluate: Callable[[Floats], tuple[Floats, Floats]],
    step: Callable[[Floats, Floats], Floats],
) -> tuple[Floats, NDArray[np.bool_]]:
    """Damped proximal Newton for all columns together, (B, p) -> (B, p) and converged (B,).

    ``evaluate`` gives the objective (B,) and the linear predictor that ``step`` turns into the
    next point; a step that would climb is halved.
    """
    x = start
    value, m = evaluate(x)
    done = np.zeros(len(x), dtype=bool)
    for _ in range(_MAX_ITERATIONS):
        move = step(x, m) - x
        scale = 1.0 + np.abs(x).max(-1)
        size = np.abs(move).max(-1) / scale
        done |= size <= _TOLERANCE
        if done.all():
            break
        move[done] = 0.0
        for _ in range(40):
            trial = x + move
            trial_value, m = evaluate(trial)
            climbed = trial_value > value + 1e-13 * (1.0 + np.abs(value))
            if not climbed.any():
                break
            move[climbed] *= 0.5
        x, value = trial, np.minimum(value, trial_value)
    return x, done


def _inverse_logit(m: Floats) -> Floats:
    """1 / (1 + exp(-m)); exp may overflow to inf, which gives the right 0."""
    with np.errstate(over="ignore"):
        p = np.exp(-m)
    p += 1.0
    return np.asarray(np.reciprocal(p, out=p))


def _shrink(x: Floats, by: Floats) -> Floats:
    return np.asarray(np.sign(x) * np.maximum(np.abs(x) - by, 0.0))


def _total(weights: Floats | None, logits: Floats) -> Floats:
    if weights is None:
        return np.full(len(logits), float(max(logits.shape[-1], 1)))
    return np.asarray(np.maximum(weights.sum(-1), 1.0))
