"""Multiple testing: Holm's step-down p-values and Bonferroni intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgepanel.scoring.inference import LEVEL, Estimate
from judgepanel.votes import distributions

Floats = NDArray[np.float64]


def holm(p: ArrayLike) -> Floats:
    """Adjusted p-values (m,): below alpha if Holm's step-down test rejects at alpha.

    Holm 1979 (Scandinavian Journal of Statistics 6, 65-70): the probability of any false rejection
    is at most alpha under any dependence. NaN (no test) is ignored and stays NaN.
    """
    given = np.asarray(p, dtype=np.float64)
    values = np.full(given.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(given))
    order = tested[np.argsort(given[tested], kind="stable")]
    steps = given[order] * np.arange(len(order), 0, -1)
    values[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return values


def bonferroni_reach(fitted: Estimate, m: int) -> Floats:
    """Half-widths (n,) of intervals that together cover m values with at least 95 %."""
    quantile = distributions.t_ppf(1.0 - (1.0 - LEVEL) / (2.0 * max(m, 1)), fitted.df)
    return np.asarray(quantile * fitted.se)
