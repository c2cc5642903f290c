"""Linear combinations of arms of a tally, with intervals for new items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.inference import Estimate, coupling, estimate, simultaneous_reach
from judgepanel.studies.accumulate import ITEM_METRICS, Tally
from judgepanel.studies.compare import mean_sizes

Floats = NDArray[np.float64]


def contrasts(
    tally: Tally,
    units: NDArray[np.int64],
    weights: Floats,
    *,
    metric: str = "nll",
    pipeline: int = 0,
    draws: int = 1,
    evaluated: NDArray[np.bool_] | None = None,
) -> Estimate:
    """Estimates of ``weights @ arms``; ``weights`` (n, A) are over the arms without the chosen one.

    With ``draws`` > 1 the arms are ``draws`` sets of A, each with its own random draw in that
    split: values are means over the sets, and their variation within splits gives the part of the
    spread over splits that is due to the draws. ``evaluated`` (S, N), the items that each split
    evaluates, allows for the covariance between an item's effects when it is scored and when it
    calibrates. With a single split the spread is unknown: everything but the values is NaN.
    """
    m = ITEM_METRICS.index(metric)
    item_means, seen = tally.item_means()
    items = np.tile(weights / draws, draws) @ item_means[m, pipeline, :-1]
    per_split = tally.split_means[:, m, pipeline, :-1]
    drawn = per_split.reshape(len(per_split), draws, -1) @ weights.T
    splits = drawn.mean(axis=1)
    if len(splits) < 2:
        none = np.full(len(items), np.nan)
        return Estimate(items.mean(axis=1), none, none, none, none, none, np.zeros((0, 0)))
    within = drawn.var(axis=1, ddof=1).mean(axis=0) / draws if draws > 1 else np.zeros(len(items))
    both = 0.0 if evaluated is None else coupling(items, splits, evaluated[:, seen])
    return estimate(items, splits, units[seen], *mean_sizes(tally), redrawn=within, coupled=both)


def band(fitted: Estimate, seed: int) -> tuple[Floats, Floats]:
    """Ends of a simultaneous 95 % band of all the estimates; NaN without spreads."""
    if np.isnan(fitted.se).any():
        return fitted.se, fitted.se
    reach = simultaneous_reach(fitted, seed=seed) * fitted.se
    return fitted.value - reach, fitted.value + reach
