"""Proper scores and calibration error of probabilities against labels, batched over panels.

Everything is computed from the *calibrated logit* m with p = sigma(m), so no precision is lost in
the tails; only the final p is clipped to [.001, .999] (the paper's section 4.1).

Matrix products in single precision, for counts that stay exact and steps that need no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from judgepanel.arrays import Floats

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


def item_scores(
    logits: Floats, signs: Floats, *, symmetric: bool = False, out: ItemScores | None = None
) -> ItemScores:
    """Score calibrated logits against labels.

    Parameters
    ----------
    logits : float (..., n_items), calibrated logits m.
    signs : float (n_items,) or broadcastable, +1 if the label is 1, -1 if it is 0.
    symmetric : whether the order of the responses has no meaning (a tie is then half right).
    out : scores to overwrite and return, see :func:`blank_scores`.
    """
    scores = blank_scores(np.broadcast_shapes(logits.shape, signs.shape)) if out is None else out
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


def skill(nll: Floats, null_nll: float) -> Floats:
    """1 - NLL / NLL_null: 0 is no better than the base rate, 1 is perfect."""
    return np.asarray(1.0 - nll / null_nll)


def single_product(left: Any, right: Any) -> Any:
    """``left @ right`` in single precision; sparse if either of them is.

    Sums of ones are exact below 2^24.
    """
    # Some BLAS kernels also compute padding and flag it as invalid, although they discard it.
    with np.errstate(invalid="ignore"):
        return left.astype(np.float32, copy=False) @ right.astype(np.float32, copy=False)
