"""Covariance of an item's two roles: how it scores, and what it does to panels fitted to it.

Write the score of an evaluation set E of a panel fitted on the set C of all other items as

    m(E, C) = mu + mean over E of a_i + mean over C of b_i,

with a_i the contribution of item i when it is scored and b_i its effect on panels fitted to it.
Splits use every item in both roles, and over samples of N items the mean of many splits has
variance

    (Var a + Var b + 2 Cov(a, b)) / N.

The variance in :mod:`judgepanel.scoring.inference` assumes that the roles are uncorrelated. The
variance over splits already contains -2 Cov(a, b)/N, because an item that is scored cannot
calibrate: with equal halves a negative covariance makes the interval too wide by as much as a
positive one makes it too narrow. Easy items are a positive case. They make panels confident, and if
votes go wrong only at scoring time, confident panels lose most on them.

The score of item i in split s is fitted as a_i + B_s by least squares (only the means over items
and over splits are needed), with B_s the mean of b over C. With A_s the mean of a over E, sampling
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

    S splits estimate the covariance with a standard error of sqrt(Var A Var B / (S - 1)). One
    standard error is added, so few splits give wide intervals; negative values become 0.

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
