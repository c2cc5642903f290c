"""Scoring of new votes with a fitted panel, with one fixed order of additions.

Votes (n_items, n_judges) are in {0, 1, -1 missing}. Votes with grades are codes: vote + 2 x band
(:mod:`kernels.aggregate.levels`), -1 missing; a vote alone is the code of band 0.

Sums run over judges in panel order, one judge at a time, and the last steps use the platform's
scalar ``exp`` and ``log``. An exported panel, the library and the command line therefore agree to
the bit, and so can twenty lines of plain Python. Every step except a map with c != 0 or a != -b is
exactly odd in the votes, so under ``symmetric`` p and p(swap) sum to exactly 1.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

import numpy as np

from judgepanel.arrays import Floats, Votes

_ROWS = 4_096


def weighted_logits(votes: Votes, weights: Floats) -> Floats:
    """Sum of V w in panel order, (n_items,); votes (n_items, n_judges) in {0, 1, -1 missing}."""
    total = np.zeros(len(votes))
    for column, weight in zip(votes.T, weights, strict=True):
        total += np.where(column == 1, weight, np.where(column == 0, -weight, 0.0))
    return total


def coded(votes: Votes, bands: Votes) -> Votes:
    """Return codes (n_items, n_judges) of votes and their bands."""
    return np.where(votes < 0, votes, votes + 2 * bands).astype(np.int8)


def uncoded(codes: Votes) -> Votes:
    """Return the votes (n_items, n_judges) in codes."""
    return np.where(codes > 1, codes & 1, codes)


def level_logits(codes: Votes, levels: Sequence[Floats]) -> Floats:
    """Sum of V w in panel order, (n_items,), the weight of a vote being that of its band.

    ``levels`` are the weights of each judge by band, each (n_bands,).
    """
    total = np.zeros(len(codes))
    for column, weights in zip(codes.T, levels, strict=True):
        weight = weights[np.maximum(column, 0) >> 1]
        total += np.where(column < 0, 0.0, np.where(column & 1 == 1, weight, -weight))
    return total


def present_weights(votes: Votes, sizes: Floats) -> Floats:
    """Sum of ``sizes`` (n_judges,) over the judges that voted, in panel order, (n_items,)."""
    total = np.zeros(len(votes))
    for column, size in zip(votes.T, sizes, strict=True):
        total += np.where(column >= 0, size, 0.0)
    return total


def fraction_logits(votes: Votes, weights: Floats) -> Floats:
    """log(A + 1) - log(B + 1), A and B the weights of the votes for 1 and for 0, (n_items,).

    The weighted vote fraction, smoothed so that unanimity is finite.
    """
    ones, zeros = np.zeros(len(votes)), np.zeros(len(votes))
    for column, weight in zip(votes.T, weights, strict=True):
        ones += np.where(column == 1, weight, 0.0)
        zeros += np.where(column == 0, weight, 0.0)
    pairs = zip(ones.tolist(), zeros.tolist(), strict=True)
    return np.array([math.log(a + 1.0) - math.log(b + 1.0) for a, b in pairs])


def likeness_logits(votes: Votes, shares: Floats, past: Votes, pull: Floats) -> Floats:
    """Contribution of similarity to past items, (n_items,): sum over them of pull (d^3 + d^5) / 2.

    d = sum_j shares_j V_j P_j in panel order compares an item with a past one; ``past`` (m,
    n_judges) holds their signed votes P, ``pull`` (m,) the contribution of each.
    """
    total = np.zeros(len(votes))
    for start in range(0, len(votes), _ROWS):
        rows = slice(start, start + _ROWS)
        d = np.zeros((len(votes[rows]), len(past)))
        for column, share, theirs in zip(votes[rows].T, shares, past.T, strict=True):
            own = np.where(column == 1, share, np.where(column == 0, -share, 0.0))
            d += own[:, None] * theirs
        square = d * d
        alike = 0.5 * d * square * (1.0 + square)
        for column, weight in zip(alike.T, pull, strict=True):
            total[rows] += column * weight
    return total


def knot_logits(logits: Floats, at: Floats, p: Floats, *, odd: bool, clip: float) -> Floats:
    """Logits of a piecewise linear p: ``p`` (K,) at the knots ``at`` (K,), constant beyond them.

    Under ``odd`` the knots are those of |l|, and p(-l) = 1 - p(l).
    """
    result = []
    for logit in logits.tolist():
        value = _between(abs(logit) if odd else logit, at.tolist(), p.tolist())
        value = min(max(value, clip), 1.0 - clip)
        mapped = math.log(value) - math.log1p(-value)
        result.append(-mapped if odd and logit < 0.0 else mapped)
    return np.array(result)


def _between(x: float, at: list[float], p: list[float]) -> float:
    place = bisect.bisect_right(at, x)
    if place in (0, len(at)):
        return p[min(place, len(at) - 1)]
    left, right = place - 1, place
    return p[left] + (x - at[left]) * (p[right] - p[left]) / (at[right] - at[left])


def map_logits(logits: Floats, a: float, b: float, c: float) -> Floats:
    """Return m = a log p + b log(1 - p) + c of each logit; a l + c if a = -b."""
    if a == -b:
        return np.array([a * logit + c for logit in logits.tolist()])
    return np.array(
        [a * _log_sigmoid(logit) + b * _log_sigmoid(-logit) + c for logit in logits.tolist()]
    )


def probabilities(logits: Floats, clip: float) -> Floats:
    """sigma(m), clipped to [clip, 1 - clip]; sigma(m) + sigma(-m) is exactly 1."""
    values = [_sigmoid(logit) for logit in logits.tolist()]
    return np.array([min(max(p, clip), 1.0 - clip) for p in values])


def _sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), the larger of p and 1 - p computed as 1 minus the smaller."""
    tail = math.exp(-abs(x))
    small = tail / (1.0 + tail)
    return small if x < 0.0 else 1.0 - small


def _log_sigmoid(x: float) -> float:
    """log(1 / (1 + exp(-x)))."""
    if x >= 0.0:
        return -math.log1p(math.exp(-x))
    return x - math.log1p(math.exp(x))
