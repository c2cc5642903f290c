"""Newton fits of calibration maps, for many score columns at once.

Every map here is m = a log p + b log(1 - p) + c on the raw logit l, with log p = -softplus(-l) and
log(1 - p) = -softplus(l) (beta calibration, Kull et al. 2017, doi:10.1214/17-EJS1338SI; the paper's
section 2.3). Temperature is a = -b >= 0, c = 0; Platt is a = -b of either sign with c free. Fits
are damped Newton iterations in at most three parameters, run for all columns together: scores are
(B, n), parameters (B, 3), one column per panel. The penalty lambda [alpha |d|_1 + (1 - alpha)
|d|^2] on d = (a - 1, b + 1, c) shrinks towards the identity.

Damped proximal Newton in a few parameters, for many columns together.

``descend`` minimises any objective; ``elastic_newton`` minimises the quadratic model of an
objective with an L1 term and a box, in three parameters.

Isotonic calibration of one score column: the best non-decreasing probability of label 1.

Pool adjacent violators on the unclipped logit (Zadrozny and Elkan 2002, doi:10.1145/775047.775151).
The probability is linear in the logit between the knots and constant beyond the outermost, as in
scikit-learn's ``IsotonicRegression(out_of_bounds="clip")``.

Distortions of a raw score r = sigma(l), on the logit scale.

The paper's seven (appendix on scope diagnostics): r^2, sqrt(r), r plus normal noise at two levels,
binary noise, inversion, and shuffling. The paper gives no noise levels; the levels here are our
choice. Powers are computed from log r, so they stay strictly monotone where r itself rounds to 0 or
1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.metrics import CLIP

_TOLERANCE = 1e-7
_MAX_ITERATIONS = 60


def descend(
    start: Floats,
    measure: Callable[[Floats, Ints], Floats],
    step: Callable[[Floats, Floats], Floats],
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Damped proximal Newton for all columns together: points (B, p), objectives, converged (B,).

    ``measure(x, rows)`` returns, for these columns, the objective followed by the sums from which
    ``step`` computes the next point; a step that increases the objective is halved. A step below
    the tolerance is taken and ends the iteration: convergence is quadratic, so only rounding
    remains.
    """
    x = start.copy()
    live = np.arange(len(x))
    sums = measure(x, live)
    value = sums[:, 0].copy()
    for _ in range(_MAX_ITERATIONS):
        move = step(x[live], sums) - x[live]
        last = np.abs(move).max(-1) <= _TOLERANCE * (1.0 + np.abs(x[live]).max(-1))
        x[live[last]] += move[last]
        live, move = live[~last], move[~last]
        if not len(live):
            break
        sums = _damped(x, value, live, move, measure)
    converged = np.ones(len(x), dtype=bool)
    converged[live] = False
    return x, value, converged


def _damped(
    x: Floats, value: Floats, live: Ints, move: Floats, measure: Callable[[Floats, Ints], Floats]
) -> Floats:
    """Move the live columns in place, each by the longest halved step that does not increase."""
    base = x[live]
    sums = measure(base + move, live)
    ceiling = value[live] + 1e-13 * (1.0 + np.abs(value[live]))
    for _ in range(40):
        climbed = np.flatnonzero(~(sums[:, 0] <= ceiling))
        if not len(climbed):
            break
        move[climbed] *= 0.5
        sums[climbed] = measure((base + move)[climbed], live[climbed])
    x[live] = base + move
    value[live] = np.minimum(value[live], sums[:, 0])
    return sums


class Box(NamedTuple):
    """Bounds ``low`` and ``high`` (3,), and the ``centre`` (3,) to which the L1 term pulls."""

    centre: Floats
    low: Floats
    high: Floats


def elastic_newton(x: Floats, gradient: Floats, hessian: Floats, lasso: Floats, box: Box) -> Floats:
    """Minimise the quadratic model plus lasso |y - centre|_1 in a box, (B, 3); lasso is (B,).

    One linear solve moves the coordinates that are free at ``x`` to their optimum. If that guess of
    the free coordinates violates an optimality condition, the column goes as far towards it as no
    coordinate crosses a kink or a bound, and guesses again after two sweeps of cyclic descent.
    """
    y = x.copy()
    slope = gradient.copy()
    live = np.arange(len(x))
    for _ in range(25):
        part, tilt, bent, pull = y[live], slope[live], hessian[live], lasso[live]
        solved, right = _solve_free(part, tilt, bent, pull, box)
        y[live[right]] = solved[right]
        if right.all():
            break
        wrong = ~right
        live, bent = live[wrong], bent[wrong]
        near = _towards(part[wrong], solved[wrong], box)
        tilt = tilt[wrong] + _times(bent, near - part[wrong])
        y[live], slope[live], largest = _sweep(near, tilt, bent, pull[wrong], box)
        live = live[largest >= 1e-11]
        if not len(live):
            break
    return y


def _towards(y: Floats, goal: Floats, box: Box) -> Floats:
    """Points (B, 3) on the way from y to a goal, where the first coordinate meets a kink or bound.

    That coordinate is put exactly there; the quadratic model falls up to that point.
    """
    centre, low, high = box
    move = goal - y
    ends = np.where((centre - y) * move > 0.0, centre, np.where(move > 0.0, high, low))
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(move == 0.0, np.inf, (ends - y) / move)
    length = np.minimum(reach.min(axis=-1, keepdims=True), 1.0)
    return np.where(reach <= length, ends, y + length * move)


def _sweep(
    y: Floats, slope: Floats, hessian: Floats, lasso: Floats, box: Box
) -> tuple[Floats, Floats, Floats]:
    """Two sweeps of cyclic descent: return the point, its slope and the largest move (B,)."""
    centre, low, high = box
    largest = np.zeros(len(y))
    for i in (0, 1, 2, 0, 1, 2):
        bend = hessian[:, i, i]
        target = shrink(y[:, i] - slope[:, i] / bend - centre[i], lasso / bend)
        target = np.clip(target + centre[i], low[i], high[i])
        move = target - y[:, i]
        y[:, i] = target
        slope += hessian[:, i] * move[:, None]
        largest = np.maximum(largest, np.abs(move))
    return y, slope, largest


def _solve_free(
    y: Floats, slope: Floats, hessian: Floats, lasso: Floats, box: Box
) -> tuple[Floats, NDArray[np.bool_]]:
    """Optimum (B, 3) with coordinates at kinks and bounds of ``y`` fixed, and validity (B,)."""
    centre, low, high = box
    side = np.sign(y - centre)
    kinked = lasso[:, None] > 0
    held = (kinked & (side == 0)) | (y <= low) | (y >= high)
    pull = slope + lasso[:, None] * side
    pair = ~held[:, :, None] & ~held[:, None, :]
    move = np.linalg.solve(
        np.where(pair, hessian, np.eye(3)), np.where(held, 0.0, -pull)[:, :, None]
    )[:, :, 0]
    solved = y + move
    after = slope + _times(hessian, move)
    slack = 1e-12 * (1.0 + np.abs(after))
    same_side = (np.sign(solved - centre) == side) | ~kinked
    free_right = same_side & (solved >= low) & (solved <= high)
    at_kink = (np.abs(after) <= lasso[:, None] + slack) & (side == 0)
    leaves = after + lasso[:, None] * side
    at_bound = ((y <= low) & (leaves >= -slack)) | ((y >= high) & (leaves <= slack))
    return solved, np.where(held, at_kink | at_bound, free_right).all(-1)


def _times(hessian: Floats, move: Floats) -> Floats:
    """Products (B, 3), not by BLAS: some of its kernels round by where in memory a row begins."""
    return np.asarray(sum(hessian[:, :, i] * move[:, i, None] for i in range(3)))


def shrink(x: Floats, by: Floats) -> Floats:
    """Soft threshold: move towards 0 by ``by``, stopping at 0."""
    return np.asarray(np.sign(x) * np.maximum(np.abs(x) - by, 0.0))


Rows = slice | Ints

LAMBDA = 0.01
ALPHA = 0.5
MAX_SLOPE = 1e3
IDENTITY = np.array([1.0, -1.0, 0.0])
_BLOCK = 32_768


def softplus(x: Floats) -> Floats:
    """log(1 + exp(x)) without overflow."""
    tail = np.abs(x)
    np.negative(tail, out=tail)
    np.exp(tail, out=tail)
    np.log1p(tail, out=tail)
    tail += np.maximum(x, 0.0)
    return tail


def sigmoid(x: Floats) -> Floats:
    """The logistic function without overflow; its upper half is exactly 1 minus its lower half."""
    tail = np.exp(-np.abs(x))
    small = tail / (1.0 + tail)
    return np.where(x < 0.0, small, 1.0 - small)


def column_blocks(n_columns: int, n: int, cells: int = _BLOCK) -> list[slice]:
    """Column slices of at most so many cells; by default they stay in a core's cache."""
    step = max(1, cells // max(n, 1))
    return [slice(start, min(start + step, n_columns)) for start in range(0, n_columns, step)]


def item_blocks(n: int) -> list[slice]:
    """Slices of n items whose arrays, of one column, stay in a core's cache."""
    return column_blocks(n, 1) or [slice(0, 0)]


def tied(slope: Floats) -> Floats:
    """Return parameters (B, 3) of m = a l from slopes (B,)."""
    return np.stack([slope, -slope, np.zeros_like(slope)], -1)


def fit_scale(
    logits: Floats,
    signs: Floats,
    weights: Floats | None = None,
    *,
    penalty: float | Floats = 0.0,
    alpha: float = ALPHA,
    lowest: float = 0.0,
    start: Floats | None = None,
) -> Floats:
    """Slope a in [lowest, MAX_SLOPE] minimising mean softplus(-s a l) + the tied penalty, (B,).

    ``penalty`` is lambda of the elastic net on d = (a - 1, -(a - 1), 0), the symmetric form of the
    beta calibrators: lambda [2 alpha |a - 1| + 2 (1 - alpha) (a - 1)^2]; 0 is temperature.
    ``penalty`` is a number or (B,); ``start`` (B,) is the starting point.
    """
    margin = logits * signs
    pull = 2.0 * _pull(penalty, alpha, len(margin))

    def visit(x: Floats, rows: Rows, items: slice) -> Floats:
        seen = margin[rows, items]
        loss, wrong, bend = _logistic(seen * -x[:, :1], _cells(weights, rows, items))
        slope = -np.vecdot(seen, wrong)
        bend *= seen
        return np.stack([loss, slope, np.vecdot(seen, bend)], -1)

    def measure(x: Floats, rows: Ints) -> Floats:
        sums = _by_blocks(visit, x, rows, margin.shape[-1]) / total[rows, None]
        lasso, ridge = pull[rows].T
        d = x[:, 0] - 1.0
        sums[:, 0] += lasso * np.abs(d) + ridge * d * d
        return np.concatenate([sums, pull[rows]], -1)

    def step(x: Floats, sums: Floats) -> Floats:
        _, slope, bend, lasso, ridge = sums.T
        slope = slope + 2.0 * ridge * (x[:, 0] - 1.0)
        bend = np.maximum(bend + 2.0 * ridge, 1e-12)
        target = shrink(x[:, 0] - slope / bend - 1.0, lasso / bend) + 1.0
        return np.clip(target, lowest, MAX_SLOPE)[:, None]

    total = _total(weights, margin)
    if start is None:
        start = _first_slope(margin, weights, total)
    return descend(np.clip(start, lowest, MAX_SLOPE)[:, None], measure, step)[0][:, 0]


def _first_slope(margin: Floats, weights: Floats | None, total: Floats) -> Floats:
    """Starting slope 2 mean / variance: exact for normal margins, too steep for skewed ones."""
    weighted = margin if weights is None else margin * weights
    mean, square = weighted.sum(-1) / total, np.vecdot(margin, weighted) / total
    spread = np.sqrt(np.maximum(square * (square - mean * mean), 1e-24))
    return np.asarray(np.clip(2.0 * mean / spread, 1e-3, 1.0))


def fit_platt(
    logits: Floats, signs: Floats, weights: Floats | None, *, start: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Platt scaling without penalty, a l + c, a >= 0; parameters (B, 3) as (a, -a, c), fitted (B,).

    A leave-out score leans slightly against its own label, because removing a right vote lowers the
    judge's weight and removing a wrong one raises it. A decreasing map would exploit that to
    recover the labels: if a < 0 fits best, a is 0 and c the log-odds of the labels. One-class
    labels and perfect separation have no finite optimum; they are reported as unfitted.
    """
    total = _total(weights, logits)

    def visit(x: Floats, rows: Rows, items: slice) -> Floats:
        seen, sign = logits[rows, items], _sign_cells(signs, rows, items)
        m = seen * -x[:, :1]
        m -= x[:, 1:]
        m *= sign
        loss, wrong, bend = _logistic(m, _cells(weights, rows, items))
        wrong *= sign
        cross = seen * bend
        return np.stack(
            [
                loss,
                -np.vecdot(seen, wrong),
                -wrong.sum(-1),
                np.vecdot(seen, cross),
                cross.sum(-1),
                bend.sum(-1),
            ],
            -1,
        )

    def measure(x: Floats, rows: Ints) -> Floats:
        return _by_blocks(visit, x, rows, logits.shape[-1]) / total[rows, None]

    def step(x: Floats, sums: Floats) -> Floats:
        _, slope, level, aa, ac, cc = sums.T
        aa, cc = aa + 1e-12, cc + 1e-12
        det = np.maximum(aa * cc - ac * ac, 1e-24)
        move = np.stack([cc * slope - ac * level, aa * level - ac * slope], -1) / det[:, None]
        return np.asarray(np.clip(x - move, -2.0 * MAX_SLOPE, 2.0 * MAX_SLOPE))

    x, nll, converged = descend(start[:, [0, 2]], measure, step)
    slope, level = x[:, 0], x[:, 1]
    positive = np.broadcast_to(signs > 0, logits.shape)
    seen = positive if weights is None else positive & (weights > 0)
    voted = logits.shape[-1] if weights is None else np.count_nonzero(weights, axis=-1)
    both = (seen.sum(-1) > 0) & (seen.sum(-1) < voted)
    fitted = converged & both & (nll > 1e-6) & (np.abs(x).max(-1) < MAX_SLOPE)
    weight = np.ones_like(logits) if weights is None else weights
    share = (weight * positive).sum(-1) / total
    with np.errstate(divide="ignore"):
        flat = np.log(share / (1.0 - np.minimum(share, 1.0 - 1e-16)))
    falls = (slope < 0.0) & both
    slope, level = np.where(falls, 0.0, slope), np.where(falls, flat, level)
    return np.stack([slope, -slope, level], -1), np.where(falls, converged, fitted)


def fit_beta(
    logits: Floats,
    signs: Floats,
    weights: Floats | None,
    *,
    start: Floats,
    penalty: float | Floats = LAMBDA,
    alpha: float = ALPHA,
    bounded: bool = True,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Beta calibration: mean NLL + lambda [alpha |d|_1 + (1 - alpha) |d|^2], d = (a-1, b+1, c).

    ``bounded`` keeps a >= 0 and b <= 0, so that the map is monotone. Returns the parameters (B, 3)
    and whether each column converged (B,). ``penalty`` is a number or (B,); if it is 0 there may be
    no finite optimum.
    """
    margin = logits * signs
    signed_log_p = -softplus(-logits)
    signed_log_p *= signs
    total = _total(weights, logits)
    pull = _pull(penalty, alpha, len(margin))
    free = np.full(3, np.inf)
    low = np.array([0.0, -np.inf, -np.inf]) if bounded else -free
    high = np.array([np.inf, 0.0, np.inf]) if bounded else free

    def visit(x: Floats, rows: Rows, items: slice) -> Floats:
        # With log(1 - p) = log p - l the map is (a + b) log p - b l + c, so sums over log p and l
        # suffice.
        log_p, line = signed_log_p[rows, items], margin[rows, items]
        sign = _sign_cells(signs, rows, items)
        m = log_p * -(x[:, :1] + x[:, 1:2])
        m += line * x[:, 1:2]
        m -= x[:, 2:] * sign
        loss, wrong, bend = _logistic(m, _cells(weights, rows, items))
        gradient = (np.vecdot(log_p, wrong), np.vecdot(line, wrong), np.vecdot(sign, wrong))
        bend_p, bend_l = log_p * bend, line * bend
        pp, pl, ll = np.vecdot(log_p, bend_p), np.vecdot(line, bend_p), np.vecdot(line, bend_l)
        pc, lc = np.vecdot(sign, bend_p), np.vecdot(sign, bend_l)
        return np.stack([loss, *gradient, pp, pl, ll, pc, lc, bend.sum(-1)], -1)

    def measure(x: Floats, rows: Ints) -> Floats:
        sums = _by_blocks(visit, x, rows, logits.shape[-1]) / total[rows, None]
        lasso, ridge = pull[rows].T
        d = x - IDENTITY
        sums[:, 0] += lasso * np.abs(d).sum(-1) + ridge * (d * d).sum(-1)
        return np.concatenate([sums, pull[rows]], -1)

    def step(x: Floats, sums: Floats) -> Floats:
        _, p, line, c, pp, pl, ll, pc, lc, cc, lasso, ridge = sums.T
        ridge = ridge[:, None]
        gradient = np.stack([-p, line - p, -c], -1) + 2.0 * ridge * (x - IDENTITY)
        pq, qc = pp - pl, pc - lc
        hessian = np.stack([pp, pq, pc, pq, pp - 2.0 * pl + ll, qc, pc, qc, cc], -1)
        # Without a ridge, too few distinct scores leave a flat direction; damping keeps it fixed.
        damped = 2.0 * ridge + 1e-12 + np.where(ridge > 0, 0.0, 1e-9) * hessian[:, [0, 4, 8]]
        curvature = hessian.reshape(-1, 3, 3) + np.eye(3) * damped[:, None, :]
        return elastic_newton(x, gradient, curvature, lasso, Box(IDENTITY, low, high))

    inside = np.clip(start, np.maximum(low, -MAX_SLOPE), np.minimum(high, MAX_SLOPE))
    x, _, converged = descend(inside, measure, step)
    return x, converged


def _pull(penalty: float | Floats, alpha: float, columns: int) -> Floats:
    """Weights (B, 2) of |d|_1 and of |d|^2."""
    given = np.broadcast_to(np.asarray(penalty, dtype=np.float64), (columns,))
    return np.stack([given * alpha, given * (1.0 - alpha)], -1)


def _by_blocks(
    visit: Callable[[Floats, Rows, slice], Floats], x: Floats, rows: Ints, n: int
) -> Floats:
    """Return sums (len(rows), q) of these columns over n items, in blocks that fit the cache."""
    whole = len(rows) > 0 and rows[-1] - rows[0] + 1 == len(rows)
    parts = []
    for block in column_blocks(len(rows), n):
        near = rows[block]
        # A slice is a view; an index array is a copy.
        chosen: Rows = slice(int(near[0]), int(near[-1]) + 1) if whole else near
        first, *others = (visit(x[block], chosen, items) for items in item_blocks(n))
        parts.append(sum(others, first))
    return np.concatenate(parts)


def _sign_cells(signs: Floats, rows: Rows, items: slice) -> Floats:
    return signs[items] if signs.ndim == 1 else signs[rows, items]


def _cells(weights: Floats | None, rows: Rows, items: slice) -> Floats | None:
    return None if weights is None else weights[rows, items]


def _logistic(m: Floats, weights: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Return the weighted sum of softplus(m) (b,), and its first and second derivatives (b, n).

    ``m`` is overwritten. All three share one exp, whose overflow is corrected.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(m)
        right = e + 1.0
        loss = np.log1p(e)
        np.reciprocal(right, out=right)
        wrong = np.multiply(e, right, out=e)
        if weights is not None:
            loss *= weights
        total = loss.sum(-1)
    if not np.isfinite(total).all():
        high = m > 700.0
        loss[high] = m[high] if weights is None else (m * weights)[high]
        wrong[high] = 1.0
        total = loss.sum(-1)
    if weights is not None:
        wrong *= weights
    return total, wrong, np.multiply(wrong, right, out=right)


def _total(weights: Floats | None, logits: Floats) -> Floats:
    if weights is None:
        return np.full(len(logits), float(max(logits.shape[-1], 1)))
    total = weights.sum(-1)
    return np.asarray(np.where(total > 0.0, total, 1.0))


_TIE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Knots:
    """A piecewise linear map: probabilities ``p`` (K,), non-decreasing, at ``logits`` (K,).

    Under ``odd`` the knots are those of |l| from 0 on, where p is 1/2, and p(-l) = 1 - p(l).
    """

    logits: Floats
    p: Floats
    odd: bool

    def __call__(self, logits: Floats) -> Floats:
        """Return calibrated logits, p clipped to [.001, .999]; exactly odd if ``odd``."""
        p = np.interp(np.abs(logits) if self.odd else logits, self.logits, self.p)
        p = np.clip(p, CLIP, 1.0 - CLIP)
        calibrated = np.log(p) - np.log1p(-p)
        return np.asarray(np.where(self.odd & (logits < 0.0), -calibrated, calibrated))


def fit_isotonic(
    logits: Floats, signs: Floats, weights: Floats | None = None, *, symmetric: bool = False
) -> Knots:
    """Fit one column of raw logits (n,), signs (n,) in {-1, +1} and weights (n,) at least 0.

    ``symmetric`` fits every item and its swap. Each item then contributes at |l| whether the sign
    of l is right. The fit to items and swaps equals that fit on |l|, raised to 1/2 where it is
    below: bounds clip an isotonic regression, and p(-l) = 1 - p(l) keeps p at or above 1/2 for l >
    0.
    """
    x = np.abs(logits) if symmetric else logits
    hit = (logits * signs > 0.0) if symmetric else (signs > 0.0)
    weighted = np.ones(len(x), dtype=bool) if weights is None else weights > 0.0
    if symmetric:
        weighted &= x > _TIE  # an item and its swap at 0 average to 1/2 whatever the label
    if not weighted.any():
        return Knots(np.zeros(1), np.full(1, 0.5), symmetric)
    weight = np.ones(int(weighted.sum())) if weights is None else weights[weighted]
    at, p = _pooled(x[weighted], hit[weighted].astype(np.float64), weight)
    if symmetric:
        at, p = np.append(0.0, at), np.append(0.5, np.maximum(p, 0.5))
    return Knots(at, p, symmetric)


def _pooled(x: Floats, y: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the first and last score of every block, and the mean of y in it: (K,) and (K,)."""
    order = np.argsort(x)
    x, y, weight = x[order], y[order], weight[order]
    # Scores that differ only by rounding are one score.
    first = np.flatnonzero(np.append(True, np.diff(x) > _TIE * (1.0 + np.abs(x[:-1]))))
    mass = np.add.reduceat(weight, first)
    mean = np.add.reduceat(weight * y, first) / mass
    pooled = scipy.optimize.isotonic_regression(np.minimum(mean, 1.0), weights=mass)
    ends = np.unique(np.concatenate([pooled.blocks[:-1], pooled.blocks[1:] - 1]))
    return x[first][ends], np.clip(pooled.x[ends], 0.0, 1.0)


UNDISTORTED = "undistorted"
SQUARE, ROOT = "square", "square_root"
INVERSION, SHUFFLE = "inversion", "shuffle"


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """Noise parameters of the distortions.

    ``weak`` and ``strong`` are standard deviations of noise on r in [0, 1], ``turned`` is the share
    of scores that binary noise inverts; ``donors`` (n,) is the item whose score each item gets when
    scores are shuffled.
    """

    weak: float
    strong: float
    turned: float
    donors: Ints


Change = Callable[[Floats, Noise, np.random.Generator], Floats]


def square(logits: Floats) -> Floats:
    """Logit of r^2: 2 log r - log(1 - r) - log(1 + r)."""
    return np.asarray(-2.0 * softplus(-logits) + softplus(logits) - np.log1p(sigmoid(logits)))


def square_root(logits: Floats) -> Floats:
    """Logit of sqrt(r): log(r) / 2 - log(1 - r) + log(1 + sqrt(r))."""
    half = -0.5 * softplus(-logits)
    return np.asarray(half + softplus(logits) + np.log1p(np.exp(half)))


def noisy(logits: Floats, sd: float, rng: np.random.Generator) -> Floats:
    """Logit of r plus normal noise, clipped to [.001, .999]."""
    p = np.clip(sigmoid(logits) + sd * rng.standard_normal(logits.shape), CLIP, 1.0 - CLIP)
    return np.asarray(np.log(p) - np.log1p(-p))


def turned_round(logits: Floats, share: float, rng: np.random.Generator) -> Floats:
    """Logit of r after a random share of the scores, drawn per item, becomes 1 - r."""
    return np.where(rng.random(logits.shape) < share, -logits, logits)


CHANGES: Mapping[str, Change] = {
    SQUARE: lambda logits, noise, rng: square(logits),
    ROOT: lambda logits, noise, rng: square_root(logits),
    "noise_weak": lambda logits, noise, rng: noisy(logits, noise.weak, rng),
    "noise_strong": lambda logits, noise, rng: noisy(logits, noise.strong, rng),
    "binary_noise": lambda logits, noise, rng: turned_round(logits, noise.turned, rng),
    INVERSION: lambda logits, noise, rng: -logits,
    SHUFFLE: lambda logits, noise, rng: logits[noise.donors],
}
"""Raw logits (n,) under each of the seven distortions, by name."""

DISTORTIONS = tuple(CHANGES)
