"""Proxies of labels from votes, fitted to few labels by cross-fitting.

The labelled items are cut into folds. Each fold is predicted by what was fitted to the others, and
unlabelled items by the mean of all fits, so that no item's label shapes its own proxy. A fit is an
average of ridge regressions of the label on

- the share of votes for 1,
- the verdict of the majority, and
- the votes of all judges together with the share,

each with a path of ridges: with few labels, or many judges with few votes each, the share of votes
is hard to beat, with more labels the votes are, and where the majority is nearly always right its
verdict is. Every regression is scored on the rows that it
was fitted to, each left out once, which has a closed form; weights fall with the mean squared error
as those of models with one more parameter do with AIC (Burnham and Anderson 2004,
doi:10.1177/0049124104268644), so that the choice is made within the fold, too. The error is squared
as the variance is that a proxy leaves (:mod:`judgepanel.scoring.prediction_powered`).

Cost with n labels, N items and J judges: O(K n J min(n, J)) for K folds, and O(K N J) to predict,
in blocks of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.kernels.maps import column_blocks
from judgepanel.scoring.splits import folds

RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Penalties, inverted, for features whose mean squared norm is 1."""
N_FOLDS = 10
FOLDS_STREAM = (7, 51)
PRIOR_VOTES = 2.0
_LEAST = 1e-4
"""Mean squared errors below this are not told apart."""
_UNSEEN = 1e-6
"""Fits of a smaller weight are left out."""
_CELLS = 4_000_000


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
            some = weights > _UNSEEN
            total += np.clip(design @ slopes[some].T + levels[some], 0.0, 1.0) @ weights[some]
        return total


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Features of signed votes (n, J), 0 where missing, made for some rows at a time.

    ``share`` (n,) is the standardised share of votes for 1, ``verdict`` (n,) that of the majority,
    1, -1, or 0 for a tie; ``scale`` is the root of the mean number of votes.
    """

    votes: Votes
    share: Floats
    verdict: Floats
    scale: float

    @classmethod
    def of(cls, votes: Votes) -> Features:
        """Return the features of signed votes (n, J)."""
        cast = np.count_nonzero(votes, axis=1)
        total = votes.sum(axis=1, dtype=np.int64)
        share = total / (cast + 1.0)
        spread = share.std()
        share = (share - share.mean()) / (spread if spread > 0.0 else 1.0)
        verdict = np.sign(total).astype(np.float64)
        return cls(votes, share, verdict, float(np.sqrt(max(cast.mean(), 1e-12))))

    def designs(self, rows: Ints | slice) -> tuple[Floats, Floats, Floats]:
        """Return the sets of features of some rows: share; verdict; all votes and the share."""
        share, verdict = self.share[rows][:, None], self.verdict[rows][:, None]
        return share, verdict, np.concatenate([self.votes[rows] / self.scale, share], axis=1)

    def fitted(self, rows: Ints, labels: Floats) -> Floats:
        """Return proxies (n,) of all items, fitted to the labels of some rows."""
        return self.predict(fit_paths(self.designs(rows), labels[rows]))

    def predict(self, paths: Paths) -> Floats:
        """Return proxies (n,) of all items."""
        blocks = column_blocks(len(self.votes), self.votes.shape[1], _CELLS)
        return np.concatenate([paths.predict(self.designs(block)) for block in blocks])


def fit_paths(designs: Sequence[Floats], labels: Floats) -> Paths:
    """Fit all regressions to labels (n,), and weigh them by their errors on rows left out."""
    fits = [_fit_path(design, labels) for design in designs]
    every = np.concatenate([errors for _, _, errors in fits])
    least = max(float(every.min()), _LEAST)
    weights = np.exp(-len(labels) * (every - every.min()) / (2.0 * least))
    parts = np.split(weights / weights.sum(), len(designs))
    slopes, levels = (tuple(fit[k] for fit in fits) for k in (0, 1))
    return Paths(slopes, levels, tuple(parts))


def _fit_path(design: Floats, labels: Floats) -> tuple[Floats, Floats, Floats]:
    """Slopes (n_ridges, p), levels and errors on rows left out (n_ridges,) of one set.

    The smaller of the two Gram matrices gives all ridges at once.
    """
    n, p = design.shape
    middle, level = design.mean(axis=0), float(labels.mean())
    away, gap = design - middle, labels - level
    penalty = 1.0 / np.asarray(RIDGES)[:, None]
    if p <= n:
        square, axes = np.linalg.eigh(away.T @ away)
        along = away @ axes
        inverse = 1.0 / (np.maximum(square, 0.0) + penalty)
        slopes = (inverse * (along.T @ gap)) @ axes.T
        own = inverse @ (along**2).T
    else:
        square, axes = np.linalg.eigh(away @ away.T)
        inverse = 1.0 / (np.maximum(square, 0.0) + penalty)
        slopes = ((inverse * (axes.T @ gap)) @ axes.T) @ away
        own = (np.maximum(square, 0.0) * inverse) @ (axes**2).T
    fit = level + slopes @ away.T
    without = labels - (labels - fit) / (1.0 - np.minimum(own + 1.0 / n, 1.0 - 1e-3))
    errors = ((np.clip(without, 0.0, 1.0) - labels) ** 2).mean(axis=1)
    return slopes, level - slopes @ middle, errors


def cross_proxies(votes: Votes, labels: Floats, units: Ints, *, seed: int) -> Floats:
    """Return proxies (n,) of all items, about in [0, 1]; no label shapes that of its own unit.

    Parameters
    ----------
    votes : int8 (n, J), 1 and -1, 0 where missing.
    labels : float (n,), 0 or 1, NaN where an item has none.
    units : int (n,), codes of items that stay in one fold.
    seed : seed of the folds.
    """
    features = Features.of(votes)
    return cross_fitted(lambda rows: features.fitted(rows, labels), labels, units, seed=seed)


def cross_proxies_of_best(
    votes: Votes, labels: Floats, units: Ints, k: int, *, seed: int
) -> Floats:
    """Return the proxies (n,) of the k judges who tell most about the labels of other folds.

    Parameters are those of :func:`cross_proxies`; with all judges so are the proxies.
    """

    def predict(rows: Ints) -> Floats:
        # By correlation with the labels, shrunk as if two more votes said nothing, so that a judge
        # of a few votes is not first.
        gap, away = labels[rows] - labels[rows].mean(), votes[rows] - votes[rows].mean(axis=0)
        slope = (gap @ away) / np.sqrt((away**2).sum(axis=0) + PRIOR_VOTES)
        chosen = np.sort(np.argsort(-slope, kind="stable")[:k])
        return Features.of(votes[:, chosen]).fitted(rows, labels)

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
