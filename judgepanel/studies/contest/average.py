"""The average of candidates: weights by Bayesian bootstrap, under a prior that is stated.

A member's weight is the mean, over draws of Dirichlet weights d on clusters of items (the Bayesian
bootstrap, Rubin 1981, doi:10.1214/aos/1176345338), of

    prior exp(-sum_i n d_i loss_i) / its sum over members,

the losses being cross-validated NLL on calibration rows. Without the draws these are pseudo-BMA
weights, with them pseudo-BMA+ (Yao, Vehtari, Simpson and Gelman 2018, doi:10.1214/17-BA1091,
section 3.4), here with a prior: .5 on joint over everyone
(:data:`studies.contest.candidates.LEAD`).

Cost: draws x clusters x members.
"""

from __future__ import annotations

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.models.mixture import pooled
from judgepanel.scoring.metrics import ItemScores, item_scores
from judgepanel.scoring.splits import unit_codes

DRAWS = 200
LEAST = 0.02
"""Weight below which a member is left out."""
_CELLS = 2_000_000
_BOOTSTRAP = 67
"""Where the random stream of the weights begins."""


def bootstrap(seed: int, key: tuple[int, ...]) -> np.random.Generator:
    """The random stream of the weights that rows learn; ``key`` says which rows."""
    sequence = np.random.SeedSequence(seed, spawn_key=(*key, _BOOTSTRAP))
    return np.random.default_rng(sequence)


def average_weights(
    losses: Floats, units: Ints, priors: Floats, rng: np.random.Generator
) -> Floats:
    """Weights (P, A) under each prior, which add up to 1; members below ``LEAST`` have none.

    Parameters
    ----------
    losses : float (A, n), cross-validated NLL of every candidate on the rows to learn from.
    units : int (n,), the cluster of each row.
    priors : float (P, A), in each at least one above 0; candidates with 0 take no part.
    rng : draws the bootstrap, one for all priors.
    """
    members = np.flatnonzero((priors > 0.0).any(axis=0))
    place, n_clusters = unit_codes(units)
    sums = np.stack([np.bincount(place, losses[m], n_clusters) for m in members])
    block = max(1, _CELLS // n_clusters)
    with np.errstate(divide="ignore"):
        starts = np.log(priors[:, members])
    total = np.zeros_like(starts)
    for start in range(0, DRAWS, block):
        cluster_weights = rng.standard_exponential((min(block, DRAWS - start), n_clusters))
        cluster_weights *= n_clusters / cluster_weights.sum(axis=1, keepdims=True)
        logs = starts[:, None] - cluster_weights @ sums.T
        weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
        total += (weights / weights.sum(axis=-1, keepdims=True)).sum(axis=1)
    total[total < LEAST * DRAWS] = 0.0
    result = np.zeros(priors.shape)
    result[:, members] = total / total.sum(axis=1, keepdims=True)
    return result


def average_losses(losses: Floats, weights: Floats) -> Floats:
    """NLL (n,) of the average of candidates whose NLL is ``losses`` (A, n)."""
    members = np.flatnonzero(weights)
    if len(members) == 1:
        return np.asarray(losses[members[0]])
    p = pooled(list(np.exp(-losses[members])), weights[members].tolist())
    return np.asarray(-np.log(p))


def average_logits(losses: Floats, weights: Floats, signs: Floats) -> Floats:
    """Logits (n,) of the average; ``signs`` (n,) are +1 where the label is 1, else -1."""
    p_true = np.exp(-average_losses(losses, weights))
    with np.errstate(divide="ignore"):
        return np.asarray(signs * (np.log(p_true) - np.log1p(-p_true)))


def average_scores(
    items: ItemScores, weights: Floats, signs: Floats, *, symmetric: bool
) -> ItemScores:
    """Scores (1, n) of the average; ``items`` are those of the candidates."""
    members = np.flatnonzero(weights)
    if len(members) == 1:
        return items.part(slice(members[0], members[0] + 1))
    return item_scores(average_logits(items.nll, weights, signs)[None], signs, symmetric=symmetric)
