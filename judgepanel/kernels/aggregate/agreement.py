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
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Votes
from judgepanel.kernels.aggregate.vote_cells import dense_of, has_votes

if TYPE_CHECKING:
    from judgepanel.kernels.aggregate.vote_cells import Cells

Index = NDArray[np.intp]

PROTOTYPES = 150
DIRECTIONS = 50
_SMALLEST = 1e-4
CODED = 39  # judges whose votes and a label make a number of 64 bits in base 3
_ROWS, _BLOCK = 4_096, 8_192


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """Similarity to prototypes: ``shares`` (k,) of the judges, ``prototypes`` int8 (m, k)."""

    shares: Floats
    prototypes: Votes

    def similarity(self, votes: Cells) -> Floats:
        """(d^3 + d^5) / 2 of signed votes (n, k) to every prototype, (n, m)."""
        weighted = (self.prototypes * self.shares).T
        similarity = np.empty((votes.shape[0], len(self.prototypes)))
        for start in range(0, len(similarity), _ROWS):
            d = votes[start : start + _ROWS].astype(np.float64) @ weighted
            square = d * d
            d *= 0.5
            d *= square
            square += 1.0
            d *= square
            similarity[start : start + _ROWS] = d
        return similarity

    def along(self, votes: Cells, directions: Floats) -> Floats:
        """Features (n, r) of signed votes (n, k) along ``directions`` (m, r) of prototypes."""
        span = np.empty((votes.shape[0], directions.shape[1]))
        for start in range(0, len(span), _BLOCK):
            rows = slice(start, start + _BLOCK)
            span[rows] = self.similarity(votes[rows]) @ directions
        return span


def agreement_among(votes: Cells, weights: Floats) -> tuple[Agreement, Floats]:
    """Prototypes among signed votes (n, k), evenly spaced, and their directions (m, r).

    Features ``similarity @ directions`` have inner products close to the kernel. There are r of
    them, at most ``DIRECTIONS``; those that carry next to nothing are left out. One-coin
    ``weights`` (k,) of 0 leave nothing to compare.
    """
    squares = weights * weights
    total = float(squares.sum())
    some = np.flatnonzero(has_votes(votes))
    chosen = np.unique(np.linspace(0, len(some) - 1, min(PROTOTYPES, len(some))).astype(np.int64))
    prototypes, times = _distinct(dense_of(votes[some[chosen]]))
    agreement = Agreement(squares / total if total > 0.0 else squares, prototypes)
    if not len(prototypes) or total <= 0.0:
        return agreement, np.zeros((len(prototypes), 0))
    often = np.sqrt(times)
    similarity = agreement.similarity(prototypes)
    values, vectors = np.linalg.eigh(similarity * often * often[:, None])
    leading = np.argsort(-values, kind="stable")[:DIRECTIONS]
    leading = leading[values[leading] > _SMALLEST * values.max()]
    directions = vectors[:, leading] * (often[:, None] / np.sqrt(values[leading]))
    return agreement, directions


def _distinct(prototypes: Votes) -> tuple[Votes, Floats]:
    """Prototypes that differ by more than all signs, and how often each is there.

    Equal ones and opposite ones (the kernel is odd) span one direction. Their eigenproblem is that
    of the distinct ones, each scaled by the root of how often it is there.
    """
    alike = alike_rows(prototypes)
    if alike is None:
        return prototypes, np.ones(len(prototypes))
    code = np.abs(alike)
    _, first, times = np.unique(code, return_index=True, return_counts=True)
    order = np.argsort(first)
    return prototypes[first[order]], times[order].astype(np.float64)


def alike_rows(votes: Votes) -> NDArray[np.int64] | None:
    """A number (n,) for each row of signed votes (n, k), which changes sign with the votes; the
    same for the same votes alone. None where judges are so many that rows seldom are the same.
    """
    k = votes.shape[1]
    return votes.astype(np.int64) @ 3 ** np.arange(k) if k < CODED else None
