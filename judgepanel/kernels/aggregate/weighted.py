"""One-coin scores of all judges with importance weights on comparisons.

A comparison with weight w adds w instead of 1 to the counts c and n that determine a judge's weight
(:func:`one_coin_weight`). With w = 1 everywhere this is the full panel of :func:`prefix_scores`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats
from judgepanel.kernels.aggregate.prefixes import (
    OwnLabel,
    PrefixScores,
    one_coin_weight,
    ranking_key,
)
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.splits import Split, unit_codes

_CELLS = 2_000_000


def weighted_one_coin(
    ballots: Ballots, split: Split, importance: Floats, *, own_label: OwnLabel = "removed"
) -> PrefixScores:
    """Score both sides of a split; ``importance`` (n_cal,), at least 0, mean 1.

    The one column (1, n) holds all judges. Calibration rows are scored by counts without their own
    unit (the item, or its group), unless ``own_label`` is ``seen``.
    """
    rows = split.calibration
    votes, signs = ballots.votes[rows], ballots.signs[rows, None]
    right = importance @ np.asarray(votes * signs > 0)
    voted = importance @ np.asarray(votes != 0)
    seen = ballots.votes[split.evaluation]
    weights = one_coin_weight(right, voted)
    if own_label == "seen":
        calibrated = votes @ weights
    else:
        calibrated = _left_out(ballots, rows, importance, right, voted)
    return PrefixScores(
        ks=np.array([ballots.n_judges]),
        order=np.argsort(-ranking_key(right, voted, "accuracy"), kind="stable"),
        calibration=calibrated[None],
        calibration_empty=np.asarray(~votes.any(axis=1))[None],
        evaluation=(seen @ weights)[None],
        evaluation_empty=np.asarray(~seen.any(axis=1))[None],
    )


def _left_out(
    ballots: Ballots,
    rows: NDArray[np.int64],
    importance: Floats,
    right: Floats,
    voted: Floats,
) -> Floats:
    """Return scores (n_cal,) by counts without the item's unit, in blocks of whole units."""
    codes, _ = unit_codes(ballots.units[rows])
    order = np.argsort(codes, kind="stable")
    out = np.empty(len(rows))
    step = max(1, _CELLS // max(1, ballots.n_judges))
    start = 0
    while start < len(rows):
        stop = min(start + step, len(rows))
        while stop < len(rows) and codes[order[stop]] == codes[order[stop - 1]]:
            stop += 1
        block = order[start:stop]
        votes = ballots.votes[rows[block]]
        agreed = np.asarray(votes * ballots.signs[rows[block], None] > 0)
        first = codes[block] - codes[block[0]]
        own = np.zeros((2, int(first[-1]) + 1, ballots.n_judges))
        np.add.at(own[0], first, importance[block, None] * agreed)
        np.add.at(own[1], first, importance[block, None] * (votes != 0))
        rest = np.maximum(voted - own[1], 0.0)
        weights = one_coin_weight(np.clip(right - own[0], 0.0, rest), rest)
        out[block] = np.vecdot(votes.astype(np.float64), weights[first])
        start = stop
    return out
