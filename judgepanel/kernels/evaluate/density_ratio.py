"""Importance weights: the estimated density ratio of target to source items.

A classifier separates source rows from target rows by summaries of their votes; its odds, times the
ratio of the two sizes, estimate the density ratio (Sugiyama, Suzuki and Kanamori 2012,
doi:10.1017/CBO9781139035613, chapter 4). Weights transfer a calibrator if label given score is the
same in both and only the mix of items differs (Shimodaira 2000, doi:10.1016/S0378-3758(00)00115-4).
They cannot replace items that the source lacks: the effective sample size says how many labels the
weights leave.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.residual import fit_residual

_STEEPEST = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Importance:
    """``weights`` (n_source,) with mean 1; ``clipped`` is the share of weights that was clipped."""

    weights: Floats
    clipped: float

    @property
    def effective(self) -> float:
        """Kish's effective sample size (sum w)^2 / sum w^2, from 1 to n_source."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())


def disagreement(ballots: Ballots) -> Floats:
    """1 - |A - B| / (A + B) for A votes one way and B the other, (n_items,) in [0, 1].

    0 if the judges agree or none voted, 1 if they are evenly split. It uses no labels, and swapping
    the responses of an item does not change it.
    """
    total = np.abs(ballots.votes.sum(axis=1, dtype=np.float64))
    cast = np.count_nonzero(ballots.votes, axis=1)
    return np.asarray(np.where(cast > 0, 1.0 - total / np.maximum(cast, 1), 0.0))


def vote_summaries(ballots: Ballots) -> Floats:
    """Disagreement, its square and log(1 + votes) of every item, (n_items, 3); no label needed."""
    split = disagreement(ballots)
    cast = np.count_nonzero(ballots.votes, axis=1).astype(np.float64)
    return np.stack([split, split**2, np.log1p(cast)], axis=-1)


def importance(source: Floats, target: Floats, *, most: float) -> Importance:
    """Weights of source rows (n_source, d) that make them look like the target rows (n_target, d).

    The classifier is logistic with a normal prior of variance 1 on standardised summaries, so that
    perfectly separated rows still get finite weights. Weights above ``most`` times their mean are
    set to that value, so that no single row dominates.
    """
    both = np.concatenate([source, target])
    spread = both.std(axis=0)
    scaled = (both - both.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    from_target = np.repeat([-1.0, 1.0], [len(source), len(target)])
    fitted = fit_residual(np.zeros((1, len(both))), from_target, scaled)
    logits = fitted(np.zeros((1, len(source))), scaled[: len(source)])[0]
    ratio = np.exp(np.clip(logits - logits.max(), -_STEEPEST, 0.0))
    ratio /= ratio.mean()
    weights = ratio
    while weights.max() > most * (1.0 + 1e-9):  # A cut lowers the mean, and so the bound.
        weights = np.minimum(weights, most)
        weights = weights / weights.mean()
    return Importance(weights, float(np.mean(ratio > most)))
