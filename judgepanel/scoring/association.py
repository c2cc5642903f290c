"""Is a missing vote a matter of chance? Exact and rank tests of 'missing' against something known.

All tests are permutation tests of H0: whether an item is missed has nothing to do with its value.
That is what missing completely at random means for one judge, whatever the judges do together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FEWEST_EXPECTED = 5.0


def fisher(both: Floats | float, row: Floats | float, column: Floats | float, n: float) -> Floats:
    """Two-sided p-values of 2 x 2 tables with fixed margins; arguments broadcast.

    ``both`` of ``n`` items are in a row of size ``row`` and a column of size ``column``. Twice the
    smaller tail of the hypergeometric law (Fisher 1935), at most 1: never below the exact level.
    """
    low = stats.hypergeom.cdf(both, n, row, column)
    high = stats.hypergeom.sf(np.asarray(both) - 1.0, n, row, column)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(low, high)))


def permutation_p(missing: Floats, values: Floats) -> float:
    """Two-sided p-value of the correlation of ``missing`` (n,) and ``values`` (n,), by
    z = r sqrt(n - 1), the permutation standard deviation being exact; NaN without spread.

    With 0/1 ``missing`` and ranks as ``values`` this is Wilcoxon's rank-sum test with ties.
    """
    a, b = missing - missing.mean(), values - values.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    if size <= 0.0 or len(a) < 2:
        return float("nan")
    z = float(a @ b) / size * np.sqrt(len(a) - 1.0)
    return float(2.0 * stats.norm.sf(abs(z)))


def rank_p(missing: Floats, values: Floats) -> float:
    """:func:`permutation_p` of the ranks of ``values``; items whose value is NaN do not count."""
    known = np.isfinite(values)
    if known.sum() < 2:
        return float("nan")
    return permutation_p(missing[known], stats.rankdata(values[known]))


def share_p(missing: Floats, inside: Floats) -> Floats:
    """P-values (J, L) of missing, (n, J), more or less often inside slices, (n, L), than outside.

    Exact where both are 0/1. Shares of larger units (groups) take the permutation z, and NaN where
    fewer than ``FEWEST_EXPECTED`` are expected on either side; NaN where nothing varies.
    """
    n = float(len(missing))
    row, column = missing.sum(axis=0)[:, None], inside.sum(axis=0)[None, :]
    shape = (missing.shape[1], inside.shape[1])
    found = np.full(shape, np.nan)
    varies = np.broadcast_to((row > 0) & (row < n) & (column > 0) & (column < n), shape)
    exact = varies & _is_binary(missing)[:, None] & _is_binary(inside)[None, :]
    both = missing.T @ inside
    rows, columns = np.broadcast_to(row, shape), np.broadcast_to(column, shape)
    found[exact] = fisher(both[exact], rows[exact], columns[exact], n)
    expected = row * np.minimum(column, n - column) / n
    for j, level in np.argwhere(varies & ~exact & (expected >= FEWEST_EXPECTED)):
        found[j, level] = permutation_p(missing[:, j], inside[:, level])
    return found


def unit_means(values: Floats, units: NDArray[np.int64]) -> Floats:
    """Mean of ``values`` (n,) or (n, m) over each unit; NaN is left out, and where all are NaN."""
    codes = np.unique(units, return_inverse=True)[1]
    known = np.isfinite(values)
    shape = (int(codes.max()) + 1, *values.shape[1:])
    total, count = np.zeros(shape), np.zeros(shape)
    np.add.at(total, codes, np.where(known, values, 0.0))
    np.add.at(count, codes, known.astype(np.float64))
    return np.asarray(np.divide(total, count, out=np.full(shape, np.nan), where=count > 0))


def _is_binary(values: Floats) -> Bools:
    """Which columns hold 0 and 1 only."""
    return np.asarray(((values == 0.0) | (values == 1.0)).all(axis=0))
