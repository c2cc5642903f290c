"""What one joint or stacking model learns from: its votes, its one-coin score, its centre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.agreement import Agreement, agreement_among
from judgepanel.kernels.aggregate.copies import copy_groups, copy_shares
from judgepanel.kernels.aggregate.prefixes import Floats, Index, counts, one_coin_weight
from judgepanel.kernels.aggregate.ridge_design import DenseDesign, SparseDesign
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.clustered import below_half_p, unit_counts

SPARSE_CELLS = 2_000_000
SPARSE_DENSITY = 0.1
LIKENESS = 0.1
BELOW = 0.025
"""Level of the one-sided test of a judge: the upper limit of its 95 % interval is below 1/2."""
_COLUMNS = 128
_ROWS = 4_096


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Features of one model with k judges on its n learn rows, before label signs.

    Attributes
    ----------
    judges : int (k,), columns of the ballots, best first.
    votes : int8 (n, k), signed votes.
    signs : float (n,), signs of the labels; 0 for rows that none of these judges voted on.
    groups : int (k,), near-copies share a number (:mod:`kernels.aggregate.copies`).
    base : float (k,), one-coin weights; a group of m near-copies counts once, each by 1/m.
    score : float (n,), their sums from counts without the row's own unit.
    agreement, directions : see :mod:`kernels.aggregate.agreement`; ``None`` and (0, 0) without.
    span : float (n, r), agreement features; as many in every model of k judges.
    rate : prior rate of tau. With rho = ``LIKENESS`` the error correlation of judges, n votes an
        item are worth n / rate independent ones, rate = 1 + rho (n - 1) (Kish 1965).
    level : prior mean of the intercept, see :func:`prior_level`.
    bounded : bool (k,), judges whose vote may not count against what it says: all but those that
        are shown to be below chance (:func:`below_chance`). None where nobody is bounded.
    shrink : in [0, 1], how far features are centred, see :func:`centring`.
    """

    judges: Index
    votes: NDArray[np.int8]
    signs: Floats
    groups: Index
    base: Floats
    score: Floats
    agreement: Agreement | None
    directions: Floats
    span: Floats
    rate: float
    level: float
    bounded: NDArray[np.bool_] | None
    shrink: float

    def middle(self, columns: Floats | NDArray[np.int8]) -> Floats:
        """Centre (q,) of features (n, q): the classes' midpoint, shrunk."""
        return np.asarray(middle(columns, self.signs) * self.shrink, dtype=np.float64)


def features(
    ballots: Ballots,
    rows: Index,
    judges: Index,
    *,
    one_coin: bool,
    agreement: bool,
    monotone: bool = False,
) -> Features:
    """Everything a model may know of its learn rows."""
    votes = np.ascontiguousarray(ballots.votes[rows][:, judges])
    signs = np.where(votes.any(axis=1), ballots.signs[rows], 0).astype(np.float64)
    correct, voted = (total[judges] for total in counts(ballots, rows))
    groups = copy_groups(votes, ballots.signs[rows]) if one_coin else np.arange(len(judges))
    shares = copy_shares(groups)
    weights = one_coin_weight(correct, voted)
    right = votes * ballots.signs[rows, None]
    score = left_out_margins(right, ballots.units[rows], correct, voted, shares) * signs
    alike, directions = None, np.zeros((0, 0))
    span = np.zeros((len(rows), 0))
    if agreement:
        alike, directions = agreement_among(votes, weights * np.sqrt(shares))
        directions = directions * np.sqrt(float(len(judges)))
        span = alike.similarity(votes) @ directions
    cast = float(np.count_nonzero(votes)) / max(int(np.count_nonzero(signs)), 1)
    return Features(
        judges=judges,
        votes=votes,
        signs=signs,
        groups=groups,
        base=weights * shares if one_coin else np.zeros_like(weights),
        score=score,
        agreement=alike,
        directions=directions,
        span=span,
        rate=1.0 + LIKENESS * max(cast - 1.0, 0.0),
        level=0.0 if ballots.symmetric else prior_level(signs),
        bounded=~below_chance(right, ballots.units[rows]) if monotone else None,
        shrink=0.0 if ballots.symmetric else centring(score, signs),
    )


def below_chance(right: NDArray[np.int8], units: Index) -> NDArray[np.bool_]:
    """Judges (k,) whose accuracy has a 95 % interval below 1/2, counted by units.

    ``right`` (n, k) is +1 where a vote was right, -1 where it was wrong.
    """
    below = np.zeros(right.shape[1], dtype=bool)
    for start in range(0, len(below), _COLUMNS):
        block = right[:, start : start + _COLUMNS]
        p = below_half_p(unit_counts(block > 0, block != 0, units))
        below[start : start + _COLUMNS] = p < BELOW
    return below


def middle(columns: Floats | NDArray[np.int8], signs: Floats) -> Floats:
    """Midpoint (q,) of the two classes' means of columns (n, q), each mean shrunk by a zero row."""
    sums = [
        columns[signs == sign].sum(axis=0, dtype=np.float64) / (np.sum(signs == sign) + 1)
        for sign in (1.0, -1.0)
    ]
    return np.asarray((sums[0] + sums[1]) / 2.0)


def centring(score: Floats, signs: Floats) -> float:
    """How far the midpoint of the classes' mean scores differs from 0 by more than noise."""
    positive, zero = score[signs > 0], score[signs < 0]
    if min(len(positive), len(zero)) < 2:
        return 0.0
    error = (positive.var() / len(positive) + zero.var() / len(zero)) / 4.0
    return _shrinkage(float(positive.mean() + zero.mean()) / 2.0, float(error))


def prior_level(signs: Floats) -> float:
    """Log-odds log((n1 + 1) / (n0 + 1)) of the labels, as far as it differs from 0."""
    ones, zeros = np.sum(signs > 0) + 1.0, np.sum(signs < 0) + 1.0
    level = float(np.log(ones / zeros))
    return level * _shrinkage(level, float(1.0 / ones + 1.0 / zeros))


def _shrinkage(mean: float, variance: float) -> float:
    """Shrinkage of one normal mean towards 0, positive part (James and Stein 1961), in [0, 1]."""
    return 1.0 - variance / mean**2 if mean * mean > variance else 0.0


def design(batch: list[Features], *, scale: bool, intercept: bool) -> DenseDesign | SparseDesign:
    """Signed, centred features of a batch: votes, agreement, one-coin score, intercept.

    Rows are padded with zeros to the largest of the batch. One large model with sparse votes keeps
    them sparse.
    """
    first = batch[0]
    if len(batch) == 1 and _is_sparse(first.votes):
        return SparseDesign(
            votes=scipy.sparse.csr_array(first.votes * first.signs[:, None]),
            signs=first.signs,
            centre=first.middle(first.votes),
            beside=_beside(first, scale, intercept),
        )
    width = first.span.shape[1]
    k, n = len(first.judges), max(len(one_features.votes) for one_features in batch)
    dense = np.zeros((len(batch), n, k + width + scale + intercept))
    for out, example in zip(dense, batch, strict=True):
        rows = slice(0, len(example.votes))
        out[rows, :k] = (example.votes - example.middle(example.votes)) * example.signs[:, None]
        out[rows, k:] = _beside(example, scale, intercept)
    return DenseDesign(dense)


def _beside(one_features: Features, scale: bool, intercept: bool) -> Floats:
    """Signed features after those of the votes, (n, r + scale + intercept)."""
    columns = [one_features.span - one_features.middle(one_features.span)]
    if scale:
        score = one_features.score[:, None]
        columns.append(score - one_features.middle(score))
    if intercept:
        columns.append(np.ones((len(one_features.votes), 1)))
    return np.asarray(np.concatenate(columns, axis=1) * one_features.signs[:, None])


def _is_sparse(votes: NDArray[np.int8]) -> bool:
    large = votes.size > SPARSE_CELLS
    return bool(large and np.count_nonzero(votes) < SPARSE_DENSITY * votes.size)


def left_out_margins(
    right: NDArray[np.int8], units: Index, correct: Floats, voted: Floats, shares: Floats
) -> Floats:
    """One-coin scores (n,), times the label's sign, from counts without the item's own unit.

    ``right`` (n, k) is +1 where a vote was right, -1 where it was wrong; ``correct`` and ``voted``
    (k,) are its counts, ``shares`` (k,) is what each judge counts.
    """
    if len(np.unique(units)) == len(units):
        return _alone(right, correct, voted, shares)
    codes = np.unique(units, return_inverse=True)[1]
    member = scipy.sparse.csr_array((np.ones(len(units)), (codes, np.arange(len(units)))))

    def of_unit(cell: Floats) -> Floats:
        return np.asarray(member @ cell)[codes]

    total = np.zeros(len(units))
    for start in range(0, right.shape[1], _COLUMNS):
        block = slice(start, start + _COLUMNS)
        cell = right[:, block].astype(np.float64)
        own, cast = of_unit(cell), of_unit(np.abs(cell))
        rest = voted[block] - cast
        weights = one_coin_weight(correct[block] - (cast + own) / 2.0, rest) * shares[block]
        total += np.vecdot(cell, weights)
    return total


def _alone(right: NDArray[np.int8], correct: Floats, voted: Floats, shares: Floats) -> Floats:
    """The same without groups: a weight for the judge's right votes, and one for its wrong ones."""
    when_right = np.log(np.maximum(correct, 1.0)) - np.log(voted - correct + 1.0)
    when_wrong = np.log(correct + 1.0) - np.log(np.maximum(voted - correct, 1.0))
    mean = shares * (when_right + when_wrong) / 2.0
    half = shares * (when_right - when_wrong) / 2.0
    total = np.empty(len(right))
    for start in range(0, len(right), _ROWS):
        cell = right[start : start + _ROWS].astype(np.float64)
        total[start : start + _ROWS] = cell @ mean + np.abs(cell) @ half
    return total
