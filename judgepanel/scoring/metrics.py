"""Proper scores and calibration error of probabilities against labels, batched over panels.

Everything is computed from the *calibrated logit* m with p = sigma(m), so no precision is lost in
the tails; only the final p is clipped to [.001, .999] (the paper's section 4.1).

Matrix products in single precision, for counts that stay exact and steps that need no more.

Calibration error in bins of confidence: its noise, and its size under perfect calibration.

Confidence is max(p, 1 - p), in [.5, 1]; bins are right-open, the last one closed.

Calibration slope and intercept: do stated log-odds match the observed ones?

The labels are regressed on the stated logit m, logit P(label 1) = a + b m (Cox 1958,
doi:10.1093/biomet/45.3-4.562). Calibrated probabilities have slope b = 1 and intercept a = 0; b
below 1 means overconfidence, above 1 underconfidence; a above 0 means that label 1 is more frequent
than stated. If an item and its swap are both scored, a is 0 by construction.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.splits import stream

CLIP = 1e-3
ECE_BINS = 10


@dataclass(frozen=True, slots=True, eq=False)
class ItemScores:
    """Scores of every item under every panel: each array is (..., n_items).

    ``nll`` in nats; ``brier`` (p - z)^2 in [0, 1]; ``hit`` 1 if the decision p >= .5 is right, else
    0 (under symmetric scoring a tie at p = .5 counts one half); ``ece`` (...,) in [0, 1].
    """

    nll: Floats
    brier: Floats
    hit: Floats
    ece: Floats

    def part(self, block: slice) -> ItemScores:
        """Return a view of a block of panels."""
        return ItemScores(self.nll[block], self.brier[block], self.hit[block], self.ece[block])

    def items(self, some: slice) -> ItemScores:
        """Return a view of some of the items; ``ece`` remains that of all."""
        return ItemScores(self.nll[..., some], self.brier[..., some], self.hit[..., some], self.ece)

    def put(self, start: int, part: ItemScores) -> int:
        """Overwrite the panels from ``start`` on with others; return where these end."""
        end = start + len(part.ece)
        for name in ("nll", "brier", "hit", "ece"):
            getattr(self, name)[start:end] = getattr(part, name)
        return end


def blank_scores(shape: tuple[int, ...]) -> ItemScores:
    """Allocate scores for calibrated logits of this shape (..., n_items)."""
    nll, brier, hit = (np.empty(shape) for _ in range(3))
    return ItemScores(nll, brier, hit, np.empty(shape[:-1]))


def item_scores(logits: Floats, signs: Floats, *, symmetric: bool = False) -> ItemScores:
    """Score calibrated logits against labels.

    Parameters
    ----------
    logits : float (..., n_items), calibrated logits m.
    signs : float (n_items,) or broadcastable, +1 if the label is 1, -1 if it is 0.
    symmetric : whether the order of the responses has no meaning (a tie is then half right).
    """
    scores = blank_scores(np.broadcast_shapes(logits.shape, signs.shape))
    above = score_items(logits, signs, scores, symmetric=symmetric)
    scores.ece[...] = gap_of(above, logits.shape[-1])
    return scores


def score_items(
    logits: Floats, signs: Floats, out: ItemScores, *, symmetric: bool = False
) -> Floats:
    """Overwrite the scores of these items in ``out``, all but the ECE of the panels.

    Returns
    -------
    above : float (ECE_BINS, ...), sums from which :func:`gap_of` computes the ECE; those of
        several sets of items add up.
    """
    p_true = _p_true(logits, signs)
    np.greater(p_true, 0.5, out=out.hit)
    tied = p_true == 0.5
    if tied.any():
        out.hit[...] += tied * (0.5 if symmetric else (signs > 0))
    error = 1.0 - p_true
    np.multiply(error, error, out=out.brier)
    np.log(p_true, out=out.nll)
    np.negative(out.nll, out=out.nll)
    return gaps_above(np.maximum(p_true, error, out=error), out.hit, ECE_BINS)


def mean_nll(logits: Floats, signs: Floats) -> Floats:
    """Mean ``nll`` of the items, (...,); shapes as in :func:`item_scores`."""
    return np.asarray(item_nll(logits, signs).mean(axis=-1))


def item_nll(logits: Floats, signs: Floats) -> Floats:
    """``nll`` of the items, (..., n_items); shapes as in :func:`item_scores`."""
    p_true = _p_true(logits, signs)
    np.log(p_true, out=p_true)
    return np.negative(p_true, out=p_true)


def _p_true(logits: Floats, signs: Floats) -> Floats:
    """Probability of the true label, clipped; an overflowing exp correctly gives 0."""
    p_true = np.multiply(logits, -signs)
    with np.errstate(over="ignore"):
        np.exp(p_true, out=p_true)
    p_true += 1.0
    np.reciprocal(p_true, out=p_true)
    return np.clip(p_true, CLIP, 1.0 - CLIP, out=p_true)


def gaps_above(confidence: Floats, hit: Floats, bins: int) -> Floats:
    """Sums of hit - confidence over the items above the lower edge of each bin, (bins, ...).

    ``bins`` equal-width bins on [0, 1], right-open except the last (paper, section 4.1).
    """
    gap = hit - confidence
    position = confidence * bins
    lowest = int(position.min(initial=bins))
    # Differences of the sums above each edge give the bins, at a third of the cost of bincount.
    above = np.empty((bins, *gap.shape[:-1]))
    above[: lowest + 1] = gap.sum(axis=-1)
    mask = np.empty_like(gap)
    for edge in range(lowest + 1, bins):
        above[edge] = np.vecdot(np.greater_equal(position, edge, out=mask), gap)
    return above


def gap_of(above: Floats, n: int) -> Floats:
    """Expected calibration error of n items: sum over bins of |sum(hit - confidence)| / n, (...,).

    ``above`` (bins, ...) is the sum of :func:`gaps_above` over all items.
    """
    total = np.abs(above[-1])
    for outer, inner in pairwise(above):
        total = total + np.abs(outer - inner)
    return np.asarray(total / max(n, 1))


def null_logit(labels01_mean: float, *, symmetric: bool) -> float:
    """Logit of the null prediction: the base rate of the calibration rows, .5 if symmetric."""
    rate = 0.5 if symmetric else float(np.clip(labels01_mean, CLIP, 1.0 - CLIP))
    return float(np.log(rate / (1.0 - rate)))


def single_product(left: Any, right: Any) -> Any:
    """``left @ right`` in single precision; sparse if either of them is.

    Sums of ones are exact below 2^24.
    """
    # Some BLAS kernels also compute padding and flag it as invalid, although they discard it.
    with np.errstate(invalid="ignore"):
        return left.astype(np.float32, copy=False) @ right.astype(np.float32, copy=False)


STATED = (0.5, 0.55, 0.65, 0.75, 0.85, 0.95, 1.0)
"""Edges of bins centred on commonly stated confidences: 60 %, 70 %, 80 %, 90 %."""


def equal_width_edges(bins: int) -> Floats:
    """Edges of the equal-width bins on [0, 1] (the paper, section 4.1) that reach above .5."""
    edges = np.arange(bins + 1) / bins
    return np.asarray(edges[np.searchsorted(edges, 0.5, side="right") - 1 :])


def bin_of(confidence: Floats, edges: Floats) -> Ints:
    """Return the index of the bin that holds each confidence."""
    return np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, len(edges) - 2)


def excess_gap(gap: Floats, se: Floats) -> Floats:
    """Expected excess of |gap| over the true |gap|, given the standard error of the gap.

    ``se`` is that of the gap for the given panels over new items: a panel's own error is the
    quantity measured, not noise. E|N(gap, se^2)| - |gap|: the plug-in correction of Kumar, Liang
    and Ma 2019 (arXiv:1909.10155, 'debiased' calibration error) with a folded normal in closed
    form. It corrects too little rather than too much: the remaining bias is upward.
    """
    size = np.abs(gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(se > 0, size / se, np.inf)
    folded = 2.0 * se * distributions.norm_pdf(t) + size * (1.0 - 2.0 * distributions.norm_sf(t))
    return np.asarray(folded - size)


@dataclass(frozen=True, slots=True, eq=False)
class SharedLuck:
    """Groups of items whose outcomes are correlated.

    ``group`` int (n_items,) and ``correlation`` in [0, 1] of the items' normal scores within a
    group.
    """

    group: Ints
    correlation: float


def shared_luck(residual: Floats, group: Ints) -> SharedLuck:
    """Estimate the within-group correlation from residuals (n_items,) right - stated.

    The intraclass correlation r of the residuals, from products of pairs, is converted to that of
    normal scores by sin(pi r / 2), which is exact for probabilities of 1/2.
    """
    _, codes = np.unique(group, return_inverse=True)
    centred = residual - residual.mean()
    sizes = np.bincount(codes)
    pairs = float((sizes * (sizes - 1)).sum())
    sums, squares = np.bincount(codes, centred), np.bincount(codes, centred**2)
    spread = float(squares.sum()) / len(residual)
    if pairs == 0.0 or spread == 0.0:
        return SharedLuck(codes, 0.0)
    within = float((sums**2 - squares).sum()) / pairs / spread
    return SharedLuck(codes, float(np.sin(np.pi / 2.0 * np.clip(within, 0.0, 1.0))))


def chance_errors(
    p: Floats,
    cells: Ints,
    item: Ints,
    weights: Floats,
    *,
    n_cells: int,
    draws: int,
    seed: int,
    shared: SharedLuck | None = None,
) -> Floats:
    """Calibration errors (draws,) of a panel whose probabilities are all correct.

    Each draw gives every item one uniform number u, and an evaluation the label 1 if u < p: all
    evaluations are then calibrated, and those of one item share its u, as real ones do (consistency
    resampling, Broecker and Smith 2007, doi:10.1175/WAF993.1, with one u per item).

    Parameters
    ----------
    p : float (n,), probability of label 1 of every evaluation.
    cells, item : int (n,), the bin (or bin and split) in 0..n_cells - 1, and the item.
    weights : float (n,), weights of the evaluations; they sum to 1.
    shared : groups of correlated items; None if items are independent.
    """
    confidence, up = np.maximum(p, 1.0 - p), p >= 0.5
    stated = np.bincount(cells, weights * confidence, n_cells)
    errors = np.empty(draws)
    rng = stream(seed, 7, 12)
    n_items = int(item.max()) + 1
    leans_up = np.bincount(item, p - 0.5, n_items) >= 0
    for draw in range(draws):
        luck = rng.random(n_items) if shared is None else _luck(rng, shared, n_items)
        label = np.where(leans_up, luck, 1.0 - luck)[item] < p
        errors[draw] = np.abs(np.bincount(cells, weights * (label == up), n_cells) - stated).sum()
    return errors


def _luck(rng: np.random.Generator, shared: SharedLuck, n_items: int) -> Floats:
    """Uniform numbers (n_items,), correlated within groups; below the confidence means right."""
    common = rng.standard_normal(int(shared.group.max()) + 1)[shared.group]
    own = rng.standard_normal(n_items)
    rho = shared.correlation
    return np.asarray(scipy.special.ndtr(np.sqrt(rho) * common + np.sqrt(1.0 - rho) * own))


_ITERATIONS = 60
_DONE = 1e-14
_LARGEST = 1e3
_PERFECT = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Recalibration:
    """``slope`` and ``intercept`` (0 under ``symmetric``) with influence values.

    ``influence`` (2, n) are influence values of the slope and the intercept: their weighted mean is
    0, and adding them to the estimates makes each a mean, with a mean's variance.
    """

    slope: float
    intercept: float
    influence: Floats


def recalibrate(
    logits: Floats, signs: Floats, weights: Floats, *, symmetric: bool = False
) -> Recalibration | None:
    """Fit slope and intercept by maximum likelihood; None if there is no finite fit.

    There is none if one class is missing (unless ``symmetric``), or if the logit has no spread or
    separates the labels perfectly.

    Parameters
    ----------
    logits : float (n,), stated logits, finite.
    signs : float (n,), +1 if the label is 1, -1 if it is 0.
    weights : float (n,), positive.
    """
    weights = weights / weights.sum()
    scale = float(np.sqrt(weights @ logits**2))
    if scale == 0.0:
        return None
    columns = [logits / scale] if symmetric else [logits / scale, np.ones(len(logits))]
    design = np.stack(columns)
    newton = _newton(design, signs, weights)
    if newton is None:
        return None
    theta, hessian = newton
    wrong = _sigmoid(-signs * (theta @ design))
    moves: Floats = np.asarray(np.linalg.solve(hessian, design * (signs * wrong)), dtype=np.float64)
    theta[0], moves[0] = theta[0] / scale, moves[0] / scale
    if symmetric:
        return Recalibration(float(theta[0]), 0.0, np.stack([moves[0], np.zeros(len(signs))]))
    return Recalibration(float(theta[0]), float(theta[1]), moves)


def _newton(design: Floats, signs: Floats, weights: Floats) -> tuple[Floats, Floats] | None:
    """Damped Newton from 0: return parameters and Hessian, None without a finite fit."""
    theta = np.zeros(len(design))
    loss = _loss(theta, design, signs, weights)
    for _ in range(_ITERATIONS):
        wrong = _sigmoid(-signs * (theta @ design))
        gradient = design @ (weights * signs * wrong)
        hessian = (design * (weights * wrong * (1.0 - wrong))) @ design.T
        if loss < _PERFECT or np.linalg.cond(hessian) > 1.0 / np.finfo(float).eps:
            return None
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > 1e-8:
            moved = theta + size * step
            new = _loss(moved, design, signs, weights)
            if new <= loss:
                break
            size /= 2.0
        if np.abs(gradient @ step) < _DONE:
            return theta, hessian
        theta, loss = moved, new
        if np.abs(theta).max() > _LARGEST:
            return None
    return None


def _loss(theta: Floats, design: Floats, signs: Floats, weights: Floats) -> float:
    return float(weights @ np.logaddexp(0.0, -signs * (theta @ design)))


def _sigmoid(x: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-x)))
