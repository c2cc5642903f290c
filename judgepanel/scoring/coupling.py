"""Do items that score badly also make panels worse? The covariance of an item's two roles.

Write the score of an evaluation set E of a panel fitted on the set C of all other items as

    m(E, C) = mu + mean over E of a_i + mean over C of b_i,

a_i what item i adds where it is scored and b_i what it does to panels that learn from it. Splits
use every item in both roles, and over samples of N items the mean of many splits has variance

    (Var a + Var b + 2 Cov(a, b)) / N.

The sum in :mod:`judgepanel.scoring.inference` takes the two roles as unrelated. Its variance over
splits already holds -2 Cov(a, b)/N, because an item that scores cannot calibrate: at half and half
a negative covariance makes the interval too wide by as much as a positive one makes it too narrow.
Easy items are a positive case. They make panels confident, and where votes go wrong at scoring time
alone it is on them that confident panels lose most.

The score of item i in split s is fitted as a_i + B_s by least squares (only the means over items
and over splits are needed), B_s the mean of b over C. With A_s the mean of a over E, drawing
without replacement gives Cov(A_s, B_s) = -Cov(a, b)/N.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_SWEEPS = 40


def coupling(item_means: Floats, split_means: Floats, evaluated: Bools) -> Floats:
    """Cov(a, b)/N (n,), never below 0, for :func:`judgepanel.scoring.inference.estimate`.

    S splits know the covariance with a standard error of sqrt(Var A Var B / (S - 1)) only. One is
    added, so that few splits err to the wide side; what is then still negative counts as 0.

    Parameters
    ----------
    item_means : float (n, N), mean over its evaluations of each item's value.
    split_means : float (S, n), mean over the evaluation items of each split; S >= 2.
    evaluated : bool (S, N), which items each split evaluates; each item at least once.
    """
    sides = evaluated.astype(np.float64)
    by_split, by_item = sides.sum(axis=1), sides.sum(axis=0)
    panels = np.zeros(split_means.T.shape)
    for _ in range(_SWEEPS):
        items = item_means - panels @ sides / by_item
        panels = split_means.T - items @ sides.T / by_split
        panels -= panels.mean(axis=1, keepdims=True)
    items = item_means - panels @ sides / by_item
    draws = (items - items.mean(axis=1, keepdims=True)) @ sides.T / by_split
    draws -= draws.mean(axis=1, keepdims=True)
    df = len(split_means) - 1
    covariance = -np.vecdot(draws, panels) / df
    spread = np.sqrt(np.vecdot(draws, draws) * np.vecdot(panels, panels) / df) / df
    return np.asarray(np.maximum(covariance + spread, 0.0))
