"""Calibration error in bins of confidence: its noise, and what chance alone would show.

Confidence is max(p, 1 - p), in [.5, 1]; bins are right-open, the last one closed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STATED = (0.5, 0.55, 0.65, 0.75, 0.85, 0.95, 1.0)
"""Edges of bins whose middles are the confidences people say: 60 %, 70 %, 80 %, 90 %."""


def equal_width_edges(bins: int) -> Floats:
    """Edges of the equal-width bins on [0, 1] (the paper, section 4.1) that reach above .5."""
    edges = np.arange(bins + 1) / bins
    return np.asarray(edges[np.searchsorted(edges, 0.5, side="right") - 1 :])


def bin_of(confidence: Floats, edges: Floats) -> Ints:
    """Number of the bin that holds each confidence."""
    return np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, len(edges) - 2)


def excess_gap(gap: Floats, se: Floats) -> Floats:
    """How much larger |gap| is on average than the true one, by the noise of the gap.

    E|N(gap, se^2)| - |gap|: the plug-in correction of Kumar, Liang and Ma 2019 (arXiv:1909.10155,
    'debiased' calibration error) with a folded normal in closed form. It corrects too little
    rather than too much: what remains leans up.
    """
    size = np.abs(gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(se > 0, size / se, np.inf)
    folded = 2.0 * se * stats.norm.pdf(t) + size * (1.0 - 2.0 * stats.norm.sf(t))
    return np.asarray(folded - size)


def chance_errors(
    p: Floats,
    cells: Ints,
    item: Ints,
    weights: Floats,
    *,
    n_cells: int,
    draws: int,
    seed: int,
) -> Floats:
    """Calibration errors (draws,) of a panel whose every probability is right.

    Each draw gives every item one uniform number u, and an evaluation the label 1 where u < p: all
    evaluations are then calibrated, and those of one item share its luck, as real ones do
    (consistency resampling, Broecker and Smith 2007, doi:10.1175/WAF993.1, with one luck an item).

    Parameters
    ----------
    p : float (n,), probability of label 1 of every evaluation.
    cells, item : int (n,), its bin (or its bin and split) in 0..n_cells - 1, and its item.
    weights : float (n,), what it counts for; they sum to 1.
    """
    confidence, up = np.maximum(p, 1.0 - p), p >= 0.5
    stated = np.bincount(cells, weights * confidence, n_cells)
    found = np.empty(draws)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7, 12)))
    n_items = int(item.max()) + 1
    for draw in range(draws):
        hit = (rng.random(n_items)[item] < p) == up
        found[draw] = np.abs(np.bincount(cells, weights * hit, n_cells) - stated).sum()
    return found
