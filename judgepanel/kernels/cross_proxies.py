"""Proxies of labels from votes, fitted to few labels by cross-fitting.

The labelled items are cut into folds. Each fold is predicted by what was fitted to the others, and
unlabelled items by the mean of all fits, so that no item's label shapes its own proxy. A fit is an
average of ridge regressions of the label on

- the share of votes for 1, and
- the votes of all judges together with that share,

each with a path of ridges: with few labels, or many judges with few votes each, the share of votes
is hard to beat, and with more labels the votes are. Every regression is scored on the rows that it
was fitted to, each left out once, which has a closed form; weights fall with the mean squared error
as those of models with one more parameter do with AIC (Burnham and Anderson 2004,
doi:10.1177/0049124104268644), so that the choice is made within the fold, too. The error is squared
as the variance is that a proxy leaves (:mod:`judgepanel.scoring.prediction_powered`).

Cost with n labels, N items and J judges: O(K n J min(n, J)) for K folds, and O(K N J) to predict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.scoring.splits import folds

RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Penalties, inverted, for features whose mean squared norm is 1."""
N_FOLDS = 10
FOLDS_STREAM = (7, 51)
_LEAST = 1e-4
"""Mean squared errors below this are not told apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Ridge regressions on several sets of features: predictions are ``weights`` of clipped fits.

    ``slopes`` holds (n_ridges, p) of each set, ``levels`` (n_ridges,), ``weights`` (n_ridges,).
    """

    slopes: tuple[Floats, ...]
    levels: tuple[Floats, ...]
    weights: tuple[Floats, ...]

    def predict(self, designs: Sequence[Floats]) -> Floats:
        """Return proxies (n,) in [0, 1] of features (n, p), one array per set."""
        total = np.zeros(len(designs[0]))
        for design, slopes, levels, weights in zip(
            designs, self.slopes, self.levels, self.weights, strict=True
        ):
            some = weights > 1e-6 * weights.max()
            total += np.clip(design @ slopes[some].T + levels[some], 0.0, 1.0) @ weights[some]
        return np.clip(total, 0.0, 1.0)


def designs_of(votes: Votes) -> tuple[Floats, Floats]:
    """Return the features of signed votes (n, J), 0 where missing: their share; votes and share."""
    cast = (votes != 0).sum(axis=1)
    share = votes.sum(axis=1) / (cast + 1.0)
    spread = share.std()
    share = (share - share.mean())[:, None] / (spread if spread > 0.0 else 1.0)
    scale = np.sqrt(max(float(cast.mean()), 1e-12))
    return share, np.concatenate([votes / scale, share], axis=1)


def fit_paths(designs: Sequence[Floats], labels: Floats) -> Paths:
    """Fit all regressions to labels (n,), and weigh them by their errors on rows left out."""
    n, slopes, levels, errors = len(labels), [], [], []
    inverse = 1.0 / np.asarray(RIDGES)[:, None]
    for design in designs:
        middle, level = design.mean(axis=0), labels.mean()
        left, size, right = np.linalg.svd(design - middle, full_matrices=False)
        along = left.T @ (labels - level)
        shrunk = size**2 / (size**2 + inverse)
        fit = level + (shrunk * along) @ left.T
        own = np.minimum(shrunk @ (left**2).T + 1.0 / n, 1.0 - 1e-3)
        without = labels - (labels - fit) / (1.0 - own)
        errors.append(((np.clip(without, 0.0, 1.0) - labels) ** 2).mean(axis=1))
        slope = (size / (size**2 + inverse) * along) @ right
        slopes.append(slope)
        levels.append(level - slope @ middle)
    every = np.concatenate(errors)
    least = max(float(every.min()), _LEAST)
    weights = np.exp(-n * (every - every.min()) / (2.0 * least))
    parts = np.split(weights / weights.sum(), len(designs))
    return Paths(tuple(slopes), tuple(levels), tuple(parts))


def cross_proxies(votes: Votes, labels: Floats, units: Ints, *, seed: int) -> Floats:
    """Return proxies (n,) of all items, about in [0, 1]; no label shapes that of its own unit.

    Parameters
    ----------
    votes : int8 (n, J), 1 and -1, 0 where missing.
    labels : float (n,), 0 or 1, NaN where an item has none.
    units : int (n,), codes of items that stay in one fold.
    seed : seed of the folds.
    """
    designs = designs_of(votes)

    def predict(rows: Ints) -> Floats:
        return fit_paths([design[rows] for design in designs], labels[rows]).predict(designs)

    return cross_fitted(predict, labels, units, seed=seed)


def best_judge(votes: Votes, labels: Floats, units: Ints, *, seed: int) -> Floats:
    """Return the verdicts (n,) of the judge who is right most often on the labels of other folds.

    Parameters are those of :func:`cross_proxies`; a missing vote is one half.
    """
    signs = np.sign(2.0 * labels - 1.0)

    def predict(rows: Ints) -> Floats:
        known = votes[rows]
        right = (known * signs[rows, None] > 0).sum(axis=0) + 1.0
        best = np.argmax(right / ((known != 0).sum(axis=0) + 2.0))
        return np.asarray((votes[:, best] + 1.0) / 2.0, dtype=np.float64)

    return cross_fitted(predict, labels, units, seed=seed)


def cross_fitted(
    predict: Callable[[Ints], Floats], labels: Floats, units: Ints, *, seed: int
) -> Floats:
    """Return predictions (n,), those of a labelled unit by what was fitted to the other folds.

    ``predict`` returns predictions of all items after a fit to some labelled rows. Unlabelled units
    get the mean of all fits. With labels in fewer than two units, all get the mean label.
    """
    rows = np.flatnonzero(np.isfinite(labels))
    if len(np.unique(units[rows])) < 2:
        return np.full(len(labels), labels[rows].mean() if len(rows) else 0.5)
    blank = np.isnan(labels)
    total, own = np.zeros(len(labels)), np.full(len(labels), np.nan)
    parts = folds(units, rows, N_FOLDS, seed=seed, key=FOLDS_STREAM)
    for part in parts:
        predicted = predict(part.calibration)
        held = np.isin(units, units[part.evaluation])
        # Fits differ in level, which says nothing about the items of a fold.
        own[held] = predicted[held] - (predicted[blank].mean() if blank.any() else 0.0)
        total += predicted / len(parts)
    level = total[blank].mean() if blank.any() else 0.0
    return np.where(np.isfinite(own), own + level, total)
