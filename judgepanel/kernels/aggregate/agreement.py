"""Which past items an item's votes resemble: a similarity of votes, and features that span it.

Two items with votes V and V' agree by

    d = sum_j w_j^2 V_j V'_j / sum_j w_j^2,        in [-1, 1],

w the one-coin weights, so that judges who know something decide what counts as alike. The kernel
(d^3 + d^5) / 2 is odd in the votes and positive semi-definite, being a sum of powers of an inner
product. It is spanned by its leading directions over at most ``PROTOTYPES`` of the items learned
from (the Nystroem approximation, Williams and Seeger 2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Votes = NDArray[np.int8]

PROTOTYPES = 150
DIRECTIONS = 50
_SMALLEST = 1e-4
_ROWS = 4_096


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """Similarity to prototypes: ``shares`` (k,) of the judges, ``prototypes`` int8 (m, k)."""

    shares: Floats
    prototypes: Votes

    def similarity(self, votes: Votes) -> Floats:
        """(d^3 + d^5) / 2 of signed votes (n, k) to every prototype, (n, m)."""
        weighted = (self.prototypes * self.shares).T
        similarity = np.empty((len(votes), len(self.prototypes)))
        for start in range(0, len(votes), _ROWS):
            d = votes[start : start + _ROWS].astype(np.float64) @ weighted
            square = d * d
            similarity[start : start + _ROWS] = 0.5 * d * square * (1.0 + square)
        return similarity


def agreement_among(votes: Votes, weights: Floats) -> tuple[Agreement, Floats]:
    """Prototypes among signed votes (n, k), evenly spaced, and their directions (m, r).

    Features ``similarity @ directions`` have inner products close to the kernel. Directions that
    carry next to nothing are columns of zeros: r depends on k alone, being the number of odd
    functions of k votes up to ``DIRECTIONS``. One-coin ``weights`` (k,) of 0 leave nothing to
    compare.
    """
    squares = weights * weights
    total = float(squares.sum())
    some = votes[votes.any(axis=1)]
    chosen = np.unique(np.linspace(0, len(some) - 1, min(PROTOTYPES, len(some))).astype(np.int64))
    agreement = Agreement(squares / total if total > 0.0 else squares, some[chosen])
    k = votes.shape[1]
    directions = np.zeros((len(chosen), min(DIRECTIONS, (3 ** min(k, 20) - 1) // 2)))
    if len(chosen) and total > 0.0:
        values, vectors = np.linalg.eigh(agreement.similarity(agreement.prototypes))
        leading = np.argsort(-values, kind="stable")[: directions.shape[1]]
        leading = leading[values[leading] > _SMALLEST * values.max()]
        directions[:, : len(leading)] = vectors[:, leading] / np.sqrt(values[leading])
    return agreement, directions
