"""From scores of (panels x budgets) arms to levels, differences and joint tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.descriptive import paper_joint
from judgepanel.scoring.inference import Estimate, estimate, joint_p, simultaneous_reach
from judgepanel.studies.accumulate import Tally
from judgepanel.studies.compare import RANGES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def budget_estimates(
    tally: Tally,
    units: Ints,
    labels: Floats,
    *,
    n_calibrators: int,
    n_panels: int,
    seed: int,
) -> dict[str, Any]:
    """Fields of :class:`LabelBudget` that rest on scores; bounds are NaN from a single split.

    Arms are panels by budgets, budgets vary fastest; the last panel is the one that the others are
    held against.
    """
    n_c, n_p, n_b = n_calibrators, n_panels, len(labels)
    item_means, seen = tally.item_means()
    items = item_means[0, :, :-1].reshape(n_c, n_p, n_b, -1)
    splits = tally.split_means[:, 0, :, :-1].reshape(-1, n_c, n_p, n_b)
    blank = _blank(n_c, n_p, n_b)
    blank["nll"][:] = items.mean(axis=-1)
    blank["delta"][:] = (items[:, :-1] - items[:, [-1]]).mean(axis=-1)

    def estimated(item_values: Floats, split_values: Floats) -> Estimate:
        return estimate(
            item_values,
            split_values,
            units[seen],
            labels,
            float(tally.n_evaluation.mean()),
            n_others=len(units) - labels,
        )

    if len(splits) < 2:
        return blank
    for c, p in np.ndindex(n_c, n_p):
        levels = estimated(items[c, p], splits[:, c, p])
        blank["nll_lo"][c, p], blank["nll_hi"][c, p] = (
            np.clip(end, *RANGES["nll"]) for end in (levels.lo, levels.hi)
        )
        blank["level_se"][c, p], blank["level_df"][c, p] = levels.se, levels.df
        blank["level_covariance"][c, p] = levels.covariance
    for c, p in np.ndindex(n_c, n_p - 1):
        apart = splits[:, c, p] - splits[:, c, -1]
        gap = estimated(items[c, p] - items[c, -1], apart)
        reach = simultaneous_reach(gap, seed=seed) * gap.se
        blank["delta_lo"][c, p], blank["delta_hi"][c, p] = gap.lo, gap.hi
        blank["band_lo"][c, p], blank["band_hi"][c, p] = gap.value - reach, gap.value + reach
        blank["joint_p"][c, p] = joint_p(gap, seed=seed)
        paper = paper_joint(apart, seed=seed)
        blank["paper_t"][c, p], blank["paper_critical"][c, p] = paper.t, paper.critical
        blank["paper_p"][c, p] = paper.p
    return blank


def _blank(n_c: int, n_p: int, n_b: int) -> dict[str, Floats]:
    levels = ("nll", "nll_lo", "nll_hi", "level_se", "level_df")
    gaps = ("delta", "delta_lo", "delta_hi", "band_lo", "band_hi")
    tests = ("joint_p", "paper_t", "paper_critical", "paper_p")
    shapes = {
        **dict.fromkeys(levels, (n_c, n_p, n_b)),
        "level_covariance": (n_c, n_p, n_b, n_b),
        **dict.fromkeys(gaps, (n_c, n_p - 1, n_b)),
        **dict.fromkeys(tests, (n_c, n_p - 1)),
    }
    return {name: np.full(shape, np.nan) for name, shape in shapes.items()}
