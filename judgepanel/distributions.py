"""Tail probabilities and quantiles computed with scipy.special.

Importing scipy.stats builds the documentation of a hundred distributions, which takes longer than
scoring a file of votes. These functions give the same values; ``sf`` is P(X > x), ``ppf`` a
quantile. scipy.special is imported when one of them is called first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from judgepanel.arrays import Floats

Numbers = Any
"""Numbers or arrays of numbers; arguments broadcast."""

Z_95 = 1.959963984540054
"""``norm_ppf(0.975)``, for commands that need nothing else of scipy.special."""


def norm_sf(z: Numbers) -> Numbers:
    """P(Z > z) of the standard normal distribution."""
    return scipy.special.ndtr(-np.asarray(z))


def norm_ppf(p: Numbers) -> Numbers:
    """Quantile of the standard normal distribution."""
    return scipy.special.ndtri(p)


def norm_pdf(z: Numbers) -> Numbers:
    """Density of the standard normal distribution."""
    return np.exp(-(np.asarray(z) ** 2) / 2.0) / np.sqrt(2.0 * np.pi)


def t_sf(t: Numbers, df: Numbers) -> Numbers:
    """P(T > t) of Student's t distribution."""
    return scipy.special.stdtr(df, -np.asarray(t))


def t_ppf(p: Numbers, df: Numbers) -> Numbers:
    """Quantile of Student's t distribution."""
    return scipy.special.stdtrit(df, p)


def beta_sf(x: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """P(X > x) of the beta distribution."""
    return scipy.special.betaincc(a, b, x)


def beta_ppf(p: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Quantile of the beta distribution."""
    return scipy.special.betaincinv(a, b, p)


def binom_sf(k: int, n: int, p: float) -> float:
    """P(X > k) of the binomial distribution."""
    if k < 0 or k >= n:
        return float(k < 0)
    return float(scipy.special.betainc(k + 1, n - k, p))


def poisson_sf(k: int, mean: float) -> float:
    """P(X > k) of the Poisson distribution."""
    return float(scipy.special.pdtrc(k, mean)) if k >= 0 else 1.0


def poisson_cdf(k: int, mean: float) -> float:
    """P(X <= k) of the Poisson distribution."""
    return float(scipy.special.pdtr(k, mean)) if k >= 0 else 0.0


def hypergeometric_tails(
    both: ArrayLike, row: ArrayLike, column: ArrayLike, n: ArrayLike
) -> tuple[Floats, Floats]:
    """P(X <= both) and P(X >= both), X of a sample of ``column`` out of ``n`` being in ``row``.

    Arguments broadcast. Probabilities are products of ratios outward from the mode, divided by
    their sum, which needs no log-factorials.
    """
    tables = np.broadcast_arrays(*(np.asarray(part, float) for part in (both, row, column, n)))
    low, high = np.empty(tables[0].shape), np.empty(tables[0].shape)
    for index in np.ndindex(low.shape):
        low[index], high[index] = _tails(*(float(part[index]) for part in tables))
    return low, high


def _tails(both: float, row: float, column: float, n: float) -> tuple[float, float]:
    if not all(np.isfinite(part) for part in (both, row, column, n)):
        return np.nan, np.nan
    least, most = max(0.0, row + column - n), min(row, column)
    if most < least:
        return np.nan, np.nan
    values = np.arange(least, most + 1.0)
    x = values[:-1]
    ratios = (row - x) * (column - x) / ((x + 1.0) * (n - row - column + x + 1.0))
    mode = int((ratios > 1.0).sum())  # Ratios decrease and are above 1 up to the mode.
    weights = np.ones(len(values))
    weights[mode + 1 :] = np.cumprod(ratios[mode:])
    weights[:mode] = np.cumprod(1.0 / ratios[:mode][::-1])[::-1]
    total = weights.sum()
    low, high = weights[values <= both].sum() / total, weights[values >= both].sum() / total
    return min(1.0, float(low)), min(1.0, float(high))


def ranks(values: ArrayLike) -> Floats:
    """Return ranks from 1 along the last axis; ties get their mean rank."""
    array = np.asarray(values)
    if array.ndim > 1:
        return np.apply_along_axis(ranks, -1, array)
    _, code, count = np.unique(array, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2.0)[code], dtype=np.float64)
