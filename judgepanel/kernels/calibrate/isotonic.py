"""Isotonic calibration of one score column: the best non-decreasing probability of label 1.

Pool adjacent violators on the unclipped logit (Zadrozny and Elkan 2002, doi:10.1145/775047.775151).
The probability is linear in the logit between the knots and constant beyond the outermost, as in
scikit-learn's ``IsotonicRegression(out_of_bounds="clip")``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from judgepanel.arrays import Floats
from judgepanel.scoring.metrics import CLIP

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
