"""The two roles of an item in repeated splits: it is scored, and panels are fitted to it.

Over splits of one data set, the score of item i under the panel of split s is written

    a_i + B_s,    B_s = mean over the calibration items of b_j + (parts due to two items or more),

with a_i what item i contributes when it is scored and b_j what it does to panels fitted to it.
Every item has both roles, so the mean over many splits varies between samples of N items with
variance Var(a)/N + Var(b)/N + 2 Cov(a, b)/N + (the smaller variance of the other parts). The
variance over splits holds the same parts with other factors, and so says little of each alone.
Which items calibrated and which evaluated separates them:

- B_s is the effect of split s in the least-squares fit of items and splits, which needs only the
  means over items and over splits. It can be known if scored items that splits share join all of
  them, and then its variance over splits is known without the variance between items.
- Sampling without replacement gives Cov(A_s, B_s) = -Cov(a, b)/N, with A_s the mean of a over the
  evaluation items.
- B_s B_t grows with the number of calibration items that s and t share, by Var(b) times
  |C_s and C_t| / (n_s n_t): the regression behind the infinitesimal jackknife of bagging (Wager,
  Hastie and Efron 2014, Journal of Machine Learning Research 15, 1625-1651).

Parts of three items or more are counted as parts of two, which average out more slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints

FEWEST_SPLITS = 10
"""Number of splits from which the part of single items is estimated."""
_CELLS = 1_000_000
_SMALL = 1e-9
"""Relative size of eigenvalues and differences of overlaps that are rounding errors."""


@dataclass(frozen=True, slots=True, eq=False)
class Roles:
    """What the roles of an item add to n means over S splits.

    ``panels`` (n, S) are the B_s less their mean, if they are ``separate`` bool (n,) from the means
    of a over the scored items, else the means of the splits, which hold both. ``covariance`` (n,)
    is Cov(a, b)/N plus one standard error: few splits know little of it, and it makes an interval
    too narrow if it is ignored while positive. ``single`` (n,) is Var(b)/N as estimated, not
    limited to what the variance of ``panels`` allows, and ``error`` (n,) its standard error; both
    are infinite with fewer than ``FEWEST_SPLITS`` splits, if all pairs of splits share equally many
    items, or if few large groups decide how many they share.
    """

    panels: Floats
    separate: Bools
    covariance: Floats
    single: Floats
    error: Floats

    @classmethod
    def unknown(cls, split_means: Floats) -> Roles:
        """Roles where it is not known which items calibrated.

        ``split_means`` float (S, n) as in :meth:`Sides.roles`.
        """
        n = split_means.shape[1]
        separate = np.zeros(n, dtype=bool)
        return cls(_centred(split_means.T), separate, np.zeros(n), *np.full((2, n), np.inf))

    @classmethod
    def joined(cls, parts: Sequence[Roles]) -> Roles:
        """Concatenate the means of these parts."""
        return cls(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("panels", "separate", "covariance", "single", "error")
            )
        )


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Which items calibrate and which are scored in S splits, prepared for :meth:`roles`.

    ``evaluated`` bool (S, N) are the scored items, N of them scored at least once; ``solver``
    (S, S) gives the effects of splits from residual sums, and ``connected`` tells whether scored
    items that splits share join them all, so that these effects can be known; ``overlap`` (S, S)
    are the centred overlaps of calibration sets, 0 on the diagonal, ``spread`` their sum of squares
    over pairs, and ``scale`` what is left of it because only differences between splits are known;
    ``n_items`` is the number of items that can calibrate.
    """

    evaluated: Bools
    solver: Floats
    connected: bool
    overlap: Floats
    spread: float
    scale: float
    n_items: int

    @classmethod
    def of(cls, calibrated: Bools, evaluated: Bools, units: Ints) -> Sides:
        """Prepare S >= 2 splits.

        Parameters
        ----------
        calibrated : bool (S, M), the items to whose labels each split's panels are fitted.
        evaluated : bool (S, N), the items that each split scores. They may be other items than the
            M, in another order.
        units : int (M,), group codes of the items that can calibrate.
        """
        times = np.maximum(evaluated.sum(axis=0), 1)
        shared = np.zeros((len(evaluated), len(evaluated)))
        for items in _blocks(*evaluated.shape):
            inside = evaluated[:, items].astype(np.float64)
            shared += (inside / times[items]) @ inside.T
        sizes, vectors = np.linalg.eigh(np.diag(evaluated.sum(axis=1)) - shared)
        known = sizes > _SMALL * sizes[-1]
        solver = np.asarray((vectors[:, known] / sizes[known]) @ vectors[:, known].T)
        connected = bool(known.sum() == len(shared) - 1)
        overlap = np.zeros(shared.shape)
        if len(overlap) >= FEWEST_SPLITS and _alike(units):
            overlap = _centred_overlaps(calibrated)
        spread = float(np.vecdot(overlap, overlap).sum()) / 2.0
        rows = overlap.sum(axis=1)
        scale = spread - float(rows @ rows) / len(rows)
        return cls(evaluated, solver, connected, overlap, spread, scale, calibrated.shape[1])

    def roles(self, item_means: Floats, split_means: Floats) -> Roles:
        """Estimate the roles behind n means.

        Parameters
        ----------
        item_means : float (n, N), mean over its evaluations of each item's value.
        split_means : float (S, n), mean over the scored items of each split.
        """
        if not self.connected:
            return Roles.unknown(split_means)
        sums = np.zeros(split_means.shape)
        for items in _blocks(*self.evaluated.shape):
            sums += self.evaluated[:, items].astype(np.float64) @ item_means[:, items].T
        n_scored = self.evaluated.sum(axis=1)[:, None]
        panels = _centred((self.solver @ (n_scored * split_means - sums)).T)
        draws = _centred(split_means.T) - panels
        df = len(split_means) - 1
        error = np.sqrt(np.vecdot(draws, draws) * np.vecdot(panels, panels) / df) / df
        covariance = error - np.vecdot(draws, panels) / df
        single, slope_error = np.full((2, len(panels)), np.inf)
        if self.scale > 0.0:
            single = np.vecdot(panels @ self.overlap, panels) / (2.0 * self.scale)
            slope_error = np.vecdot(panels, panels) / df * np.sqrt(self.spread) / self.scale
        return Roles(
            panels,
            np.ones(len(panels), dtype=bool),
            covariance,
            single / self.n_items,
            slope_error / self.n_items,
        )


def _alike(units: Ints) -> bool:
    """Whether groups are so alike in size that most of them decide how many items splits share.

    A group of m items adds m^2 to the variance of that number. If few add most of it, the slope on
    it is what these few do to panels, which may be much less than what the others do.
    """
    weights = np.unique(units, return_counts=True)[1].astype(np.float64) ** 2
    return bool(weights.sum() ** 2 >= len(weights) * (weights @ weights) / 2.0)


def _centred_overlaps(calibrated: Bools) -> Floats:
    """Number of shared items of two splits (S, S), divided by the sizes of both sets.

    Their mean is taken off; all are 0 if all pairs share equally many.
    """
    shared = np.zeros((len(calibrated), len(calibrated)))
    for items in _blocks(*calibrated.shape):
        inside = calibrated[:, items].astype(np.float64)
        shared += inside @ inside.T
    sizes = calibrated.sum(axis=1)
    overlap = shared / np.outer(sizes, sizes)
    pairs = ~np.eye(len(overlap), dtype=bool)
    apart = np.where(pairs, overlap - overlap[pairs].mean(), 0.0)
    return apart if np.abs(apart).max() > _SMALL * overlap.max() else np.zeros(apart.shape)


def _blocks(n_rows: int, n_items: int) -> list[slice]:
    """Blocks of items whose cells take little memory."""
    step = max(1, _CELLS // max(1, n_rows))
    return [slice(start, start + step) for start in range(0, n_items, step)]


def _centred(values: Floats) -> Floats:
    return np.asarray(values - values.mean(axis=1, keepdims=True))
