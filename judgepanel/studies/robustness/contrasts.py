"""Linear combinations of arms of a tally, with intervals for new items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.coupling import coupling
from judgepanel.scoring.inference import Estimate, estimate, simultaneous_reach
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
    """Estimates of ``weights @ arms``; ``weights`` (n, A) over the arms without the chosen one.

    With ``draws`` > 1 the arms are ``draws`` sets of A, each with what it drew at random in that
    split: values are means over them, and how much they differ within splits says how much of the
    spread of splits is due to such draws. ``evaluated`` (S, N), which items each split evaluates,
    lets what an item does when it is scored be related to what it does when it calibrates. From a
    single split there is no spread to learn from: all but the values is then NaN.
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
    """Bounds that hold all the estimates together in 95 % of samples; NaN without spreads."""
    if np.isnan(fitted.se).any():
        return fitted.se, fitted.se
    reach = simultaneous_reach(fitted, seed=seed) * fitted.se
    return fitted.value - reach, fitted.value + reach
