"""Importance weights: how much more often the target holds an item like this one than the source.

A classifier tells source rows from target rows by summaries of their votes; its odds, times the
ratio of the two sizes, estimate the density ratio (Sugiyama, Suzuki and Kanamori 2012,
doi:10.1017/CBO9781139035613, chapter 4). Weights carry a calibrator over when label given score is
the same in both and only the mix of items differs (Shimodaira 2000,
doi:10.1016/S0378-3758(00)00115-4). They cannot make up for items the source does not have: the
effective sample size says how many labels are left to learn from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.residual import fit_residual

Floats = NDArray[np.float64]

_STEEPEST = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Importance:
    """``weights`` (n_source,) with mean 1; ``clipped`` is the share of them that was cut back."""

    weights: Floats
    clipped: float

    @property
    def effective(self) -> float:
        """Kish's effective sample size (sum w)^2 / sum w^2, from 1 to n_source."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())


def disagreement(ballots: Ballots) -> Floats:
    """1 - |A - B| / (A + B) for A votes one way and B the other, (n_items,) in [0, 1].

    0 where the judges agree or nobody voted, 1 where they are even. No label goes into it, and
    swapping the responses of an item leaves it as it is.
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
    rows told apart without error still get finite weights. Weights above ``most`` times their mean
    are set to it: one row must not speak for all.
    """
    both = np.concatenate([source, target])
    spread = both.std(axis=0)
    scaled = (both - both.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    from_target = np.repeat([-1.0, 1.0], [len(source), len(target)])
    fitted = fit_residual(np.zeros((1, len(both))), from_target, scaled)
    logits = fitted(np.zeros((1, len(source))), scaled[: len(source)])[0]
    ratio = np.exp(np.clip(logits - logits.max(), -_STEEPEST, 0.0))
    ratio /= ratio.mean()
    weights = np.minimum(ratio, most)
    return Importance(weights / weights.mean(), float(np.mean(ratio > most)))
