"""Scores that do not know their own label, for aggregators without closed-form left-out counts.

The calibration rows are cut into folds, units whole. Fit 0 learns from all of them and scores the
evaluation rows; fit f learns from the rows outside fold f, ranking included, and scores fold f. The
calibration scores put together from fits 1 .. F are what calibrators may see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.aggregate.prefixes import (
    OwnLabel,
    PrefixScores,
    Ranking,
    rank,
    without_votes,
)
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.splits import Split, fold_of, folds

N_FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """One fit of an aggregator.

    ``learn`` (n_learn,) and ``score`` (n_score,) are row positions in the ballots; ``fold``
    (n_learn,) is the fold of every row it learns from, for choices made inside the fit (all fits
    of one cross-fitting share the numbering, so that work can be shared as well).
    """

    learn: Ints
    score: Ints
    fold: Ints


Kernel = Callable[[Ballots, Sequence[Fit], Ints, Ranking], list[Floats]]
"""``kernel(ballots, fits, ks, ranking)``: for every fit the raw logits (n_k, n_score) of its score
rows under the ``ks`` best judges, ranked on its learn rows. Rows on which no judge of a panel
voted get 0. It may look at labels of ``learn`` rows only, and at no vote of other rows but those it
scores.
"""


def cross_fitted(
    ballots: Ballots,
    split: Split,
    ks: Ints,
    kernel: Kernel,
    *,
    ranking: Ranking,
    own_label: OwnLabel,
    seed: int,
    key: tuple[int, ...],
) -> PrefixScores:
    """Score both sides of a split; folds come from ``SeedSequence(seed, spawn_key=key)``."""
    calibration, evaluation = split.calibration, split.evaluation
    inner_splits = folds(ballots.units, calibration, N_FOLDS, seed=seed, key=key)
    fold = fold_of(inner_splits, ballots.n_items)
    if own_label == "seen":
        both = np.concatenate([evaluation, calibration])
        fits = [Fit(calibration, both, fold[calibration])]
    else:
        fits = [Fit(calibration, evaluation, fold[calibration])] if len(evaluation) else []
        fits += [
            Fit(inner.calibration, inner.evaluation, fold[inner.calibration])
            for inner in inner_splits
        ]
    scores_by_fit = kernel(ballots, fits, ks, ranking)
    orders = [rank(ballots, fit.learn, ranking) for fit in fits]
    logits = np.empty((len(ks), ballots.n_items))
    empty = np.empty((len(ks), ballots.n_items), dtype=bool)
    for fit, order, scores in reversed(list(zip(fits, orders, scores_by_fit, strict=True))):
        logits[:, fit.score] = scores
        empty[:, fit.score] = without_votes(ballots, fit.score, order, ks)
    return PrefixScores(
        ks,
        rank(ballots, calibration, ranking),
        logits[:, calibration],
        empty[:, calibration],
        logits[:, evaluation],
        empty[:, evaluation],
        fold[calibration],
    )
