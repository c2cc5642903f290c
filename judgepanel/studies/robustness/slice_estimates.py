"""From scores of three panels on every slice to levels and what labels from elsewhere cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.inference import estimate
from judgepanel.scoring.multiplicity import bonferroni_reach, holm
from judgepanel.studies.accumulate import METRICS, Tally
from judgepanel.studies.compare import RANGES
from judgepanel.studies.robustness.slice_transfer_result import ARMS
from judgepanel.studies.robustness.slices import Slices, slice_pools

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def slice_estimates(
    tallies: tuple[Tally, ...], units: Ints, slices: Slices, labels: Floats
) -> dict[str, Any]:
    """Fields of :class:`SliceTransfer` that rest on scores; bounds are NaN from a single split.

    The variance of labels counts how many others the slice, or the other slices, could have given.
    """
    n_g, n_a = len(tallies), len(ARMS)
    shapes = {
        **dict.fromkeys(("nll", "nll_lo", "nll_hi", "accuracy", "null_nll"), (n_g, n_a)),
        "constant_nll": (n_g, n_a),
        **dict.fromkeys(("delta", "delta_lo", "delta_hi", "band_lo", "band_hi", "p"), (n_g, n_a)),
    }
    estimates = {name: np.full(shape, np.nan) for name, shape in shapes.items()}
    pools = slice_pools(slices, len(units))
    for g, scores in enumerate(tallies):
        item_means, seen = scores.item_means()
        items = item_means[:, 0, :-1]
        splits = scores.split_means[:, METRICS.index("nll"), 0, :-1]
        estimates["nll"][g] = items[0].mean(axis=-1)
        estimates["accuracy"][g] = items[2].mean(axis=-1)
        estimates["null_nll"][g] = scores.null_nll.mean(axis=0)
        estimates["constant_nll"][g] = scores.constant_nll.mean(axis=0)[0]
        estimates["delta"][g] = (items[0] - items[0, [0]]).mean(axis=-1)
        if len(splits) < 2:
            continue
        others = np.maximum(pools[g] - labels[g], 1.0)
        n_scored = float(scores.n_evaluation.mean())
        reuse = labels[g] / others  # all that the variance needs of the two

        level = estimate(items[0], splits, units[seen], reuse, n_scored, n_others=1.0, joint=False)
        for name, end in (("nll_lo", level.lo), ("nll_hi", level.hi)):
            estimates[name][g] = np.clip(end, *RANGES["nll"])
        loss = estimate(
            items[0] - items[0, [0]],
            splits - splits[:, [0]],
            units[seen],
            np.maximum(reuse, reuse[0]),
            n_scored,
            n_others=1.0,
            joint=False,
        )
        reach = bonferroni_reach(loss, n_g)
        estimates["delta_lo"][g], estimates["delta_hi"][g] = loss.lo, loss.hi
        estimates["band_lo"][g], estimates["band_hi"][g] = loss.value - reach, loss.value + reach
        estimates["p"][g, 1:] = loss.p[1:]
    estimates["p_holm"] = np.stack([holm(estimates["p"][:, a]) for a in range(n_a)], axis=-1)
    return estimates
