"""Ballots: votes as signed arrays, with judges in the order that breaks ties.

Votes as products of matrices take them: sparse where there are many and most are missing.

Of 30,000 x 1,800 votes of which 1 % are there, a product with 150 columns takes a twentieth of the
time; making the sparse form takes a third of what a dense product with one column does.

Scoring of new votes with a fitted panel, with one fixed order of additions.

Votes (n_items, n_judges) are in {0, 1, -1 missing}. Votes with grades are codes: vote + 2 x band
(:mod:`kernels.graded`), -1 missing; a vote alone is the code of band 0.

Sums run over judges in panel order, one judge at a time, and the last steps use the platform's
scalar ``exp`` and ``log``. An exported panel, the library and the command line therefore agree to
the bit, and so can twenty lines of plain Python. Every step except a map with c != 0 or a != -b is
exactly odd in the votes, so under ``symmetric`` p and p(swap) sum to exactly 1.
"""

from __future__ import annotations

import bisect
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from judgepanel.arrays import Floats, Votes
from judgepanel.scoring import metrics, splits

Sparse: TypeAlias = "scipy.sparse.csr_array[Any, tuple[int, int]]"
Cells: TypeAlias = "NDArray[np.int8] | Sparse"
Index = NDArray[np.intp]

SPARSE_CELLS = 2_000_000
SPARSE_DENSITY = 0.1

ROWS = 4_096
"""Rows that products take at a time."""


def taken(votes: NDArray[np.int8], rows: Index, judges: Index) -> NDArray[np.int8]:
    """Return the votes (n, k) of some judges on some rows as an array."""
    if len(rows) * len(judges) <= SPARSE_CELLS:
        return votes[rows][:, judges]
    return votes.take(rows, axis=0).take(judges, axis=1)  # A tenth of the time where it is large.


def sparse_of(votes: NDArray[np.int8]) -> Sparse | None:
    """Return the votes (n, k) as a sparse matrix of floats; None where dense products are fast."""
    large = votes.size > SPARSE_CELLS
    if not large or np.count_nonzero(votes) >= SPARSE_DENSITY * votes.size:
        return None
    there = np.nonzero(votes)
    return scipy.sparse.csr_array((votes[there].astype(np.float64), there), votes.shape)


def cells_of(votes: NDArray[np.int8]) -> Cells:
    """Return the votes (n, k) themselves, or as a sparse matrix of floats."""
    sparse = sparse_of(votes)
    return votes if sparse is None else sparse


def dense_of(cells: Cells) -> NDArray[np.int8]:
    """Return whole votes (n, k) as an array."""
    return cells if isinstance(cells, np.ndarray) else cells.astype(np.int8).toarray()


def signs_of(votes: Votes) -> Votes:
    """Return votes in {0, 1, -1 missing} as signs in {-1, 1, 0 missing}."""
    return np.where(votes < 0, 0, 2 * votes - 1).astype(np.int8)


def signed(cells: Cells, signs: NDArray[Any]) -> Cells:
    """Return each row times its sign (n,)."""
    if isinstance(cells, np.ndarray):
        return np.asarray(cells * signs[:, None])
    each = np.repeat(signs, np.diff(cells.indptr))
    return scipy.sparse.csr_array((cells.data * each, cells.indices, cells.indptr), cells.shape)


def has_votes(cells: Cells) -> NDArray[np.bool_]:
    """Whether there is any vote in each row (n,)."""
    return np.asarray(
        cells.any(axis=1) if isinstance(cells, np.ndarray) else np.diff(cells.indptr) > 0
    )


def row_sums(cells: Cells, of_sign: Floats, of_vote: Floats) -> Floats:
    """Return sums (n,) over a row's votes of the sign times ``of_sign`` (k,), plus ``of_vote``."""
    total = np.empty(cells.shape[0])
    for start in range(0, len(total), ROWS):
        block: Any = cells[start : start + ROWS].astype(np.float64)
        total[start : start + ROWS] = block @ of_sign + abs(block) @ of_vote
    return total


@dataclass(frozen=True, eq=False)  # Slots would leave no place for what is computed once.
class Ballots:
    """Labelled items ready for the kernels.

    Attributes
    ----------
    votes : int8 (n_items, n_judges), V = 2y - 1 in {-1, +1}, 0 where the vote is missing.
    signs : int8 (n_items,), s = 2z - 1 in {-1, +1}.
    units : int64 (n_items,), group code of an item (its own position without groups).
    symmetric : every fit uses each item and its swap; no intercept, no label prior.
    unlabelled : int8 (n_unlabelled, n_judges), signed votes on unlabelled items, for aggregators
        that learn from votes alone; None if there are none.
    ties : bool (n_items, n_judges), missing votes that were given as ties, None if there are none.
        No aggregator reads them: they separate ties from votes that were not given.
    margins : float64 (n_items, n_judges), at least 0, distance of a vote's grade from its judge's
        threshold; 0 without a grade, None if no judge gives grades. The vote has the side: swapping
        the two responses of an item keeps its margins.

    Judges are columns in the order of their names. Rankings are stable sorts, so equal accuracies
    are ordered by name and permuting the columns of a file changes no result.
    """

    votes: NDArray[np.int8]
    signs: NDArray[np.int8]
    units: NDArray[np.int64]
    symmetric: bool = False
    unlabelled: NDArray[np.int8] | None = None
    ties: NDArray[np.bool_] | None = None
    margins: NDArray[np.float64] | None = None

    @cached_property
    def sparse(self) -> Sparse | None:
        """The votes as a sparse matrix; None where they are few, or most of them are there."""
        return sparse_of(self.votes)

    @cached_property
    def digest(self) -> bytes:
        """A digest of all that aggregators read."""
        arrays = (self.votes, self.signs, self.units, self.unlabelled, self.margins)
        return digest_of(bytes([self.symmetric]), *arrays)

    def part(self, rows: NDArray[np.int64], judges: NDArray[np.int64]) -> Cells:
        """Return the votes (n, k) of some judges on some items, as products take them."""
        size = len(rows) * len(judges)
        # Parts of the sparse form have the same bits and take a tenth of the time.
        if self.sparse is not None and size > SPARSE_CELLS:
            part = self.sparse[rows][:, judges]
            if part.nnz < SPARSE_DENSITY * size:
                part.sort_indices()
                return part
        return cells_of(taken(self.votes, rows, judges))

    def of_judges(self, judges: ArrayLike) -> Ballots:
        """Return the same items with some of the judges: a mask, or positions of columns."""
        return self._part(np.s_[:, np.asarray(judges)], "votes", "unlabelled", "ties", "margins")

    def _part(self, place: Any, *names: str) -> Ballots:
        """Return the part of these arrays, of those that are there."""
        arrays = {name: getattr(self, name) for name in names}
        parts: Any = {name: None if a is None else a[place] for name, a in arrays.items()}
        return replace(self, **parts)

    def of_items(self, items: NDArray[np.int64]) -> Ballots:
        """Return some of the labelled items, with their groups numbered from 0."""
        part = self._part(items, "votes", "signs", "ties", "margins")
        return replace(part, units=splits.unit_codes(self.units[items])[0])

    def null_logit(self, rows: NDArray[np.int64]) -> float:
        """Return the logit of the base rate of the labels of some items."""
        return metrics.null_logit(float(np.mean(self.signs[rows] > 0)), symmetric=self.symmetric)

    @property
    def n_items(self) -> int:
        return int(self.votes.shape[0])

    @property
    def n_judges(self) -> int:
        return int(self.votes.shape[1])


def digest_of(first: bytes, *arrays: NDArray[Any] | None) -> bytes:
    """Return a digest of bytes, and of arrays with their shapes; None differs from all arrays."""
    digest = hashlib.blake2b(first, digest_size=20)
    for array in arrays:
        digest.update(repr(None if array is None else (array.shape, array.dtype.str)).encode())
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def vote_sums(votes: Votes, ones: Floats, zeros: Floats) -> Floats:
    """Sum in panel order, (n_items,), of what each judge's vote adds: ``ones`` or ``zeros``.

    Votes are (n_items, n_judges) in {0, 1, -1 missing}, the others (n_judges,).
    """
    total = np.zeros(len(votes))
    for column, if_one, if_zero in zip(votes.T, ones, zeros, strict=True):
        total += np.where(column == 1, if_one, np.where(column == 0, if_zero, 0.0))
    return total


def weighted_logits(votes: Votes, weights: Floats) -> Floats:
    """Sum of V w in panel order, (n_items,); votes (n_items, n_judges) in {0, 1, -1 missing}."""
    return vote_sums(votes, weights, -weights)


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
    return vote_sums(votes, sizes, sizes)


def fraction_logits(votes: Votes, weights: Floats) -> Floats:
    """log(A + 1) - log(B + 1), A and B the weights of the votes for 1 and for 0, (n_items,).

    The weighted vote fraction, smoothed so that unanimity is finite.
    """
    none = np.zeros_like(weights)
    ones, zeros = vote_sums(votes, weights, none), vote_sums(votes, none, weights)
    pairs = zip(ones.tolist(), zeros.tolist(), strict=True)
    return np.array([math.log(a + 1.0) - math.log(b + 1.0) for a, b in pairs])


def likeness_logits(votes: Votes, shares: Floats, past: Votes, pull: Floats) -> Floats:
    """Contribution of similarity to past items, (n_items,): sum over them of pull (d^3 + d^5) / 2.

    d = sum_j shares_j V_j P_j in panel order compares an item with a past one; ``past`` (m,
    n_judges) holds their signed votes P, ``pull`` (m,) the contribution of each.
    """
    total = np.zeros(len(votes))
    for start in range(0, len(votes), ROWS):
        rows = slice(start, start + ROWS)
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
