"""The fallback of a panel, which scores items on which too much of the panel is absent.

One-coin weights with a temperature that depends on the judges who voted:

    logit p = sum_j w_j V_j / T(h),    T(h) = few (1 - h) + all h,

where h in [0, 1] is the share of |w| of the judges who voted on the item. If judges err together,
the sum is overconfident by a factor of about their number, so the temperature must fall as judges
drop out; if they err independently it stays constant. Both ends are fitted jointly to calibration
rows with judges absent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from judgepanel.arrays import Bools, Floats, Ints, Votes
from judgepanel.kernels.aggregate.prefixes import counts, counts_without_own, one_coin_weight
from judgepanel.kernels.application import present_weights, weighted_logits
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.maps import softplus

COOLEST, HOTTEST = 0.05, 1e4
"""Bounds of a temperature: votes that separate the labels perfectly would give 0."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """``weights`` (k,) in panel order, temperatures with ``few`` and with ``all`` judges present.

    It scores items on which judges with more than the share ``beyond`` of the total |weight| did
    not vote.
    """

    weights: tuple[float, ...]
    few: float
    all: float
    beyond: float

    def present(self, votes: Votes) -> Floats:
        """Return h (n_items,) of votes (n_items, k) in {0, 1, -1 missing}; sums in panel order."""
        sizes = np.abs(np.array(self.weights))
        total = 0.0
        for size in sizes.tolist():
            total += size
        return present_weights(votes, sizes) / total

    def scores(self, votes: Votes) -> Bools:
        """Return which items (n_items,) it scores; an item without any vote gets the prior."""
        return np.asarray(1.0 - self.present(votes) > self.beyond)

    def logits(self, votes: Votes) -> Floats:
        """Return calibrated logits (n_items,)."""
        h = self.present(votes)
        values = weighted_logits(votes, np.array(self.weights)) / self.temperature(h)
        return np.asarray(values)

    def temperature(self, present: Floats) -> Floats:
        """Return T(h), (n_items,)."""
        return np.asarray(self.few * (1.0 - present) + self.all * present)


def fit_fallback(ballots: Ballots, absent: Bools, rows: Ints) -> Fallback | None:
    """Fit to ``rows`` with the judges of each arm, bool (n_arms, n_judges), absent in turn.

    Weights come from all rows, without an item's own unit when they score it; all arms count
    equally. Judges are in the order of the ballots, ``beyond`` is 1. None if all weights are 0.
    Cost: rows x judges x arms.
    """
    everyone = np.arange(ballots.n_items)
    correct, voted = counts(ballots, everyone)
    weights = one_coin_weight(correct, voted)
    total = float(np.abs(weights).sum())
    if total == 0.0:
        return None
    correct, voted, case = counts_without_own(ballots, everyone, correct, voted)
    seen = one_coin_weight(correct, voted)[
        case(rows, ballots.votes[rows]), np.arange(ballots.n_judges)
    ]
    there = ~absent.T.astype(bool)
    margins = (seen * ballots.votes[rows] * ballots.signs[rows, None]) @ there
    present = (np.abs(weights) * (ballots.votes[rows] != 0)) @ there / total
    few, everybody = _temperatures(margins.ravel(), present.ravel())
    return Fallback(tuple(weights.tolist()), few, everybody, 1.0)


def _temperatures(margins: Floats, present: Floats) -> tuple[float, float]:
    """Return the ends of T that minimise the mean NLL of ``margins`` s l / T, both (n,)."""
    live = margins != 0.0
    if not live.any():
        return 1.0, 1.0
    margin, h = margins[live], np.minimum(present[live], 1.0)

    def loss(ends: Floats) -> tuple[float, Floats]:
        few, everybody = np.exp(ends)
        heat = few * (1.0 - h) + everybody * h
        m = margin / heat
        slope = np.exp(-softplus(m)) * m / heat
        gradient = np.array([few * (slope * (1.0 - h)).mean(), everybody * (slope * h).mean()])
        return float(softplus(-m).mean()), gradient

    bounds = [(np.log(COOLEST), np.log(HOTTEST))] * 2
    solution = scipy.optimize.minimize(
        loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds
    )
    few, everybody = np.exp(solution.x).tolist()
    return few, everybody


def in_order(fallback: Fallback, places: Ints, beyond: float) -> Fallback:
    """Return the fallback with judges reordered to ``places`` and another threshold."""
    weights = np.array(fallback.weights)[places]
    return replace(fallback, weights=tuple(weights.tolist()), beyond=beyond)
