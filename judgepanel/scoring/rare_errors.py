"""Intervals of NLL based on few wrong decisions, which allow for one more than observed.

A panel that is nearly always right is nearly always confident, and its loss comes from the few
items that it gets wrong. A sample without such an item shows no spread at all, however often they
occur. The variance implied by the panel's own probabilities, the mean of p (1 - p) logit(p)^2, does
not help: overconfident panels are exactly the problem. The upper end of a mean NLL is therefore
that of the sample with one more wrong decision,

    value + w + t sqrt(se^2 + w^2),    w = (mean loss of a wrong decision) / (number of units).

If all wrong decisions cost the same this is close to the score interval of a count (Wilson 1927,
doi:10.1080/01621459.1927.10502953), and slightly shorter than adding an event of the largest weight
to a weighted sum of counts (Fay and Feuer 1997,
doi:10.1002/(SICI)1097-0258(19970415)16:7<791::AID-SIM500>3.0.CO;2-#). A difference may lack a wrong
decision on either side, so both of its ends move.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Floats
from judgepanel.scoring.inference import LEVEL, Estimate
from judgepanel.scoring.metrics import CLIP
from judgepanel.scoring.splits import unit_codes

FEW_ERRORS = 10
"""Number of units with a wrong decision from which the observed spread suffices."""
_ROUNDING = 1e-9
"""Mean losses of items are rounded to 2^-40."""


def one_more_error(losses: Floats, units: NDArray[np.int64]) -> Floats:
    """Increase of each panel's mean loss with one more wrong decision, (n,).

    It is 0 for panels with ``FEW_ERRORS`` or more units with a wrong decision. The cost of a wrong
    decision is the mean of -log(1 - p) over the items, with p the probability of the decision,
    weighted by the probability that the item's decision is wrong. Items of one unit go wrong
    together.

    Parameters
    ----------
    losses : float (n, N), mean NLL of each item over its evaluations.
    units : int (N,), group codes on which variances cluster.
    """
    codes, n_units = unit_codes(units)
    few = _n_wrong(losses, codes, n_units) < FEW_ERRORS
    p = np.clip(np.exp(-losses[few]), CLIP, 1.0 - CLIP)
    doubt = np.minimum(p, 1.0 - p)
    cost = np.vecdot(doubt, -np.log(doubt)) / doubt.sum(axis=1)
    more = np.zeros(len(losses))
    more[few] = cost / n_units
    return more


def _n_wrong(losses: Floats, codes: NDArray[np.intp], n_units: int) -> NDArray[np.intp]:
    """Number of units with a wrong decision, (n,); a tie is none, however its loss is rounded."""
    by_panel = (codes[np.flatnonzero(row > np.log(2.0) + _ROUNDING)] for row in losses)
    counts = [np.count_nonzero(np.bincount(wrong, minlength=n_units)) for wrong in by_panel]
    return np.array(counts, dtype=np.intp)


def between(left: Floats, right: Floats) -> Floats:
    """Change of a difference of two panels with one more wrong decision, in either direction.

    0 if one of them has enough wrong decisions to show how they differ.
    """
    return np.where((left > 0.0) & (right > 0.0), np.maximum(left, right), 0.0)


def allow_level(fitted: Estimate, extra: Floats) -> Estimate:
    """Mean NLLs whose upper ends allow for one more wrong decision, which adds ``extra`` (n,)."""
    hi = np.where(extra > 0.0, fitted.value + _reach(fitted, extra), fitted.hi)
    return replace(fitted, hi=hi)


def allow_difference(fitted: Estimate, extra: Floats) -> Estimate:
    """Differences of NLL that allow for one more wrong decision of either panel.

    Standard errors, p-values and the covariance follow the interval.
    """
    if not (extra > 0.0).any():
        return fitted
    moved = extra > 0.0
    reach = _reach(fitted, extra)
    se = np.where(moved, reach / _quantile(fitted), fitted.se)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(fitted.value) / se
    covariance = fitted.covariance.copy()
    if covariance.size:
        diagonal = np.diagonal(covariance)
        np.fill_diagonal(covariance, np.where(moved, se**2, diagonal))
    return replace(
        fitted,
        se=se,
        lo=np.where(moved, fitted.value - reach, fitted.lo),
        hi=np.where(moved, fitted.value + reach, fitted.hi),
        p=np.where(moved, 2.0 * distributions.t_sf(t, fitted.df), fitted.p),
        covariance=covariance,
    )


def _reach(fitted: Estimate, extra: Floats) -> Floats:
    return np.asarray(extra + _quantile(fitted) * np.sqrt(fitted.se**2 + extra**2))


def _quantile(fitted: Estimate) -> Floats:
    return np.asarray(distributions.t_ppf(0.5 + LEVEL / 2.0, fitted.df))
